//! The HTTP side of a node: `/healthz`, `/metrics`, and the groups as JSON under `/v1`.
//!
//! It only looks: nothing here changes the broker. Connections come from a listener of their own or, already accepted
//! and partly read, from the one port; both count against the same limit.
//!
//! Invariants: (1) what `/v1` tells is told to this machine only, until there are permissions for it; (2) every error
//! is a JSON object `{"error": {"code", "message"}}`; (3) no request's size or slowness can hold more than the named
//! limits below.

mod admission;
mod document;
mod failure;
mod groups;
mod inspect;
pub(crate) mod limits;
mod metrics;
mod query;
mod rewound;

use std::{future::Future, net::SocketAddr, pin::pin, sync::Arc, time::Duration};

use axum::{Router, http::StatusCode, middleware, routing::get};
use bytes::Bytes;
use hyper::service::Service;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
    sync::{OwnedSemaphorePermit, Semaphore, watch},
    task::JoinSet,
};

pub(crate) use document::{GroupDocument, GroupsDocument, MemberDocument};
pub(crate) use inspect::Inspect;
pub(crate) use query::escaped;

use admission::Peer;
use failure::Failure;
use rewound::Rewound;

/// Answers HTTP. Cheap to clone; clones share the limit of connections.
#[derive(Clone, Debug)]
pub(crate) struct HttpService {
    routes: Router,
    connections: Arc<Semaphore>,
    header_timeout: Duration,
}

impl HttpService {
    /// Answers from what `inspect` tells.
    #[must_use]
    pub(crate) fn new(inspect: Arc<dyn Inspect>) -> Self {
        let routes = Router::new()
            .route("/healthz", get(healthz))
            .route("/metrics", get(metrics::show))
            .route("/v1/groups", get(groups::list))
            .route("/v1/groups/{vhost}/{name}", get(groups::show))
            .fallback(|| async { Failure::not_found("there is no such page") })
            .method_not_allowed_fallback(|| async { Failure::method_not_allowed() })
            .layer(middleware::from_fn(admission::admit))
            .with_state(inspect);
        Self {
            routes,
            connections: Arc::new(Semaphore::new(limits::CONNECTIONS_MAX)),
            header_timeout: Duration::from_millis(limits::HEADER_TIMEOUT_MS),
        }
    }

    /// Accepts and answers until `shutdown` is there, then lets requests that have begun end.
    pub(crate) async fn serve(self, listener: TcpListener, shutdown: impl Future<Output = ()>) {
        let (stop, stopped) = watch::channel(());
        let mut tasks = JoinSet::new();
        let mut shutdown = pin!(shutdown);
        loop {
            tokio::select! {
                biased;
                () = &mut shutdown => break,
                Some(_) = tasks.join_next() => {}
                accepted = listener.accept() => match accepted {
                    Ok((stream, peer)) => {
                        let service = self.clone();
                        let mut stopped = stopped.clone();
                        tasks.spawn(async move {
                            // The sender is gone or has spoken: both mean stop.
                            let stop = async move { drop(stopped.changed().await) };
                            service.serve_connection(stream, Bytes::new(), peer, stop).await;
                        });
                    }
                    Err(error) => {
                        tracing::warn!(%error, "cannot accept an HTTP connection");
                        tokio::time::sleep(Duration::from_millis(limits::ACCEPT_PAUSE_MS)).await;
                    }
                },
            }
        }
        drop(listener);
        drop(stop);
        while tasks.join_next().await.is_some() {}
    }

    /// Answers one connection until it ends, is idle for too long, or `shutdown` is there. `already_read` are the bytes
    /// that were read from it to tell what it speaks; `peer` is its other end.
    pub(crate) async fn serve_connection<S>(
        &self,
        stream: S,
        already_read: Bytes,
        peer: SocketAddr,
        shutdown: impl Future<Output = ()>,
    ) where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let Some(_permit) = self.permit() else {
            tracing::debug!(%peer, "HTTP connection refused: {} are open", limits::CONNECTIONS_MAX);
            return;
        };
        let routes = TowerToHyperService::new(self.routes.clone());
        let service = hyper::service::service_fn(move |mut request: hyper::Request<hyper::body::Incoming>| {
            request.extensions_mut().insert(Peer(peer));
            routes.call(request)
        });
        let connection = hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.header_timeout)
            .max_headers(limits::HEADERS_MAX)
            .max_buf_size(limits::HEAD_BYTES_MAX)
            .serve_connection(TokioIo::new(Rewound::new(already_read, stream)), service);
        let mut connection = pin!(connection);
        let lifetime = tokio::time::sleep(Duration::from_millis(limits::LIFETIME_MS));
        tokio::select! {
            result = connection.as_mut() => return log_end(peer, result),
            () = shutdown => {}
            () = lifetime => {}
        }
        connection.as_mut().graceful_shutdown();
        let grace = Duration::from_millis(limits::GRACE_MS);
        if let Ok(result) = tokio::time::timeout(grace, connection).await {
            log_end(peer, result);
        }
    }

    fn permit(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.connections).try_acquire_owned().ok()
    }
}

/// A peer that goes away or sends rubbish is its own affair: it is told, and nobody is woken.
fn log_end(peer: SocketAddr, result: hyper::Result<()>) {
    if let Err(error) = result {
        tracing::debug!(%peer, %error, "HTTP connection ended");
    }
}

async fn healthz(state: axum::extract::State<Arc<dyn Inspect>>) -> (StatusCode, &'static str) {
    if state.is_ready() { (StatusCode::OK, "ok\n") } else { (StatusCode::SERVICE_UNAVAILABLE, "not ready\n") }
}

#[cfg(test)]
mod tests;

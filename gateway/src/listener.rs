//! Accepts connections, finds out what they speak, and starts their tasks.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use braid_broker::{ConnectionInfo, Mailbox};
use braid_types::{ConnectionId, Endpoint, Protocol};
use bytes::Bytes;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::connection::ConnectionTask;
use crate::detect::{self, Spoken};
use crate::http::HttpService;
use crate::node::Node;
use crate::service::Service;

/// What a listener takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Takes {
    /// Every protocol: the one port.
    Any,
    /// One protocol, without guessing.
    Only(Protocol),
}

/// What accepting needs. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Acceptor {
    pub(crate) node: Arc<Node>,
    pub(crate) http: HttpService,
    pub(crate) stop: watch::Receiver<bool>,
    /// Connections that have a task, also those that have not said yet what they speak.
    pub(crate) open: Arc<AtomicUsize>,
}

impl Acceptor {
    /// Accepts until the node stops.
    pub(crate) async fn serve(mut self, listener: TcpListener, takes: Takes) {
        loop {
            let accepted = tokio::select! {
                biased;
                _ = self.stop.changed() => return,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, peer)) => self.admit(stream, peer, takes),
                Err(error) => {
                    // Out of file descriptors, mostly: others must end before this can go on.
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(Duration::from_millis(crate::limits::ACCEPT_PAUSE_MS)).await;
                }
            }
        }
    }

    fn admit(&self, stream: TcpStream, peer: SocketAddr, takes: Takes) {
        let counters = &self.node.broker.counters;
        if self.open.fetch_add(1, Ordering::Relaxed) >= self.node.config.limits.connections_max {
            self.open.fetch_sub(1, Ordering::Relaxed);
            counters.connections_refused_total.add(1);
            tracing::warn!(%peer, "limits.connections_max is reached; a connection was refused");
            return;
        }
        counters.connections_opened_total.add(1);
        counters.connections_open.add(1);
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%peer, %error, "TCP_NODELAY could not be set");
        }
        let acceptor = self.clone();
        tokio::spawn(async move {
            let (open, node) = (Arc::clone(&acceptor.open), Arc::clone(&acceptor.node));
            acceptor.connection(stream, peer, takes).await;
            open.fetch_sub(1, Ordering::Relaxed);
            node.broker.counters.connections_open.subtract(1);
        });
    }

    async fn connection(self, stream: TcpStream, peer: SocketAddr, takes: Takes) {
        let (spoken, prefix) = match takes {
            Takes::Only(Protocol::Amqp) => (Spoken::Amqp, Bytes::new()),
            Takes::Only(Protocol::Mqtt) => (Spoken::Mqtt, Bytes::new()),
            Takes::Only(Protocol::Nats) => (Spoken::Nats, Bytes::new()),
            Takes::Any => {
                let silence_ms = self.node.config.detect.silence_ms;
                let silence = (silence_ms > 0).then(|| Duration::from_millis(silence_ms));
                let handshake = Duration::from_millis(self.node.config.limits.handshake_timeout_ms);
                let Some(detected) = detect::detect(&stream, silence, handshake).await else {
                    self.node.broker.counters.connections_refused_total.add(1);
                    tracing::info!(%peer, "a client on the one port spoke no known protocol");
                    return;
                };
                detected
            }
        };
        let id = self.node.allocate_connection();
        match spoken {
            Spoken::Http => {
                let mut stop = self.stop.clone();
                // The sender is gone or has spoken: both mean stop.
                let stopped = async move { drop(stop.changed().await) };
                self.http.serve_connection(stream, prefix, peer, stopped).await;
            }
            Spoken::Amqp => {
                let endpoint = crate::endpoints::amqp(&self.node, id);
                Box::pin(self.client(stream, peer, Protocol::Amqp, id, endpoint, prefix, false)).await;
            }
            Spoken::Mqtt => {
                let endpoint = crate::endpoints::mqtt(&self.node, id);
                Box::pin(self.client(stream, peer, Protocol::Mqtt, id, endpoint, prefix, false)).await;
            }
            Spoken::Nats | Spoken::Silence => {
                let endpoint = crate::endpoints::nats(&self.node, id, stream.local_addr().ok(), peer);
                let was_silent = spoken == Spoken::Silence;
                Box::pin(self.client(stream, peer, Protocol::Nats, id, endpoint, prefix, was_silent)).await;
            }
        }
    }

    #[allow(clippy::too_many_arguments, reason = "each is one fact about the new connection, used once")]
    async fn client<E: Endpoint>(
        self,
        stream: TcpStream,
        peer: SocketAddr,
        protocol: Protocol,
        id: ConnectionId,
        endpoint: E,
        prefix: Bytes,
        was_silent: bool,
    ) {
        let mailbox = Arc::new(Mailbox::new(ConnectionInfo { id, protocol, peer: peer.to_string() }));
        self.node.connections.insert(id, Arc::clone(&mailbox));
        let service = Service::new(Arc::clone(&self.node), Arc::clone(&mailbox), peer.ip());
        let mut task = ConnectionTask::new(Arc::clone(&self.node), mailbox, stream, service, endpoint, prefix);
        if was_silent {
            task = task.after_silence();
        }
        task.run(self.stop).await;
        self.node.connections.remove(&id);
    }
}

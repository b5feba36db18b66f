//! Starts a node, serves until it is told to stop, and stops it in order: no new connections, clients told, catalog
//! closed last.

use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use braid_broker::{Broker, LogOptions, Options, PartitionHandle, PartitionNote};
use braid_catalog::{Command, Effect};
use braid_cluster::Meta;
use braid_log::disk::RealDisk;
use braid_types::Protocol;
use bytes::Bytes;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};

use crate::config::{Addresses, Config};
use crate::dead_letters::DeadLetters;
use crate::http::HttpService;
use crate::inspection::Inspection;
use crate::limits::{LOG_CHECK_MS, STOP_TIMEOUT_MS};
use crate::listener::{Acceptor, Takes};
use crate::node::Node;

/// Why a node could not start or go on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServerError {
    /// The data directory cannot be used: the operator has to act.
    #[error("data directory {path}: {source}")]
    DataDirectory {
        /// Which.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// The catalog cannot be opened; nothing was cleaned up.
    #[error("the catalog in {path} cannot be opened: {reason}")]
    Catalog {
        /// Where.
        path: String,
        /// Why.
        reason: String,
    },
    /// The log cannot be opened; nothing was cleaned up.
    #[error("the log in {path} cannot be opened: {reason}")]
    Log {
        /// Where.
        path: String,
        /// Why.
        reason: String,
    },
    /// There are fewer partitions than groups with messages are spread over.
    #[error("groups.partitions: durable groups live in {least} partitions of a kind; it cannot be less")]
    Partitions {
        /// The least that it can be.
        least: u32,
    },
    /// An address cannot be listened on.
    #[error("{key}: cannot listen on {address}: {source}")]
    Listen {
        /// The key of the configuration.
        key: &'static str,
        /// The address.
        address: std::net::SocketAddr,
        /// Why.
        source: std::io::Error,
    },
    /// Standard output cannot be written to.
    #[error("standard output: {0}")]
    Output(std::io::Error),
}

/// Serves until SIGINT or SIGTERM.
///
/// # Errors
/// The node cannot start.
pub(crate) async fn serve(config: Config) -> Result<(), ServerError> {
    let node = start(config).await?;
    let (stop, stopped) = watch::channel(false);
    let http = HttpService::new(Arc::new(Inspection::new(Arc::clone(&node))));
    let open = Arc::new(AtomicUsize::new(0));
    let acceptor =
        Acceptor { node: Arc::clone(&node), http: http.clone(), stop: stopped.clone(), open: Arc::clone(&open) };
    let listen = node.config.listen.clone();
    let protocols = [
        ("amqp", "listen.amqp", &listen.amqp, Takes::Only(Protocol::Amqp)),
        ("mqtt", "listen.mqtt", &listen.mqtt, Takes::Only(Protocol::Mqtt)),
        ("nats", "listen.nats", &listen.nats, Takes::Only(Protocol::Nats)),
        ("any", "listen.any", &listen.any, Takes::Any),
    ];
    for (name, key, addresses, takes) in protocols {
        for listener in bind(name, key, addresses).await? {
            tokio::spawn(acceptor.clone().serve(listener, takes));
        }
    }
    for listener in bind("http", "listen.http", &listen.http).await? {
        let mut stopped = stopped.clone();
        // The sender is gone or has spoken: both mean stop.
        tokio::spawn(http.clone().serve(listener, async move { drop(stopped.changed().await) }));
    }
    node.is_ready.store(true, Ordering::Relaxed);
    say("ready")?;
    wait_for_signal().await;
    tracing::info!("stopping");
    node.is_ready.store(false, Ordering::Relaxed);
    stop.send_replace(true);
    wait_for_connections(&open).await;
    if let Err(error) = node.meta.shutdown().await {
        tracing::warn!(%error, "the catalog did not stop cleanly");
    }
    Ok(())
}

async fn start(config: Config) -> Result<Arc<Node>, ServerError> {
    let data_dir = config.node.data_dir.clone();
    let path = data_dir.display().to_string();
    // Before any client is there, and once: blocking is right here.
    std::fs::create_dir_all(&data_dir).map_err(|source| ServerError::DataDirectory { path: path.clone(), source })?;
    let partitions = config.groups.partitions;
    let node_id = config.node.node_id;
    // Names whose answer changed wait here until the commit that changed them is answered.
    let (effects, waiting) = mpsc::unbounded_channel();
    let handles = Arc::new(OnceLock::new());
    let sink = crate::effects::Sink::new(Arc::clone(&handles), effects);
    let options = braid_cluster::Options { data_dir: data_dir.clone(), node_id, partitions };
    let catalog_error = |reason: String| ServerError::Catalog { path: path.clone(), reason };
    let meta = Meta::open(options, Box::new(move |effect: &Effect| sink.carry_out(effect)))
        .await
        .map_err(|error| catalog_error(error.to_string()))?;
    let (broker, notes) = start_broker(&config, &meta).await?;
    if handles.set(broker.partitions().to_vec()).is_err() {
        tracing::error!("the partitions were known before they were started");
    }
    let (letters, inbox) = DeadLetters::new();
    let node = Arc::new(Node::new(broker, meta, config, letters));
    crate::effects::restore(&node).await;
    node.shares.set_changes(waiting);
    node.commit(Command::NodeStarted { node: node_id, partitions }).await.map_err(|error| catalog_error(error.text))?;
    let vhost = Command::CreateVhost { name: Bytes::from_static(crate::node::DEFAULT_VHOST) };
    node.commit(vhost).await.map_err(|error| catalog_error(error.text))?;
    crate::authentication::ensure_default_user(&node).await.map_err(|error| catalog_error(error.text))?;
    node.note_restored_shares();
    tokio::spawn(watch_log(Arc::clone(&node)));
    tokio::spawn(crate::dead_letters::run(Arc::clone(&node), inbox));
    tokio::spawn(Arc::clone(&node).watch_notes(notes));
    Ok(node)
}

/// Opens the log and starts the partitions. A log that the catalog says must be there and is not was lost: nothing
/// begins anew in its place (SPEC section 8, P3).
async fn start_broker(
    config: &Config,
    meta: &Meta,
) -> Result<(Broker, mpsc::UnboundedReceiver<PartitionNote>), ServerError> {
    let directory = config.node.data_dir.join("log");
    let path = directory.display().to_string();
    let log_error = |reason: String| ServerError::Log { path: path.clone(), reason };
    let required = crate::effects::logged_partitions(&meta.catalog());
    if !directory.exists() && !required.is_empty() {
        return Err(log_error(String::from("it is gone, and the catalog has groups whose messages were in it")));
    }
    // Their groups would be placed anew, without their messages.
    if let Some(least) = required.iter().map(|partition| partition.number() + 1).max()
        && least > config.groups.partitions
    {
        return Err(ServerError::Partitions { least });
    }
    let disk = RealDisk::open(&directory).map_err(|error| log_error(error.to_string()))?;
    let options = Options {
        node: config.node.node_id,
        partitions: config.groups.partitions,
        memory_bytes_max: usize::try_from(config.limits.memory_bytes_max.bytes()).unwrap_or(usize::MAX),
        seed: crate::operations::random(),
        log: Some(LogOptions { log: log_options(config, meta), disk: Arc::new(disk), required }),
    };
    Broker::start(options).await.map_err(|error| log_error(error.to_string()))
}

/// Looks now and then whether the log still runs; when it has failed, that was said once and for all. While the disk is
/// full, partitions that are idle give up what they need not keep.
async fn watch_log(node: Arc<Node>) {
    loop {
        tokio::time::sleep(Duration::from_millis(LOG_CHECK_MS)).await;
        if !node.broker.check_log() {
            return;
        }
        if node.broker.memory.is_disk_full() {
            node.broker.partitions().iter().for_each(PartitionHandle::snapshot);
        }
    }
}

fn log_options(config: &Config, meta: &Meta) -> braid_log::Options {
    let options = braid_log::Options::new(meta.identity().id, crate::operations::random());
    let segment_bytes = config.storage.segment_bytes / 4096 * 4096;
    // What may wait for the writer must fit into what is kept back for a full disk.
    let queue_bytes_max = options.queue_bytes_max.min(segment_bytes as usize / 2 * options.reserve_segments / 2);
    braid_log::Options { segment_bytes, queue_bytes_max, cache_bytes: config.storage.cache_bytes, ..options }
}

async fn bind(name: &str, key: &'static str, addresses: &Addresses) -> Result<Vec<TcpListener>, ServerError> {
    let mut listeners = Vec::new();
    for address in addresses.iter().copied() {
        let listener =
            TcpListener::bind(address).await.map_err(|source| ServerError::Listen { key, address, source })?;
        let bound = listener.local_addr().map_err(|source| ServerError::Listen { key, address, source })?;
        say(&format!("listening {name} {bound}"))?;
        listeners.push(listener);
    }
    Ok(listeners)
}

/// A line on standard output, at once: who started the node reads it.
fn say(line: &str) -> Result<(), ServerError> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).map_err(ServerError::Output)
}

async fn wait_for_signal() {
    use tokio::signal::unix::{SignalKind, signal};
    let terminate = async {
        match signal(SignalKind::terminate()) {
            Ok(mut terminate) => {
                terminate.recv().await;
            }
            Err(error) => {
                tracing::warn!(%error, "SIGTERM cannot be waited for");
                std::future::pending::<()>().await;
            }
        }
    };
    tokio::select! {
        () = terminate => {}
        result = tokio::signal::ctrl_c() => {
            if let Err(error) = result {
                tracing::warn!(%error, "SIGINT cannot be waited for");
            }
        }
    }
}

async fn wait_for_connections(open: &AtomicUsize) {
    let all_ended = async {
        while open.load(Ordering::Relaxed) > 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    if tokio::time::timeout(Duration::from_millis(STOP_TIMEOUT_MS), all_ended).await.is_err() {
        tracing::warn!(open = open.load(Ordering::Relaxed), "connections did not end in time");
    }
}

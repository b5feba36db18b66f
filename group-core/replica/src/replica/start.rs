//! Starting a replica: the file, openraft, the first membership, and the wait for the state of the last run.

use std::{collections::BTreeMap, sync::Arc, sync::atomic::Ordering, time::Duration};

use braid_types::Timestamp;
use openraft::{Config, Raft, SnapshotPolicy, errors::Fatal, impls::BasicNode};
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use super::{EffectSink, Replica};
use crate::{
    Error, Hosted, Options,
    clock::EntryClock,
    host::Host,
    limits::{
        ELECTION_TIMEOUT_MAX_MS, ELECTION_TIMEOUT_MIN_MS, ENTRIES_KEPT, HEARTBEAT_INTERVAL_MS, PROPOSALS_PENDING_MAX,
        RECOVERY_TIMEOUT_MS,
    },
    network::NoPeers,
    store::Store,
    types::Types,
};

pub(super) async fn start<M: Hosted>(options: Options, sink: EffectSink<M>) -> Result<Replica<M>, Error> {
    let (store, host) = {
        let options = options.clone();
        let opening = tokio::task::spawn_blocking(move || {
            let store = Store::open(&options)?;
            let host = Host::<M>::load(store.clone(), sink)
                .map_err(|error| Error::Damaged { path: options.path, why: error.to_string() })?;
            Ok((store, host))
        });
        opening.await.map_err(|error| Error::Failed(error.to_string()))??
    };
    let mut closing = Closing(Some(store.clone()));
    let shared = host.shared();
    let config = config(&options)?;
    let raft =
        Raft::new(options.node_id, config, NoPeers, store.clone(), host).await.map_err(|error| failed(&error))?;
    if !raft.is_initialized().await.map_err(|error| failed(&error))? {
        let members = BTreeMap::from([(options.node_id, BasicNode::new(""))]);
        raft.initialize(members).await.map_err(|error| Error::Failed(error.to_string()))?;
    }
    recover(&raft).await?;
    shared.is_live.store(true, Ordering::Release);
    let last = Timestamp(shared.time_ms.load(Ordering::Relaxed));
    closing.0 = None;
    tracing::info!(
        path = %store.path().display(),
        node_id = options.node_id,
        entries_applied = shared.generation.load(Ordering::Relaxed),
        "replica started"
    );
    Ok(Replica {
        raft,
        shared,
        store,
        clock: Mutex::new(EntryClock::new(last)),
        places: Semaphore::new(PROPOSALS_PENDING_MAX),
    })
}

/// Waits until what a former run committed is applied again, and this node leads. Without an answer openraft has
/// stopped, and its last error says why.
async fn recover<M: Hosted>(raft: &Raft<Types, Host<M>>) -> Result<(), Error> {
    let timeout = Duration::from_millis(RECOVERY_TIMEOUT_MS);
    if let Err(error) = raft.wait_for_recovery(Some(timeout)).await {
        let stopped = raft.is_initialized().await.err();
        return Err(stopped.map_or_else(|| Error::Failed(error.to_string()), |fatal| failed(&fatal)));
    }
    Ok(())
}

fn config(options: &Options) -> Result<Arc<Config>, Error> {
    let config = Config {
        cluster_name: "braidmq".to_string(),
        heartbeat_interval: HEARTBEAT_INTERVAL_MS,
        election_timeout_min: ELECTION_TIMEOUT_MIN_MS,
        election_timeout_max: ELECTION_TIMEOUT_MAX_MS,
        snapshot_policy: SnapshotPolicy::LogsSinceLast(options.entries_per_snapshot),
        max_in_snapshot_log_to_keep: ENTRIES_KEPT.min(options.entries_per_snapshot),
        enable_pre_vote: Some(true),
        ..Config::default()
    };
    config.validate().map(Arc::new).map_err(|error| Error::Failed(error.to_string()))
}

fn failed(error: &Fatal<Types>) -> Error {
    Error::Failed(error.to_string())
}

/// Lets go of the file when a start does not succeed.
struct Closing(Option<Store>);

impl Drop for Closing {
    fn drop(&mut self) {
        if let Some(store) = &self.0 {
            store.close();
        }
    }
}

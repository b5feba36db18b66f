//! Starting the Raft group of a journal: what is on disk, the first membership, and standing for election at once.

use std::{collections::BTreeMap, sync::Arc};

use braid_types::PartitionId;
use openraft::{Config, Raft, SnapshotPolicy, impls::BasicNode};

use super::{
    forwarder::Forwarder,
    storage::{Failure, Storage},
    types::QuorumTypes,
};
use crate::{
    Error,
    limits::{
        CALLS_PER_GROUP_MAX, ELECTION_TIMEOUT_MAX_MS, ELECTION_TIMEOUT_MIN_MS, ENTRIES_KEPT_IN_JOURNAL,
        HEARTBEAT_INTERVAL_MS,
    },
    network::NoPeers,
};

pub(super) type Group = Raft<QuorumTypes, Forwarder>;

/// What a group needs to start, and its owner to know why it stopped.
#[derive(Clone, Debug)]
pub(super) struct Identity {
    pub(super) partition: PartitionId,
    pub(super) node_id: u64,
    pub(super) failure: Failure,
}

impl Identity {
    /// Why it stopped: what the log said, rather than what openraft made of it.
    pub(super) fn reason(&self, stopped: &impl ToString) -> Error {
        match self.failure.get() {
            Some(error) => Error::of_log(self.partition, &error),
            None => Error::Failed(stopped.to_string()),
        }
    }
}

/// Starts a group. What was committed before is forwarded meanwhile, so the owner must be reading.
pub(super) async fn start(identity: Identity, storage: Storage, forwarder: Forwarder) -> Result<Arc<Group>, Error> {
    let node_id = identity.node_id;
    let group = Raft::new(node_id, config()?, NoPeers, storage, forwarder).await;
    let group = group.map_err(|error| identity.reason(&error))?;
    if !group.is_initialized().await.map_err(|error| identity.reason(&error))? {
        let members = BTreeMap::from([(node_id, BasicNode::new(""))]);
        group.initialize(members).await.map_err(|error| identity.reason(&error))?;
    }
    let is_voter = group.with_raft_state(move |state| {
        let mut voters = state.membership_state.effective().voter_ids();
        voters.any(|voter| voter == node_id)
    });
    if !is_voter.await.map_err(|error| identity.reason(&error))? {
        return Err(Error::Failed(format!("node {node_id} is no voter of the group")));
    }
    // There is no tick that would do it (see the configuration), and nobody whose vote must be asked for first.
    group.trigger().elect(false).await.map_err(|error| identity.reason(&error))?;
    Ok(Arc::new(group))
}

/// A leader of itself needs no clock: nothing ticks, so a partition that has nothing to do costs nothing.
fn config() -> Result<Arc<Config>, Error> {
    let config = Config {
        cluster_name: "braidmq".to_owned(),
        heartbeat_interval: HEARTBEAT_INTERVAL_MS,
        election_timeout_min: ELECTION_TIMEOUT_MIN_MS,
        election_timeout_max: ELECTION_TIMEOUT_MAX_MS,
        enable_tick: false,
        enable_heartbeat: false,
        enable_pre_vote: Some(true),
        // Each run leads in a term of its own, which fences what the one before still says.
        enable_leader_restore: Some(false),
        snapshot_policy: SnapshotPolicy::Never,
        max_in_snapshot_log_to_keep: ENTRIES_KEPT_IN_JOURNAL,
        purge_batch_size: 1,
        api_channel_size: Some(CALLS_PER_GROUP_MAX),
        ..Config::default()
    };
    config.validate().map(Arc::new).map_err(|error| Error::Failed(error.to_string()))
}

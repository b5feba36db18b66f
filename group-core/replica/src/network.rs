//! The network of a group with one voter: there is nobody in it. Whoever asks is told that the peer cannot be reached;
//! nothing is ever granted in a peer's name (the network trait's own default grants pre-votes).

use std::{future::Future, io};

use bytes::Bytes;
use openraft::{
    OptionalSend, RaftNetworkFactory, RaftNetworkV2,
    errors::{RPCError, ReplicationClosed, StreamingError, Unreachable},
    impls::BasicNode,
    network::RPCOption,
    raft::{AppendEntriesRequest, AppendEntriesResponse, SnapshotResponse, VoteRequest, VoteResponse},
};

use crate::types::{Snapshot, Types, Vote};

/// Makes connections to nobody.
pub(crate) struct NoPeers;

/// A connection to nobody.
pub(crate) struct NoPeer;

impl RaftNetworkFactory<Types> for NoPeers {
    type Network = NoPeer;

    async fn new_client(&mut self, _target: u64, _node: &BasicNode) -> NoPeer {
        NoPeer
    }
}

impl RaftNetworkV2<Types> for NoPeer {
    type SnapshotData = Bytes;

    async fn append_entries(
        &mut self,
        _request: AppendEntriesRequest<Types>,
        _option: RPCOption,
    ) -> Result<AppendEntriesResponse<Types>, RPCError<Types>> {
        Err(RPCError::Unreachable(nobody()))
    }

    async fn vote(
        &mut self,
        _request: VoteRequest<Types>,
        _option: RPCOption,
    ) -> Result<VoteResponse<Types>, RPCError<Types>> {
        Err(RPCError::Unreachable(nobody()))
    }

    async fn pre_vote(
        &mut self,
        _request: VoteRequest<Types>,
        _option: RPCOption,
    ) -> Result<VoteResponse<Types>, RPCError<Types>> {
        Err(RPCError::Unreachable(nobody()))
    }

    async fn full_snapshot(
        &mut self,
        _vote: Vote,
        _snapshot: Snapshot,
        _cancel: impl Future<Output = ReplicationClosed> + OptionalSend + 'static,
        _option: RPCOption,
    ) -> Result<SnapshotResponse<Types>, StreamingError<Types>> {
        Err(StreamingError::Unreachable(nobody()))
    }
}

fn nobody() -> Unreachable<Types> {
    Unreachable::new(&io::Error::other("this group has one voter and no network"))
}

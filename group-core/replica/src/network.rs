//! The network of a group with one voter: there is nobody in it. Whoever asks is told that the peer cannot be reached;
//! nothing is ever granted in a peer's name (the network trait's own default grants pre-votes).

use std::{future::Future, io};

use bytes::Bytes;
use openraft::{
    OptionalSend, RaftNetworkFactory, RaftNetworkV2, RaftTypeConfig,
    alias::{SnapshotOf, VoteOf},
    errors::{RPCError, ReplicationClosed, StreamingError, Unreachable},
    impls::BasicNode,
    network::RPCOption,
    raft::{AppendEntriesRequest, AppendEntriesResponse, SnapshotResponse, VoteRequest, VoteResponse},
};

/// Makes connections to nobody.
pub(crate) struct NoPeers;

/// A connection to nobody.
pub(crate) struct NoPeer;

impl<C: RaftTypeConfig<NodeId = u64, Node = BasicNode>> RaftNetworkFactory<C> for NoPeers {
    type Network = NoPeer;

    async fn new_client(&mut self, _target: u64, _node: &BasicNode) -> NoPeer {
        NoPeer
    }
}

impl<C: RaftTypeConfig> RaftNetworkV2<C> for NoPeer {
    type SnapshotData = Bytes;

    async fn append_entries(
        &mut self,
        _request: AppendEntriesRequest<C>,
        _option: RPCOption,
    ) -> Result<AppendEntriesResponse<C>, RPCError<C>> {
        Err(RPCError::Unreachable(nobody()))
    }

    async fn vote(&mut self, _request: VoteRequest<C>, _option: RPCOption) -> Result<VoteResponse<C>, RPCError<C>> {
        Err(RPCError::Unreachable(nobody()))
    }

    async fn pre_vote(&mut self, _request: VoteRequest<C>, _option: RPCOption) -> Result<VoteResponse<C>, RPCError<C>> {
        Err(RPCError::Unreachable(nobody()))
    }

    async fn full_snapshot(
        &mut self,
        _vote: VoteOf<C>,
        _snapshot: SnapshotOf<C, Bytes>,
        _cancel: impl Future<Output = ReplicationClosed> + OptionalSend + 'static,
        _option: RPCOption,
    ) -> Result<SnapshotResponse<C>, StreamingError<C>> {
        Err(StreamingError::Unreachable(nobody()))
    }
}

fn nobody<C: RaftTypeConfig>() -> Unreachable<C> {
    Unreachable::new(&io::Error::other("this group has one voter and no network"))
}

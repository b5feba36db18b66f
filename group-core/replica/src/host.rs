//! The machine under openraft: entries in, state and effects out, snapshots of it.
//!
//! The state lives in memory; a start makes it again from the last snapshot and the committed log, without effects. What
//! cannot be decoded stops the replica: another version wrote it, or it is damaged, and skipping it would make this
//! replica another than its peers.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use braid_types::{CorruptBytes, LogIndex, Machine, Stamp, Term, Timestamp, Wire};
use bytes::{Buf, BufMut, Bytes, BytesMut};
use futures_util::{Stream, StreamExt};
use openraft::{
    EntryPayload, OptionalSend,
    entry::RaftEntry,
    storage::{EntryResponder, RaftSnapshotBuilder, RaftStateMachine},
};
use parking_lot::{Mutex, RwLock};

use crate::{
    EffectSink, Hosted,
    store::Store,
    types::{Answer, LogId, Proposal, Snapshot, SnapshotMeta, StoredMembership, Types},
};

/// What the host shares with the handle on the replica.
#[derive(Debug)]
pub(crate) struct Shared<M> {
    pub(crate) machine: RwLock<M>,
    /// Entries applied in this run; changes with each.
    pub(crate) generation: AtomicU64,
    /// Effects are handed over. Not before the state of the last run is there again.
    pub(crate) is_live: AtomicBool,
    /// Time of the last entry, in milliseconds.
    pub(crate) time_ms: AtomicU64,
}

/// Where effects go, and where they are gathered.
struct Lane<M: Machine> {
    sink: EffectSink<M>,
    effects: Vec<M::Effect>,
}

/// See the file's head.
pub(crate) struct Host<M: Machine> {
    shared: Arc<Shared<M>>,
    store: Store,
    /// Behind a lock only because openraft wants what it holds to be shareable; nobody else has it.
    lane: Mutex<Lane<M>>,
    applied: Option<LogId>,
    membership: StoredMembership,
}

impl<M: Hosted> Host<M> {
    /// The machine of the last snapshot, or a new one.
    pub(crate) fn load(store: Store, sink: EffectSink<M>) -> io::Result<Self> {
        let (machine, time, meta) = match store.read_snapshot()? {
            Some(Snapshot { meta, snapshot }) => {
                let (machine, time) = restore(snapshot)?;
                (machine, time, meta)
            }
            None => (M::default(), Timestamp(0), SnapshotMeta::default()),
        };
        let shared = Arc::new(Shared {
            machine: RwLock::new(machine),
            generation: AtomicU64::new(0),
            is_live: AtomicBool::new(false),
            time_ms: AtomicU64::new(time.0),
        });
        let lane = Mutex::new(Lane { sink, effects: Vec::new() });
        Ok(Self { shared, store, lane, applied: meta.last_log_id, membership: meta.last_membership })
    }

    pub(crate) fn shared(&self) -> Arc<Shared<M>> {
        Arc::clone(&self.shared)
    }

    fn apply_proposal(&mut self, log_id: LogId, proposal: Proposal) -> Result<M::Reply, CorruptBytes> {
        let mut bytes = proposal.command;
        let command = M::Command::decode(&mut bytes)?;
        let time_ms = self.shared.time_ms.load(Ordering::Relaxed).max(proposal.time.0);
        self.shared.time_ms.store(time_ms, Ordering::Relaxed);
        let stamp = Stamp {
            index: LogIndex(log_id.index),
            position: 0,
            term: Term(log_id.leader_id.term),
            time: Timestamp(time_ms),
        };
        let lane = self.lane.get_mut();
        let reply = {
            let mut machine = self.shared.machine.write();
            let reply = machine.apply(stamp, command, &mut lane.effects);
            // Under the lock, so that nobody sees a change whose effects have not been handed on yet: a reader that finds
            // a new group must find it made. The sink hands on and reads nothing here.
            if self.shared.is_live.load(Ordering::Acquire) {
                for effect in &lane.effects {
                    (lane.sink)(effect);
                }
            }
            self.shared.generation.fetch_add(1, Ordering::Release);
            reply
        };
        lane.effects.clear();
        Ok(reply)
    }

    fn builder(&self) -> Builder {
        let mut data = BytesMut::new();
        data.put_u64_le(self.shared.time_ms.load(Ordering::Relaxed));
        self.shared.machine.read().snapshot(&mut data);
        let meta = SnapshotMeta { last_log_id: self.applied, last_membership: self.membership.clone() };
        Builder { store: self.store.clone(), meta, data: data.freeze() }
    }
}

impl<M: Hosted> RaftStateMachine<Types> for Host<M> {
    type SnapshotData = Bytes;
    type SnapshotBuilder = Builder;

    async fn applied_state(&mut self) -> io::Result<(Option<LogId>, StoredMembership)> {
        Ok((self.applied, self.membership.clone()))
    }

    async fn apply<S>(&mut self, mut entries: S) -> io::Result<()>
    where
        S: Stream<Item = io::Result<EntryResponder<Types>>> + Unpin + OptionalSend,
    {
        while let Some(entry) = entries.next().await {
            let (entry, responder) = entry?;
            let log_id = entry.log_id();
            let answer = match entry.payload {
                EntryPayload::Blank => Answer::Nothing,
                EntryPayload::Membership(membership) => {
                    self.membership = StoredMembership::new(Some(log_id), membership);
                    Answer::Nothing
                }
                EntryPayload::Normal(proposal) => {
                    let applied = self.apply_proposal(log_id, proposal);
                    let reply = applied.map_err(|error| {
                        let why =
                            format!("entry {} of the log cannot be applied by this version: {error}", log_id.index);
                        io::Error::new(io::ErrorKind::InvalidData, why)
                    })?;
                    Answer::Reply(Box::new(reply))
                }
            };
            self.applied = Some(log_id);
            if let Some(responder) = responder {
                responder.send(answer);
            }
        }
        Ok(())
    }

    async fn get_snapshot_builder(&mut self) -> Builder {
        self.builder()
    }

    async fn install_snapshot(&mut self, meta: &SnapshotMeta, snapshot: Bytes) -> io::Result<()> {
        let (machine, time) = restore(snapshot.clone())?;
        self.store.save_snapshot(meta.clone(), snapshot).await?;
        self.applied = meta.last_log_id;
        self.membership = meta.last_membership.clone();
        let mut current = self.shared.machine.write();
        *current = machine;
        self.shared.time_ms.store(time.0, Ordering::Relaxed);
        self.shared.generation.fetch_add(1, Ordering::Release);
        Ok(())
    }

    async fn get_current_snapshot(&mut self) -> io::Result<Option<Snapshot>> {
        self.store.read_snapshot()
    }
}

/// The state at one moment, to be written down.
pub(crate) struct Builder {
    store: Store,
    meta: SnapshotMeta,
    data: Bytes,
}

impl RaftSnapshotBuilder<Types> for Builder {
    type SnapshotData = Bytes;

    async fn build_snapshot(&mut self) -> io::Result<Snapshot> {
        self.store.save_snapshot(self.meta.clone(), self.data.clone()).await?;
        Ok(Snapshot { meta: self.meta.clone(), snapshot: self.data.clone() })
    }
}

/// Reads what [`Builder`] wrote: the time, then the machine.
fn restore<M: Machine>(mut snapshot: Bytes) -> io::Result<(M, Timestamp)> {
    let corrupt = |error: CorruptBytes| io::Error::new(io::ErrorKind::InvalidData, error);
    let time = snapshot.try_get_u64_le().map_err(|_| corrupt(CorruptBytes { what: "snapshot" }))?;
    let machine = M::restore(&mut snapshot).map_err(corrupt)?;
    Ok((machine, Timestamp(time)))
}

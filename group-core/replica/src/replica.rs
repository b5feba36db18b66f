//! The handle on a replica: starting it, proposing, reading, stopping.

mod start;

use std::sync::{Arc, atomic::Ordering};

use braid_types::{Machine, Wire};
use bytes::BytesMut;
use openraft::{
    Raft,
    errors::{ClientWriteError, Fatal, RaftError},
};
use parking_lot::{Mutex, RwLockReadGuard};
use tokio::sync::Semaphore;

use crate::{
    Error, Hosted, Options,
    clock::EntryClock,
    host::{Host, Shared},
    limits::COMMAND_BYTES_MAX,
    store::Store,
    types::{Answer, Proposal, Types},
};

/// Takes the effects of a machine, one by one, in order. It is called while the next entry waits, so it does not wait
/// itself; it may read the machine, and must not propose and wait for the reply.
pub type EffectSink<M> = Box<dyn FnMut(&<M as Machine>::Effect) + Send>;

/// One replica of a machine. Dropping it stops it, as a crash would: nothing that was confirmed is lost.
pub struct Replica<M: Hosted> {
    raft: Raft<Types, Host<M>>,
    shared: Arc<Shared<M>>,
    store: Store,
    clock: Mutex<EntryClock>,
    places: Semaphore,
}

impl<M: Hosted> std::fmt::Debug for Replica<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Replica").field("path", &self.store.path()).finish_non_exhaustive()
    }
}

impl<M: Hosted> Replica<M> {
    /// Starts a replica: opens its file (or makes it), and gives the handle when the state of the last run is there
    /// again and proposals are taken. `sink` gets the effects of what is applied from then on, before anybody can see the
    /// change; it is called under the state's lock and must not read the state.
    ///
    /// # Errors
    /// The file is damaged, lost, in use or another's; then nothing was changed in it. Or the start did not succeed in
    /// time.
    pub async fn open(options: Options, sink: EffectSink<M>) -> Result<Self, Error> {
        start::start(options, sink).await
    }

    /// Has a command committed and applied, and gives the machine's reply. When the future is dropped, or the answer is
    /// [`Error::Uncertain`], the command may still be applied.
    ///
    /// # Errors
    /// See [`Error`]: the command is none for a log, this node does not lead, or the replica does not run any more.
    pub async fn propose(&self, command: M::Command) -> Result<M::Reply, Error> {
        let mut bytes = BytesMut::new();
        command.encode(&mut bytes);
        if bytes.len() > COMMAND_BYTES_MAX {
            return Err(Error::TooLarge { size_bytes: bytes.len(), max_bytes: COMMAND_BYTES_MAX });
        }
        let bytes = bytes.freeze();
        // Once in the log, a command that cannot be read would stop every replica.
        M::Command::decode(&mut bytes.clone()).map_err(Error::Unreadable)?;
        let _place = self.places.acquire().await.map_err(|_| Error::ShutDown)?;
        let proposal = Proposal { time: self.clock.lock().now(), command: bytes };
        let response = self.raft.client_write(proposal).await.map_err(|error| write_error(&error))?;
        match response.data {
            Answer::Reply(reply) => reply
                .downcast()
                .map(|reply| *reply)
                .map_err(|_| Error::Failed("the reply of a command is of another machine".to_string())),
            Answer::Nothing => Err(Error::Failed("a command had no reply".to_string())),
        }
    }

    /// The machine as it is after the last applied entry. Hold it briefly: applying waits for it.
    pub fn read(&self) -> RwLockReadGuard<'_, M> {
        self.shared.machine.read()
    }

    /// A number that changes whenever the machine may have. Read it before the state that is to be remembered under it:
    /// then what is remembered is never older than it says.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.shared.generation.load(Ordering::Acquire)
    }

    /// Stops the replica and lets go of its file. Proposals on their way get an error; their commands may be applied.
    ///
    /// # Errors
    /// It had failed before, or its last words could not be written. It is stopped all the same.
    pub async fn shutdown(&self) -> Result<(), Error> {
        self.places.close();
        let stopped = self.raft.shutdown().await.map_err(|error| Error::Failed(error.to_string()));
        let flushed = self.store.flush().map_err(|error| Error::Failed(error.to_string()));
        self.store.close();
        stopped.and(flushed)
    }
}

impl<M: Hosted> Drop for Replica<M> {
    /// openraft's tasks end by themselves when their file is gone.
    fn drop(&mut self) {
        self.store.close();
    }
}

fn write_error(error: &RaftError<Types, ClientWriteError<Types>>) -> Error {
    match error {
        RaftError::APIError(ClientWriteError::ForwardToLeader(forward)) => {
            Error::NotLeader { leader: forward.leader_id }
        }
        RaftError::APIError(ClientWriteError::LogEntryDiscarded(_)) => Error::Uncertain,
        RaftError::APIError(
            error @ (ClientWriteError::ChangeMembershipError(_) | ClientWriteError::PreconditionFailed(_)),
        ) => Error::Failed(error.to_string()),
        RaftError::Fatal(Fatal::Stopped) => Error::ShutDown,
        RaftError::Fatal(fatal) => Error::Failed(fatal.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, time::Duration};

    use super::*;
    use crate::sample::{Counter, Filling};

    const ROUNDS: u64 = 60;
    const ENTRIES_PER_ROUND: u64 = 50;
    const ENTRY_BYTES: usize = 8_000;

    /// The log ends up with what the last snapshot has not, and what is kept for peers; the file reuses what is purged.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn neither_log_nor_file_grow_without_bound() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("replica.redb");
        let options = Options { entries_per_snapshot: 100, ..Options::new(&path, 1) };
        let replica = Arc::new(Replica::<Counter>::open(options.clone(), Box::new(|_| {})).await.unwrap());
        for _ in 0..ROUNDS {
            let mut proposers = tokio::task::JoinSet::new();
            for _ in 0..ENTRIES_PER_ROUND {
                let replica = Arc::clone(&replica);
                proposers.spawn(async move { replica.propose(Filling(ENTRY_BYTES)).await.unwrap() });
            }
            proposers.join_all().await;
            // Snapshots and purges go on beside the proposals; here they are waited for.
            let mut attempts = 0;
            while replica.store.log_length() > 200 {
                attempts += 1;
                assert!(attempts < 1_000, "the log has {} entries", replica.store.log_length());
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
        let (size_bytes, written_bytes) = (fs::metadata(&path).unwrap().len(), ROUNDS * ENTRIES_PER_ROUND * 8_000);
        assert!(size_bytes < written_bytes / 2, "{size_bytes} bytes after {written_bytes}");
        replica.shutdown().await.unwrap();
        drop(replica);
        let replica = Replica::<Counter>::open(options, Box::new(|_| {})).await.unwrap();
        assert_eq!(replica.read().0, ROUNDS * ENTRIES_PER_ROUND);
    }
}

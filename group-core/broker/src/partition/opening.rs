//! Starts a partition: its log is opened, the state of the last snapshot restored; what came after it follows as events.

use std::collections::BTreeSet;
use std::sync::Arc;

use braid_log::Wal;
use braid_machine::Partition;
use braid_replica::{Error, Journal};
use braid_types::{CorruptBytes, GroupId, LogIndex, PartitionId, PartitionKind, Term};
use bytes::Buf;
use tokio::sync::oneshot;

use super::Owned;
use super::entry::chunks_of;
use super::logged::Logged;
use super::owner::Owner;
use super::snapshots::HEAD;

/// The log of a node, for its partitions.
#[derive(Clone, Debug)]
pub(crate) struct NodeLog {
    pub(crate) wal: Wal,
    pub(crate) record_bytes_max: usize,
    /// Partitions that should be in it and are not.
    pub(crate) lost: Arc<BTreeSet<PartitionId>>,
}

/// The owner of a partition, as its log left it. `started` hears when it serves; if its log cannot be opened it refuses
/// everything, and the others go on.
pub(super) async fn open(
    id: PartitionId,
    owned: Owned,
    log: &NodeLog,
    started: oneshot::Sender<Result<(), Error>>,
) -> Owner {
    match opened(id, &owned, log).await {
        Ok((mut logged, restored)) => {
            logged.started = Some(started);
            logged.snapshots.needs_all = restored.is_none();
            let mut owner = Owner::new(id, owned, Some(logged));
            if let Some((machine, index, term)) = restored {
                owner.machine = machine;
                owner.index = index;
                owner.term = term;
            }
            owner
        }
        Err(error) => {
            tracing::error!(partition = id.0, %error, "a partition is out of service");
            owned.counters.partitions_out_of_service.add(1);
            drop(started.send(Err(error)));
            Owner { is_stopped: true, ..Owner::new(id, owned, None) }
        }
    }
}

async fn opened(id: PartitionId, owned: &Owned, log: &NodeLog) -> Result<(Box<Logged>, Option<Restored>), Error> {
    if log.lost.contains(&id) {
        let why = String::from("it is not in the node's log any more, and there are groups whose messages were in it");
        return Err(Error::LogDamaged { partition: id, why });
    }
    let journal = match id.kind() {
        Some(PartitionKind::Quorum) => Journal::open_quorum(log.wal.clone(), id, owned.node).await?,
        _ => Journal::open_disk(log.wal.clone(), id)?,
    };
    let wal = log.wal.clone();
    let restoring = tokio::task::spawn_blocking(move || restore(&wal, id));
    let restored = restoring.await.map_err(|error| Error::Failed(error.to_string()))?;
    let restored = restored.map_err(|why| Error::LogDamaged { partition: id, why })?;
    Ok((Box::new(Logged::new(id, log.wal.clone(), journal, log.record_bytes_max)), restored))
}

/// The state of a snapshot, and where in the log it is.
type Restored = (Partition, LogIndex, Term);

fn restore(wal: &Wal, id: PartitionId) -> Result<Option<Restored>, String> {
    let Some(reader) = wal.snapshot(id).map_err(|error| error.to_string())? else { return Ok(None) };
    let read = |key: u64| match reader.read(key) {
        Ok(Some(bytes)) => Ok(bytes),
        Ok(None) => Err(CorruptBytes { what: "list of a snapshot's parts" }),
        Err(error) => {
            tracing::error!(partition = id.0, %error, "a part of a snapshot cannot be read");
            Err(CorruptBytes { what: "part of a snapshot" })
        }
    };
    let corrupt = |error: CorruptBytes| error.to_string();
    let mut head = read(HEAD).map_err(corrupt)?;
    let known_upto = head.try_get_u64_le().map_err(|_| String::from("the head of a snapshot is too short"))?;
    let groups = reader.keys().filter(|key| *key != HEAD).map(|key| read(key).map(|bytes| (GroupId(key), bytes)));
    let mut machine = Partition::restore_parts(&mut head, groups).map_err(corrupt)?;
    // They are in the snapshot as they are.
    machine.take_changed();
    let live = machine.live_messages().flat_map(|message| chunks_of(message).chain(std::iter::once(message)));
    let meta = reader.meta();
    // What comes after it may be pieces of a message that the machine does not know yet.
    wal.retain(id, LogIndex(known_upto), live).map_err(|error| error.to_string())?;
    Ok(Some((machine, meta.last, meta.term)))
}

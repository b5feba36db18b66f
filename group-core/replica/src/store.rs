//! The file of a replica: what it knows about itself, its vote, its log and its last snapshot, in two tables of redb.
//!
//! ```text
//! meta      "format" "node" "identity" "vote" "committed" "purged" "snapshot.meta" "snapshot.data" -> record
//! log       index -> record of an entry
//! record    CRC-32C of name and body (4) | body
//! ```
//!
//! Every change is one transaction that is fsynced when it returns. Records are read through their checksum, which also
//! covers their name, so that one in the place of another shows. At opening, all of them are read once.
//!
//! Invariants: the log has every index after `purged` up to the last one, and none at or before it; a snapshot that
//! reaches `purged` is there; nothing is written to a file that could not be read in full.

mod log;
mod open;
pub(crate) mod record;
mod shadow;
mod snapshot;
#[cfg(test)]
mod suite;

use std::{io, path::Path, sync::Arc};

use bytes::Bytes;
use parking_lot::{Mutex, RwLock};
use redb::{Database, Table, TableDefinition};

use crate::types::{LogId, Vote};

const META: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("meta");
const LOG: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("log");

type MetaTable<'a> = Table<'a, &'static str, &'static [u8]>;
type LogTable<'a> = Table<'a, u64, &'static [u8]>;

const VOTE: &str = "vote";
const COMMITTED: &str = "committed";
const PURGED: &str = "purged";

/// What is asked for all the time, as the file has it.
#[derive(Clone, Debug, Default, PartialEq)]
struct State {
    vote: Option<Vote>,
    purged: Option<LogId>,
    last: Option<LogId>,
    committed: Option<LogId>,
    /// `committed` as the file has it: it may lag, since each transaction takes the newest along, and none is made for
    /// it alone. Entries after it are not lost: they are committed again.
    committed_saved: Option<LogId>,
}

/// The opened file. Clones are handles on the same one.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    path: Arc<Path>,
    /// `None` once it is closed.
    database: Arc<RwLock<Option<Database>>>,
    state: Arc<Mutex<State>>,
}

impl Store {
    /// Lets go of the file, when what is being written is written. All later calls fail.
    pub(crate) fn close(&self) {
        let database = self.database.write().take();
        drop(database);
    }

    /// Writes down how far the log is committed, which otherwise goes along with the next change.
    pub(crate) fn flush(&self) -> io::Result<()> {
        let (committed, saved) = {
            let state = self.state.lock();
            (state.committed, state.committed_saved)
        };
        if committed == saved { Ok(()) } else { self.change(|_, _| Ok(())) }
    }

    /// One durable transaction over both tables.
    fn change(&self, write: impl FnOnce(&mut MetaTable<'_>, &mut LogTable<'_>) -> io::Result<()>) -> io::Result<()> {
        let guard = self.database.read();
        let database = guard.as_ref().ok_or_else(closed)?;
        let committed = self.state.lock().committed;
        commit(database, committed, write)?;
        self.state.lock().committed_saved = committed;
        Ok(())
    }

    /// Reads a record of the meta table.
    fn read_meta(&self, name: &str) -> io::Result<Option<Bytes>> {
        let guard = self.database.read();
        let database = guard.as_ref().ok_or_else(closed)?;
        let transaction = redb::ReadableDatabase::begin_read(database).map_err(failed)?;
        let table = transaction.open_table(META).map_err(failed)?;
        let Some(found) = table.get(name).map_err(failed)? else {
            return Ok(None);
        };
        Ok(Some(record::unseal(name.as_bytes(), found.value()).map_err(corrupt)?))
    }
}

/// One durable transaction. In two phases, which costs a second fsync: with one, redb cannot tell a damaged last
/// transaction from one that a crash cut short, and would go back to the one before, without what was confirmed (P2).
fn commit(
    database: &Database,
    committed: Option<LogId>,
    write: impl FnOnce(&mut MetaTable<'_>, &mut LogTable<'_>) -> io::Result<()>,
) -> io::Result<()> {
    let mut transaction = database.begin_write().map_err(failed)?;
    transaction.set_two_phase_commit(true);
    {
        let mut meta = transaction.open_table(META).map_err(failed)?;
        let mut log = transaction.open_table(LOG).map_err(failed)?;
        write(&mut meta, &mut log)?;
        put(&mut meta, COMMITTED, &record::optional_log_id(committed))?;
    }
    transaction.commit().map_err(failed)
}

/// Puts a record into the meta table.
fn put(meta: &mut MetaTable<'_>, name: &'static str, body: &[u8]) -> io::Result<()> {
    let sealed = record::seal(name.as_bytes(), body);
    meta.insert(name, sealed.as_ref()).map_err(failed)?;
    Ok(())
}

fn failed(error: impl Into<redb::Error>) -> io::Error {
    io::Error::other(error.into())
}

fn corrupt(error: braid_types::CorruptBytes) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

fn closed() -> io::Error {
    io::Error::new(io::ErrorKind::NotConnected, "the replica is shut down")
}

/// Runs `work`, which waits for the disk, where it does not hold up others.
async fn on_disk<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}

//! Opening the file, and making it at the first start.
//!
//! A new file is made under another name and gets its own when it is complete and fsynced, so a file under its own name
//! is never half made: one that is empty or cut was damaged. A file is opened for writing only after its copy in memory,
//! with every repair that redb would do after a crash, was read in full: one that is refused is left as it is (P3).

use std::{
    fs::{self, File},
    io,
    panic::{self, AssertUnwindSafe},
    path::Path,
    sync::Arc,
};

use bytes::Bytes;
use openraft::entry::RaftEntry;
use parking_lot::{Mutex, RwLock};
use redb::{Builder, Database, DatabaseError, ReadableDatabase, ReadableTable, StorageError};

use super::{
    COMMITTED, LOG, META, PURGED, State, Store, VOTE, commit, corrupt, failed, log::read_entry, put, record,
    shadow::Shadow, snapshot,
};
use crate::{Error, Options, limits::FILE_CACHE_BYTES};

const FORMAT: &str = "format";
const NODE: &str = "node";
const IDENTITY: &str = "identity";

/// The version of the form of the file.
const FORMAT_VERSION: u8 = 1;

impl Store {
    /// Opens the file, or makes it.
    ///
    /// # Errors
    /// It is not there and must be, belongs to another, is in use, or is damaged.
    pub(crate) fn open(options: &Options) -> Result<Self, Error> {
        let path = &options.path;
        match fs::metadata(path) {
            Ok(found) if found.len() == 0 => return Err(damaged(path, "it is empty")),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound && options.create => create(options)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(damaged(path, "it is not there")),
            Err(error) => return Err(io_error(path, &error)),
        }
        caught(path, || {
            let shadow = Shadow::open(path).map_err(|error| io_error(path, &error))?;
            let rehearsal = builder().create_with_backend(shadow).map_err(|error| database_error(path, &error))?;
            read_all(&rehearsal, options)?;
            drop(rehearsal);
            let database = builder().open(path).map_err(|error| database_error(path, &error))?;
            let state = read_all(&database, options)?;
            Ok(Self {
                path: Arc::from(path.as_path()),
                database: Arc::new(RwLock::new(Some(database))),
                state: Arc::new(Mutex::new(state)),
            })
        })
    }

    /// The file, for errors.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

fn builder() -> Builder {
    let mut builder = Database::builder();
    builder.set_cache_size(FILE_CACHE_BYTES).set_check_integrity_on_open(true);
    builder
}

/// Makes the file. What an interrupted attempt left under the other name was never anybody's.
fn create(options: &Options) -> Result<(), Error> {
    let path = &options.path;
    let made = path.with_extension("new");
    let make = || -> io::Result<()> {
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory)?;
        }
        File::create(&made)?.sync_all()?;
        let database = Database::builder().set_cache_size(FILE_CACHE_BYTES).create(&made).map_err(failed)?;
        commit(&database, None, |meta, _| {
            put(meta, FORMAT, &[FORMAT_VERSION])?;
            put(meta, NODE, &options.node_id.to_le_bytes())?;
            put(meta, IDENTITY, &options.identity.to_le_bytes())?;
            put(meta, PURGED, &record::optional_log_id(None))
        })?;
        drop(database);
        File::open(&made)?.sync_all()?;
        fs::rename(&made, path)?;
        if let Some(directory) = path.parent() {
            File::open(directory)?.sync_all()?;
        }
        Ok(())
    };
    make().map_err(|error| io_error(&made, &error))
}

/// Reads and checks everything.
fn read_all(database: &Database, options: &Options) -> Result<State, Error> {
    let path = &options.path;
    let transaction = database.begin_read().map_err(|error| damaged(path, &error.to_string()))?;
    let unreadable = |error: io::Error| damaged(path, &error.to_string());
    let meta = transaction.open_table(META).map_err(failed).map_err(unreadable)?;
    let read = |name: &'static str| read_record(&meta, name).map_err(unreadable);
    let required =
        |name: &'static str| read(name)?.ok_or_else(|| damaged(path, &format!("the record '{name}' is not there")));
    if required(FORMAT)?.as_ref() != [FORMAT_VERSION] {
        return Err(not_ours(path, "it has the form of another version"));
    }
    if required(NODE)?.as_ref() != options.node_id.to_le_bytes() {
        return Err(not_ours(path, "it belongs to another node"));
    }
    if required(IDENTITY)?.as_ref() != options.identity.to_le_bytes() {
        return Err(not_ours(path, "it belongs to another disk than the identity file beside it"));
    }
    let decode = |error| unreadable(corrupt(error));
    let mut state = State {
        vote: read(VOTE)?.map(record::read_vote).transpose().map_err(decode)?,
        purged: record::read_optional_log_id(required(PURGED)?).map_err(decode)?,
        committed: record::read_optional_log_id(required(COMMITTED)?).map_err(decode)?,
        ..State::default()
    };
    state.committed_saved = state.committed;
    state.last = state.purged;
    let log = transaction.open_table(LOG).map_err(failed).map_err(unreadable)?;
    for found in log.iter().map_err(failed).map_err(unreadable)? {
        let (index, sealed) = found.map_err(failed).map_err(unreadable)?;
        let entry = read_entry(index.value(), sealed.value()).map_err(unreadable)?;
        let expected = state.last.map_or(0, |last| last.index + 1);
        if entry.index() != expected {
            return Err(damaged(path, &format!("entry {expected} of the log is not there")));
        }
        state.last = Some(entry.log_id());
    }
    let reached = match (read(snapshot::META)?, read(snapshot::DATA)?) {
        (Some(described), Some(_)) => record::read_snapshot_meta(described).map_err(decode)?.last_log_id,
        (None, None) => None,
        _ => return Err(damaged(path, "half of the snapshot is not there")),
    };
    if state.purged > reached {
        return Err(damaged(path, "the log is purged further than the snapshot reaches"));
    }
    if state.committed > state.last {
        return Err(damaged(path, "the end of the log is not there"));
    }
    Ok(state)
}

fn read_record(
    table: &redb::ReadOnlyTable<&'static str, &'static [u8]>,
    name: &'static str,
) -> io::Result<Option<Bytes>> {
    let Some(found) = table.get(name).map_err(failed)? else {
        return Ok(None);
    };
    Ok(Some(record::unseal(name.as_bytes(), found.value()).map_err(corrupt)?))
}

/// redb promises errors for damage that its check finds, but not that nothing panics before.
fn caught<T>(path: &Path, work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    panic::catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(damaged(path, "reading it failed badly")))
}

fn database_error(path: &Path, error: &DatabaseError) -> Error {
    match error {
        DatabaseError::DatabaseAlreadyOpen => not_ours(path, "another process has it open"),
        DatabaseError::Storage(StorageError::Io(error))
            if !matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof) =>
        {
            io_error(path, error)
        }
        other => damaged(path, &other.to_string()),
    }
}

fn damaged(path: &Path, why: &str) -> Error {
    Error::Damaged { path: path.to_path_buf(), why: why.to_string() }
}

fn not_ours(path: &Path, why: &str) -> Error {
    Error::NotOurs { path: path.to_path_buf(), why: why.to_string() }
}

fn io_error(path: &Path, error: &io::Error) -> Error {
    Error::Io { path: path.to_path_buf(), why: error.to_string() }
}

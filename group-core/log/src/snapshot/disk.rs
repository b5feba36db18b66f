//! The writes of snapshots. When the disk is full, the ballast is given up for them: a snapshot is what frees space.

use std::io;

use crate::{Error, disk::is_full, inner::Inner, names};

/// Does `write`; on a full disk once more, without the ballast.
pub(super) fn with_ballast<T>(inner: &Inner, file: &str, mut write: impl FnMut() -> io::Result<T>) -> Result<T, Error> {
    let done = match write() {
        Err(error) if is_full(&error) && give_up_ballast(inner) => write(),
        done => done,
    };
    done.map_err(|error| {
        if is_full(&error) {
            inner.lock().pool.is_full = true;
            Error::DiskFull
        } else {
            // A disk that cannot write a snapshot cannot be relied on for the log either.
            inner.fail(&format!("{file}: {error}"), Vec::new())
        }
    })
}

fn give_up_ballast(inner: &Inner) -> bool {
    {
        let mut engine = inner.lock();
        // Maintenance makes it again when there is room, and only then are bodies taken again.
        engine.pool.is_full = true;
        if !std::mem::take(&mut engine.pool.has_ballast) {
            return false;
        }
    }
    inner.disk.remove(names::BALLAST).and_then(|()| inner.disk.sync_directory()).is_ok()
}

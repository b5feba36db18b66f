//! The few things that the log asks of a disk: one flat directory of files, read and written at offsets.
//!
//! What is written is durable only after [`DiskFile::sync_data`]; what is created, renamed or removed only after
//! [`Disk::sync_directory`]. Until then a crash may lose any part of it: that is what [`SimulatedDisk`] does.

mod real;
mod simulated;

use std::{
    fmt::Debug,
    io::{self, IoSlice},
    ops::Range,
    sync::Arc,
};

pub use real::RealDisk;
pub use simulated::{CrashPlan, Fault, SimulatedDisk};

/// A directory of files. Names have no separators.
pub trait Disk: Debug + Send + Sync {
    /// Names of all files, in no order.
    ///
    /// # Errors
    /// The directory cannot be read.
    fn list(&self) -> io::Result<Vec<String>>;

    /// Opens a file that is there, for reading and writing.
    ///
    /// # Errors
    /// It is not there, or cannot be opened.
    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>>;

    /// Makes an empty file, in the place of one that may be there.
    ///
    /// # Errors
    /// It cannot be made.
    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>>;

    /// Gives a file another name, in the place of one that may have it.
    ///
    /// # Errors
    /// It cannot be renamed.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// It cannot be removed.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Makes all creations, renames and removals so far durable.
    ///
    /// # Errors
    /// They may not be.
    fn sync_directory(&self) -> io::Result<()>;
}

/// An open file. It stays usable when it is renamed or removed.
pub trait DiskFile: Debug + Send + Sync {
    /// Its size in bytes.
    ///
    /// # Errors
    /// It cannot be told.
    fn size_bytes(&self) -> io::Result<u64>;

    /// Makes it `size_bytes` long, with room on the disk for all of it; new bytes are zero.
    ///
    /// # Errors
    /// There is no room.
    fn preallocate(&self, size_bytes: u64) -> io::Result<()>;

    /// Reads up to `buffer.len()` bytes from `offset`; 0 at the end.
    ///
    /// # Errors
    /// They cannot be read.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;

    /// Writes the pieces, one after the other, from `offset`. May write only some of the bytes, and says how many.
    ///
    /// # Errors
    /// They may not be written.
    fn write_at(&self, offset: u64, pieces: &[IoSlice<'_>]) -> io::Result<usize>;

    /// Makes all that was written durable.
    ///
    /// # Errors
    /// It may not be, and will never be known to be: it must not be tried again.
    fn sync_data(&self) -> io::Result<()>;
}

/// Writes all pieces; consumes them.
pub(crate) fn write_all(file: &dyn DiskFile, mut offset: u64, mut pieces: &mut [IoSlice<'_>]) -> io::Result<()> {
    IoSlice::advance_slices(&mut pieces, 0);
    while !pieces.is_empty() {
        let count = pieces.len().min(crate::limits::PIECES_PER_WRITE_MAX);
        let written = match file.write_at(offset, pieces.get(..count).unwrap_or_default()) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => written,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        offset += written as u64;
        IoSlice::advance_slices(&mut pieces, written);
    }
    Ok(())
}

/// Reads exactly `buffer.len()` bytes.
pub(crate) fn read_exact(file: &dyn DiskFile, mut offset: u64, mut buffer: &mut [u8]) -> io::Result<()> {
    while !buffer.is_empty() {
        match file.read_at(offset, buffer) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => {
                offset += read as u64;
                buffer = buffer.get_mut(read..).unwrap_or_default();
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Writes zeros.
pub(crate) fn fill_with_zeros(file: &dyn DiskFile, range: Range<u64>) -> io::Result<()> {
    static ZEROS: [u8; 64 * 1024] = [0; 64 * 1024];
    let mut offset = range.start;
    while offset < range.end {
        let left = usize::try_from(range.end - offset).unwrap_or(usize::MAX);
        let piece = ZEROS.get(..left).unwrap_or(&ZEROS);
        write_all(file, offset, &mut [IoSlice::new(piece)])?;
        offset += piece.len() as u64;
    }
    Ok(())
}

/// Whether the error says that the disk is full.
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge)
}

//! A directory of the operating system: the only place of this crate that does IO.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, IoSlice},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use rustix::fs::{FallocateFlags, FlockOperation};

use super::{Disk, DiskFile};

const LOCK: &str = "lock";

/// A directory of the operating system, locked against a second process.
#[derive(Debug)]
pub struct RealDisk {
    path: PathBuf,
    directory: File,
    _lock: File,
}

impl RealDisk {
    /// Opens the directory, or makes it.
    ///
    /// # Errors
    /// It cannot be made, or another process has it.
    pub fn open(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        fs::create_dir_all(&path)?;
        let lock = OpenOptions::new().write(true).create(true).truncate(false).open(path.join(LOCK))?;
        rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| io::Error::new(io::ErrorKind::ResourceBusy, "another process has this directory open"))?;
        let directory = File::open(&path)?;
        // A new directory is itself an entry that a crash may lose.
        if let Some(parent) = path.parent().filter(|parent| *parent != Path::new("")) {
            File::open(parent)?.sync_all()?;
        }
        Ok(Self { path, directory, _lock: lock })
    }

    fn path_of(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

impl Disk for RealDisk {
    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            if let Ok(name) = entry?.file_name().into_string()
                && name != LOCK
            {
                names.push(name);
            }
        }
        Ok(names)
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        let file = OpenOptions::new().read(true).write(true).open(self.path_of(name))?;
        Ok(Arc::new(RealFile(file)))
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(self.path_of(name))?;
        Ok(Arc::new(RealFile(file)))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path_of(from), self.path_of(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path_of(name))
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.directory.sync_all()
    }
}

#[derive(Debug)]
struct RealFile(File);

impl DiskFile for RealFile {
    fn size_bytes(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn preallocate(&self, size_bytes: u64) -> io::Result<()> {
        match rustix::fs::fallocate(&self.0, FallocateFlags::empty(), 0, size_bytes) {
            // Some file systems cannot: then room is only known when it is written.
            Err(rustix::io::Errno::OPNOTSUPP) => self.0.set_len(size_bytes),
            done => Ok(done?),
        }
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        FileExt::read_at(&self.0, buffer, offset)
    }

    fn write_at(&self, offset: u64, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        Ok(rustix::io::pwritev(&self.0, pieces, offset)?)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }
}

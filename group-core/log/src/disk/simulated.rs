//! A disk in memory that loses, tears, fails, fills and rots as it is told. For tests and simulations.
//!
//! It keeps apart what is synced and what is not: a crash loses any part of the rest, sector by sector, and any number
//! of the last changes of the directory. Everything is deterministic. Copies of a disk have their bytes in common until
//! one of them changes.

mod content;

use std::{
    collections::BTreeMap,
    io::{self, IoSlice},
    sync::Arc,
};

use parking_lot::{Mutex, MutexGuard};

use self::content::{Content, Random, SECTOR_BYTES};
use super::{Disk, DiskFile};

/// What a call does instead of what it should.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// `EIO`. A sync that fails so has lost what it should have synced, although it is still read back.
    Error,
    /// `ENOSPC`.
    Full,
    /// Writes or reads only half of the bytes.
    Short,
}

/// What a crash keeps of what was not synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrashPlan {
    /// Nothing.
    LoseAll,
    /// Everything.
    KeepAll,
    /// Each sector of each write, and the changes of the directory up to some point, as this seed says.
    Random(u64),
}

#[derive(Clone, Debug)]
enum Change {
    Link(String, usize),
    Unlink(String),
    Rename(String, String),
}

#[derive(Debug, Default)]
struct State {
    files: Vec<Content>,
    names: BTreeMap<String, usize>,
    durable_names: BTreeMap<String, usize>,
    unsynced_names: Vec<Change>,
    capacity_bytes: Option<usize>,
    /// Calls that change something, so far.
    operations: u64,
    syncs: u64,
    faults: BTreeMap<u64, Fault>,
    /// From this call on everything fails: the machine is down.
    down_at: Option<u64>,
    read_errors: Vec<(usize, usize)>,
}

/// See the file's head. Clones are the same disk.
#[derive(Clone, Debug, Default)]
pub struct SimulatedDisk {
    state: Arc<Mutex<State>>,
}

impl SimulatedDisk {
    /// An empty disk without limits.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Calls that changed something so far: creations, writes, syncs and so on.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.state.lock().operations
    }

    /// Syncs of files so far.
    #[must_use]
    pub fn syncs(&self) -> u64 {
        self.state.lock().syncs
    }

    /// Makes the change with that number (from 0) fail.
    pub fn fail_at(&self, operation: u64, fault: Fault) {
        self.state.lock().faults.insert(operation, fault);
    }

    /// Makes all calls fail from the change with that number on, until [`SimulatedDisk::crash`].
    pub fn go_down_at(&self, operation: u64) {
        self.state.lock().down_at = Some(operation);
    }

    /// Limits what all files together may have allocated.
    pub fn set_capacity(&self, capacity_bytes: Option<usize>) {
        self.state.lock().capacity_bytes = capacity_bytes;
    }

    /// Bytes that all files have allocated.
    #[must_use]
    pub fn used_bytes(&self) -> usize {
        self.state.lock().used()
    }

    /// The disk after a crash, without faults. This one is left as it is.
    #[must_use]
    pub fn crash(&self, plan: CrashPlan) -> Self {
        let state = self.state.lock();
        let mut random = Random::new(plan);
        let mut names = state.durable_names.clone();
        let kept = random.upto(state.unsynced_names.len());
        for change in state.unsynced_names.iter().take(kept) {
            change.apply(&mut names);
        }
        let files = state.files.iter().map(|file| file.after_crash(&mut random)).collect();
        let capacity_bytes = state.capacity_bytes;
        let durable_names = names.clone();
        let state = State { files, names, durable_names, capacity_bytes, ..State::default() };
        Self { state: Arc::new(Mutex::new(state)) }
    }

    /// The disk after the process was killed: nothing is lost, and nothing more is synced than before.
    #[must_use]
    pub fn kill(&self) -> Self {
        let state = self.state.lock();
        let state = State {
            files: state.files.clone(),
            names: state.names.clone(),
            durable_names: state.durable_names.clone(),
            unsynced_names: state.unsynced_names.clone(),
            capacity_bytes: state.capacity_bytes,
            ..State::default()
        };
        Self { state: Arc::new(Mutex::new(state)) }
    }

    /// The names of all files, sorted.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.state.lock().names.keys().cloned().collect()
    }

    /// The bytes of a file.
    #[must_use]
    pub fn content(&self, name: &str) -> Option<Vec<u8>> {
        let state = self.state.lock();
        let file = *state.names.get(name)?;
        state.files.get(file).map(|file| file.visible.as_ref().clone())
    }

    /// Changes bytes of a file behind everybody's back.
    pub fn alter(&self, name: &str, change: impl FnOnce(&mut Vec<u8>)) {
        let mut state = self.state.lock();
        let file = state.names.get(name).copied();
        if let Some(content) = file.and_then(|file| state.files.get_mut(file)) {
            change(Arc::make_mut(&mut content.visible));
            content.durable = Arc::clone(&content.visible);
        }
    }

    /// Makes the block of a file that has this byte unreadable.
    pub fn make_unreadable(&self, name: &str, offset: usize) {
        let mut state = self.state.lock();
        if let Some(file) = state.names.get(name).copied() {
            state.read_errors.push((file, offset / SECTOR_BYTES));
        }
    }

    /// Counts a call that changes something, and says whether it may.
    fn begin(&self) -> io::Result<(MutexGuard<'_, State>, Option<Fault>)> {
        let mut state = self.state.lock();
        let number = state.operations;
        state.operations += 1;
        if state.down_at.is_some_and(|down_at| number >= down_at) {
            return Err(io::Error::other("the machine is down"));
        }
        let fault = state.faults.remove(&number);
        match fault {
            Some(Fault::Full) => Err(io::ErrorKind::StorageFull.into()),
            _ => Ok((state, fault)),
        }
    }

    fn begin_whole(&self) -> io::Result<MutexGuard<'_, State>> {
        match self.begin()? {
            (_, Some(Fault::Error)) => Err(io::Error::other("simulated error")),
            (state, _) => Ok(state),
        }
    }

    fn file(&self, file: usize) -> Arc<dyn DiskFile> {
        Arc::new(SimulatedFile { disk: self.clone(), file })
    }
}

impl State {
    fn used(&self) -> usize {
        self.names
            .values()
            .filter_map(|file| self.files.get(*file))
            .map(|file| file.visible.len().max(file.allocated))
            .sum()
    }

    fn change(&mut self, change: Change) {
        change.apply(&mut self.names);
        self.unsynced_names.push(change);
    }

    fn find(&self, name: &str) -> io::Result<usize> {
        self.names.get(name).copied().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Whether a file may grow to this size.
    fn has_room(&self, file: usize, size: usize) -> bool {
        let has = self.files.get(file).map_or(0, |file| file.visible.len().max(file.allocated));
        let more = size.saturating_sub(has);
        more == 0 || self.capacity_bytes.is_none_or(|capacity| self.used() + more <= capacity)
    }
}

impl Change {
    fn apply(&self, names: &mut BTreeMap<String, usize>) {
        match self {
            Self::Link(name, file) => {
                names.insert(name.clone(), *file);
            }
            Self::Unlink(name) => {
                names.remove(name);
            }
            Self::Rename(from, to) => {
                if let Some(file) = names.remove(from) {
                    names.insert(to.clone(), file);
                }
            }
        }
    }
}

impl Disk for SimulatedDisk {
    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.names())
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        let file = self.state.lock().find(name)?;
        Ok(self.file(file))
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        let mut state = self.begin_whole()?;
        let file = state.files.len();
        state.files.push(Content::default());
        state.change(Change::Link(name.to_owned(), file));
        Ok(self.file(file))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut state = self.begin_whole()?;
        state.find(from)?;
        state.change(Change::Rename(from.to_owned(), to.to_owned()));
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut state = self.begin_whole()?;
        state.find(name)?;
        state.change(Change::Unlink(name.to_owned()));
        Ok(())
    }

    fn sync_directory(&self) -> io::Result<()> {
        let mut state = self.begin_whole()?;
        state.durable_names = state.names.clone();
        state.unsynced_names.clear();
        Ok(())
    }
}

#[derive(Debug)]
struct SimulatedFile {
    disk: SimulatedDisk,
    file: usize,
}

impl DiskFile for SimulatedFile {
    fn size_bytes(&self) -> io::Result<u64> {
        let state = self.disk.state.lock();
        Ok(state.files.get(self.file).map_or(0, |file| file.visible.len() as u64))
    }

    fn preallocate(&self, size_bytes: u64) -> io::Result<()> {
        let mut state = self.disk.begin_whole()?;
        let size = usize::try_from(size_bytes).unwrap_or(usize::MAX);
        if !state.has_room(self.file, size) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        if let Some(content) = state.files.get_mut(self.file) {
            content.allocate(size);
        }
        Ok(())
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let state = self.disk.state.lock();
        if state.down_at.is_some_and(|down_at| state.operations >= down_at) {
            return Err(io::Error::other("the machine is down"));
        }
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        let sectors = offset / SECTOR_BYTES..offset.saturating_add(buffer.len()).div_ceil(SECTOR_BYTES);
        if state.read_errors.iter().any(|(file, sector)| *file == self.file && sectors.contains(sector)) {
            return Err(io::Error::other("simulated unreadable sector"));
        }
        let Some(content) = state.files.get(self.file) else { return Ok(0) };
        let rest = content.visible.get(offset..).unwrap_or_default();
        let length = rest.len().min(buffer.len());
        if let (Some(target), Some(source)) = (buffer.get_mut(..length), rest.get(..length)) {
            target.copy_from_slice(source);
        }
        Ok(length)
    }

    fn write_at(&self, offset: u64, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        let (mut state, fault) = self.disk.begin()?;
        if fault == Some(Fault::Error) {
            return Err(io::Error::other("simulated error"));
        }
        let mut bytes = Vec::new();
        pieces.iter().for_each(|piece| bytes.extend_from_slice(piece));
        if fault == Some(Fault::Short) {
            bytes.truncate(bytes.len().div_ceil(2));
        }
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        if !state.has_room(self.file, offset + bytes.len()) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        if let Some(content) = state.files.get_mut(self.file) {
            content.put(offset, &bytes);
        }
        Ok(bytes.len())
    }

    fn sync_data(&self) -> io::Result<()> {
        let (mut state, fault) = self.disk.begin()?;
        state.syncs += 1;
        if let Some(content) = state.files.get_mut(self.file) {
            if fault == Some(Fault::Error) {
                content.lose_unsynced();
                return Err(io::Error::other("simulated error"));
            }
            content.sync();
        }
        Ok(())
    }
}

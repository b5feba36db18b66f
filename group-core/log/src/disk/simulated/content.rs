//! The bytes of one simulated file: as programs see them, as they are on the disk, and what lies between.
#![allow(clippy::rc_buffer, reason = "changed in place while they are nobody else's")]

use std::sync::Arc;

use super::CrashPlan;

/// What a disk writes or loses as a whole.
pub(super) const SECTOR_BYTES: usize = 512;

/// See the file's head.
#[derive(Clone, Debug, Default)]
pub(super) struct Content {
    /// As the programs see it.
    pub(super) visible: Arc<Vec<u8>>,
    /// As it is after a crash that loses all.
    pub(super) durable: Arc<Vec<u8>>,
    /// Writes since the last sync: offset and length; and new sizes.
    unsynced: Vec<Unsynced>,
    /// Room that was asked for, beyond what is written.
    pub(super) allocated: usize,
}

#[derive(Clone, Debug)]
enum Unsynced {
    Write(usize, Vec<u8>),
    Size(usize),
}

impl Content {
    /// What is left of it after a crash.
    pub(super) fn after_crash(&self, random: &mut Random) -> Self {
        let mut durable = Arc::clone(&self.durable);
        for change in &self.unsynced {
            let bytes = Arc::make_mut(&mut durable);
            match change {
                Unsynced::Size(size) if random.keeps() => *bytes = resized(bytes, *size),
                Unsynced::Size(_) => {}
                Unsynced::Write(offset, written) => keep_sectors(bytes, *offset, written, random),
            }
        }
        Self { visible: Arc::clone(&durable), allocated: durable.len(), durable, unsynced: Vec::new() }
    }

    pub(super) fn put(&mut self, offset: usize, bytes: &[u8]) {
        put(Arc::make_mut(&mut self.visible), offset, bytes);
        self.allocated = self.allocated.max(self.visible.len());
        self.unsynced.push(Unsynced::Write(offset, bytes.to_vec()));
    }

    /// Makes it `size` long, with room for all of it.
    pub(super) fn allocate(&mut self, size: usize) {
        self.visible = Arc::new(resized(&self.visible, size));
        self.allocated = size;
        self.unsynced.push(Unsynced::Size(size));
    }

    /// A sync failed: it is still read, but nobody will ever write it to the disk.
    pub(super) fn lose_unsynced(&mut self) {
        self.unsynced.clear();
    }

    pub(super) fn sync(&mut self) {
        let durable = Arc::make_mut(&mut self.durable);
        for change in self.unsynced.drain(..) {
            match change {
                Unsynced::Size(size) => *durable = resized(durable, size),
                Unsynced::Write(offset, bytes) => put(durable, offset, &bytes),
            }
        }
    }
}

/// The same, longer or shorter. (`Vec::resize` is slow without optimisation, and this is for tests.)
fn resized(bytes: &[u8], size: usize) -> Vec<u8> {
    let mut resized = vec![0; size];
    let kept = bytes.len().min(size);
    if let (Some(target), Some(source)) = (resized.get_mut(..kept), bytes.get(..kept)) {
        target.copy_from_slice(source);
    }
    resized
}

fn put(target: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    let end = offset + bytes.len();
    if target.len() < end {
        *target = resized(target, end);
    }
    if let Some(place) = target.get_mut(offset..end) {
        place.copy_from_slice(bytes);
    }
}

fn keep_sectors(target: &mut Vec<u8>, offset: usize, written: &[u8], random: &mut Random) {
    let mut at = 0;
    while at < written.len() {
        let upto = (SECTOR_BYTES - (offset + at) % SECTOR_BYTES).min(written.len() - at);
        if random.keeps() {
            put(target, offset + at, written.get(at..at + upto).unwrap_or_default());
        }
        at += upto;
    }
}

/// Decides what a crash keeps.
pub(super) struct Random {
    plan: CrashPlan,
    state: u64,
}

impl Random {
    pub(super) fn new(plan: CrashPlan) -> Self {
        let state = if let CrashPlan::Random(seed) = plan { seed } else { 0 };
        Self { plan, state }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn keeps(&mut self) -> bool {
        match self.plan {
            CrashPlan::LoseAll => false,
            CrashPlan::KeepAll => true,
            CrashPlan::Random(_) => self.next().is_multiple_of(2),
        }
    }

    pub(super) fn upto(&mut self, count: usize) -> usize {
        match self.plan {
            CrashPlan::LoseAll => 0,
            CrashPlan::KeepAll => count,
            CrashPlan::Random(_) => usize::try_from(self.next() % (count as u64 + 1)).unwrap_or(0),
        }
    }
}

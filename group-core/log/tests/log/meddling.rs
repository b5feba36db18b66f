//! What happens between looking where something is and reading it there.

use std::{
    fmt,
    io::{self, IoSlice},
    sync::Arc,
};

use braid_log::{
    Append, Body, PurgeMark, SnapshotMeta, Step, Wal,
    disk::{Disk, DiskFile, SimulatedDisk},
};
use braid_types::{LogIndex, MessageId, PartitionId, Term};
use bytes::Bytes;
use parking_lot::Mutex;

use crate::world::options;

type Hook = Arc<Mutex<Option<Box<dyn FnOnce() + Send>>>>;

/// A disk that does something else before the next read.
#[derive(Clone)]
struct Meddling {
    disk: SimulatedDisk,
    before_read: Hook,
}

struct MeddlingFile {
    file: Arc<dyn DiskFile>,
    before_read: Hook,
}

impl fmt::Debug for Meddling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Meddling")
    }
}

impl fmt::Debug for MeddlingFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MeddlingFile")
    }
}

impl Meddling {
    fn wrap(&self, file: Arc<dyn DiskFile>) -> Arc<dyn DiskFile> {
        Arc::new(MeddlingFile { file, before_read: Arc::clone(&self.before_read) })
    }
}

impl Disk for Meddling {
    fn list(&self) -> io::Result<Vec<String>> {
        self.disk.list()
    }
    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        Ok(self.wrap(self.disk.open(name)?))
    }
    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        Ok(self.wrap(self.disk.create(name)?))
    }
    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.disk.rename(from, to)
    }
    fn remove(&self, name: &str) -> io::Result<()> {
        self.disk.remove(name)
    }
    fn sync_directory(&self) -> io::Result<()> {
        self.disk.sync_directory()
    }
}

impl DiskFile for MeddlingFile {
    fn size_bytes(&self) -> io::Result<u64> {
        self.file.size_bytes()
    }
    fn preallocate(&self, size_bytes: u64) -> io::Result<()> {
        self.file.preallocate(size_bytes)
    }
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let hook = self.before_read.lock().take();
        if let Some(hook) = hook {
            hook();
        }
        self.file.read_at(offset, buffer)
    }
    fn write_at(&self, offset: u64, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        self.file.write_at(offset, pieces)
    }
    fn sync_data(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

const ONE: PartitionId = PartitionId(1);

fn append(wal: &Wal, index: u64) {
    let append = Append {
        partition: ONE,
        term: Term(1),
        index: LogIndex(index),
        payload: Bytes::new(),
        bodies: vec![Body::new(0, vec![u8::try_from(index % 251).unwrap(); 3000].into())],
        is_promised: true,
        done: None,
    };
    wal.append(append).unwrap();
}

fn message(index: u64) -> MessageId {
    MessageId { index: LogIndex(index), position: 0 }
}

/// Forgets everything, so that all closed segments die.
fn forget_all(wal: &Wal, last: u64) {
    wal.forget(ONE, &(1..=last).map(message).collect::<Vec<_>>()).unwrap();
    let meta = SnapshotMeta { last: LogIndex(last), term: Term(1), note: Bytes::new() };
    wal.write_snapshot(wal.capture(ONE).unwrap(), meta).unwrap().finish().unwrap();
    wal.purge(ONE, PurgeMark { index: LogIndex(last), term: Term(1), note: Bytes::new() }, None).unwrap();
}

#[test]
fn a_segment_is_not_used_again_while_somebody_reads_it() {
    let disk = Meddling { disk: SimulatedDisk::new(), before_read: Arc::default() };
    let opened = Wal::open(options(), Arc::new(disk.clone())).unwrap();
    let (wal, mut writer, mut maintenance) = (opened.wal, opened.writer, opened.maintenance);
    let mut drive = move |wal: &Wal, from: u64, upto: u64| {
        for index in from..=upto {
            append(wal, index);
            while writer.step() == Step::Worked {}
            maintenance.step();
        }
        while maintenance.step() == Step::Worked || writer.step() == Step::Worked {}
    };
    drive(&wal, 1, 100);
    let meddler = wal.clone();
    *disk.before_read.lock() = Some(Box::new(move || {
        forget_all(&meddler, 100);
        // All dead segments go, and are written again, over and over.
        drive(&meddler, 101, 400);
        forget_all(&meddler, 400);
        drive(&meddler, 401, 700);
        assert!(meddler.statistics().retired > 10);
    }));
    assert_eq!(wal.body(ONE, message(1)).unwrap(), vec![1; 3000]);
    assert!(disk.before_read.lock().is_none(), "it was read from the disk");
    assert!(wal.body(ONE, message(1)).is_err());
}

#[test]
fn what_is_forgotten_or_removed_while_it_is_rewritten_does_not_come_back() {
    for is_removed in [false, true] {
        let disk = Meddling { disk: SimulatedDisk::new(), before_read: Arc::default() };
        let opened = Wal::open(options(), Arc::new(disk.clone())).unwrap();
        let (wal, mut writer, mut maintenance) = (opened.wal, opened.writer, opened.maintenance);
        for index in 1..=60 {
            append(&wal, index);
            while writer.step() == Step::Worked {}
        }
        while maintenance.step() == Step::Worked {}
        // Only every tenth is needed: sparse.
        let kept: Vec<MessageId> = (1..=60).filter(|index| index % 10 == 5).map(message).collect();
        wal.forget(ONE, &(1..=60).map(message).filter(|id| !kept.contains(id)).collect::<Vec<_>>()).unwrap();
        let meta = SnapshotMeta { last: LogIndex(60), term: Term(1), note: Bytes::new() };
        wal.write_snapshot(wal.capture(ONE).unwrap(), meta.clone()).unwrap().finish().unwrap();
        wal.purge(ONE, PurgeMark { index: LogIndex(60), term: Term(1), note: Bytes::new() }, None).unwrap();
        while writer.step() == Step::Worked {}
        let meddler = wal.clone();
        *disk.before_read.lock() = Some(Box::new(move || {
            if is_removed {
                meddler.remove(ONE, None).unwrap();
                append(&meddler, 5);
            } else {
                meddler.forget(ONE, &kept).unwrap();
            }
        }));
        for _ in 0..200 {
            maintenance.step();
            while writer.step() == Step::Worked {}
        }
        assert!(disk.before_read.lock().is_none(), "a segment was read to be rewritten");
        let crashed = disk.disk.crash(braid_log::disk::CrashPlan::LoseAll);
        let opened = Wal::open(options(), Arc::new(crashed)).unwrap();
        assert_eq!(opened.recovery.damages, []);
        if is_removed {
            assert_eq!(opened.wal.body(ONE, message(5)).unwrap(), vec![5; 3000]);
            assert_eq!(opened.wal.status(ONE).unwrap().unwrap().live_bodies, 1, "nothing of the former life");
        } else {
            opened.wal.retain(ONE, LogIndex(60), []).unwrap();
            assert_eq!(opened.wal.status(ONE).unwrap().unwrap().live_bodies, 0);
        }
    }
}

//! The log on the real disk, driven by its threads.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
    mpsc,
};

use braid_log::{Append, Body, Content, Error, Options, PurgeMark, SnapshotMeta, Wal, disk::RealDisk};
use braid_types::{LogIndex, MessageId, PartitionId, Term};
use bytes::Bytes;

fn options() -> Options {
    Options {
        segment_bytes: 1024 * 1024,
        ballast_bytes: 64 * 1024,
        queue_bytes_max: 512 * 1024,
        rewrite_after_segments: 0,
        ..Options::new(1, 2)
    }
}

#[test]
fn many_threads_append_and_all_of_it_is_there_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let disk = Arc::new(RealDisk::open(directory.path()).unwrap());
    let opened = Wal::open(options(), disk.clone()).unwrap();
    let writer = opened.writer.spawn().unwrap();
    let maintenance = opened.maintenance.spawn().unwrap();
    std::thread::scope(|scope| {
        for partition in 0..4 {
            let wal = opened.wal.clone();
            scope.spawn(move || {
                let (sender, receiver) = mpsc::channel();
                for index in 1..=500_u64 {
                    let sender = sender.clone();
                    let append = Append {
                        partition: PartitionId(partition),
                        term: Term(1),
                        index: LogIndex(index),
                        payload: Bytes::from(format!("entry {index}")),
                        bodies: vec![Body::new(0, vec![u8::try_from(index % 251).unwrap(); 700].into())],
                        is_promised: false,
                        done: Some(Box::new(move |result| sender.send((index, result)).unwrap())),
                    };
                    wal.append(append).unwrap();
                    if index % 50 == 0 {
                        for (expected, (confirmed, result)) in (index - 49..=index).zip(receiver.iter()) {
                            assert_eq!((confirmed, result), (expected, Ok(())));
                        }
                    }
                }
            });
        }
    });
    let statistics = opened.wal.statistics();
    assert_eq!(statistics.records, 2000);
    assert!(statistics.batches < 2000, "{statistics:?}");
    writer.close();
    drop(maintenance);
    assert_eq!(opened.wal.check(), Err(Error::ShutDown));
    drop(opened.wal);
    let opened = Wal::open(options(), disk).unwrap();
    assert_eq!((opened.recovery.records, opened.recovery.torn_at), (2000, None));
    for partition in 0..4 {
        let id = PartitionId(partition);
        let entries = opened.wal.entries(id, LogIndex(1)..LogIndex(501), usize::MAX, Content::Heads).unwrap();
        assert_eq!(entries.len(), 500);
        let ids: Vec<MessageId> = (1..=500).map(|index| MessageId { index: LogIndex(index), position: 0 }).collect();
        for (index, body) in (1..=500_u64).zip(opened.wal.bodies(id, &ids)) {
            assert_eq!(body.unwrap(), vec![u8::try_from(index % 251).unwrap(); 700]);
        }
    }
}

#[test]
fn readers_never_meet_a_segment_that_is_used_again() {
    let directory = tempfile::tempdir().unwrap();
    let disk = Arc::new(RealDisk::open(directory.path()).unwrap());
    let opened = Wal::open(Options { cache_bytes: 0, ..options() }, disk).unwrap();
    let (wal, id) = (opened.wal, PartitionId(1));
    let (writer, maintenance) = (opened.writer.spawn().unwrap(), opened.maintenance.spawn().unwrap());
    let (is_done, read) = (AtomicBool::new(false), AtomicU64::new(0));
    let body = |index: u64| vec![u8::try_from(index % 251).unwrap(); 20_000];
    std::thread::scope(|scope| {
        let reader = || {
            while !is_done.load(Ordering::Relaxed) {
                let last = wal.status(id).unwrap().and_then(|status| status.last).map_or(0, |last| last.0);
                for index in last.saturating_sub(300)..=last {
                    match wal.body(id, MessageId { index: LogIndex(index), position: 0 }) {
                        Ok(bytes) => assert_eq!(bytes, body(index)),
                        Err(Error::Gone { .. } | Error::Busy) => continue,
                        Err(error) => panic!("{error}"),
                    }
                    read.fetch_add(1, Ordering::Relaxed);
                }
            }
        };
        scope.spawn(reader);
        scope.spawn(reader);
        for index in 1..=1500 {
            let (sender, receiver) = mpsc::channel();
            let append = Append {
                partition: id,
                term: Term(1),
                index: LogIndex(index),
                payload: Bytes::new(),
                bodies: vec![Body::new(0, body(index).into())],
                is_promised: false,
                done: Some(Box::new(move |result| sender.send(result).unwrap())),
            };
            wal.append(append).unwrap();
            receiver.recv().unwrap().unwrap();
            if index % 50 == 0 {
                let old: Vec<MessageId> =
                    (index - 50..index).map(|index| MessageId { index: LogIndex(index), position: 0 }).collect();
                wal.forget(id, &old).unwrap();
                let meta = SnapshotMeta { last: LogIndex(index), term: Term(1), note: Bytes::new() };
                wal.write_snapshot(wal.capture(id).unwrap(), meta).unwrap().finish().unwrap();
                let mark = PurgeMark { index: LogIndex(index), term: Term(1), note: Bytes::new() };
                wal.purge(id, mark, None).unwrap();
            }
        }
        is_done.store(true, Ordering::Relaxed);
    });
    assert!(wal.statistics().retired > 5, "{:?}", wal.statistics());
    assert!(read.load(Ordering::Relaxed) > 100);
    drop((writer, maintenance));
}

#[test]
fn a_directory_is_opened_once() {
    let directory = tempfile::tempdir().unwrap();
    let first = RealDisk::open(directory.path()).unwrap();
    assert!(RealDisk::open(directory.path()).is_err());
    drop(first);
    assert!(RealDisk::open(directory.path()).is_ok());
}

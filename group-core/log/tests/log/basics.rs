//! What the log does without any trouble.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use braid_log::{Append, Body, Content, Error, Options, PurgeMark, Step, Wal, disk::SimulatedDisk};
use braid_types::{LogIndex, MessageId, PartitionId, Term};
use bytes::Bytes;

use crate::world::{World, options};

const ONE: PartitionId = PartitionId(1);

fn entry(index: u64, payload: &'static str) -> Append {
    Append {
        partition: ONE,
        term: Term(1),
        index: LogIndex(index),
        payload: Bytes::from_static(payload.as_bytes()),
        bodies: vec![Body::new(0, Bytes::from_static(b"body"))],
        is_promised: false,
        done: None,
    }
}

#[test]
fn all_that_waits_shares_one_sync() {
    let mut world = World::new();
    let before = world.disk.syncs();
    for partition in 1..=5 {
        for _ in 0..4 {
            world.append(partition, 1, &[0], Vec::new()).unwrap();
        }
    }
    assert_eq!(world.confirmed(), 0);
    assert_eq!(world.write_once(), Step::Worked);
    assert_eq!(world.confirmed(), 20);
    assert_eq!(world.disk.syncs() - before, 1);
}

#[test]
fn an_entry_can_be_read_before_it_is_written_and_after_it_left_memory() {
    let mut world = World::new();
    let wal = world.wal();
    wal.append(entry(1, "first")).unwrap();
    let read = |content| wal.entries(ONE, LogIndex(0)..LogIndex(9), usize::MAX, content).unwrap();
    let message = MessageId { index: LogIndex(1), position: 0 };
    for round in 0..2 {
        let full = read(Content::Full);
        assert_eq!((full.len(), &full[0].payload[..], &full[0].bodies[0].bytes[..]), (1, &b"first"[..], &b"body"[..]));
        assert_eq!(read(Content::Heads)[0].bodies, []);
        assert_eq!(wal.body(ONE, message).unwrap(), "body");
        let recent = wal.recent_entries(ONE, LogIndex(0)..LogIndex(9), usize::MAX, Content::Full).unwrap();
        assert_eq!(recent.is_some(), round == 0);
        assert_eq!(wal.recent_bodies(ONE, &[message]).unwrap().is_some(), round == 0);
        if round == 0 {
            world.write();
            // More than the cache holds.
            for _ in 0..60 {
                world.append(2, 1, &[0, 1, 2], Vec::new()).unwrap();
                world.write();
            }
        }
    }
    assert!(wal.statistics().recent_bytes <= options().cache_bytes as u64);
}

#[test]
fn entries_are_limited_by_bytes_but_at_least_one_comes() {
    let mut world = World::new();
    let wal = world.wal();
    for index in 1..=10 {
        wal.append(entry(index, "payload")).unwrap();
    }
    world.write();
    let read = |bytes, range: std::ops::Range<u64>| {
        let range = LogIndex(range.start)..LogIndex(range.end);
        wal.entries(ONE, range, bytes, Content::Full).unwrap().iter().map(|entry| entry.index.0).collect::<Vec<_>>()
    };
    assert_eq!(read(1, 3..9), [3]);
    assert_eq!(read(100, 3..9), [3, 4, 5]);
    assert_eq!(read(usize::MAX, 3..9), (3..9).collect::<Vec<_>>());
    assert_eq!(read(usize::MAX, 9..99), [9, 10]);
    assert_eq!(read(usize::MAX, 11..99), [0; 0]);
}

#[test]
fn what_does_not_follow_is_refused() {
    let world = World::new();
    let wal = world.wal();
    // Any index may be the first.
    wal.append(entry(5, "a")).unwrap();
    for index in [4, 5, 7] {
        let last = Some(LogIndex(5));
        let expected = Error::NotContiguous { partition: ONE, index: LogIndex(index), last };
        assert_eq!(wal.append(entry(index, "b")), Err(expected));
    }
    wal.append(entry(6, "c")).unwrap();
    wal.truncate_suffix(ONE, LogIndex(6), None).unwrap();
    wal.append(entry(6, "d")).unwrap();
    let mark = PurgeMark { index: LogIndex(100), term: Term(4), note: Bytes::new() };
    wal.purge(ONE, mark, None).unwrap();
    assert!(wal.append(entry(7, "e")).is_err());
    wal.append(entry(101, "f")).unwrap();
    let status = wal.status(ONE).unwrap().unwrap();
    assert_eq!(
        (status.first, status.last, status.last_term),
        (Some(LogIndex(101)), Some(LogIndex(101)), Some(Term(1)))
    );
}

#[test]
fn limits_are_kept() {
    let world = World::new();
    let wal = world.wal();
    let large = Append { payload: vec![0; options().record_bytes_max()].into(), ..entry(1, "") };
    assert!(matches!(wal.append(large), Err(Error::TooLarge { what: "entry", .. })));
    let note = Bytes::from(vec![0; braid_log::limits::NOTE_BYTES_MAX + 1]);
    assert!(matches!(wal.save_vote(ONE, note, None), Err(Error::TooLarge { what: "note", .. })));
    let unordered = vec![Body::new(1, Bytes::new()), Body::new(0, Bytes::new())];
    assert_eq!(wal.append(Append { bodies: unordered, ..entry(1, "") }), Err(Error::PositionsUnordered));
    assert_eq!(wal.status(ONE).unwrap(), None, "nothing of it happened");
    // The queue: bodies first, then everything.
    let mut index = 0;
    let mut fill = |is_promised| {
        loop {
            index += 1;
            let body = Body::new(0, vec![0; 4096].into());
            let append = Append { bodies: vec![body], is_promised, ..entry(index, "") };
            if let Err(error) = wal.append(append) {
                index -= 1;
                return (error, wal.statistics().queued_bytes);
            }
        }
    };
    let max = options().queue_bytes_max as u64;
    let (error, queued) = fill(false);
    assert_eq!(error, Error::Busy);
    assert!(queued <= max && queued > max - 5000);
    let (error, queued) = fill(true);
    assert_eq!(error, Error::Busy);
    assert!(queued <= 2 * max && queued > 2 * max - 5000);
}

#[test]
fn votes_and_marks_are_there_after_a_restart() {
    let mut world = World::new();
    world.vote(1, 5).unwrap();
    world.wal().save_committed(ONE, Bytes::from_static(b"committed")).unwrap();
    world.vote(2, 6).unwrap();
    world.write();
    world.vote(1, 7).unwrap();
    world.write();
    world.reopen();
    assert_eq!(world.current[&ONE].vote, Some(7));
    assert_eq!(world.current[&PartitionId(2)].vote, Some(6));
    assert_eq!(world.wal().status(ONE).unwrap().unwrap().committed.unwrap(), "committed");
}

#[test]
fn a_committed_mark_costs_no_sync_and_goes_along() {
    let mut world = World::new();
    world.append(1, 1, &[0], Vec::new()).unwrap();
    world.write();
    let syncs = world.disk.syncs();
    let wal = world.wal();
    wal.save_committed(ONE, Bytes::from_static(b"one")).unwrap();
    world.write();
    assert_eq!(world.disk.syncs(), syncs, "nothing is written for it alone");
    world.append(2, 1, &[0], Vec::new()).unwrap();
    world.write();
    assert_eq!(world.disk.syncs(), syncs + 1);
    wal.save_committed(ONE, Bytes::from_static(b"two")).unwrap();
    wal.close();
    world.write();
    world.reopen();
    assert_eq!(world.wal().status(ONE).unwrap().unwrap().committed.unwrap(), "two", "closing writes it");
}

#[test]
fn a_closed_log_takes_nothing_and_writes_what_it_took() {
    let mut world = World::new();
    world.append(1, 1, &[0], Vec::new()).unwrap();
    let wal = world.wal();
    wal.close();
    assert_eq!(wal.append(entry(9, "")), Err(Error::ShutDown));
    world.write();
    assert_eq!(world.write_once(), Step::Stopped);
    assert_eq!(world.confirmed(), 1);
    let recovery = world.reopen();
    assert_eq!(recovery.torn_at, None);
    assert_eq!(world.current[&ONE].last(), Some(1));
}

#[test]
fn a_foreign_log_and_bad_options_are_refused() {
    let disk = Arc::new(SimulatedDisk::new());
    let mut opened = Wal::open(options(), disk.clone()).unwrap();
    opened.wal.append(entry(1, "")).unwrap();
    while opened.writer.step() == Step::Worked {}
    drop(opened);
    let other = Options { identity: 8, ..options() };
    assert!(matches!(Wal::open(other, disk.clone()), Err(Error::NotOurs { .. })));
    let bad = Options { reserve_segments: 1, ..options() };
    assert_eq!(Wal::open(bad, disk.clone()).unwrap_err(), Error::InvalidOption("reserve_segments"));
    for segment_bytes in [0, 100_000, u32::MAX] {
        let bad = Options { segment_bytes, ..options() };
        assert_eq!(Wal::open(bad, disk.clone()).unwrap_err(), Error::InvalidOption("segment_bytes"));
    }
}

#[test]
fn other_segment_sizes_can_be_read() {
    let mut world = World::new();
    for _ in 0..200 {
        world.append(1, 1, &[0, 1], Vec::new()).unwrap();
        world.write();
    }
    let disk = Arc::new(world.disk.clone());
    let opened = Wal::open(Options { segment_bytes: 256 * 1024, ..options() }, disk).unwrap();
    assert_eq!(opened.recovery.damages, []);
    world.opened = Some(opened);
    assert_eq!(world.read_all(), world.current);
}

#[test]
fn a_failed_sync_stops_everything_and_is_not_tried_again() {
    for fault in [braid_log::disk::Fault::Error, braid_log::disk::Fault::Full] {
        for operation in 0..2 {
            let mut world = World::new();
            world.append(1, 1, &[0], Vec::new()).unwrap();
            world.write();
            world.append(1, 1, &[0], Vec::new()).unwrap();
            world.append(2, 1, &[0], Vec::new()).unwrap();
            let now = world.disk.operations();
            // The write of the batch, then its sync.
            world.disk.fail_at(now + operation, fault);
            assert_eq!(world.write_once(), Step::Stopped);
            assert_eq!((world.confirmed(), world.failed()), (1, 2));
            assert!(matches!(world.append(1, 1, &[0], Vec::new()), Err(Error::Failed(_))));
            assert!(matches!(world.vote(3, 1), Err(Error::Failed(_))));
            let operations = world.disk.operations();
            assert_eq!(world.write_once(), Step::Stopped);
            assert_eq!(world.maintain_once(), Step::Stopped);
            assert_eq!(world.disk.operations(), operations, "nothing is written any more");
            // What the failed sync should have written is still read after a restart of the process. It must not count
            // before it is on the disk.
            world.kill();
            world.append(1, 1, &[0], Vec::new()).unwrap();
            world.write();
            world.crash(braid_log::disk::CrashPlan::LoseAll);
        }
    }
}

#[test]
fn short_writes_are_continued() {
    let mut world = World::new();
    for _ in 0..12 {
        world.append(1, 1, &[0, 1, 2], Vec::new()).unwrap();
    }
    let now = world.disk.operations();
    for operation in 0..5 {
        world.disk.fail_at(now + operation, braid_log::disk::Fault::Short);
    }
    world.write();
    assert_eq!(world.confirmed(), 12);
    world.crash(braid_log::disk::CrashPlan::LoseAll);
}

#[test]
fn callbacks_run_in_order_and_may_submit() {
    let mut world = World::new();
    let wal = world.wal();
    let count = Arc::new(AtomicUsize::new(0));
    let (inner, seen) = (wal.clone(), Arc::clone(&count));
    let done = Box::new(move |result: Result<(), Error>| {
        result.unwrap();
        seen.fetch_add(1, Ordering::Relaxed);
        inner.append(entry(2, "from a callback")).unwrap();
    });
    wal.append(Append { done: Some(done), ..entry(1, "") }).unwrap();
    world.write();
    assert_eq!(count.load(Ordering::Relaxed), 1);
    assert_eq!(wal.status(ONE).unwrap().unwrap().last, Some(LogIndex(2)));
}

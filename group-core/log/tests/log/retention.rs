//! What is kept and what goes: purge, forgetting, snapshots, rewriting.

use braid_log::{Error, SnapshotMeta, Step};
use braid_types::{LogIndex, MessageId, PartitionId, Term};
use bytes::Bytes;

use crate::world::World;

const ONE: PartitionId = PartitionId(1);

fn message(index: u64, position: u32) -> MessageId {
    MessageId { index: LogIndex(index), position }
}

/// Fills some segments: each entry forgets the one before it but for every 50th.
fn fill(world: &mut World, entries: u64) {
    for _ in 0..entries {
        let index = world.next_index(ONE);
        let forgets = if index > 1 && !(index - 1).is_multiple_of(50) {
            vec![message(index - 1, 0), message(index - 1, 1)]
        } else {
            vec![]
        };
        world.append(1, 1, &[0, 1], forgets).unwrap();
        world.write();
    }
    world.apply(1, u64::MAX).unwrap();
}

#[test]
fn purge_alone_frees_nothing_that_may_be_needed() {
    let mut world = World::new();
    fill(&mut world, 300);
    world.settle();
    let before = world.wal().statistics();
    assert!(before.segments > 3);
    // Purged, but the last durable snapshot (there is none) may still need everything.
    let mark = braid_log::PurgeMark { index: LogIndex(300), term: Term(1), note: Bytes::new() };
    world.wal().purge(ONE, mark, None).unwrap();
    world.settle();
    let after = world.wal().statistics();
    assert_eq!((after.live_bodies, after.live_bytes), (before.live_bodies, before.live_bytes));
    assert_eq!(world.wal().status(ONE).unwrap().unwrap().first, None);
    assert!(world.wal().body(ONE, message(1, 0)).is_ok());
}

#[test]
fn a_snapshot_alone_frees_bodies_but_no_segment_of_entries() {
    let mut world = World::new();
    fill(&mut world, 300);
    world.snapshot(1).unwrap();
    world.settle();
    let after = world.wal().statistics();
    assert_eq!(after.live_bodies, world.machines[&ONE].live.len() as u64);
    assert_eq!(after.retired, 0, "the entries are not purged");
    assert_eq!(world.read_all().len(), 0);
}

#[test]
fn one_old_message_never_pins_the_log() {
    let mut world = World::new();
    for _ in 0..10 {
        fill(&mut world, 100);
        world.snapshot(1).unwrap();
        world.purge(1).unwrap();
        world.settle();
    }
    let statistics = world.wal().statistics();
    assert!(statistics.retired > 10, "{statistics:?}");
    assert!(statistics.segments <= 5, "{statistics:?}");
    assert!(statistics.rewritten_bytes > 0);
    assert!(world.machines[&ONE].live.len() >= 20, "some from all the time are still needed");
    world.check_live();
    world.reopen();
    world.check_live();
    let sizes = world.disk.used_bytes();
    assert!(sizes < 20 * 96 * 1024, "{sizes} bytes for a few hundred KiB");
}

#[test]
fn an_idle_partition_does_not_pin_the_log_either() {
    let mut world = World::new();
    world.vote(7, 70).unwrap();
    world.append(8, 1, &[0], Vec::new()).unwrap();
    world.write();
    world.apply(8, 1).unwrap();
    world.snapshot(8).unwrap();
    world.purge(8).unwrap();
    for _ in 0..5 {
        fill(&mut world, 100);
        world.snapshot(1).unwrap();
        world.purge(1).unwrap();
        world.settle();
    }
    assert!(world.wal().statistics().segments <= 4);
    assert_eq!(world.wal().purge_wanted(), []);
    world.crash(braid_log::disk::CrashPlan::LoseAll);
    assert_eq!(world.current[&PartitionId(7)].vote, Some(70));
    assert_eq!(world.machines[&PartitionId(8)].live.len(), 1);
}

#[test]
fn marks_outlive_everything_else_in_their_segment() {
    let mut world = World::new();
    world.vote(7, 70).unwrap();
    for _ in 0..100 {
        let index = world.next_index(ONE);
        let forgets = vec![message(index - 1, 0), message(index - 1, 1)];
        world.append(1, 1, &[0, 1], forgets).unwrap();
        world.write();
    }
    world.apply(1, u64::MAX).unwrap();
    world.snapshot(1).unwrap();
    world.purge(1).unwrap();
    world.settle();
    assert!(world.wal().statistics().retired > 0);
    world.crash(braid_log::disk::CrashPlan::LoseAll);
    assert_eq!(world.current[&PartitionId(7)].vote, Some(70));
    assert_eq!(world.current[&ONE].purged, Some(100));
}

#[test]
fn who_must_purge_is_named() {
    let mut world = World::new();
    world.append(9, 1, &[], Vec::new()).unwrap();
    for _ in 0..3 {
        fill(&mut world, 100);
        world.snapshot(1).unwrap();
        world.purge(1).unwrap();
        world.settle();
    }
    assert_eq!(world.wal().purge_wanted(), [PartitionId(9)]);
    let segments = world.wal().statistics().segments;
    world.apply(9, 1).unwrap();
    world.snapshot(9).unwrap();
    world.purge(9).unwrap();
    world.settle();
    assert_eq!(world.wal().purge_wanted(), []);
    assert!(world.wal().statistics().segments < segments);
}

#[test]
fn what_is_forgotten_after_the_capture_stays_for_the_next_snapshot() {
    let mut world = World::new();
    world.append(1, 1, &[0, 1, 2], Vec::new()).unwrap();
    world.write();
    let wal = world.wal();
    let write = |capture| {
        let meta = SnapshotMeta { last: LogIndex(1), ..SnapshotMeta::default() };
        wal.write_snapshot(capture, meta).unwrap().finish().unwrap();
    };
    wal.forget(ONE, &[message(1, 0)]).unwrap();
    let capture = wal.capture(ONE).unwrap();
    assert_eq!(wal.capture(ONE).unwrap_err(), Error::Busy);
    wal.forget(ONE, &[message(1, 1)]).unwrap();
    write(capture);
    world.settle();
    let gone = |message| Err(Error::Gone { partition: ONE, message });
    assert_eq!(wal.body(ONE, message(1, 0)), gone(message(1, 0)));
    assert!(wal.body(ONE, message(1, 1)).is_ok());
    // A snapshot that is given up frees nothing, and loses nothing that it would have freed.
    drop(wal.capture(ONE).unwrap());
    world.settle();
    assert!(wal.body(ONE, message(1, 1)).is_ok());
    for _ in 0..2 {
        write(wal.capture(ONE).unwrap());
        world.settle();
    }
    assert_eq!(wal.body(ONE, message(1, 1)), gone(message(1, 1)));
    assert!(wal.body(ONE, message(1, 2)).is_ok());
    assert_eq!(wal.status(ONE).unwrap().unwrap().forgotten_bytes, 0);
}

#[test]
fn a_pin_keeps_bodies() {
    let mut world = World::new();
    fill(&mut world, 30);
    let wal = world.wal();
    let pin = wal.pin(ONE).unwrap();
    world.snapshot(1).unwrap();
    world.settle();
    assert!(wal.body(ONE, message(10, 0)).is_ok());
    drop(pin);
    world.settle();
    assert!(wal.body(ONE, message(10, 0)).is_err());
}

#[test]
fn what_is_forgotten_while_a_pin_delays_a_sweep_waits_for_its_own_snapshot() {
    let mut world = World::new();
    world.append(1, 1, &[0, 1, 2], Vec::new()).unwrap();
    world.write();
    let wal = world.wal();
    let pin = wal.pin(ONE).unwrap();
    wal.forget(ONE, &[message(1, 0)]).unwrap();
    let meta = SnapshotMeta { last: LogIndex(1), ..SnapshotMeta::default() };
    wal.write_snapshot(wal.capture(ONE).unwrap(), meta).unwrap().finish().unwrap();
    wal.forget(ONE, &[message(1, 1)]).unwrap();
    // Captured, but not durable: the snapshot before still needs the second body.
    let capture = wal.capture(ONE).unwrap();
    drop(pin);
    world.settle();
    assert!(matches!(wal.body(ONE, message(1, 0)), Err(Error::Gone { .. })));
    assert!(wal.body(ONE, message(1, 1)).is_ok());
    drop(capture);
}

#[test]
fn a_snapshot_that_fails_frees_nothing() {
    for operation in 0..6 {
        let mut world = World::new();
        world.append(1, 1, &[0, 1], Vec::new()).unwrap();
        world.settle();
        let wal = world.wal();
        wal.forget(ONE, &[message(1, 0)]).unwrap();
        let mut writer = wal.write_snapshot(wal.capture(ONE).unwrap(), SnapshotMeta::default()).unwrap();
        writer.put(1, b"state").unwrap();
        // The disk is full, and after the ballast is gone it still is.
        let now = world.disk.operations();
        for failing in operation..operation + 12 {
            world.disk.fail_at(now + failing, braid_log::disk::Fault::Full);
        }
        assert_eq!(writer.finish(), Err(Error::DiskFull), "{operation}");
        world.disk.fail_at(now + operation, braid_log::disk::Fault::Short);
        world.settle();
        assert!(wal.body(ONE, message(1, 0)).is_ok());
        assert!(wal.snapshot(ONE).unwrap().is_none());
        assert_eq!(wal.check(), Ok(()));
    }
}

#[test]
fn a_removal_is_not_forgotten_while_older_records_are_there() {
    let mut world = World::new();
    let three = PartitionId(3);
    // A dense segment, which stays, with records of a partition that is removed later.
    let mut round = 0;
    while world.wal().statistics().rolls == 0 {
        for _ in 0..8 {
            world.append(1, 1, &[0, 1, 2, 3], Vec::new()).unwrap();
        }
        world.append(2, 1, &[], Vec::new()).unwrap();
        world.write();
        round += 1;
        assert!(round < 100);
    }
    world.remove(2).unwrap();
    world.write();
    // The segment of the removal, and some more, of which nothing else is needed.
    while world.wal().statistics().rolls < 4 {
        let index = world.next_index(three);
        world.append(3, 1, &[0, 1], vec![message(index - 1, 0), message(index - 1, 1)]).unwrap();
        world.write();
    }
    for partition in [1, 3] {
        world.apply(partition, u64::MAX).unwrap();
        world.snapshot(partition).unwrap();
        world.purge(partition).unwrap();
    }
    world.settle();
    assert!(world.wal().statistics().retired > 0);
    world.crash(braid_log::disk::CrashPlan::LoseAll);
    assert!(!world.current.contains_key(&PartitionId(2)));
    assert_eq!(world.wal().status(PartitionId(2)).unwrap(), None);
}

#[test]
fn bodies_of_a_received_snapshot_are_as_good_as_appended_ones() {
    let mut world = World::new();
    let wal = world.wal();
    let body = |position: u32, text: &'static str| braid_log::Body::new(position, Bytes::from_static(text.as_bytes()));
    // In any order of entries, before anything else of the partition is there.
    for (index, text) in [(50, "fifty"), (7, "seven"), (60, "sixty")] {
        wal.put_bodies(ONE, LogIndex(index), Term(3), &[body(2, text)], None).unwrap();
    }
    wal.save_vote(ONE, Bytes::from_static(b"88888888"), None).unwrap();
    world.write();
    let meta = SnapshotMeta { last: LogIndex(60), term: Term(3), note: Bytes::new() };
    let mut writer = wal.write_snapshot(wal.capture(ONE).unwrap(), meta).unwrap();
    writer.put(1, b"state").unwrap();
    writer.finish().unwrap();
    let mark = braid_log::PurgeMark { index: LogIndex(60), term: Term(3), note: Bytes::new() };
    wal.purge(ONE, mark, None).unwrap();
    world.write();
    let disk = std::sync::Arc::new(world.disk.crash(braid_log::disk::CrashPlan::LoseAll));
    let opened = braid_log::Wal::open(crate::world::options(), disk).unwrap();
    let wal = opened.wal;
    assert_eq!(opened.recovery.damages, []);
    wal.retain(ONE, LogIndex(60), [message(60, 2), message(7, 2)]).unwrap();
    assert_eq!(wal.body(ONE, message(7, 2)).unwrap(), "seven");
    assert_eq!(wal.body(ONE, message(60, 2)).unwrap(), "sixty");
    assert!(matches!(wal.body(ONE, message(50, 2)), Err(Error::Gone { .. })));
    assert_eq!(wal.snapshot(ONE).unwrap().unwrap().read(1).unwrap().unwrap(), "state");
    let missing = wal.retain(ONE, LogIndex(60), [message(61, 2)]);
    assert!(
        matches!(missing, Err(Error::Damaged(_))),
        "what is needed and not there takes the partition out of service"
    );
    assert!(wal.status(ONE).is_err());
}

#[test]
fn a_removed_partition_leaves_nothing_and_may_begin_anew() {
    let mut world = World::new();
    fill(&mut world, 120);
    world.snapshot(1).unwrap();
    world.purge(1).unwrap();
    world.settle();
    world.remove(1).unwrap();
    assert_eq!(world.wal().status(ONE).unwrap(), None);
    world.settle();
    let is_snapshot = |name: &String| name.starts_with("snapshot") || name.starts_with("parts");
    assert!(!world.disk.names().iter().any(is_snapshot));
    // A new life, with the same indexes, over two restarts.
    world.append(1, 9, &[0, 1], Vec::new()).unwrap();
    world.append(1, 9, &[0], vec![message(1, 0)]).unwrap();
    world.write();
    world.apply(1, 9).unwrap();
    world.snapshot(1).unwrap();
    world.crash(braid_log::disk::CrashPlan::LoseAll);
    world.purge(1).unwrap();
    world.settle();
    world.crash(braid_log::disk::CrashPlan::LoseAll);
    assert_eq!(world.machines[&ONE].live.len(), 2);
    world.remove(1).unwrap();
    world.settle();
    world.crash(braid_log::disk::CrashPlan::KeepAll);
    assert_eq!(world.current.len(), 0);
}

#[test]
fn tombstones_go_when_nothing_is_left_to_bury() {
    let mut world = World::new();
    for partition in 10..60 {
        world.append(partition, 1, &[0], Vec::new()).unwrap();
        world.remove(partition).unwrap();
        world.write();
    }
    for _ in 0..4 {
        fill(&mut world, 100);
        world.snapshot(1).unwrap();
        world.purge(1).unwrap();
        world.settle();
    }
    let recovery = world.reopen();
    assert_eq!(recovery.partitions, [ONE]);
    world.settle();
    assert!(world.wal().statistics().segments <= 4);
}

#[test]
fn maintenance_comes_to_rest() {
    let mut world = World::new();
    fill(&mut world, 200);
    world.snapshot(1).unwrap();
    world.purge(1).unwrap();
    world.settle();
    let operations = world.disk.operations();
    for _ in 0..20 {
        assert_eq!(world.maintain_once(), Step::Idle);
        assert_eq!(world.write_once(), Step::Idle);
    }
    assert_eq!(world.disk.operations(), operations);
}

#[test]
fn snapshots_write_only_what_changed_and_keep_few_files() {
    let mut world = World::new();
    let wal = world.wal();
    world.append(1, 1, &[0], Vec::new()).unwrap();
    world.write();
    let large = vec![7_u8; 50_000];
    for round in 0..40_u64 {
        let meta = SnapshotMeta { last: LogIndex(round + 1), term: Term(1), note: Bytes::new() };
        let mut writer = wal.write_snapshot(wal.capture(ONE).unwrap(), meta).unwrap();
        if round == 0 {
            writer.put(1, &large).unwrap();
        } else {
            writer.keep(1).unwrap();
        }
        for key in 2..6 {
            if round == 0 || key == 2 + round % 4 {
                writer.put(key, format!("part {key} of round {round}").as_bytes()).unwrap();
            } else {
                writer.keep(key).unwrap();
            }
        }
        assert_eq!(writer.keep(99).unwrap_err(), Error::NoSuchPart { key: 99 });
        writer.finish().unwrap();
        let names = world.disk.names();
        assert_eq!(names.iter().filter(|name| name.starts_with("snapshot")).count(), 1);
        assert!(names.iter().filter(|name| name.starts_with("parts")).count() <= 9, "{names:?}");
        assert!(!names.iter().any(|name| name.starts_with("making")));
    }
    let reader = wal.snapshot(ONE).unwrap().unwrap();
    assert_eq!(reader.keys().collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    assert_eq!(reader.read(1).unwrap().unwrap(), large);
    assert_eq!(reader.read(3).unwrap().unwrap(), "part 3 of round 37");
    assert_eq!(reader.read(9).unwrap(), None);
}

//! A crash at every single change of the disk, for a run that does everything once.

use std::sync::Arc;

use braid_log::{
    Body, PurgeMark, SnapshotMeta, Step, Wal,
    disk::{CrashPlan, SimulatedDisk},
};
use braid_types::{LogIndex, MessageId, PartitionId, Term};
use bytes::Bytes;

use crate::world::{Outcome, World, options};

/// A run with appends of several partitions, truncation, votes, snapshots, purges, rolls, rewrites and a removal. Ends
/// at the first error: the machine is down.
fn run(world: &mut World) -> Outcome {
    let forget = |index, position| MessageId { index: LogIndex(index), position };
    for round in 0..6_u64 {
        for partition in 1..=3 {
            let index = world.next_index(PartitionId(partition));
            let forgets = if index > 4 { vec![forget(index - 3, 0), forget(index - 3, 1)] } else { Vec::new() };
            world.append(partition, round + 1, &[0, 1, 5], forgets)?;
        }
        world.append(2, round + 1, &[3], Vec::new())?;
        world.write();
        world.vote(1, round)?;
        world.append(1, round + 1, &[], Vec::new())?;
        world.append(1, round + 1, &[7], Vec::new())?;
        world.write_once();
        let last = world.next_index(PartitionId(1)) - 1;
        world.apply(1, last - 1)?;
        world.apply(2, u64::MAX)?;
        world.truncate(1, last)?;
        world.append(1, round + 2, &[8], Vec::new())?;
        if round % 2 == 1 {
            world.snapshot(1)?;
            world.purge(1)?;
            world.write();
            world.snapshot(2)?;
            world.purge(2)?;
        }
        if round == 3 {
            world.remove(3)?;
        }
        world.write_once();
        for _ in 0..8 {
            if world.maintain_once() == Step::Stopped {
                break;
            }
            world.write_once();
        }
    }
    world.write();
    for _ in 0..200 {
        if world.maintain_once() != Step::Worked {
            break;
        }
        world.write();
    }
    Ok(())
}

/// What the whole run changes on the disk, in calls.
fn operations() -> (u64, u64) {
    let mut world = World::new();
    let opening = world.disk.operations();
    run(&mut world).expect("nothing fails");
    let statistics = world.wal().statistics();
    assert!(statistics.rolls >= 1, "the run goes over a segment's end");
    world.crash(CrashPlan::LoseAll);
    (opening, world.disk.operations().max(opening))
}

#[test]
fn at_every_point_nothing_confirmed_is_lost() {
    let (_, _) = operations();
    let mut world = World::new();
    run(&mut world).unwrap();
    let count = world.disk.operations();
    for down_at in 0..=count {
        for plan in [CrashPlan::LoseAll, CrashPlan::KeepAll, CrashPlan::Random(down_at), CrashPlan::Random(!down_at)] {
            let disk = SimulatedDisk::new();
            disk.go_down_at(down_at);
            let mut world = World::on(disk);
            if world.opened.is_some() {
                // An error only says that the machine is down.
                drop(run(&mut world));
            }
            if down_at % 2 == 1 {
                // The process dies before the machine does.
                world.kill();
            }
            world.crash(plan);
            // It goes on as if nothing had happened, and a second crash at once changes nothing.
            world.append(1, 99, &[0], Vec::new()).unwrap();
            world.write();
            world.crash(plan);
            world.settle();
            world.check_live();
        }
    }
}

#[test]
fn a_crash_while_recovering_changes_nothing() {
    let mut world = World::new();
    run(&mut world).unwrap();
    world.append(1, 99, &[0, 1], Vec::new()).unwrap();
    world.write_once();
    world.append(1, 99, &[0, 1], Vec::new()).unwrap();
    let now = world.disk.operations();
    world.disk.go_down_at(now + 1);
    world.write();
    let torn = world.disk.crash(CrashPlan::Random(3));
    let before = world.confirmed();
    assert!(before > 0);
    for down_at in 0..40 {
        for seed in 0..4 {
            // Recovers on a disk that goes down meanwhile, then on what that left.
            let disk = torn.crash(CrashPlan::KeepAll);
            disk.go_down_at(down_at);
            let half = Arc::new(disk.clone());
            drop(Wal::open(options(), half));
            let after = disk.crash(CrashPlan::Random(seed));
            let opened = Wal::open(options(), Arc::new(after)).unwrap();
            assert_eq!(opened.recovery.damages, []);
            let previous = world.opened.replace(opened);
            let found = world.read_all();
            let is_allowed = (before..=world.changes.len()).any(|count| world.state_after(count) == found);
            assert!(is_allowed, "down at {down_at}, seed {seed}");
            drop(previous);
        }
    }
}

/// A follower receives a snapshot that reaches beyond its log: bodies, state, mark (guide, rule 15).
fn install(world: &World) -> Result<(), braid_log::Error> {
    let (wal, id) = (world.wal(), PartitionId(1));
    for index in [3, 70, 90] {
        let body = Body::new(1, Bytes::from(format!("body {index}")));
        wal.put_bodies(id, LogIndex(index), Term(2), &[body], None)?;
    }
    Ok(())
}

fn finish_install(world: &World) -> Result<(), braid_log::Error> {
    let (wal, id) = (world.wal(), PartitionId(1));
    let meta = SnapshotMeta { last: LogIndex(100), term: Term(2), note: Bytes::new() };
    let mut writer = wal.write_snapshot(wal.capture(id)?, meta)?;
    writer.put(1, b"state at 100")?;
    writer.finish()?;
    let mark = PurgeMark { index: LogIndex(100), term: Term(2), note: Bytes::new() };
    wal.purge(id, mark, None)?;
    wal.retain(id, LogIndex(100), live_at_100())
}

fn live_at_100() -> Vec<MessageId> {
    [3, 70, 90].map(|index| MessageId { index: LogIndex(index), position: 1 }).to_vec()
}

#[test]
fn a_received_snapshot_counts_with_all_its_bodies_or_not_at_all() {
    let before = || {
        let mut world = World::new();
        for _ in 0..5 {
            world.append(1, 1, &[0, 1], Vec::new()).unwrap();
        }
        world.write();
        world
    };
    let mut whole = before();
    let first = whole.disk.operations();
    install(&whole).unwrap();
    whole.write();
    finish_install(&whole).unwrap();
    whole.settle();
    let last = whole.disk.operations();
    let (mut with, mut without) = (0, 0);
    for down_at in first..=last {
        for seed in 0..4 {
            let mut world = before();
            world.disk.go_down_at(down_at);
            drop(install(&world));
            world.write();
            drop(finish_install(&world));
            for _ in 0..20 {
                world.maintain_once();
                world.write_once();
            }
            let disk = Arc::new(world.disk.crash(CrashPlan::Random(seed)));
            let opened = Wal::open(options(), disk).unwrap();
            let (wal, id) = (opened.wal, PartitionId(1));
            assert_eq!(opened.recovery.damages, []);
            if let Some(snapshot) = wal.snapshot(id).unwrap() {
                with += 1;
                assert_eq!(snapshot.read(1).unwrap().unwrap(), "state at 100");
                wal.retain(id, LogIndex(100), live_at_100()).unwrap();
                for message in live_at_100() {
                    assert_eq!(wal.body(id, message).unwrap(), format!("body {}", message.index.0));
                }
            } else {
                without += 1;
                let status = wal.status(id).unwrap().unwrap();
                assert_eq!((status.last, status.purged), (Some(LogIndex(5)), None));
            }
        }
    }
    assert!(with > 4 && without > 4, "{with} {without}");
}

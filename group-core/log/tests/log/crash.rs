//! A crash at every single change of the disk, for a run that does everything once.

use braid_log::{
    Step,
    disk::{CrashPlan, SimulatedDisk},
};
use braid_types::MessageId;

use crate::world::{Outcome, World};

/// A run with appends of several partitions, truncation, votes, snapshots, purges, rolls, rewrites and a removal. Ends
/// at the first error: the machine is down.
fn run(world: &mut World) -> Outcome {
    let forget = |index, position| MessageId { index: braid_types::LogIndex(index), position };
    for round in 0..6_u64 {
        for partition in 1..=3 {
            let index = world.next_index(braid_types::PartitionId(partition));
            let forgets = if index > 4 { vec![forget(index - 3, 0), forget(index - 3, 1)] } else { Vec::new() };
            world.append(partition, round + 1, &[0, 1, 5], forgets)?;
        }
        world.append(2, round + 1, &[3], Vec::new())?;
        world.write();
        world.vote(1, round)?;
        world.append(1, round + 1, &[], Vec::new())?;
        world.append(1, round + 1, &[7], Vec::new())?;
        world.write_once();
        let last = world.next_index(braid_types::PartitionId(1)) - 1;
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
            let half = std::sync::Arc::new(disk.clone());
            drop(braid_log::Wal::open(crate::world::options(), half));
            let after = disk.crash(CrashPlan::Random(seed));
            let opened = braid_log::Wal::open(crate::world::options(), std::sync::Arc::new(after)).unwrap();
            assert_eq!(opened.recovery.damages, []);
            let previous = world.opened.replace(opened);
            let found = world.read_all();
            let is_allowed = (before..=world.changes.len()).any(|count| world.state_after(count) == found);
            assert!(is_allowed, "down at {down_at}, seed {seed}");
            drop(previous);
        }
    }
}

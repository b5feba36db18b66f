//! A full disk: publishers are refused, everything else goes on, and it ends by itself.

use std::sync::Arc;

use braid_log::{Error, Space, Step, Wal, disk::SimulatedDisk};
use braid_types::{LogIndex, MessageId, PartitionId};

use crate::world::{World, options};

const SEGMENT: usize = 96 * 1024;

fn fill_up(world: &mut World) -> usize {
    for count in 0..100_000 {
        match world.append(1, 1, &[0, 1], Vec::new()) {
            Ok(()) => {}
            Err(Error::BodiesRefused) => return count,
            Err(error) => panic!("{error}"),
        }
        world.write();
        world.maintain_once();
    }
    panic!("the disk is never full");
}

#[test]
fn bodies_are_refused_first_small_records_go_on_and_it_resumes_by_itself() {
    let disk = SimulatedDisk::new();
    disk.set_capacity(Some(9 * SEGMENT + 40_000));
    let mut world = World::on(disk);
    world.settle();
    assert_eq!(world.wal().space(), Space::Ample);
    assert!(fill_up(&mut world) > 50);
    assert_eq!(world.wal().space(), Space::BodiesRefused);
    // Acks: entries without bodies. They take from the reserve.
    let mut forgets: Vec<MessageId> = Vec::new();
    world.apply(1, u64::MAX).unwrap();
    for message in world.machines[&PartitionId(1)].ids() {
        forgets.push(message);
        if forgets.len() == 20 {
            world.append(1, 1, &[], std::mem::take(&mut forgets)).unwrap();
            world.vote(2, 1).unwrap();
            world.write();
            assert_eq!(world.append(1, 1, &[0], Vec::new()), Err(Error::BodiesRefused));
        }
    }
    world.apply(1, u64::MAX).unwrap();
    // A snapshot, a purge: space comes back, and it resumes.
    world.snapshot(1).unwrap();
    world.purge(1).unwrap();
    world.settle();
    assert_eq!(world.wal().space(), Space::Ample);
    assert!(fill_up(&mut world) > 50);
    world.check_live();
    world.crash(braid_log::disk::CrashPlan::LoseAll);
    world.check_live();
}

#[test]
fn what_is_promised_may_draw_on_the_reserve() {
    let disk = SimulatedDisk::new();
    disk.set_capacity(Some(7 * SEGMENT));
    let mut world = World::on(disk);
    world.settle();
    fill_up(&mut world);
    let index = world.next_index(PartitionId(1));
    let append = |index: u64| braid_log::Append {
        partition: PartitionId(1),
        term: braid_types::Term(1),
        index: LogIndex(index),
        payload: bytes::Bytes::new(),
        bodies: vec![braid_log::Body::new(0, vec![1; 2000].into())],
        is_promised: true,
        done: None,
    };
    let mut taken = 0;
    let wal = world.wal();
    while let Ok(()) = wal.append(append(index + taken)) {
        world.write();
        taken += 1;
        assert!(taken < 1000);
    }
    assert!(taken > 10, "{taken}");
    assert_eq!(wal.append(append(index + taken)), Err(Error::DiskFull));
    assert_eq!(wal.check(), Ok(()), "it is full, not broken");
    // Somebody else frees space.
    world.disk.set_capacity(None);
    world.settle();
    wal.append(append(index + taken)).unwrap();
    world.write();
}

#[test]
fn a_log_opens_on_a_full_disk_and_takes_what_frees_space() {
    let disk = SimulatedDisk::new();
    disk.set_capacity(Some(9 * SEGMENT + 40_000));
    let mut world = World::on(disk);
    world.settle();
    fill_up(&mut world);
    world.apply(1, u64::MAX).unwrap();
    world.crash(braid_log::disk::CrashPlan::LoseAll);
    assert_eq!(world.append(1, 1, &[], Vec::new()), Ok(()));
    world.write();
    world.snapshot(1).unwrap();
    world.purge(1).unwrap();
    world.settle();
    world.check_live();
}

#[test]
fn no_room_at_all_is_said() {
    let disk = SimulatedDisk::new();
    disk.set_capacity(Some(SEGMENT / 2));
    assert_eq!(Wal::open(options(), Arc::new(disk.clone())).unwrap_err(), Error::DiskFull);
    // One segment is enough to begin, but not to take bodies.
    disk.set_capacity(Some(SEGMENT + 1000));
    let mut opened = Wal::open(options(), Arc::new(disk.clone())).unwrap();
    assert_eq!(opened.wal.space(), Space::BodiesRefused);
    disk.set_capacity(None);
    while opened.maintenance.step() == Step::Worked {}
    assert_eq!(opened.wal.space(), Space::Ample);
}

#[test]
fn a_full_disk_at_any_time_loses_nothing() {
    for capacity in (3 * SEGMENT..10 * SEGMENT).step_by(23_000) {
        let disk = SimulatedDisk::new();
        disk.set_capacity(Some(capacity));
        let mut world = World::on(disk);
        let mut refused = 0;
        for round in 0..400 {
            let forgets: Vec<MessageId> = world
                .machines
                .get(&PartitionId(1))
                .map(|machine| machine.ids().into_iter().take(3).collect())
                .unwrap_or_default();
            if world.append(1, 1, &[0, 1], forgets.clone()).is_err() {
                refused += 1;
                // An ack may find even the reserve used up; then it is tried again.
                drop(world.append(1, 1, &[], forgets));
            }
            world.write();
            world.apply(1, u64::MAX).unwrap();
            if round % 40 == 39 {
                drop(world.snapshot(1));
                drop(world.purge(1));
            }
            world.maintain_once();
            world.maintain_once();
            assert_eq!(world.wal().check(), Ok(()), "capacity {capacity}, round {round}");
        }
        assert!(refused > 0 || capacity > 6 * SEGMENT, "{capacity}");
        world.crash(braid_log::disk::CrashPlan::Random(capacity as u64));
        world.check_live();
    }
}

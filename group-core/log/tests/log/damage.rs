//! Bits that rot: found, attributed, confined.

use std::sync::Arc;

use braid_log::{
    Content, Error, Opened, Wal,
    disk::{CrashPlan, Disk, SimulatedDisk},
};
use braid_types::{LogIndex, MessageId, PartitionId};

use crate::{
    model::{Model, body_bytes, read_payload},
    random::Random,
    world::{World, options},
};

/// A log of three partitions over a few segments, written out and sealed.
fn written() -> World {
    let mut world = World::new();
    for round in 0..60_u64 {
        for partition in 1..=3 {
            world.append(partition, 1, &[0, 4], Vec::new()).unwrap();
        }
        if round % 7 == 0 {
            world.vote(2, round).unwrap();
        }
        if round % 5 == 0 {
            world.truncate(3, world.next_index(PartitionId(3)) - 1).unwrap();
        }
        world.write();
    }
    world
}

fn open(disk: &SimulatedDisk) -> Opened {
    Wal::open(options(), Arc::new(disk.clone()) as Arc<dyn Disk>).expect("it opens, whatever is damaged")
}

/// Which partitions are out of service; the others are checked to be complete.
fn check(opened: &Opened, expected: &Model) -> Vec<PartitionId> {
    let mut damaged = Vec::new();
    for (id, partition) in expected {
        let all = LogIndex(0)..LogIndex(u64::MAX);
        let read = opened.wal.status(*id).and_then(|_| opened.wal.entries(*id, all, usize::MAX, Content::Full));
        match read {
            Err(Error::Damaged(damage)) => {
                assert_eq!(damage.partition, *id);
                damaged.push(*id);
            }
            Err(error) => panic!("{error}"),
            Ok(entries) => {
                let found: Vec<_> =
                    entries.iter().map(|entry| (entry.index.0, read_payload(entry.term, &entry.payload))).collect();
                let entries: Vec<_> = partition.entries.clone().into_iter().collect();
                let differs = found.iter().zip(&entries).position(|(found, expected)| found != expected);
                assert_eq!((differs, found.len()), (None, entries.len()), "{id:?} is complete, or says that it is not");
                let vote = opened.wal.status(*id).unwrap().unwrap().vote;
                assert_eq!(vote.map(|vote| u64::from_le_bytes(vote[..].try_into().unwrap())), partition.vote);
            }
        }
    }
    damaged
}

fn segments(disk: &SimulatedDisk) -> Vec<String> {
    disk.names().into_iter().filter(|name| name.starts_with("segment")).collect()
}

#[test]
fn any_flipped_bit_is_found_and_hurts_one_partition_at_most() {
    let world = written();
    let expected = world.current.clone();
    let mut random = Random::new(5);
    let (mut hurt, mut harmless) = (0, 0);
    for name in segments(&world.disk) {
        let length = world.disk.content(&name).unwrap().len() as u64;
        for _ in 0..120 {
            let disk = world.disk.crash(CrashPlan::KeepAll);
            let bit = random.below(length * 8);
            disk.alter(&name, |bytes| bytes[usize::try_from(bit / 8).unwrap()] ^= 1 << (bit % 8));
            let opened = open(&disk);
            let damaged = check(&opened, &expected);
            assert!(damaged.len() <= 1, "{name} bit {bit}: {damaged:?}");
            if damaged.is_empty() {
                harmless += 1;
            } else {
                hurt += 1;
            }
            for damage in &opened.recovery.damages {
                assert!(damaged.is_empty() || damaged.contains(&damage.partition), "{damage}");
                assert!(!damage.to_string().is_empty());
            }
        }
    }
    assert!(hurt > 50 && harmless > 50, "{hurt} {harmless}");
}

#[test]
fn every_bit_of_one_batch_and_its_marks() {
    let mut world = World::new();
    for partition in 1..=3 {
        world.append(partition, 1, &[0], Vec::new()).unwrap();
        world.append(partition, 1, &[], Vec::new()).unwrap();
    }
    world.write();
    world.vote(2, 9).unwrap();
    world.append(3, 1, &[1], Vec::new()).unwrap();
    world.write();
    let expected = world.current.clone();
    let name = segments(&world.disk)
        .into_iter()
        .max_by_key(|name| world.disk.content(name).unwrap().iter().filter(|byte| **byte != 0).count())
        .unwrap();
    let content = world.disk.content(&name).unwrap();
    let end = content.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    for at in 8192..end {
        let disk = world.disk.crash(CrashPlan::KeepAll);
        // One bit of each byte: all of them take minutes.
        disk.alter(&name, |bytes| bytes[at] ^= 1 << (at % 8));
        let damaged = check(&open(&disk), &expected);
        assert!(damaged.len() <= 1, "byte {at}: {damaged:?}");
    }
}

#[test]
fn a_lost_block_hurts_only_whose_records_were_in_it() {
    let world = written();
    let expected = world.current.clone();
    for name in segments(&world.disk) {
        let content = world.disk.content(&name).unwrap();
        for block in 2..content.len() / 4096 {
            let disk = world.disk.crash(CrashPlan::KeepAll);
            disk.alter(&name, |bytes| bytes[block * 4096..(block + 1) * 4096].fill(0xA5));
            check(&open(&disk), &expected);
            // Unreadable instead of wrong is the same.
            let disk = world.disk.crash(CrashPlan::KeepAll);
            disk.make_unreadable(&name, block * 4096 + 600);
            check(&open(&disk), &expected);
        }
    }
}

#[test]
fn several_lost_blocks_never_lose_or_forge_silently() {
    let world = written();
    let expected = world.current.clone();
    let mut random = Random::new(77);
    for _ in 0..300 {
        let disk = world.disk.crash(CrashPlan::KeepAll);
        // Not in the last one: whether what is lost at the very end was ever there, nothing can tell.
        let mut names = segments(&disk);
        names.retain(|name| disk.content(name).unwrap()[8192] != 0);
        names.pop();
        for _ in 0..=random.below(3) {
            let name = &names[usize::try_from(random.below(names.len() as u64)).unwrap()];
            let at = usize::try_from(2 + random.below(20)).unwrap() * 4096;
            let length = usize::try_from(1 + random.below(5)).unwrap() * 4096;
            disk.alter(name, |bytes| {
                let end = (at + length).min(bytes.len());
                bytes[at..end].fill(0);
            });
        }
        check(&open(&disk), &expected);
    }
}

#[test]
fn a_damaged_partition_goes_alone_and_says_where() {
    let mut world = written();
    let (id, index, position) = (PartitionId(2), 30, 4);
    let salt = world.current[&id].entries[&index].salt;
    let body = body_bytes(id, index, position, salt);
    let mut place = None;
    for name in segments(&world.disk) {
        let content = world.disk.content(&name).unwrap();
        if let Some(at) = content.windows(body.len()).position(|window| window == &body[..]) {
            world.disk.alter(&name, |bytes| bytes[at + 1] ^= 1);
            place = Some((name, at));
        }
    }
    let (name, at) = place.expect("it is somewhere");
    world.opened = Some(open(&world.disk));
    let wal = world.wal();
    let Err(Error::Damaged(damage)) = wal.status(id) else { panic!("it is out of service") };
    assert_eq!((damage.index, damage.position), (Some(LogIndex(index)), Some(position)));
    assert_eq!(name, format!("segment-{:08x}.wal", damage.segment));
    assert_eq!(damage.offset as usize, at);
    assert!(matches!(world.append(2, 1, &[0], Vec::new()), Err(Error::Damaged(_))));
    assert!(matches!(world.vote(2, 1), Err(Error::Damaged(_))));
    assert!(matches!(wal.body(id, MessageId { index: LogIndex(1), position: 0 }), Err(Error::Damaged(_))));
    world.append(1, 1, &[0], Vec::new()).unwrap();
    world.settle();
    // Its segments stay for whoever wants to look; the way back is to remove it, and to begin anew.
    assert!(world.disk.names().contains(&name));
    world.remove(2).unwrap();
    world.settle();
    assert_eq!(wal.status(id).unwrap(), None);
    world.append(2, 1, &[0], Vec::new()).unwrap();
    world.settle();
    let opened = open(&world.disk);
    assert_eq!(opened.wal.status(id).unwrap().unwrap().last, Some(LogIndex(1)));
}

#[test]
fn damage_that_comes_later_is_found_when_it_is_read() {
    let mut world = written();
    // The first entries have left memory long ago.
    let name = segments(&world.disk).into_iter().min().unwrap();
    let wal = world.wal();
    world.disk.alter(&name, |bytes| bytes[8192..40_000].fill(1));
    let first = MessageId { index: LogIndex(1), position: 0 };
    assert!(matches!(wal.body(PartitionId(1), first), Err(Error::Damaged(_))));
    let range = LogIndex(1)..LogIndex(2);
    assert!(matches!(wal.entries(PartitionId(3), range, 1, Content::Heads), Err(Error::Damaged(_))));
    assert!(wal.status(PartitionId(2)).is_ok(), "nobody asked for anything of it");
    world.append(2, 1, &[0], Vec::new()).unwrap();
}

#[test]
fn a_segment_without_header_is_kept_and_everyone_may_have_lost_something() {
    let world = written();
    let name = segments(&world.disk).into_iter().min().unwrap();
    let disk = world.disk.crash(CrashPlan::KeepAll);
    disk.alter(&name, |bytes| bytes[..8192].fill(0));
    let mut opened = open(&disk);
    for id in world.current.keys() {
        assert!(matches!(opened.wal.status(*id), Err(Error::Damaged(_))));
    }
    for _ in 0..50 {
        opened.writer.step();
        opened.maintenance.step();
    }
    assert!(disk.names().contains(&name), "it is left as it is");
}

#[test]
fn a_damaged_snapshot_hurts_its_partition_only() {
    let mut world = written();
    for partition in 1..=2 {
        world.apply(partition, 50).unwrap();
        world.snapshot(partition).unwrap();
        world.purge(partition).unwrap();
    }
    world.settle();
    let mut random = Random::new(9);
    for name in world.disk.names().iter().filter(|name| name.starts_with("snapshot-") || name.starts_with("parts-")) {
        let id = PartitionId(u32::from_str_radix(name.split('-').nth(1).unwrap(), 16).unwrap());
        let length = world.disk.content(name).unwrap().len() as u64;
        for _ in 0..60 {
            let disk = world.disk.crash(CrashPlan::KeepAll);
            let bit = random.below(length * 8);
            disk.alter(name, |bytes| bytes[usize::try_from(bit / 8).unwrap()] ^= 1 << (bit % 8));
            let opened = open(&disk);
            let read = opened.wal.snapshot(id).and_then(|snapshot| {
                let snapshot = snapshot.expect("there is one");
                snapshot.keys().try_for_each(|key| snapshot.read(key).map(drop))
            });
            assert!(matches!(read, Err(Error::Damaged(damage)) if damage.partition == id));
            assert!(opened.wal.status(id).is_err());
            let other = PartitionId(3 - id.0);
            assert!(opened.wal.status(other).is_ok());
            assert!(disk.names().contains(name), "nothing of it is removed");
        }
    }
}

#[test]
fn what_a_client_writes_is_never_taken_for_a_record() {
    // A body that is a copy of a whole segment, headers and all; then a lost block in front of it.
    let mut world = World::new();
    for _ in 0..3 {
        world.append(1, 1, &[0, 1], Vec::new()).unwrap();
        world.write();
    }
    let name = segments(&world.disk)
        .into_iter()
        .max_by_key(|name| world.disk.content(name).unwrap().iter().filter(|byte| **byte != 0).count())
        .unwrap();
    let copy = world.disk.content(&name).unwrap()[8192..8192 + 12_288].to_vec();
    let wal = world.wal();
    let index = LogIndex(world.next_index(PartitionId(1)));
    wal.append(braid_log::Append {
        partition: PartitionId(1),
        term: braid_types::Term(1),
        index,
        payload: bytes::Bytes::new(),
        bodies: vec![braid_log::Body::new(0, copy.into())],
        is_promised: true,
        done: None,
    })
    .unwrap();
    world.vote(2, 2).unwrap();
    world.write();
    world.vote(2, 3).unwrap();
    world.write();
    for block in 2..12 {
        let disk = world.disk.crash(CrashPlan::KeepAll);
        disk.alter(&name, |bytes| bytes[block * 4096..block * 4096 + 512].fill(0));
        let opened = open(&disk);
        if let Ok(Some(status)) = opened.wal.status(PartitionId(1)) {
            assert_eq!(status.last, Some(index), "block {block}");
        }
    }
}

//! What idle groups cost in memory. A test of its own, because it looks at the whole process.

#![allow(clippy::unwrap_used, reason = "a test that does not hold should stop")]
#![cfg(target_os = "linux")]

use braid_machine::{Command, GroupSetId, Groups, MessageHeader, Partition, Reply};
use braid_types::{Address, GroupId, LogIndex, Machine, Protocol, Stamp};

const GROUPS: u64 = 100_000;

/// Resident memory of the process in bytes.
fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1_024
}

fn apply(partition: &mut Partition, index: u64, command: Command) -> Reply {
    let mut effects = Vec::new();
    partition.apply(Stamp { index: LogIndex(index), ..Stamp::default() }, command, &mut effects)
}

#[test]
fn idle_groups_and_messages_that_many_groups_share_are_cheap() {
    let mut partition = Partition::default();
    let before = resident_bytes();
    for group in 0..GROUPS {
        apply(&mut partition, group, Command::CreateGroup { group: GroupId(group), config: Box::default() });
    }
    let per_group = (resident_bytes() - before) / GROUPS;
    // 504 bytes, 8 to 16 of the allocator, the slot in the map, and the note that it changed.
    assert!(per_group <= 600, "{per_group} bytes per group");

    let set = GroupSetId(1);
    let groups = (0..10_000).map(GroupId).collect();
    apply(&mut partition, GROUPS, Command::DefineGroupSet { set, groups });
    let address = Address::from_notation(Protocol::Mqtt, &[b'a'; 200]).unwrap();
    let fan_out = |partition: &mut Partition, index| {
        let message = MessageHeader { size_bytes: 1, priority: 0, expires_at: None, address: Some(address.clone()) };
        let reply = apply(partition, index, Command::Enqueue { groups: Groups::Set(set), message });
        assert_eq!(reply, Reply::Enqueued { groups: 10_000 });
    };
    // The first ones make the queues.
    (1..=4).for_each(|index| fan_out(&mut partition, GROUPS + index));
    let before = resident_bytes();
    (5..=64).for_each(|index| fan_out(&mut partition, GROUPS + index));
    let per_holding = (resident_bytes() - before) / (60 * 10_000);
    // 56 bytes and the free slots of growing queues; the address alone has 200.
    assert!(per_holding <= 150, "{per_holding} bytes per message and group");
}

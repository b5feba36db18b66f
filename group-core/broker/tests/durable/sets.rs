//! Messages to many groups: the log has them once, and names their groups once.

use std::sync::Arc;

use braid_log::disk::SimulatedDisk;
use braid_machine::GroupConfig;
use braid_types::GroupId;

use crate::client::{Client, enqueue, message};
use crate::ledger::Ledger;
use crate::node::{BOTH, Node, counts, large, within};
use crate::player::Player;
use crate::recovery::all_of;

fn groups(range: std::ops::RangeInclusive<u64>) -> Vec<GroupId> {
    range.map(GroupId).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_to_ten_thousand_groups_is_written_once() {
    const BODY_BYTES: usize = 4_000;
    for kind in BOTH {
        let disk = SimulatedDisk::new();
        let all = groups(1..=10_000);
        let node = Node::start_with(Arc::new(disk.clone()), large()).await.unwrap();
        let partition = node.partition(kind);
        let wanted = all.iter().map(|group| (*group, GroupConfig::default())).collect();
        within(partition.reconcile(wanted, GroupId(10_000))).await;
        let client = Client::new(1, &partition);
        for number in 1..=3 {
            let before = node.statistics().record_bytes;
            client.submit(vec![enqueue(&all, message(number, BODY_BYTES), braid_broker::Answer::Silent)]);
            assert!(within(partition.barrier()).await);
            let written = usize::try_from(node.statistics().record_bytes - before).unwrap();
            // The first time the set is defined, too.
            assert!(written <= 2 * BODY_BYTES + 1_000 || number == 1, "{kind:?}: {written}");
        }
        drop((client, partition, node));
        let node = Node::start_with(Arc::new(disk.kill()), large()).await.unwrap();
        for group in [1, 777, 10_000] {
            assert_eq!(counts(&node.partition(kind), GroupId(group)).await, (3, 0));
        }
    }
}

/// More sets in one entry than have names at a time: none of them is taken for another.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_sets_at_once_are_kept_apart() {
    for kind in BOTH {
        let disk = SimulatedDisk::new();
        let node = Node::start_with(Arc::new(disk.clone()), large()).await.unwrap();
        let mut player = Player::new(node.partition(kind), Ledger::default());
        for group in groups(1..=40) {
            player.create(group).await;
        }
        // Two sizes and all offsets, then further apart: 400 different ones.
        let sets: Vec<Vec<GroupId>> = (0..400_u64)
            .map(|number| {
                let (first, step, count) = (number % 40, 1 + number / 40 % 5 * 2, 8 + number / 200);
                let mut set: Vec<GroupId> = (0..count).map(|place| GroupId((first + place * step) % 40 + 1)).collect();
                set.sort_unstable();
                set.dedup();
                set
            })
            .collect();
        let messages: Vec<(&[GroupId], usize)> = sets.iter().map(|set| (&**set, 8)).collect();
        // One is known before, and gives its name away in the same entry in which it is used.
        player.publish_all(1, &messages[..2]);
        player.collect().await;
        player.publish_all(1, &messages);
        player.collect().await;
        player.publish_all(1, &messages[300..]);
        player.publish_all(1, &messages[..10]);
        player.collect().await;
        let mut ledger = player.ledger;
        drop(node);
        let node = Node::start_with(Arc::new(disk.kill()), large()).await.unwrap();
        ledger.recovered(&all_of(&node.partition(kind), "many sets").await, "many sets");
    }
}

/// Commands that bring no message can be large too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_burst_of_large_commands_stops_nothing() {
    let disk = SimulatedDisk::new();
    let node = Node::start(&disk).await.unwrap();
    for kind in BOTH {
        let partition = node.partition(kind);
        let client = Client::new(1, &partition);
        crate::node::create(&partition, GroupId(1), GroupConfig::default()).await;
        let member = braid_types::MemberId::default();
        let deliveries: Vec<u64> = (1_000_000..1_000_500).collect();
        for _ in 0..200 {
            client.submit(vec![crate::client::settle(GroupId(1), member, &deliveries, braid_types::Outcome::Accepted)]);
        }
        assert!(within(partition.barrier()).await, "{kind:?}");
        // One that no log of such small segments can take is refused, and the others go on.
        let deliveries: Vec<u64> = (1_000_000..1_020_000).collect();
        client.submit(vec![crate::client::settle(GroupId(1), member, &deliveries, braid_types::Outcome::Accepted)]);
        client.submit(vec![enqueue(&[GroupId(1)], message(1, 100), braid_broker::Answer::Silent)]);
        assert!(within(partition.barrier()).await, "{kind:?}");
        assert_eq!(counts(&partition, GroupId(1)).await, (1, 0), "{kind:?}");
    }
    assert_eq!(node.out_of_service(), 0);
}

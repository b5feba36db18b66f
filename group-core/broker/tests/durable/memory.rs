//! A backlog is on the disk, not in memory, and comes back whole.

use std::sync::Arc;

use braid_broker::{Answer, Item};
use braid_log::disk::SimulatedDisk;
use braid_machine::{Credit, GroupConfig};
use braid_types::{GroupId, Outcome};

use crate::client::{Client, RELEASED, enqueue, message, number_of, settle};
use crate::node::{BOTH, Node, counts, create, large, quiet, within};

const GROUP: GroupId = GroupId(1);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backlog_takes_no_memory_and_comes_back_whole() {
    const MESSAGES: u64 = 20_000;
    const WINDOW: u64 = 700;
    for kind in BOTH {
        let node = Node::start_with(Arc::new(SimulatedDisk::new()), large()).await.unwrap();
        let cache_bytes = large().cache_bytes as u64;
        let partition = node.partition(kind);
        create(&partition, GROUP, GroupConfig::default()).await;
        let client = Client::new(1, &partition);
        for first in (1..=MESSAGES).step_by(500) {
            let publish = |number| enqueue(&[GROUP], message(number, 1_024), Answer::Silent);
            client.submit((first..first + 500).map(publish).collect());
            assert!(within(partition.barrier()).await);
            assert_eq!(node.broker.memory.held_bytes(), 0);
            let recent = node.statistics().recent_bytes;
            assert!(recent <= 2 * cache_bytes, "{recent}");
        }
        assert_eq!(counts(&partition, GROUP).await, (MESSAGES, 0));
        let window = Credit::Window { messages: u32::try_from(WINDOW).unwrap() };
        client.submit(vec![client.attach(GROUP, 1, window, RELEASED)]);
        let (mut member, mut next) = (None, 1);
        while next <= MESSAGES {
            quiet(&partition).await;
            let mut deliveries = Vec::new();
            for item in client.take() {
                match item {
                    Item::Attached { result, .. } => member = result.ok(),
                    Item::Deliver { delivery, message, redelivered, .. } => {
                        assert_eq!((number_of(&message), redelivered), (next, false));
                        next += 1;
                        deliveries.push(delivery.0);
                    }
                    other => panic!("{other:?}"),
                }
            }
            assert!(!deliveries.is_empty() && deliveries.len() as u64 <= WINDOW);
            client.submit(vec![settle(GROUP, member.unwrap(), &deliveries, Outcome::Accepted)]);
            assert_eq!(node.broker.memory.held_bytes(), 0);
        }
        assert_eq!(counts(&partition, GROUP).await, (0, 0));
    }
}

//! Time is the partition's own: a restart lets nothing expire early.

use std::time::Duration;

use braid_broker::Answer;
use braid_log::disk::SimulatedDisk;
use braid_machine::{Command, GroupConfig};
use braid_types::GroupId;

use crate::client::{Client, enqueue, message};
use crate::node::{BOTH, Node, counts, create, quiet, within};

const TTL: Duration = Duration::from_millis(1_500);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_expire_when_their_time_in_service_is_over() {
    let (by_group, by_message) = (GroupId(1), GroupId(2));
    let disk = SimulatedDisk::new();
    let node = Node::start(&disk).await.unwrap();
    for kind in BOTH {
        let partition = node.partition(kind);
        let ttl_ms = u64::try_from(TTL.as_millis()).unwrap();
        let config = GroupConfig { message_ttl_ms: Some(ttl_ms), ..GroupConfig::default() };
        create(&partition, by_group, config).await;
        create(&partition, by_message, GroupConfig::default()).await;
        let client = Client::new(1, &partition);
        client.submit(vec![enqueue(&[by_group], message(1, 100), Answer::Silent)]);
        let mut task = enqueue(&[by_message], message(2, 100), Answer::Silent);
        if let Command::Enqueue { message, .. } = &mut task.command {
            message.expires_at = Some(node.broker.clock.now().plus_ms(ttl_ms));
        }
        client.submit(vec![task]);
        assert!(within(partition.barrier()).await);
    }
    drop(node);
    // While nobody serves it, no time passes.
    tokio::time::sleep(TTL + Duration::from_millis(100)).await;
    let node = Node::start(&disk.kill()).await.unwrap();
    for kind in BOTH {
        for group in [by_group, by_message] {
            assert_eq!(counts(&node.partition(kind), group).await, (1, 0), "{kind:?}, {group:?}: too early");
        }
    }
    let expired = || node.broker.counters.messages_dropped_expired_total.get();
    assert_eq!(expired(), 0);
    crate::node::until(|| expired() == 4).await;
    for kind in BOTH {
        quiet(&node.partition(kind)).await;
        for group in [by_group, by_message] {
            assert_eq!(counts(&node.partition(kind), group).await, (0, 0), "{kind:?}, {group:?}: too late");
        }
    }
}

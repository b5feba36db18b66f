//! Bytes that rot: the partition whose they were goes out of service, the other one serves.

use std::sync::Arc;

use braid_broker::{Answer, Item, PartitionHandle, Submission, Task};
use braid_log::disk::SimulatedDisk;
use braid_machine::{Command, Credit, GroupConfig, MessageHeader, Refused};
use braid_types::{Address, GroupId, PartitionId, Protocol, Ticket};

use crate::client::{Client, RELEASED, message};
use crate::node::{BOTH, Node, counts, create, quiet, within};

const GROUP: GroupId = GroupId(1);

const MESSAGES: u64 = 60;

/// A piece of the body of a message, and of the entry that brought it, that nothing else has.
fn needles(kind: usize, number: u64) -> [Vec<u8>; 2] {
    let message = message(number + 100 * kind as u64, 2_000);
    [message.body[..30].to_vec(), format!("entry-{kind}-{number}-").into_bytes()]
}

/// Fills a few segments.
async fn publish(partition: &PartitionHandle, kind: usize) {
    create(partition, GROUP, GroupConfig::default()).await;
    let client = Client::new(1, partition);
    for number in 0..MESSAGES {
        let message = message(number + 100 * kind as u64, 2_000);
        let size_bytes = u32::try_from(message.size_bytes()).unwrap();
        let [_, entry] = needles(kind, number);
        let address = Address::from_notation(Protocol::Amqp, &entry).ok();
        let header = MessageHeader { size_bytes, priority: 0, expires_at: None, address };
        let command = Command::Enqueue { groups: [GROUP].into_iter().collect(), message: header };
        let task = Task { command, message: Some(Arc::new(message)), answer: Answer::Silent };
        partition.submit(Submission { from: Arc::clone(&client.mailbox), tasks: vec![task], in_flight_bytes: 0 });
        assert!(within(partition.barrier()).await);
    }
}

fn flip(disk: &SimulatedDisk, needle: &[u8]) {
    let mut found = 0;
    for name in disk.names() {
        // Files come and go while a node runs.
        let content = disk.content(&name).unwrap_or_default();
        for place in content.windows(needle.len()).enumerate().filter(|(_, bytes)| *bytes == needle) {
            disk.alter(&name, |bytes| bytes[place.0 + 3] ^= 4);
            found += 1;
        }
    }
    assert_eq!(found, 1, "it is in one place");
}

/// Publishes one message; whether it is confirmed.
async fn takes_a_message(partition: &PartitionHandle) -> bool {
    let client = Client::new(5, partition);
    let confirm = Answer::Confirm { ticket: Ticket(1) };
    client.submit(vec![crate::client::enqueue(&[GROUP], message(9_999, 100), confirm)]);
    quiet(partition).await;
    match client.take().as_slice() {
        [Item::Confirmed { refused, .. }] => {
            assert!(matches!(refused, None | Some(Refused::Faulted)));
            refused.is_none()
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_found_at_a_start_hurts_one_partition() {
    for piece in 0..2 {
        for (hurt, other) in [(0, 1), (1, 0)] {
            let disk = SimulatedDisk::new();
            let node = Node::start(&disk).await.unwrap();
            for (place, kind) in BOTH.into_iter().enumerate() {
                publish(&node.partition(kind), place).await;
            }
            drop(node);
            let disk = disk.kill();
            flip(&disk, &needles(hurt, 20)[piece]);
            let node = Node::start(&disk).await.unwrap();
            assert_eq!(node.out_of_service(), 1, "{hurt}, piece {piece}");
            assert!(!takes_a_message(&node.partition(BOTH[hurt])).await);
            assert!(!within(node.partition(BOTH[hurt]).barrier()).await);
            let partition = node.partition(BOTH[other]);
            assert_eq!(counts(&partition, GROUP).await, (MESSAGES, 0));
            assert!(takes_a_message(&partition).await);
            let found = crate::recovery::all_of(&partition, "the other one").await;
            assert_eq!(found[&GROUP].len() as u64, MESSAGES + 1, "with all bodies");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_found_when_it_is_read_hurts_one_partition() {
    for (hurt, other) in [(0, 1), (1, 0)] {
        let disk = SimulatedDisk::new();
        let node = Node::start(&disk).await.unwrap();
        for (place, kind) in BOTH.into_iter().enumerate() {
            publish(&node.partition(kind), place).await;
        }
        drop(node);
        // A restart, so that nothing is in memory.
        let disk = disk.kill();
        let node = Node::start(&disk).await.unwrap();
        flip(&disk, &needles(hurt, 20)[0]);
        let consumers = [hurt, other].map(|place| Client::new(7, &node.partition(BOTH[place])));
        let mut counts = Vec::new();
        for consumer in &consumers {
            consumer.submit(vec![consumer.attach(GROUP, 1, Credit::Window { messages: 0 }, RELEASED)]);
            quiet(&consumer.partition).await;
            let items = consumer.take();
            let delivered = items.iter().filter(|item| matches!(item, Item::Deliver { .. })).count() as u64;
            let is_cancelled = matches!(items.last(), Some(Item::Cancelled { attachment: 1 }));
            counts.push((delivered, is_cancelled, takes_a_message(&consumer.partition).await));
        }
        assert_eq!(counts[1], (MESSAGES, false, true));
        let (delivered, is_cancelled, takes) = counts[0];
        assert!(delivered < MESSAGES && is_cancelled && !takes, "{:?}", counts[0]);
        assert_eq!(node.out_of_service(), 1);
    }
}

/// SPEC section 8, P3: what is gone does not begin anew, however often the node is started.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_partition_that_is_gone_from_the_log_does_not_begin_anew() {
    let lost = PartitionId::new(0, BOTH[0], 0);
    let disk = SimulatedDisk::new();
    for _ in 0..3 {
        let node = Node::start_requiring(&disk, [lost]).await.unwrap();
        assert_eq!(node.out_of_service(), 1);
        assert!(!takes_a_message(&node.partition(BOTH[0])).await);
        within(node.partition(BOTH[0]).reconcile(vec![(GROUP, GroupConfig::default())], GROUP)).await;
        assert!(within(node.partition(BOTH[0]).inspect(None)).await.is_empty());
        let other = node.partition(BOTH[1]);
        create(&other, GROUP, GroupConfig::default()).await;
        assert!(takes_a_message(&other).await);
    }
}

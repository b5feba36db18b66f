//! Dead letters that a group keeps set out again after a crash, until they are said to be safe.

use std::time::Duration;

use braid_broker::{Answer, DeadLetter, Item, PartitionNote};
use braid_log::disk::{CrashPlan, SimulatedDisk};
use braid_machine::{Command, DropReason, GroupConfig, Reply};
use braid_types::{GroupId, Outcome, PartitionKind};

use crate::client::{Client, RELEASED, UNLIMITED, enqueue, message, number_of, settle};
use crate::node::{BOTH, Node, create, quiet, within};

const GROUP: GroupId = GroupId(1);

async fn letter(node: &mut Node) -> DeadLetter {
    loop {
        if let PartitionNote::DeadLetter(letter) = within(node.notes.recv()).await.unwrap() {
            return *letter;
        }
    }
}

async fn run(kind: PartitionKind, snapshot: bool) {
    let disk = SimulatedDisk::new();
    let mut node = Node::start(&disk).await.unwrap();
    let partition = node.partition(kind);
    create(&partition, GROUP, GroupConfig { keeps_dead_letters: true, ..GroupConfig::default() }).await;
    let client = Client::new(1, &partition);
    client.submit(vec![client.attach(GROUP, 1, UNLIMITED, RELEASED)]);
    // One of them is stored in pieces.
    client.submit(vec![
        enqueue(&[GROUP], message(1, 500), Answer::Silent),
        enqueue(&[GROUP], message(2, 40_000), Answer::Silent),
    ]);
    quiet(&partition).await;
    let items = client.take();
    let Some(Item::Attached { result: Ok(member), .. }) = items.first() else { panic!("{items:?}") };
    client.submit(vec![settle(GROUP, *member, &[0, 1], Outcome::Rejected)]);
    assert!(within(partition.barrier()).await);
    let first = [letter(&mut node).await, letter(&mut node).await];
    assert_eq!(
        first.each_ref().map(|letter| (number_of(&letter.message), letter.reason)),
        [(1, DropReason::Rejected), (2, DropReason::Rejected)]
    );
    if snapshot {
        partition.snapshot();
        crate::node::until(|| disk.names().iter().any(|name| name.starts_with("snapshot-"))).await;
    }
    let disk = disk.crash(CrashPlan::LoseAll);
    drop((partition, node));
    let mut node = Node::start(&disk).await.unwrap();
    let again = [letter(&mut node).await, letter(&mut node).await];
    for (one, other) in again.iter().zip(&first) {
        assert_eq!((one.id, number_of(&one.message)), (other.id, number_of(&other.message)));
    }
    let messages = [again[0].id].into_iter().collect();
    let ended = within(node.partition(kind).request(Command::EndDeadLetters { group: GROUP, messages })).await;
    assert_eq!(ended, Some(Reply::Done));
    let disk = disk.crash(CrashPlan::LoseAll);
    drop(node);
    let mut node = Node::start(&disk).await.unwrap();
    assert_eq!(letter(&mut node).await.id, first[1].id);
    assert!(tokio::time::timeout(Duration::from_millis(50), node.notes.recv()).await.is_err(), "it was the only one");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn letters_set_out_again_until_they_are_safe() {
    for kind in BOTH {
        for snapshot in [false, true] {
            run(kind, snapshot).await;
        }
    }
}

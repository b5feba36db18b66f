//! A sync that fails: nothing is confirmed any more on the whole node, and a restart brings back what had been.

use braid_broker::{Answer, Item};
use braid_log::disk::{Fault, SimulatedDisk};
use braid_machine::{Refused, Reply};
use braid_types::{GroupId, Ticket};

use crate::client::{Client, RELEASED, UNLIMITED, enqueue, message};
use crate::ledger::Ledger;
use crate::node::{BOTH, Node, create, quiet, within};
use crate::player::Player;
use crate::recovery::recover;

const GROUP: GroupId = GroupId(1);

fn refused(item: &Item) -> bool {
    matches!(item, Item::Confirmed { refused: Some(Refused::Faulted), .. })
}

fn cancelled(items: &[Item]) -> usize {
    items.iter().filter(|item| matches!(item, Item::Cancelled { attachment: 1 })).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_failed_sync_nothing_is_confirmed_and_a_restart_has_what_was() {
    for (first, second) in [(BOTH[0], BOTH[1]), (BOTH[1], BOTH[0])] {
        let disk = SimulatedDisk::new();
        let node = Node::start(&disk).await.unwrap();
        let mut players = [first, second].map(|kind| Player::new(node.partition(kind), Ledger::default()));
        for player in &mut players {
            player.create(GROUP).await;
            player.publish(1, &[GROUP], &[10, 3_000]);
            player.collect().await;
        }
        let consumers = [first, second].map(|kind| Client::new(7, &node.partition(kind)));
        for (consumer, player) in consumers.iter().zip(&mut players) {
            consumer.submit(vec![consumer.attach(GROUP, 1, UNLIMITED, RELEASED)]);
            quiet(&consumer.partition).await;
            assert_eq!(consumer.take().len(), 3);
            player.ledger.attach(GROUP);
        }
        let now = disk.operations();
        (now..now + 10_000).for_each(|operation| disk.fail_at(operation, Fault::Error));
        let publisher = Client::new(2, &node.partition(first));
        for number in 10..13 {
            let ticket = Ticket(number);
            let number = players[0].ledger.publish(&[GROUP]);
            publisher.submit(vec![enqueue(&[GROUP], message(number, 50), Answer::Confirm { ticket })]);
        }
        quiet(&publisher.partition).await;
        assert!(!within(publisher.partition.barrier()).await);
        let answers = publisher.take();
        assert!(answers.len() == 3 && answers.iter().all(refused), "{answers:?}");
        assert_eq!(cancelled(&consumers[0].take()), 1);
        // Later ones too, and those to the other partition; none of these is ever stored.
        for (place, kind) in [first, second].into_iter().enumerate() {
            let late = Client::new(3, &node.partition(kind));
            let confirm = Answer::Confirm { ticket: Ticket(1) };
            late.submit(vec![enqueue(&[GROUP], message(1_000_000, 50), confirm)]);
            late.submit(vec![late.attach(GROUP, 1, UNLIMITED, RELEASED)]);
            quiet(&late.partition).await;
            let answers = late.take();
            assert!(answers.first().is_some_and(refused), "{answers:?}");
            assert!(matches!(&answers[1..], [Item::Attached { result: Err(_), .. }]), "{answers:?}");
            let reply = within(late.partition.request(braid_machine::Command::PurgeGroup { group: GROUP })).await;
            assert_eq!(reply, Some(Reply::Refused(Refused::Faulted)));
            assert_eq!(cancelled(&consumers[place].take()), place);
        }
        assert_eq!(node.out_of_service(), 2);
        let ledgers = players.map(|player| player.ledger);
        drop((publisher, consumers, node));
        for (kind, mut ledger) in [first, second].into_iter().zip(ledgers) {
            recover(&disk.kill(), kind, &mut ledger, &format!("{first:?} failed, {kind:?}")).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_partition_that_is_idle_when_the_log_fails_refuses_what_comes_next() {
    let disk = SimulatedDisk::new();
    let node = Node::start(&disk).await.unwrap();
    for kind in BOTH {
        create(&node.partition(kind), GROUP, braid_machine::GroupConfig::default()).await;
    }
    disk.go_down_at(disk.operations());
    for kind in BOTH {
        let partition = node.partition(kind);
        let reply = within(partition.request(braid_machine::Command::PurgeGroup { group: GROUP })).await;
        assert_eq!(reply, Some(Reply::Refused(Refused::Faulted)), "{kind:?}");
        assert!(!within(partition.barrier()).await);
        within(partition.reconcile(Vec::new(), GROUP)).await;
        assert_eq!(within(partition.inspect(None)).await.len(), 1, "nothing was deleted");
    }
    drop(node);
    assert!(Node::start(&disk).await.is_err(), "the machine is still down");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn members_of_an_idle_partition_hear_of_it_when_the_log_is_looked_at() {
    let disk = SimulatedDisk::new();
    let node = Node::start(&disk).await.unwrap();
    let consumers = BOTH.map(|kind| Client::new(7, &node.partition(kind)));
    for consumer in &consumers {
        create(&consumer.partition, GROUP, braid_machine::GroupConfig::default()).await;
        consumer.submit(vec![consumer.attach(GROUP, 1, UNLIMITED, RELEASED)]);
        quiet(&consumer.partition).await;
        assert_eq!(consumer.take().len(), 1);
    }
    assert!(node.broker.check_log());
    disk.go_down_at(disk.operations());
    create_in_vain(&node).await;
    assert_eq!(cancelled(&consumers[1].take()), 0);
    assert!(!node.broker.check_log());
    for consumer in &consumers {
        quiet(&consumer.partition).await;
    }
    assert_eq!(cancelled(&consumers[1].take()), 1);
    assert_eq!(node.out_of_service(), 2);
}

/// Has the log of the first kind's partition find that the disk is gone.
async fn create_in_vain(node: &Node) {
    let command = braid_machine::Command::CreateGroup { group: GroupId(2), config: Box::default() };
    let reply = within(node.partition(BOTH[0]).request(command)).await;
    assert_eq!(reply, Some(Reply::Refused(Refused::Faulted)));
}

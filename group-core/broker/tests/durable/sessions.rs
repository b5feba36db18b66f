//! Members that outlive their connection, and those that settle when they are handed something, over a restart.

use braid_broker::{Answer, Item, OnLoss};
use braid_log::disk::{CrashPlan, SimulatedDisk};
use braid_machine::{Command, Credit, GroupConfig, Reply};
use braid_types::{GroupId, Outcome};

use crate::client::{Client, RELEASED, enqueue, message, number_of, settle};
use crate::node::{BOTH, Node, counts, create, quiet, within};

const GROUP: GroupId = GroupId(1);

/// Numbers and delivery ids of what came.
fn delivered(client: &Client) -> Vec<(u64, u64)> {
    let delivery = |item| match item {
        Item::Deliver { delivery, message, .. } => (number_of(&message), delivery.0),
        other => panic!("{other:?}"),
    };
    client.take().into_iter().map(delivery).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paused_member_keeps_what_it_holds() {
    for kind in BOTH {
        for snapshot in [false, true] {
            let disk = SimulatedDisk::new();
            let node = Node::start(&disk).await.unwrap();
            let partition = node.partition(kind);
            create(&partition, GROUP, GroupConfig::default()).await;
            let client = Client::new(1, &partition);
            client.submit(vec![client.attach(GROUP, 1, Credit::Window { messages: 3 }, OnLoss::Pause)]);
            quiet(&partition).await;
            let items = client.take();
            let [Item::Attached { result: Ok(member), .. }] = items.as_slice() else { panic!("{items:?}") };
            client.submit((1..=5).map(|n| enqueue(&[GROUP], message(n, 500), Answer::Silent)).collect());
            quiet(&partition).await;
            assert_eq!(delivered(&client), [(1, 0), (2, 1), (3, 2)]);
            client.submit(vec![settle(GROUP, *member, &[1], Outcome::Accepted)]);
            assert!(within(partition.barrier()).await);
            quiet(&partition).await;
            assert_eq!(delivered(&client), [(4, 3)]);
            if snapshot {
                partition.snapshot();
                crate::node::until(|| disk.names().iter().any(|name| name.starts_with("snapshot-"))).await;
            }
            let disk = disk.crash(CrashPlan::LoseAll);
            drop((partition, node));
            let node = Node::start(&disk).await.unwrap();
            let partition = node.partition(kind);
            assert_eq!(counts(&partition, GROUP).await, (1, 3), "{kind:?}");
            let client = Client::new(2, &partition);
            let resume = Command::Resume { group: GROUP, member: *member, owner: client.owner(4), messages: 3 };
            let task = braid_broker::Task { command: resume, message: None, answer: Answer::Silent };
            client.submit(vec![task, settle(GROUP, *member, &[0, 2], Outcome::Accepted)]);
            quiet(&partition).await;
            assert_eq!(delivered(&client), [(5, 4)], "its numbers go on");
            assert_eq!(counts(&partition, GROUP).await, (0, 2));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_handed_off_does_not_come_again() {
    for kind in BOTH {
        let disk = SimulatedDisk::new();
        let node = Node::start(&disk).await.unwrap();
        let partition = node.partition(kind);
        create(&partition, GROUP, GroupConfig::default()).await;
        let client = Client::new(1, &partition);
        client.submit(vec![client.attach(GROUP, 1, Credit::Granted { messages: 3, bytes: 1_000_000 }, RELEASED)]);
        client.submit((1..=5).map(|number| enqueue(&[GROUP], message(number, 500), Answer::Silent)).collect());
        quiet(&partition).await;
        let items = client.take();
        assert_eq!(items.iter().filter(|item| matches!(item, Item::Deliver { settled: true, .. })).count(), 3);
        let disk = disk.crash(CrashPlan::LoseAll);
        drop((partition, node));
        let node = Node::start(&disk).await.unwrap();
        let found = crate::recovery::all_of(&node.partition(kind), "hand-off").await;
        let found: Vec<(u64, bool)> = found[&GROUP].iter().map(|one| (one.number, one.redelivered)).collect();
        assert_eq!(found, [(4, false), (5, false)], "{kind:?}");
        let purge = Command::PurgeGroup { group: GROUP };
        let reply = within(node.partition(kind).request(purge)).await;
        assert_eq!(reply, Some(Reply::Removed { message_count: 2 }));
    }
}

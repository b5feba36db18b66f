//! A full disk: publishes wait, all else goes on, and it ends by itself.

use braid_broker::{Answer, Item};
use braid_log::disk::SimulatedDisk;
use braid_machine::{Command, Credit, GroupConfig, Reply};
use braid_types::{GroupId, MemberId, Outcome, PartitionKind, Ticket, UnackedOnEnd};

use crate::client::{Client, RELEASED, enqueue, message, number_of, settle};
use crate::node::{BOTH, Node, SEGMENT_BYTES, counts, create, quiet, until, within};

const GROUP: GroupId = GroupId(1);

const OTHER: GroupId = GroupId(2);

const BODY_BYTES: usize = 3_000;

/// A node whose disk is full, and what waits.
struct Scene {
    disk: SimulatedDisk,
    node: Node,
    publisher: Client,
    consumer: Client,
    member: MemberId,
    /// Delivered and not settled.
    held: Vec<u64>,
    published: u64,
    confirmed: Vec<u64>,
}

impl Scene {
    /// Publishes until it is full, and then ten more messages.
    async fn new(kind: PartitionKind) -> Self {
        let disk = SimulatedDisk::new();
        disk.set_capacity(Some(10 * SEGMENT_BYTES + 40_000));
        let node = Node::start(&disk).await.unwrap();
        let partition = node.partition(kind);
        for group in [GROUP, OTHER] {
            create(&partition, group, GroupConfig::default()).await;
        }
        let (publisher, consumer) = (Client::new(1, &partition), Client::new(2, &partition));
        consumer.submit(vec![consumer.attach(GROUP, 1, Credit::Window { messages: 10 }, RELEASED)]);
        quiet(&partition).await;
        let items = consumer.take();
        let [Item::Attached { result: Ok(member), .. }] = items.as_slice() else { panic!("{items:?}") };
        let (held, confirmed) = (Vec::new(), Vec::new());
        let mut scene = Self { member: *member, disk, node, publisher, consumer, held, published: 0, confirmed };
        while !scene.node.broker.memory.is_blocked() {
            assert!(scene.published < 1_000, "it is never full");
            scene.publish();
            quiet(&scene.publisher.partition).await;
        }
        assert_eq!(scene.node.broker.memory.reason(), "the disk is full");
        for _ in 0..10 {
            scene.publish();
        }
        scene.take().await;
        assert!(scene.confirmed.len() as u64 <= scene.published - 10, "those wait");
        assert_eq!(scene.held.len(), 10);
        scene
    }

    fn publish(&mut self) {
        self.published += 1;
        let confirm = Answer::Confirm { ticket: Ticket(self.published) };
        self.publisher.submit(vec![enqueue(&[GROUP], message(self.published, BODY_BYTES), confirm)]);
    }

    async fn take(&mut self) {
        quiet(&self.publisher.partition).await;
        for item in self.publisher.take() {
            match item {
                Item::Confirmed { ticket, refused: None } => self.confirmed.push(ticket.0),
                other => panic!("{other:?}"),
            }
        }
        for item in self.consumer.take() {
            match item {
                Item::Deliver { delivery, message, redelivered, .. } => {
                    assert_eq!(number_of(&message), delivery.0 + 1, "in order, each once");
                    assert!(!redelivered);
                    self.held.push(delivery.0);
                }
                other => panic!("{other:?}"),
            }
        }
    }

    async fn settle_all(&mut self) {
        let held = std::mem::take(&mut self.held);
        self.consumer.submit(vec![settle(GROUP, self.member, &held, Outcome::Accepted)]);
        assert!(within(self.consumer.partition.barrier()).await);
        self.take().await;
    }

    /// All that waited is stored now, in order and once.
    async fn resumes(&mut self) {
        let memory = std::sync::Arc::clone(&self.node.broker.memory);
        until(|| !memory.is_blocked()).await;
        for _ in 0..200 {
            self.take().await;
            if self.confirmed.len() as u64 == self.published {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        assert_eq!(self.confirmed, (1..=self.published).collect::<Vec<_>>());
    }

    /// What is not settled is there after a restart, and nothing else.
    async fn restarts(mut self, kind: PartitionKind) {
        let settled = self.held.first().copied().unwrap_or(self.published);
        let published = self.published;
        self.take().await;
        let disk = self.disk.clone();
        drop(self);
        let disk = disk.kill();
        disk.set_capacity(None);
        let node = Node::start(&disk).await.unwrap();
        let found = crate::recovery::all_of(&node.partition(kind), "after a full disk").await;
        let numbers: Vec<u64> = found[&GROUP].iter().map(|handed| handed.number).collect();
        assert_eq!(numbers, (settled + 1..=published).collect::<Vec<_>>());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn publishes_wait_and_all_else_goes_on() {
    for kind in BOTH {
        let mut scene = Scene::new(kind).await;
        let partition = scene.node.partition(kind);
        scene.settle_all().await;
        assert_eq!(scene.held.len(), 10, "the next ones are handed out");
        // Another member comes, and goes; a group is deleted, another made.
        let other = Client::new(3, &partition);
        other.submit(vec![other.attach(OTHER, 1, Credit::Window { messages: 1 }, RELEASED)]);
        quiet(&partition).await;
        let items = other.take();
        let [Item::Attached { result: Ok(member), .. }] = items.as_slice() else { panic!("{items:?}") };
        let detach = Command::Detach { group: OTHER, member: *member, unacked: UnackedOnEnd::Keep };
        assert_eq!(within(partition.request(detach)).await, Some(Reply::Done));
        let delete = Command::DeleteGroup { group: OTHER, if_unused: true, if_empty: true };
        assert_eq!(within(partition.request(delete)).await, Some(Reply::Removed { message_count: 0 }));
        create(&partition, GroupId(3), GroupConfig::default()).await;
        assert!(scene.node.broker.memory.is_blocked());
        let confirmed = scene.confirmed.len();
        scene.take().await;
        assert_eq!(scene.confirmed.len(), confirmed, "there is no room yet");
        scene.disk.set_capacity(None);
        scene.resumes().await;
        scene.restarts(kind).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acks_make_room_and_it_goes_on_by_itself() {
    for kind in BOTH {
        let mut scene = Scene::new(kind).await;
        for _ in 0..60 {
            if !scene.node.broker.memory.is_blocked() {
                break;
            }
            scene.settle_all().await;
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        scene.resumes().await;
        assert!(counts(&scene.node.partition(kind), GROUP).await.0 < scene.published);
        scene.restarts(kind).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waits_for_room_is_no_promise() {
    for kind in BOTH {
        let mut scene = Scene::new(kind).await;
        scene.settle_all().await;
        let stored = counts(&scene.node.partition(kind), GROUP).await;
        let (settled, last) = (scene.held[0], scene.held[0] + stored.0 + stored.1);
        assert!(scene.confirmed.iter().all(|number| *number <= last));
        let disk = scene.disk.crash(braid_log::disk::CrashPlan::LoseAll);
        drop(scene);
        let node = Node::start(&disk).await.unwrap();
        let found = crate::recovery::all_of(&node.partition(kind), "a crash on a full disk").await;
        let numbers: Vec<u64> = found[&GROUP].iter().map(|handed| handed.number).collect();
        assert_eq!(numbers, (settled + 1..=last).collect::<Vec<_>>(), "{kind:?}");
    }
}

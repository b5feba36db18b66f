//! Clients of one partition, whose every step goes into the ledger. After each step that waits for something, all that
//! came is taken and compared with it.

use std::collections::{BTreeMap, BTreeSet};

use braid_broker::{Answer, Item, OnLoss, PartitionHandle};
use braid_machine::{Command, Credit, Reply};
use braid_types::{GroupId, MemberId, Outcome, Ticket, UnackedOnEnd};

use crate::client::{Client, enqueue, message, number_of, settle, silent};
use crate::ledger::{Handed, Ledger};
use crate::node::{quiet, within};

/// Where deliveries of a connection come from.
#[derive(Clone, Copy, Debug)]
struct Seat {
    group: GroupId,
    member: Option<MemberId>,
    on_loss: OnLoss,
    /// It gets nothing more, and stays for what it holds.
    is_leaving: bool,
}

/// See the file's head.
pub(crate) struct Player {
    pub(crate) partition: PartitionHandle,
    pub(crate) ledger: Ledger,
    clients: BTreeMap<u64, Client>,
    seats: BTreeMap<(u64, u32), Seat>,
    /// Publishes that wait for an answer.
    unanswered: BTreeSet<u64>,
    next_attachment: u32,
    /// The partition was in service when it was last asked.
    pub(crate) is_up: bool,
}

impl Player {
    pub(crate) fn new(partition: PartitionHandle, ledger: Ledger) -> Self {
        let (clients, seats, unanswered) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
        Self { partition, ledger, clients, seats, unanswered, next_attachment: 0, is_up: true }
    }

    fn client(&mut self, id: u64) -> Client {
        let partition = &self.partition;
        self.clients.entry(id).or_insert_with(|| Client::new(id, partition)).clone()
    }

    /// Publishes messages to the same groups, each with a body of that size, in one go.
    pub(crate) fn publish(&mut self, client: u64, groups: &[GroupId], sizes: &[usize]) {
        let messages: Vec<_> = sizes.iter().map(|size_bytes| (groups, *size_bytes)).collect();
        self.publish_all(client, &messages);
    }

    /// Publishes messages, each to groups of its own and with a body of that size, in one go.
    pub(crate) fn publish_all(&mut self, client: u64, messages: &[(&[GroupId], usize)]) {
        let mut tasks = Vec::new();
        for (groups, size_bytes) in messages {
            let number = self.ledger.publish(groups);
            let answer = match number % 4 {
                0 => Answer::Silent,
                1 => Answer::ConfirmPart { join: number },
                _ => Answer::Confirm { ticket: Ticket(number) },
            };
            if !matches!(answer, Answer::Silent) {
                self.unanswered.insert(number);
            }
            tasks.push(enqueue(groups, message(number, *size_bytes), answer));
        }
        self.client(client).submit(tasks);
    }

    /// Attaches a member.
    pub(crate) fn attach(&mut self, client: u64, group: GroupId, window: u32, on_loss: OnLoss) {
        self.next_attachment += 1;
        self.ledger.attach(group);
        self.seats.insert((client, self.next_attachment), Seat { group, member: None, on_loss, is_leaving: false });
        let client = self.client(client);
        client.submit(vec![client.attach(group, self.next_attachment, Credit::Window { messages: window }, on_loss)]);
    }

    /// Gets a message.
    pub(crate) fn get(&mut self, client: u64, group: GroupId) {
        self.next_attachment += 1;
        self.ledger.attach(group);
        let on_loss = OnLoss::Detach(Outcome::Released);
        self.seats.insert((client, self.next_attachment), Seat { group, member: None, on_loss, is_leaving: true });
        let client = self.client(client);
        client.submit(vec![client.get(group, 0, self.next_attachment)]);
    }

    /// Ends the `place`th of what is held in the group and up to `count - 1` more of the same member; nothing happens
    /// when there is none.
    pub(crate) fn settle(&mut self, group: GroupId, place: usize, count: usize, outcome: Outcome) {
        let held = self.ledger.held(group);
        let Some((member, ..)) = held.get(place).copied() else { return };
        let same: Vec<_> = held.iter().skip(place).filter(|(holder, ..)| *holder == member).take(count).collect();
        let deliveries: Vec<u64> = same.iter().map(|(_, delivery, _)| *delivery).collect();
        let numbers: Vec<u64> = same.iter().map(|(_, _, number)| *number).collect();
        self.ledger.settle(group, &numbers, outcome);
        self.client(1).submit(vec![settle(group, member, &deliveries, outcome)]);
    }

    /// The places of members that are attached or may be.
    pub(crate) fn attached(&self) -> Vec<(u64, u32)> {
        self.seats.iter().filter(|(_, seat)| !seat.is_leaving).map(|(seat, _)| *seat).collect()
    }

    /// Detaches a member, which keeps what it holds or gives it back.
    pub(crate) async fn detach(&mut self, seat: (u64, u32), keeps: bool) {
        self.collect().await;
        let Some(Seat { group, member: Some(member), is_leaving, .. }) = self.seats.get_mut(&seat) else { return };
        let (group, member) = (*group, *member);
        *is_leaving = true;
        let unacked = if keeps { UnackedOnEnd::Keep } else { UnackedOnEnd::Settle(Outcome::Released) };
        if !keeps {
            self.ledger.settle_all(group, member, Outcome::Released);
        }
        self.ledger.is_exact = false;
        self.client(seat.0).submit(vec![silent(Command::Detach { group, member, unacked })]);
    }

    /// A connection is lost with all its members, those too that have been detached and hold something.
    pub(crate) async fn lose(&mut self, client: u64) {
        self.collect().await;
        let seats: Vec<_> = self.seats.keys().copied().filter(|(of, _)| *of == client).collect();
        for seat in seats {
            if let Some(Seat { group, member: Some(member), on_loss: OnLoss::Detach(outcome), .. }) =
                self.seats.remove(&seat)
            {
                self.ledger.settle_all(group, member, outcome);
            }
        }
        if let Some(client) = self.clients.remove(&client) {
            self.ledger.is_exact = false;
            client.lose();
        }
    }

    pub(crate) async fn create(&mut self, group: GroupId) {
        self.ledger.create(group);
        self.request(Command::CreateGroup { group, config: Box::default() }).await;
    }

    pub(crate) async fn purge(&mut self, group: GroupId) {
        self.collect().await;
        self.ledger.purge(group);
        self.request(Command::PurgeGroup { group }).await;
        self.collect().await;
    }

    pub(crate) async fn delete(&mut self, group: GroupId) {
        self.collect().await;
        self.ledger.delete(group);
        self.seats.retain(|_, seat| seat.group != group);
        self.request(Command::DeleteGroup { group, if_unused: false, if_empty: false }).await;
        self.collect().await;
    }

    async fn request(&mut self, command: Command) {
        let reply = within(self.partition.request(command)).await;
        let is_refused = matches!(reply, None | Some(Reply::Refused(_)));
        assert!(!is_refused || !within(self.partition.barrier()).await, "{reply:?}");
    }

    /// Waits until all is carried out, and takes what came.
    pub(crate) async fn collect(&mut self) {
        self.is_up = within(self.partition.barrier()).await;
        if self.is_up {
            self.ledger.all_certain();
        }
        let inspected = within(self.partition.inspect(None)).await;
        quiet(&self.partition).await;
        // What was handed out may have had to be read first.
        self.is_up = within(self.partition.barrier()).await;
        for (id, client) in self.clients.clone() {
            for item in client.take() {
                self.item(id, item);
            }
        }
        assert!(self.unanswered.is_empty(), "without an answer: {:?}", self.unanswered);
        if !self.is_up {
            return;
        }
        let found: BTreeMap<_, _> =
            inspected.into_iter().map(|(id, group)| (id, (group.ready, group.unacked))).collect();
        assert_eq!(found, self.ledger.counts());
        self.ledger.is_exact = true;
    }

    fn item(&mut self, client: u64, item: Item) {
        match item {
            Item::Confirmed { ticket: Ticket(number), refused } | Item::ConfirmedPart { join: number, refused } => {
                assert!(self.unanswered.remove(&number), "message {number} was not asked for, or is answered twice");
                match refused {
                    None => self.ledger.confirmed(number),
                    Some(refused) => assert!(!self.is_up, "{refused:?}"),
                }
            }
            Item::Attached { attachment, result } => match (result, self.seats.get_mut(&(client, attachment))) {
                (Ok(member), Some(seat)) => seat.member = Some(member),
                (result, _) => assert!(!self.is_up, "{result:?}"),
            },
            Item::Deliver { attachment, delivery, redelivered, delivery_count, message, settled } => {
                assert!(!settled);
                let seat = self.seats.get(&(client, attachment)).expect("it is for somebody");
                let (group, member) = (seat.group, seat.member.expect("the answer comes first"));
                let (delivery, number) = (delivery.0, number_of(&message));
                self.ledger.handed(Handed { group, member, delivery, redelivered, delivery_count, number });
            }
            Item::Got { attachment, taken: Ok(Some((taken, message))), .. } => {
                let seat = self.seats.get_mut(&(client, attachment)).expect("it is for somebody");
                seat.member = Some(taken.member);
                let (group, member, delivery) = (seat.group, taken.member, taken.delivery.0);
                let (redelivered, delivery_count, number) =
                    (taken.redelivered, taken.delivery_count, number_of(&message));
                self.ledger.handed(Handed { group, member, delivery, redelivered, delivery_count, number });
            }
            Item::Got { attachment, taken, .. } => {
                assert!(taken.is_ok() || !self.is_up, "{taken:?}");
                self.seats.remove(&(client, attachment));
            }
            Item::Cancelled { .. } | Item::Detached { .. } => {}
            other => panic!("{other:?}"),
        }
    }
}

//! What is known of one queue's messages, and the rules that every delivery is held against.

use std::collections::BTreeMap;

use crate::{
    faults::{Fault, Faults},
    layout::Queue,
    message::{Id, Stream},
};

/// What became of a member's ack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Ack {
    /// There was none.
    #[default]
    None,
    /// It was sent.
    Sent,
    /// A synchronous reply came after it.
    Committed,
}

/// A message.
#[derive(Clone, Copy, Debug, Default)]
struct Record {
    confirmed: bool,
    delivered: bool,
    ack: Ack,
    /// Round of the last delivery.
    round: u32,
}

impl Record {
    /// It must be in the queue still: somebody was told so, or saw it there, and nobody has acknowledged it.
    fn is_owed(self) -> bool {
        (self.confirmed || self.delivered) && self.ack == Ack::None
    }
}

/// Counts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Figures {
    /// Routed to the queue by a publisher.
    pub(crate) published: u64,
    /// Confirmed to the publisher.
    pub(crate) confirmed: u64,
    /// Deliveries.
    pub(crate) delivered: u64,
    /// Deliveries that were marked as made before.
    pub(crate) flagged: u64,
    /// Deliveries of a message that the test had seen before.
    pub(crate) repeated: u64,
    /// Messages acknowledged.
    pub(crate) acked: u64,
    /// Messages whose ack is known to be committed.
    pub(crate) committed: u64,
    /// Most that came again after one stop.
    pub(crate) repeated_max: u64,
}

/// How a delivery came.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    /// The member, a number of its own in each round.
    pub(crate) member: u32,
    /// Marked as delivered before; `None` where the protocol has no mark.
    pub(crate) flagged: Option<bool>,
    /// The broker's current run.
    pub(crate) round: u32,
    /// The broker is closing its connections in order.
    pub(crate) stopping: bool,
}

/// The book of one queue.
#[derive(Debug)]
pub(crate) struct Book {
    queue: Queue,
    records: BTreeMap<Stream, Vec<Record>>,
    /// Highest sequence number that came unmarked in former rounds.
    before: BTreeMap<Stream, u32>,
    /// The same of this round, by member.
    now: BTreeMap<(u32, Stream), u32>,
    figures: Figures,
    owed: u64,
    /// Acknowledged in this round and not known to be committed, of AMQP consumers.
    uncommitted: u64,
    /// What may come again in this round, and what has.
    again_max: u64,
    again: u64,
    /// Ready messages, about.
    backlog: u64,
}

impl Book {
    /// An empty one.
    pub(crate) fn new(queue: Queue) -> Self {
        Self {
            queue,
            records: BTreeMap::new(),
            before: BTreeMap::new(),
            now: BTreeMap::new(),
            figures: Figures::default(),
            owed: 0,
            uncommitted: 0,
            again_max: 0,
            again: 0,
            backlog: 0,
        }
    }

    /// The counts so far.
    pub(crate) fn figures(&self) -> Figures {
        self.figures
    }

    /// About how many messages wait.
    pub(crate) fn backlog(&self) -> u64 {
        self.backlog
    }

    /// A producer is about to send `id`, the next of its stream.
    pub(crate) fn published(&mut self, id: Id) {
        self.records.entry(id.stream).or_default().push(Record::default());
        self.figures.published += 1;
        self.backlog += 1;
    }

    /// The publisher was told that the broker has it.
    pub(crate) fn confirmed(&mut self, id: Id) {
        self.change(id, |record| record.confirmed = true);
        self.figures.confirmed += 1;
    }

    /// A member received it.
    pub(crate) fn delivered(&mut self, id: Id, arrival: Arrival, faults: &mut Faults) {
        let name = self.queue.name();
        let Some(former) = self.record(id) else {
            return faults.add(Fault::Forged, || format!("{name}: {id:?} was never published"));
        };
        self.change(id, |record| (record.delivered, record.round) = (true, arrival.round));
        self.figures.delivered += 1;
        self.figures.flagged += u64::from(arrival.flagged == Some(true));
        self.backlog = self.backlog.saturating_sub(1);
        let what = || format!("{name}: {id:?}, {arrival:?}, before: {former:?}");
        if former.ack == Ack::Committed {
            faults.add(Fault::AfterCommit, what);
        }
        if former.delivered {
            self.figures.repeated += 1;
            if arrival.flagged == Some(false) {
                faults.add(Fault::Unflagged, what);
            }
            let is_handed_on = former.round == arrival.round && arrival.stopping;
            if former.round == arrival.round && !is_handed_on {
                faults.add(Fault::TwiceInOneRun, what);
            }
            self.again += u64::from(!is_handed_on);
        } else if arrival.flagged == Some(true) {
            // A quick member gives back, flagged, what it has of its second window when it slows down.
            if id.stream.round == arrival.round && !arrival.stopping && !self.queue.has_quick_member() {
                faults.add(Fault::FlaggedWithoutReason, what);
            }
        } else {
            self.first(id, arrival.member, faults);
        }
    }

    /// Holds a first delivery against the order of its producer. Members of one queue run side by side, so within a
    /// round each is judged by itself.
    fn first(&mut self, id: Id, member: u32, faults: &mut Faults) {
        let before = self.before.get(&id.stream).copied();
        let now = self.now.get(&(member, id.stream)).copied();
        if [before, now].into_iter().flatten().any(|highest| id.sequence <= highest) {
            let name = self.queue.name();
            faults.add(Fault::OutOfOrder, || {
                format!("{name}: {id:?} after {now:?} of this round and {before:?} of former ones, unmarked")
            });
        }
        self.now.insert((member, id.stream), id.sequence);
    }

    /// A consumer sent an ack for it, which a synchronous reply may commit.
    pub(crate) fn acked(&mut self, id: Id) {
        self.uncommitted += 1;
        self.settled(id);
    }

    /// A member acknowledged it, or its protocol settles at hand-off: it may come again, once the broker has died.
    pub(crate) fn settled(&mut self, id: Id) {
        self.change(id, |record| {
            if record.ack == Ack::None {
                record.ack = Ack::Sent;
            }
        });
        self.figures.acked += 1;
    }

    /// A synchronous reply came on the channel after the ack (P7).
    pub(crate) fn committed(&mut self, id: Id) {
        self.change(id, |record| record.ack = Ack::Committed);
        self.figures.committed += 1;
        self.uncommitted = self.uncommitted.saturating_sub(1);
    }

    /// The broker has been stopped; nobody receives anything more of this round.
    pub(crate) fn stopped(&mut self, faults: &mut Faults) {
        for ((_, stream), sequence) in std::mem::take(&mut self.now) {
            let highest = self.before.entry(stream).or_default();
            *highest = (*highest).max(sequence);
        }
        if self.again > self.again_max {
            let (name, again, most) = (self.queue.name(), self.again, self.again_max);
            faults.add(Fault::TooManyAgain, || format!("{name}: {again} came again, at most {most} were held"));
        }
        self.figures.repeated_max = self.figures.repeated_max.max(self.again);
        // What went back and was not handed out again in this round is still to come; it is ahead of all else, so the
        // two do not add up.
        self.again_max = self.again_max.saturating_sub(self.again).max(self.queue.windows() + self.uncommitted);
        (self.again, self.uncommitted) = (0, 0);
    }

    /// The broker is back and says that it has `ready` messages, none of them handed out.
    pub(crate) fn started(&mut self, ready: u64, faults: &mut Faults) {
        self.backlog = ready;
        let most = self.figures.published.saturating_sub(self.figures.committed);
        // What a NATS member had in its hands is gone, and the test cannot know how much that was.
        let least = if self.queue == Queue::Nats { 0 } else { self.owed };
        if ready < least || ready > most {
            let name = self.queue.name();
            faults.add(Fault::WrongCount, || format!("{name}: {ready} ready after a start, not {least} to {most}"));
        }
    }

    /// All is drained: what is owed is lost. Returns how much a NATS member lost, which is judged elsewhere.
    pub(crate) fn drained(&self, faults: &mut Faults) -> u64 {
        let name = self.queue.name();
        let mut lost = 0;
        for (stream, records) in &self.records {
            for (sequence, record) in records.iter().enumerate().filter(|(_, record)| record.is_owed()) {
                lost += 1;
                let fault = if record.delivered { Fault::NotGivenBack } else { Fault::Lost };
                if self.queue != Queue::Nats {
                    faults.add(fault, || format!("{name}: {stream:?}, sequence {sequence}: {record:?}"));
                }
            }
        }
        lost
    }

    fn record(&self, id: Id) -> Option<Record> {
        self.records.get(&id.stream)?.get(usize::try_from(id.sequence).ok()?).copied()
    }

    fn change(&mut self, id: Id, change: impl FnOnce(&mut Record)) {
        let records = self.records.get_mut(&id.stream);
        let record = usize::try_from(id.sequence).ok().and_then(|sequence| records?.get_mut(sequence));
        let Some(record) = record else { return };
        let before = record.is_owed();
        change(record);
        match (before, record.is_owed()) {
            (false, true) => self.owed += 1,
            (true, false) => self.owed -= 1,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A queue whose members may hold 200 messages.
    const QUEUE: Queue = Queue::Quorum;

    struct Scene {
        book: Book,
        faults: Faults,
        round: u32,
        stopping: bool,
    }

    impl Scene {
        /// Messages 0 to 9 are published in round 0, and confirmed.
        fn new() -> Self {
            Self::of(QUEUE)
        }

        fn of(queue: Queue) -> Self {
            let mut book = Book::new(queue);
            for sequence in 0..10 {
                book.published(id(sequence));
                book.confirmed(id(sequence));
            }
            Self { book, faults: Faults::default(), round: 0, stopping: false }
        }

        fn deliver(&mut self, member: u32, sequence: u32, flagged: bool) {
            let arrival = Arrival { member, flagged: Some(flagged), round: self.round, stopping: self.stopping };
            self.book.delivered(id(sequence), arrival, &mut self.faults);
        }

        fn kill(&mut self) {
            self.book.stopped(&mut self.faults);
            self.round += 1;
        }

        /// All faults, after the end.
        fn found(mut self) -> Vec<Fault> {
            self.book.stopped(&mut self.faults);
            self.book.drained(&mut self.faults);
            self.faults.kinds()
        }
    }

    fn id(sequence: u32) -> Id {
        Id { stream: Stream { round: 0, producer: 0 }, sequence }
    }

    #[test]
    fn what_a_crash_may_do_is_no_fault() {
        let mut scene = Scene::new();
        for sequence in 0..6 {
            scene.deliver(sequence % 2, sequence, false);
        }
        (0..3).for_each(|sequence| scene.book.acked(id(sequence)));
        (0..2).for_each(|sequence| scene.book.committed(id(sequence)));
        scene.kill();
        scene.book.started(8, &mut scene.faults);
        // 2 was acknowledged and not committed, 6 had been on its way to somebody.
        for (sequence, flagged) in [(2, true), (3, true), (4, true), (5, true), (6, true), (7, false), (8, false)] {
            scene.deliver(2, sequence, flagged);
        }
        scene.deliver(3, 9, false);
        (2..10).for_each(|sequence| scene.book.acked(id(sequence)));
        assert_eq!(scene.book.figures().repeated, 4);
        assert_eq!(scene.found(), []);
    }

    #[test]
    fn a_broker_that_stops_in_order_may_hand_on_what_the_first_ones_held() {
        let mut scene = Scene::new();
        (0..10).for_each(|sequence| scene.deliver(0, sequence, false));
        scene.stopping = true;
        (5..10).for_each(|sequence| scene.deliver(1, sequence, true));
        scene.kill();
        scene.stopping = false;
        (0..10).for_each(|sequence| scene.deliver(2, sequence, true));
        (0..10).for_each(|sequence| scene.book.acked(id(sequence)));
        assert_eq!(scene.found(), []);
    }

    #[test]
    fn a_confirmed_message_that_never_comes_is_lost() {
        let mut scene = Scene::new();
        for sequence in 0..9 {
            scene.deliver(0, sequence, false);
            scene.book.acked(id(sequence));
        }
        scene.kill();
        scene.book.started(0, &mut scene.faults);
        assert_eq!(scene.found(), [Fault::Lost, Fault::WrongCount]);
    }

    #[test]
    fn a_message_in_the_hands_of_the_dead_must_come_again() {
        let mut scene = Scene::new();
        for sequence in 0..10 {
            scene.deliver(0, sequence, false);
        }
        (0..9).for_each(|sequence| scene.book.acked(id(sequence)));
        scene.kill();
        assert_eq!(scene.found(), [Fault::NotGivenBack]);
    }

    #[test]
    fn a_committed_ack_is_final() {
        let mut scene = Scene::new();
        (0..10).for_each(|sequence| scene.deliver(0, sequence, false));
        (0..10).for_each(|sequence| scene.book.acked(id(sequence)));
        scene.book.committed(id(4));
        scene.kill();
        scene.book.started(10, &mut scene.faults);
        scene.deliver(1, 4, true);
        assert_eq!(scene.found(), [Fault::AfterCommit, Fault::WrongCount]);
    }

    #[test]
    fn repeats_are_marked_and_follow_a_crash() {
        let mut scene = Scene::new();
        (0..10).for_each(|sequence| scene.deliver(0, sequence, false));
        scene.deliver(1, 9, true);
        (0..10).for_each(|sequence| scene.book.acked(id(sequence)));
        assert_eq!(scene.found(), [Fault::TwiceInOneRun, Fault::TooManyAgain]);
        let mut scene = Scene::new();
        (0..10).for_each(|sequence| scene.deliver(0, sequence, false));
        scene.kill();
        scene.deliver(1, 9, false);
        (0..10).for_each(|sequence| scene.book.acked(id(sequence)));
        assert_eq!(scene.found(), [Fault::Unflagged]);
    }

    #[test]
    fn what_nobody_had_is_not_marked() {
        for (queue, faults) in [(Queue::Topic, vec![Fault::FlaggedWithoutReason]), (Queue::Classic, vec![])] {
            let mut scene = Scene::of(queue);
            (0..10).for_each(|sequence| scene.deliver(0, sequence, sequence == 5));
            (0..10).for_each(|sequence| scene.book.acked(id(sequence)));
            assert_eq!(scene.found(), faults);
        }
    }

    #[test]
    fn first_deliveries_keep_their_order_over_a_crash() {
        for (now, then) in [(vec![0, 1, 3, 2], vec![]), (vec![0, 1, 3], vec![2])] {
            let mut scene = Scene::new();
            now.iter().for_each(|sequence| scene.deliver(0, *sequence, false));
            scene.kill();
            then.iter().for_each(|sequence| scene.deliver(1, *sequence, false));
            (4..10).for_each(|sequence| scene.deliver(1, sequence, false));
            (0..10).for_each(|sequence| scene.book.acked(id(sequence)));
            assert_eq!(scene.found(), [Fault::OutOfOrder]);
        }
    }

    #[test]
    fn what_was_never_published_is_forged() {
        let mut scene = Scene::new();
        (0..11).for_each(|sequence| scene.deliver(0, sequence, false));
        (0..10).for_each(|sequence| scene.book.acked(id(sequence)));
        assert_eq!(scene.found(), [Fault::Forged]);
    }
}

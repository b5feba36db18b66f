//! Everything that publishers and members report, in one place behind one lock: the order in which events are entered is
//! the order in which the clients learned of them.

use std::sync::{
    Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, AtomicU32, Ordering},
};

use crate::{
    book::{Arrival, Book, Figures},
    faults::{Fault, Faults},
    layout::{NATS_WINDOW, Queue, Route},
    message::Id,
};

/// Messages that may wait in a queue before its producers pause: what is drained at the end stays small.
const BACKLOG_MAX: u64 = 3_000;

/// The ledger; shared by all tasks.
#[derive(Debug)]
pub(crate) struct Ledger {
    state: Mutex<State>,
    next_member: AtomicU32,
    is_over: AtomicBool,
}

#[derive(Debug)]
struct State {
    round: u32,
    stopping: bool,
    stops: u64,
    books: [Book; Queue::ALL.len()],
    faults: Faults,
    lost_in_hands: u64,
}

impl Ledger {
    /// An empty one.
    pub(crate) fn new() -> Self {
        let (books, faults) = (Queue::ALL.map(Book::new), Faults::default());
        let state = State { round: 0, stopping: false, stops: 0, books, faults, lost_in_hands: 0 };
        Self { state: Mutex::new(state), next_member: AtomicU32::new(0), is_over: AtomicBool::new(false) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A number for a new member.
    pub(crate) fn member(&self) -> u32 {
        self.next_member.fetch_add(1, Ordering::Relaxed)
    }

    /// The broker's current run.
    pub(crate) fn round(&self) -> u32 {
        self.state().round
    }

    /// Nothing more is to be published, and members end when nothing comes any more.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Ends the work of all tasks.
    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    /// The broker is about to be asked to stop: it closes connections one by one, so what the first ones held may come
    /// to the last ones.
    pub(crate) fn is_stopping(&self) {
        self.state().stopping = true;
    }

    /// The broker is gone, and with it all clients.
    pub(crate) fn stopped(&self) {
        let State { books, faults, stops, .. } = &mut *self.state();
        *stops += 1;
        books.iter_mut().for_each(|book| book.stopped(faults));
    }

    /// The broker is back: its next run begins.
    pub(crate) fn began(&self) {
        let mut state = self.state();
        state.round += 1;
        state.stopping = false;
        self.is_over.store(false, Ordering::Relaxed);
    }

    /// The broker says, before any member is there, how much is ready in `queue` and how many consumers it has.
    pub(crate) fn counted(&self, queue: Queue, ready: u32, consumers: u32) {
        let State { books, faults, .. } = &mut *self.state();
        books[queue as usize].started(u64::from(ready), faults);
        if consumers > 0 {
            faults.add(Fault::WrongCount, || format!("{}: {consumers} consumers after a start", queue.name()));
        }
    }

    /// A producer of `route` has to wait.
    pub(crate) fn is_full(&self, route: Route) -> bool {
        let state = self.state();
        route.queues().iter().any(|queue| state.books[*queue as usize].backlog() > BACKLOG_MAX)
    }

    /// A producer is about to send `id`.
    pub(crate) fn published(&self, route: Route, id: Id) {
        let mut state = self.state();
        route.queues().iter().for_each(|queue| state.books[*queue as usize].published(id));
    }

    /// The broker confirmed `id`.
    pub(crate) fn confirmed(&self, route: Route, id: Id) {
        let mut state = self.state();
        route.queues().iter().for_each(|queue| state.books[*queue as usize].confirmed(id));
    }

    /// A member received `body`; returns its id.
    pub(crate) fn delivered(&self, queue: Queue, member: u32, body: &[u8], flagged: Option<bool>) -> Option<Id> {
        let read = Id::read(body);
        let State { round, stopping, books, faults, .. } = &mut *self.state();
        match read {
            Some(id) => {
                let arrival = Arrival { member, flagged, round: *round, stopping: *stopping };
                books[queue as usize].delivered(id, arrival, faults);
            }
            None => faults.add(Fault::Forged, || format!("{}: a body of {} bytes", queue.name(), body.len())),
        }
        read
    }

    /// A consumer is about to acknowledge `ids`.
    pub(crate) fn acked(&self, queue: Queue, ids: &[Id]) {
        let mut state = self.state();
        ids.iter().for_each(|id| state.books[queue as usize].acked(*id));
    }

    /// A member that has no synchronous replies is about to acknowledge `id`, or its protocol has no acks.
    pub(crate) fn settled(&self, queue: Queue, id: Id) {
        self.state().books[queue as usize].settled(id);
    }

    /// A synchronous reply came after the acks of `ids`.
    pub(crate) fn committed(&self, queue: Queue, ids: &[Id]) {
        let mut state = self.state();
        ids.iter().for_each(|id| state.books[queue as usize].committed(*id));
    }

    /// The broker answered `id` with something else than a confirm: while it stops in order it may.
    pub(crate) fn refused(&self, id: Id, answer: &str) {
        let mut state = self.state();
        if !state.stopping {
            state.faults.add(Fault::Refused, || format!("{id:?}: {answer}"));
        }
    }

    /// The broker says a number of messages that cannot be.
    pub(crate) fn miscounted(&self, what: String) {
        self.state().faults.add(Fault::WrongCount, || what);
    }

    /// Nothing was wrong so far.
    pub(crate) fn is_clean(&self) -> bool {
        self.state().faults.is_empty()
    }

    /// Deliveries so far, of all queues.
    pub(crate) fn deliveries(&self) -> u64 {
        self.state().books.iter().map(|book| book.figures().delivered).sum()
    }

    /// All queues are drained: finds what is lost.
    pub(crate) fn drained(&self) {
        let State { books, faults, lost_in_hands, stops, .. } = &mut *self.state();
        for (queue, book) in Queue::ALL.into_iter().zip(books) {
            book.stopped(faults);
            let lost = book.drained(faults);
            if queue == Queue::Nats {
                *lost_in_hands = lost;
                let most = *stops * u64::from(NATS_WINDOW);
                if lost > most {
                    faults.add(Fault::LostInHands, || format!("{lost} lost in {stops} stops: more than {most}"));
                }
            }
        }
    }

    /// The figures, one line per queue and one of all that must not be, and then the faults.
    pub(crate) fn summary(&self) -> String {
        let state = self.state();
        let mut lines = Vec::new();
        for (queue, book) in Queue::ALL.into_iter().zip(&state.books) {
            let Figures { published, confirmed, delivered, flagged, repeated, acked, committed, repeated_max } =
                book.figures();
            lines.push(format!(
                "  {:<13} published {published}, confirmed {confirmed}, delivered {delivered}, flagged {flagged}, \
                 came again {repeated} (at most {repeated_max} after one stop), acked {acked}, committed {committed}",
                queue.name()
            ));
        }
        let count = |fault| state.faults.count(fault);
        lines.push(format!(
            "  confirmed lost {}, not given back {}, delivered after a committed ack {}, again without a mark {}, out of \
             order {}, forged {}; lost in the hands of NATS members {}",
            count(Fault::Lost),
            count(Fault::NotGivenBack),
            count(Fault::AfterCommit),
            count(Fault::Unflagged),
            count(Fault::OutOfOrder),
            count(Fault::Forged),
            state.lost_in_hands,
        ));
        lines.push(state.faults.to_string());
        lines.join("\n")
    }
}

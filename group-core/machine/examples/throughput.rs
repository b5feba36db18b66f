//! Prints what enqueue, dispatch and settle of a message cost together, for one group and a few shapes of members: the
//! best of several rounds, so that a busy machine shows less. The target is 200 ns for the first line. Run by hand:
//! `cargo run --release -p braid-machine --example throughput [part of a line]`.
#![allow(clippy::print_stdout, reason = "printing is what this program is for")]

use std::time::Instant;

use braid_machine::{
    Command, Credit, Effect, GroupConfig, Groups, MemberConfig, MessageHeader, OnLoss, Owner, Partition, Strategy,
};
use braid_types::{
    Address, DeliveryId, Filter, GroupId, LogIndex, Machine, MemberId, Outcome, Protocol, Stamp, Term, Timestamp,
};
use smallvec::smallvec;

const MESSAGES: u64 = 200_000;
const ROUNDS: usize = 7;
const GROUP: GroupId = GroupId(7);

/// Members of one group, and how they are served.
struct Shape {
    what: &'static str,
    members: u64,
    /// How many different filters they have.
    filters: Option<u64>,
    credit: Credit,
    /// Deliveries that are settled together.
    per_settle: usize,
    config: GroupConfig,
}

fn main() {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    for shape in shapes().iter().filter(|shape| shape.what.contains(&wanted)) {
        report(shape.what, || run(shape));
    }
    if wanted.is_empty() {
        report("enqueue alone, nobody there", || backlog().0);
        report("dispatch of that backlog to one granted member", || backlog().1);
    }
}

fn shapes() -> [Shape; 9] {
    let window = |messages| Credit::Window { messages };
    let granted = Credit::Granted { messages: u32::MAX, bytes: u64::MAX };
    let shape = |what, members, filters, credit, per_settle| Shape {
        what,
        members,
        filters,
        credit,
        per_settle,
        config: GroupConfig::default(),
    };
    [
        shape("one member, window 100, settled one by one", 1, None, window(100), 1),
        shape("one member, window 100, settled in tens", 1, None, window(100), 10),
        shape("one member, granted", 1, None, granted, 1),
        shape("100 members, window 10", 100, None, window(10), 1),
        shape("3 members, one filter, window 100", 3, Some(1), window(100), 1),
        shape("64 members, 64 filters, window 100", 64, Some(64), window(100), 1),
        Shape {
            config: GroupConfig {
                delivery_limit: Some(20),
                message_ttl_ms: Some(60_000),
                member_timeout_ms: Some(1_800_000),
                messages_max: Some(1_000_000),
                ..GroupConfig::default()
            },
            ..shape("10 members, all limits and times set", 10, None, window(100), 1)
        },
        Shape {
            config: GroupConfig { strategy: Strategy::LeastUnacked, ..GroupConfig::default() },
            ..shape("10 members, least unacked", 10, None, window(100), 1)
        },
        Shape {
            config: GroupConfig { strategy: Strategy::Key, ..GroupConfig::default() },
            ..shape("10 members, by key", 10, None, window(100), 1)
        },
    ]
}

struct Bench {
    partition: Partition,
    index: u64,
    effects: Vec<Effect>,
}

impl Bench {
    fn new(config: &GroupConfig) -> Self {
        let mut bench = Self { partition: Partition::default(), index: 0, effects: Vec::new() };
        bench.apply(Command::CreateGroup { group: GROUP, config: Box::new(config.clone()) });
        bench
    }

    fn apply(&mut self, command: Command) {
        self.index += 1;
        let stamp =
            Stamp { index: LogIndex(self.index), position: 0, term: Term(1), time: Timestamp(self.index / 1_000) };
        self.partition.apply(stamp, command, &mut self.effects);
    }

    fn enqueue(&mut self, address: Option<&Address>) {
        let message = MessageHeader { size_bytes: 256, priority: 4, expires_at: None, address: address.cloned() };
        self.apply(Command::Enqueue { groups: Groups::These(smallvec![GROUP]), message });
    }

    fn attach(&mut self, credit: Credit, filter: Option<Filter>) {
        let member = MemberConfig {
            owner: Owner::default(),
            credit,
            priority: 0,
            exclusive: false,
            filter,
            on_loss: OnLoss::Detach(Outcome::Modified),
        };
        self.apply(Command::Attach { group: GROUP, member: Box::new(member) });
    }
}

fn run(shape: &Shape) -> u128 {
    let mut bench = Bench::new(&shape.config);
    for member in 0..shape.members {
        let filter = shape.filters.and_then(|filters| {
            let text = format!("plant/{}/#", member % filters);
            Filter::from_notation(Protocol::Mqtt, text.as_bytes()).ok()
        });
        bench.attach(shape.credit, filter);
    }
    let texts = (0..shape.filters.unwrap_or(1)).map(|plant| format!("plant/{plant}/line/1"));
    let addresses: Vec<Address> =
        texts.filter_map(|text| Address::from_notation(Protocol::Mqtt, text.as_bytes()).ok()).collect();
    let mut addresses = addresses.iter().cycle();
    let mut open: Vec<(MemberId, DeliveryId)> = Vec::new();
    let start = Instant::now();
    for _ in 0..MESSAGES {
        bench.enqueue(addresses.next());
        for effect in bench.effects.drain(..) {
            if let Effect::Deliver { member, delivery, settled: false, .. } = effect {
                open.push((member, delivery));
            }
        }
        if open.len() >= shape.per_settle
            && let Some((member, _)) = open.first().copied()
        {
            let deliveries = open.drain(..).map(|(_, delivery)| delivery).collect();
            bench.apply(Command::Settle { group: GROUP, member, deliveries, outcome: Outcome::Accepted });
        }
    }
    start.elapsed().as_nanos()
}

/// Enqueues a backlog, and then dispatches it.
fn backlog() -> (u128, u128) {
    let mut bench = Bench::new(&GroupConfig::default());
    let start = Instant::now();
    for _ in 0..MESSAGES {
        bench.enqueue(None);
    }
    let enqueued = start.elapsed().as_nanos();
    let start = Instant::now();
    bench.attach(Credit::Granted { messages: u32::MAX, bytes: u64::MAX }, None);
    (enqueued, start.elapsed().as_nanos())
}

fn report(what: &str, mut round: impl FnMut() -> u128) {
    let best = (0..ROUNDS).map(|_| round()).min().unwrap_or_default();
    println!("{:>5} ns per message: {what}", best / u128::from(MESSAGES));
}

//! Prints what enqueue, dispatch and settle of a message cost together, for one group and a few shapes of members. Run by
//! hand: `cargo run --release -p braid-machine --example throughput [part of a line]`. The target is 200 ns for the first line.
#![allow(clippy::print_stdout, reason = "printing is what this program is for")]

use std::time::Instant;

use braid_machine::{Command, Credit, Effect, GroupConfig, MemberConfig, MessageHeader, Owner, Partition};
use braid_types::{
    Address, DeliveryId, Filter, GroupId, LogIndex, Machine, MemberId, Outcome, Protocol, Stamp, Term, Timestamp,
};
use smallvec::smallvec;

const MESSAGES: u64 = 2_000_000;
const GROUP: GroupId = GroupId(7);

fn main() {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    let window = |messages| Credit::Window { messages };
    let granted = Credit::Granted { messages: u32::MAX, bytes: u64::MAX };
    for (what, members, filters, credit, per_settle) in [
        ("one member, window 100, settled one by one", 1, None, window(100), 1),
        ("one member, window 100, settled in tens", 1, None, window(100), 10),
        ("one member, granted", 1, None, granted, 1),
        ("100 members, window 10", 100, None, window(10), 1),
        ("3 members, one filter, window 100", 3, Some(1), window(100), 1),
        ("64 members, 64 filters, window 100", 64, Some(64), window(100), 1),
    ] {
        if what.contains(&wanted) {
            shape(what, members, filters, credit, per_settle);
        }
    }
    if wanted.is_empty() {
        backlog();
    }
}

struct Bench {
    partition: Partition,
    index: u64,
    effects: Vec<Effect>,
}

impl Bench {
    fn new() -> Self {
        let mut bench = Self { partition: Partition::default(), index: 0, effects: Vec::new() };
        bench.apply(Command::CreateGroup { group: GROUP, config: Box::new(GroupConfig::default()) });
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
        self.apply(Command::Enqueue { groups: smallvec![GROUP], message });
    }
}

fn shape(what: &str, members: u64, filters: Option<u64>, credit: Credit, per_settle: usize) {
    let mut bench = Bench::new();
    for member in 0..members {
        let filter = filters.and_then(|filters| {
            let text = format!("plant/{}/#", member % filters);
            Filter::from_notation(Protocol::Mqtt, text.as_bytes()).ok()
        });
        let owner = Owner::default();
        let member = MemberConfig { owner, credit, priority: 0, exclusive: false, filter };
        bench.apply(Command::Attach { group: GROUP, member: Box::new(member) });
    }
    let texts = (0..filters.unwrap_or(1)).map(|plant| format!("plant/{plant}/line/1"));
    let addresses: Vec<Address> =
        texts.filter_map(|text| Address::from_notation(Protocol::Mqtt, text.as_bytes()).ok()).collect();
    let mut open: Vec<(MemberId, DeliveryId)> = Vec::new();
    let start = Instant::now();
    for message in 0..MESSAGES {
        let address = usize::try_from(message).ok().and_then(|message| addresses.get(message % addresses.len()));
        bench.enqueue(address);
        let mut effects = std::mem::take(&mut bench.effects);
        for effect in effects.drain(..) {
            if let Effect::Deliver { member, delivery, settled: false, .. } = effect {
                open.push((member, delivery));
            }
        }
        bench.effects = effects;
        if open.len() >= per_settle
            && let Some((member, _)) = open.first().copied()
        {
            let deliveries = open.drain(..).map(|(_, delivery)| delivery).collect();
            bench.apply(Command::Settle { group: GROUP, member, deliveries, outcome: Outcome::Accepted });
        }
    }
    report(what, start);
}

fn backlog() {
    let mut bench = Bench::new();
    let start = Instant::now();
    for _ in 0..MESSAGES {
        bench.enqueue(None);
    }
    report("enqueue alone, nobody there", start);
    let owner = Owner::default();
    let credit = Credit::Granted { messages: u32::MAX, bytes: u64::MAX };
    let start = Instant::now();
    let member = MemberConfig { owner, credit, priority: 0, exclusive: false, filter: None };
    bench.apply(Command::Attach { group: GROUP, member: Box::new(member) });
    report("dispatch of that backlog to one granted member", start);
}

fn report(what: &str, start: Instant) {
    let nanoseconds = start.elapsed().as_nanos() / u128::from(MESSAGES);
    println!("{nanoseconds:>5} ns per message: {what}");
}

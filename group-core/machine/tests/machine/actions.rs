//! Random steps, small enough to shrink: what they name is looked up when they are taken, so that a step means
//! something after any others.

use braid_machine::Strategy as Dispatch;
use braid_machine::{
    Command, Credit, GroupConfig, GroupSetId, Groups, MemberConfig, MessageHeader, OnLoss, Overflow, Owner,
    PublishIdentity, RetryDelay,
};
use braid_types::{
    Address, ConnectionId, DeliveryId, Filter, GroupId, MemberId, Outcome, Protocol, Timestamp, UnackedOnEnd,
};
use bytes::Bytes;
use proptest::prelude::*;

/// Groups that steps name; one of them is never made unless a step makes it.
pub(crate) const GROUPS: u64 = 4;

/// Addresses of published messages.
const ADDRESSES: [&str; 6] = ["a", "a/b", "a/c", "b/c", "b/c/d", "$x/a"];

/// Filters of members, with their dialects.
const FILTERS: [(Protocol, &str); 9] = [
    (Protocol::Mqtt, "a/+"),
    (Protocol::Mqtt, "a/#"),
    (Protocol::Mqtt, "#"),
    (Protocol::Mqtt, "b/c"),
    (Protocol::Mqtt, "+/c"),
    (Protocol::Nats, "*.c"),
    (Protocol::Nats, "a.>"),
    (Protocol::Amqp, "#.c"),
    (Protocol::Amqp, "*.a"),
];

/// One step.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    /// A command whose names are all known beforehand.
    Plain(Command),
    /// Goes to a member that was made at some time: the last, the last but one ...
    Member { back: usize, what: ToMember },
    /// Ends deliveries that were made at some time: the last, the last but one ...
    Settle { backs: Vec<usize>, outcome: Outcome },
    /// Dead letters of a group have found their place: the last one kept by any, the last but one ...
    EndDeadLetters { group: GroupId, backs: Vec<usize> },
    /// Time passes.
    Wait(u64),
    /// The next deadline comes, and the partition is told.
    MeetDeadline,
}

/// What a member is told.
#[derive(Clone, Debug)]
pub(crate) enum ToMember {
    Detach(UnackedOnEnd),
    Pause,
    Resume(Owner, u32),
    SetWindow(u32),
    Grant(u32, u64),
}

impl ToMember {
    pub(crate) fn command(&self, group: GroupId, member: MemberId) -> Command {
        match *self {
            Self::Detach(unacked) => Command::Detach { group, member, unacked },
            Self::Pause => Command::Pause { group, member },
            Self::Resume(owner, messages) => Command::Resume { group, member, owner, messages },
            Self::SetWindow(messages) => Command::SetWindow { group, member, messages },
            Self::Grant(messages, bytes) => Command::Grant { group, member, messages, bytes },
        }
    }
}

/// Whole logs: groups with settings, then steps.
pub(crate) fn log(steps: usize) -> impl Strategy<Value = (Vec<GroupConfig>, Vec<Action>)> {
    let configs = prop::collection::vec(config(), 1..=3);
    (configs, prop::collection::vec(action(), 1..steps))
}

/// One step; publishing and settling are the most common.
pub(crate) fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        30 => enqueue(),
        8 => (group(), member()).prop_map(|(group, member)| {
            Action::Plain(Command::Attach { group, member: Box::new(member) })
        }),
        30 => (prop::collection::vec(0_usize..12, 1..5), outcome())
            .prop_map(|(backs, outcome)| Action::Settle { backs, outcome }),
        14 => (0_usize..6, to_member()).prop_map(|(back, what)| Action::Member { back, what }),
        6 => (group(), owner(), any::<bool>(), outcome()).prop_map(|(group, owner, settled, on_loss)| {
            Action::Plain(Command::Get { group, owner, settled, on_loss })
        }),
        4 => connection_lost(),
        1 => node().prop_map(|node| Action::Plain(Command::NodeLost { node })),
        1 => node().prop_map(|node| Action::Plain(Command::Lead { node })),
        2 => (group(), config())
            .prop_map(|(group, config)| Action::Plain(Command::Configure { group, config: Box::new(config) })),
        2 => (set(), prop::collection::vec(group(), 0..4))
            .prop_map(|(set, groups)| Action::Plain(Command::DefineGroupSet { set, groups })),
        3 => (group(), prop::collection::vec(0_usize..6, 0..4))
            .prop_map(|(group, backs)| Action::EndDeadLetters { group, backs }),
        8 => (0_u64..20).prop_map(Action::Wait),
        3 => Just(Action::Plain(Command::Tick)),
        4 => Just(Action::MeetDeadline),
        2 => group().prop_map(|group| Action::Plain(Command::PurgeGroup { group })),
        1 => (group(), any::<bool>(), any::<bool>()).prop_map(|(group, if_unused, if_empty)| {
            Action::Plain(Command::DeleteGroup { group, if_unused, if_empty })
        }),
        1 => (group(), config())
            .prop_map(|(group, config)| Action::Plain(Command::CreateGroup { group, config: Box::new(config) })),
    ]
}

fn enqueue() -> impl Strategy<Value = Action> {
    let groups = prop_oneof![
        6 => group().prop_map(|group| Groups::from_iter([group])),
        2 => prop::collection::vec(group(), 0..4).prop_map(Groups::from_iter),
        2 => set().prop_map(Groups::Set),
    ];
    (groups, header(), rarely(identity())).prop_map(|(groups, message, identity)| {
        Action::Plain(match identity {
            None => Command::Enqueue { groups, message },
            Some(identity) => Command::EnqueueOnce { groups, message, identity },
        })
    })
}

fn group() -> impl Strategy<Value = GroupId> {
    prop_oneof![5 => Just(GroupId(0)), 5 => (0..GROUPS).prop_map(GroupId)]
}

fn set() -> impl Strategy<Value = GroupSetId> {
    (0_u32..2).prop_map(GroupSetId)
}

fn node() -> impl Strategy<Value = u64> {
    0_u64..3
}

fn connection() -> impl Strategy<Value = ConnectionId> {
    (0_u64..3).prop_map(ConnectionId)
}

fn delivery() -> impl Strategy<Value = DeliveryId> {
    (0_u64..6).prop_map(DeliveryId)
}

fn identity() -> impl Strategy<Value = PublishIdentity> {
    let name = prop::sample::select(vec!["p", "q"]).prop_map(|name| Bytes::from_static(name.as_bytes()));
    let sequence = (name, 0_u64..6).prop_map(|(publisher, sequence)| PublishIdentity::Sequence { publisher, sequence });
    let token = prop::sample::select(vec!["t", "u", "v"]);
    let token = token.prop_map(|token| PublishIdentity::Token { token: Bytes::from_static(token.as_bytes()) });
    prop_oneof![sequence, token]
}

/// Expiry times are short after the start: logs are, too.
fn header() -> impl Strategy<Value = MessageHeader> {
    let priority = prop_oneof![4 => Just(0_u8), 2 => 0_u8..4, 1 => any::<u8>()];
    let expires_at = prop_oneof![4 => Just(None), 1 => (0_u64..200).prop_map(|time| Some(Timestamp(time)))];
    let address = prop_oneof![1 => Just(None), 3 => (0..ADDRESSES.len()).prop_map(|place| Some(address(place)))];
    (0_u32..200, priority, expires_at, address).prop_map(|(size_bytes, priority, expires_at, address)| MessageHeader {
        size_bytes,
        priority,
        expires_at,
        address,
    })
}

fn address(place: usize) -> Address {
    Address::from_notation(Protocol::Mqtt, ADDRESSES[place].as_bytes()).unwrap()
}

fn filter(place: usize) -> Filter {
    let (dialect, text) = FILTERS[place];
    Filter::from_notation(dialect, text.as_bytes()).unwrap()
}

fn member() -> impl Strategy<Value = MemberConfig> {
    let filter = prop_oneof![1 => Just(None), 1 => (0..FILTERS.len()).prop_map(|place| Some(filter(place)))];
    let priority = prop_oneof![3 => Just(0), 1 => -2..3];
    let on_loss = prop_oneof![1 => Just(OnLoss::Pause), 1 => outcome().prop_map(OnLoss::Detach)];
    (owner(), credit(), priority, prop::bool::weighted(0.05), filter, on_loss).prop_map(
        |(owner, credit, priority, exclusive, filter, on_loss)| MemberConfig {
            owner,
            credit,
            priority,
            exclusive,
            filter,
            on_loss,
        },
    )
}

fn credit() -> impl Strategy<Value = Credit> {
    prop_oneof![
        4 => (0_u32..4).prop_map(|messages| Credit::Window { messages }),
        2 => (0_u32..4, 0_u64..400).prop_map(|(messages, bytes)| Credit::Granted { messages, bytes }),
    ]
}

fn owner() -> impl Strategy<Value = Owner> {
    (node(), connection(), 0_u32..4).prop_map(|(node, connection, attachment)| Owner { node, connection, attachment })
}

fn connection_lost() -> impl Strategy<Value = Action> {
    let unsent = prop::collection::vec((owner().prop_map(|owner| owner.attachment), delivery()), 0..4);
    (node(), connection(), prop::collection::vec(delivery(), 0..4), unsent).prop_map(
        |(node, connection, kept, unsent)| {
            Action::Plain(Command::ConnectionLost { node, connection, kept: kept.into(), unsent })
        },
    )
}

fn to_member() -> impl Strategy<Value = ToMember> {
    prop_oneof![
        2 => prop_oneof![
            2 => Just(UnackedOnEnd::Keep),
            3 => outcome().prop_map(UnackedOnEnd::Settle),
        ].prop_map(ToMember::Detach),
        2 => Just(ToMember::Pause),
        3 => (owner(), 0_u32..4).prop_map(|(owner, messages)| ToMember::Resume(owner, messages)),
        3 => (0_u32..4).prop_map(ToMember::SetWindow),
        4 => (0_u32..4, 0_u64..400).prop_map(|(messages, bytes)| ToMember::Grant(messages, bytes)),
    ]
}

fn outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        4 => Just(Outcome::Accepted),
        3 => Just(Outcome::Released),
        3 => Just(Outcome::Modified),
        1 => Just(Outcome::Rejected),
    ]
}

fn config() -> impl Strategy<Value = GroupConfig> {
    let limits = (prop::option::of(0_u32..3), retry());
    let times = (rarely(0_u64..100), rarely(1_u64..60), rarely(1_u64..40));
    let lengths = (rarely(0_u64..8), rarely(0_u64..800), overflow());
    let ways = (strategy(), prop::bool::weighted(0.2), rarely(1_u64..100), rarely(0_u8..10), any::<bool>());
    (limits, times, lengths, ways).prop_map(|(limits, times, lengths, ways)| GroupConfig {
        delivery_limit: limits.0,
        retry: limits.1,
        message_ttl_ms: times.0,
        expires_ms: times.1,
        member_timeout_ms: times.2,
        messages_max: lengths.0,
        size_bytes_max: lengths.1,
        overflow: lengths.2,
        strategy: ways.0,
        single_active: ways.1,
        token_window_ms: ways.2,
        priority_max: ways.3,
        keeps_dead_letters: ways.4,
    })
}

fn overflow() -> impl Strategy<Value = Overflow> {
    prop::sample::select(vec![Overflow::DropHead, Overflow::RejectPublish, Overflow::RejectPublishDeadLetter])
}

fn strategy() -> impl Strategy<Value = Dispatch> {
    prop::sample::select(vec![
        Dispatch::RoundRobin,
        Dispatch::LeastUnacked,
        Dispatch::Random,
        Dispatch::Key,
        Dispatch::LocalFirst,
    ])
}

fn retry() -> impl Strategy<Value = Option<RetryDelay>> {
    rarely((1_u64..20, 1_u64..40).prop_map(|(delay_ms_min, delay_ms_max)| RetryDelay { delay_ms_min, delay_ms_max }))
}

fn rarely<T: std::fmt::Debug + Clone>(value: impl Strategy<Value = T>) -> impl Strategy<Value = Option<T>> {
    prop::option::weighted(0.3, value)
}

/// The delivery that a step names.
pub(crate) fn nth_back<T: Copy>(all: &[T], back: usize) -> Option<T> {
    all.len().checked_sub(back + 1).map(|place| all[place])
}

/// A delivery that was made at some time.
pub(crate) type Made = (GroupId, MemberId, DeliveryId);

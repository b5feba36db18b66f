//! Identifiers and points in time. Plain numbers in newtypes, so that one cannot be passed for another.
//!
//! Invariant: none of them is ever reused within its scope (connection, partition, cluster), which makes stale
//! references harmless: they name nothing.

/// Milliseconds; since the Unix epoch where a wall clock made it, since the partition's start where a log entry carries it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// This time plus `milliseconds`, saturating.
    #[must_use]
    pub fn plus_ms(self, milliseconds: u64) -> Self {
        Self(self.0.saturating_add(milliseconds))
    }

    /// Milliseconds from `earlier` to this time; zero when `earlier` is later.
    #[must_use]
    pub fn since_ms(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// A client connection, unique within a node's run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u64);

impl ConnectionId {
    /// No client: the publisher of what the broker itself publishes, dead letters. Never given to a connection, and never
    /// used to publish what a client wrote.
    pub const BROKER: Self = Self(0);
}

/// Chosen by an endpoint to find its request again when the answer comes. Opaque to everyone else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// Chosen by an endpoint for one subscription or consumer; unique among those that are open on the connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SubscriptionId(pub u64);

impl SubscriptionId {
    /// The subscription under which deliveries of a persistent MQTT session's own group arrive.
    pub const SESSION: Self = Self(0);
}

/// A group, unique in the cluster, never reused. It does not contain the partition, so that a group can move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId(pub u64);

/// A partition: one log that carries many groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartitionId(pub u32);

/// Where a partition keeps its log. Part of its number, so that every node knows it without asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PartitionKind {
    /// Nowhere: what it holds goes with the process that leads it.
    Memory,
    /// On the disk of one node.
    Disk,
    /// On the disks of a Raft group.
    Quorum,
}

impl PartitionKind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [Self; 3] = [Self::Memory, Self::Disk, Self::Quorum];

    fn position(self) -> u32 {
        match self {
            Self::Memory => 0,
            Self::Disk => 1,
            Self::Quorum => 2,
        }
    }
}

impl PartitionId {
    /// Distance between the first partition numbers of two nodes. Can never be changed.
    pub const PER_NODE: u32 = 1_024;

    /// The most partitions of one kind that a node may have. Can never be changed.
    pub const PER_KIND: u32 = 256;

    /// The `number`th partition of a kind on the node that was registered as the `slot`th.
    #[must_use]
    pub fn new(slot: u32, kind: PartitionKind, number: u32) -> Self {
        let within = kind.position() * Self::PER_KIND + number % Self::PER_KIND;
        Self(slot.saturating_mul(Self::PER_NODE).saturating_add(within))
    }

    /// Where it keeps its log; `None` for a number that no partition has.
    #[must_use]
    pub fn kind(self) -> Option<PartitionKind> {
        let position = self.0 % Self::PER_NODE / Self::PER_KIND;
        PartitionKind::ALL.into_iter().find(|kind| kind.position() == position)
    }

    /// Its number among those of its kind on its node.
    #[must_use]
    pub fn number(self) -> u32 {
        self.0 % Self::PER_KIND
    }
}

/// Fences a leader: the partition's Raft term for logged groups, assigned by meta for memory groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(pub u64);

/// Position of an entry in a log; 1 is the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogIndex(pub u64);

/// Raft term.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Term(pub u64);

/// A message in a partition: the entry that brought it and its position among the entry's commands. The order of
/// `MessageId`s is the order of publication.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId {
    /// The entry.
    pub index: LogIndex,
    /// The command within the entry.
    pub position: u32,
}

/// A member of a group: the entry that attached it and the position of the attach command in that entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemberId {
    /// The entry.
    pub index: LogIndex,
    /// The command within the entry.
    pub position: u32,
}

/// One handing-out of a message to a member. Contiguous per member from 0, so that gaps and duplicates show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeliveryId(pub u64);

/// Where and when a command takes effect: the same on every replica.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// The entry that carries the command.
    pub index: LogIndex,
    /// Position of the command within its entry.
    pub position: u32,
    /// Term of the entry.
    pub term: Term,
    /// Partition time of the entry. Never goes back along the log.
    pub time: Timestamp,
}

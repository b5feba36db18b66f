//! Settings of a group, as its partition knows them (SPEC section 3: dispatch, settlement, limits).
//!
//! Settings are added over time: build one with `..GroupConfig::default()`, which limits nothing and gives each message
//! to the next member in turn.

/// Settings of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupConfig {
    /// Failed tries allowed; one more and the message is rejected. `None`: unlimited.
    pub delivery_limit: Option<u32>,
    /// Which member gets the next message.
    pub strategy: Strategy,
    /// The highest priority that is kept apart; higher ones are lowered to it (0: the group knows no priorities).
    /// `None`: all 32.
    pub priority_max: Option<u8>,
    /// Only one member at a time is sent messages; the others wait to take its place.
    pub single_active: bool,
    /// Ready messages beyond which `overflow` decides.
    pub messages_max: Option<u64>,
    /// Bytes of ready messages beyond which `overflow` decides.
    pub size_bytes_max: Option<u64>,
    /// What happens at `messages_max` and `size_bytes_max`.
    pub overflow: Overflow,
    /// Milliseconds after which a message expires; the earlier of this and the message's own expiry counts.
    pub message_ttl_ms: Option<u64>,
    /// Milliseconds, at least 1, without a member or a get after which the group wants to be deleted.
    pub expires_ms: Option<u64>,
    /// How long a message waits after a failed try.
    pub retry: Option<RetryDelay>,
    /// Milliseconds, at least 1, that a member may hold a delivery.
    pub member_timeout_ms: Option<u64>,
    /// Milliseconds for which tokens of publishes are remembered; `None`:
    /// [`crate::limits::TOKEN_WINDOW_DEFAULT_MS`].
    pub token_window_ms: Option<u64>,
    /// A message that is dropped for a reason that dead-letters it stays in the group, out of reach of members, until
    /// [`crate::Command::EndDeadLetters`] says that it has been stored elsewhere: at-least-once dead-lettering.
    pub keeps_dead_letters: bool,
}

impl GroupConfig {
    /// The same settings, with times of at least a millisecond where a time of zero would be due again at once.
    pub(crate) fn with_times_of_at_least_1(mut self) -> Self {
        self.expires_ms = self.expires_ms.map(|time_ms| time_ms.max(1));
        self.member_timeout_ms = self.member_timeout_ms.map(|time_ms| time_ms.max(1));
        self
    }
}

/// Which of the members that could take a message gets it. Consumer priority comes before all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// Each in turn.
    #[default]
    RoundRobin,
    /// The one with the fewest unacked deliveries; in turn among equals.
    LeastUnacked,
    /// Any, by a hash of the message's id: the same on every replica.
    Random,
    /// By the message's address: messages of one address go to one member at a time, in order.
    Key,
    /// Those first whose connection is on the node that leads the partition ([`crate::Command::Lead`]), in turn; others
    /// only while none of those has credit.
    LocalFirst,
}

/// What happens at the length limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overflow {
    /// The oldest ready message goes.
    #[default]
    DropHead,
    /// Publishes are refused until the group is down to four fifths of its limits.
    RejectPublish,
    /// As `RejectPublish`, and the refused message is dead-lettered: it is told as dropped.
    RejectPublishDeadLetter,
}

/// A delay that grows with the failed tries: `delay_ms_min` times their number, at most `delay_ms_max`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryDelay {
    /// The delay after the first failed try, in milliseconds.
    pub delay_ms_min: u64,
    /// The longest delay, in milliseconds.
    pub delay_ms_max: u64,
}

//! Dead letters (SPEC section 3): what is known of a death, what a message remembers of its earlier ones, and when it runs
//! in circles. The protocols' crates write it into their header blocks: AMQP as RabbitMQ 4.3's `x-death` table, MQTT and
//! NATS as user properties and header lines of the same names.
//!
//! Never routes, and never believes a client: what a message says about its deaths counts only when the broker itself
//! published it ([`ConnectionId::BROKER`]). A message that a client publishes again, with all its headers, is a new one,
//! as in RabbitMQ 4 (CASES 2). So who publishes for a client must not use that number.
//!
//! Invariants of a history: newest death first; one record for each pair of queue and reason; at most
//! [`crate::limits::DEATHS_MAX`] records.

mod history;
mod text;

use alloc::vec::Vec;

use bytes::Bytes;

pub use self::history::DeathHistory;
pub use self::text::plain_text;
use crate::{ConnectionId, Message, limits::DEATHS_MAX};

/// RabbitMQ's word for a message that a consumer refused.
const REJECTED: &[u8] = b"rejected";

/// A message leaves a group as a dead letter.
#[derive(Clone, Debug)]
pub struct Death {
    /// Why, in RabbitMQ's words: `rejected`, `expired`, `maxlen`, `delivery_limit`.
    pub reason: &'static str,
    /// Name of the group that it leaves.
    pub queue: Bytes,
    /// Now, in seconds since the Unix epoch.
    pub time_s: u64,
    /// The exchange that it had been published to.
    pub exchange: Bytes,
    /// The routing keys that it had been published with, in AMQP's notation: its own, then those of `CC` (never of `BCC`).
    /// Empty when its key cannot be written in AMQP.
    pub routing_keys: Vec<Bytes>,
}

/// What a message remembers of its deaths in one queue for one reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeathRecord {
    /// Name of the group that it died in; cut to [`crate::limits::DEATH_NAME_BYTES_MAX`].
    pub queue: Bytes,
    /// Why.
    pub reason: Bytes,
    /// How often.
    pub count: u64,
    /// When for the first time, in seconds since the Unix epoch.
    pub time_s: u64,
    /// The exchange that it had been published to before the first time.
    pub exchange: Bytes,
    /// The routing keys that it had been published with before the first time, in AMQP's notation.
    pub routing_keys: Vec<Bytes>,
    /// The time to live, in milliseconds, that its publisher had given it, if it had one when it died for the first time
    /// (whatever it died of, as in RabbitMQ 4.3).
    pub original_expiration_ms: Option<u64>,
}

impl DeathRecord {
    fn is_rejection(&self) -> bool {
        self.reason == REJECTED
    }
}

/// A message as it is to be published again, and what it remembers.
#[derive(Clone, Debug)]
pub struct DeadLetter {
    /// The message, with the exchange and key that it had. It does not expire, is not retained, and the broker is its
    /// publisher.
    pub message: Message,
    /// Its deaths, newest first, this one included.
    pub deaths: Vec<DeathRecord>,
}

impl DeadLetter {
    /// `message` with a new header block, after the deaths in `history`.
    #[must_use]
    pub fn new(message: &Message, header: Bytes, history: DeathHistory) -> Self {
        let message =
            Message { header, retain: false, expires_at: None, publisher: ConnectionId::BROKER, ..message.clone() };
        Self { message, deaths: history.into_records() }
    }

    /// Whether it runs in circles when it is put into the group `target_queue`: then it is to be dropped, and counted.
    #[must_use]
    pub fn is_cycle(&self, target_queue: &[u8]) -> bool {
        is_cycle(&self.deaths, target_queue)
    }
}

/// RabbitMQ's rule: a message that died in `target_queue` before, and that nobody has rejected since, would do so for ever.
/// `deaths`: newest first, with the death that it is being routed for.
///
/// A history that is full forgets its oldest deaths; without a rejection in it, it counts as a circle too.
#[must_use]
pub fn is_cycle(deaths: &[DeathRecord], target_queue: &[u8]) -> bool {
    let target_queue = text::cut(target_queue);
    let since = match deaths.iter().position(|death| death.queue == target_queue) {
        Some(position) => deaths.get(..=position),
        None if deaths.len() >= DEATHS_MAX => Some(deaths),
        None => None,
    };
    since.is_some_and(|since| !since.iter().any(DeathRecord::is_rejection))
}

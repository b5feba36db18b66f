//! How a delivery ended. The words are AMQP 1.0's; the table of SPEC section 3 says what each protocol's acks become.

/// How a delivery ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Done: the message leaves the group.
    Accepted,
    /// Back to the group, ahead of fresh messages; the delivery count stays.
    Released,
    /// Back to the group, counted as a failed try (delivery count + 1; the delivery limit applies).
    Modified,
    /// Refused: dead-lettered where configured, dropped otherwise; never offered again.
    Rejected,
}

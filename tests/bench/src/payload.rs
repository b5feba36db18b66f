//! What is in a body: a number and the time of sending, then filler. Big-endian.

use std::time::Instant;

/// The least size of a body, in bytes.
pub(crate) const BYTES_MIN: usize = 16;

/// Writes number and time into the first bytes of `body`.
pub(crate) fn write(body: &mut [u8], number: u64, start: Instant) {
    let (head, rest) = body.split_at_mut(8);
    head.copy_from_slice(&number.to_be_bytes());
    rest[..8].copy_from_slice(&elapsed_ns(start).to_be_bytes());
}

/// The number and the time of sending in nanoseconds; `None` for a body that is not ours.
pub(crate) fn read(body: &[u8]) -> Option<(u64, u64)> {
    let number = body.get(..8)?.try_into().ok()?;
    let sent_ns = body.get(8..BYTES_MIN)?.try_into().ok()?;
    Some((u64::from_be_bytes(number), u64::from_be_bytes(sent_ns)))
}

/// Nanoseconds since `start`.
pub(crate) fn elapsed_ns(start: Instant) -> u64 {
    u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

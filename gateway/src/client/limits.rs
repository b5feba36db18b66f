//! Named limits of the small clients.

/// Time to reach the server, in milliseconds.
pub(crate) const CONNECT_TIMEOUT_MS: u64 = 10_000;

/// Time for a server's answer where one is due, in milliseconds. Long enough for a confirm that waits for a slow disk.
pub(crate) const ANSWER_TIMEOUT_MS: u64 = 30_000;

/// Time between two signs of life where the server does not name one, in milliseconds.
pub(crate) const KEEPALIVE_MS: u64 = 30_000;

/// A server that was silent for so many keepalives is gone.
pub(crate) const KEEPALIVES_UNANSWERED_MAX: u32 = 4;

/// Bytes that are read ahead of what was taken: one message of the largest kind, with room.
pub(crate) const INPUT_BYTES_MAX: usize = 512 * 1024 * 1024;

/// Messages that are published ahead of their confirms.
pub(crate) const UNCONFIRMED_MAX: usize = 256;

/// Bytes of bodies that are published ahead of their confirms; at least one message always is.
pub(crate) const UNCONFIRMED_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Messages that a subscriber has the server send ahead of its acknowledgements. Few, so that other members of a group
/// get their share.
pub(crate) const PREFETCH_MESSAGES: u16 = 32;

/// Depth of tables within tables that is shown of a header.
pub(crate) const TABLE_DEPTH_MAX: usize = 16;

/// Bytes of an answer over HTTP.
pub(crate) const HTTP_ANSWER_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// How many bodies of `body_bytes` may be published ahead of their confirms.
pub(super) fn unconfirmed_messages(body_bytes: usize) -> usize {
    UNCONFIRMED_BYTES_MAX.checked_div(body_bytes).unwrap_or(usize::MAX).clamp(1, UNCONFIRMED_MAX)
}

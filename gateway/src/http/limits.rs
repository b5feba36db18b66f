//! Named limits of the HTTP side. It serves operators and scrapers, not message traffic, so all are small.

/// Connections at once. A few scrapers, probes and people; more is a mistake or an attack.
pub(crate) const CONNECTIONS_MAX: usize = 256;

/// Time for the head of a request to arrive, and for which a kept connection may be idle, in milliseconds.
pub(crate) const HEADER_TIMEOUT_MS: u64 = 10_000;

/// Bytes of a request's head. The longest path names a vhost and a group: 255 bytes each, thrice as long when escaped.
pub(crate) const HEAD_BYTES_MAX: usize = 16 * 1024;

/// Header lines of a request.
pub(crate) const HEADERS_MAX: usize = 64;

/// Bytes of a request's body. Nothing here reads one; some clients send a few anyway.
pub(crate) const BODY_BYTES_MAX: u64 = 64 * 1024;

/// Time after which even a busy connection is closed (a slow reader holds its answer in memory), in milliseconds.
pub(crate) const LIFETIME_MS: u64 = 10 * 60 * 1000;

/// Time that a request which has begun is given when its connection is to close, in milliseconds.
pub(crate) const GRACE_MS: u64 = 2_000;

/// Pause after a failed accept (out of file descriptors), so that it does not spin, in milliseconds.
pub(crate) const ACCEPT_PAUSE_MS: u64 = 100;

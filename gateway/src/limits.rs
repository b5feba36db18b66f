//! Named limits of the gateway that are not settings. (Settings with their defaults are in `config`.)

/// Bytes read from a socket at a time.
pub(crate) const READ_BYTES: usize = 64 * 1024;

/// Bytes of publishes that wait for room before the socket is not read any more. Settles, cancels and closes are
/// taken and acted on until then.
pub(crate) const PARKED_BYTES_MAX: usize = 1024 * 1024;

/// Requests that wait for room or for an operation before the socket is not read any more.
pub(crate) const PARKED_REQUESTS_MAX: usize = 10_000;

/// What a request that waits counts besides its body.
pub(crate) const REQUEST_OVERHEAD_BYTES: usize = 128;

/// Keys whose routes a connection remembers; over it the memory is emptied.
pub(crate) const ROUTES_CACHED_MAX: usize = 1_024;

/// Time that a closing connection has to take its last bytes, in milliseconds.
pub(crate) const LAST_WRITE_TIMEOUT_MS: u64 = 2_000;

/// Time that a lost connection waits for its running operation, in milliseconds.
pub(crate) const LAST_OPERATION_TIMEOUT_MS: u64 = 30_000;

/// Items that a connection hands to its endpoint before it writes to the socket.
pub(crate) const ITEMS_PER_ROUND_MAX: usize = 4_096;

/// Reads of what a client said before the node ends its connection.
pub(crate) const LAST_READS_MAX: usize = 16;

/// Items after which the size of the output is looked at.
pub(crate) const ITEMS_PER_OUTPUT_CHECK: usize = 256;

/// MQTT sessions of a node, connected or kept.
pub(crate) const SESSIONS_MAX: usize = 1_000_000;

/// Password checks at a time: each takes 7 MiB for some 20 ms.
pub(crate) const PASSWORD_CHECKS_MAX: usize = 8;

/// Pieces given to one `writev`.
pub(crate) const WRITE_PIECES_MAX: usize = 64;

/// First bytes that are read to tell protocols apart.
pub(crate) const DETECT_BYTES_MAX: usize = 8;

/// Pause after a failed accept, in milliseconds.
pub(crate) const ACCEPT_PAUSE_MS: u64 = 100;

/// Time that stopping waits for connections to end, in milliseconds.
pub(crate) const STOP_TIMEOUT_MS: u64 = 10_000;

/// How long a dead letter that must not be lost waits for its targets before it is tried again, in milliseconds.
pub(crate) const DEAD_LETTER_CONFIRM_TIMEOUT_MS: u64 = 180_000;

/// Pause before a dead letter that no target took is tried again, in milliseconds.
pub(crate) const DEAD_LETTER_RETRY_MS: u64 = 5_000;

/// How long a shared group that a restart found waits for a subscriber before it goes, in milliseconds: an hour.
pub(crate) const RESTORED_SHARE_WAITS_MS: u64 = 3_600_000;

/// How often the node looks whether its log still runs, in milliseconds.
pub(crate) const LOG_CHECK_MS: u64 = 1_000;

/// A member is quick when it settles so many windows...
pub(crate) const QUICK_WINDOWS: u32 = 4;

/// ...in so many milliseconds: what is handed out beyond the window then waits for 5 ms.
pub(crate) const QUICK_WINDOWS_MS: u64 = 20;

/// How often a member that has a second window is looked at, in milliseconds: for so long messages may wait for a client
/// that stopped, when others would have taken them.
pub(crate) const SECOND_WINDOW_LOOK_MS: u64 = 20;

//! Bounded waiting, and names that no other test uses.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use crate::Failure;

/// How long a test waits for one event before it fails. Far above what a healthy broker needs on a busy machine: it
/// bounds a hang, it judges no speed.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Awaits `future` for at most [`PATIENCE`].
///
/// # Errors
/// When the time is over; `what` says what did not come.
#[track_caller]
pub fn within<T>(what: &str, future: impl Future<Output = T>) -> impl Future<Output = Result<T, Failure>> {
    let late = Failure::new(format!("no {what} within {} s", PATIENCE.as_secs()));
    async move { tokio::time::timeout(PATIENCE, future).await.map_err(|_| late) }
}

/// A name that begins with `prefix` and that no other caller on this machine gets.
#[must_use]
pub fn unique(prefix: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("{prefix}-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

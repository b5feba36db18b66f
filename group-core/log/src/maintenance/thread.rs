//! A thread that drives the maintenance, and holds it back so that it does not take the disk from the writer.

use std::{io, thread, thread::JoinHandle, time::Duration};

use super::Maintenance;
use crate::Step;

/// So much is written of new segments, or read of sparse ones, per second.
const BYTES_PER_SECOND: u64 = 128 * 1024 * 1024;

/// Between two looks at whether a full disk has room again, or a body is no longer pinned.
const IDLE_PAUSE: Duration = Duration::from_secs(1);

/// The maintenance's thread. Ends when the log is closed; is waited for when it is dropped.
#[derive(Debug)]
pub struct MaintenanceThread {
    inner: std::sync::Arc<crate::inner::Inner>,
    thread: Option<JoinHandle<()>>,
}

impl Maintenance {
    /// Runs the maintenance on a thread of its own.
    ///
    /// # Errors
    /// The thread cannot be made.
    pub fn spawn(mut self) -> io::Result<MaintenanceThread> {
        let inner = std::sync::Arc::clone(&self.inner);
        let thread = thread::Builder::new().name("braid-log-maintenance".to_owned()).spawn(move || {
            loop {
                match self.step() {
                    Step::Worked => {
                        let moved = std::mem::take(&mut self.moved_bytes) as u64;
                        if moved > 0 {
                            thread::sleep(Duration::from_micros(moved * 1_000_000 / BYTES_PER_SECOND));
                        }
                    }
                    Step::Idle => self.inner.wait_for_maintenance(IDLE_PAUSE),
                    Step::Stopped => return,
                }
            }
        })?;
        Ok(MaintenanceThread { inner, thread: Some(thread) })
    }
}

impl Drop for MaintenanceThread {
    fn drop(&mut self) {
        self.inner.close();
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

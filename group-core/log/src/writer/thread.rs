//! Threads that drive the writer and the maintenance.

use std::{io, thread, thread::JoinHandle};

use super::{Step, Writer};

/// The writer's thread. Closes the log and waits for what is still to be written when it is dropped.
#[derive(Debug)]
pub struct WriterThread {
    inner: std::sync::Arc<crate::inner::Inner>,
    thread: Option<JoinHandle<()>>,
}

/// Fails the log if the writer's thread ends by a panic: nobody must wait for ever.
struct Watch(std::sync::Arc<crate::inner::Inner>);

impl Drop for Watch {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.fail("the writer panicked", Vec::new());
        }
    }
}

impl Writer {
    /// Runs the writer on a thread of its own.
    ///
    /// # Errors
    /// The thread cannot be made.
    pub fn spawn(mut self) -> io::Result<WriterThread> {
        let inner = std::sync::Arc::clone(&self.inner);
        let thread = thread::Builder::new().name("braid-log-writer".to_owned()).spawn(move || {
            let _watch = Watch(std::sync::Arc::clone(&self.inner));
            loop {
                match self.step() {
                    Step::Worked => {}
                    Step::Idle => self.inner.wait_for_records(),
                    Step::Stopped => return,
                }
            }
        })?;
        Ok(WriterThread { inner, thread: Some(thread) })
    }
}

impl WriterThread {
    /// Stops taking anything, and waits until what was taken is written.
    pub fn close(mut self) {
        self.stop();
    }

    fn stop(&mut self) {
        self.inner.close();
        if let Some(thread) = self.thread.take() {
            // A panic of it was told to all who waited.
            drop(thread.join());
        }
    }
}

impl Drop for WriterThread {
    fn drop(&mut self) {
        self.stop();
    }
}

//! What the handles of one log have in common: the disk, the options, and the engine behind its lock.

use std::{fmt, sync::Arc, time::Duration};

use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::{Callback, Error, Options, disk::Disk, engine::Engine};

/// See the file's head.
pub(crate) struct Inner {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) options: Options,
    engine: Mutex<Engine>,
    writer: Condvar,
    maintenance: Condvar,
}

impl fmt::Debug for Inner {
    /// Without what is in the log, which is large, and not for everybody.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inner").field("disk", &self.disk).field("options", &self.options).finish_non_exhaustive()
    }
}

impl Inner {
    pub(crate) fn new(disk: Arc<dyn Disk>, options: Options, engine: Engine) -> Arc<Self> {
        Arc::new(Self {
            disk,
            options,
            engine: Mutex::new(engine),
            writer: Condvar::new(),
            maintenance: Condvar::new(),
        })
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Engine> {
        self.engine.lock()
    }

    /// Lets the lock go and the writer know that something waits.
    pub(crate) fn wake_writer(&self, mut engine: MutexGuard<'_, Engine>) {
        let is_asleep = std::mem::take(&mut engine.queue.is_writer_asleep);
        drop(engine);
        if is_asleep {
            self.writer.notify_one();
        }
    }

    pub(crate) fn wake_maintenance(&self) {
        self.maintenance.notify_one();
    }

    /// Sleeps until there is something to write or the end.
    pub(crate) fn wait_for_records(&self) {
        let mut engine = self.lock();
        while engine.queue.is_empty() && engine.failure.is_none() && !engine.is_closing {
            engine.queue.is_writer_asleep = true;
            self.writer.wait(&mut engine);
        }
    }

    /// Sleeps until maintenance is woken, or for `pause`.
    pub(crate) fn wait_for_maintenance(&self, pause: Duration) {
        let mut engine = self.lock();
        if engine.failure.is_none() && !engine.is_closing {
            self.maintenance.wait_for(&mut engine, pause);
        }
    }

    /// Stops the log for good, and tells all that wait and `others`.
    pub(crate) fn fail(&self, why: &str, others: Vec<Callback>) -> Error {
        let why: Arc<str> = Arc::from(why);
        let waiting = {
            let mut engine = self.lock();
            let waiting = engine.fail(&why);
            engine.queue.is_writer_asleep = false;
            waiting
        };
        self.writer.notify_one();
        self.maintenance.notify_one();
        let error = Error::Failed(why);
        for done in others.into_iter().chain(waiting) {
            done(Err(error.clone()));
        }
        error
    }

    /// Stops taking anything; what waits is still written.
    pub(crate) fn close(&self) {
        let mut engine = self.lock();
        engine.is_closing = true;
        self.wake_writer(engine);
        self.maintenance.notify_one();
    }
}

//! What is done beside the writing, in small steps: dead segments are used again, new ones prepared, forgotten bodies
//! swept, sparse segments rewritten.
//!
//! It never waits for anything and never holds the lock during IO. [`Maintenance::spawn`] drives it with a thread and
//! throttles it; a simulation calls [`Maintenance::step`].
//!
//! Invariants: a segment goes only when all that is in it is purged, forgotten before a durable snapshot or replaced,
//! when whatever made it so is durable, and when nobody reads it; damaged partitions keep theirs.

mod prepare;
mod retire;
mod rewrite;
mod sweep;
mod thread;

use std::{io, sync::Arc};

use crate::{Error, Step, disk::is_full, inner::Inner};

pub use thread::MaintenanceThread;

/// See the file's head.
#[derive(Debug)]
pub struct Maintenance {
    inner: Arc<Inner>,
    growing: Option<prepare::Growing>,
    rewriting: Option<rewrite::Rewriting>,
    /// Bytes written or read since somebody asked.
    moved_bytes: usize,
}

impl Maintenance {
    pub(crate) fn new(inner: Arc<Inner>) -> Self {
        Self { inner, growing: None, rewriting: None, moved_bytes: 0 }
    }

    /// Does one thing. On a full disk it is `Idle`: to be called again after a while, space may be back.
    pub fn step(&mut self) -> Step {
        if self.inner.lock().check().is_err() {
            return Step::Stopped;
        }
        match self.do_one() {
            Ok(true) => Step::Worked,
            Ok(false) => Step::Idle,
            Err(_) => Step::Stopped,
        }
    }

    fn do_one(&mut self) -> Result<bool, Error> {
        Ok(self.sweep() || self.discard()? || self.retire()? || self.prepare()? || self.rewrite()?)
    }

    /// What an operation's error means: a full disk is waited for, anything else stops the log.
    fn settle(&self, file: &str, done: io::Result<()>) -> Result<bool, Error> {
        match done {
            Ok(()) => Ok(true),
            Err(error) if is_full(&error) => {
                self.inner.lock().pool.is_full = true;
                Ok(false)
            }
            Err(error) => Err(self.inner.fail(&format!("{file}: {error}"), Vec::new())),
        }
    }
}

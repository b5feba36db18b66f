//! A piece of a file in memory, moved forward as it is read, so that many small looks cost few reads.
//!
//! What cannot be read is zero here, block by block, which no checksum takes for anything that was written.

use std::sync::Arc;

use crate::{
    disk::{DiskFile, read_exact},
    format::BLOCK_BYTES,
    limits::WINDOW_BYTES,
};

/// See the file's head.
#[derive(Debug)]
pub(crate) struct Window {
    file: Arc<dyn DiskFile>,
    /// Nothing is read from here on.
    end: u32,
    start: u32,
    buffer: Vec<u8>,
}

impl Window {
    pub(crate) fn new(file: Arc<dyn DiskFile>, end: u32) -> Self {
        Self { file, end, start: 0, buffer: Vec::new() }
    }

    pub(crate) fn end(&self) -> u32 {
        self.end
    }

    /// The bytes from `offset` on; fewer than `length` at the end.
    pub(crate) fn bytes(&mut self, offset: u32, length: usize) -> &[u8] {
        let length = length.min(self.end.saturating_sub(offset) as usize);
        if length == 0 {
            return &[];
        }
        let is_here = offset >= self.start && (offset - self.start) as usize + length <= self.buffer.len();
        if !is_here {
            self.fill(offset, length);
        }
        let from = (offset - self.start) as usize;
        self.buffer.get(from..from + length).unwrap_or_default()
    }

    fn fill(&mut self, offset: u32, length: usize) {
        let size = length.max(WINDOW_BYTES).min((self.end - offset) as usize);
        self.start = offset;
        if self.buffer.len() < size || self.buffer.len() > WINDOW_BYTES {
            self.buffer = vec![0; size];
        }
        self.buffer.truncate(size);
        if read_exact(&*self.file, u64::from(offset), &mut self.buffer).is_ok() {
            return;
        }
        for (number, block) in self.buffer.chunks_mut(BLOCK_BYTES).enumerate() {
            let at = u64::from(offset) + (number * BLOCK_BYTES) as u64;
            if read_exact(&*self.file, at, block).is_err() {
                block.fill(0);
            }
        }
    }
}

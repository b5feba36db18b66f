//! Frames that have to wait for an answer of the broker before they can be understood: those behind a login or an
//! `connection.open`, and those of a channel behind the declaration of a queue that the server names.

use alloc::collections::VecDeque;

use bytes::Bytes;

use crate::{
    Exception, ReplyCode,
    frame::{Frame, FrameKind},
    limits::{HELD_FRAMES_BYTES_MAX, HELD_FRAMES_MAX},
};

/// A frame that owns its payload.
#[derive(Debug)]
pub(crate) struct HeldFrame {
    kind: FrameKind,
    channel: u16,
    payload: Bytes,
}

impl HeldFrame {
    /// The frame, to be handled now.
    pub(crate) fn frame(&self) -> Frame<'_> {
        Frame { kind: self.kind, channel: self.channel, payload: &self.payload, batch: &self.payload }
    }
}

/// Frames in the order in which they came. Bounded by number and bytes.
#[derive(Debug, Default)]
pub(crate) struct HeldFrames {
    frames: VecDeque<HeldFrame>,
    size_bytes: usize,
}

impl HeldFrames {
    pub(crate) fn push(&mut self, frame: &Frame<'_>) -> Result<(), Exception> {
        self.size_bytes = self.size_bytes.saturating_add(frame.payload.len());
        if self.frames.len() >= HELD_FRAMES_MAX || self.size_bytes > HELD_FRAMES_BYTES_MAX {
            return Err(Exception::new(ReplyCode::ResourceError, "too much was sent without waiting for an answer"));
        }
        let payload = frame.batch.slice_ref(frame.payload);
        self.frames.push_back(HeldFrame { kind: frame.kind, channel: frame.channel, payload });
        Ok(())
    }

    pub(crate) fn pop(&mut self) -> Option<HeldFrame> {
        let frame = self.frames.pop_front()?;
        self.size_bytes = self.size_bytes.saturating_sub(frame.payload.len());
        Some(frame)
    }
}

//! Bytes on their way out: small pieces are gathered in one buffer, large bodies are passed on without a copy.
//!
//! Invariant: `size_bytes` is the sum of all segments and the tail; segments are written first, in order.

use alloc::collections::VecDeque;

use bytes::{Buf, Bytes, BytesMut};

use crate::limits::BODY_COPIED_BYTES_MAX;

/// An outgoing byte stream as a list of segments, for `writev`.
#[derive(Debug, Default)]
pub struct Transmit {
    segments: VecDeque<Bytes>,
    tail: BytesMut,
    segments_bytes: usize,
}

impl Transmit {
    /// An empty stream.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The buffer to append small pieces to.
    pub fn buffer(&mut self) -> &mut BytesMut {
        &mut self.tail
    }

    /// Appends a body: copied when it is small, kept as it is when it is large.
    pub fn push_body(&mut self, body: &Bytes) {
        if body.len() <= BODY_COPIED_BYTES_MAX {
            self.tail.extend_from_slice(body);
            return;
        }
        self.seal_tail();
        self.segments_bytes += body.len();
        self.segments.push_back(body.clone());
    }

    /// Bytes that wait.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        self.segments_bytes + self.tail.len()
    }

    /// Nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.size_bytes() == 0
    }

    /// The pieces to write, in order.
    pub fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        self.segments
            .iter()
            .map(Bytes::as_ref)
            .chain(core::iter::once(self.tail.as_ref()).filter(|tail| !tail.is_empty()))
    }

    /// Forgets the first `count` bytes: they were written.
    pub fn advance(&mut self, mut count: usize) {
        while count > 0 {
            let Some(first) = self.segments.front_mut() else {
                let count = count.min(self.tail.len());
                self.tail.advance(count);
                break;
            };
            let step = count.min(first.len());
            first.advance(step);
            if first.is_empty() {
                self.segments.pop_front();
            }
            self.segments_bytes -= step;
            count -= step;
        }
        if self.segments.is_empty() && self.tail.is_empty() {
            self.tail.clear();
        }
    }

    /// All that waits, as one piece, and forgets it (for tests and drivers that do not write to a socket).
    #[must_use]
    pub fn take(&mut self) -> Bytes {
        let mut all = BytesMut::with_capacity(self.size_bytes());
        for piece in self.pieces() {
            all.extend_from_slice(piece);
        }
        self.advance(all.len());
        all.freeze()
    }

    fn seal_tail(&mut self) {
        if !self.tail.is_empty() {
            let sealed = self.tail.split().freeze();
            self.segments_bytes += sealed.len();
            self.segments.push_back(sealed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_keep_their_order_and_large_bodies_are_not_copied() {
        let mut transmit = Transmit::new();
        let large = Bytes::from(alloc::vec![7u8; BODY_COPIED_BYTES_MAX + 1]);
        transmit.buffer().extend_from_slice(b"head");
        transmit.push_body(&large);
        transmit.buffer().extend_from_slice(b"mid");
        transmit.push_body(&Bytes::from_static(b"small"));
        assert_eq!(transmit.size_bytes(), 4 + large.len() + 8);
        assert!(transmit.pieces().any(|piece| piece.as_ptr() == large.as_ptr()));
        transmit.advance(2);
        let all = transmit.take();
        assert_eq!(all.get(..2), Some(&b"ad"[..]));
        assert_eq!(all.get(all.len() - 8..), Some(&b"midsmall"[..]));
        assert!(transmit.is_empty());
    }
}

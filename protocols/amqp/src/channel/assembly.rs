//! Puts a content together: publish method, header frame, body frames.
//!
//! Invariants: a body of one frame is a slice of the read buffer; one of several is copied into one buffer that grows with
//! what arrived, never by what was announced.

use braid_types::Timestamp;
use bytes::{Bytes, BytesMut};

use crate::{DecodeError, Exception, ReplyCode};

/// How much larger than what has arrived a body's buffer may be: growing by this factor copies at most a third of the body
/// more than once.
const GROWTH_FACTOR: usize = 4;

/// A content, as far as it has come. It is put together in its place: it is too large to be moved with each frame.
#[derive(Debug, Default)]
pub(super) struct Assembly {
    pub(super) stage: Stage,
    pub(super) publishing: Publishing,
}

/// Where a channel is in a content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Stage {
    /// Between contents.
    #[default]
    Idle,
    /// The method came; the header is due.
    Header,
    /// The header came; so much of the body is due.
    Body { remaining_bytes: u64 },
}

/// A message in the making.
#[derive(Debug, Default)]
pub(super) struct Publishing {
    pub(super) exchange: Bytes,
    pub(super) key: Bytes,
    pub(super) mandatory: bool,
    pub(super) header: Bytes,
    pub(super) priority: u8,
    pub(super) expires_at: Option<Timestamp>,
    pub(super) body: Body,
}

/// What has come of a body.
#[derive(Debug)]
pub(super) enum Body {
    /// Nothing, or one frame.
    Slice(Bytes),
    /// More.
    Gathered(BytesMut),
}

impl Assembly {
    pub(super) fn is_idle(&self) -> bool {
        self.stage == Stage::Idle
    }
}

impl Default for Body {
    fn default() -> Self {
        Self::Slice(Bytes::new())
    }
}

impl Body {
    /// Adds a piece, of which `remaining_bytes` of the body, the piece included, were due.
    pub(super) fn push(&mut self, piece: Bytes, remaining_bytes: u64) {
        match self {
            Self::Slice(first) if first.is_empty() => *first = piece,
            Self::Slice(first) => {
                let mut all = BytesMut::new();
                grow(&mut all, first.len(), remaining_bytes);
                all.extend_from_slice(first);
                all.extend_from_slice(&piece);
                *self = Self::Gathered(all);
            }
            Self::Gathered(all) => {
                if all.capacity() - all.len() < piece.len() {
                    let arrived_bytes = all.len();
                    grow(all, arrived_bytes, remaining_bytes);
                }
                all.extend_from_slice(&piece);
            }
        }
    }

    pub(super) fn into_bytes(self) -> Bytes {
        match self {
            Self::Slice(body) => body,
            Self::Gathered(all) => all.freeze(),
        }
    }
}

/// Makes room for the rest of the body, or for a multiple of what has arrived if that is less.
fn grow(all: &mut BytesMut, arrived_bytes: usize, remaining_bytes: u64) {
    let due_bytes = usize::try_from(remaining_bytes).unwrap_or(usize::MAX);
    let missing_bytes = if all.is_empty() { arrived_bytes.saturating_add(due_bytes) } else { due_bytes };
    all.reserve(missing_bytes.min(arrived_bytes.saturating_mul(GROWTH_FACTOR)));
}

/// The fixed part of a header frame's payload, and its property block.
pub(super) struct ContentHeader<'a> {
    pub(super) class: u16,
    pub(super) weight: u16,
    pub(super) body_bytes: u64,
    pub(super) properties: &'a [u8],
}

impl<'a> ContentHeader<'a> {
    pub(super) fn parse(payload: &'a [u8]) -> Result<Self, Exception> {
        let (fixed, properties) = payload.split_first_chunk::<12>().ok_or(DecodeError::Truncated)?;
        let [c1, c0, w1, w0, s @ ..] = *fixed;
        Ok(Self {
            class: u16::from_be_bytes([c1, c0]),
            weight: u16::from_be_bytes([w1, w0]),
            body_bytes: u64::from_be_bytes(s),
            properties,
        })
    }
}

/// A frame that is out of place in a content.
pub(super) fn unexpected(text: &'static str) -> Exception {
    Exception::new(ReplyCode::UnexpectedFrame, text)
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    #[test]
    fn one_piece_is_kept_and_more_are_joined() {
        let piece = Bytes::from(vec![1; 10]);
        let mut body = Body::Slice(Bytes::new());
        body.push(piece.clone(), 30);
        assert!(matches!(&body, Body::Slice(slice) if slice.as_ptr() == piece.as_ptr()));
        body.push(piece.clone(), 20);
        body.push(piece, 10);
        assert_eq!(body.into_bytes().as_ref(), &[1; 30]);
    }

    #[test]
    fn an_announced_size_allocates_nothing() {
        let mut body = Body::Slice(Bytes::from(vec![1; 100]));
        body.push(Bytes::from(vec![1; 100]), u64::MAX);
        assert!(matches!(&body, Body::Gathered(all) if all.capacity() <= 1000));
    }
}

//! Takes frames out of a read buffer, and puts frames into a write buffer.
//!
//! Invariants: memory is bounded by bytes received, never by a length announced; all complete frames of a read become one
//! shared buffer that frames and messages are slices of; the outcome does not depend on how the input was split.

use bytes::{BufMut, Bytes, BytesMut};

use crate::{
    FrameError, Writer,
    frame::{FRAME_END, FRAME_HEAD_BYTES, Frame, FrameKind},
    limits::FRAME_OVERHEAD_BYTES,
    method::{Method, MethodId},
};

/// Finds and checks frames.
#[derive(Clone, Copy, Debug)]
pub struct Decoder {
    frame_bytes_max: u32,
}

impl Decoder {
    /// Accepts frames of up to `frame_bytes_max` bytes.
    #[must_use]
    pub const fn new(frame_bytes_max: u32) -> Self {
        Self { frame_bytes_max }
    }

    /// Splits all complete frames off `input`. They are not checked yet.
    #[must_use]
    pub fn split_complete(input: &mut BytesMut) -> Option<Bytes> {
        let mut end = 0_usize;
        while let Some((_, _, size_bytes)) = input.get(end..).and_then(head) {
            let next = (end + FRAME_HEAD_BYTES + 1).saturating_add(size_bytes as usize);
            if next > input.len() {
                break;
            }
            end = next;
        }
        (end > 0).then(|| input.split_to(end).freeze())
    }

    /// The frame at `position` of a batch made by [`Self::split_complete`], moving `position` behind it. `None` at the end.
    ///
    /// # Errors
    /// It is not a frame, or too large.
    #[inline]
    pub fn next_frame<'a>(&self, batch: &'a Bytes, position: &mut usize) -> Result<Option<Frame<'a>>, FrameError> {
        let Some(rest) = batch.get(*position..) else { return Ok(None) };
        let Some((octet, channel, size_bytes)) = head(rest) else { return Ok(None) };
        let kind = self.check_head(octet, size_bytes)?;
        let payload_end = FRAME_HEAD_BYTES.saturating_add(size_bytes as usize);
        let (Some(payload), Some(end)) = (rest.get(FRAME_HEAD_BYTES..payload_end), rest.get(payload_end)) else {
            return Ok(None);
        };
        if *end != FRAME_END {
            return Err(FrameError::BadEnd(*end));
        }
        *position += payload_end + 1;
        Ok(Some(Frame { kind, channel, payload, batch }))
    }

    /// Checks what is known of a frame that is not complete yet, so that a bad one is not waited for.
    ///
    /// # Errors
    /// It will not be a frame, or too large.
    pub fn check_incomplete(&self, input: &[u8]) -> Result<(), FrameError> {
        match head(input) {
            Some((octet, _, size_bytes)) => self.check_head(octet, size_bytes).map(|_| ()),
            None => Ok(()),
        }
    }

    /// RabbitMQ tolerates payloads that are larger by the eight octets around them, because clients get it wrong; so do we.
    fn check_head(&self, octet: u8, size_bytes: u32) -> Result<FrameKind, FrameError> {
        let kind = FrameKind::from_octet(octet).ok_or(FrameError::UnknownType(octet))?;
        if size_bytes > self.frame_bytes_max {
            return Err(FrameError::TooLarge { size_bytes, limit_bytes: self.frame_bytes_max });
        }
        Ok(kind)
    }
}

fn head(input: &[u8]) -> Option<(u8, u16, u32)> {
    let [kind, c1, c0, s3, s2, s1, s0] = *input.first_chunk::<FRAME_HEAD_BYTES>()?;
    Some((kind, u16::from_be_bytes([c1, c0]), u32::from_be_bytes([s3, s2, s1, s0])))
}

/// Appends a method frame.
pub fn write_method<M: Method>(out: &mut BytesMut, channel: u16, method: &M) {
    write_frame(out, FrameKind::Method, channel, |out| {
        put_method_id(out, M::ID);
        method.write(&mut Writer::new(out));
    });
}

/// Appends the frame of a method without arguments.
pub fn write_empty_method(out: &mut BytesMut, channel: u16, method: MethodId) {
    write_frame(out, FrameKind::Method, channel, |out| put_method_id(out, method));
}

/// Appends a heartbeat.
pub fn write_heartbeat(out: &mut BytesMut) {
    write_frame(out, FrameKind::Heartbeat, 0, |_| ());
}

/// Appends a frame whose payload `fill` writes.
pub fn write_frame(out: &mut BytesMut, kind: FrameKind, channel: u16, fill: impl FnOnce(&mut BytesMut)) {
    put_frame_head(out, kind, channel, 0);
    let start = out.len();
    fill(out);
    let size_bytes = u32::try_from(out.len() - start).unwrap_or(u32::MAX);
    if let Some(size) = out.get_mut(start - 4..start) {
        size.copy_from_slice(&size_bytes.to_be_bytes());
    }
    out.put_u8(FRAME_END);
}

/// Appends the octets before a payload of `size_bytes`.
pub(crate) fn put_frame_head(out: &mut BytesMut, kind: FrameKind, channel: u16, size_bytes: u32) {
    let [c1, c0] = channel.to_be_bytes();
    let [s3, s2, s1, s0] = size_bytes.to_be_bytes();
    out.extend_from_slice(&[kind.octet(), c1, c0, s3, s2, s1, s0]);
}

/// Payload bytes that fit into a frame of `frame_bytes_max`.
pub(crate) const fn payload_bytes_max(frame_bytes_max: u32) -> usize {
    frame_bytes_max.saturating_sub(FRAME_OVERHEAD_BYTES) as usize
}

fn put_method_id(out: &mut BytesMut, method: MethodId) {
    out.put_u16(method.class);
    out.put_u16(method.method);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complete_frames_come_out_and_the_rest_stays() {
        let mut input = BytesMut::new();
        write_heartbeat(&mut input);
        write_frame(&mut input, FrameKind::Body, 7, |out| out.extend_from_slice(b"abc"));
        let whole = input.len();
        input.extend_from_slice(&[1, 0, 0, 0, 0]);
        let batch = Decoder::split_complete(&mut input).unwrap();
        assert_eq!((batch.len(), input.len()), (whole, 5));
        let (decoder, mut position) = (Decoder::new(4096), 0);
        let first = decoder.next_frame(&batch, &mut position).unwrap().unwrap();
        assert_eq!((first.kind, first.payload.len()), (FrameKind::Heartbeat, 0));
        let second = decoder.next_frame(&batch, &mut position).unwrap().unwrap();
        assert_eq!((second.kind, second.channel, second.payload), (FrameKind::Body, 7, &b"abc"[..]));
        assert!(decoder.next_frame(&batch, &mut position).unwrap().is_none());
        assert!(Decoder::split_complete(&mut input).is_none());
    }

    #[test]
    fn a_bad_head_is_told_before_the_payload_arrives() {
        let decoder = Decoder::new(4096);
        assert_eq!(decoder.check_incomplete(&[4, 0, 0, 0, 0, 0, 0]), Err(FrameError::UnknownType(4)));
        let huge = decoder.check_incomplete(&[1, 0, 0, 255, 255, 255, 255]);
        assert_eq!(huge, Err(FrameError::TooLarge { size_bytes: u32::MAX, limit_bytes: 4096 }));
        assert_eq!(decoder.check_incomplete(&[1, 0, 0, 0, 0, 16, 0]), Ok(()));
    }
}

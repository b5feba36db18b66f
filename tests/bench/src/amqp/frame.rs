//! Frames of AMQP 0-9-1 as the load needs them: written whole, found whole. Checks nothing that a broker gets right.

use std::io;

/// Frame types.
pub(super) const METHOD: u8 = 1;
pub(super) const BODY: u8 = 3;

/// The last byte of each frame.
pub(super) const FRAME_END: u8 = 0xce;

/// Head of a frame whose payload has `size` bytes.
pub(super) fn frame_head(kind: u8, channel: u8, size: usize) -> io::Result<Vec<u8>> {
    let size = u32::try_from(size).map_err(io::Error::other)?;
    Ok([&[kind, 0, channel], size.to_be_bytes().as_slice()].concat())
}

/// A frame.
pub(super) fn frame(kind: u8, channel: u8, payload: &[u8]) -> io::Result<Vec<u8>> {
    Ok([&frame_head(kind, channel, payload.len())?, payload, &[FRAME_END]].concat())
}

/// A method frame.
pub(super) fn method(channel: u8, payload: &[u8]) -> io::Result<Vec<u8>> {
    frame(METHOD, channel, payload)
}

/// A short string: its length in one byte, then its bytes.
pub(super) fn short(text: &str) -> io::Result<Vec<u8>> {
    let length = u8::try_from(text.len()).map_err(io::Error::other)?;
    Ok([&[length], text.as_bytes()].concat())
}

/// Type, payload and whole size of the first frame.
pub(super) fn split(bytes: &[u8]) -> Option<(u8, &[u8], usize)> {
    let size: [u8; 4] = bytes.get(3..7)?.try_into().ok()?;
    let end = 7 + usize::try_from(u32::from_be_bytes(size)).ok()?;
    Some((*bytes.first()?, bytes.get(7..end)?, end + 1)).filter(|(.., size)| bytes.len() >= *size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_found_only_whole() -> io::Result<()> {
        let bytes = [method(1, b"hello")?, short("q")?].concat();
        assert_eq!(split(&bytes), Some((METHOD, b"hello".as_slice(), 13)));
        assert!((0..13).all(|end| split(&bytes[..end]).is_none()));
        assert_eq!(bytes[13..], *b"\x01q");
        Ok(())
    }
}

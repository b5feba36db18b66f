//! How the levels of an address stand in one piece of memory, and on the wire: each after its length, which is one byte, or
//! for levels from [`LONG`] bytes on that value and two bytes, little endian. A level has one encoding only.

use alloc::vec::Vec;

use crate::{
    AddressError, Level,
    limits::{ADDRESS_BYTES_MAX, ADDRESS_LEVELS_MAX},
};

/// A level whose length is one byte is at most this long.
pub(super) const SHORT_LEVEL_BYTES_MAX: usize = LONG as usize - 1;

/// Stands before a length of two bytes.
const LONG: u8 = u8::MAX;

/// Appends a level.
///
/// # Errors
/// It is longer than an address can be.
pub(super) fn put_level(encoded: &mut Vec<u8>, level: &Level) -> Result<(), AddressError> {
    match u8::try_from(level.len()) {
        Ok(length) if length != LONG => encoded.push(length),
        _ => {
            let length = u16::try_from(level.len()).map_err(|_| AddressError::TooLong)?;
            encoded.push(LONG);
            encoded.extend_from_slice(&length.to_le_bytes());
        }
    }
    encoded.extend_from_slice(level);
    Ok(())
}

/// The first level, and the rest.
#[inline]
pub(super) fn split_level(encoded: &[u8]) -> Option<(&Level, &[u8])> {
    let (first, rest) = encoded.split_first()?;
    if *first != LONG {
        return rest.split_at_checked(usize::from(*first));
    }
    let (length, rest) = rest.split_first_chunk::<2>()?;
    rest.split_at_checked(usize::from(u16::from_le_bytes(*length)))
}

/// Whether these bytes are the encoding of an address.
pub(super) fn is_valid(encoded: &[u8]) -> bool {
    let mut rest = encoded;
    let mut count = 0;
    let mut size_bytes = 0;
    while !rest.is_empty() {
        let is_long = rest.first() == Some(&LONG);
        let Some((level, tail)) = split_level(rest) else { return false };
        if level.contains(&b'.') || is_long != (level.len() > SHORT_LEVEL_BYTES_MAX) {
            return false;
        }
        size_bytes += level.len() + usize::from(count > 0);
        count += 1;
        rest = tail;
    }
    (1..=ADDRESS_LEVELS_MAX).contains(&count) && size_bytes <= ADDRESS_BYTES_MAX
}

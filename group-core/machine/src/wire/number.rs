//! Numbers, flags, options, byte strings and lists.

use alloc::vec::Vec;

use braid_types::CorruptBytes;
use bytes::{Buf, BufMut, Bytes, BytesMut};
use smallvec::SmallVec;

use super::Field;

const CORRUPT: CorruptBytes = CorruptBytes { what: "number" };

impl Field for u64 {
    fn put(&self, out: &mut BytesMut) {
        let mut rest = *self;
        while rest >= 0x80 {
            let [low, ..] = rest.to_le_bytes();
            out.put_u8(0x80 | low);
            rest >>= 7;
        }
        let [low, ..] = rest.to_le_bytes();
        out.put_u8(low);
    }

    fn read(input: &mut Bytes) -> Result<Self, CorruptBytes> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = u8::read(input)?;
            let bits = u64::from(byte & 0x7F);
            if shift == 63 && bits > 1 {
                return Err(CORRUPT);
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(CORRUPT)
    }
}

impl Field for u32 {
    fn put(&self, out: &mut BytesMut) {
        u64::from(*self).put(out);
    }

    fn read(input: &mut Bytes) -> Result<Self, CorruptBytes> {
        Self::try_from(u64::read(input)?).map_err(|_| CORRUPT)
    }
}

impl Field for u8 {
    fn put(&self, out: &mut BytesMut) {
        out.put_u8(*self);
    }

    fn read(input: &mut Bytes) -> Result<Self, CorruptBytes> {
        input.try_get_u8().map_err(|_| CORRUPT)
    }
}

impl Field for i32 {
    fn put(&self, out: &mut BytesMut) {
        out.put_i32(*self);
    }

    fn read(input: &mut Bytes) -> Result<Self, CorruptBytes> {
        input.try_get_i32().map_err(|_| CORRUPT)
    }
}

impl Field for bool {
    fn put(&self, out: &mut BytesMut) {
        out.put_u8(u8::from(*self));
    }

    fn read(input: &mut Bytes) -> Result<Self, CorruptBytes> {
        match u8::read(input)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(CorruptBytes { what: "flag" }),
        }
    }
}

impl Field for Bytes {
    fn put(&self, out: &mut BytesMut) {
        put_count(self.len(), out);
        out.extend_from_slice(self);
    }

    fn read(input: &mut Bytes) -> Result<Self, CorruptBytes> {
        let length = take_count(input)?;
        Ok(input.split_to(length))
    }
}

impl<T: Field> Field for Option<T> {
    fn put(&self, out: &mut BytesMut) {
        self.is_some().put(out);
        if let Some(value) = self {
            value.put(out);
        }
    }

    fn read(input: &mut Bytes) -> Result<Self, CorruptBytes> {
        bool::read(input)?.then(|| T::read(input)).transpose()
    }
}

impl<T: Field, const N: usize> Field for SmallVec<[T; N]>
where
    [T; N]: smallvec::Array<Item = T>,
{
    fn put(&self, out: &mut BytesMut) {
        put_list(self.iter(), self.len(), out);
    }

    fn read(input: &mut Bytes) -> Result<Self, CorruptBytes> {
        let count = take_count(input)?;
        (0..count).map(|_| T::read(input)).collect()
    }
}

impl<T: Field> Field for Vec<T> {
    fn put(&self, out: &mut BytesMut) {
        put_list(self.iter(), self.len(), out);
    }

    fn read(input: &mut Bytes) -> Result<Self, CorruptBytes> {
        let count = take_count(input)?;
        (0..count).map(|_| T::read(input)).collect()
    }
}

/// Appends a list of `count` values.
pub(crate) fn put_list<'a, T: Field + 'a>(values: impl Iterator<Item = &'a T>, count: usize, out: &mut BytesMut) {
    put_count(count, out);
    for value in values {
        value.put(out);
    }
}

/// Appends a count.
pub(crate) fn put_count(count: usize, out: &mut BytesMut) {
    u64::try_from(count).unwrap_or(u64::MAX).put(out);
}

/// Reads a count of things of at least one byte each: more than there are bytes left is corrupt, so that nothing is
/// ever allocated for a length that is only announced.
pub(crate) fn take_count(input: &mut Bytes) -> Result<usize, CorruptBytes> {
    check_count(u64::read(input)?, input)
}

/// See [`take_count`].
pub(super) fn check_count(count: u64, input: &Bytes) -> Result<usize, CorruptBytes> {
    let count = usize::try_from(count).map_err(|_| CORRUPT)?;
    if count > input.remaining() {
        return Err(CorruptBytes { what: "count" });
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_length_come_back() {
        for bits in 0..64 {
            for number in [1_u64 << bits, (1_u64 << bits) - 1, u64::MAX >> bits] {
                let mut out = BytesMut::new();
                number.put(&mut out);
                assert!(out.len() <= 10);
                let mut input = out.freeze();
                assert_eq!(u64::read(&mut input), Ok(number));
                assert!(input.is_empty());
            }
        }
    }

    #[test]
    fn what_is_too_long_or_cut_off_is_corrupt() {
        assert!(u64::read(&mut Bytes::from_static(&[0xFF; 10])).is_err());
        assert!(u64::read(&mut Bytes::from_static(&[0x80, 0x80])).is_err());
        assert!(u32::read(&mut Bytes::from_static(&[0xFF, 0xFF, 0xFF, 0xFF, 0x7F])).is_err());
        assert!(Bytes::read(&mut Bytes::from_static(&[5, 1, 2])).is_err());
        assert!(bool::read(&mut Bytes::from_static(&[2])).is_err());
        assert!(Vec::<u64>::read(&mut Bytes::from_static(&[3, 1, 2])).is_err());
    }
}

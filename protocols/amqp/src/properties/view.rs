//! The properties of a header block, read in place: borrowed, nothing is allocated, tables stay raw.

use crate::DecodeError;

/// Bit of `content-type`; the others follow downwards.
pub(super) const CONTENT_TYPE: u16 = 1 << 15;
/// Bit of `content-encoding`.
pub(super) const CONTENT_ENCODING: u16 = 1 << 14;
/// Bit of `headers`.
pub(super) const HEADERS: u16 = 1 << 13;
/// Bit of `delivery-mode`.
pub(super) const DELIVERY_MODE: u16 = 1 << 12;
/// Bit of `priority`.
pub(super) const PRIORITY: u16 = 1 << 11;
/// Bit of `correlation-id`.
pub(super) const CORRELATION_ID: u16 = 1 << 10;
/// Bit of `reply-to`.
pub(super) const REPLY_TO: u16 = 1 << 9;
/// Bit of `expiration`.
pub(super) const EXPIRATION: u16 = 1 << 8;
/// Bit of `message-id`.
pub(super) const MESSAGE_ID: u16 = 1 << 7;
/// Bit of `timestamp`.
pub(super) const TIMESTAMP: u16 = 1 << 6;
/// Bit of `type`.
pub(super) const KIND: u16 = 1 << 5;
/// Bit of `user-id`.
pub(super) const USER_ID: u16 = 1 << 4;
/// Bit of `app-id`.
pub(super) const APP_ID: u16 = 1 << 3;
/// Bit of `cluster-id`.
pub(super) const CLUSTER_ID: u16 = 1 << 2;
/// Bits that no property of class basic has.
const UNKNOWN: u16 = 0b11;

/// The properties of class basic. `None`: absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct View<'a> {
    /// MIME type.
    pub content_type: Option<&'a [u8]>,
    /// MIME encoding.
    pub content_encoding: Option<&'a [u8]>,
    /// Contents of the header table, without its length, not validated.
    pub headers: Option<&'a [u8]>,
    /// 1: transient, 2: persistent.
    pub delivery_mode: Option<u8>,
    /// 0 to 255.
    pub priority: Option<u8>,
    /// Correlation id.
    pub correlation_id: Option<&'a [u8]>,
    /// Queue for replies.
    pub reply_to: Option<&'a [u8]>,
    /// Milliseconds to live, in decimal digits.
    pub expiration: Option<&'a [u8]>,
    /// Message id.
    pub message_id: Option<&'a [u8]>,
    /// Seconds since the Unix epoch.
    pub timestamp_s: Option<u64>,
    /// Application's type.
    pub kind: Option<&'a [u8]>,
    /// Publisher's user.
    pub user_id: Option<&'a [u8]>,
    /// Application's name.
    pub app_id: Option<&'a [u8]>,
    /// Where in the block the header table stands, or would stand, in bytes.
    pub(super) headers_at: usize,
}

impl<'a> View<'a> {
    /// Reads `block`: property flags and property list.
    ///
    /// # Errors
    /// It has flags that no property has, or is longer or shorter than its flags say.
    pub fn parse(block: &'a [u8]) -> Result<Self, DecodeError> {
        let (flags, rest) = block.split_first_chunk::<2>().ok_or(DecodeError::Truncated)?;
        let flags = u16::from_be_bytes(*flags);
        if flags & UNKNOWN != 0 {
            return Err(DecodeError::UnknownPropertyFlags);
        }
        let mut list = List { flags, rest };
        let mut view = Self {
            content_type: list.short_string(CONTENT_TYPE)?,
            content_encoding: list.short_string(CONTENT_ENCODING)?,
            headers_at: block.len() - list.rest.len(),
            ..Self::default()
        };
        view.headers = list.long_string(HEADERS)?;
        view.delivery_mode = list.chunk::<1>(DELIVERY_MODE)?.map(|[octet]| octet);
        view.priority = list.chunk::<1>(PRIORITY)?.map(|[octet]| octet);
        view.correlation_id = list.short_string(CORRELATION_ID)?;
        view.reply_to = list.short_string(REPLY_TO)?;
        view.expiration = list.short_string(EXPIRATION)?;
        view.message_id = list.short_string(MESSAGE_ID)?;
        view.timestamp_s = list.chunk(TIMESTAMP)?.map(u64::from_be_bytes);
        view.kind = list.short_string(KIND)?;
        view.user_id = list.short_string(USER_ID)?;
        view.app_id = list.short_string(APP_ID)?;
        list.short_string(CLUSTER_ID)?;
        if list.rest.is_empty() { Ok(view) } else { Err(DecodeError::TrailingBytes) }
    }
}

/// A position in a property list.
struct List<'a> {
    flags: u16,
    rest: &'a [u8],
}

impl<'a> List<'a> {
    fn short_string(&mut self, flag: u16) -> Result<Option<&'a [u8]>, DecodeError> {
        if self.flags & flag == 0 {
            return Ok(None);
        }
        let (size_bytes, rest) = self.rest.split_first().ok_or(DecodeError::Truncated)?;
        self.rest = rest;
        self.take(usize::from(*size_bytes)).map(Some)
    }

    fn long_string(&mut self, flag: u16) -> Result<Option<&'a [u8]>, DecodeError> {
        let Some(size_bytes) = self.chunk(flag)? else { return Ok(None) };
        let size_bytes = usize::try_from(u32::from_be_bytes(size_bytes)).map_err(|_| DecodeError::Truncated)?;
        self.take(size_bytes).map(Some)
    }

    fn chunk<const SIZE_BYTES: usize>(&mut self, flag: u16) -> Result<Option<[u8; SIZE_BYTES]>, DecodeError> {
        if self.flags & flag == 0 {
            return Ok(None);
        }
        let (value, rest) = self.rest.split_first_chunk().ok_or(DecodeError::Truncated)?;
        self.rest = rest;
        Ok(Some(*value))
    }

    fn take(&mut self, size_bytes: usize) -> Result<&'a [u8], DecodeError> {
        let (value, rest) = self.rest.split_at_checked(size_bytes).ok_or(DecodeError::Truncated)?;
        self.rest = rest;
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_the_flags_announce() {
        let view = View::parse(&[0x99, 0x00, 1, b't', 2, 7, 3, b'1', b'0', b'0']).unwrap();
        assert_eq!(view.content_type, Some(&b"t"[..]));
        assert_eq!((view.delivery_mode, view.priority), (Some(2), Some(7)));
        assert_eq!(view.expiration, Some(&b"100"[..]));
        assert_eq!(view.headers_at, 4);
    }

    #[test]
    fn refuses_unknown_flags_and_wrong_lengths() {
        assert_eq!(View::parse(&[0, 1]), Err(DecodeError::UnknownPropertyFlags));
        assert_eq!(View::parse(&[0, 2]), Err(DecodeError::UnknownPropertyFlags));
        assert_eq!(View::parse(&[0]), Err(DecodeError::Truncated));
        assert_eq!(View::parse(&[0x10, 0]), Err(DecodeError::Truncated));
        assert_eq!(View::parse(&[0, 0, 0]), Err(DecodeError::TrailingBytes));
        assert_eq!(View::parse(&[0x20, 0, 255, 255, 255, 255]), Err(DecodeError::Truncated));
    }
}

//! The properties of a message on its way in (validated) and out (the expiry counted down in place).

use braid_types::Timestamp;
use bytes::{Buf, Bytes, BytesMut};

use super::{Carrier, id, walk};
use crate::{Fault, codec::Reader};

/// Bytes of a topic alias property.
const ALIAS_BYTES: usize = 3;

/// Bytes of a will delay property.
const DELAY_BYTES: usize = 5;

/// What the endpoint needs to know of a PUBLISH's or a will's properties.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MessageProperties {
    /// Topic alias.
    pub(crate) alias: Option<u16>,
    /// Will delay interval.
    pub(crate) delay_s: u32,
    /// Message expiry interval.
    pub(crate) expiry_s: Option<u32>,
    /// Payload format indicator 1.
    pub(crate) is_text: bool,
    /// Where the property ends that belongs to the hop and not to the message: alias or will delay.
    hop_end: Option<usize>,
}

impl MessageProperties {
    /// Validates and reads `block`.
    pub(crate) fn decode(block: &[u8], carrier: Carrier) -> Result<Self, Fault> {
        let mut properties = Self::default();
        if block.is_empty() {
            return Ok(properties);
        }
        walk(block, carrier, |identifier, value, end| match identifier {
            id::TOPIC_ALIAS => {
                properties.alias = Some(value.two());
                properties.hop_end = Some(end);
            }
            id::WILL_DELAY => {
                properties.delay_s = value.number();
                properties.hop_end = Some(end);
            }
            id::MESSAGE_EXPIRY => properties.expiry_s = Some(value.number()),
            id::PAYLOAD_FORMAT => properties.is_text = value.number() == 1,
            _ => {}
        })?;
        Ok(properties)
    }

    /// The block as the message keeps it: the same bytes, without the property that belongs to the hop.
    pub(crate) fn kept(&self, block: Bytes) -> Bytes {
        let Some(end) = self.hop_end else { return block };
        let size = if self.alias.is_some() { ALIAS_BYTES } else { DELAY_BYTES };
        let (Some(before), Some(after)) = (block.get(..end.saturating_sub(size)), block.get(end..)) else {
            return block;
        };
        if before.is_empty() || after.is_empty() {
            let keep = if before.is_empty() { after } else { before };
            return block.slice_ref(keep);
        }
        let mut kept = BytesMut::with_capacity(before.len().saturating_add(after.len()));
        kept.extend_from_slice(before);
        kept.extend_from_slice(after);
        kept.freeze()
    }

    /// When a message with these properties that was read at `now` expires.
    pub(crate) fn expires_at(&self, now: Timestamp) -> Option<Timestamp> {
        self.expiry_s.map(|expiry_s| now.plus_ms(u64::from(expiry_s).saturating_mul(1000)))
    }
}

/// Whole seconds from `now` to `expires_at`, rounded up; at least 1, for who calls this knows that it has not come.
pub(crate) fn remaining_s(expires_at: Timestamp, now: Timestamp) -> u32 {
    u32::try_from(expires_at.since_ms(now).div_ceil(1000)).unwrap_or(u32::MAX).max(1)
}

/// The message expiry interval of a (valid) block: its value, and where the four bytes stand.
pub(crate) fn expiry(block: &[u8]) -> Option<(u32, usize)> {
    let mut reader = Reader::new(block);
    while !reader.is_empty() {
        let (identifier, value) = super::next(&mut reader).ok()?;
        if identifier == id::MESSAGE_EXPIRY {
            let end = block.len().saturating_sub(reader.rest().len());
            return Some((value.number(), end.saturating_sub(4)));
        }
    }
    None
}

/// Appends `block`, with the expiry interval (if it has one) counted down to what remains of it (MQTT-3.3.2-6).
pub(crate) fn put_counted_down(out: &mut BytesMut, block: &[u8], expires_at: Timestamp, now: Timestamp) {
    let start = out.len();
    out.extend_from_slice(block);
    if let Some((_, at)) = expiry(block)
        && let Some(place) = out.get_mut(start.saturating_add(at)..)
        && let Some(place) = place.first_chunk_mut::<4>()
    {
        *place = remaining_s(expires_at, now).to_be_bytes();
    }
}

/// Reads the block's length and cuts the block off `packet`, which stands at the length.
pub(crate) fn split_block(packet: &mut Bytes) -> Result<Bytes, Fault> {
    const SHORT: Fault = Fault::Malformed("the properties end early");
    if packet.first() == Some(&0) {
        packet.advance(1);
        return Ok(Bytes::new());
    }
    let mut reader = Reader::new(packet);
    let count = usize::try_from(reader.varint()?).map_err(|_| SHORT)?;
    let rest = reader.rest().len();
    if count > rest {
        return Err(SHORT);
    }
    packet.advance(packet.len().saturating_sub(rest));
    Ok(packet.split_to(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(block: &'static [u8], carrier: Carrier) -> Bytes {
        MessageProperties::decode(block, carrier).expect("valid").kept(Bytes::from_static(block))
    }

    #[test]
    fn the_hops_own_property_is_cut_out_and_the_rest_is_verbatim() {
        assert_eq!(kept(&[0x23, 0, 1], Carrier::Publish), Bytes::new());
        assert_eq!(kept(&[0x01, 1, 0x23, 0, 1], Carrier::Publish), &[0x01, 1][..]);
        assert_eq!(kept(&[0x23, 0, 1, 0x01, 1], Carrier::Publish), &[0x01, 1][..]);
        assert_eq!(kept(&[0x01, 0, 0x23, 0, 1, 0x02, 0, 0, 0, 9], Carrier::Publish), &[1, 0, 2, 0, 0, 0, 9][..]);
        assert_eq!(kept(&[0x01, 0, 0x18, 0, 0, 0, 5, 0x03, 0, 0], Carrier::Will), &[1, 0, 3, 0, 0][..]);
    }

    #[test]
    fn the_expiry_is_counted_down_in_place_and_rounded_up() {
        let block = [0x01, 1, 0x02, 0, 0, 0, 120, 0x03, 0, 1, b't'];
        let mut out = BytesMut::from(&b"x"[..]);
        put_counted_down(&mut out, &block, Timestamp(121_000), Timestamp(31_000));
        assert_eq!(&out[..], &[b'x', 0x01, 1, 0x02, 0, 0, 0, 90, 0x03, 0, 1, b't']);
        assert_eq!(remaining_s(Timestamp(1_500), Timestamp(0)), 2);
        assert_eq!(remaining_s(Timestamp(1), Timestamp(1)), 1);
    }
}

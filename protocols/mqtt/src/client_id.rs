//! Client ids for clients that send none (MQTT 5, 3.1.3.1). The randomness is the seed that the endpoint was given.

use braid_types::ConnectionId;
use bytes::{BufMut, Bytes, BytesMut};

/// `auto-` and 128 bits in the shape of a UUID, as Mosquitto makes them.
pub(crate) fn assigned(seed: u64, connection: ConnectionId) -> Bytes {
    let high = scramble(seed);
    let low = scramble(high ^ connection.0.rotate_left(32));
    let mut id = BytesMut::with_capacity(41);
    id.put_slice(b"auto-");
    for (position, byte) in high.to_be_bytes().into_iter().chain(low.to_be_bytes()).enumerate() {
        if matches!(position, 4 | 6 | 8 | 10) {
            id.put_u8(b'-');
        }
        id.put_u8(hexadecimal(byte >> 4));
        id.put_u8(hexadecimal(byte & 0x0F));
    }
    id.freeze()
}

/// The finaliser of `SplitMix64`: every input bit changes about half of the output bits.
fn scramble(seed: u64) -> u64 {
    let mut mixed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

fn hexadecimal(digit: u8) -> u8 {
    if digit < 10 { b'0'.wrapping_add(digit) } else { b'a'.wrapping_add(digit).wrapping_sub(10) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_differ_by_seed_and_connection() {
        let id = assigned(1, ConnectionId(1));
        assert_eq!(id.len(), 41);
        assert!(id.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-'));
        assert_eq!(id, assigned(1, ConnectionId(1)));
        assert_ne!(id, assigned(2, ConnectionId(1)));
        assert_ne!(id, assigned(1, ConnectionId(2)));
    }
}

//! Properties of the address mapping (SPEC section 4): one to one between any two protocols, byte-identical in one's own.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use braid_types::{Address, AddressError, Protocol, Wire, limits::ADDRESS_LEVELS_MAX};
use bytes::{Bytes, BytesMut};
use proptest::prelude::*;

const PROTOCOLS: [Protocol; 3] = [Protocol::Amqp, Protocol::Mqtt, Protocol::Nats];

/// Pieces that make escapes, repeated escapes, near-escapes and everything that a notation cannot hold likely.
const PIECES: [&[u8]; 36] = [
    b"",
    b"a",
    b"b",
    b".",
    b".",
    b"/",
    b"/",
    b"%",
    b"%",
    b"25",
    b"%25",
    b"%2525",
    b"20",
    b"%20",
    b"%2B",
    b"%2b",
    b"%2A",
    b"2A",
    b"*",
    b">",
    b"+",
    b"#",
    b" ",
    b"\x01",
    b"\0",
    b"\x7f",
    b"\xff",
    b"\xc3",
    b"\xa9",
    b"\xc2\x85",
    b"\xef\xbf\xbf",
    b"%C3",
    b"%A9",
    b"%FF",
    b"$",
    b"_INBOX",
];

fn text() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => prop::collection::vec(prop::sample::select(&PIECES[..]), 0..7).prop_map(|pieces| pieces.concat()),
        1 => prop::collection::vec(any::<u8>(), 0..12),
        1 => "[a-z%25./]{0,12}".prop_map(String::into_bytes),
    ]
}

fn read(protocol: Protocol, text: &[u8]) -> Option<Address> {
    Address::from_notation(protocol, text).ok()
}

fn write(address: &Address, protocol: Protocol) -> Bytes {
    address.to_notation(protocol).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn own_text_is_kept_and_every_crossing_comes_back(text in text()) {
        for own in PROTOCOLS {
            let Some(address) = read(own, &text) else { continue };
            prop_assert_eq!(write(&address, own), &text);
            for foreign in PROTOCOLS {
                let crossed = write(&address, foreign);
                let back = read(foreign, &crossed);
                prop_assert_eq!(back.as_ref(), Some(&address), "{:?} -> {:?}: {:?}", own, foreign, crossed);
            }
        }
    }

    #[test]
    fn different_texts_stay_different(first in text(), second in text()) {
        prop_assume!(first != second);
        for own in PROTOCOLS {
            let (Some(one), Some(other)) = (read(own, &first), read(own, &second)) else { continue };
            prop_assert_ne!(&one, &other);
            for foreign in PROTOCOLS {
                prop_assert_ne!(write(&one, foreign), write(&other, foreign));
            }
        }
    }

    #[test]
    fn byte_form_comes_back(text in text(), cut in 0_usize..40) {
        let Some(address) = read(Protocol::Amqp, &text) else { return Ok(()) };
        let mut out = BytesMut::new();
        address.encode(&mut out);
        let whole = out.freeze();
        let mut input = whole.clone();
        prop_assert_eq!(Address::decode(&mut input).unwrap(), address);
        prop_assert!(input.is_empty());
        if cut < whole.len() {
            prop_assert!(Address::decode(&mut whole.slice(..cut)).is_err());
        }
    }
}

#[test]
fn table_of_the_module_holds() {
    let rows: [(&[u8], &[u8], &[u8]); 22] = [
        (b"abc", b"abc", b"abc"),
        (b"a.b", b"a/b", b"a.b"),
        (b"a/b.c", b"a.b/c", b"a/b.c"),
        (b"x.a b", b"x/a b", b"x.a%20b"),
        (b"x.a\x01b", b"x/a%01b", b"x.a%01b"),
        (b"x.a+b.#", b"x/a%2Bb/%23", b"x.a+b.#"),
        (b"x.\xff", b"x/%FF", b"x.\xff"),
        (b"x.\xc3\xa9", "x/é".as_bytes(), b"x.\xc3\xa9"),
        (b"x.*.>", b"x/*/>", b"x.%2A.%3E"),
        (b"x.a*.>>", b"x/a*/>>", b"x.a*.>>"),
        (b"a..b", b"a//b", b"a.%.b"),
        (b"", b"%", b"%"),
        (b"%", b"%25", b"%25"),
        (b".", b"/", b"%.%"),
        (b"x.%20", b"x/%20", b"x.%2520"),
        (b"x.%2520", b"x/%2520", b"x.%252520"),
        (b"x.%2B", b"x/%252B", b"x.%252B"),
        (b"x.100%", b"x/100%", b"x.100%25"),
        (b"x.100%25", b"x/100%25", b"x.100%"),
        (b"x.100%2525", b"x/100%2525", b"x.100%252525"),
        (b"x.a %", b"x/a %", b"x.a%20%25"),
        (b"x.%2a", b"x/%2a", b"x.%252a"),
    ];
    for (amqp, mqtt, nats) in rows {
        let address = read(Protocol::Amqp, amqp).unwrap();
        assert_eq!(write(&address, Protocol::Mqtt), mqtt, "{address:?}");
        assert_eq!(write(&address, Protocol::Nats), nats, "{address:?}");
        assert_eq!(read(Protocol::Mqtt, mqtt).as_ref(), Some(&address));
        assert_eq!(read(Protocol::Nats, nats).as_ref(), Some(&address));
    }
}

#[test]
fn texts_that_a_notation_does_not_have_are_refused() {
    let mqtt: [&[u8]; 7] = [b"", b"a/+", b"a#", b"a\0", b"a\x1f", b"\xff", b"\xed\xa0\x80"];
    for text in mqtt {
        assert_eq!(Address::from_notation(Protocol::Mqtt, text), Err(AddressError::Malformed), "{text:?}");
    }
    let nats: [&[u8]; 8] = [b"", b"a..b", b".a", b"a.", b"a.*", b">", b"a b", b"a\r\n"];
    for text in nats {
        assert_eq!(Address::from_notation(Protocol::Nats, text), Err(AddressError::Malformed), "{text:?}");
    }
}

#[test]
fn limits_of_levels_and_bytes() {
    let levels = |count: usize| vec![b'.'; count - 1];
    assert!(read(Protocol::Amqp, &levels(ADDRESS_LEVELS_MAX)).is_some());
    assert_eq!(
        Address::from_notation(Protocol::Amqp, &levels(ADDRESS_LEVELS_MAX + 1)),
        Err(AddressError::TooManyLevels)
    );
    assert_eq!(Address::from_notation(Protocol::Amqp, &[b'a'; 256]), Err(AddressError::TooLong));
    assert_eq!(Address::from_notation(Protocol::Mqtt, &[b'a'; 65_536]), Err(AddressError::TooLong));
    let long = read(Protocol::Mqtt, &[b'a'; 65_535]).unwrap();
    assert_eq!(write(&long, Protocol::Nats).len(), 65_535);
    assert_eq!(long.to_notation(Protocol::Amqp), Err(AddressError::TooLong));
    let grows = read(Protocol::Mqtt, &[b' '; 65_535]).unwrap();
    assert_eq!(grows.to_notation(Protocol::Nats), Err(AddressError::TooLong));
    assert_eq!(Address::from_notation(Protocol::Nats, &[b'%'; 65_535]), Err(AddressError::TooLong));
}

/// A text that is an escape of an escape of ... thirty thousand times over is read in one pass, not in thirty thousand.
#[test]
fn repeated_escapes_cost_no_more_than_their_length() {
    let text = [b"%".as_slice(), &b"25".repeat(30_000), b"20"].concat();
    let address = read(Protocol::Nats, &text).unwrap();
    assert_eq!(address.levels().next().map(<[u8]>::len), Some(text.len() - 2));
    assert_eq!(write(&address, Protocol::Nats), text);
}

#[test]
fn byte_form_of_long_levels_is_the_only_one() {
    for length in [0, 1, 253, 254, 255, 256, 300, 65_533] {
        let text = [vec![b'a'; length], b"/b".to_vec()].concat();
        let address = read(Protocol::Mqtt, &text).unwrap();
        assert_eq!(address.levels().map(<[u8]>::len).collect::<Vec<_>>(), [length, 1]);
        let mut out = BytesMut::new();
        address.encode(&mut out);
        assert_eq!(Address::decode(&mut out.freeze()), Ok(address));
    }
    let corrupt: [&[u8]; 7] = [
        b"",
        b"\x02\0\0\0\x02a",
        b"\x00\0\0\0",
        b"\x02\0\0\0\x01.",
        b"\x04\0\0\0\xff\x01\0a",
        b"\x03\0\0\0\x01a\x01",
        b"\xff\xff\xff\xff\x01a",
    ];
    for bytes in corrupt {
        assert!(Address::decode(&mut Bytes::copy_from_slice(bytes)).is_err(), "{bytes:?}");
    }
}

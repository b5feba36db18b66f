//! Field tables: every type letter at its limits, limits of depth and number, and what comes back.

use braid_amqp::{
    DecodeError, field_table,
    limits::{TABLE_DEPTH_MAX, TABLE_FIELDS_MAX},
};
use braid_types::HeaderValue;
use bytes::{Bytes, BytesMut};
use proptest::prelude::*;

use crate::driver::text;

fn field(letter: u8, octets: &[u8]) -> Bytes {
    [&[1, b'k', letter][..], octets].concat().into()
}

fn decode(contents: &Bytes) -> Result<HeaderValue, DecodeError> {
    let decoded = field_table::decode(contents, contents).map(|mut table| table.remove(0).1);
    assert_eq!(field_table::validate(contents).err(), decoded.as_ref().err().copied());
    decoded
}

#[test]
fn every_letter_is_what_the_errata_say() {
    let integer = HeaderValue::Integer;
    let cases: Vec<(u8, Vec<u8>, HeaderValue)> = vec![
        (b't', vec![0], HeaderValue::Boolean(false)),
        (b't', vec![1], HeaderValue::Boolean(true)),
        (b'b', vec![0x80], integer(-128)),
        (b'b', vec![0xff], integer(-1)),
        (b'B', vec![0x80], integer(128)),
        (b'B', vec![0xff], integer(255)),
        (b's', vec![0x80, 0], integer(-32768)),
        (b's', vec![0xff, 0xff], integer(-1)),
        (b'u', vec![0xff, 0xff], integer(65535)),
        (b'I', vec![0x80, 0, 0, 0], integer(i64::from(i32::MIN))),
        (b'I', vec![0xff; 4], integer(-1)),
        (b'i', vec![0xff; 4], integer(i64::from(u32::MAX))),
        (b'l', vec![0xff; 8], integer(-1)),
        (b'L', vec![0xff; 8], integer(-1)),
        (b'l', i64::MIN.to_be_bytes().to_vec(), integer(i64::MIN)),
        (b'L', i64::MAX.to_be_bytes().to_vec(), integer(i64::MAX)),
        (b'f', 1.5_f32.to_be_bytes().to_vec(), HeaderValue::Float(1.5)),
        (b'd', (-2.25_f64).to_be_bytes().to_vec(), HeaderValue::Float(-2.25)),
        (b'D', vec![2, 0xff, 0xff, 0xff, 0xff], HeaderValue::Decimal { scale: 2, value: -1 }),
        (b'S', vec![0, 0, 0, 2, b'h', b'i'], HeaderValue::Text(text("hi"))),
        (b'S', vec![0, 0, 0, 0], HeaderValue::Text(text(""))),
        (b'x', vec![0, 0, 0, 1, 0xff], HeaderValue::Binary(Bytes::from_static(&[0xff]))),
        (b'T', vec![0xff; 8], HeaderValue::TimestampS(u64::MAX)),
        (b'V', vec![], HeaderValue::Void),
        (b'A', vec![0, 0, 0, 3, b'b', 1, b'V'], HeaderValue::List(vec![integer(1), HeaderValue::Void])),
        (b'F', vec![0, 0, 0, 4, 1, b'n', b'b', 7], HeaderValue::Table(vec![(text("n"), integer(7))])),
    ];
    for (letter, octets, expected) in cases {
        assert_eq!(decode(&field(letter, &octets)), Ok(expected.clone()), "{}", char::from(letter));
        if !octets.is_empty() {
            let short = field(letter, &octets[..octets.len() - 1]);
            assert_eq!(decode(&short), Err(DecodeError::Truncated), "{}", char::from(letter));
        }
        let mut encoded = BytesMut::new();
        field_table::encode(&vec![(text("k"), expected.clone())], &mut encoded);
        assert_eq!(decode(&encoded.freeze().slice(4..)), Ok(expected));
    }
}

#[test]
fn all_other_letters_are_unknown() {
    for letter in (0..=u8::MAX).filter(|letter| !b"tbBsuIilLfdDSxTVAF".contains(letter)) {
        assert_eq!(decode(&field(letter, &[0; 16])), Err(DecodeError::UnknownFieldType(letter)));
    }
}

fn nested(levels: usize, letter: u8) -> Bytes {
    let mut contents = Bytes::new();
    for _ in 1..levels {
        let mut outer = BytesMut::new();
        if letter == b'F' || contents.is_empty() {
            outer.extend_from_slice(&[1, b'k']);
        }
        outer.extend_from_slice(&[letter]);
        outer.extend_from_slice(&u32::try_from(contents.len()).unwrap().to_be_bytes());
        outer.extend_from_slice(&contents);
        contents = outer.freeze();
    }
    contents
}

#[test]
fn depth_and_number_are_limited() {
    assert!(decode(&nested(TABLE_DEPTH_MAX, b'F')).is_ok());
    assert_eq!(decode(&nested(TABLE_DEPTH_MAX + 1, b'F')), Err(DecodeError::TooDeep));
    assert_eq!(decode(&nested(20_000, b'F')), Err(DecodeError::TooDeep));
    let many = b"\x00V".repeat(TABLE_FIELDS_MAX);
    assert_eq!(decode(&many.clone().into()), Ok(HeaderValue::Void));
    let too_many = [&many[..], b"\x00V"].concat();
    assert_eq!(decode(&too_many.into()), Err(DecodeError::TooManyFields));
    let list = b"V".repeat(TABLE_FIELDS_MAX);
    let inside = field(b'A', &[&u32::try_from(list.len()).unwrap().to_be_bytes()[..], &list].concat());
    assert_eq!(decode(&inside), Err(DecodeError::TooManyFields));
}

#[test]
fn announced_lengths_beyond_the_end_are_truncated() {
    for letter in b"SxAF" {
        assert_eq!(decode(&field(*letter, &[0xff, 0xff, 0xff, 0xff, 1])), Err(DecodeError::Truncated));
    }
    assert_eq!(field_table::validate(&[200, b'k']), Err(DecodeError::Truncated));
    assert_eq!(field_table::validate(&[1, b'k']), Err(DecodeError::Truncated));
}

fn value() -> impl Strategy<Value = HeaderValue> {
    let leaf = prop_oneof![
        Just(HeaderValue::Void),
        any::<bool>().prop_map(HeaderValue::Boolean),
        any::<i64>().prop_map(HeaderValue::Integer),
        (-1e9_f64..1e9).prop_map(HeaderValue::Float),
        (any::<u8>(), any::<i32>()).prop_map(|(scale, value)| HeaderValue::Decimal { scale, value }),
        any::<Vec<u8>>().prop_map(|octets| HeaderValue::Text(octets.into())),
        any::<Vec<u8>>().prop_map(|octets| HeaderValue::Binary(octets.into())),
        any::<u64>().prop_map(HeaderValue::TimestampS),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        let named = (proptest::collection::vec(any::<u8>(), 0..20), inner.clone());
        prop_oneof![
            proptest::collection::vec(inner, 0..6).prop_map(HeaderValue::List),
            proptest::collection::vec(named, 0..6).prop_map(|fields| {
                HeaderValue::Table(fields.into_iter().map(|(name, value)| (name.into(), value)).collect())
            }),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded(values in proptest::collection::vec(value(), 0..8)) {
        let table: Vec<_> = values.into_iter().enumerate().map(|(at, value)| (text(&at.to_string()), value)).collect();
        let mut encoded = BytesMut::new();
        field_table::encode(&table, &mut encoded);
        let contents = encoded.freeze().slice(4..);
        prop_assert_eq!(field_table::validate(&contents), Ok(()));
        prop_assert_eq!(field_table::decode(&contents, &contents), Ok(table));
    }

    #[test]
    fn any_bytes_are_judged_alike_by_decode_and_validate(octets in any::<Vec<u8>>()) {
        let contents = Bytes::from(octets);
        let decoded = field_table::decode(&contents, &contents);
        prop_assert_eq!(field_table::validate(&contents).err(), decoded.err());
    }
}

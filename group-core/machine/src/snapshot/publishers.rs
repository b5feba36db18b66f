//! What a group remembers of its publishers, in a snapshot.

use braid_types::{CorruptBytes, Timestamp};
use bytes::{Bytes, BytesMut};

use crate::limits::{PUBLISHERS_PER_GROUP_MAX, TOKENS_PER_GROUP_MAX};
use crate::publishers::{Publishers, Remembered};
use crate::wire::{Field, put_count, take_count};

pub(super) fn put(publishers: Option<&Publishers>, out: &mut BytesMut) {
    publishers.is_some().put(out);
    let Some(publishers) = publishers else { return };
    put_count(publishers.sequences.iter().len(), out);
    for (name, time, sequence) in publishers.sequences.iter() {
        name.put(out);
        time.put(out);
        sequence.put(out);
    }
    put_count(publishers.tokens.iter().len(), out);
    for (name, time, ()) in publishers.tokens.iter() {
        name.put(out);
        time.put(out);
    }
}

pub(super) fn read(input: &mut Bytes) -> Result<Option<Publishers>, CorruptBytes> {
    if !bool::read(input)? {
        return Ok(None);
    }
    let sequences = read_remembered(input, PUBLISHERS_PER_GROUP_MAX, u64::read)?;
    let tokens = read_remembered(input, TOKENS_PER_GROUP_MAX, |_| Ok(()))?;
    Ok(Some(Publishers { sequences, tokens }))
}

fn read_remembered<V>(
    input: &mut Bytes,
    count_max: usize,
    read_value: impl Fn(&mut Bytes) -> Result<V, CorruptBytes>,
) -> Result<Remembered<V>, CorruptBytes> {
    let count = take_count(input)?;
    let mut remembered = Remembered::default();
    for _ in 0..count {
        let name = Bytes::read(input)?;
        let time = Timestamp::read(input)?;
        remembered.insert(&name, read_value(input)?, time, count_max);
    }
    if remembered.iter().len() != count {
        return Err(CorruptBytes { what: "number of publishers" });
    }
    Ok(remembered)
}

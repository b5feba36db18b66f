//! What is published: a body that says who published it, in which round and as which of its messages, and that shows by
//! itself whether it is whole: its size follows from its id, and a checksum covers all of it.
//!
//! Layout, big endian: round u32, producer u32, sequence u32, checksum u32, filler.

use crate::random::Random;

/// Bytes before the filler: the smallest body.
const HEAD_BYTES: usize = 16;

/// Largest body.
const BODY_BYTES_MAX: u64 = 20 * 1024;

/// The messages of one producer in one round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Stream {
    /// The run of the broker in which it was published.
    pub(crate) round: u32,
    /// Position of the producer.
    pub(crate) producer: u32,
}

/// One message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Id {
    /// Whose message.
    pub(crate) stream: Stream,
    /// Which of its messages, from 0.
    pub(crate) sequence: u32,
}

impl Id {
    /// Chance that belongs to this message alone.
    fn random(self) -> Random {
        let Stream { round, producer } = self.stream;
        Random::new(u64::from(round) << 40 ^ u64::from(producer) << 32 ^ u64::from(self.sequence))
    }

    /// Size of its body: most are small, one of 16 may be as large as bodies get here.
    fn size_bytes(self, random: &mut Random) -> usize {
        let high = match random.next() % 16 {
            0..12 => 512,
            12..15 => 4 * 1024,
            _ => BODY_BYTES_MAX,
        };
        usize::try_from(random.between(HEAD_BYTES as u64, high + 1)).unwrap_or(HEAD_BYTES)
    }

    /// Its body.
    pub(crate) fn body(self) -> Vec<u8> {
        let mut random = self.random();
        let size_bytes = self.size_bytes(&mut random);
        let mut body = Vec::with_capacity(size_bytes + 8);
        for number in [self.stream.round, self.stream.producer, self.sequence, 0] {
            body.extend_from_slice(&number.to_be_bytes());
        }
        while body.len() < size_bytes {
            body.extend_from_slice(&random.next().to_be_bytes());
        }
        body.truncate(size_bytes);
        let sum = checksum(&body);
        body[12..HEAD_BYTES].copy_from_slice(&sum.to_be_bytes());
        body
    }

    /// Whose body that is; `None` when it is not one of ours, or damaged.
    pub(crate) fn read(body: &[u8]) -> Option<Self> {
        let number = |at: usize| Some(u32::from_be_bytes(body.get(at..at + 4)?.try_into().ok()?));
        let id = Self { stream: Stream { round: number(0)?, producer: number(4)? }, sequence: number(8)? };
        let is_whole = body.len() == id.size_bytes(&mut id.random()) && number(12)? == checksum(body);
        is_whole.then_some(id)
    }
}

/// Over all bytes but those of the checksum itself.
fn checksum(body: &[u8]) -> u32 {
    let (head, filler) = body.split_at(HEAD_BYTES);
    let words = head[..12].chunks(8).chain(filler.chunks(8));
    let sum = words.fold(body.len() as u64, |sum, word| {
        let mut bytes = [0; 8];
        bytes[..word.len()].copy_from_slice(word);
        (sum ^ u64::from_be_bytes(bytes)).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(29)
    });
    let [a, b, c, d, e, f, g, h] = sum.to_be_bytes();
    u32::from_be_bytes([a ^ e, b ^ f, c ^ g, d ^ h])
}

#[test]
fn a_body_says_whose_it_is_and_whether_it_is_whole() {
    for sequence in 0..64 {
        let id = Id { stream: Stream { round: 7, producer: 3 }, sequence };
        let body = id.body();
        assert_eq!(Id::read(&body), Some(id));
        assert_eq!(Id::read(&body[..body.len() - 1]), None, "cut");
        for at in [0, 11, 12, 15, body.len() / 2, body.len() - 1] {
            let mut damaged = body.clone();
            damaged[at] ^= 0x10;
            assert_eq!(Id::read(&damaged), None, "byte {at} of {}", body.len());
        }
    }
}

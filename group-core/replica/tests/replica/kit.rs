//! A machine to host, and short ways to start a replica of it.

use std::{collections::BTreeSet, path::Path, sync::Arc};

use braid_replica::{EffectSink, Error, Options, Replica};
use braid_types::{CorruptBytes, Machine, Stamp, Timestamp, Wire};
use bytes::{Buf, BufMut, Bytes, BytesMut};
use parking_lot::Mutex;

/// A set of numbers, and when the last one came.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Ledger {
    pub(crate) numbers: BTreeSet<u64>,
    pub(crate) last: Timestamp,
}

/// Notes a number; the filling makes it as long as one wants.
#[derive(Clone, Debug)]
pub(crate) struct Note {
    pub(crate) number: u64,
    pub(crate) filling: usize,
}

pub(crate) fn note(number: u64) -> Note {
    Note { number, filling: 0 }
}

/// What encodes like this cannot be decoded.
pub(crate) const UNREADABLE: u64 = u64::MAX;

impl Wire for Note {
    fn encode(&self, out: &mut BytesMut) {
        out.put_u64_le(self.number);
        out.put_bytes(0, self.filling);
    }

    fn decode(input: &mut Bytes) -> Result<Self, CorruptBytes> {
        let corrupt = CorruptBytes { what: "note" };
        let number = input.try_get_u64_le().map_err(|_| corrupt)?;
        if number == UNREADABLE { Err(corrupt) } else { Ok(Self { number, filling: input.len() }) }
    }
}

impl Machine for Ledger {
    type Command = Note;
    type Reply = usize;
    type Effect = u64;

    fn apply(&mut self, stamp: Stamp, command: Note, effects: &mut Vec<u64>) -> usize {
        assert!(stamp.time >= self.last, "time went back");
        self.last = stamp.time;
        self.numbers.insert(command.number);
        effects.push(command.number);
        self.numbers.len()
    }

    fn snapshot(&self, out: &mut BytesMut) {
        out.put_u64_le(self.last.0);
        for number in &self.numbers {
            out.put_u64_le(*number);
        }
    }

    fn restore(snapshot: &mut Bytes) -> Result<Self, CorruptBytes> {
        let corrupt = CorruptBytes { what: "ledger" };
        let last = Timestamp(snapshot.try_get_u64_le().map_err(|_| corrupt)?);
        let mut numbers = BTreeSet::new();
        while !snapshot.is_empty() {
            numbers.insert(snapshot.try_get_u64_le().map_err(|_| corrupt)?);
        }
        Ok(Self { numbers, last })
    }
}

/// A later version, which knows more commands.
#[derive(Debug, Default)]
pub(crate) struct Newer(pub(crate) u64);

pub(crate) struct NewerNote(pub(crate) u64);

impl Wire for NewerNote {
    fn encode(&self, out: &mut BytesMut) {
        out.put_u64_le(self.0);
    }

    fn decode(input: &mut Bytes) -> Result<Self, CorruptBytes> {
        Ok(Self(input.try_get_u64_le().map_err(|_| CorruptBytes { what: "newer note" })?))
    }
}

impl Machine for Newer {
    type Command = NewerNote;
    type Reply = u64;
    type Effect = ();

    fn apply(&mut self, _stamp: Stamp, _command: NewerNote, _effects: &mut Vec<()>) -> u64 {
        self.0 += 1;
        self.0
    }

    fn snapshot(&self, out: &mut BytesMut) {
        out.put_u64_le(self.0);
    }

    fn restore(snapshot: &mut Bytes) -> Result<Self, CorruptBytes> {
        Ok(Self(NewerNote::decode(snapshot)?.0))
    }
}

pub(crate) fn file(directory: &Path) -> std::path::PathBuf {
    directory.join("ledger.redb")
}

pub(crate) fn options(directory: &Path) -> Options {
    Options { entries_per_snapshot: 200, ..Options::new(file(directory), 1) }
}

pub(crate) async fn open(directory: &Path) -> Result<Replica<Ledger>, Error> {
    Replica::open(options(directory), Box::new(|_| {})).await
}

/// A sink that keeps what it is given.
pub(crate) fn recorder() -> (EffectSink<Ledger>, Arc<Mutex<Vec<u64>>>) {
    let record = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&record);
    (Box::new(move |effect| kept.lock().push(*effect)), record)
}

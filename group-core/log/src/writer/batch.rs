//! Writing one batch: its mark, then header after header with its record, padded to a block.

use std::io::IoSlice;

use super::{Sealed, Writer, advance};
use crate::{
    Callback, Error,
    engine::{Queued, complete::Written},
    format::{BLOCK_BYTES, ChainEnd, HEADER_BYTES, Header, Kind, Mark, round_up},
    limits::RECORD_COPIED_BYTES_MAX,
};

static ZEROS: [u8; BLOCK_BYTES] = [0; BLOCK_BYTES];

/// A batch as it is written: small things copied into one buffer, large records by reference.
#[derive(Debug, Default)]
struct Layout {
    copied: Vec<u8>,
    /// After how many copied bytes which record comes.
    referred: Vec<(usize, usize)>,
}

impl Writer {
    pub(super) fn write_batch(&mut self, batch: Vec<Queued>, ends: Vec<ChainEnd>) -> Result<(), Error> {
        let previous = std::mem::take(&mut self.current.previous);
        let mark_bytes = Mark::bytes_for(ends.len(), previous.len());
        let record_bytes: usize = batch.iter().map(|queued| queued.record.size_bytes()).sum();
        let extent = advance(0, mark_bytes + record_bytes);
        let mark = Mark { kind: Kind::Batch, number: self.number, extent, own: ends, previous };
        let start = self.current.offset;
        let mut layout = Layout::default();
        mark.encode(self.current.place(start), &mut layout.copied);
        let mut offset = advance(start, mark_bytes);
        let mut written = Vec::with_capacity(batch.len());
        for (number, queued) in batch.into_iter().enumerate() {
            layout.add(number, &queued, self.current.place(offset));
            let size = queued.record.size_bytes();
            written.push(Written { queued, offset });
            offset = advance(offset, size);
        }
        let total = round_up(extent as usize, BLOCK_BYTES);
        let mut pieces = layout.pieces(&written, total - extent as usize);
        let result = crate::disk::write_all(&*self.current.file, u64::from(start), &mut pieces)
            .and_then(|()| self.current.file.sync_data());
        drop(pieces);
        if let Err(error) = result {
            let callbacks: Vec<Callback> = written.into_iter().filter_map(|written| written.queued.done).collect();
            return Err(self.fail(&error, callbacks));
        }
        self.current.previous = mark.own;
        self.current.offset = advance(start, total);
        self.number += 1;
        self.sealed = Sealed::No;
        self.complete(written);
        Ok(())
    }
}

impl Layout {
    fn add(&mut self, number: usize, queued: &Queued, place: crate::format::Place) {
        let record = &queued.record;
        let header = Header {
            kind: queued.kind,
            head_crc: record.head_crc,
            head_length: record.head_length,
            body_length: record.body_length,
            body_count: record.body_count,
            partition: queued.partition,
            index: queued.index,
            term: queued.term,
            chain: queued.chain,
        };
        debug_assert_eq!(header.record_bytes(), HEADER_BYTES + record.bytes().len(), "a record is padded");
        header.encode(place, &mut self.copied);
        if record.bytes().len() <= RECORD_COPIED_BYTES_MAX {
            self.copied.extend_from_slice(record.bytes());
        } else {
            self.referred.push((self.copied.len(), number));
        }
    }

    fn pieces<'a>(&'a self, records: &'a [Written], padding: usize) -> Vec<IoSlice<'a>> {
        let mut pieces = Vec::with_capacity(2 * self.referred.len() + 2);
        let mut from = 0;
        for (upto, number) in &self.referred {
            pieces.push(IoSlice::new(self.copied.get(from..*upto).unwrap_or_default()));
            pieces.extend(records.get(*number).map(|written| IoSlice::new(written.queued.record.bytes())));
            from = *upto;
        }
        pieces.push(IoSlice::new(self.copied.get(from..).unwrap_or_default()));
        pieces.push(IoSlice::new(ZEROS.get(..padding).unwrap_or_default()));
        pieces
    }
}

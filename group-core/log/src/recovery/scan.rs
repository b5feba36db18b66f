//! Reading one segment: from mark to mark.

use super::{Replay, walk::walk};
use crate::{
    format::{BLOCK_BYTES, ChainEnd, DATA_OFFSET, HEADER_BYTES, Header, Kind, Mark, Place, length_u32, round_up},
    window::Window,
};

/// A segment that was read.
#[derive(Debug)]
pub(crate) struct Scanned {
    /// Where its data ends.
    pub(crate) end: u32,
    /// A mark says so.
    pub(crate) is_ended: bool,
    /// Where its last batch begins.
    pub(crate) last_batch: u32,
    /// Something behind the end was torn.
    pub(crate) is_torn: bool,
    /// Of its last mark.
    pub(crate) number: u64,
    /// What its last batch held.
    pub(crate) previous: Vec<ChainEnd>,
}

/// See the file's head.
#[derive(Debug)]
pub(crate) struct Scan {
    window: Window,
    segment: u32,
    salt: u32,
    at: u32,
    /// Of the last mark.
    number: u64,
    is_first: bool,
    last_batch: u32,
    previous: Vec<ChainEnd>,
}

impl Scan {
    /// A scan of the segment that comes after mark `number`.
    pub(crate) fn new(window: Window, segment: u32, salt: u32, number: u64) -> Self {
        let (at, last_batch) = (DATA_OFFSET, DATA_OFFSET);
        Self { window, segment, salt, at, number, is_first: true, last_batch, previous: Vec::new() }
    }

    /// The number of the first mark; `None`: there is none.
    pub(crate) fn first_number(&mut self) -> Option<u64> {
        self.next_mark(DATA_OFFSET).map(|(_, mark)| mark.number)
    }

    /// Reads it all. `is_last`: nothing was written after it, so its end may be torn.
    pub(crate) fn run(mut self, is_last: bool, replay: &mut Replay<'_>) -> Scanned {
        loop {
            let found = self.mark_at(self.at).filter(|mark| mark.number > self.number);
            match found {
                Some(mark) if mark.kind == Kind::Batch => {
                    if !self.batch(mark, is_last, replay) {
                        // Whatever is behind was not confirmed. An end may say that it was cut off before.
                        let end = self.next_mark(self.at.saturating_add(length_u32(BLOCK_BYTES)));
                        self.number = end.as_ref().map_or(self.number, |(_, end)| end.number);
                        return self.finish(end.is_some(), end.is_none());
                    }
                }
                Some(mark) => {
                    replay.check_ends(self.segment, self.at, &mark.previous, false);
                    let is_ended = mark.kind == Kind::End;
                    if is_ended {
                        self.number = mark.number;
                    }
                    return self.finish(is_ended, false);
                }
                None => match self.next_mark(self.at) {
                    Some((_, mark)) if mark.kind == Kind::End && mark.extent <= self.at => {
                        replay.check_ends(self.segment, self.at, &mark.previous, false);
                        self.number = mark.number;
                        return self.finish(true, false);
                    }
                    Some((offset, mark)) => self.hole(offset, &mark, replay),
                    None => {
                        if !is_last {
                            replay.suspect_all(self.segment, self.at);
                        }
                        let is_torn = self.window.bytes(self.at, BLOCK_BYTES).iter().any(|byte| *byte != 0);
                        return self.finish(false, is_last && is_torn);
                    }
                },
            }
        }
    }

    /// Applies the batch that begins here. `false`: it is torn, and nothing of it was applied.
    fn batch(&mut self, mark: Mark, is_last: bool, replay: &mut Replay<'_>) -> bool {
        let (start, extent) = (self.at, mark.extent as usize);
        let next = start.saturating_add(length_u32(round_up(extent, BLOCK_BYTES)));
        let place = Place { offset: start.saturating_add(length_u32(mark.size_bytes())), ..self.place(start) };
        let length = extent.saturating_sub(mark.size_bytes());
        self.begin_batch(mark.number, replay);
        let is_sound = {
            let walk = walk(self.window.bytes(place.offset, length), place);
            let is_sound = walk.is_sound();
            if is_sound {
                walk.found.iter().for_each(|found| replay.apply(self.segment, found));
            }
            is_sound
        };
        if !is_sound {
            if self.is_torn(start, is_last) {
                return false;
            }
            let walk = walk(self.window.bytes(place.offset, length), place);
            walk.found.iter().for_each(|found| replay.apply(self.segment, found));
        }
        replay.check_ends(self.segment, start, &mark.own, true);
        self.previous = mark.own;
        self.number = mark.number;
        (self.last_batch, self.at) = (start, next);
        true
    }

    /// Whether a batch that is not whole was never confirmed: nothing was begun after it, or what was begun is an end
    /// that cut it off.
    fn is_torn(&mut self, start: u32, is_last: bool) -> bool {
        match self.next_mark(start.saturating_add(length_u32(BLOCK_BYTES))) {
            Some((_, mark)) => mark.kind == Kind::End && mark.extent <= start,
            None => is_last,
        }
    }

    /// Applies what can be read between here and the mark that was found behind something unreadable.
    fn hole(&mut self, offset: u32, mark: &Mark, replay: &mut Replay<'_>) {
        let limit = if mark.kind == Kind::End { mark.extent } else { offset };
        let (start, place) = (self.at, self.place(self.at));
        // Its own number is that of the mark that should come next; those before it are lost.
        let lost = mark.number.saturating_sub(self.number + 1);
        let is_counted = !self.is_first || replay.is_counted(self.number);
        self.begin_batch(self.number + 1, replay);
        let walk = walk(self.window.bytes(start, limit.saturating_sub(start) as usize), place);
        for found in &walk.found {
            replay.apply(self.segment, found);
        }
        let is_counted = is_counted && lost <= 1;
        if !is_counted {
            replay.suspect_all(self.segment, start);
        }
        replay.check_ends(self.segment, start, &mark.previous, is_counted);
        self.previous.clone_from(&mark.previous);
        self.number = mark.number - 1;
        self.at = limit;
    }

    fn begin_batch(&mut self, number: u64, replay: &mut Replay<'_>) {
        replay.begin_batch();
        if std::mem::take(&mut self.is_first) && number != self.number + 1 {
            replay.note_break();
        }
    }

    fn place(&self, offset: u32) -> Place {
        Place { segment: self.segment, salt: self.salt, offset }
    }

    fn mark_at(&mut self, offset: u32) -> Option<Mark> {
        let place = self.place(offset);
        let header = Header::decode(self.window.bytes(offset, HEADER_BYTES), place)?;
        if header.kind.is_record() {
            return None;
        }
        let head = offset.saturating_add(length_u32(HEADER_BYTES));
        Mark::decode(&header, self.window.bytes(head, header.head_length as usize))
    }

    /// The first mark at or after `offset` that is not older than what was read.
    fn next_mark(&mut self, offset: u32) -> Option<(u32, Mark)> {
        let mut at = offset;
        while at < self.window.end() {
            if let Some(mark) = self.mark_at(at).filter(|mark| mark.number > self.number) {
                return Some((at, mark));
            }
            at = at.saturating_add(length_u32(BLOCK_BYTES));
        }
        None
    }

    fn finish(self, is_ended: bool, is_torn: bool) -> Scanned {
        let Self { at: end, last_batch, number, previous, .. } = self;
        Scanned { end, is_ended, last_batch, is_torn, number, previous }
    }
}

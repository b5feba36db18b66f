//! The names of the log's files. A name says what a file is; nothing else is ever touched (SPEC section 8, P3).
//!
//! ```text
//! segment-<number>.wal            holds records, or is ready to
//! spare-<number>.wal              holds nothing
//! ballast                         takes up room
//! snapshot-<life>-<index>         a snapshot's manifest
//! parts-<life>-<number>           parts that manifests refer to
//! making-<life>                   a manifest that is not finished
//! ```
//!
//! A life is `<partition>-<birth>`: a partition that was removed and begins anew never takes up files of its former
//! life.

use std::fmt;

use braid_types::{LogIndex, PartitionId};

pub(crate) const BALLAST: &str = "ballast";

/// One life of a partition: which, and the number of the record that ended the life before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Life {
    pub(crate) partition: PartitionId,
    pub(crate) birth: u64,
}

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    Segment(u32),
    Spare(u32),
    Ballast,
    Snapshot(Life, LogIndex),
    Parts(Life, u32),
    Making(Life),
}

pub(crate) fn segment(number: u32) -> String {
    format!("segment-{number:08x}.wal")
}

pub(crate) fn spare(number: u32) -> String {
    format!("spare-{number:08x}.wal")
}

pub(crate) fn snapshot(life: Life, index: LogIndex) -> String {
    format!("snapshot-{life}-{:016x}", index.0)
}

pub(crate) fn parts(life: Life, number: u32) -> String {
    format!("parts-{life}-{number:08x}")
}

pub(crate) fn making(life: Life) -> String {
    format!("making-{life}")
}

impl fmt::Display for Life {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}-{:016x}", self.partition.0, self.birth)
    }
}

/// What the file of that name is; `None`: not ours.
pub(crate) fn kind_of(name: &str) -> Option<FileKind> {
    if name == BALLAST {
        return Some(FileKind::Ballast);
    }
    let mut pieces = name.strip_suffix(".wal").unwrap_or(name).split('-');
    let kind = pieces.next()?;
    let numbers: Vec<u64> = pieces.map(|piece| u64::from_str_radix(piece, 16).ok()).collect::<Option<_>>()?;
    let small = |number: u64| u32::try_from(number).ok();
    let life = |partition, birth| Some(Life { partition: PartitionId(small(partition)?), birth });
    match (kind, numbers.as_slice()) {
        ("segment", [number]) => Some(FileKind::Segment(small(*number)?)),
        ("spare", [number]) => Some(FileKind::Spare(small(*number)?)),
        ("making", [partition, birth]) => Some(FileKind::Making(life(*partition, *birth)?)),
        ("snapshot", [partition, birth, index]) => {
            Some(FileKind::Snapshot(life(*partition, *birth)?, LogIndex(*index)))
        }
        ("parts", [partition, birth, number]) => Some(FileKind::Parts(life(*partition, *birth)?, small(*number)?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_they_are() {
        let (life, index) = (Life { partition: PartitionId(7), birth: 3 }, LogIndex(u64::MAX));
        for (name, kind) in [
            (segment(1), FileKind::Segment(1)),
            (spare(u32::MAX), FileKind::Spare(u32::MAX)),
            (snapshot(life, index), FileKind::Snapshot(life, index)),
            (parts(life, 3), FileKind::Parts(life, 3)),
            (making(life), FileKind::Making(life)),
            (BALLAST.to_owned(), FileKind::Ballast),
        ] {
            assert_eq!(kind_of(&name), Some(kind), "{name}");
        }
        for name in ["segment", "lost+found", "snapshot-1-2", "segment-xyz.wal", "ballast-1", "spare-123456789.wal", ""]
        {
            assert_eq!(kind_of(name), None, "{name}");
        }
    }
}

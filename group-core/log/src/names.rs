//! The names of the log's files. A name says what a file is; nothing else is ever touched (SPEC section 8, P3).
//!
//! ```text
//! segment-<number>.wal            holds records, or is ready to
//! spare-<number>.wal              holds nothing
//! ballast                         takes up room
//! snapshot-<partition>-<index>    a snapshot's manifest
//! parts-<partition>-<number>      parts that manifests refer to
//! making-<partition>              a manifest that is not finished
//! ```

use braid_types::{LogIndex, PartitionId};

pub(crate) const BALLAST: &str = "ballast";

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    Segment(u32),
    Spare(u32),
    Ballast,
    Snapshot(PartitionId, LogIndex),
    Parts(PartitionId, u32),
    Making(PartitionId),
}

pub(crate) fn segment(number: u32) -> String {
    format!("segment-{number:08x}.wal")
}

pub(crate) fn spare(number: u32) -> String {
    format!("spare-{number:08x}.wal")
}

pub(crate) fn snapshot(partition: PartitionId, index: LogIndex) -> String {
    format!("snapshot-{:08x}-{:016x}", partition.0, index.0)
}

pub(crate) fn parts(partition: PartitionId, number: u32) -> String {
    format!("parts-{:08x}-{number:08x}", partition.0)
}

pub(crate) fn making(partition: PartitionId) -> String {
    format!("making-{:08x}", partition.0)
}

/// What the file of that name is; `None`: not ours.
pub(crate) fn kind_of(name: &str) -> Option<FileKind> {
    let number = |text: &str| u32::from_str_radix(text, 16).ok();
    let kind = match name.split_once('-') {
        None if name == BALLAST => FileKind::Ballast,
        None => return None,
        Some(("segment", rest)) => FileKind::Segment(number(rest.strip_suffix(".wal")?)?),
        Some(("spare", rest)) => FileKind::Spare(number(rest.strip_suffix(".wal")?)?),
        Some(("making", rest)) => FileKind::Making(PartitionId(number(rest)?)),
        Some(("snapshot", rest)) => {
            let (partition, index) = rest.split_once('-')?;
            let index = u64::from_str_radix(index, 16).ok()?;
            FileKind::Snapshot(PartitionId(number(partition)?), LogIndex(index))
        }
        Some(("parts", rest)) => {
            let (partition, number_text) = rest.split_once('-')?;
            FileKind::Parts(PartitionId(number(partition)?), number(number_text)?)
        }
        Some(_) => return None,
    };
    Some(kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_they_are() {
        let (partition, index) = (PartitionId(7), LogIndex(u64::MAX));
        for (name, kind) in [
            (segment(1), FileKind::Segment(1)),
            (spare(u32::MAX), FileKind::Spare(u32::MAX)),
            (snapshot(partition, index), FileKind::Snapshot(partition, index)),
            (parts(partition, 3), FileKind::Parts(partition, 3)),
            (making(partition), FileKind::Making(partition)),
            (BALLAST.to_owned(), FileKind::Ballast),
        ] {
            assert_eq!(kind_of(&name), Some(kind));
        }
        for name in ["segment-1", "lost+found", "snapshot-1", "segment-xyz.wal", "ballast-1", ""] {
            assert_eq!(kind_of(name), None, "{name}");
        }
    }
}

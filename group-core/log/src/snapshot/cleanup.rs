//! Finding snapshots at a start, and removing what nothing refers to.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use braid_types::{LogIndex, PartitionId};

use super::Manifest;
use crate::{
    Damage, Error,
    disk::{Disk, read_exact},
    engine::Engine,
    names::{self, FileKind, Life},
};

/// Puts each partition's snapshot into the engine; removes what a crash left. A damaged one takes its partition out of
/// service, and nothing of that partition is removed.
pub(crate) fn load(disk: &dyn Disk, identity: u128, files: &[FileKind], engine: &mut Engine) -> Result<(), Error> {
    let mut newest: BTreeMap<PartitionId, LogIndex> = BTreeMap::new();
    for file in files {
        if let FileKind::Snapshot(life, index) = file
            && is_alive(engine, *life)
        {
            let known = newest.entry(life.partition).or_default();
            *known = (*index).max(*known);
        }
    }
    let mut needed: BTreeMap<PartitionId, BTreeSet<u32>> = BTreeMap::new();
    for (partition, index) in &newest {
        let found = engine.partitions.entry(*partition).or_default();
        let life = Life { partition: *partition, birth: found.birth };
        if let Some(manifest) = read(disk, identity, life, *index) {
            needed.insert(*partition, manifest.packs().into_keys().collect());
            found.snapshot = Some(Arc::new(manifest));
        } else {
            let what = "the snapshot is damaged";
            let (partition, index) = (*partition, Some(*index));
            engine.damage(Damage { partition, segment: 0, offset: 0, index, position: None, what });
        }
    }
    for file in files {
        let is_left_over = match file {
            FileKind::Making(_) => true,
            FileKind::Snapshot(life, _) | FileKind::Parts(life, _) if engine.is_damaged(life.partition) => false,
            FileKind::Snapshot(life, index) => !is_alive(engine, *life) || newest.get(&life.partition) != Some(index),
            FileKind::Parts(life, number) => {
                let is_needed = needed.get(&life.partition).is_some_and(|needed| needed.contains(number));
                !is_alive(engine, *life) || !is_needed
            }
            FileKind::Segment(_) | FileKind::Spare(_) | FileKind::Ballast => false,
        };
        if is_left_over {
            let name = name_of(*file);
            disk.remove(&name).map_err(|error| Error::io(&name, &error))?;
        }
    }
    Ok(())
}

/// Whether it is the life that its partition is in.
fn is_alive(engine: &Engine, life: Life) -> bool {
    engine
        .partitions
        .get(&life.partition)
        .map_or(life.birth == 0, |found| !found.is_removed && found.birth == life.birth)
}

/// Removes all snapshot files of a partition that is removed.
pub(crate) fn remove_files(disk: &dyn Disk, partition: PartitionId) -> std::io::Result<()> {
    for name in disk.list()? {
        let is_its = match names::kind_of(&name) {
            Some(FileKind::Snapshot(found, _) | FileKind::Parts(found, _) | FileKind::Making(found)) => {
                found.partition == partition
            }
            _ => false,
        };
        if is_its {
            disk.remove(&name)?;
        }
    }
    Ok(())
}

fn name_of(file: FileKind) -> String {
    match file {
        FileKind::Making(life) => names::making(life),
        FileKind::Snapshot(life, index) => names::snapshot(life, index),
        FileKind::Parts(life, number) => names::parts(life, number),
        FileKind::Segment(number) => names::segment(number),
        FileKind::Spare(number) => names::spare(number),
        FileKind::Ballast => names::BALLAST.to_owned(),
    }
}

fn read(disk: &dyn Disk, identity: u128, life: Life, index: LogIndex) -> Option<Manifest> {
    let file = disk.open(&names::snapshot(life, index)).ok()?;
    let mut bytes = vec![0; usize::try_from(file.size_bytes().ok()?).ok()?];
    read_exact(&*file, 0, &mut bytes).ok()?;
    let manifest = Manifest::decode(&bytes, identity)?;
    (manifest.life == life && manifest.meta.last == index).then_some(manifest)
}

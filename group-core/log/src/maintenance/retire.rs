//! Dead segments: their files become spare ones.

use std::sync::Arc;

use super::Maintenance;
use crate::{Error, engine::Engine, names};

impl Maintenance {
    /// Takes one dead segment out of the log. Whether there was one.
    pub(super) fn retire(&mut self) -> Result<bool, Error> {
        let Some(segment) = next_dead(&mut self.inner.lock()) else { return Ok(false) };
        let disk = &self.inner.disk;
        let (old, new) = (names::segment(segment), names::spare(segment));
        let done = disk.rename(&old, &new).and_then(|()| disk.sync_directory());
        let is_done = done.is_ok();
        let worked = self.settle(&old, done)?;
        if is_done {
            let mut engine = self.inner.lock();
            engine.segments.remove(segment);
            engine.pool.spares.push_back(segment);
            engine.statistics.retired += 1;
        }
        Ok(worked)
    }
}

impl Maintenance {
    /// Removes the snapshot files of one partition whose removal is durable. Whether there was one.
    pub(super) fn discard(&mut self) -> Result<bool, Error> {
        let partition = {
            let mut engine = self.inner.lock();
            let durable = engine.queue.durable;
            let Some((_, partition)) = engine.discarded.pop_front_if(|(since, _)| *since <= durable) else {
                return Ok(false);
            };
            // It may have begun anew; then what is left over goes with the next start.
            if engine.partitions.get(&partition).is_some_and(|found| !found.is_removed) {
                return Ok(true);
            }
            partition
        };
        let done = crate::snapshot::remove_files(&*self.inner.disk, partition);
        self.settle("snapshots of a removed partition", done)
    }
}

/// A segment that is dead, with all that made it so on disk, and that nobody reads.
fn next_dead(engine: &mut Engine) -> Option<u32> {
    let (submitted, durable) = (engine.queue.submitted, engine.queue.durable);
    let Engine { partitions, segments, .. } = engine;
    segments.iter_mut().find_map(|(id, segment)| {
        if !segment.is_dead() {
            return None;
        }
        let since = *segment.dead_since.get_or_insert(submitted);
        let is_kept = Arc::strong_count(&segment.readers) > 1
            || segment.partitions.iter().any(|id| partitions.get(id).is_some_and(|found| found.damage.is_some()));
        (durable >= since && !is_kept).then_some(id)
    })
}

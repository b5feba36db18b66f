//! The last snapshot: one, replaced as a whole.

use std::io;

use bytes::Bytes;

use super::{Store, corrupt, on_disk, put, record};
use crate::types::{Snapshot, SnapshotMeta};

pub(super) const META: &str = "snapshot.meta";
pub(super) const DATA: &str = "snapshot.data";

impl Store {
    /// Replaces the snapshot. It is durable when this returns.
    pub(crate) async fn save_snapshot(&self, meta: SnapshotMeta, data: Bytes) -> io::Result<()> {
        let store = self.clone();
        on_disk(move || {
            store.change(|table, _| {
                put(table, META, &record::snapshot_meta(&meta))?;
                put(table, DATA, &data)
            })
        })
        .await
    }

    /// The snapshot, if one was ever taken.
    pub(crate) fn read_snapshot(&self) -> io::Result<Option<Snapshot>> {
        let Some(meta) = self.read_meta(META)? else {
            return Ok(None);
        };
        let meta = record::read_snapshot_meta(meta).map_err(corrupt)?;
        let snapshot = self.read_meta(DATA)?.ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidData, "there is a description of a snapshot, but no snapshot")
        })?;
        Ok(Some(Snapshot { meta, snapshot }))
    }
}

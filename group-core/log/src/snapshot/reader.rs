//! Reading a snapshot. It can be read to the end also when a newer one takes its place meanwhile.

use std::{collections::BTreeMap, io, sync::Arc};

use bytes::Bytes;

use super::{Manifest, SnapshotMeta};
use crate::{
    Damage, Error,
    disk::{DiskFile, read_exact},
    inner::Inner,
    names,
};

/// A snapshot that is read.
#[derive(Debug)]
pub struct SnapshotReader {
    inner: Arc<Inner>,
    manifest: Arc<Manifest>,
    /// Parts files, opened at once, so that they stay; those that cannot be are missed when a part is read.
    packs: BTreeMap<u32, io::Result<Arc<dyn DiskFile>>>,
}

impl SnapshotReader {
    pub(crate) fn new(inner: &Arc<Inner>, manifest: Arc<Manifest>) -> Self {
        let open = |number| (number, inner.disk.open(&names::parts(manifest.life, number)));
        let packs = manifest.packs().into_keys().map(open).collect();
        Self { inner: Arc::clone(inner), manifest, packs }
    }

    pub(crate) fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// What it is of.
    #[must_use]
    pub fn meta(&self) -> &SnapshotMeta {
        &self.manifest.meta
    }

    /// The keys of its parts, ascending.
    pub fn keys(&self) -> impl Iterator<Item = u64> + use<'_> {
        self.manifest.parts.iter().map(|part| part.key)
    }

    /// The bytes of a part, if it has one of that key.
    ///
    /// # Errors
    /// They are damaged, which takes the partition out of service.
    pub fn read(&self, key: u64) -> Result<Option<Bytes>, Error> {
        let Some(part) = self.manifest.part(key) else { return Ok(None) };
        let mut bytes = vec![0; part.length as usize];
        let read = match self.packs.get(&part.pack) {
            _ if bytes.is_empty() => Ok(()),
            Some(Ok(file)) => read_exact(&**file, part.offset, &mut bytes),
            _ => Err(io::ErrorKind::NotFound.into()),
        };
        if read.is_ok() && crc32c::crc32c(&bytes) == part.crc {
            return Ok(Some(bytes.into()));
        }
        let damage = Damage {
            partition: self.manifest.life.partition,
            segment: 0,
            offset: 0,
            index: Some(self.manifest.meta.last),
            position: None,
            what: "a part of a snapshot is damaged",
        };
        self.inner.lock().damage(damage.clone());
        Err(Error::Damaged(damage))
    }
}

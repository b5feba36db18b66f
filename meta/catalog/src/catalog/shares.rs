//! Opening and dropping what `$share` names (SPEC section 3, Identity).

use alloc::{format, sync::Arc, vec::Vec};

use braid_types::{Epoch, Filter, GroupId, PartitionId, Refusal, RefusalKind};
use bytes::Bytes;

use crate::{
    Catalog, GroupKind, GroupOptions, GroupRow, Reply, StorageClass, changes::Changes, limits::SHARE_BYTES_MAX,
    refusals,
};

/// What a `$share` subscription names.
pub(super) struct Pair {
    pub(super) vhost: Bytes,
    pub(super) share: Bytes,
    pub(super) filter: Filter,
}

impl Catalog {
    pub(super) fn open_shared(
        &mut self,
        pair: Pair,
        filter_text: &Bytes,
        logged: bool,
        changes: &mut Changes<'_>,
    ) -> Result<Reply, Refusal> {
        let class = if logged { StorageClass::Disk } else { StorageClass::Direct };
        let vhost = self.vhost_mut(&pair.vhost)?;
        if let Some(row) = vhost.resolve(&pair.share, &pair.filter).map(Arc::clone) {
            if !row.is_shared() || row.class >= class {
                return Ok(Reply::Declared { row, created: false });
            }
            // A direct group is in no partition yet: nothing has to move.
            let kind = class.partition_kind();
            let partition = self.placement.choose_on(row.leader, kind).unwrap_or(row.partition);
            self.placement.remove(row.leader, row.partition);
            self.placement.add(row.leader, partition);
            let row = self.replace_group(GroupRow { class, partition, ..GroupRow::clone(&row) }, changes)?;
            return Ok(Reply::Declared { row, created: false });
        }
        let name = name(&pair.share, filter_text)?;
        // The name of another pair: only where two filters have one text in MQTT's notation, which its own never do.
        if vhost.groups.contains_key(&name) {
            let which = refusals::group_text(&name, &vhost.name);
            return Err(Refusal::new(RefusalKind::PreconditionFailed, format!("{which} has another filter")));
        }
        let row = self.place(GroupRow {
            id: GroupId(0),
            vhost: pair.vhost,
            name,
            kind: GroupKind::Shared { share: pair.share, filter: pair.filter },
            class,
            durable: false,
            auto_delete: true,
            exclusive: None,
            arguments: Vec::new(),
            options: GroupOptions::default(),
            partition: PartitionId(0),
            leader: 0,
            epoch: Epoch(1),
        })?;
        Ok(Reply::Declared { row: self.insert_group(row, changes)?, created: true })
    }

    pub(super) fn drop_shared(&mut self, group: GroupId, changes: &mut Changes<'_>) -> Reply {
        if self.by_id.get(&group).is_some_and(|row| row.is_shared()) {
            self.delete_group(group, changes);
        }
        Reply::Done
    }
}

/// `$share/<share>/<filter>`. A share name has no separator and no wildcard, so the name reads only one way.
fn name(share: &Bytes, filter_text: &Bytes) -> Result<Bytes, Refusal> {
    if share.is_empty() || share.iter().any(|byte| matches!(byte, b'/' | b'+' | b'#')) {
        return Err(Refusal::new(RefusalKind::NotAllowed, format!("malformed share name '{}'", refusals::text(share))));
    }
    if share.len() + filter_text.len() > SHARE_BYTES_MAX {
        return Err(refusals::limit("share name length"));
    }
    let mut name = Vec::from(&b"$share/"[..]);
    name.extend_from_slice(share);
    name.push(b'/');
    name.extend_from_slice(filter_text);
    Ok(name.into())
}

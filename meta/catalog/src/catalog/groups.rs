//! Declaring and deleting groups.

use alloc::{format, sync::Arc, vec::Vec};

use braid_types::{ConnectionId, Epoch, GroupId, Headers, Refusal};
use bytes::Bytes;

use crate::{
    Catalog, GroupKind, GroupOptions, GroupRow, Reply, StorageClass,
    arguments::{self, QueueType},
    changes::Changes,
    limits::{GROUPS_MAX, NAME_BYTES_MAX},
    refusals,
    vhost::Vhost,
};

/// Names that begin like this are made by the broker alone.
const BROKER_PREFIXES: [&str; 2] = ["$share/", "$queue/"];

/// How a made name begins.
const MADE_PREFIX: &[u8] = b"amq.gen-";

/// The digits of a made name: 6 bits each, safe in URLs and paths.
const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// A group as somebody declares it.
pub(super) struct Wanted {
    pub(super) vhost: Bytes,
    pub(super) name: Bytes,
    pub(super) durable: bool,
    pub(super) exclusive: Option<ConnectionId>,
    pub(super) auto_delete: bool,
    pub(super) arguments: Headers,
}

impl Catalog {
    pub(super) fn declare_group(
        &mut self,
        mut wanted: Wanted,
        suffix: u64,
        changes: &mut Changes<'_>,
    ) -> Result<Reply, Refusal> {
        let vhost = self.vhost_mut(&wanted.vhost)?;
        let is_made = wanted.name.is_empty();
        if is_made {
            wanted.name = made_name(vhost, suffix);
        } else if let Some(row) = existing(vhost, &wanted)? {
            return Ok(Reply::Declared { row, created: false });
        }
        let class = check_new(&wanted, is_made)?;
        let options = GroupOptions::from_arguments(&wanted.arguments, class);
        let row = self.place(GroupRow {
            id: GroupId(0),
            vhost: wanted.vhost,
            name: wanted.name,
            kind: GroupKind::Declared,
            class,
            durable: wanted.durable,
            auto_delete: wanted.auto_delete,
            exclusive: wanted.exclusive,
            arguments: wanted.arguments,
            options,
            partition: braid_types::PartitionId(0),
            leader: 0,
            epoch: Epoch(1),
        })?;
        Ok(Reply::Declared { row: self.insert_group(row, changes)?, created: true })
    }

    pub(super) fn delete_group(&mut self, group: GroupId, changes: &mut Changes<'_>) -> Reply {
        let Some(row) = self.by_id.remove(&group) else {
            return Reply::Done;
        };
        self.placement.remove(row.leader, row.partition);
        changes.group_deleted(&row);
        if let Some(vhost) = self.vhosts.get_mut(&row.vhost) {
            vhost.remove_group(&row, changes);
        }
        Reply::Done
    }

    /// Gives a new group its id and place.
    pub(super) fn place(&self, mut row: GroupRow) -> Result<GroupRow, Refusal> {
        if self.by_id.len() >= GROUPS_MAX {
            return Err(refusals::limit("groups"));
        }
        (row.leader, row.partition) = self.placement.choose(row.class.partition_kind())?;
        row.id = GroupId(self.last_group.saturating_add(1));
        Ok(row)
    }

    /// Puts in a new group that has its place.
    pub(super) fn insert_group(&mut self, row: GroupRow, changes: &mut Changes<'_>) -> Result<Arc<GroupRow>, Refusal> {
        let row = Arc::new(row);
        self.vhost_mut(&row.vhost)?.put_group(&row, changes)?;
        self.last_group = self.last_group.max(row.id.0);
        self.placement.add(row.leader, row.partition);
        self.by_id.insert(row.id, Arc::clone(&row));
        changes.group_created(&row);
        Ok(row)
    }

    /// Puts a changed row in the place of the old one.
    pub(super) fn replace_group(&mut self, row: GroupRow, changes: &mut Changes<'_>) -> Result<Arc<GroupRow>, Refusal> {
        let row = Arc::new(row);
        self.vhost_mut(&row.vhost)?.put_group(&row, changes)?;
        self.by_id.insert(row.id, Arc::clone(&row));
        changes.group_changed(&row);
        Ok(row)
    }
}

/// RabbitMQ's words for two flags that differ.
pub(super) fn check_flag(name: &str, current: bool, received: bool, which: &str) -> Result<(), Refusal> {
    if current == received {
        return Ok(());
    }
    Err(refusals::inequivalent(name, which, &format!("'{received}'"), &format!("'{current}'")))
}

/// The group that is there already, if it may be declared like this again. Who owns it is checked before anything else,
/// so that a stranger learns nothing about it.
fn existing(vhost: &Vhost, wanted: &Wanted) -> Result<Option<Arc<GroupRow>>, Refusal> {
    for prefix in BROKER_PREFIXES {
        if wanted.name.starts_with(prefix.as_bytes()) {
            return Err(refusals::reserved("queue", &wanted.name, prefix));
        }
    }
    let Some(row) = vhost.groups.get(&wanted.name) else {
        return Ok(None);
    };
    if row.exclusive != wanted.exclusive {
        return Err(refusals::locked(&row.name, &row.vhost));
    }
    let which = refusals::group_text(&row.name, &row.vhost);
    check_flag("durable", row.durable, wanted.durable, &which)?;
    check_flag("auto_delete", row.auto_delete, wanted.auto_delete, &which)?;
    arguments::check_group_equivalent(&row.arguments, row.class, &wanted.arguments, &which)?;
    Ok(Some(Arc::clone(row)))
}

/// Checks a group to be made, and resolves its storage class.
fn check_new(wanted: &Wanted, is_made: bool) -> Result<StorageClass, Refusal> {
    let which = refusals::group_text(&wanted.name, &wanted.vhost);
    if wanted.name.starts_with(b"amq.") && !is_made {
        return Err(refusals::reserved("queue", &wanted.name, "amq.*"));
    }
    if wanted.name.len() > NAME_BYTES_MAX {
        return Err(refusals::limit("queue name length"));
    }
    arguments::check_size(&wanted.arguments)?;
    let asked = arguments::queue_type(&wanted.arguments, &which)?;
    arguments::check_group(&wanted.arguments, asked.unwrap_or(QueueType::Classic), &which)?;
    if asked == Some(QueueType::Quorum) {
        for (property, is_refused) in [
            ("auto-delete", wanted.auto_delete),
            ("exclusive-owner", wanted.exclusive.is_some()),
            ("non-durable", !wanted.durable),
        ] {
            if is_refused {
                return Err(refusals::invalid_property(property, &which));
            }
        }
        return Ok(StorageClass::Quorum);
    }
    let is_lasting = wanted.durable && wanted.exclusive.is_none();
    Ok(if is_lasting { StorageClass::Disk } else { StorageClass::Memory })
}

/// A name for a group without one. Should the random number be taken, the next free one is: racing nodes agree.
fn made_name(vhost: &Vhost, suffix: u64) -> Bytes {
    let mut number = suffix;
    loop {
        let mut name = Vec::from(MADE_PREFIX);
        for digit in 0..11 {
            let bits = usize::try_from((number >> (digit * 6)) & 63).unwrap_or(0);
            name.extend(DIGITS.get(bits));
        }
        if !vhost.groups.contains_key(name.as_slice()) {
            return name.into();
        }
        number = number.wrapping_add(1);
    }
}

//! Vhosts and users.

use alloc::{string::String, sync::Arc, vec::Vec};

use braid_types::Refusal;
use bytes::Bytes;

use crate::{
    Catalog, Reply, UserRow,
    changes::Changes,
    limits::{NAME_BYTES_MAX, PASSWORD_HASH_BYTES_MAX, USER_TAGS_MAX, USERS_MAX, VHOSTS_MAX},
    refusals,
    vhost::Vhost,
};

impl Catalog {
    pub(super) fn create_vhost(&mut self, name: Bytes) -> Result<Reply, Refusal> {
        if self.vhosts.contains_key(&name) {
            return Ok(Reply::Vhost { name, created: false });
        }
        if name.is_empty() || name.len() > NAME_BYTES_MAX {
            return Err(refusals::limit("vhost name length"));
        }
        if self.vhosts.len() >= VHOSTS_MAX {
            return Err(refusals::limit("vhosts"));
        }
        self.vhosts.insert(name.clone(), Vhost::new(name.clone()));
        Ok(Reply::Vhost { name, created: true })
    }

    pub(super) fn delete_vhost(&mut self, name: &Bytes, changes: &mut Changes<'_>) -> Reply {
        let Some(vhost) = self.vhosts.get(name) else {
            return Reply::Done;
        };
        let groups: Vec<_> = vhost.groups.values().map(|row| row.id).collect();
        for group in groups {
            self.delete_group(group, changes);
        }
        self.vhosts.remove(name);
        changes.routes_changed();
        Reply::Done
    }

    pub(super) fn put_user(&mut self, name: Bytes, password_hash: String, tags: Vec<String>) -> Result<Reply, Refusal> {
        if name.is_empty() || name.len() > NAME_BYTES_MAX {
            return Err(refusals::limit("user name length"));
        }
        let is_too_large = password_hash.len() > PASSWORD_HASH_BYTES_MAX
            || tags.len() > USER_TAGS_MAX
            || tags.iter().any(|tag| tag.len() > NAME_BYTES_MAX);
        if is_too_large {
            return Err(refusals::limit("user size"));
        }
        if self.users.len() >= USERS_MAX && !self.users.contains_key(&name) {
            return Err(refusals::limit("users"));
        }
        self.users.insert(name.clone(), Arc::new(UserRow { name, password_hash, tags }));
        Ok(Reply::Done)
    }

    pub(super) fn delete_user(&mut self, name: &Bytes) -> Reply {
        self.users.remove(name);
        Reply::Done
    }
}

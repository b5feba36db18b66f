//! Gathers what one command changed, and writes it down as effects once, in their order.

use alloc::{collections::BTreeSet, sync::Arc, vec::Vec};

use bytes::Bytes;

use crate::{Effect, GroupRow};

/// What one command changed so far.
pub(crate) struct Changes<'a> {
    effects: &'a mut Vec<Effect>,
    routes: bool,
    resolutions: BTreeSet<(Bytes, Bytes)>,
}

impl<'a> Changes<'a> {
    pub(crate) fn new(effects: &'a mut Vec<Effect>) -> Self {
        Self { effects, routes: false, resolutions: BTreeSet::new() }
    }

    /// The default exchange routes by name, so a new group changes routes.
    pub(crate) fn group_created(&mut self, row: &Arc<GroupRow>) {
        self.effects.push(Effect::GroupCreated(Arc::clone(row)));
        self.routes = true;
    }

    /// A cached route holds rows, so a new row changes routes.
    pub(crate) fn group_changed(&mut self, row: &Arc<GroupRow>) {
        self.effects.push(Effect::GroupChanged(Arc::clone(row)));
        self.routes = true;
    }

    pub(crate) fn group_deleted(&mut self, row: &Arc<GroupRow>) {
        self.effects.push(Effect::GroupDeleted(Arc::clone(row)));
        self.routes = true;
    }

    pub(crate) fn routes_changed(&mut self) {
        self.routes = true;
    }

    pub(crate) fn resolution_changed(&mut self, vhost: &Bytes, share: &Bytes) {
        self.resolutions.insert((vhost.clone(), share.clone()));
    }

    pub(crate) fn finish(self) {
        if self.routes {
            self.effects.push(Effect::RoutesChanged);
        }
        for (vhost, share) in self.resolutions {
            self.effects.push(Effect::ResolutionChanged { vhost, share });
        }
    }
}

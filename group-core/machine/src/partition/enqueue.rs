//! Enqueue: one message, into as many groups as it names.

use alloc::vec::Vec;

use braid_types::{GroupId, MessageId, Stamp};

use crate::context::Context;
use crate::group::Group;
use crate::limits::GROUPS_PER_ENQUEUE_MAX;
use crate::partition::Partition;
use crate::{Effect, Groups, MessageHeader, PublishIdentity, Refused, Reply};

impl Partition {
    /// Puts a message into groups. What no group holds afterwards is forgotten.
    pub(super) fn enqueue(
        &mut self,
        stamp: Stamp,
        groups: &Groups,
        message: MessageHeader,
        identity: Option<&PublishIdentity>,
        effects: &mut Vec<Effect>,
    ) -> Reply {
        match groups {
            Groups::These(groups) => self.enqueue_into(stamp, groups, message, identity, effects),
            Groups::Set(set) => match self.group_sets.get(*set).cloned() {
                Some(groups) => self.enqueue_into(stamp, &groups, message, identity, effects),
                None => {
                    effects
                        .push(Effect::Forget { message: MessageId { index: stamp.index, position: stamp.position } });
                    Reply::Refused(Refused::NoSuchGroup)
                }
            },
        }
    }

    fn enqueue_into(
        &mut self,
        stamp: Stamp,
        groups: &[GroupId],
        message: MessageHeader,
        identity: Option<&PublishIdentity>,
        effects: &mut Vec<Effect>,
    ) -> Reply {
        let [group] = groups else { return self.enqueue_shared(stamp, groups, &message, identity, effects) };
        let reply =
            self.in_group(stamp, *group, effects, |group, context| group.enqueue(context, message, identity, false));
        if let Reply::Refused(refused) = reply {
            let id = MessageId { index: stamp.index, position: stamp.position };
            // A group may keep what it refuses, as a dead letter.
            if !self.groups.get(group).is_some_and(|group| group.backlog.dead_letters.contains(id)) {
                effects.push(Effect::Forget { message: id });
            }
            if refused == Refused::NoSuchGroup {
                return Reply::Enqueued { groups: 0 };
            }
        }
        reply
    }

    /// A group may hand out and let go of the message at once, while others are still to take it: the command itself
    /// holds it until all have.
    fn enqueue_shared(
        &mut self,
        stamp: Stamp,
        groups: &[GroupId],
        message: &MessageHeader,
        identity: Option<&PublishIdentity>,
        effects: &mut Vec<Effect>,
    ) -> Reply {
        let id = MessageId { index: stamp.index, position: stamp.position };
        if groups.len() > GROUPS_PER_ENQUEUE_MAX {
            effects.push(Effect::Forget { message: id });
            return Reply::Refused(Refused::LimitReached);
        }
        self.references.hold(id);
        let mut taken = 0;
        let mut refused = None;
        for group in groups {
            let work =
                |group: &mut Group, context: &mut Context<'_>| group.enqueue(context, message.clone(), identity, true);
            match self.in_group(stamp, *group, effects, work) {
                Reply::Enqueued { groups } => taken += groups,
                Reply::Refused(Refused::NoSuchGroup) => {}
                Reply::Refused(reason) => refused = refused.or(Some(reason)),
                Reply::Done | Reply::Attached { .. } | Reply::Got { .. } | Reply::Removed { .. } => {}
            }
        }
        if self.references.release(id) {
            effects.push(Effect::Forget { message: id });
        }
        refused.map_or(Reply::Enqueued { groups: taken }, Reply::Refused)
    }
}

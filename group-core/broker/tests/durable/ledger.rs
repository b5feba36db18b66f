//! What clients know of a partition: what they published, what was confirmed, what they were handed and what they did
//! with it. From that follows what must be there after a crash, what may be there, and what must not.
//!
//! All commands of a run go through one inbox, so what was submitted first is first in the log: when something is known
//! to be in it, so is everything that was submitted before.

use std::collections::{BTreeMap, BTreeSet};

use braid_types::{GroupId, MemberId, Outcome};

/// See the file's head.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    next: u64,
    pub(crate) groups: BTreeMap<GroupId, Group>,
    deleted: BTreeSet<GroupId>,
    /// What was submitted and is not known to be in the log, in order.
    facts: Vec<Fact>,
    /// Nothing was submitted since all was known to be in the log, and all that was handed out was seen.
    pub(crate) is_exact: bool,
}

/// A group.
#[derive(Clone, Debug, Default)]
pub(crate) struct Group {
    is_certain: bool,
    pub(crate) may_be_deleted: bool,
    /// Somebody may have been handed something without anyone having seen it.
    has_members: bool,
    /// By the number of the message, which is the order of publication.
    copies: BTreeMap<u64, Copy>,
    gone: BTreeSet<u64>,
}

/// A message in a group.
#[derive(Clone, Debug, Default)]
struct Copy {
    is_confirmed: bool,
    may_be_gone: bool,
    was_seen: bool,
    holder: Option<(MemberId, u64)>,
    failures_min: u32,
    failures_max: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fact {
    Stored(u64),
    Gone(GroupId, u64),
    Failed(GroupId, u64),
    Created(GroupId),
    Deleted(GroupId),
}

/// A message that was handed out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Handed {
    pub(crate) group: GroupId,
    pub(crate) member: MemberId,
    pub(crate) delivery: u64,
    pub(crate) redelivered: bool,
    pub(crate) delivery_count: u32,
    pub(crate) number: u64,
}

impl Ledger {
    /// A group is to be made.
    pub(crate) fn create(&mut self, group: GroupId) {
        self.is_exact = false;
        self.next += 1;
        self.groups.entry(group).or_default();
        self.facts.push(Fact::Created(group));
    }

    /// A message is published to groups. Its number.
    pub(crate) fn publish(&mut self, groups: &[GroupId]) -> u64 {
        self.is_exact = false;
        self.next += 1;
        for group in groups {
            if let Some(group) = self.groups.get_mut(group).filter(|group| !group.may_be_deleted) {
                group.copies.insert(self.next, Copy::default());
            }
        }
        self.facts.push(Fact::Stored(self.next));
        self.next
    }

    /// The last number that was used, of a message or a group.
    pub(crate) fn next_number(&self) -> u64 {
        self.next
    }

    /// The publisher was told that the message is safe.
    pub(crate) fn confirmed(&mut self, number: u64) {
        if let Some(place) = self.facts.iter().position(|fact| *fact == Fact::Stored(number)) {
            self.certain(place + 1);
        }
    }

    /// All that was submitted is in the log.
    pub(crate) fn all_certain(&mut self) {
        self.certain(self.facts.len());
    }

    fn certain(&mut self, count: usize) {
        for fact in self.facts.drain(..count).collect::<Vec<_>>() {
            match fact {
                Fact::Stored(number) => {
                    for copy in self.groups.values_mut().filter_map(|group| group.copies.get_mut(&number)) {
                        copy.is_confirmed = true;
                    }
                }
                Fact::Gone(group, number) => {
                    if let Some(group) = self.groups.get_mut(&group)
                        && group.copies.remove(&number).is_some()
                    {
                        group.gone.insert(number);
                    }
                }
                Fact::Failed(group, number) => {
                    if let Some(copy) = self.copy(group, number) {
                        copy.failures_min += 1;
                    }
                }
                Fact::Created(group) => {
                    if let Some(group) = self.groups.get_mut(&group) {
                        group.is_certain = true;
                    }
                }
                Fact::Deleted(group) => {
                    self.groups.remove(&group);
                    self.deleted.insert(group);
                }
            }
        }
    }

    fn copy(&mut self, group: GroupId, number: u64) -> Option<&mut Copy> {
        self.groups.get_mut(&group)?.copies.get_mut(&number)
    }

    /// Somebody may be handed messages of the group from now on.
    pub(crate) fn attach(&mut self, group: GroupId) {
        self.is_exact = false;
        if let Some(group) = self.groups.get_mut(&group) {
            group.has_members = true;
        }
    }

    /// A client was handed a message while the broker ran.
    pub(crate) fn handed(&mut self, handed: Handed) {
        let Handed { group, number, .. } = handed;
        let copy = self.copy(group, number).unwrap_or_else(|| panic!("gone, or forged: {handed:?}"));
        assert!(!copy.may_be_gone, "it has ended: {handed:?}");
        assert_eq!(copy.holder, None, "somebody has it: {handed:?}");
        assert_eq!(handed.redelivered, copy.was_seen, "{handed:?}");
        assert_eq!(handed.delivery_count, copy.failures_max, "{handed:?}");
        copy.was_seen = true;
        copy.holder = Some((handed.member, handed.delivery));
    }

    /// What is held in a group: member, delivery and number, in the order of publication.
    pub(crate) fn held(&self, group: GroupId) -> Vec<(MemberId, u64, u64)> {
        let copies = self.groups.get(&group).into_iter().flat_map(|group| &group.copies);
        copies.filter_map(|(number, copy)| copy.holder.map(|(member, delivery)| (member, delivery, *number))).collect()
    }

    /// A client says how deliveries ended.
    pub(crate) fn settle(&mut self, group: GroupId, numbers: &[u64], outcome: Outcome) {
        self.is_exact = false;
        for number in numbers {
            let copy = self.copy(group, *number).unwrap();
            assert!(copy.holder.take().is_some());
            match outcome {
                Outcome::Released => {}
                Outcome::Modified => {
                    copy.failures_max += 1;
                    self.facts.push(Fact::Failed(group, *number));
                }
                Outcome::Accepted | Outcome::Rejected => {
                    copy.may_be_gone = true;
                    self.facts.push(Fact::Gone(group, *number));
                }
            }
        }
    }

    /// What a member holds ends so.
    pub(crate) fn settle_all(&mut self, group: GroupId, member: MemberId, outcome: Outcome) {
        self.is_exact = false;
        let held = self.held(group).into_iter().filter(|(holder, ..)| *holder == member);
        let numbers: Vec<u64> = held.map(|(_, _, number)| number).collect();
        self.settle(group, &numbers, outcome);
    }

    /// What waits in the group is to go. All that was handed out was seen.
    pub(crate) fn purge(&mut self, group: GroupId) {
        self.is_exact = false;
        let Some(found) = self.groups.get_mut(&group) else { return };
        for (number, copy) in found.copies.iter_mut().filter(|(_, copy)| copy.holder.is_none()) {
            copy.may_be_gone = true;
            self.facts.push(Fact::Gone(group, *number));
        }
    }

    /// The group is to go.
    pub(crate) fn delete(&mut self, group: GroupId) {
        self.is_exact = false;
        if let Some(found) = self.groups.get_mut(&group) {
            found.may_be_deleted = true;
            self.facts.push(Fact::Deleted(group));
        }
    }

    /// How many messages wait in each group, and how many are held, when all that was submitted is carried out.
    pub(crate) fn counts(&self) -> BTreeMap<GroupId, (u64, u64)> {
        let count = |group: &Group| {
            let (held, waiting): (Vec<&Copy>, Vec<&Copy>) =
                group.copies.values().filter(|copy| !copy.may_be_gone).partition(|copy| copy.holder.is_some());
            (waiting.len() as u64, held.len() as u64)
        };
        self.groups.iter().map(|(id, group)| (*id, count(group))).collect()
    }

    /// Compares with what a start found: all messages of all groups, in the order in which they are handed out. The
    /// ledger goes on from there; all of them have been handed out now.
    pub(crate) fn recovered(&mut self, found: &BTreeMap<GroupId, Vec<Handed>>, what: &str) {
        let stored: BTreeSet<u64> = found.values().flatten().map(|handed| handed.number).collect();
        let is_in_log = |fact: &Fact| match fact {
            Fact::Stored(number) => stored.contains(number),
            Fact::Created(group) => found.contains_key(group),
            Fact::Gone(..) | Fact::Failed(..) | Fact::Deleted(_) => false,
        };
        if let Some(last) = self.facts.iter().rposition(is_in_log) {
            self.certain(last + 1);
        }
        for group in found.keys() {
            assert!(!self.deleted.contains(group), "{what}: {group:?} came back");
            assert!(self.groups.contains_key(group), "{what}: {group:?} is forged");
        }
        self.facts.clear();
        let mut went = Vec::new();
        for (id, group) in &mut self.groups {
            match found.get(id) {
                Some(found) => group.recovered(found, self.is_exact, &format!("{what}, {id:?}")),
                None => {
                    assert!(!group.is_certain || group.may_be_deleted, "{what}: {id:?} is lost");
                    went.push(*id);
                }
            }
        }
        for group in went {
            self.groups.remove(&group);
            self.deleted.insert(group);
        }
        self.is_exact = false;
    }
}

impl Group {
    fn recovered(&mut self, found: &[Handed], is_exact: bool, what: &str) {
        let order: Vec<(bool, u64)> = found.iter().map(|handed| (!handed.redelivered, handed.number)).collect();
        assert!(order.is_sorted_by(|one, next| one < next), "{what}: out of order, or twice: {order:?}");
        let mut copies = std::mem::take(&mut self.copies);
        for handed in found {
            assert!(!self.gone.contains(&handed.number), "{what}: it came back: {handed:?}");
            let copy = copies.remove(&handed.number).unwrap_or_else(|| panic!("{what}: forged: {handed:?}"));
            assert!(!is_exact || !copy.may_be_gone, "{what}: it had ended: {handed:?}");
            let may_differ = self.has_members && !is_exact && !copy.was_seen;
            assert!(may_differ || handed.redelivered == copy.was_seen, "{what}: {handed:?}, {copy:?}");
            let failures = copy.failures_min..=copy.failures_max;
            assert!(failures.contains(&handed.delivery_count), "{what}: {handed:?}, {copy:?}");
            let (failures_min, failures_max) = (handed.delivery_count, handed.delivery_count);
            let (is_confirmed, was_seen) = (true, true);
            let copy = Copy { is_confirmed, was_seen, failures_min, failures_max, ..Copy::default() };
            self.copies.insert(handed.number, copy);
        }
        for (number, copy) in copies {
            let may_be_lost = copy.may_be_gone || !copy.is_confirmed;
            assert!(may_be_lost || self.may_be_deleted, "{what}: message {number} is lost: {copy:?}");
            self.gone.insert(number);
        }
        self.is_certain = true;
        self.may_be_deleted = false;
        self.has_members = false;
    }
}

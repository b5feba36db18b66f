//! Sets of groups, named by an enqueue.

use braid_machine::limits::{GROUP_SETS_MAX, GROUPS_PER_ENQUEUE_MAX};
use braid_machine::{Command, Effect, GroupConfig, GroupSetId, Groups, Refused, Reply};
use braid_types::{GroupId, Wire};
use bytes::BytesMut;

use crate::scene::{GROUP, Scene, header, message};

const SET: GroupSetId = GroupSetId(7);

fn define(set: GroupSetId, groups: impl IntoIterator<Item = u64>) -> Command {
    Command::DefineGroupSet { set, groups: groups.into_iter().map(GroupId).collect() }
}

fn to_set() -> Command {
    Command::Enqueue { groups: Groups::Set(SET), message: header() }
}

#[test]
fn a_message_goes_to_the_groups_of_the_set_that_are_there() {
    let mut scene = Scene::new(GroupConfig::default());
    for group in 2..=50 {
        scene.apply(Command::CreateGroup { group: GroupId(group), config: Box::default() });
    }
    assert_eq!(scene.apply(define(SET, 1..=50)), Reply::Done);
    assert_eq!(scene.apply(to_set()), Reply::Enqueued { groups: 50 });
    let delete = Command::DeleteGroup { group: GroupId(3), if_unused: false, if_empty: false };
    scene.apply(delete);
    assert_eq!(scene.apply(to_set()), Reply::Enqueued { groups: 49 });
    scene.apply(define(SET, [1]));
    assert_eq!(scene.machine.group_set(SET), Some(&[GROUP][..]));
    assert_eq!(scene.apply(to_set()), Reply::Enqueued { groups: 1 });
    assert_eq!(scene.counts(), (3, 0));
}

#[test]
fn an_unknown_set_takes_nothing() {
    let mut scene = Scene::new(GroupConfig::default());
    for _ in 0..2 {
        assert_eq!(scene.apply(to_set()), Reply::Refused(Refused::NoSuchGroup));
        assert!(matches!(scene.effects[..], [Effect::Forget { .. }]));
        scene.apply(define(SET, [1]));
        scene.apply(define(SET, []));
    }
    assert_eq!(scene.machine.live_messages().count(), 0);
    assert_eq!(scene.machine.group_sets().count(), 0);
}

#[test]
fn there_are_so_many_sets_of_so_many_groups() {
    let mut scene = Scene::new(GroupConfig::default());
    let limited = Reply::Refused(Refused::LimitReached);
    assert_eq!(scene.apply(define(SET, 0..=GROUPS_PER_ENQUEUE_MAX as u64)), limited);
    for set in 0..GROUP_SETS_MAX as u32 {
        assert_eq!(scene.apply(define(GroupSetId(set), [1])), Reply::Done);
    }
    assert_eq!(scene.apply(define(GroupSetId(GROUP_SETS_MAX as u32), [1])), limited);
    assert_eq!(scene.apply(define(SET, [1, 2])), Reply::Done, "a set that is there may change");
    let sets: Vec<u32> = scene.machine.group_sets().map(|set| set.0).collect();
    assert!(sets.is_sorted() && sets.len() == GROUP_SETS_MAX);
}

#[test]
fn an_enqueue_to_a_set_is_a_few_bytes() {
    let mut out = BytesMut::new();
    to_set().encode(&mut out);
    assert!(out.len() <= 8, "{} bytes", out.len());
    let mut scene = Scene::new(GroupConfig::default());
    scene.apply(define(SET, [1, 1]));
    assert_eq!(scene.apply(to_set()), Reply::Enqueued { groups: 1 }, "a group that is in it twice takes it once");
    scene.apply(Command::PurgeGroup { group: GROUP });
    assert!(scene.effects.contains(&Effect::Forget { message: message(3) }));
}

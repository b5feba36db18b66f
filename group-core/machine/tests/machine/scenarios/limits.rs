//! What is refused, and when.

use braid_machine::limits::{
    DELIVERIES_PER_SETTLE_MAX, FILTERS_PER_GROUP_MAX, GROUPS_PER_ENQUEUE_MAX, MEMBERS_PER_GROUP_MAX,
};
use braid_machine::{Command, DropReason, Effect, GroupConfig, MemberConfig, Overflow, Refused, Reply};
use braid_types::{GroupId, Outcome, UnackedOnEnd};

use crate::scene::{GROUP, Scene, filtered, header, windowed};

const LIMITED: Reply = Reply::Refused(Refused::LimitReached);

fn attach(member: MemberConfig) -> Command {
    Command::Attach { group: GROUP, member: Box::new(member) }
}

#[test]
fn the_head_goes_when_there_is_too_much() {
    let mut scene = Scene::new(GroupConfig { messages_max: Some(2), ..GroupConfig::default() });
    let messages: Vec<u64> = (0..3).map(|_| scene.publish_plain()).collect();
    assert_eq!(scene.dropped(), [(messages[0], DropReason::MaxLength)]);
    let mut scene = Scene::new(GroupConfig { size_bytes_max: Some(25), ..GroupConfig::default() });
    let messages: Vec<u64> = (0..3).map(|_| scene.publish_plain()).collect();
    assert_eq!(scene.dropped(), [(messages[0], DropReason::MaxLength)]);
}

#[test]
fn publishes_are_refused_until_the_group_has_relaxed_to_four_fifths() {
    let overflow = Overflow::RejectPublish;
    let mut scene = Scene::new(GroupConfig { messages_max: Some(20), overflow, ..GroupConfig::default() });
    let publish = || Command::Enqueue { groups: [GROUP].into_iter().collect(), message: header() };
    for _ in 0..20 {
        assert_eq!(scene.apply(publish()), Reply::Enqueued { groups: 1 });
    }
    let take = || Command::Get {
        group: GROUP,
        owner: braid_machine::Owner::default(),
        settled: true,
        on_loss: Outcome::Released,
    };
    assert_eq!(scene.apply(publish()), LIMITED);
    assert!(matches!(scene.effects[..], [Effect::Forget { .. }]));
    for left in [19, 18, 17] {
        scene.apply(take());
        assert_eq!(scene.apply(publish()), LIMITED, "{left} of 20");
    }
    scene.apply(take());
    assert_eq!(scene.apply(publish()), Reply::Enqueued { groups: 1 }, "16 of 20");
}

#[test]
fn a_refused_publish_is_dead_lettered_where_asked_for() {
    let overflow = Overflow::RejectPublishDeadLetter;
    let mut scene = Scene::new(GroupConfig { messages_max: Some(1), overflow, ..GroupConfig::default() });
    scene.publish_plain();
    let refused = scene.publish_plain();
    assert_eq!(scene.dropped(), [(refused, DropReason::MaxLength)]);
    assert!(matches!(scene.effects[..], [Effect::Dropped { .. }, Effect::Forget { .. }]));
}

#[test]
fn a_publish_that_one_group_refuses_is_refused_though_another_holds_it() {
    let full = GroupConfig { messages_max: Some(0), overflow: Overflow::RejectPublish, ..GroupConfig::default() };
    let mut scene = Scene::new(full);
    scene.apply(Command::CreateGroup { group: GroupId(2), config: Box::default() });
    let groups = [GROUP, GroupId(2)].into_iter().collect();
    assert_eq!(scene.apply(Command::Enqueue { groups, message: header() }), LIMITED);
    assert_eq!(scene.effects, []);
    assert_eq!(scene.machine.live_messages().count(), 1);
}

#[test]
fn a_group_has_so_many_distinct_filters() {
    let mut scene = Scene::new(GroupConfig::default());
    let members: Vec<_> =
        (0..FILTERS_PER_GROUP_MAX).map(|number| scene.attach(filtered(&format!("a/{number}"), 1))).collect();
    assert_eq!(scene.apply(attach(filtered("one/more", 1))), LIMITED);
    scene.attach(filtered("a/7", 1));
    scene.detach(members[3], UnackedOnEnd::Keep);
    scene.attach(filtered("one/more", 1));
    scene.publish_to("one/more");
    assert_eq!(scene.sent().len(), 1);
}

#[test]
fn a_group_has_so_many_members() {
    let mut machine = braid_machine::Partition::default();
    let mut effects = Vec::new();
    let mut apply = |index: usize, command| {
        let index = braid_types::LogIndex(index as u64);
        braid_types::Machine::apply(
            &mut machine,
            braid_types::Stamp { index, ..Default::default() },
            command,
            &mut effects,
        )
    };
    apply(0, Command::CreateGroup { group: GROUP, config: Box::default() });
    for index in 1..=MEMBERS_PER_GROUP_MAX {
        assert!(matches!(apply(index, attach(windowed(1))), Reply::Attached { .. }));
    }
    assert_eq!(apply(MEMBERS_PER_GROUP_MAX + 1, attach(windowed(1))), LIMITED);
}

#[test]
fn a_command_names_so_many() {
    let mut scene = Scene::new(GroupConfig::default());
    let member = scene.attach(windowed(1));
    scene.publish_plain();
    let deliveries: Vec<u64> = (0..=DELIVERIES_PER_SETTLE_MAX as u64).collect();
    assert_eq!(scene.settle(member, &deliveries, Outcome::Accepted), LIMITED);
    assert_eq!(scene.counts(), (0, 1));
    let groups = (0..=GROUPS_PER_ENQUEUE_MAX as u64).map(GroupId).collect();
    assert_eq!(scene.apply(Command::Enqueue { groups, message: header() }), LIMITED);
    assert!(matches!(scene.effects[..], [Effect::Forget { .. }]));
}

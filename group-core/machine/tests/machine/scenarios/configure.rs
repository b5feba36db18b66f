//! Settings that change while a group is at work.

use std::collections::BTreeSet;

use braid_machine::{Command, DropReason, Effect, GroupConfig, Overflow, Refused, Reply, Skipped, Strategy};
use braid_types::{GroupId, MemberId, Outcome};

use crate::scene::{GROUP, Scene, filtered, header, windowed};

fn configure(config: GroupConfig) -> Command {
    Command::Configure { group: GROUP, config: Box::new(config) }
}

#[test]
fn a_lower_limit_holds_at_once_and_a_removed_one_no_more() {
    let mut scene = Scene::new(GroupConfig::default());
    let messages: Vec<u64> = (0..5).map(|_| scene.publish_plain()).collect();
    scene.apply(configure(GroupConfig { messages_max: Some(3), ..GroupConfig::default() }));
    assert_eq!(scene.dropped(), [(messages[0], DropReason::MaxLength), (messages[1], DropReason::MaxLength)]);
    let overflow = Overflow::RejectPublish;
    scene.apply(configure(GroupConfig { messages_max: Some(3), overflow, ..GroupConfig::default() }));
    let publish = || Command::Enqueue { groups: [GROUP].into_iter().collect(), message: header() };
    assert_eq!(scene.apply(publish()), Reply::Refused(Refused::LimitReached));
    scene.apply(configure(GroupConfig::default()));
    assert_eq!(scene.apply(publish()), Reply::Enqueued { groups: 1 });
    let unknown = Command::Configure { group: GroupId(99), config: Box::default() };
    assert_eq!(scene.apply(unknown), Reply::Refused(Refused::NoSuchGroup));
}

#[test]
fn a_switch_to_one_active_member_elects_the_best_and_back_lets_all_work() {
    let mut scene = Scene::new(GroupConfig::default());
    let members: Vec<MemberId> = (0..3).map(|_| scene.attach(windowed(0))).collect();
    scene.publish_plain();
    scene.apply(configure(GroupConfig { single_active: true, ..GroupConfig::default() }));
    for _ in 0..3 {
        scene.publish_plain();
        assert_eq!(scene.pairs()[0].0, members[0]);
    }
    assert_eq!(scene.member(members[1]).skipped, Some(Skipped::Standby));
    scene.apply(configure(GroupConfig::default()));
    let to: BTreeSet<MemberId> = (0..3)
        .map(|_| {
            scene.publish_plain();
            scene.pairs()[0].0
        })
        .collect();
    assert_eq!(to.len(), 3);
}

#[test]
fn a_switch_to_keys_waits_for_those_who_share_one_and_keeps_the_order() {
    let mut scene = Scene::new(GroupConfig::default());
    let members = [scene.attach(windowed(1)), scene.attach(windowed(1)), scene.attach(filtered("other/#", 0))];
    let messages: Vec<u64> = (0..4).map(|_| scene.publish_to("key")).collect();
    scene.apply(configure(GroupConfig { strategy: Strategy::Key, ..GroupConfig::default() }));
    assert_eq!(scene.effects, []);
    for member in &members[..2] {
        scene.apply(Command::SetWindow { group: GROUP, member: *member, messages: 0 });
        assert_eq!(scene.effects, [], "two members hold messages of the key");
    }
    scene.settle(members[0], &[0], Outcome::Released);
    assert_eq!(scene.pairs(), [0, 2, 3].map(|place| (members[1], messages[place])), "the one that still holds one");
    scene.apply(configure(GroupConfig::default()));
    let to: BTreeSet<MemberId> = (0..2)
        .map(|_| {
            scene.publish_to("key");
            scene.pairs()[0].0
        })
        .collect();
    assert_eq!(to, members[..2].iter().copied().collect());
}

#[test]
fn times_hold_from_now_on() {
    let mut scene = Scene::new(GroupConfig::default());
    let member = scene.attach(windowed(1));
    let (held, waiting) = (scene.publish_plain(), scene.publish_plain());
    scene.time_ms = 100;
    scene.apply(configure(GroupConfig {
        member_timeout_ms: Some(50),
        message_ttl_ms: Some(10),
        ..GroupConfig::default()
    }));
    assert!(matches!(scene.effects[..], [Effect::MemberOverdue { deliveries: 1, .. }]));
    scene.settle(member, &[0], Outcome::Accepted);
    assert_eq!(scene.pairs(), [(member, held)]);
    let short = scene.publish_plain();
    scene.tick(111);
    assert_eq!(scene.dropped(), [], "the head of the queue has no time to live");
    scene.settle(member, &[1], Outcome::Accepted);
    assert_eq!((scene.pairs(), scene.dropped()), (vec![(member, waiting)], vec![(short, DropReason::Expired)]));
}

#[test]
fn a_group_that_has_been_unused_for_long_has_its_time_anew() {
    let mut scene = Scene::new(GroupConfig::default());
    scene.time_ms = 1_000;
    scene.apply(configure(GroupConfig { expires_ms: Some(100), ..GroupConfig::default() }));
    assert_eq!(scene.effects, []);
    scene.tick(1_100);
    assert_eq!(scene.effects, [Effect::GroupExpired { group: GROUP }]);
}

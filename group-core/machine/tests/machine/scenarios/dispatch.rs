//! Who gets what, and in which order.

use braid_machine::{Command, Effect, GroupConfig, MemberConfig, MessageHeader, Owner, Reply, Skipped};
use braid_types::{GroupId, Outcome};

use crate::scene::{GROUP, Scene, filtered, granted, header, message, windowed};

#[test]
fn members_take_turns_and_one_without_credit_is_skipped() {
    let mut scene = Scene::new(GroupConfig::default());
    let (a, b) = (scene.attach(windowed(1)), scene.attach(windowed(3)));
    let to: Vec<_> = (0..5)
        .map(|_| {
            scene.publish_plain();
            scene.pairs().first().map(|(member, _)| *member)
        })
        .collect();
    assert_eq!(to, [Some(a), Some(b), Some(b), Some(b), None]);
    assert_eq!(scene.member(a).skipped, Some(Skipped::WindowFull));
    scene.settle(b, &[1], Outcome::Accepted);
    assert_eq!(scene.sent().len(), 1);
}

#[test]
fn a_lower_priority_gets_what_higher_ones_leave() {
    let mut scene = Scene::new(GroupConfig::default());
    let low = scene.attach(windowed(0));
    let high = scene.attach(MemberConfig { priority: 5, ..windowed(2) });
    let messages: Vec<u64> = (0..3).map(|_| scene.publish_plain()).collect();
    assert_eq!(scene.pairs(), [(low, messages[2])]);
    scene.settle(high, &[0], Outcome::Accepted);
    let next = scene.publish_plain();
    assert_eq!(scene.pairs(), [(high, next)]);
}

#[test]
fn higher_message_priority_first_and_returned_ones_before_all() {
    let mut scene = Scene::new(GroupConfig::default());
    let member = scene.attach(windowed(1));
    let first = scene.publish_plain();
    let low = scene.publish_plain();
    let high = scene.publish(MessageHeader { priority: 40, ..header() });
    let highest_level = scene.publish(MessageHeader { priority: 31, ..header() });
    scene.settle(member, &[0], Outcome::Released);
    assert_eq!((scene.sent()[0].message, scene.sent()[0].redelivered), (first, true));
    let mut order = Vec::new();
    for delivery in 1..4 {
        scene.settle(member, &[delivery], Outcome::Accepted);
        order.push(scene.sent()[0].message);
    }
    assert_eq!(order, [high, highest_level, low]);
}

#[test]
fn a_group_without_priorities_keeps_the_order_of_publication() {
    let mut scene = Scene::new(GroupConfig { priority_max: Some(0), ..GroupConfig::default() });
    let first = scene.publish_plain();
    let second = scene.publish(MessageHeader { priority: 9, ..header() });
    let member = scene.attach(windowed(2));
    assert_eq!(scene.pairs(), [(member, first), (member, second)]);
}

#[test]
fn what_nobody_may_take_blocks_nothing_and_is_named() {
    let mut scene = Scene::new(GroupConfig::default());
    let member = scene.attach(filtered("a/#", 1));
    let other = scene.publish_to("b");
    let without_address = scene.publish_plain();
    let matching = scene.publish_to("a/x");
    assert_eq!(scene.pairs(), [(member, matching)]);
    let group = scene.machine.group(GROUP).expect("the group");
    assert_eq!((group.ready(), group.unmatched()), (2, 2));
    scene.settle(member, &[0], Outcome::Accepted);
    assert_eq!(scene.member(member).skipped, Some(Skipped::NothingMatches));
    let anyone = scene.attach(windowed(0));
    assert_eq!(scene.pairs(), [(anyone, other), (anyone, without_address)]);
}

#[test]
fn a_filtered_member_keeps_its_turn_when_a_message_is_not_for_it() {
    let mut scene = Scene::new(GroupConfig::default());
    let (a, b) = (scene.attach(filtered("a", 0)), scene.attach(windowed(0)));
    scene.publish_to("b");
    assert_eq!(scene.pairs()[0].0, b);
    scene.publish_to("a");
    assert_eq!(scene.pairs()[0].0, a);
    scene.publish_to("a");
    assert_eq!(scene.pairs()[0].0, b);
}

#[test]
fn grants_are_used_up_and_the_last_message_may_exceed_the_bytes() {
    let mut scene = Scene::new(GroupConfig::default());
    let member = scene.attach(granted(10, 15));
    let first = scene.publish_plain();
    assert_eq!(scene.effects.last(), Some(&Effect::Forget { message: message(first) }));
    assert!(scene.sent()[0].settled);
    scene.publish_plain();
    assert_eq!(scene.sent().len(), 1, "5 bytes are left, 10 are sent");
    let third = scene.publish_plain();
    assert_eq!(scene.sent(), []);
    assert_eq!(scene.member(member).skipped, Some(Skipped::NothingGranted));
    scene.apply(Command::Grant { group: GROUP, member, messages: 0, bytes: 1 });
    assert_eq!(scene.pairs(), [(member, third)]);
    assert_eq!(scene.counts(), (0, 0));
}

#[test]
fn a_message_of_several_groups_is_forgotten_with_the_last() {
    let mut scene = Scene::new(GroupConfig::default());
    scene.apply(Command::CreateGroup { group: GroupId(2), config: Box::default() });
    scene.attach(granted(1, 100));
    let groups = [GROUP, GroupId(2), GroupId(9), GROUP].into_iter().collect();
    let reply = scene.apply(Command::Enqueue { groups, message: header() });
    assert_eq!(reply, Reply::Enqueued { groups: 2 });
    assert_eq!((scene.sent().len(), scene.effects.len()), (1, 1));
    scene.apply(Command::Get { group: GroupId(2), owner: Owner::default(), settled: true, on_loss: Outcome::Released });
    assert!(matches!(scene.effects[..], [Effect::Forget { .. }]));
}

#[test]
fn a_message_for_no_group_is_forgotten_at_once() {
    let mut scene = Scene::default();
    let message = scene.publish_plain();
    assert_eq!(scene.effects, [Effect::Forget { message: crate::scene::message(message) }]);
}

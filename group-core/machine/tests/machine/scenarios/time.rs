//! What time brings.

use braid_machine::{Command, DropReason, Effect, GroupConfig, MessageHeader, RetryDelay, Skipped};
use braid_types::{Outcome, Timestamp, UnackedOnEnd};

use crate::scene::{GROUP, Scene, address, filtered, header, windowed};

#[test]
fn an_expired_message_is_dropped_and_never_sent() {
    let mut scene = Scene::new(GroupConfig::default());
    let message = scene.publish(MessageHeader { expires_at: Some(Timestamp(50)), ..header() });
    assert_eq!(scene.machine.next_deadline(), Some(Timestamp(51)));
    scene.time_ms = 51;
    scene.attach(windowed(1));
    assert_eq!(scene.dropped(), [(message, DropReason::Expired)]);
    assert_eq!(scene.sent(), []);
    assert_eq!(scene.machine.next_deadline(), None);
}

#[test]
fn the_groups_time_to_live_counts_where_it_is_shorter() {
    let mut scene = Scene::new(GroupConfig { message_ttl_ms: Some(10), ..GroupConfig::default() });
    let long = scene.publish(MessageHeader { expires_at: Some(Timestamp(50)), ..header() });
    scene.publish(MessageHeader { expires_at: Some(Timestamp(5)), ..header() });
    scene.tick(11);
    assert_eq!(scene.dropped()[0], (long, DropReason::Expired));
    assert_eq!(scene.counts(), (0, 0));
}

#[test]
fn a_time_to_live_of_zero_still_reaches_a_waiting_member() {
    let mut scene = Scene::new(GroupConfig { message_ttl_ms: Some(0), ..GroupConfig::default() });
    let member = scene.attach(windowed(1));
    let sent = scene.publish_plain();
    assert_eq!(scene.pairs(), [(member, sent)]);
    let late = scene.publish_plain();
    scene.tick(1);
    assert_eq!(scene.dropped(), [(late, DropReason::Expired)]);
}

/// Found by the model: the message was behind another, and with the filter it is the first of its class.
#[test]
fn a_filter_that_comes_may_uncover_an_expired_message() {
    let mut scene = Scene::new(GroupConfig::default());
    scene.publish_to("b");
    let hidden = MessageHeader { expires_at: Some(Timestamp(5)), address: Some(address("a")), ..header() };
    let hidden = scene.publish(hidden);
    scene.tick(10);
    assert_eq!(scene.counts(), (2, 0), "only heads expire");
    scene.attach(filtered("a", 1));
    assert_eq!((scene.dropped(), scene.sent()), (vec![(hidden, DropReason::Expired)], vec![]));
}

/// Found by the model: the deadline of a message stayed when the message was gone.
#[test]
fn a_message_that_left_leaves_no_deadline() {
    let mut scene = Scene::new(GroupConfig::default());
    scene.publish(MessageHeader { expires_at: Some(Timestamp(5)), ..header() });
    scene.attach(windowed(1));
    scene.tick(6);
    assert_eq!(scene.machine.next_deadline(), None);
}

/// Found by the model: the member's time stood still while it was paused, and nobody knew when it would be over.
#[test]
fn a_paused_member_that_ends_has_its_time_anew() {
    let mut scene = Scene::new(GroupConfig { member_timeout_ms: Some(30), ..GroupConfig::default() });
    let member = scene.attach(windowed(1));
    scene.publish_plain();
    scene.apply(Command::Pause { group: GROUP, member });
    scene.tick(100);
    assert_eq!(scene.counts(), (0, 1));
    scene.detach(member, UnackedOnEnd::Keep);
    assert_eq!(scene.machine.next_deadline(), Some(Timestamp(130)));
    scene.tick(130);
    assert_eq!(scene.counts(), (1, 0));
}

#[test]
fn a_failed_message_waits_longer_each_time() {
    let retry = Some(RetryDelay { delay_ms_min: 10, delay_ms_max: 15 });
    let mut scene = Scene::new(GroupConfig { retry, ..GroupConfig::default() });
    let member = scene.attach(windowed(1));
    scene.publish_plain();
    scene.settle(member, &[0], Outcome::Modified);
    assert_eq!(scene.machine.group(GROUP).map(|group| (group.ready(), group.delayed())), Some((0, 1)));
    scene.tick(9);
    assert_eq!(scene.sent(), []);
    scene.tick(10);
    assert_eq!(scene.sent()[0].delivery_count, 1);
    scene.settle(member, &[1], Outcome::Modified);
    assert_eq!(scene.machine.next_deadline(), Some(Timestamp(25)));
    scene.settle(member, &[1], Outcome::Released);
    scene.tick(25);
    scene.settle(member, &[2], Outcome::Released);
    assert_eq!(scene.sent().len(), 1, "what is released does not wait");
}

#[test]
fn a_member_that_holds_too_long_gets_nothing_until_it_settles() {
    let mut scene = Scene::new(GroupConfig { member_timeout_ms: Some(30), ..GroupConfig::default() });
    let slow = scene.attach(windowed(2));
    let first = scene.publish_plain();
    scene.time_ms = 20;
    let second = scene.publish_plain();
    scene.tick(30);
    assert!(matches!(scene.effects[..], [Effect::MemberOverdue { member, deliveries: 1, .. }] if member == slow));
    assert_eq!(scene.counts(), (1, 1));
    assert_eq!(scene.member(slow).skipped, Some(Skipped::Overdue));
    let other = scene.attach(windowed(0));
    assert_eq!(scene.pairs(), [(other, first)]);
    assert_eq!((scene.sent()[0].redelivered, scene.sent()[0].delivery_count), (true, 0));
    scene.publish_plain();
    assert_eq!(scene.pairs()[0].0, other);
    scene.settle(slow, &[0], Outcome::Accepted);
    assert_eq!(scene.counts(), (0, 3), "the late settle ended nothing");
    assert_eq!(scene.member(slow).skipped, None);
    scene.settle(slow, &[1], Outcome::Accepted);
    assert!(!scene.machine.live_messages().any(|live| live == crate::scene::message(second)));
}

#[test]
fn times_of_zero_do_not_spin() {
    let config = GroupConfig { expires_ms: Some(0), member_timeout_ms: Some(0), ..GroupConfig::default() };
    let mut scene = Scene::new(config);
    assert_eq!(scene.machine.next_deadline(), Some(Timestamp(1)));
    scene.attach(windowed(1));
    scene.publish_plain();
    scene.tick(7);
    assert!(scene.machine.next_deadline().is_none_or(|next| next > Timestamp(7)));
}

#[test]
fn an_unused_group_wants_to_go_and_says_so_again() {
    let mut scene = Scene::new(GroupConfig { expires_ms: Some(100), ..GroupConfig::default() });
    scene.time_ms = 60;
    let member = scene.attach(windowed(1));
    scene.tick(500);
    assert_eq!(scene.effects, []);
    scene.detach(member, UnackedOnEnd::Keep);
    assert_eq!(scene.machine.next_deadline(), Some(Timestamp(600)));
    for time_ms in [600, 700] {
        scene.tick(time_ms);
        assert_eq!(scene.effects, [Effect::GroupExpired { group: GROUP }]);
    }
}

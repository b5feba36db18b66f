//! How deliveries end.

use braid_machine::{Command, DropReason, GroupConfig, Owner, Reply, Taken};
use braid_types::{DeliveryId, MemberId, Outcome, UnackedOnEnd};

use crate::scene::{GROUP, Scene, windowed};

#[test]
fn one_try_more_than_the_limit_allows_drops_the_message() {
    let mut scene = Scene::new(GroupConfig { delivery_limit: Some(2), ..GroupConfig::default() });
    let member = scene.attach(windowed(1));
    let message = scene.publish_plain();
    for (delivery, count) in [(0, 1), (1, 2)] {
        scene.settle(member, &[delivery], Outcome::Modified);
        assert_eq!((scene.sent()[0].delivery_count, scene.sent()[0].redelivered), (count, true));
    }
    scene.settle(member, &[2], Outcome::Released);
    assert_eq!(scene.sent()[0].delivery_count, 2, "a release does not count");
    scene.settle(member, &[3], Outcome::Modified);
    assert_eq!(scene.dropped(), [(message, DropReason::DeliveryLimit)]);
    assert_eq!(scene.counts(), (0, 0));
}

#[test]
fn returned_messages_go_out_in_their_old_order() {
    let mut scene = Scene::new(GroupConfig::default());
    let member = scene.attach(windowed(3));
    let messages: Vec<u64> = (0..3).map(|_| scene.publish_plain()).collect();
    scene.apply(Command::Pause { group: GROUP, member });
    let fresh = scene.publish_plain();
    scene.settle(member, &[2, 0, 1], Outcome::Released);
    scene.apply(Command::Resume { group: GROUP, member, owner: Owner::default(), messages: 0 });
    let order: Vec<u64> = scene.sent().iter().map(|sent| sent.message).collect();
    assert_eq!(order, [messages[0], messages[1], messages[2], fresh]);
}

#[test]
fn a_rejected_message_is_gone() {
    let mut scene = Scene::new(GroupConfig::default());
    let member = scene.attach(windowed(1));
    let message = scene.publish_plain();
    scene.settle(member, &[0], Outcome::Rejected);
    assert_eq!(scene.dropped(), [(message, DropReason::Rejected)]);
    assert_eq!(scene.machine.live_messages().count(), 0);
}

#[test]
fn settling_what_is_settled_or_was_never_made_changes_nothing() {
    let mut scene = Scene::new(GroupConfig::default());
    let member = scene.attach(windowed(2));
    scene.publish_plain();
    scene.settle(member, &[0, 0, 7, u64::MAX], Outcome::Accepted);
    assert_eq!(scene.effects.len(), 1);
    assert_eq!(scene.settle(member, &[0], Outcome::Rejected), Reply::Done);
    assert_eq!(scene.effects, []);
}

#[test]
fn a_get_is_held_by_a_member_of_its_own() {
    let mut scene = Scene::new(GroupConfig::default());
    let get = |settled| Command::Get { group: GROUP, owner: Owner::default(), settled, on_loss: Outcome::Modified };
    assert_eq!(scene.apply(get(false)), Reply::Got { taken: None });
    let messages = [scene.publish_plain(), scene.publish_plain()];
    let Reply::Got { taken: Some(taken) } = scene.apply(get(false)) else { panic!("a message is ready") };
    let expected = Taken {
        member: MemberId { index: braid_types::LogIndex(messages[1] + 1), position: 0 },
        delivery: DeliveryId(0),
        message: crate::scene::message(messages[0]),
        redelivered: false,
        delivery_count: 0,
        remaining: 1,
    };
    assert_eq!(taken, expected);
    assert_eq!(scene.counts(), (1, 1));
    scene.settle(taken.member, &[0], Outcome::Modified);
    assert!(!scene.machine.has_member(GROUP, taken.member));
    let Reply::Got { taken: Some(again) } = scene.apply(get(true)) else { panic!("it came back") };
    assert_eq!((again.message, again.redelivered, again.delivery_count), (taken.message, true, 1));
    assert_eq!(scene.counts(), (1, 0));
}

#[test]
fn a_purge_leaves_what_members_hold() {
    let mut scene = Scene::new(GroupConfig::default());
    let member = scene.attach(windowed(1));
    let (held, ready) = (scene.publish_plain(), scene.publish_plain());
    assert_eq!(scene.apply(Command::PurgeGroup { group: GROUP }), Reply::Removed { message_count: 1 });
    assert_eq!(scene.dropped(), [(ready, DropReason::Purged)]);
    assert_eq!(scene.counts(), (0, 1));
    scene.detach(member, UnackedOnEnd::Settle(Outcome::Released));
    assert_eq!(scene.machine.live_messages().collect::<Vec<_>>(), [crate::scene::message(held)]);
}

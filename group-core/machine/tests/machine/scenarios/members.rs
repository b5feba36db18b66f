//! Members come, pause and go.

use braid_machine::{Command, Effect, GroupConfig, MemberConfig, Owner, Refused, Reply, Skipped};
use braid_types::{ConnectionId, Outcome, UnackedOnEnd};

use crate::scene::{GROUP, Scene, granted, windowed};

#[test]
fn an_exclusive_member_is_alone() {
    let mut scene = Scene::new(GroupConfig::default());
    let exclusive = MemberConfig { exclusive: true, ..windowed(1) };
    let attach = |member: &MemberConfig| Command::Attach { group: GROUP, member: Box::new(member.clone()) };
    let plain = scene.attach(windowed(1));
    assert_eq!(scene.apply(attach(&exclusive)), Reply::Refused(Refused::InUse));
    scene.detach(plain, UnackedOnEnd::Keep);
    let holder = scene.attach(exclusive.clone());
    assert_eq!(scene.apply(attach(&windowed(1))), Reply::Refused(Refused::Exclusive));
    assert_eq!(scene.apply(attach(&exclusive)), Reply::Refused(Refused::Exclusive));
    scene.publish_plain();
    scene.detach(holder, UnackedOnEnd::Keep);
    scene.attach(exclusive);
}

#[test]
fn a_cancelled_member_stays_for_what_it_holds() {
    let mut scene = Scene::new(GroupConfig::default());
    let member = scene.attach(windowed(2));
    scene.publish_plain();
    scene.publish_plain();
    scene.detach(member, UnackedOnEnd::Keep);
    assert_eq!(scene.effects, [Effect::Unused { group: GROUP }]);
    assert_eq!(scene.member(member).skipped, Some(Skipped::Leaving));
    scene.publish_plain();
    assert_eq!(scene.sent(), []);
    scene.settle(member, &[0], Outcome::Accepted);
    assert!(scene.machine.has_member(GROUP, member));
    scene.settle(member, &[1], Outcome::Accepted);
    assert!(!scene.machine.has_member(GROUP, member));
    assert_eq!(scene.settle(member, &[1], Outcome::Accepted), Reply::Refused(Refused::NoSuchMember));
}

#[test]
fn what_a_lost_member_held_goes_to_the_others_in_order() {
    let mut scene = Scene::new(GroupConfig::default());
    let lost = scene.attach(windowed(3));
    let messages: Vec<u64> = (0..3).map(|_| scene.publish_plain()).collect();
    let other = scene.attach(windowed(0));
    scene.detach(lost, UnackedOnEnd::Settle(Outcome::Modified));
    let expected: Vec<_> = messages.iter().map(|message| (other, *message)).collect();
    assert_eq!(scene.pairs(), expected);
    assert!(scene.sent().iter().all(|sent| sent.redelivered && sent.delivery_count == 1));
}

#[test]
fn unused_is_told_once_and_not_for_gets() {
    let mut scene = Scene::new(GroupConfig::default());
    let (a, b) = (scene.attach(windowed(1)), scene.attach(windowed(1)));
    scene.detach(a, UnackedOnEnd::Keep);
    assert_eq!(scene.effects, []);
    scene.detach(b, UnackedOnEnd::Keep);
    assert_eq!(scene.effects, [Effect::Unused { group: GROUP }]);
    scene.publish_plain();
    let Reply::Got { taken: Some(taken) } =
        scene.apply(Command::Get { group: GROUP, owner: Owner::default(), settled: false, on_loss: Outcome::Released })
    else {
        panic!("a message is ready")
    };
    scene.detach(taken.member, UnackedOnEnd::Settle(Outcome::Released));
    assert_eq!(scene.effects, []);
    assert_eq!(scene.counts(), (1, 0));
}

#[test]
fn a_paused_member_keeps_what_it_holds_and_gets_nothing() {
    let mut scene = Scene::new(GroupConfig::default());
    let member = scene.attach(windowed(2));
    scene.publish_plain();
    scene.apply(Command::Pause { group: GROUP, member });
    let waiting = scene.publish_plain();
    assert_eq!(scene.sent(), []);
    assert_eq!((scene.member(member).paused, scene.member(member).skipped), (true, Some(Skipped::Paused)));
    let owner = Owner { node: 2, connection: ConnectionId(9), attachment: 9 };
    scene.apply(Command::Resume { group: GROUP, member, owner, messages: 1 });
    assert_eq!(scene.sent(), [], "the delivery it holds fills its new window");
    scene.settle(member, &[0], Outcome::Accepted);
    assert_eq!(scene.pairs(), [(member, waiting)]);
    assert!(matches!(scene.effects.last(), Some(Effect::Deliver { owner: to, .. }) if *to == owner));
}

#[test]
fn a_smaller_window_sends_nothing_until_below_it() {
    let mut scene = Scene::new(GroupConfig::default());
    let member = scene.attach(windowed(3));
    (0..4).for_each(|_| {
        scene.publish_plain();
    });
    scene.apply(Command::SetWindow { group: GROUP, member, messages: 2 });
    scene.settle(member, &[0], Outcome::Accepted);
    assert_eq!(scene.sent(), []);
    scene.settle(member, &[1], Outcome::Accepted);
    assert_eq!(scene.sent().len(), 1);
}

#[test]
fn credit_of_the_other_kind_is_no_such_member() {
    let mut scene = Scene::new(GroupConfig::default());
    let (window, grant) = (scene.attach(windowed(1)), scene.attach(granted(1, 1)));
    let refused = Reply::Refused(Refused::NoSuchMember);
    assert_eq!(scene.apply(Command::SetWindow { group: GROUP, member: grant, messages: 1 }), refused);
    assert_eq!(scene.apply(Command::Grant { group: GROUP, member: window, messages: 1, bytes: 1 }), refused);
}

#[test]
fn a_deleted_group_cancels_its_members_and_drops_all_it_holds() {
    let mut scene = Scene::new(GroupConfig::default());
    let member = scene.attach(windowed(1));
    let messages = [scene.publish_plain(), scene.publish_plain()];
    let delete = |if_unused, if_empty| Command::DeleteGroup { group: GROUP, if_unused, if_empty };
    assert_eq!(scene.apply(delete(true, false)), Reply::Refused(Refused::InUse));
    assert_eq!(scene.apply(delete(false, true)), Reply::Refused(Refused::NotEmpty));
    assert_eq!(scene.apply(delete(false, false)), Reply::Removed { message_count: 1 });
    assert_eq!(scene.dropped().iter().map(|(message, _)| *message).collect::<Vec<_>>(), messages);
    assert!(matches!(scene.effects.last(), Some(Effect::Cancelled { member: gone, .. }) if *gone == member));
    assert_eq!(scene.apply(delete(false, false)), Reply::Refused(Refused::NoSuchGroup));
}

//! Dead letters that the group keeps until they are stored elsewhere.

use braid_machine::{Command, DropReason, Effect, GroupConfig, MessageHeader, Overflow, Refused, Reply};
use braid_types::{GroupId, Outcome, Timestamp};

use crate::scene::{GROUP, Scene, header, message, windowed};

fn keeping() -> GroupConfig {
    GroupConfig { keeps_dead_letters: true, ..GroupConfig::default() }
}

fn end(messages: &[u64]) -> Command {
    Command::EndDeadLetters { group: GROUP, messages: messages.iter().map(|index| message(*index)).collect() }
}

fn letters(scene: &Scene) -> Vec<(u64, DropReason, u32)> {
    let letters = scene.machine.dead_letters(GROUP);
    letters.map(|(message, reason, delivery_count)| (message.index.0, reason, delivery_count)).collect()
}

#[test]
fn each_dead_letter_stays_until_it_is_ended_and_is_in_nobodys_way() {
    let mut scene = Scene::new(GroupConfig { delivery_limit: Some(0), messages_max: Some(1), ..keeping() });
    let member = scene.attach(windowed(2));
    let (rejected, limited) = (scene.publish_plain(), scene.publish_plain());
    let expiring = scene.publish(MessageHeader { expires_at: Some(Timestamp(5)), ..header() });
    scene.settle(member, &[0], Outcome::Rejected);
    assert_eq!(scene.kept(), [(rejected, DropReason::Rejected)]);
    assert_eq!(scene.forgotten(), []);
    assert_eq!(scene.pairs(), [(member, expiring)]);
    let too_much = scene.publish(MessageHeader { expires_at: Some(Timestamp(5)), ..header() });
    let last = scene.publish(MessageHeader { expires_at: Some(Timestamp(5)), ..header() });
    assert_eq!(scene.kept(), [(too_much, DropReason::MaxLength)]);
    scene.tick(6);
    assert_eq!(scene.kept(), [(last, DropReason::Expired)]);
    scene.settle(member, &[1], Outcome::Modified);
    assert_eq!(scene.kept(), [(limited, DropReason::DeliveryLimit)]);
    let expected = [
        (rejected, DropReason::Rejected, 0),
        (limited, DropReason::DeliveryLimit, 1),
        (too_much, DropReason::MaxLength, 0),
        (last, DropReason::Expired, 0),
    ];
    assert_eq!(letters(&scene), expected);
    assert_eq!(scene.machine.groups_with_dead_letters(), [GROUP]);
    assert_eq!(scene.machine.group(GROUP).map(|group| (group.ready(), group.dead_letters())), Some((0, 4)));
    assert_eq!(scene.apply(end(&[limited, 99, last])), Reply::Done);
    assert_eq!(scene.forgotten(), [limited, last]);
    scene.apply(end(&[limited, last]));
    assert_eq!(scene.effects, [], "it may be told again");
    scene.apply(end(&[rejected, too_much]));
    assert_eq!(scene.machine.groups_with_dead_letters(), []);
    assert_eq!(scene.machine.live_messages().collect::<Vec<_>>(), [message(expiring)]);
}

#[test]
fn a_refused_publish_is_kept_though_it_is_refused() {
    let overflow = Overflow::RejectPublishDeadLetter;
    let mut scene = Scene::new(GroupConfig { messages_max: Some(1), overflow, ..keeping() });
    scene.apply(Command::CreateGroup { group: GroupId(2), config: Box::new(keeping()) });
    scene.publish_plain();
    let refused = scene.publish_plain();
    assert_eq!(scene.kept(), [(refused, DropReason::MaxLength)]);
    assert_eq!(scene.forgotten(), []);
    let groups = [GROUP, GROUP, GroupId(2)].into_iter().collect();
    assert_eq!(
        scene.apply(Command::Enqueue { groups, message: header() }),
        Reply::Refused(Refused::LimitReached),
        "one group has it ready, one as a dead letter"
    );
    let shared = refused + 1;
    assert_eq!(scene.kept(), [(shared, DropReason::MaxLength)]);
    scene.apply(end(&[refused, shared]));
    assert_eq!(scene.forgotten(), [refused]);
    scene.apply(Command::PurgeGroup { group: GroupId(2) });
    assert_eq!(scene.forgotten(), [shared]);
}

#[test]
fn a_purge_leaves_dead_letters_and_a_deletion_takes_them_along() {
    let mut scene = Scene::new(keeping());
    let member = scene.attach(windowed(1));
    let (rejected, purged) = (scene.publish_plain(), scene.publish_plain());
    scene.apply(Command::Pause { group: GROUP, member });
    scene.settle(member, &[0], Outcome::Rejected);
    scene.apply(Command::PurgeGroup { group: GROUP });
    assert_eq!((scene.dropped(), scene.kept()), (vec![(purged, DropReason::Purged)], Vec::new()));
    assert_eq!(letters(&scene), [(rejected, DropReason::Rejected, 0)]);
    let delete = Command::DeleteGroup { group: GROUP, if_unused: false, if_empty: true };
    assert_eq!(scene.apply(delete), Reply::Removed { message_count: 0 });
    assert_eq!((scene.dropped(), scene.kept()), (vec![(rejected, DropReason::GroupDeleted)], Vec::new()));
    assert_eq!(scene.forgotten(), [rejected]);
}

#[test]
fn a_group_that_keeps_none_lets_go_at_once() {
    let mut scene = Scene::new(GroupConfig::default());
    let member = scene.attach(windowed(1));
    let rejected = scene.publish_plain();
    scene.settle(member, &[0], Outcome::Rejected);
    assert_eq!((scene.kept(), scene.forgotten()), (Vec::new(), vec![rejected]));
    assert!(matches!(scene.effects[..], [Effect::Dropped { kept: false, .. }, Effect::Forget { .. }]));
}

#[test]
fn reasons_have_the_words_of_x_death() {
    let reasons = [
        (DropReason::Rejected, "rejected"),
        (DropReason::DeliveryLimit, "delivery_limit"),
        (DropReason::Expired, "expired"),
        (DropReason::MaxLength, "maxlen"),
        (DropReason::Purged, "purged"),
        (DropReason::GroupDeleted, "deleted"),
    ];
    for (reason, name) in reasons {
        assert_eq!(reason.name(), name);
    }
}

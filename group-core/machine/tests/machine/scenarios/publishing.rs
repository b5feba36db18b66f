//! Exactly-once publishing.

use braid_machine::limits::{IDENTITY_BYTES_MAX, TOKEN_WINDOW_DEFAULT_MS};
use braid_machine::{Command, Effect, GroupConfig, Owner, PublishIdentity, Refused, Reply};
use braid_types::{GroupId, Outcome};
use bytes::Bytes;

use crate::scene::{GROUP, Scene, header, message};

fn once(groups: &[GroupId], identity: PublishIdentity) -> Command {
    Command::EnqueueOnce { groups: groups.iter().copied().collect(), message: header(), identity }
}

fn numbered(sequence: u64) -> PublishIdentity {
    PublishIdentity::Sequence { publisher: Bytes::from_static(b"publisher"), sequence }
}

#[test]
fn a_message_that_is_sent_again_is_stored_once_and_confirmed_as_the_first_was() {
    let mut scene = Scene::new(GroupConfig::default());
    for sequence in [1, 2, 2, 1, 5] {
        assert_eq!(scene.apply(once(&[GROUP], numbered(sequence))), Reply::Enqueued { groups: 1 });
    }
    assert_eq!(scene.counts(), (3, 0));
    assert_eq!(scene.apply(once(&[GROUP], numbered(4))), Reply::Enqueued { groups: 1 });
    assert_eq!(scene.effects, [Effect::Forget { message: message(7) }]);
}

#[test]
fn each_group_knows_what_it_took_itself() {
    let mut scene = Scene::new(GroupConfig::default());
    let both = [GROUP, GroupId(2)];
    scene.apply(once(&both, numbered(1)));
    scene.apply(Command::CreateGroup { group: GroupId(2), config: Box::default() });
    assert_eq!(scene.apply(once(&both, numbered(1))), Reply::Enqueued { groups: 2 });
    let ready = |group| scene.machine.group(group).map(|group| group.ready());
    assert_eq!((ready(GROUP), ready(GroupId(2))), (Some(1), Some(1)));
}

#[test]
fn what_was_consumed_since_is_still_known() {
    let mut scene = Scene::new(GroupConfig::default());
    scene.apply(once(&[GROUP], numbered(1)));
    scene.apply(Command::Get { group: GROUP, owner: Owner::default(), settled: true, on_loss: Outcome::Released });
    scene.apply(once(&[GROUP], numbered(1)));
    assert_eq!(scene.counts(), (0, 0));
}

#[test]
fn a_token_is_known_for_its_window() {
    let mut scene = Scene::new(GroupConfig::default());
    let token = || PublishIdentity::Token { token: Bytes::from_static(b"token") };
    scene.apply(once(&[GROUP], token()));
    scene.time_ms = TOKEN_WINDOW_DEFAULT_MS - 1;
    scene.apply(once(&[GROUP], token()));
    assert_eq!(scene.counts(), (1, 0));
    scene.time_ms += 1;
    scene.apply(once(&[GROUP], token()));
    assert_eq!(scene.counts(), (2, 0));
}

#[test]
fn a_name_that_is_too_long_is_refused() {
    let mut scene = Scene::new(GroupConfig::default());
    let token = PublishIdentity::Token { token: Bytes::from(vec![0; IDENTITY_BYTES_MAX + 1]) };
    assert_eq!(scene.apply(once(&[GROUP], token)), Reply::Refused(Refused::LimitReached));
}

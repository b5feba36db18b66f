//! Connections and nodes that are lost, and what becomes of their members.

use braid_machine::{Command, Effect, GroupConfig, MemberConfig, OnLoss, Owner, Reply, Skipped, Strategy};
use braid_types::{ConnectionId, DeliveryId, GroupId, MemberId, Outcome, UnackedOnEnd};

use crate::scene::{GROUP, Scene, header, windowed};

fn owner(node: u64, connection: u64) -> Owner {
    Owner { node, connection: ConnectionId(connection), attachment: 0 }
}

fn of(owner: Owner, on_loss: OnLoss, messages: u32) -> MemberConfig {
    MemberConfig { owner, on_loss, ..windowed(messages) }
}

fn lost(node: u64, connection: u64, kept: &[u64]) -> Command {
    let kept = kept.iter().map(|delivery| DeliveryId(*delivery)).collect();
    Command::ConnectionLost { node, connection: ConnectionId(connection), kept, unsent: Vec::new() }
}

fn unacked(scene: &Scene, member: MemberId) -> Vec<u64> {
    scene.machine.unacked(GROUP, member).map(|delivery| delivery.0).collect()
}

#[test]
fn nothing_goes_back_to_another_member_of_the_same_lost_connection() {
    let mut scene = Scene::new(GroupConfig::default());
    let detach = OnLoss::Detach(Outcome::Modified);
    let (a, b) = (scene.attach(of(owner(1, 7), detach, 2)), scene.attach(of(owner(1, 7), detach, 2)));
    let messages = [scene.publish_plain(), scene.publish_plain(), scene.publish_plain()];
    assert_eq!((scene.member(a).unacked, scene.member(b).unacked), (2, 1));
    scene.apply(lost(1, 7, &[]));
    assert_eq!(scene.effects, [Effect::Unused { group: GROUP }]);
    assert_eq!(scene.counts(), (3, 0));
    scene.attach(of(owner(1, 8), detach, 0));
    let again: Vec<(u64, u32)> = scene.sent().iter().map(|sent| (sent.message, sent.delivery_count)).collect();
    assert_eq!(again, messages.map(|message| (message, 1)));
}

#[test]
fn what_was_never_sent_does_not_count_as_tried() {
    let mut scene = Scene::new(GroupConfig::default());
    let detach = OnLoss::Detach(Outcome::Modified);
    let (one, other) = (Owner { attachment: 3, ..owner(1, 7) }, Owner { attachment: 4, ..owner(1, 7) });
    scene.attach(of(one, detach, 2));
    scene.attach(of(other, detach, 1));
    let messages = [scene.publish_plain(), scene.publish_plain(), scene.publish_plain()];
    let unsent = vec![(4, DeliveryId(0)), (3, DeliveryId(1)), (3, DeliveryId(9))];
    let (connection, kept) = (ConnectionId(7), [].into_iter().collect());
    scene.apply(Command::ConnectionLost { node: 1, connection, kept, unsent });
    scene.attach(of(owner(1, 8), detach, 0));
    let again: Vec<(u64, u32)> = scene.sent().iter().map(|sent| (sent.message, sent.delivery_count)).collect();
    assert_eq!(again, [(messages[0], 1), (messages[1], 0), (messages[2], 0)]);
}

#[test]
fn all_groups_are_looked_at_and_other_connections_are_not_touched() {
    let mut scene = Scene::new(GroupConfig::default());
    let other = GroupId(9);
    scene.apply(Command::CreateGroup { group: other, config: Box::default() });
    let detach = OnLoss::Detach(Outcome::Released);
    scene.attach(of(owner(1, 7), detach, 1));
    let member = Box::new(of(owner(1, 7), detach, 1));
    scene.apply(Command::Attach { group: other, member });
    let same_number_elsewhere = scene.attach(of(owner(2, 7), detach, 1));
    let neighbour = scene.attach(of(owner(1, 8), detach, 1));
    assert_eq!(scene.apply(lost(1, 7, &[])), Reply::Done);
    assert_eq!(scene.effects, [Effect::Unused { group: other }]);
    assert!(scene.machine.has_member(GROUP, same_number_elsewhere) && scene.machine.has_member(GROUP, neighbour));
    assert_eq!(scene.machine.group(GROUP).map(|group| group.member_count()), Some(2));
    scene.apply(lost(1, 7, &[]));
    assert_eq!(scene.effects, [], "it may be told again");
}

#[test]
fn a_paused_member_keeps_what_is_named_and_the_rest_goes_to_others() {
    let mut scene = Scene::new(GroupConfig::default());
    let session = scene.attach(of(owner(1, 7), OnLoss::Pause, 3));
    let messages = [scene.publish_plain(), scene.publish_plain(), scene.publish_plain()];
    let other = scene.attach(of(owner(1, 8), OnLoss::Pause, 0));
    scene.apply(lost(1, 7, &[2, 0, 99]));
    assert_eq!(scene.pairs(), [(other, messages[1])]);
    assert_eq!(scene.sent()[0].delivery_count, 0, "released: not counted");
    assert_eq!(unacked(&scene, session), [0, 2]);
    assert_eq!(scene.member(session).skipped, Some(Skipped::Paused));
}

#[test]
fn a_member_that_was_resumed_elsewhere_is_not_lost_with_its_old_connection() {
    let mut scene = Scene::new(GroupConfig::default());
    let session = scene.attach(of(owner(1, 7), OnLoss::Pause, 3));
    scene.publish_plain();
    scene.apply(Command::Resume { group: GROUP, member: session, owner: owner(2, 1), messages: 3 });
    scene.apply(lost(1, 7, &[]));
    assert_eq!(unacked(&scene, session), [0]);
    assert_eq!(scene.member(session).skipped, None);
    scene.apply(lost(2, 1, &[]));
    assert_eq!(unacked(&scene, session), Vec::<u64>::new());
}

#[test]
fn gets_and_cancelled_members_end_with_their_connection() {
    let mut scene = Scene::new(GroupConfig::default());
    let member = scene.attach(of(owner(1, 7), OnLoss::Detach(Outcome::Modified), 1));
    let (held, taken) = (scene.publish_plain(), scene.publish_plain());
    scene.detach(member, UnackedOnEnd::Keep);
    let (owner, on_loss) = (owner(1, 7), Outcome::Rejected);
    scene.apply(Command::Get { group: GROUP, owner, settled: false, on_loss });
    assert_eq!(scene.counts(), (0, 2));
    scene.apply(lost(1, 7, &[]));
    assert_eq!(scene.counts(), (1, 0));
    assert_eq!(scene.forgotten(), [taken], "rejected, as the get said");
    assert_eq!(scene.machine.upcoming(GROUP, 1).map(|message| message.index.0).collect::<Vec<_>>(), [held]);
    assert!(!scene.machine.has_member(GROUP, member));
}

#[test]
fn a_lost_node_gives_back_uncounted_and_leaves_other_nodes_alone() {
    let mut scene = Scene::new(GroupConfig::default());
    let gone = scene.attach(of(owner(1, 7), OnLoss::Detach(Outcome::Modified), 1));
    let session = scene.attach(of(owner(1, 8), OnLoss::Pause, 1));
    let there = scene.attach(of(owner(2, 7), OnLoss::Detach(Outcome::Modified), 1));
    let messages = [scene.publish_plain(), scene.publish_plain(), scene.publish_plain()];
    scene.apply(Command::SetWindow { group: GROUP, member: there, messages: 0 });
    scene.apply(Command::NodeLost { node: 1 });
    assert!(!scene.machine.has_member(GROUP, gone));
    assert_eq!(unacked(&scene, session), [0], "it keeps all that it holds");
    let sent = scene.sent();
    assert_eq!(scene.pairs(), [(there, messages[0])]);
    assert_eq!((sent[0].redelivered, sent[0].delivery_count), (true, 0));
    scene.publish(header());
    assert_eq!(scene.pairs()[0].0, there);
}

#[test]
fn members_of_the_leading_node_come_first_while_they_have_credit() {
    let mut scene = Scene::new(GroupConfig { strategy: Strategy::LocalFirst, ..GroupConfig::default() });
    let member = |node, messages| of(owner(node, 1), OnLoss::Pause, messages);
    let (a, b) = (scene.attach(member(1, 0)), scene.attach(member(1, 1)));
    let (c, d) = (scene.attach(member(2, 2)), scene.attach(member(2, 1)));
    let to = |scene: &mut Scene| {
        scene.publish_plain();
        scene.pairs()[0].0
    };
    assert_eq!([to(&mut scene), to(&mut scene)], [a, b], "in turn as long as nobody is known to lead");
    scene.apply(Command::Lead { node: 2 });
    assert_eq!(scene.effects, []);
    assert_eq!([0; 4].map(|_| to(&mut scene)), [c, d, c, a]);
    let better = scene.attach(MemberConfig { priority: 1, ..member(1, 1) });
    scene.settle(c, &[0, 1], Outcome::Accepted);
    assert_eq!([to(&mut scene), to(&mut scene)], [better, c], "consumer priority comes before the node");
    scene.apply(Command::Lead { node: 1 });
    assert_eq!(to(&mut scene), a);
    assert_eq!(scene.machine.leading_node(), Some(1));
}

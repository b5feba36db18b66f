//! Properties of whole logs.

use std::collections::{BTreeMap, BTreeSet};

use braid_machine::{Command, Effect, GroupConfig, Partition, Reply};
use braid_types::{GroupId, Machine, MessageId, Outcome, Timestamp};
use bytes::{Bytes, BytesMut};
use proptest::prelude::*;

use crate::actions::{Action, log};
use crate::world::{Logged, World, snapshot};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Replies, effects and their order are the model's; the invariants hold after every command.
    #[test]
    fn the_machine_does_what_the_model_does((configs, actions) in log(120)) {
        run(&configs, &actions);
    }

    /// The whole log and any snapshot with the rest of the log give the same effects and the same state.
    #[test]
    fn a_replay_from_any_point_ends_in_the_same_state(
        (configs, actions) in log(80),
        cut in any::<prop::sample::Index>(),
    ) {
        let world = run(&configs, &actions);
        let cut = cut.index(world.log.len() + 1);
        let mut replayed = Partition::default();
        replay(&mut replayed, &world.log[..cut]);
        let bytes = snapshot(&replayed);
        let mut restored = Partition::restore(&mut bytes.clone()).expect("our own snapshot");
        prop_assert_eq!(&bytes, &snapshot(&restored));
        braid_machine::invariants::check(&restored).expect("a restored state is sound");
        replay(&mut restored, &world.log[cut..]);
        prop_assert_eq!(world.snapshot(), snapshot(&restored));
    }

    /// Parts that are written only for groups that changed are always those of the present state.
    #[test]
    fn parts_of_what_changed_are_the_whole_state((configs, actions) in log(80), every in 1_usize..12) {
        let world = run(&configs, &actions);
        let mut machine = Partition::default();
        let mut parts: BTreeMap<GroupId, Bytes> = BTreeMap::new();
        for logged in world.log.chunks(every) {
            replay(&mut machine, logged);
            let changed = machine.take_changed();
            prop_assert!(changed.is_sorted_by(|left, right| left < right));
            for id in changed {
                parts.insert(id, part(&machine, id));
            }
            parts.retain(|id, _| machine.group(*id).is_some());
            prop_assert!(parts.iter().all(|(id, kept)| *kept == part(&machine, *id)));
            prop_assert!(machine.take_changed().is_empty());
        }
        let mut head = BytesMut::new();
        machine.put_head(&mut head);
        let parts = parts.into_iter().map(Ok);
        let mut restored = Partition::restore_parts(&mut head.freeze(), parts).expect("our own parts");
        braid_machine::invariants::check(&restored).expect("a restored state is sound");
        prop_assert_eq!(snapshot(&restored), world.snapshot());
        prop_assert!(restored.take_changed().is_empty());
    }

    /// What is said to go out next is all that is ready, and a get takes the first of it.
    #[test]
    fn the_upcoming_messages_go_out_in_that_order((configs, actions) in log(80)) {
        let mut world = run(&configs, &actions);
        for group in world.machine.group_ids() {
            for settled in [true, false, true, true] {
                let upcoming: Vec<MessageId> = world.machine.upcoming(group, usize::MAX).collect();
                let distinct: BTreeSet<MessageId> = upcoming.iter().copied().collect();
                prop_assert_eq!(upcoming.len() as u64, world.machine.group(group).expect("listed").ready());
                prop_assert_eq!(distinct.len(), upcoming.len());
                let first: Vec<MessageId> = world.machine.upcoming(group, 1).collect();
                prop_assert_eq!(&first[..], &upcoming[..upcoming.len().min(1)]);
                let owner = braid_machine::Owner::default();
                world.command(Command::Get { group, owner, settled, on_loss: Outcome::Released });
                let logged = world.log.last().expect("a get");
                let has_expired = logged.effects.iter().any(|effect| matches!(effect, Effect::Dropped { .. }));
                if let (Reply::Got { taken }, false) = (logged.reply, has_expired) {
                    prop_assert_eq!(taken.map(|taken| taken.message), upcoming.first().copied());
                }
            }
        }
    }

    /// Settling again, in any order and later, changes nothing but what the first settle did.
    #[test]
    fn repeated_and_reordered_settles_are_harmless(
        (configs, actions) in log(80),
        rotate in any::<prop::sample::Index>(),
    ) {
        let mut world = run(&configs, &actions);
        let mut settles: Vec<Command> =
            world.log.iter().map(|logged| logged.command.clone()).filter(is_settle).collect();
        if settles.is_empty() {
            return Ok(());
        }
        let middle = rotate.index(settles.len());
        settles.rotate_left(middle);
        let made = world.made().len();
        for settle in settles {
            let before = world.snapshot();
            let group = group_of(&settle);
            world.command(settle);
            // Only what is not settled yet may still be: then a message left, or came back and went out again.
            let changed = world.snapshot() != before;
            let effects = &world.log.last().expect("just applied").effects;
            prop_assert!(changed || effects.is_empty() || world.machine.group(group).is_none());
        }
        prop_assert!(world.made().len() >= made);
    }

    /// When all deliveries are accepted again and again and a greedy member comes, every group runs empty.
    #[test]
    fn everything_can_be_drained((configs, actions) in log(80)) {
        let mut world = run(&configs, &actions);
        drain(&mut world);
        for group in world.machine.group_ids() {
            let view = world.machine.group(group).expect("listed");
            prop_assert_eq!((view.ready(), view.delayed(), view.unacked()), (0, 0, 0));
        }
        prop_assert_eq!(world.machine.live_messages().count(), 0);
        prop_assert_eq!(world.machine.groups_with_dead_letters(), []);
    }
}

fn run(configs: &[GroupConfig], actions: &[Action]) -> World {
    let mut world = World::new(configs);
    for action in actions {
        world.step(action);
    }
    world
}

/// A group's part of a snapshot.
fn part(machine: &Partition, id: GroupId) -> Bytes {
    let mut out = BytesMut::new();
    assert!(machine.put_group(id, &mut out));
    out.freeze()
}

/// Applies a log again; every effect and reply must be what it was.
fn replay(machine: &mut Partition, log: &[Logged]) {
    for logged in log {
        let mut effects = Vec::new();
        let reply = machine.apply(logged.stamp, logged.command.clone(), &mut effects);
        assert_eq!((reply, &effects), (logged.reply, &logged.effects), "on {:?}", logged.command);
    }
}

fn drain(world: &mut World) {
    for group in world.machine.group_ids() {
        for round in 0.. {
            assert!(round < 60, "it does not run empty: {:?}", world.machine.group(group));
            let open: Vec<_> = world.machine.group(group).expect("listed").members().map(|member| member.id).collect();
            for member in open {
                let made = world.made().iter().filter(|made| (made.0, made.1) == (group, member));
                let deliveries = made.map(|made| made.2).collect();
                world.command(Command::Settle { group, member, deliveries, outcome: Outcome::Accepted });
            }
            world.command(Command::Get {
                group,
                owner: braid_machine::Owner::default(),
                settled: true,
                on_loss: Outcome::Released,
            });
            if matches!(world.log.last().expect("a get").reply, Reply::Refused(_)) {
                // Nobody else may take what the members of the group cannot.
                world.command(Command::PurgeGroup { group });
            }
            let messages = world.machine.dead_letters(group).map(|(message, ..)| message).collect();
            world.command(Command::EndDeadLetters { group, messages });
            let view = world.machine.group(group).expect("listed");
            if view.ready() + view.delayed() + view.unacked() == 0 {
                break;
            }
            if view.ready() + view.unacked() == 0 {
                // What is delayed is due then, and nobody holds anything that could be overdue.
                world.step(&Action::Wait(50));
            }
        }
    }
}

fn is_settle(command: &Command) -> bool {
    matches!(command, Command::Settle { .. })
}

fn group_of(command: &Command) -> GroupId {
    match command {
        Command::Settle { group, .. } => *group,
        _ => unreachable!("only settles were kept"),
    }
}

#[test]
fn time_that_goes_back_in_a_stamp_does_not_go_back_in_the_machine() {
    let mut machine = Partition::default();
    let world = run(&[GroupConfig::default()], &[]);
    replay(&mut machine, &world.log);
    let group = GroupId(0);
    let mut stamp = world.log[0].stamp;
    let enqueue = |expires_at| Command::Enqueue {
        groups: [group].into_iter().collect(),
        message: braid_machine::MessageHeader { size_bytes: 1, priority: 0, expires_at, address: None },
    };
    let mut effects = Vec::new();
    stamp.index.0 += 1;
    stamp.time = Timestamp(1_000);
    machine.apply(stamp, enqueue(None), &mut effects);
    stamp.index.0 += 1;
    stamp.time = Timestamp(10);
    machine.apply(stamp, enqueue(Some(Timestamp(500))), &mut effects);
    machine.apply(
        stamp,
        Command::Get { group, owner: braid_machine::Owner::default(), settled: true, on_loss: Outcome::Released },
        &mut effects,
    );
    stamp.index.0 += 1;
    machine.apply(
        stamp,
        Command::Get { group, owner: braid_machine::Owner::default(), settled: true, on_loss: Outcome::Released },
        &mut effects,
    );
    let expired = effects.iter().filter(|effect| matches!(effect, Effect::Dropped { .. })).count();
    assert_eq!(expired, 1);
}

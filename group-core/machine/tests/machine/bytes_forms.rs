//! Byte forms of commands and snapshots: they come back as they were, and damaged ones harm nobody.

use braid_machine::{Command, GroupConfig, MessageHeader, Owner, Partition, decode_commands};
use braid_types::{ConnectionId, DeliveryId, GroupId, Machine, Outcome, Stamp, Timestamp, Wire};
use bytes::{Bytes, BytesMut};
use proptest::prelude::*;

use crate::actions::log;
use crate::scene::{address, header};
use crate::world::{World, snapshot};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn commands_come_back_as_they_were((configs, actions) in log(60)) {
        let world = run(&configs, &actions);
        let mut out = BytesMut::new();
        for logged in &world.log {
            logged.command.encode(&mut out);
        }
        let mut input = out.freeze();
        for logged in &world.log {
            prop_assert_eq!(&Command::decode(&mut input), &Ok(logged.command.clone()));
        }
        prop_assert!(input.is_empty());
    }

    #[test]
    fn the_commands_of_an_entry_come_back_together((configs, actions) in log(60), cut in any::<prop::sample::Index>()) {
        let world = run(&configs, &actions);
        let commands: Vec<Command> = world.log.iter().map(|logged| logged.command.clone()).collect();
        let mut out = BytesMut::new();
        commands.iter().for_each(|command| command.encode(&mut out));
        let mut input = out.freeze();
        let mut cut_off = input.slice(..cut.index(input.len()));
        prop_assert_eq!(&decode_commands(&mut input, commands.len()), &Ok(commands.clone()));
        prop_assert!(input.is_empty());
        prop_assert!(decode_commands(&mut cut_off, commands.len()).is_err());
    }

    #[test]
    fn a_command_that_is_cut_off_or_damaged_is_refused_or_another_command(
        (configs, actions) in log(20),
        cut in any::<prop::sample::Index>(),
        flip in any::<(prop::sample::Index, u8)>(),
    ) {
        let world = run(&configs, &actions);
        for logged in &world.log {
            let mut out = BytesMut::new();
            logged.command.encode(&mut out);
            let cut_off = Bytes::copy_from_slice(&out[..cut.index(out.len())]);
            prop_assert!(Command::decode(&mut cut_off.clone()).is_err());
            let place = flip.0.index(out.len());
            out[place] ^= flip.1;
            if let Ok(other) = Command::decode(&mut out.freeze()) {
                let mut machine = Partition::restore(&mut world.snapshot()).expect("our own snapshot");
                machine.apply(Stamp { index: braid_types::LogIndex(1 << 40), ..logged.stamp }, other, &mut Vec::new());
            }
        }
    }

    /// A damaged snapshot is refused, or is another state that goes on without a panic.
    #[test]
    fn a_damaged_snapshot_never_panics(
        (configs, actions) in log(60),
        flips in prop::collection::vec(any::<(prop::sample::Index, u8)>(), 1..4),
        cut in any::<prop::sample::Index>(),
    ) {
        let world = run(&configs, &actions);
        let bytes = world.snapshot();
        let cut_off = bytes.slice(..cut.index(bytes.len()));
        prop_assert!(Partition::restore(&mut cut_off.clone()).is_err());
        let mut damaged = BytesMut::from(&bytes[..]);
        for (place, byte) in flips {
            let place = place.index(damaged.len());
            damaged[place] ^= byte;
        }
        if let Ok(mut machine) = Partition::restore(&mut damaged.freeze()) {
            let mut effects = Vec::new();
            for (index, logged) in (1_u64 << 40..).zip(&world.log) {
                let stamp = Stamp { index: braid_types::LogIndex(index), time: Timestamp(u64::MAX), ..logged.stamp };
                machine.apply(stamp, logged.command.clone(), &mut effects);
            }
            let again = snapshot(&machine);
            prop_assert!(Partition::restore(&mut again.clone()).is_ok());
        }
    }

    #[test]
    fn noise_is_no_snapshot_and_no_command(noise in prop::collection::vec(any::<u8>(), 0..300)) {
        let mut input = Bytes::from(noise);
        if let Ok(command) = Command::decode(&mut input.clone()) {
            let mut machine = Partition::default();
            machine.apply(Stamp::default(), command, &mut Vec::new());
        }
        if let Ok(mut machine) = Partition::restore(&mut input) {
            machine.apply(
                Stamp::default(),
                Command::Get { group: GroupId(0), owner: Owner::default(), settled: true, on_loss: Outcome::Released },
                &mut Vec::new(),
            );
        }
    }
}

fn run(configs: &[GroupConfig], actions: &[crate::actions::Action]) -> World {
    let mut world = World::new(configs);
    for action in actions {
        world.step(action);
    }
    world
}

#[test]
fn messages_in_a_row_with_one_address_share_it() {
    let mut out = BytesMut::new();
    let topics = ["a/b", "a/b", "a/c", "a/c", "a/b"];
    for topic in topics {
        let message = MessageHeader { address: Some(address(topic)), ..header() };
        Command::Enqueue { groups: [GroupId(1)].into_iter().collect(), message }.encode(&mut out);
    }
    let commands = decode_commands(&mut out.freeze(), topics.len()).expect("our own commands");
    let places = commands.iter().map(|command| match command {
        Command::Enqueue { message: MessageHeader { address: Some(address), .. }, .. } => {
            address.levels().next().expect("a level").as_ptr()
        }
        other => panic!("{other:?}"),
    });
    let places: Vec<*const u8> = places.collect();
    assert_eq!((places[0], places[2]), (places[1], places[3]));
    assert_ne!(places[0], places[2]);
    assert_ne!(places[0], places[4], "only the last one is remembered");
}

#[test]
fn a_count_that_is_only_announced_allocates_nothing() {
    assert!(decode_commands(&mut Bytes::from_static(&[13, 1]), usize::MAX).is_err());
    assert_eq!(decode_commands(&mut Bytes::from_static(&[13, 1]), 1), Ok(vec![Command::Tick]));
}

#[test]
fn an_unknown_kind_or_version_is_not_guessed_at() {
    for bytes in [[0, 1], [200, 1], [3, 0], [3, 2]] {
        assert!(Command::decode(&mut Bytes::copy_from_slice(&[bytes[0], bytes[1], 0, 0, 0])).is_err());
    }
    assert!(Partition::restore(&mut Bytes::from_static(&[2, 0, 0, 0, 0])).is_err());
    assert!(Partition::restore(&mut Bytes::from_static(&[1, 0, 0, 0, 0])).is_ok());
}

#[test]
fn a_lost_connection_of_an_older_log_is_understood() {
    let kept = [DeliveryId(7)].into_iter().collect();
    let lost = Command::ConnectionLost { node: 1, connection: ConnectionId(2), kept, unsent: Vec::new() };
    let mut out = BytesMut::new();
    lost.encode(&mut out);
    // The first version of its kind ended before the list of what was never sent, which is empty here.
    assert_eq!((out[1], out.last()), (2, Some(&0)));
    out[1] = 1;
    out.truncate(out.len() - 1);
    assert_eq!(Command::decode(&mut out.freeze()), Ok(lost));
}

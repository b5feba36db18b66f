//! Queues of very many messages that are purged, deleted or expire: gone at once for everybody, let go of in steps.

use std::collections::BTreeSet;

use braid_machine::limits::{EXPIRED_AT_ONCE_MAX, REMOVED_AT_ONCE_MAX};
use braid_machine::{Command, Effect, GroupConfig, MessageHeader, Partition, Reply, invariants};
use braid_types::{GroupId, LogIndex, Machine, MessageId, Stamp, Timestamp};
use bytes::BytesMut;

use crate::scene::{GROUP, header, windowed};

const OTHER: GroupId = GroupId(2);

/// Three steps' worth, and one message in another group too.
const MESSAGES: u64 = 2 * REMOVED_AT_ONCE_MAX + 100;

/// Each entry has one command.
struct Log {
    machine: Partition,
    index: u64,
}

impl Log {
    fn full() -> Self {
        let mut log = Self { machine: Partition::default(), index: 0 };
        for group in [GROUP, OTHER] {
            log.apply(Command::CreateGroup { group, config: Box::new(GroupConfig::default()) });
        }
        for number in 0..MESSAGES {
            let groups = if number == 7 { vec![GROUP, OTHER] } else { vec![GROUP] };
            let (_, forgotten) =
                log.apply(Command::Enqueue { groups: groups.into_iter().collect(), message: header() });
            assert!(forgotten.is_empty());
        }
        log
    }

    fn apply(&mut self, command: Command) -> (Reply, Vec<MessageId>) {
        self.index += 1;
        let (stamp, mut effects) = (Stamp { index: LogIndex(self.index), ..Stamp::default() }, Vec::new());
        let reply = self.machine.apply(stamp, command, &mut effects);
        let forgotten = effects.iter().map(|effect| match effect {
            Effect::Forget { message } => *message,
            other => panic!("{other:?}"),
        });
        (reply, forgotten.collect())
    }

    /// Applies a command that removes all messages of the group, and lets time pass until all of them are let go of.
    fn remove(&mut self, command: Command) {
        let (reply, mut forgotten) = self.apply(command);
        assert_eq!(reply, Reply::Removed { message_count: MESSAGES });
        assert!(forgotten.len() as u64 <= REMOVED_AT_ONCE_MAX);
        assert_eq!(self.machine.live_messages().count(), 1, "that of the other group");
        let mut steps = 0;
        while let Some(deadline) = self.machine.next_deadline() {
            assert_eq!(deadline, Timestamp(0), "there is more to do at once");
            invariants::check(&self.machine).unwrap();
            let (_, more) = self.apply(Command::Tick);
            assert!(more.len() as u64 <= REMOVED_AT_ONCE_MAX);
            forgotten.extend(more);
            steps += 1;
        }
        assert!((2..=4).contains(&steps), "{steps}");
        invariants::check(&self.machine).unwrap();
        let each_once: BTreeSet<MessageId> = forgotten.iter().copied().collect();
        assert_eq!((forgotten.len() as u64, each_once.len() as u64), (MESSAGES - 1, MESSAGES - 1));
    }
}

#[test]
fn a_purge_of_very_many_messages_goes_on_in_steps() {
    let mut log = Log::full();
    log.remove(Command::PurgeGroup { group: GROUP });
    let (reply, _) = log.apply(Command::Enqueue { groups: [GROUP].into_iter().collect(), message: header() });
    assert_eq!(reply, Reply::Enqueued { groups: 1 });
    assert_eq!(log.machine.group(GROUP).unwrap().ready(), 1);
}

#[test]
fn a_deletion_of_very_many_messages_goes_on_in_steps() {
    let mut log = Log::full();
    log.remove(Command::DeleteGroup { group: GROUP, if_unused: false, if_empty: false });
    assert!(log.machine.group(GROUP).is_none());
}

#[test]
fn for_a_snapshot_it_is_all_gone() {
    let mut log = Log::full();
    log.apply(Command::PurgeGroup { group: GROUP });
    let mut snapshot = BytesMut::new();
    log.machine.snapshot(&mut snapshot);
    let restored = Partition::restore(&mut snapshot.freeze()).unwrap();
    invariants::check(&restored).unwrap();
    assert_eq!((restored.live_messages().count(), restored.next_deadline()), (1, None));
}

#[test]
fn very_many_messages_expire_in_steps_and_none_is_handed_out() {
    let mut log = Log { machine: Partition::default(), index: 0 };
    log.apply(Command::CreateGroup { group: GROUP, config: Box::new(GroupConfig::default()) });
    for expires_at in (0..MESSAGES).map(|_| Some(Timestamp(5))).chain([None]) {
        let message = MessageHeader { expires_at, ..header() };
        log.apply(Command::Enqueue { groups: [GROUP].into_iter().collect(), message });
    }
    let (mut dropped, mut sent, mut commands) = (0, Vec::new(), 0);
    let mut next = Some(Command::Attach { group: GROUP, member: Box::new(windowed(10)) });
    while let Some(command) = next.take() {
        let (stamp, mut effects) = (Stamp { index: LogIndex(MESSAGES + 10 + commands), ..at(6) }, Vec::new());
        log.machine.apply(stamp, command, &mut effects);
        invariants::check(&log.machine).unwrap();
        let expired = effects.iter().filter(|effect| matches!(effect, Effect::Dropped { .. })).count();
        assert!(expired <= EXPIRED_AT_ONCE_MAX);
        dropped += expired as u64;
        sent.extend(effects.iter().filter_map(|effect| match effect {
            Effect::Deliver { message, .. } => Some(message.index.0),
            _ => None,
        }));
        commands += 1;
        next = log.machine.next_deadline().filter(|deadline| *deadline <= Timestamp(6)).map(|_| Command::Tick);
    }
    assert_eq!((dropped, sent, commands), (MESSAGES, vec![MESSAGES + 2], 3));
}

fn at(time_ms: u64) -> Stamp {
    Stamp { time: Timestamp(time_ms), ..Stamp::default() }
}

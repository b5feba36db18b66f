//! What things take in an entry, at most and in round figures: so that no entry is larger than the log can take.

use braid_machine::{Command, Groups, PublishIdentity};
use braid_types::{Filter, FilterLevel, Message};

/// A number of 64 bits, as commands encode it.
const NUMBER_BYTES: usize = 10;

/// What a message takes with the command that brings it: its key may be there twice.
pub(super) fn message_bytes(message: &Message) -> usize {
    const OVERHEAD_BYTES: usize = 96;
    message.size_bytes() + message.exchange.len() + 2 * message.key.len() + message.reply.len() + OVERHEAD_BYTES
}

/// What a command takes, beside what its message does.
pub(super) fn command_bytes(command: &Command) -> usize {
    const FIELDS_BYTES: usize = 64;
    match command {
        Command::Enqueue { groups, .. } => groups_bytes(groups),
        Command::EnqueueOnce { groups, identity, .. } => {
            let (PublishIdentity::Sequence { publisher: name, .. } | PublishIdentity::Token { token: name }) = identity;
            groups_bytes(groups) + name.len() + 2 * NUMBER_BYTES
        }
        Command::Settle { deliveries, .. } => FIELDS_BYTES + NUMBER_BYTES * deliveries.len(),
        Command::ConnectionLost { kept, unsent, .. } => FIELDS_BYTES + NUMBER_BYTES * (kept.len() + 2 * unsent.len()),
        Command::EndDeadLetters { messages, .. } => FIELDS_BYTES + 2 * NUMBER_BYTES * messages.len(),
        Command::DefineGroupSet { groups, .. } => FIELDS_BYTES + NUMBER_BYTES * groups.len(),
        Command::Attach { member, .. } => 2 * FIELDS_BYTES + member.filter.as_ref().map_or(0, filter_bytes),
        Command::CreateGroup { .. } | Command::Configure { .. } => 3 * FIELDS_BYTES,
        _ => FIELDS_BYTES,
    }
}

fn groups_bytes(groups: &Groups) -> usize {
    match groups {
        Groups::These(these) => NUMBER_BYTES * these.len(),
        Groups::Set(_) => NUMBER_BYTES,
    }
}

fn filter_bytes(filter: &Filter) -> usize {
    const LEVEL_BYTES: usize = 4;
    let level = |level: &FilterLevel| match level {
        FilterLevel::Literal(literal) => LEVEL_BYTES + literal.len(),
        FilterLevel::One | FilterLevel::ZeroOrMore | FilterLevel::OneOrMore => LEVEL_BYTES,
    };
    filter.levels().iter().map(level).sum()
}

#[cfg(test)]
mod tests {
    use braid_machine::{Credit, GroupConfig, MemberConfig, MessageHeader, OnLoss, Overflow, Owner, RetryDelay};
    use braid_types::{
        Address, ConnectionId, DeliveryId, GroupId, LogIndex, MemberId, MessageId, Outcome, Protocol, Timestamp, Wire,
    };
    use bytes::{Bytes, BytesMut};

    use super::*;

    fn check(command: &Command) {
        let mut encoded = BytesMut::new();
        command.encode(&mut encoded);
        assert!(encoded.len() <= command_bytes(command), "{} bytes: {command:?}", encoded.len());
    }

    /// With the largest numbers.
    #[test]
    fn no_command_takes_more_than_is_said() {
        const MOST: u64 = u64::MAX;
        let (group, member) = (GroupId(MOST), MemberId { index: LogIndex(MOST), position: u32::MAX });
        let owner = Owner { node: MOST, connection: ConnectionId(MOST), attachment: u32::MAX };
        let config = Box::new(GroupConfig {
            delivery_limit: Some(u32::MAX),
            messages_max: Some(MOST),
            size_bytes_max: Some(MOST),
            overflow: Overflow::RejectPublish,
            message_ttl_ms: Some(MOST),
            expires_ms: Some(MOST),
            retry: Some(RetryDelay { delay_ms_min: MOST, delay_ms_max: MOST }),
            member_timeout_ms: Some(MOST),
            token_window_ms: Some(MOST),
            priority_max: Some(31),
            ..GroupConfig::default()
        });
        let filter = Filter::from_notation(Protocol::Mqtt, b"some/levels/+/and/x/#").ok();
        let credit = Credit::Granted { messages: u32::MAX, bytes: MOST };
        let on_loss = OnLoss::Detach(Outcome::Modified);
        let attached = MemberConfig { owner, credit, priority: i32::MIN, exclusive: true, filter, on_loss };
        let message = MessageId { index: LogIndex(MOST), position: u32::MAX };
        for count in [0, 1, 5, 100] {
            let deliveries = || (0..count).map(|_| DeliveryId(MOST)).collect();
            check(&Command::Settle { group, member, deliveries: deliveries(), outcome: Outcome::Released });
            let unsent = (0..count).map(|_| (u32::MAX, DeliveryId(MOST))).collect();
            check(&Command::ConnectionLost { node: MOST, connection: ConnectionId(MOST), kept: deliveries(), unsent });
            check(&Command::EndDeadLetters { group, messages: (0..count).map(|_| message).collect() });
        }
        check(&Command::Attach { group, member: Box::new(attached) });
        check(&Command::CreateGroup { group, config: config.clone() });
        check(&Command::Configure { group, config });
        check(&Command::Resume { group, member, owner, messages: u32::MAX });
        check(&Command::Grant { group, member, messages: u32::MAX, bytes: MOST });
        check(&Command::Get { group, owner, settled: true, on_loss: Outcome::Rejected });
    }

    #[test]
    fn no_publish_takes_more_than_is_said() {
        let groups: Groups = (0..20).map(|_| GroupId(u64::MAX)).collect();
        let key = Bytes::from_static(b"some.key.with.levels.of.one.a.b.c.d.e.f.g.h");
        let address = Address::from_notation(Protocol::Amqp, &key).ok();
        let expires_at = Some(Timestamp(u64::MAX));
        let header = MessageHeader { size_bytes: u32::MAX, priority: 31, expires_at, address };
        let identity = PublishIdentity::Sequence { publisher: Bytes::from_static(b"publisher"), sequence: u64::MAX };
        let command = Command::EnqueueOnce { groups, message: header, identity };
        let message = Message { key, expires_at, ..Message::empty(Protocol::Amqp) };
        let mut encoded = BytesMut::new();
        command.encode(&mut encoded);
        crate::stored::put_prefix(&message, 0, &mut encoded);
        let said = command_bytes(&command) + message_bytes(&message);
        assert!(encoded.len() <= said, "{} bytes, not {said}", encoded.len());
    }
}

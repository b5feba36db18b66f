//! Subjects that stand for something of the other protocols: reply addresses, and groups by name.
//!
//! A group `N` is the subject `$queue.N`: a NATS client joins it there (`SUB $queue.N q`) and publishes to it there,
//! so that is also what an AMQP `reply-to` becomes. The name's bytes that a subject cannot hold are escaped by
//! [`Address`], which undoes it on the way back.

use braid_types::{Address, Protocol, ReplyAddress};
use bytes::{Bytes, BytesMut};

use crate::{limits::CONTROL_LINE_BYTES_MAX, subject::is_literal};

const GROUP_PREFIX: &[u8] = b"$queue.";

/// The subject that an answer can be published to; `None` when it cannot be written as one.
pub(crate) fn to_subject(reply: &ReplyAddress) -> Option<Bytes> {
    let subject = match reply {
        ReplyAddress::Topic(address) => address.to_notation(Protocol::Nats).ok()?,
        ReplyAddress::Group(name) => {
            let name = Address::from_notation(Protocol::Amqp, name).ok()?.to_notation(Protocol::Nats).ok()?;
            let mut subject = BytesMut::with_capacity(GROUP_PREFIX.len() + name.len());
            subject.extend_from_slice(GROUP_PREFIX);
            subject.extend_from_slice(&name);
            subject.freeze()
        }
    };
    (!subject.is_empty() && subject.len() <= CONTROL_LINE_BYTES_MAX).then_some(subject)
}

/// The address that a reply subject means; `None` when there is none or it is no address.
pub(crate) fn from_subject(subject: &[u8]) -> Option<ReplyAddress> {
    if subject.is_empty() {
        return None;
    }
    match group_of(subject) {
        Some(name) => Some(ReplyAddress::Group(name)),
        None => Address::from_notation(Protocol::Nats, subject).ok().map(ReplyAddress::Topic),
    }
}

/// The name of the group that `subject` stands for.
pub(crate) fn group_of(subject: &[u8]) -> Option<Bytes> {
    let name = subject.strip_prefix(GROUP_PREFIX).filter(|name| is_literal(name))?;
    Address::from_notation(Protocol::Nats, name).ok()?.to_notation(Protocol::Amqp).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_have_a_subject_and_get_their_name_back() {
        assert_eq!(to_subject(&ReplyAddress::Group(Bytes::from_static(b"jobs.eu"))).unwrap(), "$queue.jobs.eu");
        assert_eq!(from_subject(b"$queue.jobs.eu"), Some(ReplyAddress::Group(Bytes::from_static(b"jobs.eu"))));
        assert_eq!(group_of(b"$queue.*"), None);
        assert_eq!(group_of(b"$queue."), None);
        assert_eq!(group_of(b"queue.a"), None);
        let topic = from_subject(b"_INBOX.x.1").unwrap();
        assert_eq!(to_subject(&topic).unwrap(), "_INBOX.x.1");
        assert_eq!(from_subject(b""), None);
    }
}

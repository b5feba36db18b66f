//! What goes wrong on a NATS connection, in the words of nats-server 2.15, whose clients compare them.
//!
//! Two kinds: a [`Fault`] ends the connection, a [`Complaint`] does not. Both are the peer's to act on, except where a
//! variant says otherwise. The texts are the ones on the wire, in nats-server's own spelling.

use alloc::{format, string::String};

use bytes::Bytes;

use crate::encoder::quoted;

/// Ends the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Fault {
    /// The bytes name no operation, or a payload is not followed by CR LF.
    #[error("Unknown Protocol Operation")]
    UnknownOperation,
    /// The operation's arguments make no sense. (nats-server closes without a word here; the text is the one that its
    /// protocol documentation has for it.)
    #[error("Parser Error")]
    Arguments,
    /// A control line is longer than allowed.
    #[error("maximum control line exceeded")]
    ControlLine,
    /// A payload is announced that is larger than allowed.
    #[error("Maximum Payload Violation")]
    Payload,
    /// The client itself reported an error: there is nobody to tell.
    #[error("")]
    PeerError,
    /// Credentials are missing or wrong.
    #[error("Authorization Violation")]
    Authorization,
    /// `CONNECT` did not come, or was not answered, in time.
    #[error("Authentication Timeout")]
    AuthenticationTimeout,
    /// `CONNECT` asks for a protocol version that does not exist.
    #[error("invalid client protocol")]
    ClientProtocol,
    /// `CONNECT` asks for no-responders notices without header support.
    #[error("no responders requires headers support")]
    NoRespondersWithoutHeaders,
    /// More was sent ahead than can be kept.
    #[error("Maximum Pending Operations Exceeded")]
    TooMuchHeld,
    /// The client does not answer, or the node cannot serve it now: come again. Clients reconnect on this text.
    #[error("Stale Connection")]
    Stale,
    /// The client does not read what it asked for.
    #[error("Slow Consumer")]
    SlowConsumer,
    /// The user has as many connections as it may (retry later).
    #[error("maximum connections exceeded")]
    Connections,
}

impl Fault {
    /// The line to send; empty where there is nothing to say.
    pub(crate) fn line(self) -> Bytes {
        if self == Self::PeerError { Bytes::new() } else { Bytes::from(format!("-ERR '{self}'\r\n")) }
    }
}

/// Refuses one operation; the connection goes on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Complaint {
    /// Pedantic clients only: the subject of a publish is empty somewhere or has wildcards.
    #[error("Invalid Publish Subject")]
    PublishSubject,
    /// The subject of a subscription is no filter.
    #[error("Invalid Subject")]
    Subject,
    /// The user may not publish there.
    #[error("Permissions Violation for Publish to {}", quoted(.subject))]
    Publish {
        /// Where.
        subject: Bytes,
    },
    /// The subscription is refused. Clients find the subscription by the first part; `detail` is for people.
    #[error("Permissions Violation for Subscription to {}{}{detail}", quoted(.subject), using_queue(.queue.as_ref()))]
    Subscription {
        /// The filter.
        subject: Bytes,
        /// The queue group, if any.
        queue: Option<Bytes>,
        /// Empty, or a comma and a reason without line ends.
        detail: String,
    },
    /// The connection has as many subscriptions as it may.
    #[error("maximum subscriptions exceeded")]
    Subscriptions,
}

impl Complaint {
    /// The line to send.
    pub(crate) fn line(&self) -> Bytes {
        Bytes::from(format!("-ERR '{self}'\r\n"))
    }
}

fn using_queue(queue: Option<&Bytes>) -> String {
    queue.map_or_else(String::new, |queue| format!(" using queue {}", quoted(queue)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_of_the_model() {
        assert_eq!(&Fault::UnknownOperation.line()[..], b"-ERR 'Unknown Protocol Operation'\r\n");
        assert!(Fault::PeerError.line().is_empty());
        let refused = Complaint::Subscription {
            subject: Bytes::from_static(b"a\"\\\x01\xff"),
            queue: Some(Bytes::from_static(b"_sys_")),
            detail: String::new(),
        };
        let expected =
            b"-ERR 'Permissions Violation for Subscription to \"a\\\"\\\\\\x01\\xff\" using queue \"_sys_\"'\r\n";
        assert_eq!(&refused.line()[..], expected);
    }
}

//! What a client did wrong. All of it is the peer's fault and ends in a close of its own connection; what the broker
//! refuses is no error here but an answer ([`crate::ReasonCode`]).

use crate::ReasonCode;

/// A fault of the client. It becomes the reason code of CONNACK or DISCONNECT (MQTT 5, 4.13), or a bare close.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Closed without a word, as by Mosquitto: it does not speak MQTT, or packets cannot be told apart any more, or its
    /// will could never be published.
    #[error("{0}")]
    Unanswered(&'static str),
    /// Bytes that cannot be parsed.
    #[error("malformed packet: {0}")]
    Malformed(&'static str),
    /// Something that may not come here, or a value out of range.
    #[error("protocol error: {0}")]
    Protocol(&'static str),
    /// Another reason code of the standard.
    #[error("reason code {:#04x}", .0.0)]
    Reason(ReasonCode),
}

impl Fault {
    /// The reason code to send; `None`: close without a word.
    #[must_use]
    pub const fn reason(self) -> Option<ReasonCode> {
        match self {
            Self::Unanswered(_) => None,
            Self::Malformed(_) => Some(ReasonCode::MALFORMED_PACKET),
            Self::Protocol(_) => Some(ReasonCode::PROTOCOL_ERROR),
            Self::Reason(code) => Some(code),
        }
    }
}

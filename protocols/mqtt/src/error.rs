//! What a client did wrong. All of it is the peer's fault and ends in a close of its own connection; what the broker
//! refuses is no error here but an answer ([`crate::ReasonCode`]).

use crate::ReasonCode;

/// A fault of the client. It becomes the reason code of CONNACK or DISCONNECT (MQTT 5, 4.13), or a bare close.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The length of a packet cannot be read: where the next one begins is unknown, so nothing is answered.
    #[error("the remaining length has more than four bytes")]
    Framing,
    /// A packet before CONNECT: whoever this is does not speak MQTT, so nothing is answered.
    #[error("the first packet is not CONNECT")]
    NotConnected,
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
            Self::Framing | Self::NotConnected => None,
            Self::Malformed(_) => Some(ReasonCode::MALFORMED_PACKET),
            Self::Protocol(_) => Some(ReasonCode::PROTOCOL_ERROR),
            Self::Reason(code) => Some(code),
        }
    }
}

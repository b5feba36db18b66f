//! Errors, by who must act: [`FrameError`], [`DecodeError`] and [`Exception`] are the peer's fault and end in a protocol
//! close; [`ConversionError`] is nobody's: one message cannot be said in AMQP and goes back to the broker as rejected.

use alloc::string::String;

use braid_types::Refusal;

use crate::{ReplyCode, limits::SHORT_STRING_BYTES_MAX, method::MethodId};

/// Bytes that are no frame. What follows them cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The first octet is none of 1, 2, 3 and 8.
    #[error("unknown frame type {0}")]
    UnknownType(u8),
    /// The announced payload is larger than was negotiated.
    #[error("payload of {size_bytes} bytes is larger than the negotiated frame_max {limit_bytes}")]
    TooLarge {
        /// Announced.
        size_bytes: u32,
        /// Allowed.
        limit_bytes: u32,
    },
    /// The octet after the payload is not 206.
    #[error("frame ends with octet {0} instead of 206")]
    BadEnd(u8),
}

/// Arguments, properties or tables that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// A value is longer than what is left.
    #[error("a value goes beyond the end of the frame")]
    Truncated,
    /// Bytes are left over.
    #[error("bytes are left over at the end of the frame")]
    TrailingBytes,
    /// A field of a type that RabbitMQ's errata do not have.
    #[error("unknown field type {0}")]
    UnknownFieldType(u8),
    /// Tables nested deeper than [`crate::limits::TABLE_DEPTH_MAX`].
    #[error("tables are nested too deeply")]
    TooDeep,
    /// More fields than [`crate::limits::TABLE_FIELDS_MAX`].
    #[error("too many fields")]
    TooManyFields,
    /// Property flags that name no property of class basic.
    #[error("unknown property flags")]
    UnknownPropertyFlags,
}

impl DecodeError {
    /// The code that RabbitMQ answers such bytes with.
    #[must_use]
    pub const fn reply_code(self) -> ReplyCode {
        match self {
            Self::Truncated | Self::TrailingBytes => ReplyCode::FrameError,
            Self::UnknownFieldType(_) | Self::TooDeep | Self::TooManyFields | Self::UnknownPropertyFlags => {
                ReplyCode::SyntaxError
            }
        }
    }
}

/// A message that has no AMQP form (a routing key or header name over 255 bytes).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the message cannot be written in AMQP")]
pub struct ConversionError;

/// A fault of the peer, or a refusal: ends its channel, or its connection if the code is a hard one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} - {text}", code.name())]
pub struct Exception {
    /// Code of the close.
    pub code: ReplyCode,
    /// For people; without the code's name.
    pub text: String,
    /// The method that failed; zeros when it was none.
    pub method: MethodId,
}

impl Exception {
    /// An exception that is not about a method, or not yet.
    #[must_use]
    pub fn new(code: ReplyCode, text: impl Into<String>) -> Self {
        Self { code, text: text.into(), method: MethodId::NONE }
    }

    /// The same, about `method` unless it has one already.
    #[must_use]
    pub fn about(mut self, method: MethodId) -> Self {
        if self.method == MethodId::NONE {
            self.method = method;
        }
        self
    }

    /// Name and text, cut to what a short string holds.
    #[must_use]
    pub fn reply_text(&self) -> String {
        let mut text = alloc::format!("{self}");
        if text.len() > SHORT_STRING_BYTES_MAX {
            text.truncate(text.floor_char_boundary(SHORT_STRING_BYTES_MAX - 3));
            text.push_str("...");
        }
        text
    }
}

impl From<DecodeError> for Exception {
    fn from(error: DecodeError) -> Self {
        Self::new(error.reply_code(), alloc::format!("{error}"))
    }
}

impl From<Refusal> for Exception {
    fn from(refusal: Refusal) -> Self {
        Self::new(refusal.kind.into(), refusal.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_at_a_character() {
        let text = Exception::new(ReplyCode::NotFound, "ä".repeat(300)).reply_text();
        assert!(text.len() <= SHORT_STRING_BYTES_MAX && text.ends_with("ä..."));
    }
}

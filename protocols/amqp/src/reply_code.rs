//! Reply codes of AMQP 0-9-1 (1.2, constants): their numbers, names, and whether they end the channel or the connection.

use braid_types::RefusalKind;

/// Why a channel or connection is closed, or a message returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReplyCode {
    /// 200.
    Success,
    /// 312: a mandatory message matched no queue.
    NoRoute,
    /// 320: an operator or the node's stop ended the connection.
    ConnectionForced,
    /// 403.
    AccessRefused,
    /// 404.
    NotFound,
    /// 405: it belongs to another connection.
    ResourceLocked,
    /// 406.
    PreconditionFailed,
    /// 501: bytes that are no frame, or arguments that do not fit their method.
    FrameError,
    /// 502: illegal values in a frame.
    SyntaxError,
    /// 503: a method out of place.
    CommandInvalid,
    /// 504: work on a channel that is not open.
    ChannelError,
    /// 505: a content frame where a method is due, or the other way round.
    UnexpectedFrame,
    /// 506: out of some resource.
    ResourceError,
    /// 530.
    NotAllowed,
    /// 540.
    NotImplemented,
    /// 541.
    InternalError,
}

impl ReplyCode {
    /// The number on the wire.
    #[must_use]
    pub const fn number(self) -> u16 {
        match self {
            Self::Success => 200,
            Self::NoRoute => 312,
            Self::ConnectionForced => 320,
            Self::AccessRefused => 403,
            Self::NotFound => 404,
            Self::ResourceLocked => 405,
            Self::PreconditionFailed => 406,
            Self::FrameError => 501,
            Self::SyntaxError => 502,
            Self::CommandInvalid => 503,
            Self::ChannelError => 504,
            Self::UnexpectedFrame => 505,
            Self::ResourceError => 506,
            Self::NotAllowed => 530,
            Self::NotImplemented => 540,
            Self::InternalError => 541,
        }
    }

    /// The name that reply texts begin with.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Success => "SUCCESS",
            Self::NoRoute => "NO_ROUTE",
            Self::ConnectionForced => "CONNECTION_FORCED",
            Self::AccessRefused => "ACCESS_REFUSED",
            Self::NotFound => "NOT_FOUND",
            Self::ResourceLocked => "RESOURCE_LOCKED",
            Self::PreconditionFailed => "PRECONDITION_FAILED",
            Self::FrameError => "FRAME_ERROR",
            Self::SyntaxError => "SYNTAX_ERROR",
            Self::CommandInvalid => "COMMAND_INVALID",
            Self::ChannelError => "CHANNEL_ERROR",
            Self::UnexpectedFrame => "UNEXPECTED_FRAME",
            Self::ResourceError => "RESOURCE_ERROR",
            Self::NotAllowed => "NOT_ALLOWED",
            Self::NotImplemented => "NOT_IMPLEMENTED",
            Self::InternalError => "INTERNAL_ERROR",
        }
    }

    /// Whether it ends the connection; otherwise it ends the channel.
    #[must_use]
    pub const fn is_hard(self) -> bool {
        matches!(self.number(), 320 | 500..)
    }
}

impl From<RefusalKind> for ReplyCode {
    fn from(kind: RefusalKind) -> Self {
        match kind {
            RefusalKind::NotFound => Self::NotFound,
            RefusalKind::PreconditionFailed => Self::PreconditionFailed,
            RefusalKind::AccessRefused | RefusalKind::BadCredentials => Self::AccessRefused,
            RefusalKind::ResourceLocked => Self::ResourceLocked,
            RefusalKind::NotAllowed => Self::NotAllowed,
            RefusalKind::NotImplemented => Self::NotImplemented,
            RefusalKind::LimitReached | RefusalKind::Unavailable => Self::ResourceError,
            RefusalKind::Internal => Self::InternalError,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn soft_errors_close_a_channel_and_hard_ones_the_connection() {
        assert!(!ReplyCode::PreconditionFailed.is_hard());
        assert!(!ReplyCode::NoRoute.is_hard());
        assert!(ReplyCode::ConnectionForced.is_hard());
        assert!(ReplyCode::ResourceError.is_hard());
        assert!(ReplyCode::NotAllowed.is_hard());
        assert_eq!(ReplyCode::from(RefusalKind::NotFound).number(), 404);
    }
}

//! Why a client could not do its work, sorted by who must act.

use std::io;

/// Why a client could not do its work.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClientError {
    /// The caller: the protocol cannot say this.
    #[error("{0}")]
    Input(String),
    /// The caller: the server does not let it, or does not have it.
    #[error("the server refused: {reason}")]
    Refused {
        /// The protocol's code, if it has one.
        code: Option<u16>,
        /// In the server's words where it gave any.
        reason: String,
    },
    /// The operator: nothing listens there.
    #[error("cannot connect to {server}: {source}")]
    Unreachable {
        /// Where.
        server: String,
        /// Why.
        source: io::Error,
    },
    /// The operator: no answer.
    #[error("no answer within {timeout_ms} ms ({what})")]
    TimedOut {
        /// What was waited for.
        what: &'static str,
        /// How long.
        timeout_ms: u64,
    },
    /// The operator: the connection broke.
    #[error("connection lost: {0}")]
    Lost(#[from] io::Error),
    /// The server's author, or it speaks something else.
    #[error("{0}")]
    Protocol(&'static str),
}

impl ClientError {
    /// A refusal without a code.
    pub(super) fn refused(reason: impl Into<String>) -> Self {
        Self::Refused { code: None, reason: reason.into() }
    }
}

//! A connection's bytes: what was read and not taken yet, and when something was last written.

use std::io;

use bytes::BytesMut;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    time::{Duration, Instant, timeout},
};

use super::{ClientError, limits};

/// A stream with a buffer.
#[derive(Debug)]
pub(super) struct Wire<S> {
    stream: S,
    /// Read and not taken yet.
    pub(super) input: BytesMut,
    last_written: Instant,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Wire<S> {
    /// Nothing was read from `stream` yet.
    pub(super) fn new(stream: S) -> Self {
        Self { stream, input: BytesMut::new(), last_written: Instant::now() }
    }

    /// Writes all of `bytes`.
    pub(super) async fn write(&mut self, bytes: &[u8]) -> Result<(), ClientError> {
        super::in_time("write", limits::ANSWER_TIMEOUT_MS, async {
            self.stream.write_all(bytes).await?;
            self.stream.flush().await?;
            Ok(())
        })
        .await?;
        self.last_written = Instant::now();
        Ok(())
    }

    /// Reads what there is, at least one byte.
    pub(super) async fn fill(&mut self) -> Result<(), ClientError> {
        if self.input.len() > limits::INPUT_BYTES_MAX {
            return Err(ClientError::Protocol("the server sent a larger message than is taken here"));
        }
        self.input.reserve(16 * 1024);
        if self.stream.read_buf(&mut self.input).await? == 0 {
            return Err(ClientError::Lost(io::Error::new(io::ErrorKind::UnexpectedEof, "the server closed it")));
        }
        Ok(())
    }

    /// Like [`Wire::fill`], but writes `sign_of_life` whenever nothing was written for `interval`.
    pub(super) async fn fill_alive(&mut self, sign_of_life: &[u8], interval: Duration) -> Result<(), ClientError> {
        for _ in 0..limits::KEEPALIVES_UNANSWERED_MAX {
            if self.last_written.elapsed() >= interval {
                self.write(sign_of_life).await?;
            }
            let wait = interval.saturating_sub(self.last_written.elapsed());
            if let Ok(filled) = timeout(wait.max(Duration::from_millis(1)), self.fill()).await {
                return filled;
            }
        }
        Err(ClientError::Lost(io::Error::new(io::ErrorKind::TimedOut, "the server shows no sign of life")))
    }

    /// Says that nothing more will be written, and waits shortly for the server to close.
    pub(super) async fn close(&mut self) {
        const PATIENCE: Duration = Duration::from_millis(500);
        let farewell = async {
            self.stream.shutdown().await?;
            while self.stream.read_buf(&mut self.input).await? > 0 {
                self.input.clear();
            }
            io::Result::Ok(())
        };
        // The work is done: how the server takes its leave does not matter.
        drop(timeout(PATIENCE, farewell).await);
    }
}

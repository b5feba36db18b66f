//! A bare socket: for bytes that no client library would send, and for what comes back on them.

use std::net::SocketAddr;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::{Failure, within};

/// The AMQP 0-9-1 protocol header.
pub const AMQP_HEADER: &[u8] = b"AMQP\x00\x00\x09\x01";

/// MQTT 3.1.1 CONNECT, clean session, keepalive 60 s, client id `raw`.
pub const MQTT_CONNECT: &[u8] = b"\x10\x0f\x00\x04MQTT\x04\x02\x00\x3c\x00\x03raw";

/// What MQTT answers to [`MQTT_CONNECT`].
pub const MQTT_CONNACK: &[u8] = b"\x20\x02\x00\x00";

/// NATS CONNECT without options, and a PING to see it taken.
pub const NATS_CONNECT: &[u8] = b"CONNECT {\"verbose\":false}\r\nPING\r\n";

/// A connection of bytes.
#[derive(Debug)]
pub struct Raw {
    socket: TcpStream,
    received: Vec<u8>,
}

impl Raw {
    /// Connects.
    ///
    /// # Errors
    /// When nobody listens.
    pub async fn connect(address: SocketAddr) -> Result<Self, Failure> {
        let socket = within("connection", TcpStream::connect(address)).await??;
        socket.set_nodelay(true)?;
        Ok(Self { socket, received: Vec::new() })
    }

    /// Sends `bytes`.
    ///
    /// # Errors
    /// When the connection is closed already.
    pub async fn send(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        Ok(within("room in the socket", self.socket.write_all(bytes)).await??)
    }

    /// Sends `bytes`; a broker that has closed already does not matter.
    pub async fn offer(&mut self, bytes: &[u8]) {
        drop(within("room in the socket", self.socket.write_all(bytes)).await);
    }

    /// Reads until `end` has come; returns all up to and with it, and keeps the rest for the next call.
    ///
    /// # Errors
    /// When the broker closes before, or `end` does not come.
    pub async fn read_until(&mut self, end: &[u8]) -> Result<Vec<u8>, Failure> {
        loop {
            if let Some(at) = self.received.windows(end.len()).position(|window| window == end) {
                return Ok(self.received.drain(..at + end.len()).collect());
            }
            let what = format!("`{}`, only `{}`", end.escape_ascii(), self.received.escape_ascii());
            if within(&what, self.read_more()).await?? == 0 {
                return Err(Failure::new(format!("closed before {what}")));
            }
        }
    }

    /// Reads `count` bytes.
    ///
    /// # Errors
    /// When the broker closes before, or they do not come.
    pub async fn read_exactly(&mut self, count: usize) -> Result<Vec<u8>, Failure> {
        while self.received.len() < count {
            let what = format!("{count} bytes, only `{}`", self.received.escape_ascii());
            if within(&what, self.read_more()).await?? == 0 {
                return Err(Failure::new(format!("closed before {what}")));
            }
        }
        Ok(self.received.drain(..count).collect())
    }

    /// Reads until the broker closes, in order or by reset; returns what came before.
    ///
    /// # Errors
    /// When it does not close.
    pub async fn read_to_close(mut self) -> Result<Vec<u8>, Failure> {
        while within("close by the broker", self.read_more()).await?.is_ok_and(|count| count > 0) {}
        Ok(self.received)
    }

    async fn read_more(&mut self) -> std::io::Result<usize> {
        self.socket.read_buf(&mut self.received).await
    }
}

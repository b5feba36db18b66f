//! From the first byte to an open channel.

use std::time::Duration;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite};

use super::{
    AmqpClient,
    frame::{self, Method, method},
};
use crate::client::{ClientError, Login};

const PROTOCOL_HEADER: &[u8] = b"AMQP\x00\x00\x09\x01";

/// Largest frame that is offered.
const FRAME_BYTES_MAX: u32 = 128 * 1024;

impl<S: AsyncRead + AsyncWrite + Unpin> AmqpClient<S> {
    /// Protocol header to `channel.open-ok`.
    pub(super) async fn shake_hands(&mut self, login: &Login, vhost: &str) -> Result<(), ClientError> {
        self.wire.write(PROTOCOL_HEADER).await?;
        while self.wire.input.len() < PROTOCOL_HEADER.len() {
            self.wire.fill().await?;
        }
        if self.wire.input.starts_with(b"AMQP") {
            return Err(ClientError::Protocol("the server speaks another version of AMQP than 0-9-1"));
        }
        let start = self.expect(method::CONNECTION_START).await?;
        check_mechanism(start)?;
        self.reply(method::CONNECTION_START_OK, |out| put_start_ok(out, login)).await?;

        let mut tune = self.expect(method::CONNECTION_TUNE).await?;
        let channels_max = frame::truncated(tune.try_get_u16())?;
        let frame_bytes_max = match frame::truncated(tune.try_get_u32())? {
            0 => FRAME_BYTES_MAX,
            offered => offered.min(FRAME_BYTES_MAX),
        };
        let heartbeat_s = frame::truncated(tune.try_get_u16())?;
        self.reply(method::CONNECTION_TUNE_OK, |out| {
            out.put_u16(channels_max);
            out.put_u32(frame_bytes_max);
            out.put_u16(heartbeat_s);
            Ok(())
        })
        .await?;
        self.frame_bytes_max = usize::try_from(frame_bytes_max).unwrap_or(usize::MAX);
        // Twice within the time that the server waits. Without heartbeats there is nothing to wait for, so one of our
        // own rhythm would find every quiet server dead.
        self.heartbeat = match heartbeat_s {
            0 => Duration::from_secs(u64::from(u32::MAX)),
            seconds => Duration::from_millis(u64::from(seconds) * 500),
        };

        self.reply(method::CONNECTION_OPEN, |out| {
            frame::put_short_text(out, vhost)?;
            out.put_u16(0);
            Ok(())
        })
        .await?;
        self.expect(method::CONNECTION_OPEN_OK).await?;
        self.open_channel().await
    }

    async fn expect(&mut self, expected: Method) -> Result<Bytes, ClientError> {
        let (id, arguments) = self.next_method().await?;
        if id == expected { Ok(arguments) } else { Err(ClientError::Protocol("the server broke the AMQP handshake")) }
    }

    async fn reply(
        &mut self,
        id: Method,
        arguments: impl FnOnce(&mut BytesMut) -> Result<(), ClientError>,
    ) -> Result<(), ClientError> {
        let mut out = BytesMut::new();
        frame::method_frame(&mut out, 0, id, arguments)?;
        self.wire.write(&out).await
    }
}

/// The server must take PLAIN.
fn check_mechanism(mut start: Bytes) -> Result<(), ClientError> {
    frame::truncated(start.try_get_u16())?;
    frame::take_long(&mut start)?;
    let mechanisms = frame::take_long(&mut start)?;
    if mechanisms.split(|byte| *byte == b' ').any(|mechanism| mechanism == b"PLAIN") {
        Ok(())
    } else {
        Err(ClientError::refused("it does not take a user name and password (PLAIN)"))
    }
}

fn put_start_ok(out: &mut BytesMut, login: &Login) -> Result<(), ClientError> {
    // Each of these changes what the server may send: nacks, cancels, and a reason when the login is wrong.
    const CAPABILITIES: [&str; 4] =
        ["authentication_failure_close", "basic.nack", "consumer_cancel_notify", "publisher_confirms"];
    let mut capabilities = BytesMut::new();
    for name in CAPABILITIES {
        frame::put_short_text(&mut capabilities, name)?;
        capabilities.put_slice(b"t\x01");
    }
    let mut properties = BytesMut::new();
    for (name, value) in [("product", "braidmq"), ("version", env!("CARGO_PKG_VERSION"))] {
        frame::put_short_text(&mut properties, name)?;
        properties.put_u8(b'S');
        frame::put_long(&mut properties, value.as_bytes())?;
    }
    frame::put_short_text(&mut properties, "capabilities")?;
    properties.put_u8(b'F');
    frame::put_long(&mut properties, &capabilities)?;
    frame::put_long(out, &properties)?;

    frame::put_short_text(out, "PLAIN")?;
    let user = login.user.as_deref().unwrap_or("guest");
    let password = login.password.as_deref().unwrap_or("guest");
    frame::put_long(out, format!("\0{user}\0{password}").as_bytes())?;
    frame::put_short_text(out, "en_US")
}

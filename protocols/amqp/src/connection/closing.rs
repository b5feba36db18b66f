//! The ends of channels and of the connection, from either side.

use alloc::{collections::BTreeMap, string::String};

use braid_types::{CloseReason, Timestamp};
use bytes::Bytes;

use super::{Connection, Phase, outlet::Answer};
use crate::{
    Exception, FrameError, ReplyCode,
    channel::Phase as ChannelPhase,
    frame::{Frame, FrameKind},
    limits::{CLOSE_TIMEOUT_MS, UNREADABLE_LINGER_MS},
    method::{Method, channel, connection},
};

impl Connection {
    /// A fault on a channel: a soft one ends the channel, a hard one the connection.
    pub(super) fn raise(&mut self, now: Timestamp, number: u16, exception: &Exception) {
        let Some(channel) = self.channels.get_mut(&number).filter(|_| !exception.code.is_hard()) else {
            self.close(now, exception);
            return;
        };
        channel.end(&mut self.outlet, None);
        channel.set_phase(ChannelPhase::ClosingByServer);
        let close = channel::Close {
            reply_code: exception.code.number(),
            reply_text: exception.reply_text().into(),
            class_id: exception.method.class,
            method_id: exception.method.method,
        };
        self.outlet.send(number, &close);
    }

    /// Ends the connection: `connection.close`, then nothing but its answer is taken.
    pub(super) fn close(&mut self, now: Timestamp, exception: &Exception) {
        if matches!(self.phase, Phase::ClosingByServer | Phase::Unreadable | Phase::Closed) {
            return;
        }
        self.end_channels();
        let close = connection::Close {
            reply_code: exception.code.number(),
            reply_text: exception.reply_text().into(),
            class_id: exception.method.class,
            method_id: exception.method.method,
        };
        self.outlet.send(0, &close);
        self.phase = Phase::ClosingByServer;
        self.deadline = Some(now.plus_ms(CLOSE_TIMEOUT_MS));
    }

    /// The input makes no sense from here on.
    pub(super) fn unreadable(&mut self, now: Timestamp, fault: FrameError) {
        self.close(now, &Exception::new(ReplyCode::FrameError, alloc::format!("{fault}")));
        self.phase = Phase::Unreadable;
        self.deadline = Some(now.plus_ms(UNREADABLE_LINGER_MS));
    }

    /// The node ends the connection.
    pub(super) fn close_from_inside(&mut self, now: Timestamp, reason: CloseReason, text: &str) {
        if self.phase == Phase::ProtocolHeader {
            self.finish();
            return;
        }
        let code = match reason {
            CloseReason::Internal => ReplyCode::InternalError,
            CloseReason::ShuttingDown
            | CloseReason::TakenOver
            | CloseReason::SlowConsumer
            | CloseReason::Administrative => ReplyCode::ConnectionForced,
        };
        self.close(now, &Exception::new(code, text));
    }

    /// `connection.close`: answered when the consumers are gone, so that their messages are back by then.
    pub(super) fn client_closes(&mut self, now: Timestamp) {
        for channel in core::mem::take(&mut self.channels).values_mut() {
            self.ends_awaited += usize::from(channel.end(&mut self.outlet, Some(&Answer::ConnectionClosed)));
        }
        self.phase = Phase::ClosingByClient;
        self.deadline = Some(now.plus_ms(CLOSE_TIMEOUT_MS));
        if self.ends_awaited == 0 {
            self.answer_close();
        }
    }

    /// One of the consumers that `connection.close` waits for is gone.
    pub(super) fn consumer_gone(&mut self) {
        self.ends_awaited = self.ends_awaited.saturating_sub(1);
        if self.phase == Phase::ClosingByClient && self.ends_awaited == 0 {
            self.answer_close();
        }
    }

    /// The answer to the client's `connection.close`.
    pub(super) fn answer_close(&mut self) {
        self.outlet.send_empty(0, connection::CloseOk::ID);
        self.finish();
    }

    /// `channel.close`: answered when the consumers are gone, so that their messages are back by then.
    pub(super) fn client_closes_channel(&mut self, number: u16) {
        let Some(channel) = self.channels.get_mut(&number) else { return };
        channel.set_phase(ChannelPhase::ClosingByClient);
        if !channel.end(&mut self.outlet, Some(&Answer::ChannelClosed)) {
            self.answer_channel_close(number);
        }
    }

    /// The answer to the client's `channel.close`.
    pub(super) fn answer_channel_close(&mut self, number: u16) {
        self.channels.remove(&number);
        self.outlet.send_empty(number, channel::CloseOk::ID);
    }

    /// After our `channel.close` all is discarded but its answer, and a close of the client that crossed ours.
    pub(super) fn take_frame_of_closing_channel(&mut self, frame: &Frame<'_>) {
        if frame.kind != FrameKind::Method {
            return;
        }
        match frame.method() {
            Ok((channel::CloseOk::ID, _)) => {
                self.channels.remove(&frame.channel);
            }
            Ok((channel::Close::ID, _)) => self.outlet.send_empty(frame.channel, channel::CloseOk::ID),
            _ => {}
        }
    }

    /// After our `connection.close` likewise.
    pub(super) fn take_frame_while_closing(&mut self, frame: &Frame<'_>) {
        if frame.kind != FrameKind::Method || frame.channel != 0 {
            return;
        }
        match frame.method() {
            Ok((connection::CloseOk::ID, _)) => self.finish(),
            Ok((connection::Close::ID, _)) => self.answer_close(),
            _ => {}
        }
    }

    /// The socket is gone, or to be closed.
    pub(super) fn finish(&mut self) {
        for channel in self.channels.values_mut() {
            channel.release_waiting(&mut self.outlet);
        }
        self.channels = BTreeMap::new();
        self.outlet.subscriptions.clear();
        self.outlet.forget_pending();
        self.phase = Phase::Closed;
        self.deadline = None;
    }

    /// Publishes are held back, or go on.
    pub(super) fn set_blocked(&mut self, reason: Option<String>) {
        if self.blocked.is_some() == reason.is_some() {
            return;
        }
        self.blocked = reason;
        self.tell_blocked();
    }

    /// Tells the client, if it can hear of it, whether publishes are held back.
    pub(super) fn tell_blocked(&mut self) {
        if self.phase != Phase::Running || !self.outlet.peer.blocked {
            return;
        }
        match &self.blocked {
            Some(reason) => {
                let reason = Bytes::copy_from_slice(reason.as_bytes());
                self.outlet.send(0, &connection::Blocked { reason });
            }
            None => self.outlet.send_empty(0, connection::Unblocked::ID),
        }
    }

    fn end_channels(&mut self) {
        for channel in core::mem::take(&mut self.channels).values_mut() {
            channel.end(&mut self.outlet, None);
        }
    }
}

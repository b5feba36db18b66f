//! From input to frames to the connection or a channel.

use alloc::format;

use braid_types::Timestamp;
use bytes::BytesMut;

use super::{Connection, Phase};
use crate::{
    Exception, Reader, ReplyCode,
    channel::{Channel, Next, Phase as ChannelPhase},
    codec::Decoder,
    frame::{Frame, FrameKind},
    method::{Method, MethodId, channel, connection},
};

/// `connection.update-secret` (RabbitMQ's extension), which comes with bearer tokens in a later step.
const UPDATE_SECRET: MethodId = MethodId { class: 10, method: 70 };

impl Connection {
    /// Takes all complete frames out of `input`.
    pub(super) fn take_frames(&mut self, now: Timestamp, input: &mut BytesMut) {
        let mut fault = None;
        if let Some(batch) = Decoder::split_complete(input) {
            let mut position = 0;
            while self.phase != Phase::Closed {
                match self.decoder.next_frame(&batch, &mut position) {
                    Ok(Some(frame)) => self.take_frame(now, &frame),
                    Ok(None) => break,
                    Err(error) => {
                        fault = Some(error);
                        break;
                    }
                }
            }
        }
        if fault.is_none() && self.phase != Phase::Closed {
            fault = self.decoder.check_incomplete(input).err();
        }
        if let Some(fault) = fault {
            self.unreadable(now, fault);
        }
        if matches!(self.phase, Phase::Closed | Phase::Unreadable) {
            input.clear();
        }
    }

    /// Takes one frame, now or when the broker has answered what it waits for.
    pub(super) fn take_frame(&mut self, now: Timestamp, frame: &Frame<'_>) {
        let result = match self.phase {
            Phase::Authenticating | Phase::OpeningVhost => self.held.push(frame),
            Phase::ClosingByServer => return self.take_frame_while_closing(frame),
            Phase::ClosingByClient | Phase::Closed | Phase::Unreadable => return,
            Phase::Running if frame.channel != 0 => return self.take_channel_frame(now, frame),
            Phase::ProtocolHeader | Phase::Start | Phase::Tune | Phase::Open | Phase::Running if frame.channel == 0 => {
                self.take_connection_frame(now, frame)
            }
            Phase::ProtocolHeader | Phase::Start | Phase::Tune | Phase::Open | Phase::Running => {
                Err(Exception::new(ReplyCode::UnexpectedFrame, "a channel is used before the connection is open"))
            }
        };
        if let Err(exception) = result {
            self.close(now, &exception);
        }
    }

    /// Goes on with frames that were held back, as far as nothing new holds them.
    pub(super) fn take_held_frames(&mut self, now: Timestamp) {
        while !matches!(self.phase, Phase::Authenticating | Phase::OpeningVhost)
            && let Some(held) = self.held.pop()
        {
            self.take_frame(now, &held.frame());
        }
    }

    fn take_connection_frame(&mut self, now: Timestamp, frame: &Frame<'_>) -> Result<(), Exception> {
        match frame.kind {
            FrameKind::Method => {
                let (method, arguments) = frame.method()?;
                let mut reader = Reader::new(arguments, frame.batch);
                self.take_connection_method(now, method, &mut reader).map_err(|error| error.about(method))
            }
            FrameKind::Heartbeat if frame.payload.is_empty() => Ok(()),
            FrameKind::Heartbeat => Err(Exception::new(ReplyCode::FrameError, "heartbeat with a payload")),
            FrameKind::Header | FrameKind::Body => {
                Err(Exception::new(ReplyCode::UnexpectedFrame, "content frame on channel 0"))
            }
        }
    }

    fn take_connection_method(
        &mut self,
        now: Timestamp,
        method: MethodId,
        reader: &mut Reader<'_>,
    ) -> Result<(), Exception> {
        match (self.phase, method) {
            (_, connection::Close::ID) => {
                drop(connection::Close::read(reader)?);
                self.client_closes(now);
                Ok(())
            }
            (Phase::Start, connection::StartOk::ID) => self.start_ok(now, &Method::read(reader)?),
            (Phase::Tune, connection::TuneOk::ID) => self.tune_ok(now, &Method::read(reader)?),
            (Phase::Open, connection::Open::ID) => self.open(Method::read(reader)?),
            (Phase::Running, UPDATE_SECRET) => Err(Exception::new(ReplyCode::NotImplemented, "update-secret")),
            (phase, _) => {
                let state = phase.name();
                Err(Exception::new(ReplyCode::ChannelError, format!("unexpected method in connection state {state}")))
            }
        }
    }

    fn take_channel_frame(&mut self, now: Timestamp, frame: &Frame<'_>) {
        let number = frame.channel;
        let Some(channel) = self.channels.get_mut(&number) else {
            if let Err(exception) = self.open_channel(frame) {
                self.close(now, &exception);
            }
            return;
        };
        let result = match channel.phase() {
            ChannelPhase::ClosingByClient => return,
            ChannelPhase::ClosingByServer => return self.take_frame_of_closing_channel(frame),
            ChannelPhase::Open if channel.is_held() && frame.kind != FrameKind::Heartbeat => {
                channel.hold(frame).map(|()| Next::Continue)
            }
            ChannelPhase::Open => channel.handle_frame(&mut self.outlet, now, frame),
        };
        match result {
            Ok(Next::Continue) => {}
            Ok(Next::Close) => self.client_closes_channel(number),
            Err(exception) => self.raise(now, number, &exception),
        }
    }

    /// On a channel that is not open only `channel.open` makes sense.
    fn open_channel(&mut self, frame: &Frame<'_>) -> Result<(), Exception> {
        if frame.kind == FrameKind::Heartbeat {
            return Err(Exception::new(ReplyCode::UnexpectedFrame, "heartbeat on a channel"));
        }
        let expected = || Exception::new(ReplyCode::ChannelError, "expected 'channel.open'");
        if frame.kind != FrameKind::Method {
            return Err(expected());
        }
        let (method, arguments) = frame.method()?;
        if method != channel::Open::ID {
            return Err(expected().about(method));
        }
        let open = channel::Open::read(&mut Reader::new(arguments, frame.batch));
        drop(open.map_err(|error| Exception::from(error).about(method))?);
        let open = self.channels.len();
        if open >= usize::from(self.channel_max) {
            let text = format!(
                "number of channels opened ({open}) has reached the negotiated channel_max ({})",
                self.channel_max
            );
            return Err(Exception::new(ReplyCode::NotAllowed, text).about(method));
        }
        let incarnation = self.next_incarnation();
        self.channels.insert(frame.channel, Channel::new(frame.channel, incarnation));
        self.outlet.send(frame.channel, &channel::OpenOk::default());
        Ok(())
    }

    /// A number that no other channel of the connection has.
    fn next_incarnation(&mut self) -> u16 {
        loop {
            self.last_incarnation = self.last_incarnation.wrapping_add(1);
            let candidate = self.last_incarnation;
            if self.channels.values().all(|channel| channel.incarnation() != candidate) {
                return candidate;
            }
        }
    }
}

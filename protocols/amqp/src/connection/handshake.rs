//! From the protocol header to `connection.open-ok`.

use alloc::{format, string::String, vec};

use braid_types::{Authenticate, HeaderValue, Headers, Identity, Refusal, RefusalKind, Request, Timestamp};
use bytes::{Buf, Bytes, BytesMut};

use super::{
    Connection, Phase,
    outlet::{Answer, Peer, Pending},
    sasl,
};
use crate::{
    Exception, ReplyCode,
    codec::Decoder,
    frame::PROTOCOL_HEADER,
    limits::FRAME_BYTES_MIN,
    method::{Method, MethodId, connection},
};

/// What this server can do beyond the specification. Exchange bindings and direct reply-to come in a later step.
const CAPABILITIES: [&str; 7] = [
    "publisher_confirms",
    "basic.nack",
    "consumer_cancel_notify",
    "connection.blocked",
    "consumer_priorities",
    "authentication_failure_close",
    "per_consumer_qos",
];

impl Connection {
    /// True once the header is there and good.
    pub(super) fn take_protocol_header(&mut self, input: &mut BytesMut) -> bool {
        let seen = input.get(..PROTOCOL_HEADER.len()).unwrap_or(input);
        if !PROTOCOL_HEADER.starts_with(seen) {
            self.outlet.transmit.buffer().extend_from_slice(&PROTOCOL_HEADER);
            self.phase = Phase::Closed;
            input.clear();
            return false;
        }
        if seen.len() < PROTOCOL_HEADER.len() {
            return false;
        }
        input.advance(PROTOCOL_HEADER.len());
        let start = connection::Start {
            version_major: 0,
            version_minor: 9,
            server_properties: self.server_properties(),
            mechanisms: Bytes::from_static(sasl::MECHANISMS),
            locales: Bytes::from_static(b"en_US"),
        };
        self.outlet.send(0, &start);
        self.phase = Phase::Start;
        true
    }

    fn server_properties(&self) -> Headers {
        let options = &self.outlet.options;
        let capabilities =
            CAPABILITIES.map(|name| (Bytes::from_static(name.as_bytes()), HeaderValue::Boolean(true))).to_vec();
        let text =
            |name: &'static str, value: &Bytes| (Bytes::from_static(name.as_bytes()), HeaderValue::Text(value.clone()));
        vec![
            (Bytes::from_static(b"capabilities"), HeaderValue::Table(capabilities)),
            text("cluster_name", &options.node),
            text("information", &Bytes::from_static(b"Licensed under the Apache License 2.0.")),
            text("platform", &Bytes::from_static(b"Rust")),
            text("product", &options.product),
            text("version", &options.version),
        ]
    }

    pub(super) fn start_ok(&mut self, now: Timestamp, start_ok: &connection::StartOk) -> Result<(), Exception> {
        self.outlet.peer = peer(&start_ok.client_properties);
        let (mechanism, credentials) = sasl::credentials(&start_ok.mechanism, &start_ok.response)?;
        self.mechanism = mechanism;
        let client_name = match find(&start_ok.client_properties, b"connection_name") {
            Some(HeaderValue::Text(name)) => name.clone(),
            _ => Bytes::new(),
        };
        let ticket = self.outlet.call(connection_call(connection::StartOk::ID, Answer::Authenticated))?;
        self.phase = Phase::Authenticating;
        let request = Authenticate { ticket, credentials, client_name };
        self.outlet.request(Request::Authenticate(request.into()));
        self.last_received = now;
        Ok(())
    }

    /// The broker knows who the client is, or not.
    pub(super) fn authenticated(&mut self, now: Timestamp, result: Result<Identity, Refusal>) {
        if self.phase != Phase::Authenticating {
            return;
        }
        match result {
            Ok(_) => {
                let options = &self.outlet.options;
                let tune = connection::Tune {
                    channel_max: options.channel_max,
                    frame_max: options.frame_bytes_max,
                    heartbeat: options.heartbeat_s,
                };
                self.outlet.send(0, &tune);
                self.phase = Phase::Tune;
                self.take_held_frames(now);
            }
            Err(refusal) => self.refuse_login(now, refusal),
        }
    }

    /// A client that does not know `authentication_failure_close` expects the socket to be closed, as in RabbitMQ.
    fn refuse_login(&mut self, now: Timestamp, refusal: Refusal) {
        let is_login = matches!(refusal.kind, RefusalKind::BadCredentials | RefusalKind::AccessRefused);
        if is_login && !self.outlet.peer.authentication_failure_close {
            self.finish();
            return;
        }
        let mut exception = Exception::from(refusal);
        if is_login {
            exception.text = format!(
                "Login was refused using authentication mechanism {}. For details see the broker logfile.",
                self.mechanism
            );
        }
        self.close(now, &exception);
    }

    pub(super) fn tune_ok(&mut self, now: Timestamp, tune_ok: &connection::TuneOk) -> Result<(), Exception> {
        let options = &self.outlet.options;
        let frame_bytes_max =
            negotiate("frame_max", tune_ok.frame_max, FRAME_BYTES_MIN, options.frame_bytes_max.max(FRAME_BYTES_MIN))?;
        let channel_max = negotiate("channel_max", tune_ok.channel_max.into(), 1, options.channel_max.max(1).into())?;
        self.channel_max = u16::try_from(channel_max).unwrap_or(u16::MAX);
        self.outlet.frame_bytes_max = frame_bytes_max;
        self.decoder = Decoder::new(frame_bytes_max);
        self.heartbeat_ms = u64::from(tune_ok.heartbeat) * 1000;
        self.last_sent = now;
        self.phase = Phase::Open;
        Ok(())
    }

    pub(super) fn open(&mut self, open: connection::Open) -> Result<(), Exception> {
        let ticket = self.outlet.call(connection_call(connection::Open::ID, Answer::VhostOpened))?;
        self.outlet.vhost = open.virtual_host.clone();
        self.outlet.request(Request::OpenVhost { ticket, name: open.virtual_host });
        self.phase = Phase::OpeningVhost;
        Ok(())
    }

    /// The broker lets the client into the vhost, or not: in RabbitMQ that is 530, missing or forbidden.
    pub(super) fn vhost_opened(&mut self, now: Timestamp, refusal: Option<Refusal>) {
        if self.phase != Phase::OpeningVhost {
            return;
        }
        match refusal {
            None => {
                self.outlet.send(0, &connection::OpenOk::default());
                self.phase = Phase::Running;
                self.deadline = None;
                if self.blocked.is_some() {
                    self.tell_blocked();
                }
                self.take_held_frames(now);
            }
            Some(refusal) => {
                let is_refused = matches!(refusal.kind, RefusalKind::NotFound | RefusalKind::AccessRefused);
                let mut exception = Exception::from(refusal);
                if is_refused {
                    exception.code = ReplyCode::NotAllowed;
                }
                self.close(now, &exception.about(connection::Open::ID));
            }
        }
    }
}

/// The value that holds: the client's, or ours if it has no wish.
fn negotiate(name: &str, wish: u32, minimum: u32, maximum: u32) -> Result<u32, Exception> {
    let text: String = match wish {
        0 => return Ok(maximum),
        _ if wish < minimum => {
            format!("negotiated {name} = {wish} is lower than the minimum allowed value ({minimum})")
        }
        _ if wish > maximum => {
            format!("negotiated {name} = {wish} is higher than the maximum allowed value ({maximum})")
        }
        _ => return Ok(wish),
    };
    Err(Exception::new(ReplyCode::NotAllowed, text))
}

fn peer(client_properties: &Headers) -> Peer {
    let Some(HeaderValue::Table(capabilities)) = find(client_properties, b"capabilities") else {
        return Peer::default();
    };
    let can = |name: &[u8]| find(capabilities, name) == Some(&HeaderValue::Boolean(true));
    Peer {
        cancel_notify: can(b"consumer_cancel_notify"),
        blocked: can(b"connection.blocked"),
        authentication_failure_close: can(b"authentication_failure_close"),
    }
}

fn find<'a>(headers: &'a Headers, name: &[u8]) -> Option<&'a HeaderValue> {
    headers.iter().find(|(found, _)| found.as_ref() == name).map(|(_, value)| value)
}

const fn connection_call(method: MethodId, answer: Answer) -> Pending {
    Pending { channel: 0, incarnation: 0, method, answer }
}

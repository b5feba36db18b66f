//! From CONNECT to CONNACK.

use alloc::{
    boxed::Box,
    string::{String, ToString},
};
use core::mem;

use braid_types::{
    Authenticate, Credentials, Identity, OpenSession, Refusal, RefusalKind, Request, SessionState, Timestamp,
};
use bytes::{Bytes, BytesMut};

use super::{Client, Connection, Phase, ticket::Purpose};
use crate::{
    ReasonCode, Version, client_id, limits,
    packet::{
        connack::Connack,
        connect::{Connect, Refused},
    },
    will,
};

impl Connection {
    /// Keeps what comes before CONNACK; more than the limit closes the connection.
    pub(super) fn hold(&mut self, input: &mut BytesMut) {
        if self.held.len().saturating_add(input.len()) > limits::HELD_BYTES_MAX {
            input.clear();
            self.refuse(ReasonCode::QUOTA_EXCEEDED, "too much was sent before CONNACK");
            return;
        }
        self.held.extend_from_slice(input);
        input.clear();
    }

    /// A CONNECT that could not be read, or says what may not be.
    pub(super) fn refuse_connect(&mut self, refused: Refused) {
        self.fault = Some(refused.fault);
        if let (Some(version), Some(reason)) = (refused.version, refused.fault.reason()) {
            self.wire.configure(version, None, 0);
            self.wire.connack(reason, &Connack::default());
        }
        self.close();
    }

    /// A CONNECT.
    pub(super) fn connect(&mut self, mut connect: Connect) {
        self.wire.configure(connect.version, connect.packet_bytes_max, connect.topic_alias_maximum);
        let is_assigned = connect.client_id.is_empty();
        if is_assigned {
            connect.client_id = client_id::assigned(self.options.seed, self.options.connection);
        }
        self.client = Client {
            client_id: connect.client_id.clone(),
            is_assigned,
            is_bridge: connect.is_bridge,
            window: connect.receive_maximum.unwrap_or(self.options.window_default).max(1),
            wants_problem_information: connect.wants_problem_information,
            ..Client::default()
        };
        let credentials = match (connect.user.take(), connect.password.take()) {
            (None, None) => Credentials::Anonymous,
            (user, password) => {
                Credentials::Password { user: user.unwrap_or_default(), password: password.unwrap_or_default() }
            }
        };
        self.requests.push_back(Request::Authenticate(Box::new(Authenticate {
            ticket: Purpose::Authenticate.ticket(),
            credentials,
            client_name: connect.client_id.clone(),
        })));
        self.phase = Phase::Authenticating(Box::new(connect));
    }

    /// The answer to `Authenticate`.
    pub(super) fn authenticated(&mut self, now: Timestamp, result: Result<Identity, Refusal>) {
        if self.is_closing {
            return;
        }
        let mut connect = match mem::replace(&mut self.phase, Phase::Ended) {
            Phase::Authenticating(connect) => connect,
            other @ (Phase::AwaitConnect | Phase::Opening(_) | Phase::Open | Phase::Ended) => {
                self.phase = other;
                return;
            }
        };
        if let Err(refusal) = result {
            self.refuse_with(&refusal);
            return;
        }
        let will = connect.will.take().map(|will| Box::new(will::will(will, self.options.connection, now)));
        self.session.expiry_s = connect.session_expiry_s.min(self.options.session_expiry_max_s);
        // The client is let in; how long its session takes to open is not its fault.
        self.deadline = None;
        self.requests.push_back(Request::OpenSession(Box::new(OpenSession {
            ticket: Purpose::OpenSession.ticket(),
            client_id: connect.client_id.clone(),
            clean_start: connect.clean_start,
            expiry_s: self.session.expiry_s,
            window: self.client.window,
            will,
        })));
        self.phase = Phase::Opening(connect);
    }

    /// The answer to `OpenSession`.
    pub(super) fn session_opened(&mut self, now: Timestamp, result: Result<Option<Box<SessionState>>, Refusal>) {
        let connect = match mem::replace(&mut self.phase, Phase::Ended) {
            Phase::Opening(connect) => connect,
            other @ (Phase::AwaitConnect | Phase::Authenticating(_) | Phase::Open | Phase::Ended) => {
                self.phase = other;
                return;
            }
        };
        let state = match result {
            Ok(state) => state.filter(|_| !connect.clean_start),
            Err(refusal) => {
                if !self.is_closing {
                    self.refuse_with(&refusal);
                }
                return;
            }
        };
        if self.is_closing {
            self.give_back(state);
            return;
        }
        let session_present = state.is_some();
        self.start_keep_alive(now, &connect);
        self.phase = Phase::Open;
        if !self.wire.connack(ReasonCode::SUCCESS, &self.connack(&connect, session_present)) {
            // The client takes no packet as large as a CONNACK: there is no way to talk to it.
            self.session.restore(state);
            self.close();
            return;
        }
        self.session.restore(state);
        self.resume(now);
    }

    /// The client went while its session was being opened: it never had a CONNACK, so its will is void, and the session
    /// is given back as it was.
    fn give_back(&mut self, state: Option<Box<SessionState>>) {
        let expiry_s = if state.is_some() { self.session.expiry_s } else { 0 };
        let state = state.filter(|_| expiry_s > 0);
        self.requests.push_back(Request::DiscardWill);
        self.requests.push_back(Request::EndSession { state, expiry_s });
    }

    fn connack(&self, connect: &Connect, session_present: bool) -> Connack {
        let options = &self.options;
        let keep_alive_s = self.keep_alive_s(connect);
        Connack {
            session_present,
            session_expiry_s: Some(self.session.expiry_s).filter(|expiry_s| *expiry_s != connect.session_expiry_s),
            receive_maximum: Some(options.receive_maximum.max(1)),
            packet_bytes_max: Some(options.packet_bytes_max),
            assigned_client_id: Some(connect.client_id.clone()).filter(|_| self.client.is_assigned),
            topic_alias_maximum: options.topic_alias_maximum,
            server_keep_alive_s: Some(keep_alive_s).filter(|keep_alive_s| *keep_alive_s != connect.keep_alive_s),
            reason_string: String::new(),
        }
    }

    fn start_keep_alive(&mut self, now: Timestamp, connect: &Connect) {
        let keep_alive_s = self.keep_alive_s(connect);
        self.client.keep_alive_ms = u64::from(keep_alive_s).saturating_mul(limits::KEEP_ALIVE_MS_PER_S);
        self.last_received = now;
        self.deadline = (keep_alive_s > 0).then(|| now.plus_ms(self.client.keep_alive_ms));
    }

    /// The keep alive that holds: the client's own, unless it speaks MQTT 5 and can be told a shorter one.
    fn keep_alive_s(&self, connect: &Connect) -> u16 {
        match self.options.keep_alive_max_s.filter(|_| connect.version == Version::V5) {
            Some(maximum) if connect.keep_alive_s == 0 || connect.keep_alive_s > maximum => maximum,
            _ => connect.keep_alive_s,
        }
    }

    fn refuse_with(&mut self, refusal: &Refusal) {
        let reason = match refusal.kind {
            RefusalKind::BadCredentials => ReasonCode::BAD_USER_NAME_OR_PASSWORD,
            RefusalKind::AccessRefused | RefusalKind::NotFound | RefusalKind::NotAllowed => ReasonCode::NOT_AUTHORIZED,
            RefusalKind::LimitReached => ReasonCode::QUOTA_EXCEEDED,
            RefusalKind::Unavailable | RefusalKind::ResourceLocked => ReasonCode::SERVER_UNAVAILABLE,
            RefusalKind::NotImplemented => ReasonCode::IMPLEMENTATION_SPECIFIC,
            RefusalKind::PreconditionFailed | RefusalKind::Internal => ReasonCode::UNSPECIFIED,
        };
        self.refuse(reason, &refusal.text);
    }

    /// CONNACK with a failure, and the end.
    pub(super) fn refuse(&mut self, reason: ReasonCode, text: &str) {
        let connack = Connack { reason_string: text.to_string(), ..Connack::default() };
        self.wire.connack(reason, &connack);
        self.close();
    }

    /// The client id as a label for listings.
    pub(super) fn label(&self) -> Bytes {
        self.client.client_id.clone()
    }
}

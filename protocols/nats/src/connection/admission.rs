//! Letting the client in: `CONNECT`, and the broker's word on it.

use alloc::boxed::Box;

use braid_types::{
    Authenticate, Credentials, Identity, Refusal, RefusalKind, Request, Ticket, Timestamp, UnackedOnEnd,
};
use bytes::Bytes;

use super::{Connection, Phase};
use crate::{answers::Waiting, error::Fault, op::Op};

/// The newest version of the client protocol.
const PROTOCOL_VERSION_MAX: i64 = 1;

impl Connection {
    /// `CONNECT`. A second one is a new start: nats-server drops the subscriptions then, and asks again who it is.
    pub(super) fn connect(&mut self, now: Timestamp, text: &[u8]) {
        let credentials = match self.client.update(text) {
            Ok(credentials) => credentials,
            Err(fault) => return self.fail(now, fault),
        };
        if self.is_connected {
            for subscription in self.subscriptions.clear() {
                let unacked = UnackedOnEnd::Settle(braid_types::Outcome::Released);
                self.requests.push_back(Request::Unsubscribe { ticket: None, subscription, unacked });
            }
        }
        self.is_connected = true;
        if self.options.auth_required && credentials == Credentials::Anonymous {
            return self.fail(now, Fault::Authorization);
        }
        self.authenticate(now, credentials);
    }

    /// Any other operation from a client that sent no `CONNECT`: it is let in as nobody, and the operation waits.
    pub(super) fn admit_without_connect(&mut self, now: Timestamp, op: Op) {
        self.stashed = Some(Box::new(op));
        self.authenticate(now, Credentials::Anonymous);
    }

    /// The broker's answer.
    pub(super) fn authenticated(&mut self, now: Timestamp, ticket: Ticket, result: Result<Identity, Refusal>) {
        if !matches!(self.answers.take(ticket), Some(Waiting::Admission)) {
            return;
        }
        let fault = match result {
            Ok(identity) => {
                self.vhost = identity.vhost;
                self.unfit()
            }
            Err(refusal) => Some(fault_for(refusal.kind)),
        };
        if let Some(fault) = fault {
            self.answers.fill_last(ticket, fault.line());
            self.begin_ending(now);
        } else if self.phase == Phase::Admitting {
            self.phase = Phase::Open;
            let answered = self.stashed.is_none() && self.client.verbose;
            self.answers.fill(ticket, Bytes::from_static(if answered { b"+OK\r\n" } else { b"" }));
        }
        self.flush();
    }

    fn authenticate(&mut self, now: Timestamp, credentials: Credentials) {
        self.phase = Phase::Admitting;
        self.liveness.expect_admission(now);
        let ticket = self.answers.wait(Waiting::Admission);
        let client_name = Bytes::copy_from_slice(self.client.name.as_bytes());
        let request = Authenticate { ticket, credentials, client_name };
        self.requests.push_back(Request::Authenticate(Box::new(request)));
    }

    /// Why what the client asked for in `CONNECT` cannot be had, in the order in which nats-server looks.
    fn unfit(&self) -> Option<Fault> {
        if self.client.names_account {
            Some(Fault::Authorization)
        } else if !(0..=PROTOCOL_VERSION_MAX).contains(&self.client.protocol) {
            Some(Fault::ClientProtocol)
        } else if self.client.no_responders && !self.client.headers {
            Some(Fault::NoRespondersWithoutHeaders)
        } else {
            None
        }
    }
}

/// What the client is told when it is not let in. Clients give up on [`Fault::Authorization`] and come again on others.
fn fault_for(kind: RefusalKind) -> Fault {
    match kind {
        RefusalKind::LimitReached => Fault::Connections,
        RefusalKind::Unavailable | RefusalKind::Internal => Fault::AuthenticationTimeout,
        RefusalKind::BadCredentials
        | RefusalKind::AccessRefused
        | RefusalKind::NotFound
        | RefusalKind::PreconditionFailed
        | RefusalKind::ResourceLocked
        | RefusalKind::NotAllowed
        | RefusalKind::NotImplemented => Fault::Authorization,
    }
}

//! Exchanges, queues and bindings: each method becomes one request; names and arguments are checked by the catalog.

use alloc::{boxed::Box, format, string::String};

use braid_types::{BindGroup, DeclareExchange, DeclareGroup, ExchangeKind, Request};
use bytes::Bytes;

use super::Channel;
use crate::{
    Exception, ReplyCode,
    connection::{Answer, HeldFrames, Outlet},
    method::{Method, MethodId, exchange, queue},
};

impl Channel {
    pub(super) fn declare_exchange(
        &mut self,
        outlet: &mut Outlet,
        declare: exchange::Declare,
    ) -> Result<(), Exception> {
        if !declare.passive && ExchangeKind::from_name(&declare.kind).is_none() {
            let kind = String::from_utf8_lossy(&declare.kind);
            return Err(Exception::new(ReplyCode::CommandInvalid, format!("unknown exchange type '{kind}'")));
        }
        let answer = reply(exchange::DeclareOk::ID, declare.no_wait);
        let ticket = self.call(outlet, exchange::Declare::ID, answer)?;
        outlet.request(Request::DeclareExchange(Box::new(DeclareExchange {
            ticket,
            name: declare.exchange,
            kind: declare.kind,
            passive: declare.passive,
            durable: declare.durable,
            auto_delete: declare.auto_delete,
            internal: declare.internal,
            arguments: declare.arguments,
        })));
        Ok(())
    }

    pub(super) fn delete_exchange(&mut self, outlet: &mut Outlet, delete: exchange::Delete) -> Result<(), Exception> {
        let ticket = self.call(outlet, exchange::Delete::ID, reply(exchange::DeleteOk::ID, delete.no_wait))?;
        let (name, if_unused) = (delete.exchange, delete.if_unused);
        outlet.request(Request::DeleteExchange { ticket, name, if_unused });
        Ok(())
    }

    pub(super) fn declare_queue(&mut self, outlet: &mut Outlet, declare: queue::Declare) -> Result<(), Exception> {
        if declare.queue.is_empty() && declare.passive {
            let vhost = String::from_utf8_lossy(&outlet.vhost);
            return Err(Exception::new(ReplyCode::NotFound, format!("no queue '' in vhost '{vhost}'")));
        }
        let is_server_named = declare.queue.is_empty();
        let answer = Answer::Declared { no_wait: declare.no_wait, is_server_named };
        let ticket = self.call(outlet, queue::Declare::ID, answer)?;
        if is_server_named {
            // What follows may mean this queue by an empty name, which is not known before the answer.
            self.held.get_or_insert_default();
        } else {
            self.last_queue = declare.queue.clone();
        }
        outlet.request(Request::DeclareGroup(Box::new(DeclareGroup {
            ticket,
            name: declare.queue,
            passive: declare.passive,
            durable: declare.durable,
            exclusive: declare.exclusive,
            auto_delete: declare.auto_delete,
            arguments: declare.arguments,
        })));
        Ok(())
    }

    /// The broker's good answer to a declare.
    pub(crate) fn declared(&self, outlet: &mut Outlet, declared: &queue::DeclareOk, no_wait: bool) {
        if !no_wait {
            outlet.send(self.number, declared);
        }
    }

    /// The name of a queue that the server named. Hands back the frames that waited for it.
    pub(crate) fn name_last_queue(&mut self, name: Bytes) -> Option<Box<HeldFrames>> {
        self.last_queue = name;
        self.held.take()
    }

    pub(super) fn bind_queue(&mut self, outlet: &mut Outlet, bind: queue::Bind) -> Result<(), Exception> {
        let key = self.key_or_last(&bind.queue, bind.routing_key)?;
        let group = self.queue_or_last(bind.queue)?;
        let ticket = self.call(outlet, queue::Bind::ID, reply(queue::BindOk::ID, bind.no_wait))?;
        let (exchange, arguments) = (bind.exchange, bind.arguments);
        outlet.request(Request::Bind(Box::new(BindGroup { ticket, group, exchange, key, arguments })));
        Ok(())
    }

    pub(super) fn unbind_queue(&mut self, outlet: &mut Outlet, unbind: queue::Unbind) -> Result<(), Exception> {
        let key = self.key_or_last(&unbind.queue, unbind.routing_key)?;
        let group = self.queue_or_last(unbind.queue)?;
        let ticket = self.call(outlet, queue::Unbind::ID, reply(queue::UnbindOk::ID, false))?;
        let (exchange, arguments) = (unbind.exchange, unbind.arguments);
        outlet.request(Request::Unbind(Box::new(BindGroup { ticket, group, exchange, key, arguments })));
        Ok(())
    }

    pub(super) fn purge_queue(&mut self, outlet: &mut Outlet, purge: queue::Purge) -> Result<(), Exception> {
        let name = self.queue_or_last(purge.queue)?;
        let ticket = self.call(outlet, queue::Purge::ID, removed(queue::PurgeOk::ID, purge.no_wait))?;
        outlet.request(Request::PurgeGroup { ticket, name });
        Ok(())
    }

    pub(super) fn delete_queue(&mut self, outlet: &mut Outlet, delete: queue::Delete) -> Result<(), Exception> {
        let name = self.queue_or_last(delete.queue)?;
        let ticket = self.call(outlet, queue::Delete::ID, removed(queue::DeleteOk::ID, delete.no_wait))?;
        let (if_unused, if_empty) = (delete.if_unused, delete.if_empty);
        outlet.request(Request::DeleteGroup { ticket, name, if_unused, if_empty });
        Ok(())
    }

    /// An empty queue name means the queue that was declared last on the channel (1.7.2.3).
    pub(super) fn queue_or_last(&self, queue: Bytes) -> Result<Bytes, Exception> {
        if !queue.is_empty() {
            return Ok(queue);
        }
        if self.last_queue.is_empty() {
            return Err(Exception::new(ReplyCode::NotFound, "no previously declared queue"));
        }
        Ok(self.last_queue.clone())
    }

    /// When both queue and key are empty, the key is the name of the last declared queue.
    fn key_or_last(&self, queue: &Bytes, key: Bytes) -> Result<Bytes, Exception> {
        if queue.is_empty() && key.is_empty() { self.queue_or_last(key) } else { Ok(key) }
    }
}

const fn reply(method: MethodId, no_wait: bool) -> Answer {
    if no_wait { Answer::Silent } else { Answer::Reply(method) }
}

const fn removed(method: MethodId, no_wait: bool) -> Answer {
    if no_wait { Answer::Silent } else { Answer::Removed(method) }
}

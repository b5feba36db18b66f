//! Runs operations that wait for the catalog or a partition beside the connection, one at a time.

use std::future::Future;
use std::sync::Arc;

use braid_broker::Item;
use braid_types::{Completion, Event, Filter, Refusal, Request, Subscribe, SubscriptionId, Ticket};
use bytes::Bytes;

use super::Service;
use crate::{authentication, operations};

/// What is to be done when the running operation has ended well, besides telling the endpoint.
#[derive(Debug)]
pub(super) enum Pending {
    /// Nothing.
    Answer,
    /// Join the share that is open now.
    JoinShare(Box<(Subscribe, Bytes, Filter)>),
    /// The session's member is attached now.
    JoinSession(Box<(Subscribe, Filter, bool)>),
}

impl Pending {
    /// The subscription that it is about.
    pub(super) fn subscription(&self) -> Option<SubscriptionId> {
        match self {
            Self::Answer => None,
            Self::JoinShare(join) => Some(join.0.subscription),
            Self::JoinSession(join) => Some(join.0.subscription),
        }
    }
}

impl Service {
    /// Starts an operation; its answer is `Event::Completed` with `ticket`.
    pub(super) fn run(
        &mut self,
        pending: Pending,
        ticket: Ticket,
        operation: impl Future<Output = Result<Completion, Refusal>> + Send + 'static,
    ) {
        self.pending = Some(pending);
        let mailbox = Arc::clone(&self.mailbox);
        let unsynced = self.take_unsynced();
        tokio::spawn(async move {
            let result = operation.await;
            let result = super::sync::wait(unsynced).await.and(result);
            mailbox.push(Item::Done(Box::new(Event::Completed { ticket, result })));
        });
    }

    pub(super) fn operate(&mut self, request: Request) {
        // What was published before an operation must be in its partition before the operation looks at it.
        self.flush();
        let caller = self.caller();
        match request {
            Request::Authenticate(request) => {
                self.pending = Some(Pending::Answer);
                let (mailbox, peer) = (Arc::clone(&self.mailbox), self.peer);
                tokio::spawn(async move {
                    let result = authentication::authenticate(&caller.node, request.credentials, peer).await;
                    let event = Event::Authenticated { ticket: request.ticket, result };
                    mailbox.push(Item::Done(Box::new(event)));
                });
            }
            Request::DeclareExchange(request) => self.run(Pending::Answer, request.ticket, async move {
                operations::declare_exchange(&caller, *request).await
            }),
            Request::DeleteExchange { ticket, name, if_unused } => {
                self.run(Pending::Answer, ticket, async move {
                    operations::delete_exchange(&caller, name, if_unused).await
                });
            }
            Request::DeclareGroup(request) => {
                let exclusive_groups = Arc::clone(&self.exclusive_groups);
                self.run(Pending::Answer, request.ticket, async move {
                    let (completion, row) = operations::declare_group(&caller, *request).await?;
                    if let Some(row) = row
                        && row.exclusive == Some(caller.connection)
                    {
                        exclusive_groups.lock().insert(row.id);
                    }
                    Ok(completion)
                });
            }
            Request::DeleteGroup { ticket, name, if_unused, if_empty } => {
                self.run(Pending::Answer, ticket, async move {
                    operations::delete_group(&caller, &name, if_unused, if_empty).await
                });
            }
            Request::PurgeGroup { ticket, name } => {
                self.run(Pending::Answer, ticket, async move { operations::purge_group(&caller, &name).await });
            }
            Request::Bind(request) => self
                .run(Pending::Answer, request.ticket, async move { operations::bind(&caller, *request, true).await }),
            Request::Unbind(request) => self
                .run(Pending::Answer, request.ticket, async move { operations::bind(&caller, *request, false).await }),
            other => tracing::error!(?other, "not an operation"),
        }
    }

    pub(super) fn operation_ended(&mut self, event: Event) {
        let pending = self.pending.take();
        let is_good = matches!(&event, Event::Completed { result: Ok(_), .. });
        if let Event::Authenticated { result: Ok(identity), .. } = &event {
            self.identified(identity);
            self.routes.clear();
        }
        self.events.push_back(event);
        match pending {
            Some(Pending::JoinShare(join)) if is_good => {
                let (request, share, filter) = *join;
                self.join_share(&request, &share, filter);
            }
            Some(Pending::JoinSession(join)) if !is_good => self.session_refused(join.0.subscription),
            Some(Pending::JoinSession(join)) => {
                let (request, filter, is_new) = *join;
                self.session_attached();
                self.send_retained(&request, &filter, is_new);
            }
            _ => {}
        }
        self.resume();
    }
}

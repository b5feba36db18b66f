//! Publishes again what died in groups (SPEC section 3, dead letters), and tells the group when it is safe elsewhere.
//!
//! At most once: the letter ends as soon as it was handed to its targets. At least once: when all of them have confirmed
//! it; one that is refused, or matches nothing, is tried again. Either way it waits in its group until then, so nothing is
//! lost on the way, and the number of letters under way is bounded by the partitions.
//!
//! Invariant: a letter is never put into a group that it died in before, in a circle that nobody rejected it in.

use std::sync::Arc;
use std::time::Duration;

use braid_broker::{Answer, DeadLetter, Submission};
use braid_catalog::{DeadLetterStrategy, GroupRow};
use braid_machine::{Command, Reply};
use braid_types::{Address, Death, Message, Protocol, Refusal, RefusalKind};
use bytes::Bytes;
use smallvec::smallvec;
use tokio::sync::{mpsc, oneshot};

use crate::conversion;
use crate::limits::{DEAD_LETTER_CONFIRM_TIMEOUT_MS, DEAD_LETTER_RETRY_MS};
use crate::node::{Node, show};
use crate::routes::{InPartition, Routes};

/// The way to the task that publishes dead letters.
#[derive(Debug)]
pub(crate) struct DeadLetters {
    sender: mpsc::UnboundedSender<Box<DeadLetter>>,
}

/// The letters that wait for the task.
pub(crate) type Inbox = mpsc::UnboundedReceiver<Box<DeadLetter>>;

impl DeadLetters {
    /// The way, and its end.
    pub(crate) fn new() -> (Self, Inbox) {
        // Unbounded as a channel, bounded by what partitions let set out at a time.
        let (sender, inbox) = mpsc::unbounded_channel();
        (Self { sender }, inbox)
    }

    /// A message died.
    pub(crate) fn send(&self, letter: Box<DeadLetter>) {
        if self.sender.send(letter).is_err() {
            tracing::debug!("the node has stopped");
        }
    }
}

/// Publishes what comes, in order, until the node stops.
pub(crate) async fn run(node: Arc<Node>, mut inbox: Inbox) {
    while let Some(letter) = inbox.recv().await {
        if let Some(waiting) = publish(&node, &letter) {
            let node = Arc::clone(&node);
            tokio::spawn(async move { confirm(&node, letter, waiting).await });
        } else {
            end(&node, &letter);
        }
    }
}

/// What a letter that must not be lost waits for.
type Waiting = Vec<oneshot::Receiver<Reply>>;

/// Routes a letter and hands it to its targets. `None`: nothing is waited for, it is done.
fn publish(node: &Node, letter: &DeadLetter) -> Option<Waiting> {
    let row = node.meta.catalog().group_by_id(letter.group).cloned()?;
    let exchange = row.options.dead_letter_exchange.clone()?;
    let is_kept = row.options.dead_letter_strategy == DeadLetterStrategy::AtLeastOnce;
    let routed = address(node, &row, letter, exchange).and_then(|dead| {
        let message = Arc::new(dead.message.clone());
        let routes = Routes::find(node, &row.vhost, &message)?;
        let groups = without_circles(node, &dead, &routes.groups);
        Ok((message, routes, groups))
    });
    let (message, routes, groups) = match routed {
        Ok(routed) => routed,
        Err(refusal) => {
            tracing::warn!(%refusal, group = %show(&row.name), "a dead letter has nowhere to go");
            return is_kept.then(Vec::new);
        }
    };
    node.broker.counters.messages_dead_lettered_total.add(1);
    node.deliver_directly(&routes, &message);
    let mut waiting = Vec::new();
    for (partition, groups) in &groups {
        let Some(partition) = node.broker.partition(*partition) else { continue };
        let answer = if is_kept {
            let (answer, reply) = oneshot::channel();
            waiting.push(reply);
            Answer::Once(answer)
        } else {
            Answer::Silent
        };
        let task = routes.enqueue(groups, &message, None, answer);
        partition.submit(Submission { from: Arc::clone(node.internal()), tasks: vec![task], in_flight_bytes: 0 });
    }
    is_kept.then_some(waiting)
}

/// Waits until all targets have the letter, and begins again where one does not.
async fn confirm(node: &Arc<Node>, letter: Box<DeadLetter>, waiting: Waiting) {
    let has_targets = !waiting.is_empty();
    let all = async {
        let mut is_safe = has_targets;
        for reply in waiting {
            is_safe &= matches!(reply.await, Ok(Reply::Enqueued { groups: 1.. }));
        }
        is_safe
    };
    let timeout = Duration::from_millis(DEAD_LETTER_CONFIRM_TIMEOUT_MS);
    if tokio::time::timeout(timeout, all).await.unwrap_or(false) {
        return end(node, &letter);
    }
    tokio::time::sleep(Duration::from_millis(DEAD_LETTER_RETRY_MS)).await;
    node.letters.send(letter);
}

/// The group need not keep the letter any more.
fn end(node: &Node, letter: &DeadLetter) {
    let Some(row) = node.meta.catalog().group_by_id(letter.group).cloned() else { return };
    node.command(row.partition, Command::EndDeadLetters { group: letter.group, messages: smallvec![letter.id] });
}

/// The message as it is published again.
fn address(
    node: &Node,
    row: &GroupRow,
    letter: &DeadLetter,
    exchange: Bytes,
) -> Result<braid_types::DeadLetter, Refusal> {
    let message = &letter.message;
    let own_key = Address::from_notation(message.origin, &message.key)
        .and_then(|address| address.to_notation(Protocol::Amqp))
        .ok();
    let death = Death {
        reason: letter.reason.name(),
        queue: row.name.clone(),
        time_s: node.broker.clock.now().0 / 1_000,
        exchange: message.exchange.clone(),
        routing_keys: own_key.clone().into_iter().collect(),
    };
    let mut dead = conversion::dead_letter(message, &death);
    let key = match &row.options.dead_letter_routing_key {
        // A key of the default exchange is a group's name, in any protocol.
        Some(key) if exchange.is_empty() => key.clone(),
        Some(key) => in_notation_of(message, key)?,
        None if exchange.is_empty() => own_key.unwrap_or_else(|| message.key.clone()),
        None => message.key.clone(),
    };
    dead.message = Message { exchange, key, ..dead.message };
    Ok(dead)
}

fn in_notation_of(message: &Message, key: &Bytes) -> Result<Bytes, Refusal> {
    if message.origin == Protocol::Amqp {
        return Ok(key.clone());
    }
    Address::from_notation(Protocol::Amqp, key).and_then(|address| address.to_notation(message.origin)).map_err(
        |error| {
            let text = format!("the dead-letter routing key '{}' has no such notation: {error}", show(key));
            Refusal::new(RefusalKind::NotAllowed, text)
        },
    )
}

/// The groups that the letter does not come back to in a circle.
fn without_circles(node: &Node, dead: &braid_types::DeadLetter, groups: &[InPartition]) -> Vec<InPartition> {
    let catalog = node.meta.catalog();
    let mut kept = Vec::with_capacity(groups.len());
    for (partition, groups) in groups {
        let mut groups = groups.clone();
        groups.retain(|group| {
            let name = catalog.group_by_id(*group).map(|row| row.name.clone());
            let is_circle = name.as_ref().is_some_and(|name| dead.is_cycle(name));
            if is_circle {
                node.broker.counters.messages_dead_letter_cycles_total.add(1);
                tracing::warn!(group = %show(&name.unwrap_or_default()), "a dead letter ran in a circle; it is dropped");
            }
            !is_circle
        });
        if !groups.is_empty() {
            kept.push((*partition, groups));
        }
    }
    kept
}

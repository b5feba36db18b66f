//! Publishes again what died in groups (SPEC section 3, dead letters), and tells the group when it is safe elsewhere.
//!
//! At most once: the letter ends as soon as it was handed to its targets, or when there are none. At least once: when all
//! of them have confirmed it; one that is refused, or matches nothing, is tried again. Either way it waits in its group
//! until then, so nothing is lost on the way, and the number of letters under way is bounded by the partitions.
//!
//! Invariant: a letter is never put into a group that it died in before, in a circle that nobody rejected it in.

use std::sync::Arc;
use std::time::Duration;

use braid_broker::{Answer, DeadLetter, Submission};
use braid_catalog::{DeadLetterStrategy, GroupRow};
use braid_machine::{Command, Reply};
use braid_types::{Address, Death, GroupId, Message, Protocol, Refusal, RefusalKind};
use bytes::Bytes;
use hashbrown::HashSet;
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
    // Groups whose letters wait for a target, so that their owner is told once, not with every letter and try.
    let mut stuck: HashSet<GroupId> = HashSet::new();
    while let Some(letter) = inbox.recv().await {
        match publish(&node, &letter) {
            Sent::Done => {
                stuck.remove(&letter.group);
                end(&node, &letter);
            }
            Sent::Waits(waiting) => {
                stuck.remove(&letter.group);
                let node = Arc::clone(&node);
                tokio::spawn(async move { confirm(&node, letter, waiting).await });
            }
            Sent::Nowhere(why) => {
                if stuck.insert(letter.group) {
                    tracing::warn!(%why, group = ?letter.group, "dead letters have nowhere to go; they wait in their group");
                }
                let node = Arc::clone(&node);
                tokio::spawn(async move { send_later(&node, letter).await });
            }
        }
    }
}

/// What became of a letter.
enum Sent {
    /// Nothing is waited for.
    Done,
    /// It is safe when all of these have it.
    Waits(Vec<oneshot::Receiver<Reply>>),
    /// It must not be lost, and nobody would take it.
    Nowhere(Refusal),
}

/// Routes a letter and hands it to its targets.
fn publish(node: &Node, letter: &DeadLetter) -> Sent {
    let Some(row) = node.meta.catalog().group_by_id(letter.group).cloned() else { return Sent::Done };
    let Some(exchange) = row.options.dead_letter_exchange.clone() else { return Sent::Done };
    let is_kept = row.options.dead_letter_strategy == DeadLetterStrategy::AtLeastOnce;
    let (dead, routes) = match route(node, &row, letter, exchange) {
        Ok(routed) => routed,
        Err(why) if is_kept => return Sent::Nowhere(why),
        Err(why) => {
            node.broker.counters.messages_unroutable_total.add(1);
            tracing::warn!(%why, group = %show(&row.name), "a dead letter has nowhere to go; it is dropped");
            return Sent::Done;
        }
    };
    let message = Arc::new(dead.message.clone());
    let groups = without_circles(node, &dead, &routes.stored_in(message.publisher));
    if !groups.is_empty() || !routes.plain.is_empty() || !routes.queues.is_empty() {
        node.broker.counters.messages_dead_lettered_total.add(1);
    }
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
        let task = routes.enqueue(groups, Arc::clone(&message), None, answer);
        partition.submit(Submission { from: Arc::clone(node.internal()), tasks: vec![task], in_flight_bytes: 0 });
    }
    // Without a group, all that matched was reached directly, or was a circle: to wait would change neither.
    if waiting.is_empty() { Sent::Done } else { Sent::Waits(waiting) }
}

/// Where a letter goes; something matches.
fn route(
    node: &Node,
    row: &GroupRow,
    letter: &DeadLetter,
    exchange: Bytes,
) -> Result<(braid_types::DeadLetter, Routes), Refusal> {
    let dead = address(node, row, letter, exchange)?;
    let routes = Routes::find(node, &row.vhost, &dead.message)?;
    if routes.is_empty() {
        let exchange = show(&dead.message.exchange);
        let text = format!("nothing matches key '{}' in exchange '{exchange}'", show(&dead.message.key));
        return Err(Refusal::new(RefusalKind::NotFound, text));
    }
    Ok((dead, routes))
}

/// Waits until all targets have the letter, and begins again where one does not.
async fn confirm(node: &Arc<Node>, letter: Box<DeadLetter>, waiting: Vec<oneshot::Receiver<Reply>>) {
    let all = async {
        let mut is_safe = true;
        for reply in waiting {
            is_safe &= matches!(reply.await, Ok(Reply::Enqueued { groups: 1.. }));
        }
        is_safe
    };
    let timeout = Duration::from_millis(DEAD_LETTER_CONFIRM_TIMEOUT_MS);
    if tokio::time::timeout(timeout, all).await.unwrap_or(false) {
        return end(node, &letter);
    }
    send_later(node, letter).await;
}

/// Tries a letter again after a pause.
async fn send_later(node: &Arc<Node>, letter: Box<DeadLetter>) {
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
    // A key of the default exchange is a group's name, in any protocol.
    let is_by_name = message.exchange.is_empty();
    let own_key = if is_by_name {
        Some(message.key.clone())
    } else {
        let address = Address::from_notation(message.origin, &message.key);
        address.and_then(|address| address.to_notation(Protocol::Amqp)).ok()
    };
    let death = Death {
        reason: letter.reason.name(),
        queue: row.name.clone(),
        time_s: node.broker.clock.now().0 / 1_000,
        exchange: message.exchange.clone(),
        routing_keys: own_key.clone().into_iter().collect(),
    };
    let mut dead = conversion::dead_letter(message, &death);
    let key = match &row.options.dead_letter_routing_key {
        Some(key) if exchange.is_empty() => key.clone(),
        Some(key) => in_notation_of(message, key)?,
        None if exchange.is_empty() => own_key.unwrap_or_else(|| message.key.clone()),
        None if is_by_name => in_notation_of(message, &message.key)?,
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

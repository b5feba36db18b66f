//! NATS through async-nats.

use std::net::SocketAddr;

use async_nats::{Client, ConnectOptions, Message, Subscriber};
use futures_util::StreamExt;

use crate::{Failure, within};

/// Connects without credentials; a lost connection is tried once more, then given up.
///
/// # Errors
/// When the broker does not let it in.
pub async fn connect(address: SocketAddr) -> Result<Client, Failure> {
    connect_with(address, ConnectOptions::new()).await
}

/// As [`connect`], with options.
///
/// # Errors
/// When the broker does not let it in.
pub async fn connect_with(address: SocketAddr, options: ConnectOptions) -> Result<Client, Failure> {
    let options = options.max_reconnects(1).ignore_discovered_servers();
    Ok(within("NATS connection", options.connect(format!("nats://{address}"))).await??)
}

/// Subscribes; returns when the broker has taken it, not when it was sent.
///
/// # Errors
/// When the broker does not answer.
pub async fn subscribe(client: &Client, subject: &str) -> Result<Subscriber, Failure> {
    let subscriber = client.subscribe(subject.to_owned()).await?;
    barrier(client).await?;
    Ok(subscriber)
}

/// Joins the queue group `group`; returns when the broker has taken it.
///
/// # Errors
/// When the broker does not answer.
pub async fn queue_subscribe(client: &Client, subject: &str, group: &str) -> Result<Subscriber, Failure> {
    let subscriber = client.queue_subscribe(subject.to_owned(), group.to_owned()).await?;
    barrier(client).await?;
    Ok(subscriber)
}

/// Returns when the broker has taken all that this client sent before: a message to itself has come back.
///
/// # Errors
/// When it does not.
pub async fn barrier(client: &Client) -> Result<(), Failure> {
    let inbox = client.new_inbox();
    let mut echo = client.subscribe(inbox.clone()).await?;
    client.publish(inbox, bytes::Bytes::new()).await?;
    next(&mut echo).await?;
    Ok(echo.unsubscribe().await?)
}

/// The next message.
///
/// # Errors
/// When none comes.
pub async fn next(subscriber: &mut Subscriber) -> Result<Message, Failure> {
    within("NATS message", subscriber.next()).await?.ok_or_else(|| Failure::new("the subscription ended"))
}

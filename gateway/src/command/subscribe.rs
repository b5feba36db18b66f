//! `braidmq sub`: prints messages as they come, one per line, and acknowledges each after it is printed.
//!
//! It ends after `--count` messages, at Ctrl-C or SIGTERM (then what was sent ahead goes back), or when the broker does.

use std::{future::Future, io::Write, pin::pin};

use tokio::signal::unix::{SignalKind, signal};

use super::{CommandError, note, printable};
use crate::{
    cli::{SubscribeAmqp, SubscribeCommand, SubscribeMessages, SubscribeMqtt, SubscribeNats},
    client::{
        self, Received, Subscription,
        amqp::{AmqpClient, Consume},
        limits::PREFETCH_MESSAGES,
        mqtt::MqttClient,
        nats::NatsClient,
    },
};

/// Subscribes and prints until the end.
///
/// # Errors
/// The broker does not let it, or the connection broke.
pub(crate) async fn run(command: &SubscribeCommand, output: &mut impl Write) -> Result<(), CommandError> {
    let mut terminate = signal(SignalKind::terminate())?;
    let stop = async move {
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = terminate.recv() => {}
        }
    };
    match command {
        SubscribeCommand::Amqp(subscribe) => amqp(subscribe, stop, output).await,
        SubscribeCommand::Mqtt(subscribe) => mqtt(subscribe, stop, output).await,
        SubscribeCommand::Nats(subscribe) => nats(subscribe, stop, output).await,
    }
}

async fn amqp(
    subscribe: &SubscribeAmqp,
    stop: impl Future<Output = ()>,
    output: &mut impl Write,
) -> Result<(), CommandError> {
    let stream = client::connect(&subscribe.server.server).await?;
    let mut client = AmqpClient::connect(stream, &subscribe.server.login(), &subscribe.vhost).await?;
    let binding = subscribe.bind.as_ref().map(|key| (subscribe.exchange.as_str(), key.as_str()));
    let consume = Consume { queue: &subscribe.queue, binding, prefetch: prefetch(&subscribe.messages) };
    client.consume(consume).await?;
    note(&format!("consuming {}", subscribe.queue));
    print("amqp", client, &subscribe.messages, stop, output).await
}

async fn mqtt(
    subscribe: &SubscribeMqtt,
    stop: impl Future<Output = ()>,
    output: &mut impl Write,
) -> Result<(), CommandError> {
    let stream = client::connect(&subscribe.server.server).await?;
    let mut client = MqttClient::connect(stream, &subscribe.server.login(), prefetch(&subscribe.messages)).await?;
    let filter = match &subscribe.share {
        Some(share) => format!("$share/{share}/{}", subscribe.filter),
        None => subscribe.filter.clone(),
    };
    client.subscribe(&filter, subscribe.qos).await?;
    note(&format!("subscribed to {filter}"));
    print("mqtt", client, &subscribe.messages, stop, output).await
}

async fn nats(
    subscribe: &SubscribeNats,
    stop: impl Future<Output = ()>,
    output: &mut impl Write,
) -> Result<(), CommandError> {
    let stream = client::connect(&subscribe.server.server).await?;
    let mut client = NatsClient::connect(stream, &subscribe.server.login()).await?;
    client.subscribe(&subscribe.subject, subscribe.queue.as_deref(), subscribe.messages.count).await?;
    note(&format!("subscribed to {}", subscribe.subject));
    print("nats", client, &subscribe.messages, stop, output).await
}

/// Never more than will be printed: the others are for others.
fn prefetch(messages: &SubscribeMessages) -> u16 {
    let wanted = messages.count.and_then(|count| u16::try_from(count).ok()).unwrap_or(u16::MAX);
    wanted.min(PREFETCH_MESSAGES)
}

async fn print(
    protocol: &'static str,
    mut subscription: impl Subscription,
    messages: &SubscribeMessages,
    stop: impl Future<Output = ()>,
    output: &mut impl Write,
) -> Result<(), CommandError> {
    let mut stop = pin!(stop);
    let mut missing = messages.count.unwrap_or(u64::MAX);
    while missing > 0 {
        let received = tokio::select! {
            biased;
            () = stop.as_mut() => break,
            received = subscription.next() => received?,
        };
        write(protocol, &received, messages.json, output)?;
        subscription.settle(&received).await?;
        missing -= 1;
    }
    for received in subscription.finish().await? {
        write(protocol, &received, messages.json, output)?;
    }
    Ok(())
}

fn write(protocol: &'static str, received: &Received, json: bool, output: &mut impl Write) -> Result<(), CommandError> {
    let line = if json {
        json_line(protocol, received)
    } else {
        format!("{} {}", printable::line(&received.address), printable::body(&received.body))
    };
    writeln!(output, "{line}")?;
    output.flush()?;
    Ok(())
}

/// `body` if it is UTF-8, otherwise `body_hex`. Headers are pairs, because names may repeat.
fn json_line(protocol: &'static str, received: &Received) -> String {
    let (name, body) = match str::from_utf8(&received.body) {
        Ok(text) => ("body", text.to_owned()),
        Err(_) => ("body_hex", received.body.iter().map(|byte| format!("{byte:02x}")).collect()),
    };
    serde_json::json!({
        "protocol": protocol,
        "address": received.address,
        "headers": received.headers,
        "redelivered": received.redelivered,
        name: body,
    })
    .to_string()
}

#[cfg(test)]
mod tests;

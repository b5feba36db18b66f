//! `braidmq pub`: publishes and tells what became of it.

use std::io::{Read, Write};

use bytes::Bytes;

use super::{CommandError, note};
use crate::{
    cli::{PublishAmqp, PublishCommand, PublishMessage, PublishMqtt, PublishNats},
    client::{self, Outgoing, Published, amqp::AmqpClient, mqtt::MqttClient, nats::NatsClient},
};

/// Publishes, waits for the answers, and prints how many messages were taken.
///
/// # Errors
/// The broker did not take all of them, or `--queue` names none.
pub(crate) async fn run(command: &PublishCommand, output: &mut impl Write) -> Result<(), CommandError> {
    let published = match command {
        PublishCommand::Amqp(publish) => amqp(publish).await?,
        PublishCommand::Mqtt(publish) => mqtt(publish).await?,
        PublishCommand::Nats(publish) => nats(publish).await?,
    };
    writeln!(output, "published {}", published.taken)?;
    if published.unmatched > 0 {
        note(&format!("{} of {} went to nobody: nothing matches", published.unmatched, published.taken));
    }
    Ok(())
}

async fn amqp(publish: &PublishAmqp) -> Result<Published, CommandError> {
    let (exchange, address) = match (&publish.queue, &publish.key) {
        (Some(queue), _) => ("", queue.as_str()),
        (None, key) => (publish.exchange.as_str(), key.as_deref().unwrap_or_default()),
    };
    let message = outgoing(address, &publish.message)?;
    let stream = client::connect(&publish.server.server).await?;
    let mut client = AmqpClient::connect(stream, &publish.server.login(), &publish.vhost).await?;
    let published = client.publish(exchange, &message, publish.message.count).await?;
    client.close().await?;
    if let Some(queue) = publish.queue.as_ref().filter(|_| published.unmatched > 0) {
        return Err(CommandError::Outcome(format!("there is no queue {queue}")));
    }
    Ok(published)
}

async fn mqtt(publish: &PublishMqtt) -> Result<Published, CommandError> {
    let message = outgoing(&publish.topic, &publish.message)?;
    let stream = client::connect(&publish.server.server).await?;
    let mut client = MqttClient::connect(stream, &publish.server.login(), client::limits::PREFETCH_MESSAGES).await?;
    let published = client.publish(&message, publish.qos, publish.retain, publish.message.count).await?;
    client.close().await?;
    Ok(published)
}

async fn nats(publish: &PublishNats) -> Result<Published, CommandError> {
    let message = outgoing(&publish.subject, &publish.message)?;
    let stream = client::connect(&publish.server.server).await?;
    let mut client = NatsClient::connect(stream, &publish.server.login()).await?;
    let published = client.publish(&message, publish.message.count).await?;
    client.close().await?;
    Ok(published)
}

/// The message; its body may come from standard input.
fn outgoing(address: &str, message: &PublishMessage) -> Result<Outgoing, CommandError> {
    let body = if message.body == "-" {
        let mut body = Vec::new();
        std::io::stdin().read_to_end(&mut body)?;
        Bytes::from(body)
    } else {
        Bytes::from(message.body.clone())
    };
    Ok(Outgoing { address: address.to_owned(), headers: message.headers.clone(), body })
}

//! AMQP through lapin.

use std::net::SocketAddr;

use bytes::Bytes;
use futures_util::StreamExt;
use lapin::{
    BasicProperties, Channel, Confirmation, Connection, ConnectionProperties, Consumer, ErrorKind,
    message::Delivery,
    options::{BasicConsumeOptions, BasicPublishOptions, ConfirmSelectOptions, QueueBindOptions, QueueDeclareOptions},
    types::FieldTable,
};

use crate::{Failure, within};

/// Connects as guest to the default vhost.
///
/// # Errors
/// When the broker does not let it in.
pub async fn connect(address: SocketAddr) -> Result<Connection, Failure> {
    connect_as(address, "guest:guest", "%2f").await
}

/// Connects with `login` (`user:password`) to `vhost` (percent-encoded).
///
/// # Errors
/// When the broker does not let it in.
pub async fn connect_as(address: SocketAddr, login: &str, vhost: &str) -> Result<Connection, Failure> {
    let uri = format!("amqp://{login}@{address}/{vhost}");
    Ok(within("AMQP connection", Connection::connect(&uri, ConnectionProperties::default())).await??)
}

/// A channel in confirm mode.
///
/// # Errors
/// When the broker refuses it.
pub async fn confirming_channel(connection: &Connection) -> Result<Channel, Failure> {
    let channel = within("channel", connection.create_channel()).await??;
    within("confirm.select-ok", channel.confirm_select(ConfirmSelectOptions::default())).await??;
    Ok(channel)
}

/// Declares `queue` with default options.
///
/// # Errors
/// When the broker refuses it.
pub async fn declare(channel: &Channel, queue: &str) -> Result<(), Failure> {
    let options = QueueDeclareOptions::default();
    within("queue.declare-ok", channel.queue_declare(queue.into(), options, FieldTable::default())).await??;
    Ok(())
}

/// Binds `queue` to `exchange` with `key`.
///
/// # Errors
/// When the broker refuses it.
pub async fn bind(channel: &Channel, queue: &str, exchange: &str, key: &str) -> Result<(), Failure> {
    let options = QueueBindOptions::default();
    let bound = channel.queue_bind(queue.into(), exchange.into(), key.into(), options, FieldTable::default());
    Ok(within("queue.bind-ok", bound).await??)
}

/// Consumes `queue` with acknowledgements.
///
/// # Errors
/// When the broker refuses it.
pub async fn consume(channel: &Channel, queue: &str) -> Result<Consumer, Failure> {
    consume_with(channel, queue, BasicConsumeOptions::default()).await
}

/// Consumes `queue`; the broker names the consumer.
///
/// # Errors
/// When the broker refuses it.
pub async fn consume_with(channel: &Channel, queue: &str, options: BasicConsumeOptions) -> Result<Consumer, Failure> {
    let consumer = channel.basic_consume(queue.into(), "".into(), options, FieldTable::default());
    Ok(within("basic.consume-ok", consumer).await??)
}

/// Publishes and waits for the confirm.
///
/// # Errors
/// When the broker does not confirm or says nack.
pub async fn publish(channel: &Channel, exchange: &str, key: &str, body: &[u8]) -> Result<(), Failure> {
    publish_with(channel, exchange, key, body, BasicProperties::default()).await
}

/// As [`publish`], with properties.
///
/// # Errors
/// When the broker does not confirm or says nack.
pub async fn publish_with(
    channel: &Channel,
    exchange: &str,
    key: &str,
    body: &[u8],
    properties: BasicProperties,
) -> Result<(), Failure> {
    let options = BasicPublishOptions::default();
    let sent = channel.basic_publish(exchange.into(), key.into(), options, body, properties).await?;
    match within("confirm", sent).await?? {
        Confirmation::Ack(_) => Ok(()),
        other => Err(Failure::new(format!("no confirm but {other:?}"))),
    }
}

/// The next delivery.
///
/// # Errors
/// When none comes.
pub async fn next(consumer: &mut Consumer) -> Result<Delivery, Failure> {
    let delivery = within("delivery", consumer.next()).await?;
    Ok(delivery.ok_or_else(|| Failure::new("the consumer ended"))??)
}

/// A delivery's body.
#[must_use]
pub fn body(delivery: &Delivery) -> Bytes {
    Bytes::copy_from_slice(&delivery.data)
}

/// The AMQP reply code that an error carries; `None` for errors of another kind.
#[must_use]
pub fn code(error: &lapin::Error) -> Option<u16> {
    match error.kind() {
        ErrorKind::ProtocolError(protocol) => Some(protocol.get_id()),
        _ => None,
    }
}

//! `braidmq pub`.

use clap::{Args, Subcommand, value_parser};

use super::{Server, serve::assignment};

/// Publish with one of the protocols.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum PublishCommand {
    /// With AMQP 0-9-1, confirmed.
    Amqp(PublishAmqp),
    /// With MQTT 5, acknowledged unless --qos is 0.
    Mqtt(PublishMqtt),
    /// With NATS; a PING after it tells that the server has read it.
    Nats(PublishNats),
}

/// `braidmq pub amqp`
#[derive(Clone, Debug, Args)]
#[command(allow_missing_positional = true)]
pub(crate) struct PublishAmqp {
    /// Routing key; not with --queue
    #[arg(value_name = "KEY", required_unless_present = "queue", conflicts_with = "queue")]
    pub(crate) key: Option<String>,
    /// What is published
    #[command(flatten)]
    pub(crate) message: PublishMessage,
    /// Exchange to publish to
    #[arg(long, default_value = "amq.topic", conflicts_with = "queue")]
    pub(crate) exchange: String,
    /// Publish straight to this queue (default exchange); it must exist
    #[arg(long)]
    pub(crate) queue: Option<String>,
    /// Virtual host
    #[arg(long, default_value = "/")]
    pub(crate) vhost: String,
    /// The broker
    #[command(flatten)]
    pub(crate) server: Server,
}

/// `braidmq pub mqtt`
#[derive(Clone, Debug, Args)]
pub(crate) struct PublishMqtt {
    /// Topic
    #[arg(value_name = "TOPIC")]
    pub(crate) topic: String,
    /// What is published
    #[command(flatten)]
    pub(crate) message: PublishMessage,
    /// Quality of service: 0, 1 or 2
    #[arg(long, default_value_t = 1, value_parser = value_parser!(u8).range(0..=2))]
    pub(crate) qos: u8,
    /// Have the server keep it for later subscribers
    #[arg(long)]
    pub(crate) retain: bool,
    /// The broker
    #[command(flatten)]
    pub(crate) server: Server,
}

/// `braidmq pub nats`
#[derive(Clone, Debug, Args)]
pub(crate) struct PublishNats {
    /// Subject
    #[arg(value_name = "SUBJECT")]
    pub(crate) subject: String,
    /// What is published
    #[command(flatten)]
    pub(crate) message: PublishMessage,
    /// The broker
    #[command(flatten)]
    pub(crate) server: Server,
}

/// What is published, and how often.
#[derive(Clone, Debug, Args)]
pub(crate) struct PublishMessage {
    /// Body; "-" takes it from standard input
    #[arg(value_name = "BODY", allow_hyphen_values = true)]
    pub(crate) body: String,
    /// Publish it so many times
    #[arg(long, default_value_t = 1, value_parser = value_parser!(u64).range(1..))]
    pub(crate) count: u64,
    /// A header (MQTT: user property); may be repeated
    #[arg(long = "header", value_name = "NAME=VALUE", value_parser = assignment)]
    pub(crate) headers: Vec<(String, String)>,
}

//! `braidmq sub`.

use clap::{Args, Subcommand, value_parser};

use super::Server;

/// Subscribe with one of the protocols.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum SubscribeCommand {
    /// With AMQP 0-9-1: consume a queue; it is declared if there is none.
    Amqp(SubscribeAmqp),
    /// With MQTT 5: subscribe to a filter.
    Mqtt(SubscribeMqtt),
    /// With NATS: subscribe to a subject.
    Nats(SubscribeNats),
}

/// `braidmq sub amqp`
#[derive(Clone, Debug, Args)]
pub(crate) struct SubscribeAmqp {
    /// Queue
    #[arg(value_name = "QUEUE")]
    pub(crate) queue: String,
    /// Bind the queue with this key first
    #[arg(long, value_name = "KEY")]
    pub(crate) bind: Option<String>,
    /// Exchange to bind it to
    #[arg(long, default_value = "amq.topic", requires = "bind")]
    pub(crate) exchange: String,
    /// Virtual host
    #[arg(long, default_value = "/")]
    pub(crate) vhost: String,
    /// What is printed
    #[command(flatten)]
    pub(crate) messages: SubscribeMessages,
    /// The broker
    #[command(flatten)]
    pub(crate) server: Server,
}

/// `braidmq sub mqtt`
#[derive(Clone, Debug, Args)]
pub(crate) struct SubscribeMqtt {
    /// Topic filter
    #[arg(value_name = "FILTER")]
    pub(crate) filter: String,
    /// Share the messages with all that subscribe under this name ($share/NAME/FILTER)
    #[arg(long, value_name = "NAME")]
    pub(crate) share: Option<String>,
    /// Greatest quality of service: 0, 1 or 2
    #[arg(long, default_value_t = 1, value_parser = value_parser!(u8).range(0..=2))]
    pub(crate) qos: u8,
    /// What is printed
    #[command(flatten)]
    pub(crate) messages: SubscribeMessages,
    /// The broker
    #[command(flatten)]
    pub(crate) server: Server,
}

/// `braidmq sub nats`
#[derive(Clone, Debug, Args)]
pub(crate) struct SubscribeNats {
    /// Subject; may have wildcards
    #[arg(value_name = "SUBJECT")]
    pub(crate) subject: String,
    /// Share the messages with all that subscribe under this name (queue group)
    #[arg(long, value_name = "NAME")]
    pub(crate) queue: Option<String>,
    /// What is printed
    #[command(flatten)]
    pub(crate) messages: SubscribeMessages,
    /// The broker
    #[command(flatten)]
    pub(crate) server: Server,
}

/// What is printed, and how much of it.
#[derive(Clone, Debug, Args)]
pub(crate) struct SubscribeMessages {
    /// End after so many messages
    #[arg(long, value_parser = value_parser!(u64).range(1..))]
    pub(crate) count: Option<u64>,
    /// One JSON object per line, with headers
    #[arg(long)]
    pub(crate) json: bool,
}

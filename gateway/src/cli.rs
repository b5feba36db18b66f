//! The command line: what can be said to `braidmq`, and what it means. It decides nothing and does nothing.
//!
//! `braidmq` alone is `braidmq serve`. Errors of usage end with code 2, failures with 1.

mod group;
mod publish;
mod serve;
mod subscribe;

use clap::{Args, Parser, Subcommand};

pub(crate) use group::{GroupCommand, GroupList, GroupShow, View};
pub(crate) use publish::{PublishAmqp, PublishCommand, PublishMessage, PublishMqtt, PublishNats};
pub(crate) use serve::ServeFlags;
pub(crate) use subscribe::{SubscribeAmqp, SubscribeCommand, SubscribeMessages, SubscribeMqtt, SubscribeNats};

use crate::client::Login;

/// One broker for AMQP 0-9-1, MQTT and NATS.
#[derive(Debug, Parser)]
#[command(name = "braidmq", version, args_conflicts_with_subcommands = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    serve: ServeFlags,
}

/// What is to be done.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the broker (the default command).
    Serve(ServeFlags),
    /// Everything that talks to a broker.
    #[command(flatten)]
    Client(ClientCommand),
}

/// What is to be done with a broker that runs.
#[derive(Debug, Subcommand)]
pub(crate) enum ClientCommand {
    /// Publish a message.
    #[command(name = "pub", subcommand)]
    Publish(PublishCommand),
    /// Subscribe and print what comes, one line per message.
    #[command(name = "sub", subcommand)]
    Subscribe(SubscribeCommand),
    /// Look at groups: queues, shared subscriptions, sessions.
    #[command(subcommand)]
    Group(GroupCommand),
}

/// Where the broker is, and who to be.
#[derive(Clone, Debug, Args)]
pub(crate) struct Server {
    /// Address of the broker; the default is the one port that takes every protocol
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:6720")]
    pub(crate) server: String,
    /// User name (AMQP: guest if not given)
    #[arg(long, env = "BRAIDMQ_USER", hide_env_values = true)]
    pub(crate) user: Option<String>,
    /// Password; better in the environment, where other users of the machine do not see it
    #[arg(long, env = "BRAIDMQ_PASSWORD", hide_env_values = true)]
    pub(crate) password: Option<String>,
}

impl Server {
    /// User and password.
    #[must_use]
    pub(crate) fn login(&self) -> Login {
        Login { user: self.user.clone(), password: self.password.clone() }
    }
}

impl Cli {
    /// The command that was given, or `serve`.
    #[must_use]
    pub(crate) fn into_command(self) -> Command {
        self.command.unwrap_or(Command::Serve(self.serve))
    }
}

#[cfg(test)]
mod tests;

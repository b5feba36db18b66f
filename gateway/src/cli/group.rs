//! `braidmq group`.

use clap::{Args, Subcommand};

/// Look at groups.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum GroupCommand {
    /// All groups.
    List(GroupList),
    /// One group with its members.
    Show(GroupShow),
}

/// `braidmq group list`
#[derive(Clone, Debug, Args)]
pub(crate) struct GroupList {
    /// Those of this vhost only
    #[arg(long)]
    pub(crate) vhost: Option<String>,
    /// Where to ask, and how to print
    #[command(flatten)]
    pub(crate) view: View,
}

/// `braidmq group show`
#[derive(Clone, Debug, Args)]
pub(crate) struct GroupShow {
    /// Name of the group
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Its vhost
    #[arg(long, default_value = "/")]
    pub(crate) vhost: String,
    /// Where to ask, and how to print
    #[command(flatten)]
    pub(crate) view: View,
}

/// Where to ask, and how to print.
#[derive(Clone, Debug, Args)]
pub(crate) struct View {
    /// Address of the broker's HTTP listener
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:15672")]
    pub(crate) http: String,
    /// JSON, as the broker sends it
    #[arg(long)]
    pub(crate) json: bool,
}

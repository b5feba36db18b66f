//! What changes the catalog. Every command is decided from the state alone, in the order of the meta log.

use alloc::{string::String, vec::Vec};

use braid_types::{ConnectionId, Filter, GroupId, Headers};
use bytes::Bytes;

/// A command. One that cannot be carried out changes nothing and is answered by [`crate::Reply::Refused`].
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Makes a vhost with its predeclared exchanges; an existing one stays as it is. Answer: `Vhost`.
    CreateVhost {
        /// Its name.
        name: Bytes,
    },
    /// Removes a vhost with all that is in it. Answer: `Done`, also when there was none.
    DeleteVhost {
        /// Its name.
        name: Bytes,
    },
    /// Makes a user or replaces it. Answer: `Done`.
    PutUser {
        /// Its name.
        name: Bytes,
        /// The hash of its password, in PHC string form; never the password.
        password_hash: String,
        /// What it may do in administration.
        tags: Vec<String>,
    },
    /// Removes a user. Answer: `Done`, also when there was none.
    DeleteUser {
        /// Its name.
        name: Bytes,
    },
    /// A node started (again) and offers partitions. What lived in its memory is gone, and goes from the catalog:
    /// groups that are not durable, exclusive ones, shared groups of class direct or memory; when it is the only node,
    /// non-durable exchanges too. Answer: `Done`.
    NodeStarted {
        /// The node.
        node: u64,
        /// How many partitions it offers.
        partitions: u32,
    },
    /// Declares an exchange. Answer: `Done`; refused when one with other properties exists.
    DeclareExchange {
        /// In which vhost.
        vhost: Bytes,
        /// Its name.
        name: Bytes,
        /// AMQP's name of its kind.
        kind: Bytes,
        /// Outlives a restart.
        durable: bool,
        /// Goes with its last binding.
        auto_delete: bool,
        /// Cannot be published to.
        internal: bool,
        /// `x-` arguments.
        arguments: Headers,
    },
    /// Removes an exchange with its bindings. Answer: `Done`, also when there was none.
    DeleteExchange {
        /// In which vhost.
        vhost: Bytes,
        /// Its name.
        name: Bytes,
        /// Refuse when it has bindings.
        if_unused: bool,
    },
    /// Declares a group. Answer: `Declared`; refused when one with other properties exists.
    DeclareGroup {
        /// In which vhost.
        vhost: Bytes,
        /// Its name; empty: one is made from `suffix`.
        name: Bytes,
        /// Outlives a restart.
        durable: bool,
        /// The connection that it belongs to.
        exclusive: Option<ConnectionId>,
        /// Goes with its last consumer (the broker sees that, and deletes it).
        auto_delete: bool,
        /// `x-` arguments.
        arguments: Headers,
        /// Random, from the proposer, for the name of a group without one.
        suffix: u64,
    },
    /// Removes a group with its bindings. By id, so that a late clean-up never hits a later group of the same name.
    /// Answer: `Done`, also when there was none.
    DeleteGroup {
        /// Which.
        group: GroupId,
    },
    /// Binds a declared group to an exchange. Answer: `Done`, also when it was bound like this.
    Bind {
        /// In which vhost.
        vhost: Bytes,
        /// The group's name.
        group: Bytes,
        /// The exchange's name.
        exchange: Bytes,
        /// Routing key or pattern in AMQP's notation.
        key: Bytes,
        /// Arguments (headers exchange).
        arguments: Headers,
        /// Who binds: an exclusive group takes it from its own connection alone.
        connection: ConnectionId,
    },
    /// Undoes a binding. Answer: `Done`, also when there was none.
    Unbind {
        /// In which vhost.
        vhost: Bytes,
        /// The group's name.
        group: Bytes,
        /// The exchange's name.
        exchange: Bytes,
        /// Routing key or pattern in AMQP's notation.
        key: Bytes,
        /// Arguments, as they were bound.
        arguments: Headers,
        /// Who unbinds.
        connection: ConnectionId,
    },
    /// Gives the group that `$share/<share>/<filter>` means (SPEC section 3, Identity, rules 1 and 2), and makes the
    /// shared group when there is none. Answer: `Declared`.
    OpenShared {
        /// In which vhost.
        vhost: Bytes,
        /// The share name.
        share: Bytes,
        /// The canonical filter.
        filter: Filter,
        /// The filter in MQTT's notation, for the group's name.
        filter_text: Bytes,
        /// The grant is at least that of MQTT's level 1: the shared group keeps messages from now on.
        logged: bool,
    },
    /// Removes a shared group that nobody holds any more; a declared one stays. Answer: `Done`.
    DropShared {
        /// Which.
        group: GroupId,
    },
}

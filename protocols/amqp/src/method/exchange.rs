//! Class 40: exchanges (AMQP 0-9-1, 1.6), with RabbitMQ's bind and unbind.

use super::method;

method! {
    /// Client: make it, or ask for it.
    Declare = 40, 10 {
        /// Was ticket.
        reserved_1: short,
        /// Its name.
        exchange: short_string,
        /// Its type.
        kind: short_string,
        /// Only ask.
        passive: bit,
        /// Outlives a restart.
        durable: bit,
        /// Goes with its last binding.
        auto_delete: bit,
        /// Cannot be published to.
        internal: bit,
        /// Do not answer.
        no_wait: bit,
        /// Further arguments.
        arguments: table,
    }
}
method! {
    /// Server: it is there.
    DeclareOk = 40, 11 {}
}
method! {
    /// Client: remove it.
    Delete = 40, 20 {
        /// Was ticket.
        reserved_1: short,
        /// Its name.
        exchange: short_string,
        /// Only if nothing is bound to it.
        if_unused: bit,
        /// Do not answer.
        no_wait: bit,
    }
}
method! {
    /// Server: it is gone.
    DeleteOk = 40, 21 {}
}
method! {
    /// Client: bind an exchange to an exchange (extension).
    Bind = 40, 30 {
        /// Was ticket.
        reserved_1: short,
        /// Gets the messages.
        destination: short_string,
        /// Gives them.
        source: short_string,
        /// Key or pattern.
        routing_key: short_string,
        /// Do not answer.
        no_wait: bit,
        /// Further arguments.
        arguments: table,
    }
}
method! {
    /// Client: undo such a binding (extension).
    Unbind = 40, 40 {
        /// Was ticket.
        reserved_1: short,
        /// Got the messages.
        destination: short_string,
        /// Gave them.
        source: short_string,
        /// Key or pattern.
        routing_key: short_string,
        /// Do not answer.
        no_wait: bit,
        /// Further arguments.
        arguments: table,
    }
}

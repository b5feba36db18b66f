//! Class 50: queues (AMQP 0-9-1, 1.7).

use super::method;

method! {
    /// Client: make it, or ask for it.
    Declare = 50, 10 {
        /// Was ticket.
        reserved_1: short,
        /// Its name; empty: the server makes one.
        queue: short_string,
        /// Only ask.
        passive: bit,
        /// Outlives a restart.
        durable: bit,
        /// Only this connection's.
        exclusive: bit,
        /// Goes with its last consumer.
        auto_delete: bit,
        /// Do not answer.
        no_wait: bit,
        /// Further arguments.
        arguments: table,
    }
}
method! {
    /// Server: it is there.
    DeclareOk = 50, 11 {
        /// Its name.
        queue: short_string,
        /// Ready messages.
        message_count: long,
        /// Consumers.
        consumer_count: long,
    }
}
method! {
    /// Client: bind it to an exchange.
    Bind = 50, 20 {
        /// Was ticket.
        reserved_1: short,
        /// The queue; empty: the last declared one.
        queue: short_string,
        /// The exchange.
        exchange: short_string,
        /// Key or pattern.
        routing_key: short_string,
        /// Do not answer.
        no_wait: bit,
        /// Further arguments.
        arguments: table,
    }
}
method! {
    /// Server: bound.
    BindOk = 50, 21 {}
}
method! {
    /// Client: undo a binding.
    Unbind = 50, 50 {
        /// Was ticket.
        reserved_1: short,
        /// The queue; empty: the last declared one.
        queue: short_string,
        /// The exchange.
        exchange: short_string,
        /// Key or pattern.
        routing_key: short_string,
        /// Further arguments.
        arguments: table,
    }
}
method! {
    /// Server: unbound.
    UnbindOk = 50, 51 {}
}
method! {
    /// Client: drop its ready messages.
    Purge = 50, 30 {
        /// Was ticket.
        reserved_1: short,
        /// The queue; empty: the last declared one.
        queue: short_string,
        /// Do not answer.
        no_wait: bit,
    }
}
method! {
    /// Server: dropped.
    PurgeOk = 50, 31 {
        /// So many.
        message_count: long,
    }
}
method! {
    /// Client: remove it.
    Delete = 50, 40 {
        /// Was ticket.
        reserved_1: short,
        /// The queue; empty: the last declared one.
        queue: short_string,
        /// Only if it has no consumers.
        if_unused: bit,
        /// Only if it has no messages.
        if_empty: bit,
        /// Do not answer.
        no_wait: bit,
    }
}
method! {
    /// Server: it is gone.
    DeleteOk = 50, 41 {
        /// Messages that it held.
        message_count: long,
    }
}

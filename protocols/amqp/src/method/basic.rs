//! Class 60: messages (AMQP 0-9-1, 1.8), with RabbitMQ's nack.

use super::method;

method! {
    /// Client: prefetch.
    Qos = 60, 10 {
        /// Bytes; only 0 is supported.
        prefetch_size: long,
        /// Messages; 0: unlimited.
        prefetch_count: short,
        /// For the channel as a whole; otherwise for each consumer made from now on.
        global: bit,
    }
}
method! {
    /// Server: so it is.
    QosOk = 60, 11 {}
}
method! {
    /// Client: start a consumer.
    Consume = 60, 20 {
        /// Was ticket.
        reserved_1: short,
        /// The queue; empty: the last declared one.
        queue: short_string,
        /// Its tag; empty: the server makes one.
        consumer_tag: short_string,
        /// Not what this connection published.
        no_local: bit,
        /// Settled by being sent.
        no_ack: bit,
        /// No other consumer beside it.
        exclusive: bit,
        /// Do not answer.
        no_wait: bit,
        /// Further arguments.
        arguments: table,
    }
}
method! {
    /// Server: it is there.
    ConsumeOk = 60, 21 {
        /// Its tag.
        consumer_tag: short_string,
    }
}
method! {
    /// Client: end a consumer. Server: it was ended (extension).
    Cancel = 60, 30 {
        /// Its tag.
        consumer_tag: short_string,
        /// Do not answer.
        no_wait: bit,
    }
}
method! {
    /// Server: it is gone.
    CancelOk = 60, 31 {
        /// Its tag.
        consumer_tag: short_string,
    }
}
method! {
    /// Client: a message follows.
    Publish = 60, 40 {
        /// Was ticket.
        reserved_1: short,
        /// The exchange; empty: the default one.
        exchange: short_string,
        /// Routing key.
        routing_key: short_string,
        /// Return it when it matches no queue.
        mandatory: bit,
        /// Not supported.
        immediate: bit,
    }
}
method! {
    /// Server: a message comes back.
    Return = 60, 50 {
        /// Why.
        reply_code: short,
        /// Why, for people.
        reply_text: short_string,
        /// Where it was published to.
        exchange: short_string,
        /// Its routing key.
        routing_key: short_string,
    }
}
method! {
    /// Server: a message for a consumer.
    Deliver = 60, 60 {
        /// The consumer.
        consumer_tag: short_string,
        /// Names the delivery on this channel.
        delivery_tag: long_long,
        /// It may have been seen before.
        redelivered: bit,
        /// Where it was published to.
        exchange: short_string,
        /// Its routing key.
        routing_key: short_string,
    }
}
method! {
    /// Client: one message, please.
    Get = 60, 70 {
        /// Was ticket.
        reserved_1: short,
        /// The queue; empty: the last declared one.
        queue: short_string,
        /// Settled by being sent.
        no_ack: bit,
    }
}
method! {
    /// Server: here it is.
    GetOk = 60, 71 {
        /// Names the delivery on this channel.
        delivery_tag: long_long,
        /// It may have been seen before.
        redelivered: bit,
        /// Where it was published to.
        exchange: short_string,
        /// Its routing key.
        routing_key: short_string,
        /// Messages still ready.
        message_count: long,
    }
}
method! {
    /// Server: there is none.
    GetEmpty = 60, 72 {
        /// Was cluster id.
        reserved_1: short_string,
    }
}
method! {
    /// Client: done with a delivery. Server: done with a publish (extension).
    Ack = 60, 80 {
        /// Which.
        delivery_tag: long_long,
        /// And all before it.
        multiple: bit,
    }
}
method! {
    /// Client: does not want a delivery.
    Reject = 60, 90 {
        /// Which.
        delivery_tag: long_long,
        /// Back to the queue.
        requeue: bit,
    }
}
method! {
    /// Client: put back what is unacked.
    RecoverAsync = 60, 100 {
        /// Back to the queue.
        requeue: bit,
    }
}
method! {
    /// Client: put back what is unacked, and answer.
    Recover = 60, 110 {
        /// Back to the queue.
        requeue: bit,
    }
}
method! {
    /// Server: done.
    RecoverOk = 60, 111 {}
}
method! {
    /// Either: the opposite of ack (extension).
    Nack = 60, 120 {
        /// Which.
        delivery_tag: long_long,
        /// And all before it.
        multiple: bit,
        /// Back to the queue.
        requeue: bit,
    }
}

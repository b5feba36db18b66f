//! Class 10: the connection (AMQP 0-9-1, 1.4), with RabbitMQ's blocked and unblocked.

use super::method;

method! {
    /// Server: versions and mechanisms that it has.
    Start = 10, 10 {
        /// 0.
        version_major: octet,
        /// 9.
        version_minor: octet,
        /// Who the server is and what it can do.
        server_properties: table,
        /// SASL mechanisms, separated by spaces.
        mechanisms: long_string,
        /// Locales, separated by spaces.
        locales: long_string,
    }
}
method! {
    /// Client: its choice.
    StartOk = 10, 11 {
        /// Who the client is and what it can do.
        client_properties: table,
        /// The SASL mechanism.
        mechanism: short_string,
        /// What the mechanism wants to know.
        response: long_string,
        /// The locale.
        locale: short_string,
    }
}
method! {
    /// Server: limits that it proposes.
    Tune = 10, 30 {
        /// Channels; 0: no limit.
        channel_max: short,
        /// Bytes of a frame; 0: no limit.
        frame_max: long,
        /// Seconds between heartbeats; 0: none.
        heartbeat: short,
    }
}
method! {
    /// Client: limits that hold.
    TuneOk = 10, 31 {
        /// Channels; 0: the proposal.
        channel_max: short,
        /// Bytes of a frame; 0: the proposal.
        frame_max: long,
        /// Seconds between heartbeats; 0: none.
        heartbeat: short,
    }
}
method! {
    /// Client: work in a vhost.
    Open = 10, 40 {
        /// Its name.
        virtual_host: short_string,
        /// Was capabilities.
        reserved_1: short_string,
        /// Was insist.
        reserved_2: bit,
    }
}
method! {
    /// Server: agreed.
    OpenOk = 10, 41 {
        /// Was known hosts.
        reserved_1: short_string,
    }
}
method! {
    /// Either: the end, and why.
    Close = 10, 50 {
        /// Code.
        reply_code: short,
        /// Name and text.
        reply_text: short_string,
        /// Class of the method that failed.
        class_id: short,
        /// The method that failed.
        method_id: short,
    }
}
method! {
    /// Either: the end is understood.
    CloseOk = 10, 51 {}
}
method! {
    /// Server: publishes are held back.
    Blocked = 10, 60 {
        /// Why.
        reason: short_string,
    }
}
method! {
    /// Server: publishes go on.
    Unblocked = 10, 61 {}
}

//! Every key of the configuration: its meaning, type, default and bounds. `deploy/braidmq.toml` says the same to users.
//!
//! All listeners are on loopback until told otherwise, because a fresh node lets anonymous clients and the default user
//! in: nobody should find out from the network that they forgot to set a password.

use std::path::PathBuf;

use super::{
    addresses::Addresses,
    log_level::{LogFormat, LogLevel},
    memory_limit::MemoryLimit,
    section::section,
};

section! {
    /// The keys above the first section.
    Node {
        /// Where the node keeps its files.
        data_dir: PathBuf = PathBuf::from("./braidmq-data");
        /// The node's number in its cluster. Up to 2^53, so that every JSON reader can hold it.
        node_id: u64 = 1, 1..=9_007_199_254_740_992;
    }
}

section! {
    /// `[listen]`: addresses, or off.
    Listen {
        /// The one port that takes every protocol.
        any: Addresses = Addresses::loopback(6720);
        /// AMQP 0-9-1 only.
        amqp: Addresses = Addresses::loopback(5672);
        /// MQTT only.
        mqtt: Addresses = Addresses::loopback(1883);
        /// NATS only.
        nats: Addresses = Addresses::loopback(4222);
        /// HTTP only: health, metrics, groups.
        http: Addresses = Addresses::loopback(15672);
    }
}

impl Listen {
    /// Each key of the section with its addresses.
    #[must_use]
    pub(crate) fn by_key(&self) -> [(&'static str, &Addresses); 5] {
        [
            ("listen.any", &self.any),
            ("listen.amqp", &self.amqp),
            ("listen.mqtt", &self.mqtt),
            ("listen.nats", &self.nats),
            ("listen.http", &self.http),
        ]
    }
}

section! {
    /// `[detect]`: the one port.
    Detect {
        /// Silence after which a client is taken for NATS, in milliseconds; 0: never.
        silence_ms: u64 = 250, 0..=60_000;
    }
}

section! {
    /// `[limits]`
    Limits {
        /// Client connections at once. Above it new ones are closed.
        connections_max: usize = 100_000, 1..=10_000_000;
        /// Time from connecting to being let in, in milliseconds.
        handshake_timeout_ms: u64 = braid_types::limits::HANDSHAKE_TIMEOUT_MS, 100..=600_000;
        /// Bytes of one message's body.
        message_bytes_max: usize =
            braid_types::limits::BODY_BYTES_MAX, 1..=braid_types::limits::BODY_BYTES_MAX as u64;
        /// Bodies that groups hold together. Above it publishers are held back.
        memory_bytes_max: MemoryLimit = MemoryLimit::Percent(40);
        /// Bytes that one connection may have published without an answer yet. Above it the node stops reading from it.
        publish_in_flight_bytes_max: usize = 16 * 1024 * 1024, 65_536..=4_294_967_295;
        /// Bytes that wait to be written to one connection. Above it messages of plain subscriptions are dropped.
        output_bytes_max: usize = 16 * 1024 * 1024, 65_536..=4_294_967_295;
        /// What a consumer that settles quickly is handed beyond its prefetch, in messages, up to as many again. It waits
        /// in the broker. 0: nothing.
        second_window_messages_max: u32 = 4_096, 0..=65_535;
        /// Consumers with a smaller prefetch are not handed anything beyond it, in messages.
        second_window_prefetch_min: u32 = 256, 1..=65_535;
    }
}

section! {
    /// `[amqp]`: what the server offers; the client may ask for less.
    Amqp {
        /// Heartbeat, in seconds; 0: none.
        heartbeat_s: u16 = 60, 0..=65_535;
        /// Bytes of one frame. 4,096 is the least that the protocol allows.
        frame_bytes_max: u32 = 131_072, 4_096..=16_777_216;
        /// Channels of one connection.
        channels_max: u16 = 2_047, 1..=65_535;
    }
}

section! {
    /// `[mqtt]`
    Mqtt {
        /// `QoS` 1 and 2 messages that one client may have sent without an answer yet (Receive Maximum).
        receive_maximum: u16 = 1_024, 1..=65_535;
        /// Topic aliases that one client may set; 0: none. Each costs memory while the client is connected.
        topic_alias_maximum: u16 = 10, 0..=65_535;
        /// Bytes of one packet. 268,435,460 is the most that the protocol can say.
        packet_bytes_max: u32 = 134_283_264, 1_024..=268_435_460;
        /// How long a session may wait for its client, in seconds; 4,294,967,295: for ever.
        session_expiry_s_max: u32 = 2_592_000, 0..=4_294_967_295;
    }
}

section! {
    /// `[nats]`
    Nats {
        /// Bytes of one message's headers and body; clients are told.
        payload_bytes_max: u32 = 1_048_576, 1_024..=67_108_864;
        /// Time between two PINGs to a client, in milliseconds; 0: none.
        ping_interval_ms: u64 = 120_000, 0..=86_400_000;
    }
}

section! {
    /// `[groups]`
    Groups {
        /// Partitions of the node; each has a task of its own.
        partitions: u32 = 4, 1..=64;
        /// MQTT `$share` subscriptions join a declared group that has their name and filter.
        mqtt_join_declared: bool = true;
        /// NATS queue subscriptions join a declared group that has their name and filter.
        nats_join_declared: bool = true;
    }
}

section! {
    /// `[storage]`: the write-ahead log of the groups that last.
    Storage {
        /// Bytes of one file of the log. Five are made ahead; a message has to fit in an eighth of one, or is cut up.
        segment_bytes: u32 = braid_log::limits::SEGMENT_BYTES, 16_777_216..=1_073_741_824;
        /// Bytes of recent entries that are kept in memory, so that consumers that are a little behind read no disk.
        cache_bytes: usize = 64 * 1024 * 1024, 0..=4_294_967_295;
    }
}

section! {
    /// `[log]`: to standard error. `RUST_LOG` beats `level`.
    Log {
        /// Level, or levels per part.
        level: LogLevel = LogLevel::default();
        /// Form of the lines.
        format: LogFormat = LogFormat::Text;
    }
}

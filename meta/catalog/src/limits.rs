//! Named limits of the catalog. It is held in memory on every node, so each kind of row has a maximum; a command that
//! would go over one is refused with `LimitReached` and changes nothing.

/// Bytes of the name of a vhost, exchange, declared group or user: what AMQP's short string holds.
pub const NAME_BYTES_MAX: usize = 255;

/// Bytes of a share name and its filter together: what MQTT's length field holds.
pub const SHARE_BYTES_MAX: usize = 65_535;

/// Bytes of the arguments of one exchange, group or binding in the catalog's own encoding. Real ones have a few hundred.
pub const ARGUMENTS_BYTES_MAX: usize = 64 * 1024;

/// Nesting of lists and tables in arguments. Bounds the stack of the codec; no known argument nests at all.
pub const ARGUMENTS_DEPTH_MAX: usize = 16;

/// Vhosts. Each holds five exchanges from birth.
pub const VHOSTS_MAX: usize = 4_096;

/// Users.
pub const USERS_MAX: usize = 65_536;

/// Bytes of a password hash. An argon2id string has about 100.
pub const PASSWORD_HASH_BYTES_MAX: usize = 1_024;

/// Tags of one user.
pub const USER_TAGS_MAX: usize = 32;

/// Exchanges of one vhost.
pub const EXCHANGES_PER_VHOST_MAX: usize = 65_536;

/// Groups of all vhosts, shared ones included. A row takes about 500 bytes: 250 MB at most.
pub const GROUPS_MAX: usize = 500_000;

/// Bindings of one vhost. One takes about 400 bytes with its indexes.
pub const BINDINGS_PER_VHOST_MAX: usize = 1_000_000;

/// Nodes that were ever registered.
pub const NODES_MAX: usize = 4_096;

/// Partitions of each kind that one node offers: as many as their numbers have room for.
pub const PARTITIONS_PER_KIND_MAX: u32 = braid_types::PartitionId::PER_KIND;

/// Longest expiry and time to live in milliseconds, as RabbitMQ has it: about 50 days.
pub const EXPIRY_MS_MAX: i64 = 4_294_967_295;

/// Failed tries that an AMQP-declared quorum group allows when it does not say (SPEC section 3, Settlement).
pub const QUORUM_DELIVERY_LIMIT: u32 = 20;

/// Delay after the first failed try where delayed retry is on and `x-delayed-retry-min` is not given, in milliseconds.
pub const DELAYED_RETRY_SHORTEST_DEFAULT_MS: u64 = 1_000;

/// Longest such delay where `x-delayed-retry-max` is not given, in milliseconds: a minute.
pub const DELAYED_RETRY_LONGEST_DEFAULT_MS: u64 = 60_000;

/// Highest value of `x-max-priority`.
pub const MAX_PRIORITY_MAX: i64 = 255;

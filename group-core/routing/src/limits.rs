//! Named limits of this crate. Those of addresses are in `braid_types::limits`.

/// Nodes of one [`crate::Trie`] or [`crate::Store`]: their numbers are 32 bits wide, so that a node stays small. At some
/// 100 bytes a node, memory ends earlier.
pub const TREE_NODES_MAX: usize = u32::MAX as usize - 1;

/// Bindings of one exchange: numbered with 32 bits like nodes. The catalog allows fewer per vhost.
pub const EXCHANGE_BINDINGS_MAX: usize = u32::MAX as usize;

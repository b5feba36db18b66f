//! The meta cluster of a node: [`Meta`] is the replicated [`braid_catalog::Catalog`], kept in `<data_dir>/meta.redb`, and
//! the identity that binds a data directory to one node.
//!
//! So far the node is the only voter. This crate takes no decision of the catalog's; it starts it, lets others propose and
//! read, and refuses a directory whose parts do not belong together (SPEC section 8, P3).
//!
//! Invariants:
//! 1. a data directory has an identity file and a catalog that name the same identity, or it is not used;
//! 2. neither of the two is made again where the other one is: what is lost is for the operator to replace;
//! 3. the vhost `/` is there after the first start; who deletes it later does not get it back.
#![forbid(unsafe_code)]

mod error;
mod identity;
mod meta;

pub use error::Error;
pub use identity::Identity;
pub use meta::{Meta, Options};

//! The group state machine.
#![no_std]
#![forbid(unsafe_code)]
extern crate alloc;
mod command;
mod config;
mod effect;
mod reply;

pub use command::{Command, Credit, MemberConfig, MessageHeader, Owner};
pub use config::GroupConfig;
pub use effect::{DropReason, Effect};
pub use reply::{Refused, Reply, Taken};

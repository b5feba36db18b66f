//! What a machine must be for a replica to host it. Every machine that fits is one; nobody implements this.

use braid_types::{Machine, Wire};

/// A machine whose commands have a byte form, whose replies may go to another thread, and that begins empty.
pub trait Hosted:
    Machine<Command: Wire + Send, Reply: Send + Sync + 'static, Effect: Send> + Default + Send + Sync + 'static
{
}

impl<M> Hosted for M where
    M: Machine<Command: Wire + Send, Reply: Send + Sync + 'static, Effect: Send> + Default + Send + Sync + 'static
{
}

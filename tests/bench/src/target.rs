//! Whom the load is aimed at: addresses and process ids from the environment.
//!
//! For a side `OURS` or `PEER`: `BENCH_<SIDE>_<PROTOCOL>` is an address; `BENCH_<SIDE>_<PROTOCOL>_PIDS`, or
//! `BENCH_<SIDE>_PIDS` for all protocols, is a list of process ids with commas.

use std::net::SocketAddr;

use crate::Protocol;

/// A broker.
#[derive(Clone, Debug)]
pub struct Target {
    /// `ours` or `peer`.
    pub side: &'static str,
    /// Where it listens.
    pub address: SocketAddr,
    /// Its processes; empty: CPU and memory are not shown.
    pub pids: Vec<u32>,
}

impl Target {
    /// The target of `side` for `protocol`; `None` when no address is set.
    ///
    /// # Errors
    /// When a variable cannot be read; the message names it.
    pub fn from_environment(side: &'static str, protocol: Protocol) -> Result<Option<Self>, String> {
        let prefix = format!("BENCH_{}", side.to_uppercase());
        let name = format!("{prefix}_{}", protocol.name());
        let Ok(address) = std::env::var(&name) else { return Ok(None) };
        let address = address.parse().map_err(|error| format!("{name}: {error}"))?;
        let mut pids = Vec::new();
        for name in [format!("{name}_PIDS"), format!("{prefix}_PIDS")] {
            if let Ok(list) = std::env::var(&name) {
                let parsed: Result<Vec<u32>, _> = list.split(',').map(|pid| pid.trim().parse()).collect();
                pids = parsed.map_err(|error| format!("{name}: {error}"))?;
                break;
            }
        }
        Ok(Some(Self { side, address, pids }))
    }
}

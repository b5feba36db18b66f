//! Whom the load is aimed at: addresses and process ids from the environment.
//!
//! For a side `OURS` or `PEER`: `BENCH_<SIDE>_<PROTOCOL>` is an address; `BENCH_<SIDE>_<PROTOCOL>_PIDS`, or
//! `BENCH_<SIDE>_PIDS` for all protocols, is a list of process ids with commas. `BENCH_<SIDE>_HTTP` is the address of
//! `/metrics`; a BraidMQ's says how often its log was synced.

use std::net::{AddrParseError, SocketAddr};

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
    /// Where `/metrics` is; `None`: figures of the log are not shown.
    pub http: Option<SocketAddr>,
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
        let name = format!("{prefix}_HTTP");
        let http = std::env::var(&name).ok().map(|address| address.parse()).transpose();
        let http = http.map_err(|error: AddrParseError| format!("{name}: {error}"))?;
        Ok(Some(Self { side, address, pids, http }))
    }
}

//! The endpoint against a scripted client and broker, in memory and in simulated time. Every golden conversation is fed
//! again split at each of its bytes, and must give the same bytes and requests.

#[cfg(test)]
mod endpoint {
    pub(crate) mod bad_input;
    pub(crate) mod closing;
    pub(crate) mod connecting;
    pub(crate) mod crossing;
    pub(crate) mod delivering;
    pub(crate) mod driver;
    pub(crate) mod packets;
    pub(crate) mod publishing;
    pub(crate) mod resuming;
    pub(crate) mod subscribing;
    pub(crate) mod survival;
}

//! The NATS endpoint against a scripted client and an in-memory broker, with simulated time.

mod deliver;
mod driver;
mod handshake;
mod hostile;
mod liveness;
mod properties;
mod publish;
mod subscribe;

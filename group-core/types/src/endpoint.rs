//! The contract of the three protocol endpoints: bytes, events and time in; bytes, requests and deadlines out.
//!
//! An endpoint is one connection's protocol state. It never touches a socket or a clock; randomness, where it needs
//! some (an assigned client id), is a seed given to its constructor. The driver calls, after each `receive`, `handle`
//! or `handle_timeout`: `poll_request` until `None`, then writes [`Endpoint::transmit`], then arms `poll_timeout`.
//!
//! Invariants: (1) however the input is split, the same requests and bytes come out; (2) a peer's fault ends in a
//! protocol close of this connection, never in a panic; (3) once [`Endpoint::is_closing`] holds, input is ignored.

use bytes::BytesMut;

use crate::{Event, Request, Timestamp, Transmit};

/// One connection's protocol engine, without IO.
pub trait Endpoint {
    /// Takes all complete frames out of `input`; an incomplete one stays in it. Bodies become slices of it.
    fn receive(&mut self, now: Timestamp, input: &mut BytesMut);

    /// Takes what the broker has to say to this client.
    fn handle(&mut self, now: Timestamp, event: Event);

    /// To be called when the time of [`Endpoint::poll_timeout`] has come.
    fn handle_timeout(&mut self, now: Timestamp);

    /// The next thing that the client wants from the broker, in the order in which it asked.
    fn poll_request(&mut self) -> Option<Request>;

    /// The bytes for the client.
    fn transmit(&mut self) -> &mut Transmit;

    /// When [`Endpoint::handle_timeout`] wants to be called next (handshake limit, heartbeat, keep-alive).
    fn poll_timeout(&self) -> Option<Timestamp>;

    /// The socket is to be closed once [`Endpoint::transmit`] is written.
    fn is_closing(&self) -> bool;
}

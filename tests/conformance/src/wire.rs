//! A cable between one client and the broker that a test can cut: a relay on a port of its own.
//!
//! Cutting resets both sockets without a goodbye, whatever the client is doing, and nothing can be connected through the
//! cable afterwards: to both sides the other one has died.

use std::net::SocketAddr;

use tokio::{
    net::{TcpListener, TcpStream},
    task::{JoinHandle, JoinSet},
};

use crate::Failure;

/// A relay to one address.
#[derive(Debug)]
pub struct Wire {
    address: SocketAddr,
    relay: JoinHandle<()>,
}

impl Wire {
    /// A cable to `target`.
    ///
    /// # Errors
    /// When no port is free.
    pub async fn to(target: SocketAddr) -> Result<Self, Failure> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        Ok(Self { address, relay: tokio::spawn(relay(listener, target)) })
    }

    /// The near end: what a client connects to.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Cuts it. Returns when both sockets are gone.
    pub async fn cut(mut self) {
        self.relay.abort();
        // The task's end is what is waited for; that it was aborted is the very intention.
        drop((&mut self.relay).await);
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.relay.abort();
    }
}

async fn relay(listener: TcpListener, target: SocketAddr) {
    // Owned by this task, so that aborting it drops the connections too.
    let mut connections = JoinSet::new();
    while let Ok((near, _)) = listener.accept().await {
        connections.spawn(async move { connect(near, target).await });
    }
}

async fn connect(mut near: TcpStream, target: SocketAddr) -> std::io::Result<()> {
    let mut far = TcpStream::connect(target).await?;
    for socket in [&near, &far] {
        socket.set_nodelay(true)?;
        // When the relay is cut the socket is reset instead of closed in order.
        socket.set_zero_linger()?;
    }
    tokio::io::copy_bidirectional(&mut near, &mut far).await.map(|_| ())
}

//! A connection to a broker, and what the load needs to know of a protocol.

use std::{
    io::{self, ErrorKind, Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

/// Bytes that are read at once.
const READ_BYTES: usize = 256 * 1024;

/// How long a step of a handshake may take, and how long a consumer waits before it looks whether the run is over.
pub(crate) const READ_TIMEOUT: Duration = Duration::from_millis(200);

/// How many times that a handshake waits.
const HANDSHAKE_READS_MAX: u32 = 100;

/// What a protocol's parser found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Publishes that were confirmed.
    pub(crate) confirmed: u64,
    /// Bytes to be sent back (acks, pongs).
    pub(crate) replies: Vec<u8>,
}

/// A protocol, after the handshake.
pub(crate) trait Codec: Send {
    /// Appends a publish of `body` to `out`.
    fn publish(&mut self, body: &[u8], out: &mut Vec<u8>);

    /// Takes whole frames off the front of `bytes`; gives each body to `message`. Returns how many bytes were used.
    ///
    /// # Errors
    /// When the broker says that something is wrong.
    fn parse(&mut self, bytes: &[u8], found: &mut Found, message: &mut dyn FnMut(&[u8])) -> io::Result<usize>;
}

/// A socket with a buffer of what was read and not used.
#[derive(Debug)]
pub(crate) struct Link {
    socket: TcpStream,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
}

impl Link {
    /// Connects.
    ///
    /// # Errors
    /// When nobody listens.
    pub(crate) fn connect(address: SocketAddr) -> io::Result<Self> {
        let socket = TcpStream::connect(address)?;
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(READ_TIMEOUT))?;
        Ok(Self { socket, buffer: vec![0; 2 * READ_BYTES], start: 0, end: 0 })
    }

    /// A second handle of the same socket, for another thread to write.
    ///
    /// # Errors
    /// When the system has no handle left.
    pub(crate) fn writer(&self) -> io::Result<TcpStream> {
        self.socket.try_clone()
    }

    /// Writes all of `bytes`.
    ///
    /// # Errors
    /// When the broker has closed.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.socket.write_all(bytes)
    }

    /// What was read and not used.
    pub(crate) fn unread(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    /// Marks `count` bytes as used.
    pub(crate) fn used(&mut self, count: usize) {
        self.start += count;
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
    }

    /// Reads once; `false` when nothing came in time.
    ///
    /// # Errors
    /// When the broker has closed.
    pub(crate) fn fill(&mut self) -> io::Result<bool> {
        if self.buffer.len() - self.end < READ_BYTES {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
            if self.buffer.len() - self.end < READ_BYTES {
                self.buffer.resize(self.buffer.len() * 2, 0);
            }
        }
        let room = self.buffer.get_mut(self.end..).unwrap_or_default();
        match self.socket.read(room) {
            Ok(0) => Err(io::Error::new(ErrorKind::UnexpectedEof, "the broker closed the connection")),
            Ok(count) => {
                self.end += count;
                Ok(true)
            }
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted) =>
            {
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// Waits until `take` finds what it looks for in the unread bytes; it returns that and how many bytes it used.
    ///
    /// # Errors
    /// When the broker closes or does not answer.
    pub(crate) fn expect<T>(&mut self, take: impl Fn(&[u8]) -> Option<(T, usize)>) -> io::Result<T> {
        for _ in 0..HANDSHAKE_READS_MAX {
            if let Some((found, count)) = take(self.unread()) {
                self.used(count);
                return Ok(found);
            }
            self.fill()?;
        }
        let unread = self.unread().escape_ascii().to_string();
        Err(io::Error::other(format!("no answer that was expected, but `{unread}`")))
    }
}

//! One GET, answered whole. Follows nothing, keeps no connection.

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

/// How long an answer may pause.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The body of what `path` gives.
///
/// # Errors
/// When nobody answers, or anything but 200.
pub(crate) fn get(address: SocketAddr, path: &str) -> io::Result<String> {
    let mut socket = TcpStream::connect(address)?;
    socket.set_read_timeout(Some(TIMEOUT))?;
    socket.write_all(format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").as_bytes())?;
    let mut answer = String::new();
    socket.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
    if head.split_whitespace().nth(1) == Some("200") {
        return Ok(body.to_owned());
    }
    Err(io::Error::other(format!("GET {path}: {}", head.lines().next().unwrap_or("no answer"))))
}

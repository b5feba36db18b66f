//! The smallest HTTP client that can read what the broker shows.

use std::net::SocketAddr;

use crate::{Failure, raw::Raw};

/// An answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Status code.
    pub status: u16,
    /// Head, with the status line.
    pub head: String,
    /// Body.
    pub body: String,
}

/// Gets `path` from `address`.
///
/// # Errors
/// When there is no answer that is HTTP.
pub async fn get(address: SocketAddr, path: &str) -> Result<Answer, Failure> {
    let mut connection = Raw::connect(address).await?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    connection.send(request.as_bytes()).await?;
    let text = String::from_utf8(connection.read_to_close().await?)?;
    let (head, body) = text.split_once("\r\n\r\n").ok_or_else(|| Failure::new(format!("no HTTP: {text}")))?;
    let status = head.split(' ').nth(1).ok_or_else(|| Failure::new(format!("no status: {head}")))?.parse()?;
    Ok(Answer { status, head: head.to_owned(), body: body.to_owned() })
}

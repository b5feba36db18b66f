//! Lines of the NATS client protocol, as a client needs them.
//!
//! ```text
//! MSG subject sid [reply] #bytes CRLF body CRLF
//! HMSG subject sid [reply] #header-bytes #total-bytes CRLF headers CRLF CRLF body CRLF
//! ```

use bytes::{Buf, BufMut, Bytes, BytesMut};

use crate::client::{ClientError, Outgoing, Receipt, Received, limits};

pub(super) const PING: &[u8] = b"PING\r\n";
pub(super) const PONG: &[u8] = b"PONG\r\n";

const HEADER_VERSION: &str = "NATS/1.0";

/// Bytes of a control line. INFO is the longest: it can name many servers.
const LINE_BYTES_MAX: usize = 256 * 1024;

const NOT_NATS: ClientError = ClientError::Protocol("the server does not speak NATS");

/// A line from the server, with its body.
#[derive(Debug)]
pub(super) enum Line {
    Info(Bytes),
    Message(Received),
    Error(String),
    Ping,
    Pong,
    Ok,
}

/// Takes a line with its body out of `input`; `None`: it is not complete. A server that speaks something else may never
/// end its first line: `first` lets that be seen at once.
pub(super) fn take(input: &mut BytesMut, first: bool) -> Result<Option<Line>, ClientError> {
    let Some(line_bytes) = input.iter().position(|byte| *byte == b'\n') else {
        let begins_otherwise = first && input.iter().zip(b"INFO ").any(|(actual, expected)| actual != expected);
        return if begins_otherwise || input.len() > LINE_BYTES_MAX { Err(NOT_NATS) } else { Ok(None) };
    };
    let line = str::from_utf8(input.get(..line_bytes).unwrap_or_default()).map_err(|_| NOT_NATS)?.trim_end();
    let (operation, arguments) = line.split_once([' ', '\t']).unwrap_or((line, ""));
    let arguments = arguments.trim();
    let simple = match operation.to_ascii_uppercase().as_str() {
        "MSG" => return message(input, line_bytes + 1, false),
        "HMSG" => return message(input, line_bytes + 1, true),
        "INFO" => Line::Info(Bytes::copy_from_slice(arguments.as_bytes())),
        "-ERR" => Line::Error(arguments.trim_matches('\'').to_owned()),
        "PING" => Line::Ping,
        "PONG" => Line::Pong,
        "+OK" => Line::Ok,
        _ => return Err(NOT_NATS),
    };
    input.advance(line_bytes + 1);
    Ok(Some(simple))
}

/// PUB, or HPUB if there are headers. `payload_bytes_max`: what the server takes, 0 if it did not say.
pub(super) fn publish(message: &Outgoing, payload_bytes_max: usize) -> Result<BytesMut, ClientError> {
    check_name(&message.address)?;
    let mut headers = String::new();
    if !message.headers.is_empty() {
        headers.push_str(HEADER_VERSION);
        headers.push_str("\r\n");
        for (name, value) in &message.headers {
            if name.contains([':', '\r', '\n', ' ']) || value.contains(['\r', '\n']) {
                return Err(ClientError::Input(format!("NATS cannot carry the header {name:?}: {value:?}")));
            }
            headers.push_str(&format!("{name}: {value}\r\n"));
        }
        headers.push_str("\r\n");
    }
    let total_bytes = headers.len() + message.body.len();
    if payload_bytes_max > 0 && total_bytes > payload_bytes_max {
        let reason = format!("the server takes at most {payload_bytes_max} bytes, not {total_bytes}");
        return Err(ClientError::Input(reason));
    }
    let address = &message.address;
    let line = if headers.is_empty() {
        format!("PUB {address} {total_bytes}\r\n")
    } else {
        format!("HPUB {address} {} {total_bytes}\r\n", headers.len())
    };
    let mut out = BytesMut::with_capacity(line.len() + total_bytes + 2);
    out.put_slice(line.as_bytes());
    out.put_slice(headers.as_bytes());
    out.put_slice(&message.body);
    out.put_slice(b"\r\n");
    Ok(out)
}

/// A subject or queue must be one word: a space would make it two, a line end a second line.
pub(super) fn check_name(name: &str) -> Result<(), ClientError> {
    if name.is_empty() || name.contains(|letter: char| letter.is_ascii_whitespace() || letter == '\0') {
        return Err(ClientError::Input(format!("NATS takes no spaces here: {name:?}")));
    }
    Ok(())
}

/// Takes an (H)MSG whose line has `line_bytes` bytes.
fn message(input: &mut BytesMut, line_bytes: usize, with_headers: bool) -> Result<Option<Line>, ClientError> {
    let line = str::from_utf8(input.get(..line_bytes).unwrap_or_default()).map_err(|_| NOT_NATS)?;
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let number = |word: &&str| word.parse::<usize>().ok().filter(|bytes| *bytes <= limits::INPUT_BYTES_MAX);
    let (subject, header_bytes, total_bytes) = match (with_headers, words.as_slice()) {
        (false, [_, subject, _, total] | [_, subject, _, _, total]) => (subject, Some(0), number(total)),
        (true, [_, subject, _, header, total] | [_, subject, _, _, header, total]) => {
            (subject, number(header), number(total))
        }
        _ => return Err(NOT_NATS),
    };
    let (Some(header_bytes), Some(total_bytes)) = (header_bytes, total_bytes) else { return Err(NOT_NATS) };
    if header_bytes > total_bytes {
        return Err(NOT_NATS);
    }
    if input.len() < line_bytes + total_bytes + 2 {
        return Ok(None);
    }
    let address = (*subject).to_owned();
    input.advance(line_bytes);
    let mut body = input.split_to(total_bytes).freeze();
    input.advance(2);
    let headers = headers(&body.split_to(header_bytes));
    Ok(Some(Line::Message(Received { address, headers, body, redelivered: false, receipt: Receipt::None })))
}

/// Names and values; a status behind the version becomes the header `Status`.
fn headers(block: &[u8]) -> Vec<(String, serde_json::Value)> {
    let text = String::from_utf8_lossy(block);
    let mut lines = text.split("\r\n");
    let status = lines.next().and_then(|line| line.strip_prefix(HEADER_VERSION)).map(str::trim).unwrap_or_default();
    let status = (!status.is_empty()).then(|| ("Status".to_owned(), status.into()));
    let pairs = lines.filter_map(|line| line.split_once(':'));
    status.into_iter().chain(pairs.map(|(name, value)| (name.to_owned(), value.trim().into()))).collect()
}

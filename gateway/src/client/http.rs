//! One GET over HTTP. Version 1.0, so that the answer has no chunks and ends with the connection.

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::{ClientError, limits};

/// Status and body of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    /// 200: it is what was asked for.
    pub(crate) status: u16,
    /// The body.
    pub(crate) body: Bytes,
}

/// Asks `server` (`HOST:PORT`) for `path`, which is escaped already.
pub(crate) async fn get(server: &str, path: &str) -> Result<Answer, ClientError> {
    let stream = super::connect(server).await?;
    super::in_time("answer over HTTP", limits::ANSWER_TIMEOUT_MS, exchange(stream, server, path)).await
}

async fn exchange<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: S,
    server: &str,
    path: &str,
) -> Result<Answer, ClientError> {
    let request = format!("GET {path} HTTP/1.0\r\nHost: {server}\r\nAccept: application/json\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = BytesMut::new();
    let mut stream = stream.take(limits::HTTP_ANSWER_BYTES_MAX);
    while stream.read_buf(&mut answer).await? > 0 {}
    parse(answer.freeze()).ok_or(ClientError::Protocol("the server does not speak HTTP, or its answer was cut off"))
}

/// `None`: this is no whole answer.
fn parse(mut answer: Bytes) -> Option<Answer> {
    let head_bytes = answer.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = answer.split_to(head_bytes);
    let mut body = answer.split_off(4);
    let head = str::from_utf8(&head).ok()?;
    let mut lines = head.split("\r\n");
    let status = lines.next()?.strip_prefix("HTTP/1.")?.split(' ').nth(1)?.parse().ok()?;
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        if name.eq_ignore_ascii_case("content-length") {
            let body_bytes = value.trim().parse().ok()?;
            if body.len() < body_bytes {
                return None;
            }
            body.truncate(body_bytes);
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            return None;
        }
    }
    Some(Answer { status, body })
}

#[cfg(test)]
mod tests {
    use super::{
        super::scripted::{self, Step},
        *,
    };

    #[tokio::test]
    async fn an_answer_is_read_whole() {
        let (stream, script) = scripted::start(vec![
            Step::Expect(b"GET /v1/groups HTTP/1.0\r\nHost: h:1\r\nAccept: application/json\r\n\r\n".to_vec()),
            Step::SendSplit(b"HTTP/1.0 404 Not Found\r\nContent-Length: 3\r\n\r\n{}\n".to_vec()),
        ]);
        let answer = exchange(stream, "h:1", "/v1/groups").await.unwrap();
        script.await.unwrap();
        assert_eq!(answer, Answer { status: 404, body: Bytes::from_static(b"{}\n") });
    }

    #[test]
    fn what_is_no_whole_answer_is_none() {
        for wrong in ["", "INFO {}\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{}", "HTTP/1.1 x\r\n\r\n"] {
            assert_eq!(parse(Bytes::from(wrong)), None, "{wrong}");
        }
        assert_eq!(parse(Bytes::from("HTTP/1.1 200 OK\r\n\r\nrest")).unwrap().body, "rest");
    }
}

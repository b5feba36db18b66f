//! Tests of the printing of messages, with a subscription that is made up.

use bytes::Bytes;

use super::*;
use crate::client::ClientError;

/// Gives out bodies, then nothing; remembers what was settled.
struct FakeSubscription<'a> {
    bodies: Vec<&'static [u8]>,
    settled: &'a mut usize,
    left: Vec<Received>,
    /// Told when the bodies are given out.
    empty: Option<tokio::sync::oneshot::Sender<()>>,
}

fn received(body: &'static [u8]) -> Received {
    Received::for_test("a.b", vec![("k".to_owned(), "v".into())], Bytes::from_static(body))
}

impl Subscription for FakeSubscription<'_> {
    async fn next(&mut self) -> Result<Received, ClientError> {
        match self.bodies.pop() {
            Some(body) => Ok(received(body)),
            None => {
                self.empty.take().unwrap().send(()).unwrap();
                std::future::pending().await
            }
        }
    }

    async fn settle(&mut self, _: &Received) -> Result<(), ClientError> {
        *self.settled += 1;
        Ok(())
    }

    async fn finish(self) -> Result<Vec<Received>, ClientError> {
        Ok(self.left)
    }
}

#[tokio::test]
async fn messages_are_printed_and_settled_up_to_the_count() {
    let mut settled = 0;
    let bodies = vec![b"third".as_slice(), b"\xff\n", b"first\nline"];
    let subscription = FakeSubscription { bodies, settled: &mut settled, left: Vec::new(), empty: None };
    let mut output = Vec::new();
    let messages = SubscribeMessages { count: Some(2), json: false };
    print("amqp", subscription, &messages, std::future::pending(), &mut output).await.unwrap();
    assert_eq!(String::from_utf8(output).unwrap(), "a.b first\\nline\na.b \\xff\\n\n");
    assert_eq!(settled, 2);
}

#[tokio::test]
async fn a_stop_prints_what_would_be_lost() {
    let mut settled = 0;
    let (empty, stop) = tokio::sync::oneshot::channel();
    let left = vec![received(b"two")];
    let subscription = FakeSubscription { bodies: vec![b"one"], settled: &mut settled, left, empty: Some(empty) };
    let mut output = Vec::new();
    let messages = SubscribeMessages { count: None, json: true };
    print("nats", subscription, &messages, async { stop.await.unwrap() }, &mut output).await.unwrap();
    let lines: Vec<serde_json::Value> =
        String::from_utf8(output).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let expected = |body: &str| {
        serde_json::json!({
            "protocol": "nats", "address": "a.b", "headers": [["k", "v"]], "redelivered": false, "body": body,
        })
    };
    assert_eq!(lines, [expected("one"), expected("two")]);
    assert_eq!(settled, 1);
}

#[test]
fn bytes_that_are_no_text_are_hexadecimal_in_json() {
    let line: serde_json::Value = serde_json::from_str(&json_line("mqtt", &received(b"\x00\xff"))).unwrap();
    assert_eq!((&line["body_hex"], line.get("body")), (&serde_json::json!("00ff"), None));
}

#[test]
fn no_more_is_prefetched_than_printed() {
    let messages = |count| SubscribeMessages { count, json: false };
    assert_eq!(prefetch(&messages(Some(1))), 1);
    assert_eq!(prefetch(&messages(Some(1_000_000))), PREFETCH_MESSAGES);
    assert_eq!(prefetch(&messages(None)), PREFETCH_MESSAGES);
}

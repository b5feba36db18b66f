//! The AMQP client against scripted servers.

use super::{
    super::{
        Received, Subscription,
        scripted::{self, Step},
    },
    *,
};

/// A method frame as bytes.
fn frame_of(channel: u16, id: Method, arguments: &[u8]) -> Vec<u8> {
    let mut out = BytesMut::new();
    frame::method_frame(&mut out, channel, id, |out| {
        out.put_slice(arguments);
        Ok(())
    })
    .unwrap();
    out.to_vec()
}

/// Header and body frames as bytes.
fn content_of(flags_and_properties: &[u8], announced: u64, parts: &[&[u8]]) -> Vec<u8> {
    let mut header = b"\x00\x3c\x00\x00".to_vec();
    header.extend_from_slice(&announced.to_be_bytes());
    header.extend_from_slice(flags_and_properties);
    let mut out = raw(2, &header);
    for part in parts {
        out.extend(raw(3, part));
    }
    out
}

fn raw(kind: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = vec![kind, 0, 1];
    out.extend_from_slice(&u32::try_from(payload.len()).unwrap().to_be_bytes());
    out.extend_from_slice(payload);
    out.push(0xCE);
    out
}

fn start_ok() -> Vec<u8> {
    let version = env!("CARGO_PKG_VERSION");
    let mut properties = b"\x07productS\x00\x00\x00\x07braidmq\x07versionS\x00\x00\x00".to_vec();
    properties.push(u8::try_from(version.len()).unwrap());
    properties.extend_from_slice(version.as_bytes());
    properties.extend_from_slice(
        b"\x0ccapabilitiesF\x00\x00\x00\x5a\x1cauthentication_failure_closet\x01\x0abasic.nackt\x01\
          \x16consumer_cancel_notifyt\x01\x12publisher_confirmst\x01",
    );
    let mut arguments = u32::try_from(properties.len()).unwrap().to_be_bytes().to_vec();
    arguments.extend(properties);
    arguments.extend_from_slice(b"\x05PLAIN\x00\x00\x00\x04\x00u\x00p\x05en_US");
    frame_of(0, method::CONNECTION_START_OK, &arguments)
}

/// The handshake with frames of 64 bytes, heartbeat 60 s, vhost `/`, user u, password p.
fn handshake() -> Vec<Step> {
    let start = b"\x00\x09\x00\x00\x00\x00\x00\x00\x00\x0ePLAIN AMQPLAIN\x00\x00\x00\x05en_US";
    vec![
        Step::Expect(b"AMQP\x00\x00\x09\x01".to_vec()),
        Step::SendSplit(frame_of(0, method::CONNECTION_START, start)),
        Step::Expect(start_ok()),
        Step::Send(frame_of(0, method::CONNECTION_TUNE, b"\x07\xff\x00\x00\x00\x40\x00\x3c")),
        Step::Expect(frame_of(0, method::CONNECTION_TUNE_OK, b"\x07\xff\x00\x00\x00\x40\x00\x3c")),
        Step::Expect(frame_of(0, method::CONNECTION_OPEN, b"\x01/\x00\x00")),
        Step::Send(frame_of(0, method::CONNECTION_OPEN_OK, b"\x00")),
        Step::Expect(frame_of(1, method::CHANNEL_OPEN, b"\x00")),
        Step::Send(frame_of(1, method::CHANNEL_OPEN_OK, b"\x00\x00\x00\x00")),
    ]
}

fn goodbye() -> Vec<Step> {
    vec![
        Step::Expect(frame_of(0, method::CONNECTION_CLOSE, b"\x00\xc8\x04done\x00\x00\x00\x00")),
        Step::Send(frame_of(0, method::CONNECTION_CLOSE_OK, b"")),
        Step::ExpectEnd,
    ]
}

fn login() -> Login {
    Login { user: Some("u".to_owned()), password: Some("p".to_owned()) }
}

fn message() -> Outgoing {
    let headers = vec![("k".to_owned(), "v".to_owned())];
    Outgoing { address: "a.b".to_owned(), headers, body: Bytes::from(vec![b'x'; 60]) }
}

/// [`message`] as it must be sent with frames of 64 bytes.
fn message_bytes() -> Vec<u8> {
    let mut bytes = frame_of(1, method::BASIC_PUBLISH, b"\x00\x00\x09amq.topic\x03a.b\x01");
    let properties = b"\x30\x00\x00\x00\x00\x08\x01kS\x00\x00\x00\x01v\x02";
    bytes.extend(content_of(properties, 60, &[&[b'x'; 56], &[b'x'; 4]]));
    bytes
}

#[tokio::test]
async fn messages_are_published_and_confirmed() {
    let mut script = handshake();
    script.push(Step::Expect(frame_of(1, method::CONFIRM_SELECT, b"\x00")));
    script.push(Step::Send(frame_of(1, method::CONFIRM_SELECT_OK, b"")));
    script.extend((0..3).map(|_| Step::Expect(message_bytes())));
    // The second matches nothing and comes back; then it is confirmed alone, before the others are together.
    let mut returned = frame_of(1, method::BASIC_RETURN, b"\x01\x38\x08NO_ROUTE\x09amq.topic\x03a.b");
    returned.extend(content_of(b"\x00\x00", 2, &[b"xx"]));
    script.push(Step::SendSplit(returned));
    script.push(Step::Send(frame_of(1, method::BASIC_ACK, b"\x00\x00\x00\x00\x00\x00\x00\x02\x00")));
    script.push(Step::Send(raw(8, b"")));
    script.push(Step::Send(frame_of(1, method::BASIC_ACK, b"\x00\x00\x00\x00\x00\x00\x00\x03\x01")));
    script.extend(goodbye());
    let (stream, script) = scripted::start(script);
    let mut client = AmqpClient::connect(stream, &login(), "/").await.unwrap();
    let published = client.publish("amq.topic", &message(), 3).await.unwrap();
    assert_eq!(published, Published { taken: 3, unmatched: 1 });
    client.close().await.unwrap();
    script.await.unwrap();
}

#[tokio::test]
async fn a_nack_is_an_error() {
    let mut script = handshake();
    script.push(Step::Expect(frame_of(1, method::CONFIRM_SELECT, b"\x00")));
    script.push(Step::Send(frame_of(1, method::CONFIRM_SELECT_OK, b"")));
    script.push(Step::Expect(message_bytes()));
    script.push(Step::Send(frame_of(1, method::BASIC_NACK, b"\x00\x00\x00\x00\x00\x00\x00\x01\x00")));
    let (stream, script) = scripted::start(script);
    let mut client = AmqpClient::connect(stream, &login(), "/").await.unwrap();
    let error = client.publish("amq.topic", &message(), 1).await.unwrap_err();
    assert_eq!(error.to_string(), "the server refused: 1 of 1 messages were not taken (basic.nack)");
    script.await.unwrap();
}

#[tokio::test]
async fn a_missing_queue_is_declared_bound_and_consumed() {
    let mut script = handshake();
    script.extend([
        Step::Expect(frame_of(1, method::QUEUE_DECLARE, b"\x00\x00\x04jobs\x01\x00\x00\x00\x00")),
        Step::Send(frame_of(1, method::CHANNEL_CLOSE, b"\x01\x94\x09NOT_FOUND\x00\x32\x00\x0a")),
        Step::Expect(frame_of(1, method::CHANNEL_CLOSE_OK, b"")),
        Step::Expect(frame_of(1, method::CHANNEL_OPEN, b"\x00")),
        Step::Send(frame_of(1, method::CHANNEL_OPEN_OK, b"\x00\x00\x00\x00")),
        Step::Expect(frame_of(1, method::QUEUE_DECLARE, b"\x00\x00\x04jobs\x02\x00\x00\x00\x00")),
        Step::Send(frame_of(1, method::QUEUE_DECLARE_OK, b"\x04jobs\x00\x00\x00\x00\x00\x00\x00\x00")),
        Step::Expect(frame_of(1, method::QUEUE_BIND, b"\x00\x00\x04jobs\x09amq.topic\x03a.#\x00\x00\x00\x00\x00")),
        Step::Send(frame_of(1, method::QUEUE_BIND_OK, b"")),
        Step::Expect(frame_of(1, method::BASIC_QOS, b"\x00\x00\x00\x00\x00\x05\x00")),
        Step::Send(frame_of(1, method::BASIC_QOS_OK, b"")),
        Step::Expect(frame_of(1, method::BASIC_CONSUME, b"\x00\x00\x04jobs\x07braidmq\x00\x00\x00\x00\x00")),
        Step::Send(frame_of(1, method::BASIC_CONSUME_OK, b"\x07braidmq")),
    ]);
    let deliver = b"\x07braidmq\x00\x00\x00\x00\x00\x00\x00\x01\x01\x09amq.topic\x03a.b";
    let mut delivery = frame_of(1, method::BASIC_DELIVER, deliver);
    // Content type, headers with one number, delivery mode.
    delivery.extend(content_of(b"\xb0\x00\x04text\x00\x00\x00\x04\x01nB\x07\x02", 5, &[b"hel", b"lo"]));
    script.push(Step::SendSplit(delivery));
    script.push(Step::Expect(frame_of(1, method::BASIC_ACK, b"\x00\x00\x00\x00\x00\x00\x00\x01\x00")));
    let mut ahead = frame_of(1, method::BASIC_DELIVER, b"\x07braidmq\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x03a.b");
    ahead.extend(content_of(b"\x00\x00", 0, &[]));
    script.extend([
        Step::Expect(frame_of(1, method::BASIC_CANCEL, b"\x07braidmq\x00")),
        Step::Send(ahead),
        Step::Send(frame_of(1, method::BASIC_CANCEL_OK, b"\x07braidmq")),
        Step::Expect(frame_of(1, method::BASIC_NACK, b"\x00\x00\x00\x00\x00\x00\x00\x00\x03")),
    ]);
    script.extend(goodbye());
    let (stream, script) = scripted::start(script);
    let mut client = AmqpClient::connect(stream, &login(), "/").await.unwrap();
    let consume = Consume { queue: "jobs", binding: Some(("amq.topic", "a.#")), prefetch: 5 };
    client.consume(consume).await.unwrap();
    let received = client.next().await.unwrap();
    let expected = Received {
        address: "a.b".to_owned(),
        headers: vec![("n".to_owned(), serde_json::json!(7))],
        body: Bytes::from_static(b"hello"),
        redelivered: true,
        receipt: Receipt::Tag(1),
    };
    assert_eq!(received, expected);
    client.settle(&received).await.unwrap();
    assert_eq!(client.finish().await.unwrap(), []);
    script.await.unwrap();
}

#[tokio::test]
async fn a_refused_login_is_told_with_its_reason() {
    let mut script = handshake();
    script.truncate(3);
    let close = frame_of(0, method::CONNECTION_CLOSE, b"\x01\x93\x0eACCESS_REFUSED\x00\x00\x00\x00");
    script.push(Step::Send(close));
    script.push(Step::Expect(frame_of(0, method::CONNECTION_CLOSE_OK, b"")));
    let (stream, script) = scripted::start(script);
    let error = AmqpClient::connect(stream, &login(), "/").await.unwrap_err();
    assert_eq!(error.to_string(), "the server refused: 403 ACCESS_REFUSED");
    script.await.unwrap();
}

#[tokio::test]
async fn servers_of_another_kind_are_errors() {
    for (greeting, expected) in [
        (b"INFO {\"server_id\":1}\r\n".as_slice(), "the server does not speak AMQP"),
        (b"AMQP\x00\x01\x00\x00", "the server speaks another version of AMQP than 0-9-1"),
        (b"\x01\x00\x00\xff\xff\xff\xff\x00", "the server does not speak AMQP"),
        (b"\x01\x00\x00\x00\x00\x00\x01\x00\x00", "the server sent a frame without its end"),
        (b"\x01\x00\x00\x00\x00\x00\x01\x00\xce", "the server sent a frame that ends too early"),
        (b"", "connection lost: the server closed it"),
    ] {
        let (stream, script) =
            scripted::start(vec![Step::Expect(b"AMQP\x00\x00\x09\x01".to_vec()), Step::Send(greeting.to_vec())]);
        let error = AmqpClient::connect(stream, &login(), "/").await.unwrap_err();
        assert_eq!(error.to_string(), expected);
        script.await.unwrap();
    }
}

#[tokio::test]
async fn too_much_body_and_a_cancelled_consumer_are_errors() {
    let mut too_much = frame_of(1, method::BASIC_DELIVER, b"\x01t\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x01k");
    too_much.extend(content_of(b"\x00\x00", 1, &[b"ab"]));
    let cancelled = frame_of(1, method::BASIC_CANCEL, b"\x07braidmq\x01");
    for (bytes, expected) in [
        (too_much, "the server sent more of a body than it announced"),
        (cancelled, "the server refused: the queue is gone (basic.cancel)"),
    ] {
        let mut script = handshake();
        script.push(Step::Send(bytes));
        let (stream, script) = scripted::start(script);
        let mut client = AmqpClient::connect(stream, &login(), "/").await.unwrap();
        assert_eq!(client.next().await.unwrap_err().to_string(), expected);
        script.await.unwrap();
    }
}

#[tokio::test]
async fn heartbeats_are_sent_and_a_dead_server_is_noticed() {
    let mut script = handshake();
    script.extend((0..3).map(|_| Step::Expect(frame::HEARTBEAT.to_vec())));
    let (stream, script) = scripted::start(script);
    let mut client = AmqpClient::connect(stream, &login(), "/").await.unwrap();
    client.heartbeat = Duration::from_millis(10);
    // The scripted server ends after three heartbeats; before that its silence is tolerated.
    let error = client.next().await.unwrap_err().to_string();
    assert!(error.starts_with("connection lost: "), "{error}");
    script.await.unwrap();
}

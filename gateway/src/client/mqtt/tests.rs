//! The MQTT client against scripted servers.

use super::{
    super::{
        Receipt, Subscription,
        scripted::{self, Step},
    },
    *,
};

/// Anonymous, keepalive 60 s, Receive Maximum 7; the server takes two messages at once.
fn handshake() -> Vec<Step> {
    vec![
        Step::Expect(b"\x10\x10\0\x04MQTT\x05\x02\0\x3c\x03\x21\0\x07\0\0".to_vec()),
        Step::SendSplit(b"\x20\x0a\0\0\x07\x21\0\x02\x12\0\x01i".to_vec()),
    ]
}

fn goodbye() -> Vec<Step> {
    vec![Step::Expect(b"\xe0\0".to_vec()), Step::ExpectEnd]
}

async fn connected(mut steps: Vec<Step>) -> (MqttClient<tokio::io::DuplexStream>, tokio::task::JoinHandle<()>) {
    let mut script = handshake();
    script.append(&mut steps);
    let (stream, script) = scripted::start(script);
    (MqttClient::connect(stream, &Login::default(), 7).await.unwrap(), script)
}

fn message() -> Outgoing {
    let headers = vec![("k".to_owned(), "v".to_owned()), ("k".to_owned(), "w".to_owned())];
    Outgoing { address: "a/b".to_owned(), headers, body: Bytes::from_static(b"hello") }
}

/// [`message`] with `QoS` 1 or 2.
fn publish_of(first: u8, id: u8) -> Vec<u8> {
    let mut bytes = vec![first, 27, 0, 3];
    bytes.extend_from_slice(b"a/b\0");
    bytes.push(id);
    bytes.extend_from_slice(b"\x0e\x26\0\x01k\0\x01v\x26\0\x01k\0\x01whello");
    bytes
}

#[tokio::test]
async fn qos_1_is_published_within_the_servers_window() {
    let mut script = vec![
        Step::Expect(publish_of(0x32, 1)),
        Step::Expect(publish_of(0x32, 2)),
        // Out of order, and with a reason: nobody subscribes.
        Step::Send(b"\x40\x03\0\x02\x10".to_vec()),
        Step::Expect(publish_of(0x32, 3)),
        Step::SendSplit(b"\x40\x02\0\x01\x40\x04\0\x03\0\0".to_vec()),
    ];
    script.extend(goodbye());
    let (mut client, script) = connected(script).await;
    assert_eq!(client.publish(&message(), 1, false, 3).await.unwrap(), Published { taken: 3, unmatched: 1 });
    client.close().await.unwrap();
    script.await.unwrap();
}

#[tokio::test]
async fn qos_2_takes_both_steps() {
    let mut script = vec![
        Step::Expect(publish_of(0x35, 1)),
        Step::Send(b"\x50\x02\0\x01".to_vec()),
        Step::Expect(b"\x62\x02\0\x01".to_vec()),
        Step::Send(b"\x70\x02\0\x01".to_vec()),
    ];
    script.extend(goodbye());
    let (mut client, script) = connected(script).await;
    assert_eq!(client.publish(&message(), 2, true, 1).await.unwrap(), Published { taken: 1, unmatched: 0 });
    client.close().await.unwrap();
    script.await.unwrap();
}

#[tokio::test]
async fn qos_0_is_followed_by_a_ping() {
    let script =
        vec![Step::Expect(b"\x30\x06\0\x01t\0ab\x30\x06\0\x01t\0ab\xc0\0".to_vec()), Step::Send(b"\xd0\0".to_vec())];
    let (mut client, script) = connected(script).await;
    let message = Outgoing { address: "t".to_owned(), headers: Vec::new(), body: Bytes::from_static(b"ab") };
    assert_eq!(client.publish(&message, 0, false, 2).await.unwrap(), Published { taken: 2, unmatched: 0 });
    script.await.unwrap();
}

#[tokio::test]
async fn a_refused_message_is_an_error_with_the_servers_words() {
    let script = vec![Step::Expect(publish_of(0x32, 1)), Step::Send(b"\x40\x09\0\x01\x97\x05\x1f\0\x02no".to_vec())];
    let (mut client, script) = connected(script).await;
    let error = client.publish(&message(), 1, false, 1).await.unwrap_err();
    assert_eq!(error.to_string(), "the server refused: 0x97 no");
    script.await.unwrap();
}

#[tokio::test]
async fn messages_of_every_qos_are_received_and_settled() {
    let mut script = vec![
        Step::Expect(b"\x82\x10\0\x01\0\0\x0a$share/g/#\x02".to_vec()),
        // The first message comes before SUBACK.
        Step::SendSplit(b"\x30\x05\0\x01t\0a".to_vec()),
        Step::Send(b"\x90\x04\0\x01\0\x02".to_vec()),
        Step::Send(b"\x3a\x10\0\x01t\0\x09\x09\x26\0\x01k\0\x03valb".to_vec()),
        Step::Expect(b"\x40\x02\0\x09".to_vec()),
        Step::Send(b"\x34\x07\0\x01t\0\x0a\0c".to_vec()),
        Step::Expect(b"\x50\x02\0\x0a".to_vec()),
        // Sent again by mistake before the release: not delivered again.
        Step::Send(b"\x3c\x07\0\x01t\0\x0a\0c\x62\x02\0\x0a".to_vec()),
        Step::Expect(b"\x70\x02\0\x0a".to_vec()),
        Step::Send(b"\x34\x07\0\x01t\0\x0b\0d".to_vec()),
        Step::Expect(b"\x50\x02\0\x0b".to_vec()),
        Step::Send(b"\x62\x02\0\x0b".to_vec()),
        Step::Expect(b"\x70\x02\0\x0b".to_vec()),
    ];
    script.extend(goodbye());
    let (mut client, script) = connected(script).await;
    client.subscribe("$share/g/#", 2).await.unwrap();
    let mut bodies = Vec::new();
    for _ in 0..4 {
        let received = client.next().await.unwrap();
        assert_eq!(received.address, "t");
        assert_eq!(received.redelivered, received.receipt == Receipt::Packet(9));
        assert_eq!(received.headers.is_empty(), received.receipt != Receipt::Packet(9));
        client.settle(&received).await.unwrap();
        bodies.push(received.body);
    }
    assert_eq!(bodies, ["a", "b", "c", "d"]);
    assert_eq!(client.finish().await.unwrap(), []);
    script.await.unwrap();
}

#[tokio::test]
async fn refusals_of_the_server_are_errors() {
    let login = Login { user: Some("u".to_owned()), password: Some("p".to_owned()) };
    let connect = b"\x10\x16\0\x04MQTT\x05\xc2\0\x3c\x03\x21\0\x07\0\0\0\x01u\0\x01p";
    for (answer, expected) in [
        (b"\x20\x03\0\x86\0".as_slice(), "the server refused: 0x86 bad user name or password"),
        (b"\x20\x02\0\x84", "the server refused: 0x84 unsupported protocol version"),
        (b"\xe0\x01\x8b", "the server refused: 0x8B server shutting down"),
        (b"AMQP\0\0\x09\x01", "the server does not speak MQTT 5"),
        (b"\x20\xff\xff\xff\xff\x01", "the server does not speak MQTT"),
        (b"\x20\x01\0", "the server sent a packet that ends too early"),
        (b"", "connection lost: the server closed it"),
    ] {
        let (stream, script) = scripted::start(vec![Step::Expect(connect.to_vec()), Step::Send(answer.to_vec())]);
        let result = MqttClient::connect(stream, &login, 7).await;
        script.await.unwrap();
        assert_eq!(result.unwrap_err().to_string(), expected);
    }
    let refused =
        vec![Step::Expect(b"\x82\x07\0\x01\0\0\x01#\x01".to_vec()), Step::Send(b"\x90\x04\0\x01\0\x87".to_vec())];
    let (mut client, script) = connected(refused).await;
    assert_eq!(client.subscribe("#", 1).await.unwrap_err().to_string(), "the server refused: 0x87 not authorized");
    script.await.unwrap();
}

#[tokio::test]
async fn pings_are_sent_while_nothing_comes() {
    let mut script =
        vec![Step::Expect(b"\xc0\0".to_vec()), Step::Send(b"\xd0\0".to_vec()), Step::Expect(b"\xc0\0".to_vec())];
    script.push(Step::Send(b"\x30\x05\0\x01t\0a".to_vec()));
    let (mut client, script) = connected(script).await;
    client.ping_interval = Duration::from_millis(10);
    assert_eq!(client.next().await.unwrap().body, "a");
    script.await.unwrap();
}

//! Garbage and half packets on each port: that connection is closed, the broker lives, and nobody else notices.

use std::net::SocketAddr;

use braid_conformance::{
    Broker, Failure, Outcome, Port, amqp, http,
    mqtt::{Client, Options, Version},
    nats,
    raw::{AMQP_HEADER, MQTT_CONNECT, NATS_CONNECT, Raw},
    unique,
};

/// One healthy client of each protocol that works all the while.
struct Healthy {
    _connection: lapin::Connection,
    channel: lapin::Channel,
    consumer: lapin::Consumer,
    queue: String,
    mqtt: Client,
    nats: async_nats::Client,
    rounds: u32,
}

impl Healthy {
    async fn new(broker: &Broker) -> Result<Self, Failure> {
        let connection = amqp::connect(broker.address(Port::Amqp)?).await?;
        let channel = amqp::confirming_channel(&connection).await?;
        let queue = unique("healthy");
        amqp::declare(&channel, &queue).await?;
        let consumer = amqp::consume(&channel, &queue).await?;
        let mut mqtt = Client::connect(broker.address(Port::Mqtt)?, &Options::new(Version::V5)).await?;
        mqtt.subscribe(&queue, 1).await?;
        let nats = nats::connect(broker.address(Port::Nats)?).await?;
        Ok(Self { _connection: connection, channel, consumer, queue, mqtt, nats, rounds: 0 })
    }

    /// Each of the three sends a message to itself over the connection that it has had from the start.
    async fn works(&mut self, after: &str) -> Outcome {
        self.rounds += 1;
        let body = self.rounds.to_string();
        let hurt = |failure: Failure| Failure::new(format!("after {after}: {failure}"));
        amqp::publish(&self.channel, "", &self.queue, body.as_bytes()).await.map_err(hurt)?;
        assert_eq!(amqp::next(&mut self.consumer).await.map_err(hurt)?.data, body.as_bytes());
        self.mqtt.publish(&self.queue, 1, body.as_bytes()).await.map_err(hurt)?;
        assert_eq!(self.mqtt.next().await.map_err(hurt)?.payload, body.as_bytes());
        nats::barrier(&self.nats).await.map_err(hurt)
    }
}

/// What is sent, and with which name it appears in a failure.
type Case = (&'static str, Vec<u8>);

fn joined(name: &'static str, parts: &[&[u8]]) -> Case {
    (name, parts.concat())
}

/// Opens channel 1.
const CHANNEL_OPEN: &[u8] = b"\x01\x00\x01\x00\x00\x00\x05\x00\x14\x00\x0a\x00\xce";

/// What an AMQP client says before it is in: header; start-ok (PLAIN, guest), tune-ok; open of `/`.
const AMQP_LOGIN: [&[u8]; 3] = [
    AMQP_HEADER,
    b"\x01\x00\x00\x00\x00\x00\x24\x00\x0a\x00\x0b\x00\x00\x00\x00\x05PLAIN\x00\x00\x00\x0c\x00guest\x00guest\x05en_US\xce",
    b"\x01\x00\x00\x00\x00\x00\x0c\x00\x0a\x00\x1f\x07\xff\x00\x02\x00\x00\x00\x3c\xce\x01\x00\x00\x00\x00\x00\x08\x00\x0a\x00\x28\x01/\x00\x00\xce",
];

/// Payload of the next frame.
async fn next_frame(raw: &mut Raw) -> Result<Vec<u8>, Failure> {
    let head = raw.read_exactly(7).await?;
    let size = usize::try_from(u32::from_be_bytes([head[3], head[4], head[5], head[6]]))?;
    let mut payload = raw.read_exactly(size + 1).await?;
    assert_eq!(payload.pop(), Some(0xce), "the frame does not end");
    Ok(payload)
}

/// Connects to AMQP and gets as far as open-ok.
async fn amqp_login(address: SocketAddr) -> Result<Raw, Failure> {
    let mut raw = Raw::connect(address).await?;
    for (step, answer) in AMQP_LOGIN.into_iter().zip([b"\x00\x0a\x00\x0a", b"\x00\x0a\x00\x1e", b"\x00\x0a\x00\x29"]) {
        raw.send(step).await?;
        assert_eq!(next_frame(&mut raw).await?.get(..4), Some(answer.as_slice()));
    }
    Ok(raw)
}

/// What is sent instead of a login: closed, at most after the header that we speak.
fn amqp_greetings() -> Vec<Case> {
    vec![
        ("another protocol", b"GET / HTTP/1.1\r\n\r\n".to_vec()),
        ("another version", b"AMQP\x00\x01\x00\x00".to_vec()),
        ("zeros", vec![0; 64]),
        joined("a start-ok that is cut", &[AMQP_HEADER, b"\x01\x00\x00\x00\x00\x00\x04\x00\x0a\x00\x0b\xce"]),
        joined("a frame of 4 GiB", &[AMQP_HEADER, b"\x01\x00\x00\xff\xff\xff\xff"]),
    ]
}

/// What is sent after the login, and the reply codes of `connection.close` that may answer it.
fn amqp_cases() -> Vec<(Case, &'static [u16])> {
    let open = CHANNEL_OPEN;
    vec![
        (joined("a frame of an unknown type", &[b"\x09\x00\x00\x00\x00\x00\x00\xce"]), &[501, 505]),
        (joined("a frame that does not end", &[b"\x01\x00\x00\x00\x00\x00\x05\x00\x14\x00\x0a\x00\x00"]), &[501]),
        (joined("a frame of 4 GiB", &[b"\x01\x00\x00\xff\xff\xff\xff"]), &[501]),
        (joined("an empty method frame", &[open, b"\x01\x00\x01\x00\x00\x00\x00\xce"]), &[501, 502, 503, 505]),
        (joined("an unknown method", &[open, b"\x01\x00\x01\x00\x00\x00\x04\x00\xff\x00\xff\xce"]), &[501, 503, 540]),
        (joined("a channel opened twice", &[open, open]), &[503, 504]),
        (
            joined("a method on no channel", &[b"\x01\x00\x07\x00\x00\x00\x05\x00\x32\x00\x0a\x00\xce"]),
            &[501, 502, 503, 504],
        ),
        (joined("a body without a header", &[open, b"\x03\x00\x01\x00\x00\x00\x01x\xce"]), &[505]),
        (
            joined(
                "a table longer than its frame",
                &[open, b"\x01\x00\x01\x00\x00\x00\x0d\x00\x32\x00\x0a\x00\x00\x01q\x00\x7f\xff\xff\xff\xce"],
            ),
            &[501, 502],
        ),
    ]
}

fn mqtt_cases() -> Vec<Case> {
    let connect = |packet: &'static [u8]| [MQTT_CONNECT, packet].concat();
    vec![
        ("another protocol", b"GET / HTTP/1.1\r\n\r\n".to_vec()),
        ("no CONNECT first", b"\xc0\x00".to_vec()),
        ("a length of five bytes", b"\x10\xff\xff\xff\xff\x7f".to_vec()),
        ("an unknown protocol name", b"\x10\x0f\x00\x04XXXX\x04\x02\x00\x3c\x00\x03raw".to_vec()),
        ("the reserved flag of CONNECT", b"\x10\x0f\x00\x04MQTT\x04\x03\x00\x3c\x00\x03raw".to_vec()),
        ("a string beyond its packet", b"\x10\x0f\x00\x04MQTT\x04\x02\x00\x3c\xff\xffraw".to_vec()),
        ("CONNECT twice", connect(MQTT_CONNECT)),
        ("an unknown packet", connect(b"\x00\x00")),
        ("QoS 3", connect(b"\x36\x06\x00\x01a\x00\x01x")),
        ("packet id 0", connect(b"\x32\x06\x00\x01a\x00\x00x")),
        ("a wildcard in PUBLISH", connect(b"\x30\x04\x00\x01#x")),
        ("an empty SUBSCRIBE", connect(b"\x82\x02\x00\x01")),
        ("wrong flags of SUBSCRIBE", connect(b"\x80\x06\x00\x01\x00\x01a\x00")),
        ("bad UTF-8 in a topic", connect(b"\x30\x05\x00\x02\xff\xfex")),
        (
            "a property twice",
            b"\x10\x1a\x00\x04MQTT\x05\x02\x00\x3c\x0a\x11\x00\x00\x00\x01\x11\x00\x00\x00\x01\x00\x03raw".to_vec(),
        ),
    ]
}

fn nats_cases() -> Vec<Case> {
    vec![
        ("binary", (0..=255).collect()),
        joined("an unknown word", &[NATS_CONNECT, b"NONSENSE\r\n"]),
        joined("a length that is no number", &[NATS_CONNECT, b"PUB a x\r\n"]),
        joined("a length beyond any", &[NATS_CONNECT, b"PUB a 99999999999999999999\r\n"]),
        joined("a body longer than its length", &[NATS_CONNECT, b"PUB a 1\r\nxyz\r\n"]),
        joined("headers longer than the whole", &[NATS_CONNECT, b"HPUB a 9 3\r\nxyz\r\n"]),
        joined("a control line without an end", &[NATS_CONNECT, &[b'A'; 100_000]]),
        ("CONNECT without JSON", b"CONNECT {\"a\":\r\n".to_vec()),
    ]
}

/// Sends each case on a connection of its own; each is closed, and the healthy ones work on.
async fn refuse(broker: &Broker, healthy: &mut Healthy, port: Port, cases: Vec<Case>) -> Outcome {
    let address = broker.address(port)?;
    for (name, bytes) in cases {
        let mut bad = Raw::connect(address).await?;
        bad.offer(&bytes).await;
        let closed = bad.read_to_close().await;
        assert!(closed.is_ok(), "{}: {name} was not refused: {closed:?}", port.name());
        healthy.works(name).await?;
    }
    Ok(())
}

/// Sends the first `length` bytes of a good conversation for each length, and hangs up.
async fn cut_short(address: SocketAddr, conversation: &[u8]) -> Outcome {
    for length in 0..conversation.len() {
        let mut half = Raw::connect(address).await?;
        half.offer(&conversation[..length]).await;
    }
    Ok(())
}

#[tokio::test]
async fn bad_amqp_hurts_only_its_own_connection() -> Outcome {
    let broker = Broker::start().await?;
    let mut healthy = Healthy::new(&broker).await?;
    refuse(&broker, &mut healthy, Port::Amqp, amqp_greetings()).await?;
    for ((name, bytes), codes) in amqp_cases() {
        let mut bad = amqp_login(broker.address(Port::Amqp)?).await?;
        bad.offer(&bytes).await;
        let code = loop {
            let frame = next_frame(&mut bad).await.map_err(|failure| Failure::new(format!("{name}: {failure}")))?;
            if let [0, 10, 0, 50, high, low, ..] = frame[..] {
                break u16::from_be_bytes([high, low]);
            }
        };
        assert!(codes.contains(&code), "{name}: closed with {code}, not {codes:?}");
        healthy.works(name).await?;
    }
    Ok(())
}

#[tokio::test]
async fn bad_mqtt_hurts_only_its_own_connection() -> Outcome {
    let broker = Broker::start().await?;
    let mut healthy = Healthy::new(&broker).await?;
    refuse(&broker, &mut healthy, Port::Mqtt, mqtt_cases()).await
}

#[tokio::test]
async fn bad_nats_hurts_only_its_own_connection() -> Outcome {
    let broker = Broker::start().await?;
    let mut healthy = Healthy::new(&broker).await?;
    refuse(&broker, &mut healthy, Port::Nats, nats_cases()).await
}

#[tokio::test]
async fn bytes_of_no_protocol_are_closed_on_the_one_port() -> Outcome {
    let broker = Broker::start().await?;
    let mut healthy = Healthy::new(&broker).await?;
    let cases = vec![
        ("noise", (128..=255).collect()),
        ("a TLS greeting", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc".to_vec()),
        ("half of AMQP", b"AMQX\x00\x00\x09\x01".to_vec()),
    ];
    refuse(&broker, &mut healthy, Port::Any, cases).await
}

#[tokio::test]
async fn a_good_conversation_cut_at_any_byte_hurts_nobody() -> Outcome {
    let broker = Broker::start().await?;
    let mut healthy = Healthy::new(&broker).await?;
    let subscribe = b"\x82\x06\x00\x01\x00\x01a\x01\x32\x06\x00\x01a\x00\x02x";
    for (port, conversation) in [
        (Port::Amqp, AMQP_LOGIN.concat()),
        (Port::Mqtt, [MQTT_CONNECT, subscribe].concat()),
        (Port::Nats, [NATS_CONNECT, b"SUB a 1\r\nPUB a 2\r\nhi\r\n"].concat()),
        (Port::Http, b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n".to_vec()),
        (Port::Any, AMQP_LOGIN.concat()),
    ] {
        cut_short(broker.address(port)?, &conversation).await?;
        healthy.works(port.name()).await?;
    }
    assert_eq!(http::get(broker.address(Port::Http)?, "/healthz").await?.status, 200);
    Ok(())
}

//! The NATS client against scripted servers.

use bytes::Bytes;

use super::{
    super::scripted::{self, Step},
    *,
};

fn connect_with(login: &str) -> Vec<u8> {
    let version = env!("CARGO_PKG_VERSION");
    format!(
        "CONNECT {{\"headers\":true,\"lang\":\"rust\",\"name\":\"braidmq\",\"no_responders\":true,{login}\"pedantic\":false,\
         \"protocol\":1,\"tls_required\":false,\"verbose\":false,\"version\":\"{version}\"}}\r\nPING\r\n"
    )
    .into_bytes()
}

fn handshake() -> Vec<Step> {
    vec![
        Step::SendSplit(b"INFO {\"server_id\":\"x\",\"max_payload\":64,\"headers\":true} \r\n".to_vec()),
        Step::Expect(connect_with("")),
        Step::Send(b"PONG\r\n".to_vec()),
    ]
}

async fn connected(mut steps: Vec<Step>) -> (NatsClient<tokio::io::DuplexStream>, tokio::task::JoinHandle<()>) {
    let mut script = handshake();
    script.append(&mut steps);
    let (stream, script) = scripted::start(script);
    (NatsClient::connect(stream, &Login::default()).await.unwrap(), script)
}

#[tokio::test]
async fn messages_are_published_and_flushed() {
    let (mut client, script) = connected(vec![
        Step::Expect(b"PUB a.b 2\r\nhi\r\nPUB a.b 2\r\nhi\r\nPING\r\n".to_vec()),
        Step::Send(b"PING\r\n".to_vec()),
        Step::Expect(b"PONG\r\n".to_vec()),
        Step::Send(b"PONG\r\n".to_vec()),
        Step::Expect(b"HPUB a.b 24 24\r\nNATS/1.0\r\nk: v\r\nk: w\r\n\r\n\r\nPING\r\n".to_vec()),
        Step::Send(b"PONG\r\n".to_vec()),
        Step::ExpectEnd,
    ])
    .await;
    let mut message = Outgoing { address: "a.b".to_owned(), headers: Vec::new(), body: Bytes::from_static(b"hi") };
    assert_eq!(client.publish(&message, 2).await.unwrap(), Published { taken: 2, unmatched: 0 });
    message.headers = vec![("k".to_owned(), "v".to_owned()), ("k".to_owned(), "w".to_owned())];
    message.body = Bytes::new();
    assert_eq!(client.publish(&message, 1).await.unwrap(), Published { taken: 1, unmatched: 0 });
    client.close().await.unwrap();
    script.await.unwrap();
}

#[tokio::test]
async fn messages_are_received_also_while_ending() {
    let (mut client, script) = connected(vec![
        Step::Expect(b"SUB a.> g 1\r\nUNSUB 1 9\r\nPING\r\n".to_vec()),
        // A message before the PONG, a status, headers with duplicates, a reply address, a body with line ends.
        Step::SendSplit(b"MSG a.b 1 2\r\nhi\r\nPONG\r\n".to_vec()),
        Step::SendSplit(b"HMSG a.c 1 re.ply 23 27\r\nNATS/1.0\r\nk: v\r\nk:w\r\n\r\n\r\n\r\n\r\n".to_vec()),
        Step::Send(b"HMSG a.d 1 16 16\r\nNATS/1.0 503\r\n\r\n\r\n".to_vec()),
        Step::Expect(b"UNSUB 1\r\nPING\r\n".to_vec()),
        Step::Send(b"MSG a.e 1 0\r\n\r\nPONG\r\n".to_vec()),
        Step::ExpectEnd,
    ])
    .await;
    client.subscribe("a.>", Some("g"), Some(9)).await.unwrap();
    let received = |address: &str, headers: &[(&str, &str)], body: &'static str| Received {
        address: address.to_owned(),
        headers: headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect(),
        body: Bytes::from(body),
        redelivered: false,
        receipt: super::super::Receipt::None,
    };
    assert_eq!(client.next().await.unwrap(), received("a.b", &[], "hi"));
    assert_eq!(client.next().await.unwrap(), received("a.c", &[("k", "v"), ("k", "w")], "\r\n\r\n"));
    assert_eq!(client.next().await.unwrap(), received("a.d", &[("Status", "503")], ""));
    assert_eq!(client.finish().await.unwrap(), [received("a.e", &[], "")]);
    script.await.unwrap();
}

#[tokio::test]
async fn what_nats_cannot_say_is_refused_before_it_is_sent() {
    let (mut client, script) = connected(Vec::new()).await;
    script.await.unwrap();
    let mut message = Outgoing { address: "a b".to_owned(), ..Outgoing::default() };
    assert!(matches!(client.publish(&message, 1).await, Err(ClientError::Input(_))));
    message.address = "a\r\nPUB b 0".to_owned();
    assert!(matches!(client.publish(&message, 1).await, Err(ClientError::Input(_))));
    message.address = "a".to_owned();
    message.body = Bytes::from(vec![0; 65]);
    let error = client.publish(&message, 1).await.unwrap_err();
    assert_eq!(error.to_string(), "the server takes at most 64 bytes, not 65");
    message.body = Bytes::new();
    message.headers = vec![("k".to_owned(), "v\r\nforged: 1".to_owned())];
    assert!(matches!(client.publish(&message, 1).await, Err(ClientError::Input(_))));
    assert!(matches!(client.subscribe("a", Some("g 1\r\n"), None).await, Err(ClientError::Input(_))));
}

#[tokio::test]
async fn refusals_of_the_server_are_errors() {
    let login = Login { user: Some("u".to_owned()), password: Some("p\"q".to_owned()) };
    let mut script = handshake();
    script[1] = Step::Expect(
        String::from_utf8(connect_with(""))
            .unwrap()
            .replace("\"pedantic\"", "\"pass\":\"p\\\"q\",\"pedantic\"")
            .replace("\"verbose\"", "\"user\":\"u\",\"verbose\"")
            .into_bytes(),
    );
    script[2] = Step::Send(b"-ERR 'Authorization Violation'\r\n".to_vec());
    let (stream, script) = scripted::start(script);
    let error = NatsClient::connect(stream, &login).await.unwrap_err();
    script.await.unwrap();
    assert_eq!(error.to_string(), "the server refused: Authorization Violation");
}

#[tokio::test]
async fn servers_of_another_kind_are_errors() {
    for (greeting, expected) in [
        (b"AMQP\0\0\x09\x01".as_slice(), "the server does not speak NATS"),
        (b"HTTP/1.1 400 Bad Request\r\n", "the server does not speak NATS"),
        (b"PONG\r\n", "the server does not speak NATS"),
        (b"INFO nothing\r\n", "the server's INFO is no JSON"),
        (b"INFO {\"tls_required\":true}\r\n", "the server refused: it wants TLS, which this client does not have"),
        (b"-ERR 'maximum connections exceeded'\r\n", "the server refused: maximum connections exceeded"),
        (b"", "connection lost: the server closed it"),
    ] {
        let (stream, script) = scripted::start(vec![Step::Send(greeting.to_vec())]);
        let error = NatsClient::connect(stream, &Login::default()).await.unwrap_err();
        assert_eq!(error.to_string(), expected);
        script.await.unwrap();
    }
}

#[test]
fn broken_messages_are_errors() {
    for wrong in ["MSG a 1\r\n", "MSG a 1 x\r\n", "MSG a 1 99999999999\r\n", "HMSG a 1 9 3\r\n", "MSG\r\n", "NOISE\r\n"]
    {
        assert!(line::take(&mut BytesMut::from(wrong), false).is_err(), "{wrong}");
    }
}

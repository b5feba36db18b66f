//! Tests of the HTTP side over real sockets on loopback, against a broker that is made up.

use std::pin::Pin;

use braid_broker::{GroupListing, MemberListing};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::oneshot,
};

use super::*;

struct FakeBroker {
    ready: bool,
}

impl Inspect for FakeBroker {
    fn list_groups(&self, vhost: Option<String>) -> Pin<Box<dyn Future<Output = Vec<GroupListing>> + Send + '_>> {
        let all = [group("/", "orders"), group("/", "$share/g/a/b"), group("plant 7", "jobs")];
        let groups = all.into_iter().filter(|group| vhost.as_ref().is_none_or(|vhost| group.vhost == *vhost)).collect();
        Box::pin(async move { groups })
    }

    fn samples(&self) -> Vec<(&'static str, &'static str, &'static str, u64)> {
        vec![
            ("messages_total", "counter", "Messages.\nAll \\ of them.", 7),
            ("sessions", "gauge", "Sessions.", u64::MAX),
        ]
    }

    fn is_ready(&self) -> bool {
        self.ready
    }
}

fn group(vhost: &str, name: &str) -> GroupListing {
    let member = MemberListing {
        protocol: "mqtt",
        connection: 9,
        peer: "127.0.0.1:4".to_owned(),
        label: "device".to_owned(),
        credit_messages: None,
        unacked: 2,
        priority: -1,
        filter: Some("a/#".to_owned()),
        skipped: Some("no credit"),
    };
    GroupListing {
        vhost: vhost.to_owned(),
        name: name.to_owned(),
        kind: "declared",
        class: "memory",
        partition: 3,
        leader: 1,
        epoch: 1,
        ready: 5,
        unacked: 2,
        members: vec![member],
    }
}

/// A running server; it stops when this is dropped.
struct Server {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    task: tokio::task::JoinHandle<()>,
}

impl Server {
    async fn start(ready: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let service = HttpService::new(Arc::new(FakeBroker { ready }));
        let task = tokio::spawn(service.serve(listener, async move { drop(stopped.await) }));
        Self { address, stop: Some(stop), task }
    }

    /// Sends `request` and reads until the server closes.
    async fn exchange(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    /// Status and body of a GET.
    async fn get(&self, path: &str) -> (u16, String) {
        let answer =
            self.exchange(&format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")).await;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }
}

fn error_code(body: &str) -> String {
    let document: serde_json::Value = serde_json::from_str(body).unwrap();
    assert!(document["error"]["message"].is_string());
    document["error"]["code"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn health_says_whether_the_node_is_ready() {
    assert_eq!(Server::start(true).await.get("/healthz").await, (200, "ok\n".to_owned()));
    assert_eq!(Server::start(false).await.get("/healthz").await, (503, "not ready\n".to_owned()));
}

#[tokio::test]
async fn metrics_are_in_the_format_of_prometheus() {
    let server = Server::start(true).await;
    let answer = server.exchange("GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.to_lowercase().contains("content-type: text/plain; version=0.0.4; charset=utf-8"), "{head}");
    let expected = "# HELP braidmq_messages_total Messages.\\nAll \\\\ of them.\n# TYPE braidmq_messages_total counter\n\
                    braidmq_messages_total 7\n# HELP braidmq_sessions Sessions.\n# TYPE braidmq_sessions gauge\n\
                    braidmq_sessions 18446744073709551615\n";
    assert!(body.starts_with(expected), "{body}");
    assert!(body.contains(concat!("\nbraidmq_build_info{version=\"", env!("CARGO_PKG_VERSION"), "\"} 1\n")), "{body}");
    assert!(body.contains("\nprocess_resident_memory_bytes "), "{body}");
    // Every line is a comment or a name and a number, and every name has a type.
    for line in body.lines().filter(|line| !line.starts_with('#')) {
        let (name, value) = line.rsplit_once(' ').unwrap();
        value.parse::<u64>().unwrap();
        let name = name.split('{').next().unwrap();
        assert!(body.contains(&format!("# TYPE {name} ")), "{line}");
    }
}

#[tokio::test]
async fn groups_are_listed_by_vhost() {
    let server = Server::start(true).await;
    let names = async |path: &str| {
        let (status, body) = server.get(path).await;
        assert_eq!(status, 200, "{body}");
        let document: GroupsDocument = serde_json::from_str(&body).unwrap();
        document.groups.into_iter().map(|group| (group.vhost, group.name)).collect::<Vec<_>>()
    };
    let pair = |vhost: &str, name: &str| (vhost.to_owned(), name.to_owned());
    let all = [pair("/", "$share/g/a/b"), pair("/", "orders"), pair("plant 7", "jobs")];
    assert_eq!(names("/v1/groups").await, all);
    assert_eq!(names("/v1/groups?vhost=%2F").await, all[..2]);
    assert_eq!(names("/v1/groups?vhost=plant+7").await, all[2..]);
    assert_eq!(names("/v1/groups?vhost=none").await, []);
    let (status, body) = server.get("/v1/groups?vhots=a").await;
    assert_eq!((status, error_code(&body).as_str()), (400, "bad_request"));
}

#[tokio::test]
async fn a_group_is_found_by_its_escaped_name() {
    let server = Server::start(true).await;
    let (status, body) = server.get("/v1/groups/%2F/%24share%2Fg%2Fa%2Fb").await;
    assert_eq!(status, 200, "{body}");
    let document: GroupDocument = serde_json::from_str(&body).unwrap();
    assert_eq!(document, GroupDocument::from(group("/", "$share/g/a/b")));
    assert!(body.contains("\"credit_messages\":null"), "{body}");

    for (path, expected) in [
        ("/v1/groups/%2F/none", (404, "not_found")),
        ("/v1/groups/none/orders", (404, "not_found")),
        ("/v1/groups/%2F/%ff", (400, "bad_request")),
        ("/v1/groups/%2F", (404, "not_found")),
        ("/nothing", (404, "not_found")),
    ] {
        let (status, body) = server.get(path).await;
        assert_eq!((status, error_code(&body).as_str()), expected, "{path}");
    }
}

#[tokio::test]
async fn only_reading_is_allowed() {
    let server = Server::start(true).await;
    let answer = server.exchange("DELETE /v1/groups HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 405 "), "{answer}");
    let answer = server.exchange("HEAD /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("\r\n\r\n"), "{answer}");
}

#[tokio::test]
async fn a_large_body_is_refused_unread() {
    let server = Server::start(true).await;
    let answer =
        server.exchange("POST /v1/groups HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
}

#[tokio::test]
async fn rubbish_and_endless_heads_end_their_connection_only() {
    let server = Server::start(true).await;
    assert!(server.exchange("\u{1}\u{2}\u{3} rubbish\r\n\r\n").await.starts_with("HTTP/1.1 400 "));
    let endless = format!("GET / HTTP/1.1\r\nLong: {}", "x".repeat(2 * limits::HEAD_BYTES_MAX));
    let answer = server.exchange(&endless).await;
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
    assert_eq!(server.get("/healthz").await.0, 200);
}

#[tokio::test]
async fn groups_are_shown_to_this_machine_under_its_own_name_only() {
    let server = Server::start(true).await;
    let answer = server.exchange("GET /v1/groups HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    // HTTP/1.0 needs no Host.
    assert!(server.exchange("GET /v1/groups HTTP/1.0\r\n\r\n").await.starts_with("HTTP/1.0 200 "));

    let elsewhere: SocketAddr = "192.0.2.1:5".parse().unwrap();
    let service = HttpService::new(Arc::new(FakeBroker { ready: true }));
    for (path, expected) in [("/v1/groups", "403"), ("/healthz", "200"), ("/metrics", "200")] {
        let (ours, mut theirs) = tokio::io::duplex(64 * 1024);
        // The way of the one port: the first bytes were read to tell the protocol.
        let head = Bytes::from(format!("GET {path} HTTP/1.1\r\nHost: loc"));
        theirs.write_all(b"alhost\r\nConnection: close\r\n\r\n").await.unwrap();
        service.serve_connection(ours, head, elsewhere, std::future::pending()).await;
        let mut answer = String::new();
        theirs.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with(&format!("HTTP/1.1 {expected} ")), "{path}: {answer}");
    }
}

#[tokio::test]
async fn a_silent_connection_is_closed() {
    let mut service = HttpService::new(Arc::new(FakeBroker { ready: true }));
    service.header_timeout = Duration::from_millis(20);
    let (ours, mut theirs) = tokio::io::duplex(1024);
    let peer = "127.0.0.1:5".parse().unwrap();
    service.serve_connection(ours, Bytes::from_static(b"GET /heal"), peer, std::future::pending()).await;
    let mut answer = String::new();
    theirs.read_to_string(&mut answer).await.unwrap();
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 408 "), "{answer}");
}

#[tokio::test]
async fn connections_above_the_limit_are_closed_at_once() {
    let service = HttpService::new(Arc::new(FakeBroker { ready: true }));
    let permits: Vec<_> = (0..limits::CONNECTIONS_MAX).map(|_| service.permit().unwrap()).collect();
    let (ours, mut theirs) = tokio::io::duplex(1024);
    service.serve_connection(ours, Bytes::new(), "127.0.0.1:5".parse().unwrap(), std::future::pending()).await;
    assert_eq!(theirs.read(&mut [0; 1]).await.unwrap(), 0);
    drop(permits);
    assert!(service.permit().is_some());
}

#[tokio::test]
async fn stopping_closes_idle_connections_and_ends() {
    let mut server = Server::start(true).await;
    let mut idle = TcpStream::connect(server.address).await.unwrap();
    idle.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
    let mut answer = [0; 512];
    assert!(idle.read(&mut answer).await.unwrap() > 0);
    server.stop.take().unwrap().send(()).unwrap();
    assert_eq!(idle.read(&mut answer).await.unwrap(), 0);
    tokio::time::timeout(Duration::from_secs(5), server.task).await.unwrap().unwrap();
}

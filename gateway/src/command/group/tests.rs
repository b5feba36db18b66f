//! Tests of `braidmq group`: the tables, and the whole way against a node that follows a script.

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use super::*;

fn group() -> GroupDocument {
    let member = |protocol: &str, credit_messages| MemberDocument {
        protocol: protocol.to_owned(),
        connection: 7,
        peer: "127.0.0.1:5".to_owned(),
        label: "worker\u{1b}[2J".to_owned(),
        credit_messages,
        unacked: 2,
        priority: 0,
        filter: (protocol == "mqtt").then(|| "a/#".to_owned()),
        skipped: (protocol == "mqtt").then(|| "no credit".to_owned()),
    };
    GroupDocument {
        vhost: "/".to_owned(),
        name: "jobs".to_owned(),
        kind: "declared".to_owned(),
        class: "memory".to_owned(),
        partition: 3,
        leader: 1,
        epoch: 2,
        ready: 10,
        unacked: 4,
        members: vec![member("amqp", None), member("mqtt", Some(0))],
    }
}

/// A node that takes one request, which must be for `path`, and answers it.
async fn node(path: &'static str, status: u16, body: String) -> (View, tokio::task::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let http = listener.local_addr().unwrap().to_string();
    let task = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = vec![0; 4096];
        let count = stream.read(&mut request).await.unwrap();
        let request = String::from_utf8_lossy(&request[..count]).into_owned();
        assert!(request.starts_with(&format!("GET {path} HTTP/1.0\r\n")), "{request}");
        let answer = format!("HTTP/1.0 {status} X\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        stream.write_all(answer.as_bytes()).await.unwrap();
    });
    (View { http, json: false }, task)
}

#[tokio::test]
async fn groups_are_listed_in_a_table() {
    let document = GroupsDocument { groups: vec![group()] };
    let (view, node) = node("/v1/groups?vhost=%2F", 200, serde_json::to_string(&document).unwrap()).await;
    let mut output = Vec::new();
    run(&GroupCommand::List(GroupList { vhost: Some("/".to_owned()), view }), &mut output).await.unwrap();
    node.await.unwrap();
    let expected = "VHOST  NAME  KIND      CLASS   READY  UNACKED  MEMBERS  PROTOCOLS\n\
                    /      jobs  declared  memory  10     4        2        amqp 1, mqtt 1\n";
    assert_eq!(String::from_utf8(output).unwrap(), expected);
    assert_eq!(list(&GroupsDocument { groups: Vec::new() }), "no groups\n");
}

#[tokio::test]
async fn a_group_is_shown_with_its_members() {
    let body = serde_json::to_string(&group()).unwrap();
    let (view, node) = node("/v1/groups/%2F/%24share%2Fg%2Fa", 200, body).await;
    let show = GroupShow { name: "$share/g/a".to_owned(), vhost: "/".to_owned(), view };
    let mut output = Vec::new();
    run(&GroupCommand::Show(show), &mut output).await.unwrap();
    node.await.unwrap();
    let expected = r"name       jobs
vhost      /
kind       declared
class      memory
partition  3 (led by node 1, epoch 2)
ready      10
unacked    4
members    2

PROTOCOL  LABEL            PEER         CREDIT     UNACKED  PRIORITY  FILTER  SKIPPED
amqp      worker\u{1b}[2J  127.0.0.1:5  unlimited  2        0         -       -
mqtt      worker\u{1b}[2J  127.0.0.1:5  0          2        0         a/#     no credit
";
    assert_eq!(String::from_utf8(output).unwrap(), expected);
}

#[tokio::test]
async fn json_is_passed_on_as_it_came() {
    let (mut view, node) = node("/v1/groups", 200, "{\"groups\":[],\"later\":1}\n".to_owned()).await;
    view.json = true;
    let mut output = Vec::new();
    run(&GroupCommand::List(GroupList { vhost: None, view }), &mut output).await.unwrap();
    node.await.unwrap();
    assert_eq!(output, b"{\"groups\":[],\"later\":1}\n");
}

#[tokio::test]
async fn errors_of_the_node_are_told() {
    for (status, body, expected) in [
        (404, "{\"error\":{\"code\":\"not_found\",\"message\":\"vhost / has no group x\"}}", "vhost / has no group x"),
        (502, "<html>", "the node answers 502"),
        (200, "<html>", "the server there is no BraidMQ, or another version"),
    ] {
        let (view, node) = node("/v1/groups/%2F/x", status, body.to_owned()).await;
        let show = GroupShow { name: "x".to_owned(), vhost: "/".to_owned(), view };
        let error = run(&GroupCommand::Show(show), &mut Vec::new()).await.unwrap_err();
        node.await.unwrap();
        assert_eq!(error.to_string(), expected);
    }
}

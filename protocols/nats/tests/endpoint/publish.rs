//! `PUB`, `HPUB`, and notices that nobody answers.

use braid_nats::Options;
use braid_types::{
    Endpoint, Event, Message, Protocol, PublishResult, Refusal, RefusalKind, Request, Ticket, Timestamp,
};
use bytes::{Bytes, BytesMut};

use crate::driver::{CONNECT, Driver, PEDANTIC, VERBOSE, golden};

#[test]
fn a_publish_becomes_a_message_of_slices() {
    let mut endpoint = braid_nats::Connection::new(Timestamp(5), Options::default());
    let text = "CONNECT {\"headers\":true}\r\nHPUB a.b r.s 12 14\r\nNATS/1.0\r\n\r\nhi\r\n";
    let mut driver = Driver::new();
    driver.send(text.as_bytes());
    endpoint.receive(Timestamp(7), &mut BytesMut::from(text));
    let Some(Request::Authenticate(authenticate)) = endpoint.poll_request() else { panic!("not asked") };
    let identity = braid_types::Identity { user: Bytes::new(), vhost: Bytes::from_static(b"/") };
    endpoint.handle(Timestamp(8), Event::Authenticated { ticket: authenticate.ticket, result: Ok(identity) });
    let Some(Request::Publish(publish)) = endpoint.poll_request() else { panic!("no publish") };
    let expected = Message {
        exchange: Bytes::from_static(b"amq.topic"),
        key: Bytes::from_static(b"a.b"),
        header: Bytes::from_static(b"NATS/1.0\r\n\r\n"),
        reply: Bytes::from_static(b"r.s"),
        body: Bytes::from_static(b"hi"),
        received_at: Timestamp(8),
        ..Message::empty(Protocol::Nats)
    };
    assert_eq!(*publish.message, expected);
    assert_eq!((publish.ticket, publish.mandatory), (None, false));
    assert!(endpoint.poll_request().is_none());
}

#[test]
fn all_forms_of_a_publish_arrive() {
    golden(&format!("{CONNECT}SUB a 1\r\nPUB a 1\r\nx\r\nPING\r\n"), "MSG a 1 1\r\nx\r\nPONG\r\nINFO\r\n");
    golden(&format!("{CONNECT}sub a 1\r\npub a r 1\r\nx\r\n"), "MSG a 1 r 1\r\nx\r\n");
    golden(&format!("{CONNECT}SUB \t a \t 1 \r\nPUB   a\t 1 \r\nx\r\n"), "MSG a 1 1\r\nx\r\n");
    golden(&format!("{CONNECT}SUB a 1\nPUB a 0\n\r\n"), "MSG a 1 0\r\n\r\n");
    golden(&format!("{CONNECT}SUB a 1\r\nPUB a 000000001\r\nx\r\n"), "MSG a 1 1\r\nx\r\n");
    golden(&format!("{CONNECT}SUB a 1\r\nPUB a 4\r\n\r\n\r\n\r\n"), "MSG a 1 4\r\n\r\n\r\n\r\n");
    let headers = "HPUB a r 12 13\r\nNATS/1.0\r\n\r\nx\r\n";
    golden(&format!("{CONNECT}SUB a 1\r\n{headers}"), "HMSG a 1 r 12 13\r\nNATS/1.0\r\n\r\nx\r\n");
    golden(&format!("{CONNECT}SUB a 1\r\nHPUB a 3 3\r\nabc\r\n"), "HMSG a 1 3 3\r\nabc\r\n");
    golden(&format!("{CONNECT}SUB a 1\r\nHPUB a 0 1\r\nx\r\n"), "MSG a 1 1\r\nx\r\n");
}

#[test]
fn verbose_clients_get_one_answer_per_operation_in_order() {
    golden(
        &format!("{VERBOSE}SUB a 1\r\nPUB a 1\r\nx\r\nUNSUB 1\r\nPING\r\nPONG\r\nUNSUB 99\r\nSUB b 1\r\nSUB b 1\r\n"),
        "+OK\r\n+OK\r\n+OK\r\nMSG a 1 1\r\nx\r\n+OK\r\nPONG\r\nINFO\r\n+OK\r\n+OK\r\n+OK\r\n",
    );
}

#[test]
fn pedantic_clients_hear_of_bad_subjects_and_go_on() {
    golden(
        &format!("{PEDANTIC}SUB > 1\r\nPUB a..b 1\r\nx\r\nPUB *.* 1\r\ny\r\nPUB a. 1\r\nx\r\nPUB a 0\r\n\r\nPING\r\n"),
        "-ERR 'Invalid Publish Subject'\r\n-ERR 'Invalid Publish Subject'\r\n-ERR 'Invalid Publish Subject'\r\n\
         MSG a 1 0\r\n\r\nPONG\r\nINFO\r\n",
    );
    let mut driver = Driver::connected(PEDANTIC);
    driver.send(b"PUB a..b 1\r\nx\r\n");
    assert!(driver.log.is_empty());
}

#[test]
fn other_clients_may_publish_to_any_subject() {
    let mut driver = Driver::connected(CONNECT);
    assert_eq!(driver.talk("PUB a..b 1\r\nx\r\nPUB *.> 0\r\n\r\nPUB a\rb 0\r\n\r\n"), "");
    assert_eq!(driver.log.len(), 3);
}

#[test]
fn a_request_that_nobody_takes_is_answered() {
    golden(
        &format!("{CONNECT}SUB inbox.* 7\r\nPUB none inbox.1 3\r\nabc\r\nPUB none other.1 0\r\n\r\nPING\r\n"),
        "HMSG inbox.1 7 36 36\r\nNATS/1.0 503\r\nNats-Subject: none\r\n\r\n\r\nPONG\r\nINFO\r\n",
    );
    golden(&format!("{CONNECT}SUB inbox.* q 7\r\nPUB none inbox.1 3\r\nabc\r\nPING\r\n"), "PONG\r\nINFO\r\n");
    golden(
        &format!("{CONNECT}SUB inbox.1 7\r\nUNSUB 7 1\r\nPUB none inbox.1 0\r\n\r\nPUB none inbox.1 0\r\n\r\n"),
        &"HMSG inbox.1 7 36 36\r\nNATS/1.0 503\r\nNats-Subject: none\r\n\r\n\r\n".repeat(2),
    );
    golden(
        &format!("{CONNECT}SUB a 1\r\nSUB inbox 2\r\nPUB a inbox 0\r\n\r\nPING\r\n"),
        "MSG a 1 inbox 0\r\n\r\nPONG\r\nINFO\r\n",
    );
}

#[test]
fn the_notice_is_only_for_clients_that_asked_for_it() {
    for connect in ["CONNECT {\"verbose\":false,\"headers\":true}\r\n", "CONNECT {\"verbose\":false}\r\n"] {
        let log = golden(&format!("{connect}SUB inbox 7\r\nPUB none inbox 0\r\n\r\nPING\r\n"), "PONG\r\n");
        assert!(!log.iter().any(|request| request.starts_with("Publish(Publish { ticket: Some")));
    }
}

#[test]
fn a_client_without_echo_does_not_count_itself_as_responder() {
    let connect = CONNECT.replace("\"verbose\"", "\"echo\":false,\"verbose\"");
    golden(
        &format!("{connect}SUB none 1\r\nSUB inbox 7\r\nPUB none inbox 0\r\n\r\n"),
        "HMSG inbox 7 36 36\r\nNATS/1.0 503\r\nNats-Subject: none\r\n\r\n\r\n",
    );
}

#[test]
fn a_denied_publish_is_told() {
    let mut driver = Driver::connected(CONNECT);
    driver.held_events = Some(std::collections::VecDeque::new());
    driver.send(b"PUB a.b r 1\r\nx\r\n");
    let result = PublishResult::Refused(RefusalKind::AccessRefused);
    let line = driver.tell(Event::Published { ticket: Ticket(1), result });
    assert_eq!(line, "-ERR 'Permissions Violation for Publish to \"a.b\"'\r\n");
    let message = std::sync::Arc::new(crate::driver::message("c", ""));
    let refusal = Some(Refusal::new(RefusalKind::AccessRefused, "no"));
    let line = driver.tell(Event::Returned { ticket: None, channel: 0, message, refusal });
    assert_eq!(line, "-ERR 'Permissions Violation for Publish to \"c\"'\r\n");
}

#[test]
fn a_payload_that_is_too_large_is_refused_before_it_comes() {
    let mut driver = Driver::with(Options { max_payload_bytes: 10, ..Options::default() });
    driver.send(CONNECT.as_bytes());
    assert_eq!(driver.talk("PUB a 10\r\n0123456789\r\nPING\r\n"), "PONG\r\nINFO\r\n");
    assert_eq!(driver.talk("PUB a 11\r\n"), "-ERR 'Maximum Payload Violation'\r\n");
    assert!(driver.endpoint.is_closing());
    let mut driver = Driver::with(Options { max_payload_bytes: 10, ..Options::default() });
    driver.send(CONNECT.as_bytes());
    assert_eq!(driver.talk("HPUB a 3 11\r\n"), "-ERR 'Maximum Payload Violation'\r\n");
}

#[test]
fn too_many_open_requests_go_out_without_a_ticket() {
    let mut driver = Driver::connected(CONNECT);
    driver.held_events = Some(std::collections::VecDeque::new());
    for _ in 0..10_000 {
        driver.send(b"PUB none inbox 0\r\n\r\n");
    }
    let with_ticket = driver.log.iter().filter(|request| request.starts_with("Publish(Publish { ticket: Some")).count();
    assert_eq!((driver.log.len(), with_ticket), (10_000, braid_nats::limits::ANSWERS_FOR_REQUESTS_MAX));
    driver.release();
    assert_eq!(driver.talk("PING\r\n"), "PONG\r\nINFO\r\n");
}

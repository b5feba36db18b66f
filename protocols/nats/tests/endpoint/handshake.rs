//! `INFO`, `CONNECT`, and who is let in.

use braid_nats::Options;
use braid_types::{Endpoint, Refusal, RefusalKind, Timestamp};
use bytes::BytesMut;

use crate::driver::{CONNECT, Driver, VERBOSE, golden};

#[test]
fn the_server_speaks_first() {
    let options = Options { max_payload_bytes: 77, port: 4333, ..Options::default() };
    let mut endpoint = braid_nats::Connection::new(Timestamp(0), options);
    let greeting = endpoint.transmit().take();
    let text = std::str::from_utf8(&greeting).unwrap();
    assert!(text.starts_with("INFO {") && text.ends_with("} \r\n"));
    for part in ["\"version\":\"2.15.1\"", "\"max_payload\":77", "\"port\":4333", "\"headers\":true", "\"proto\":1"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(!text.contains("auth_required"));
}

#[test]
fn connect_is_answered_only_when_verbose() {
    golden(CONNECT, "");
    golden(VERBOSE, "+OK\r\n");
    golden("CONNECT {}\r\nPING\r\n", "+OK\r\nPONG\r\n");
    golden("connect{}\nping\n", "+OK\r\nPONG\r\n");
    golden("CONNECT null\r\n", "+OK\r\n");
}

#[test]
fn the_first_ping_of_a_new_client_brings_another_info() {
    golden(&format!("{CONNECT}PING\r\nPING\r\n"), "PONG\r\nINFO\r\nPONG\r\n");
    golden("CONNECT {\"verbose\":false}\r\nPING\r\nPING\r\n", "PONG\r\nPONG\r\n");
}

#[test]
fn without_connect_a_client_is_verbose_and_pedantic() {
    let log = golden("PING\r\nSUB a 1\r\nPUB a 1\r\nx\r\n", "PONG\r\n+OK\r\n+OK\r\nMSG a 1 1\r\nx\r\n");
    assert!(log.first().unwrap().contains("Anonymous"));
    assert_eq!(log.iter().filter(|request| request.contains("Authenticate")).count(), 1);
    golden("PUB a..b 1\r\nx\r\n", "-ERR 'Invalid Publish Subject'\r\n+OK\r\n");
    golden(&format!("SUB a 1\r\n{CONNECT}PUB a 0\r\n\r\n"), "+OK\r\nMSG a 1 0\r\n\r\n");
}

#[test]
fn a_second_connect_starts_anew() {
    let log = golden(
        &format!("{CONNECT}SUB a 1\r\n{VERBOSE}SUB b 1\r\nPUB a 0\r\n\r\nPUB b 0\r\n\r\nPING\r\n"),
        "+OK\r\n+OK\r\n+OK\r\n+OK\r\nMSG b 1 0\r\n\r\nPONG\r\nINFO\r\n",
    );
    assert_eq!(log.iter().filter(|request| request.starts_with("Authenticate")).count(), 2);
}

#[test]
fn garbage_in_connect_closes() {
    let closed = "-ERR 'Parser Error'\r\n";
    for text in ["{bad}", "[]", "{} x", "{\"verbose\":1}", "", "{\"protocol\":1.0}"] {
        golden(&format!("CONNECT {text}\r\nPING\r\n"), closed);
    }
    let long = format!("CONNECT {{\"name\":\"{}\"}}\r\nPING\r\n", "a".repeat(5000));
    let mut driver = Driver::new();
    assert_eq!(driver.talk(&long), "-ERR 'maximum control line exceeded'\r\n");
    assert!(driver.endpoint.is_closing());
}

#[test]
fn what_connect_asks_for_must_exist() {
    golden("CONNECT {\"protocol\":2}\r\nPING\r\n", "-ERR 'invalid client protocol'\r\n");
    golden("CONNECT {\"protocol\":-1}\r\nPING\r\n", "-ERR 'invalid client protocol'\r\n");
    golden("CONNECT {\"account\":\"x\"}\r\nPING\r\n", "-ERR 'Authorization Violation'\r\n");
    golden("CONNECT {\"no_responders\":true}\r\nPING\r\n", "-ERR 'no responders requires headers support'\r\n");
}

#[test]
fn credentials_are_passed_on_and_not_shown() {
    let mut driver = Driver::new();
    driver.send(b"CONNECT {\"user\":\"u\",\"pass\":\"geheim\",\"name\":\"probe\"}\r\n");
    let request = driver.log.first().unwrap();
    assert!(request.contains("Password") && request.contains("probe") && !request.contains("geheim"), "{request}");
    let shown = format!("{:?}", driver.endpoint);
    assert!(shown.contains("probe") && !shown.contains("geheim"));
    let mut driver = Driver::new();
    driver.send(b"CONNECT {\"auth_token\":\"geheim\"}\r\n");
    assert!(driver.log.first().unwrap().contains("Password"));
}

#[test]
fn where_credentials_are_needed_nothing_else_is_read() {
    let options = Options { auth_required: true, ..Options::default() };
    for text in ["PING\r\n", "SUB a 1\r\n", "P", "PUB a 5\r\n", "\r\n", "CONNECT {}\r\n", "GET / HTTP/1.1\r\n"] {
        let mut driver = Driver::with(options.clone());
        assert_eq!(driver.talk(text), "-ERR 'Authorization Violation'\r\n", "{text}");
        assert!(driver.endpoint.is_closing() && driver.log.is_empty());
    }
    let mut driver = Driver::with(options);
    assert_eq!(driver.talk("CONNECT {\"user\":\"u\",\"pass\":\"p\"}\r\nPING\r\n"), "+OK\r\nPONG\r\n");
}

#[test]
fn refusals_have_the_words_that_clients_know() {
    let cases = [
        (RefusalKind::BadCredentials, "Authorization Violation"),
        (RefusalKind::AccessRefused, "Authorization Violation"),
        (RefusalKind::LimitReached, "maximum connections exceeded"),
        (RefusalKind::Unavailable, "Authentication Timeout"),
    ];
    for (kind, text) in cases {
        let mut driver = Driver::new();
        driver.admission = Some(Refusal::new(kind, "no"));
        assert_eq!(driver.talk("CONNECT {}\r\nPING\r\n"), format!("-ERR '{text}'\r\n"));
        assert!(driver.endpoint.is_closing());
        assert_eq!(driver.talk("PING\r\n"), "");
    }
}

#[test]
fn what_comes_before_the_answer_waits_and_keeps_its_order() {
    let mut driver = Driver::new();
    driver.held_events = Some(std::collections::VecDeque::new());
    let text = format!("{VERBOSE}SUB a 1\r\nPUB a 2\r\nhi\r\nPING\r\nPUB a 1");
    for byte in text.as_bytes() {
        driver.send(&[*byte]);
        assert!(driver.output.is_empty());
    }
    assert_eq!(driver.log.len(), 1);
    assert_eq!(driver.release(), "+OK\r\n+OK\r\n+OK\r\nMSG a 1 2\r\nhi\r\nPONG\r\nINFO\r\n");
    assert_eq!(driver.talk("\r\nx\r"), "");
    assert_eq!(driver.talk("\nPING\r\n"), "+OK\r\nMSG a 1 1\r\nx\r\nPONG\r\n");
}

#[test]
fn what_waits_for_the_answer_is_bounded() {
    let mut driver = Driver::new();
    driver.held_events = Some(std::collections::VecDeque::new());
    driver.send(CONNECT.as_bytes());
    let piece = BytesMut::zeroed(64 * 1024);
    for _ in 0..64 {
        driver.send(&piece);
        if driver.endpoint.poll_timeout() != Some(driver.now.plus_ms(10_000)) {
            break;
        }
    }
    assert!(driver.input.is_empty());
    assert_eq!(driver.release(), "-ERR 'Maximum Pending Operations Exceeded'\r\n");
    assert!(driver.endpoint.is_closing());
}

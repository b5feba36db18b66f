//! Bad inputs (CASES section 4, the NATS row). The answers were compared with nats-server 2.15.1, except for
//! `Parser Error`, where it closes without a word.

use braid_types::Endpoint;

use crate::driver::{CONNECT, Driver, PEDANTIC, VERBOSE, golden};

const UNKNOWN: &str = "-ERR 'Unknown Protocol Operation'\r\n";
const PARSER: &str = "-ERR 'Parser Error'\r\n";

#[test]
fn what_is_no_operation_closes() {
    let inputs = [
        "FOO\r\n",
        "\r\nPING\r\n",
        " PING\r\n",
        "MSG a 1 1\r\nx\r\n",
        "HMSG a 1 1\r\n",
        "PUX",
        "G",
        "PUB\r\n",
        "UNSUB\r\n",
        "RS+ a\r\n",
        "\0",
        "+X",
        "PUB a 1\r\nxy\r\n",
        "PUB a 1\r\nx\nPING\r\n",
        "PUB a 1\r\nx\rP",
        "SUBa 1\r\n",
    ];
    for input in inputs {
        golden(&format!("{CONNECT}{input}"), UNKNOWN);
    }
}

#[test]
fn arguments_that_make_no_sense_close() {
    let inputs = [
        "PUB \r\n",
        "PUB a\r\n",
        "PUB 5\r\nhello\r\n",
        "PUB a b c 1\r\n",
        "PUB a x\r\n",
        "PUB a -1\r\n",
        "PUB a +1\r\n",
        "PUB a 0000000001\r\n",
        "PUB a 99999999999999999999999\r\n",
        "PUB a 1\r\r\nx\r\n",
        "PUB a b c d e f 1\r\n",
        "HPUB a 5 4\r\n",
        "HPUB a 5\r\n",
        "HPUB a b c 5 6\r\n",
        "HPUB a x 5\r\n",
        "HPUB a 1 x\r\n",
        "SUB a\r\n",
        "SUB a b c d\r\n",
        "SUB \r\n",
        "SUB a  \r\n",
        "UNSUB 1 2 3\r\n",
        "UNSUB \r\n",
        "INFO x\r\n",
        "INFO\r\n",
        "CONNECT\r\n",
        "CONNECT {\r\n",
    ];
    for input in inputs {
        golden(&format!("{CONNECT}{input}PING\r\n"), PARSER);
    }
    golden("CONNECT {\"verbose\":false}\r\nHPUB a 12 13\r\nNATS/1.0\r\n\r\nx\r\n", PARSER);
}

#[test]
fn a_client_that_reports_an_error_is_left_alone() {
    golden(&format!("{CONNECT}-ERR 'x'\r\nPING\r\n"), "");
    let mut driver = Driver::connected(CONNECT);
    driver.send(b"-ERR 'x'\r\n");
    assert!(driver.endpoint.is_closing());
}

#[test]
fn harmless_oddities_are_harmless() {
    golden(&format!("{CONNECT}PINGxyz abc\r\nPONG foo\r\n+OK junk\r\nPING\r\n"), "PONG\r\nINFO\r\nPONG\r\n");
    golden(&format!("{CONNECT}INFO {{}}\r\nPING\r\n"), "PONG\r\nINFO\r\n");
    golden(&format!("{CONNECT}SUB a 1\r\r\nSUB a\rq 2\r\nPING\r\n"), "PONG\r\nINFO\r\n");
    golden(&format!("{CONNECT}PONG\r\nPONG\r\nPING\r\n"), "PONG\r\nINFO\r\n");
    golden(&format!("{CONNECT}SUB a\0b 1\r\nPUB a\0b 0\r\n\r\n"), "MSG a\0b 1 0\r\n\r\n");
}

#[test]
fn modes_can_change_in_the_middle() {
    golden(
        &format!("{CONNECT}PUB a. 0\r\n\r\n{PEDANTIC}PUB a. 0\r\n\r\n{VERBOSE}PUB a. 0\r\n\r\nPING\r\n"),
        "-ERR 'Invalid Publish Subject'\r\n+OK\r\n+OK\r\nPONG\r\nINFO\r\n",
    );
}

#[test]
fn control_lines_end_somewhere() {
    let limit = "-ERR 'maximum control line exceeded'\r\n";
    let lines = [
        format!("PUB {} 1\r\n", "a".repeat(4095)),
        format!("PUB {}", "a".repeat(4098)),
        format!("SUB {} 1\r\n", "a".repeat(5000)),
        format!("UNSUB {}", "1".repeat(5000)),
        format!("HPUB {}", " ".repeat(5000)),
        format!("-ERR {}", " ".repeat(5000)),
    ];
    for line in lines {
        for step in [1, 100, 10_000] {
            let mut driver = Driver::connected(CONNECT);
            for piece in line.as_bytes().chunks(step) {
                driver.send(piece);
            }
            assert_eq!(driver.output, limit);
            assert!(driver.endpoint.is_closing() && driver.input.is_empty());
        }
    }
    let mut driver = Driver::connected(CONNECT);
    assert_eq!(driver.talk(&format!("PUB {} 1\r\nx\r\nPING\r\n", "a".repeat(4094))), "PONG\r\nINFO\r\n");
}

#[test]
fn announced_lengths_cost_nothing() {
    let mut driver = Driver::connected(CONNECT);
    driver.send(b"PUB a 1048576\r\n");
    for _ in 0..100 {
        driver.send(b"x");
    }
    assert!(driver.input.capacity() < 4096, "{}", driver.input.capacity());
}

#[test]
fn after_the_end_nothing_is_kept() {
    let mut driver = Driver::connected(CONNECT);
    driver.send(b"FOO\r\n");
    for _ in 0..100 {
        driver.send(&[b'P'; 10_000]);
        assert!(driver.input.is_empty());
    }
    assert_eq!(driver.output, UNKNOWN);
    assert!(driver.endpoint.poll_request().is_none());
}

#[test]
fn answers_that_wait_are_bounded_and_nothing_is_lost() {
    let mut driver = Driver::connected(VERBOSE);
    driver.held_events = Some(std::collections::VecDeque::new());
    driver.send(b"SUB a 1\r\n");
    let pings = "PING\r\n".repeat(100);
    for _ in 0..700 {
        driver.send(pings.as_bytes());
    }
    assert!(driver.input.is_empty() && !driver.endpoint.is_closing());
    let answers = driver.release();
    assert_eq!(answers.matches("PONG\r\n").count(), 70_000);
}

#[test]
fn opening_and_closing_subscriptions_leaves_nothing_behind() {
    let mut driver = Driver::connected(CONNECT);
    for _ in 0..20_000 {
        driver.send(b"SUB a 1\r\nUNSUB 1\r\n");
        driver.log.clear();
    }
    assert!(format!("{:?}", driver.endpoint).contains("subscriptions: 0, answers: 0, held_bytes: 0"));
}

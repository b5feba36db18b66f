//! `SUB` and `UNSUB`.

use braid_types::{Completion, Endpoint, Event, Refusal, RefusalKind, SubscriptionId, Ticket};

use crate::driver::{CONNECT, Driver, VERBOSE, golden, message};

#[test]
fn a_subscription_is_asked_for_as_nats_means_it() {
    let mut driver = Driver::connected(CONNECT);
    driver.send(b"SUB a.* workers 42\r\nSUB b.> 7\r\n");
    let first = driver.log.first().unwrap();
    for part in ["filter: b\"a.*\"", "share: Some(b\"workers\")", "HandOff", "qos: 0", "no_local: false", "Skip"] {
        assert!(first.contains(part), "{part} in {first}");
    }
    assert!(
        first.contains("on_loss: Accepted") && first.contains("label: b\"42\"") && first.contains("SubscriptionId(1)")
    );
    let second = driver.log.get(1).unwrap();
    assert!(second.contains("share: None") && second.contains("SubscriptionId(2)"));
}

#[test]
fn a_group_is_joined_by_name() {
    let mut driver = Driver::connected(CONNECT);
    driver.send(b"SUB $queue.jobs.eu workers 1\r\nSUB $queue.jobs.eu 2\r\nSUB $queue.* workers 3\r\n");
    assert!(driver.log.first().unwrap().contains("Group { name: b\"jobs.eu\" }"));
    assert!(driver.log.get(1).unwrap().contains("Filter { filter: b\"$queue.jobs.eu\", share: None }"));
    assert!(driver.log.get(2).unwrap().contains("Filter { filter: b\"$queue.*\""));
}

#[test]
fn a_client_without_echo_asks_for_no_local() {
    let mut driver = Driver::connected("CONNECT {\"verbose\":false,\"echo\":false}\r\n");
    driver.send(b"SUB a 1\r\n");
    assert!(driver.log.first().unwrap().contains("no_local: true"));
}

#[test]
fn pong_means_that_the_subscription_stands() {
    let mut driver = Driver::connected(CONNECT);
    driver.held_events = Some(std::collections::VecDeque::new());
    assert_eq!(driver.talk("SUB a 1\r\nPING\r\nSUB b 2\r\nPING\r\n"), "");
    let done = |ticket| Event::Completed { ticket: Ticket(ticket), result: Ok(Completion::Done) };
    assert_eq!(driver.tell(done(4)), "");
    assert_eq!(driver.deliver(2, message("b", "x")), "MSG b 2 1\r\nx\r\n");
    assert_eq!(driver.tell(done(1)), "PONG\r\nINFO\r\nPONG\r\n");
    assert_eq!(driver.tell(done(1)), "");
}

#[test]
fn a_sid_in_use_keeps_its_subscription() {
    let log = golden(
        &format!("{CONNECT}SUB a 1\r\nSUB b 1\r\nPUB b 1\r\nx\r\nPUB a 1\r\ny\r\nPING\r\n"),
        "MSG a 1 1\r\ny\r\nPONG\r\nINFO\r\n",
    );
    assert_eq!(log.iter().filter(|request| request.starts_with("Subscribe")).count(), 1);
}

#[test]
fn a_subject_that_is_no_filter_is_refused_and_the_connection_goes_on() {
    let bad = "-ERR 'Invalid Subject'\r\n";
    golden(
        &format!("{CONNECT}SUB a..b 1\r\nSUB .a 1\r\nSUB a. 1\r\nSUB >.a 1\r\nSUB a.>.b 1\r\nPING\r\n"),
        &format!("{}PONG\r\nINFO\r\n", bad.repeat(5)),
    );
    golden(
        &format!("{VERBOSE}SUB a* abc-9\r\nSUB a. 2\r\nPUB a* 0\r\n\r\n"),
        "+OK\r\n+OK\r\n-ERR 'Invalid Subject'\r\n+OK\r\nMSG a* abc-9 0\r\n\r\n",
    );
}

#[test]
fn max_counts_from_the_start_of_the_subscription() {
    let publish = "PUB a 1\r\nx\r\n";
    let sent = "MSG a 1 1\r\nx\r\n";
    golden(
        &format!("{CONNECT}SUB a 1\r\nUNSUB 1 2\r\n{}PING\r\n", publish.repeat(4)),
        &format!("{}PONG\r\nINFO\r\n", sent.repeat(2)),
    );
    golden(
        &format!("{CONNECT}SUB a 1\r\n{}PING\r\nUNSUB 1 3\r\n{publish}PING\r\n", publish.repeat(4)),
        &format!("{}PONG\r\nINFO\r\nPONG\r\n", sent.repeat(4)),
    );
    for now in ["UNSUB 1\r\n", "UNSUB 1 0\r\n", "UNSUB 1 xx\r\n", "UNSUB 1 5\r\nUNSUB 1\r\n"] {
        golden(&format!("{CONNECT}SUB a 1\r\n{now}{publish}PING\r\n"), "PONG\r\nINFO\r\n");
    }
    golden(&format!("{CONNECT}UNSUB 9\r\nUNSUB 9 3\r\nPING\r\n"), "PONG\r\nINFO\r\n");
}

#[test]
fn after_the_last_message_the_broker_is_told_and_the_rest_is_dropped() {
    let mut driver = Driver::connected(CONNECT);
    driver.send(b"SUB a 1\r\nUNSUB 1 2\r\n");
    assert_eq!(driver.deliver(1, message("a", "x")), "MSG a 1 1\r\nx\r\n");
    assert_eq!(driver.deliver(1, message("a", "y")), "MSG a 1 1\r\ny\r\n");
    assert_eq!(driver.deliver(1, message("a", "z")), "");
    assert!(driver.log.last().unwrap().starts_with("Unsubscribe { ticket: None, subscription: SubscriptionId(1)"));
    assert_eq!(driver.endpoint.dropped_count(), 1);
    driver.send(b"SUB b 1\r\n");
    assert!(driver.log.last().unwrap().contains("SubscriptionId(2)"));
}

#[test]
fn drain_loses_nothing_that_was_routed_before_its_pong() {
    let mut driver = Driver::connected(CONNECT);
    driver.send(b"SUB a q 1\r\n");
    driver.held_events = Some(std::collections::VecDeque::new());
    assert_eq!(driver.talk("UNSUB 1\r\nPING\r\n"), "");
    assert_eq!(driver.deliver(1, message("a", "x")), "MSG a 1 1\r\nx\r\n");
    assert_eq!(driver.release(), "PONG\r\nINFO\r\n");
    assert_eq!(driver.deliver(1, message("a", "y")), "");
}

#[test]
fn a_sid_that_is_used_again_at_once_gets_only_its_own_messages() {
    let mut driver = Driver::connected(CONNECT);
    driver.send(b"SUB a 1\r\n");
    driver.held_events = Some(std::collections::VecDeque::new());
    driver.send(b"UNSUB 1\r\nSUB b 1\r\nPING\r\n");
    assert_eq!(driver.deliver(1, message("a", "x")), "MSG a 1 1\r\nx\r\n");
    assert_eq!(driver.release(), "PONG\r\nINFO\r\n");
    assert_eq!(driver.deliver(1, message("a", "x")), "");
    assert_eq!(driver.deliver(2, message("b", "y")), "MSG b 1 1\r\ny\r\n");
}

#[test]
fn refusals_of_the_broker() {
    let cases = [
        (RefusalKind::AccessRefused, "Permissions Violation for Subscription to \"a\" using queue \"q\"", false),
        (RefusalKind::NotFound, "Permissions Violation for Subscription to \"a\" using queue \"q\", no x ", false),
        (RefusalKind::LimitReached, "maximum subscriptions exceeded", false),
        (RefusalKind::PreconditionFailed, "Invalid Subject", false),
        (RefusalKind::Unavailable, "Stale Connection", true),
    ];
    for (kind, text, closes) in cases {
        let mut driver = Driver::connected(VERBOSE);
        driver.subscribe_refusal = Some(Refusal::new(kind, "no x'"));
        assert_eq!(driver.talk("SUB a q 1\r\n"), format!("-ERR '{text}'\r\n"));
        assert_eq!(driver.endpoint.is_closing(), closes);
        if !closes {
            driver.subscribe_refusal = None;
            assert_eq!(driver.talk("SUB a q 1\r\nPUB a 0\r\n\r\n"), "+OK\r\n+OK\r\nMSG a 1 0\r\n\r\n");
        }
    }
}

#[test]
fn a_group_that_is_deleted_takes_its_subscriptions_along() {
    let mut driver = Driver::connected(CONNECT);
    driver.send(b"SUB $queue.jobs w 1\r\n");
    let line = driver.tell(Event::Cancelled { subscription: SubscriptionId(1) });
    let expected =
        "-ERR 'Permissions Violation for Subscription to \"$queue.jobs\" using queue \"w\", group deleted'\r\n";
    assert_eq!(line, expected);
    assert_eq!(driver.tell(Event::Cancelled { subscription: SubscriptionId(1) }), "");
    assert_eq!(driver.talk("SUB a 1\r\nPUB a 0\r\n\r\n"), "MSG a 1 0\r\n\r\n");
}

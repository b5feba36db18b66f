//! From CONNECT to CONNACK (MQTT 5, 3.1 and 3.2; CASES 34).

use braid_mqtt::Options;
use braid_types::{Credentials, Endpoint, Event, Refusal, RefusalKind, Request, SessionState, Ticket};
use bytes::Bytes;

use super::{
    driver::{CONNECTION, Driver, golden, golden_with},
    packets::{acknowledge, connect_3, connect_5, packet, publish, text},
};

#[test]
fn a_client_of_each_version_is_let_in() {
    golden(|driver| {
        let connack = driver.connect(&packet(0x10, &[b"\x00\x06MQIsdp\x03\x02\x00\x0A\x00\x01c"]), None);
        assert_eq!(connack, [0x20, 2, 0, 0]);
    });
    golden(|driver| driver.connected_3());
    golden(|driver| {
        let connack = driver.connect(&connect_5("c", true, &[]), None);
        // Topic alias maximum 10, maximum packet size, receive maximum 1000.
        assert_eq!(connack, b"\x20\x0E\x00\x00\x0B\x22\x00\x0A\x27\x08\x04\x00\x00\x21\x03\xE8");
    });
}

#[test]
fn what_connect_says_reaches_the_broker() {
    golden(|driver| {
        let flags = 0b1110_1110;
        let will = b"\x09\x18\x00\x00\x00\x05\x03\x00\x01t\x00\x01w\x00\x02by";
        let properties = b"\x08\x11\x00\x00\x00\x1E\x21\x00\x05";
        let parts: [&[u8]; 5] = [
            b"\x00\x04MQTT\x05",
            &[flags, 0, 10],
            properties,
            b"\x00\x01c",
            &[&will[..], b"\x00\x01u\x00\x01p"].concat(),
        ];
        driver.feed(&packet(0x10, &parts));
        let Request::Authenticate(authenticate) = driver.request() else { panic!("no authentication") };
        let expected = Credentials::Password { user: Bytes::from_static(b"u"), password: Bytes::from_static(b"p") };
        assert_eq!((authenticate.credentials, &authenticate.client_name[..]), (expected, &b"c"[..]));
        let identity = braid_types::Identity { user: Bytes::new(), vhost: Bytes::new() };
        driver.handle(Event::Authenticated { ticket: authenticate.ticket, result: Ok(identity) });
        let Request::OpenSession(open) = driver.request() else { panic!("no session") };
        assert_eq!((&open.client_id[..], open.clean_start, open.expiry_s, open.window), (&b"c"[..], true, 30, 5));
        let will = open.will.expect("a will");
        assert_eq!(will.delay_s, 5);
        assert_eq!((&will.message.key[..], &will.message.body[..], will.message.qos), (&b"w"[..], &b"by"[..], 1));
        assert!(will.message.retain);
        assert_eq!((&will.message.header[..], &will.message.exchange[..]), (&b"\x03\x00\x01t"[..], &b"amq.topic"[..]));
        assert_eq!(will.message.publisher, CONNECTION);
    });
}

#[test]
fn mqtt_3_sessions_end_with_their_connection_or_never() {
    for (clean, expiry_s) in [(true, 0), (false, u32::MAX)] {
        let mut driver = Driver::new();
        driver.feed(&connect_3("c", clean));
        let open = driver.authenticate();
        assert_eq!((open.clean_start, open.expiry_s, open.window), (clean, expiry_s, 1000));
    }
}

#[test]
fn session_present_needs_a_state_and_no_clean_start() {
    for (clean, state, present) in [(false, true, 1), (false, false, 0), (true, true, 0), (true, false, 0)] {
        let state = state.then(SessionState::default);
        assert_eq!(Driver::new().connect(&connect_3("c", clean), state.clone())[2], present);
        assert_eq!(Driver::new().connect(&connect_5("c", clean, &[]), state)[2], present);
    }
}

#[test]
fn empty_client_ids() {
    let mut driver = Driver::new();
    let connack = driver.connect(&connect_5("", false, &[]), None);
    let id = &connack[connack.windows(3).position(|bytes| bytes == [0x12, 0, 41]).expect("assigned id") + 3..][..41];
    assert_eq!(id, &driver.endpoint.client_id()[..]);
    assert!(id.starts_with(b"auto-"));

    assert_eq!(Driver::new().connect(&connect_3("", true), None), [0x20, 2, 0, 0]);

    let mut driver = Driver::new();
    assert_eq!(driver.feed(&connect_3("", false)), [0x20, 2, 0, 2]);
    assert!(driver.endpoint.is_closing() && driver.requests().is_empty());
}

#[test]
fn a_password_without_a_user_is_for_mqtt_5() {
    let mut driver = Driver::new();
    driver.feed(&packet(0x10, &[b"\x00\x04MQTT\x05\x42\x00\x0A\x00\x00\x01c\x00\x01p"]));
    let Request::Authenticate(authenticate) = driver.request() else { panic!("no authentication") };
    let expected = Credentials::Password { user: Bytes::new(), password: Bytes::from_static(b"p") };
    assert_eq!(authenticate.credentials, expected);

    let mut driver = Driver::new();
    assert!(driver.feed(&packet(0x10, &[b"\x00\x04MQTT\x04\x42\x00\x0A\x00\x01c\x00\x01p"])).is_empty());
    assert!(driver.endpoint.is_closing());
}

#[test]
fn refusals_have_each_versions_code() {
    let table = [
        (RefusalKind::BadCredentials, 4, 0x86),
        (RefusalKind::AccessRefused, 5, 0x87),
        (RefusalKind::NotFound, 5, 0x87),
        (RefusalKind::LimitReached, 3, 0x97),
        (RefusalKind::Unavailable, 3, 0x88),
        (RefusalKind::Internal, 3, 0x80),
    ];
    for (kind, v3, v5) in table {
        let refusal = || Refusal::new(kind, "");
        for (connect, code) in [(connect_3("c", true), v3), (connect_5("c", true, &[]), v5)] {
            let mut driver = Driver::new();
            driver.feed(&connect);
            let sent = driver.handle(Event::Authenticated { ticket: Ticket(0), result: Err(refusal()) });
            assert_eq!((sent[0], sent[3]), (0x20, code), "{kind:?}");
            assert!(driver.endpoint.is_closing());

            let mut driver = Driver::new();
            driver.feed(&connect);
            driver.authenticate();
            let sent = driver.handle(Event::SessionOpened { ticket: Ticket(0), result: Err(refusal()) });
            assert_eq!((sent[0], sent[3]), (0x20, code), "{kind:?}");
            assert!(driver.requests().is_empty(), "no session was opened, none is ended");
        }
    }
}

#[test]
fn the_reason_text_is_sent_to_mqtt_5() {
    let mut driver = Driver::new();
    driver.feed(&connect_5("c", true, &[]));
    let refusal = Refusal::new(RefusalKind::BadCredentials, "no");
    let sent = driver.handle(Event::Authenticated { ticket: Ticket(0), result: Err(refusal) });
    assert_eq!(sent, b"\x20\x08\x00\x86\x05\x1F\x00\x02no");
}

#[test]
fn enhanced_authentication_is_refused() {
    let mut driver = Driver::new();
    let sent = driver.feed(&connect_5("c", true, &[&[0x15][..], &text("SCRAM")].concat()));
    assert_eq!(sent, [0x20, 3, 0, 0x8C, 0]);
    assert!(driver.endpoint.is_closing());
}

#[test]
fn what_comes_before_connack_is_not_lost() {
    golden(|driver| {
        let early = [
            connect_5("c", true, &[]),
            publish(0b010, "a", 1, Some(&[]), b"one"),
            vec![0xC0, 0],
            publish(0, "a", 0, Some(&[]), b"two"),
            // Half a packet, whose rest comes after CONNACK.
            vec![0xC0],
        ];
        assert!(driver.feed(&early.concat()).is_empty());
        let open = driver.authenticate();
        let sent = driver.open(&open, None);
        assert_eq!(sent[sent.len() - 2..], [0xD0, 0]);
        let bodies = driver.requests().into_iter().map(|request| match request {
            Request::Publish(publish) => publish.message.body.clone(),
            other => panic!("{other:?}"),
        });
        assert_eq!(bodies.collect::<Vec<_>>(), [&b"one"[..], b"two"]);
        assert_eq!(driver.feed(&[0]), [0xD0, 0]);
        assert_eq!(driver.feed(&[0xC0, 0]), [0xD0, 0]);
    });
}

#[test]
fn too_much_before_connack_closes() {
    let mut driver = Driver::new();
    driver.feed(&connect_5("c", true, &[]));
    let sent = driver.feed(&vec![0; braid_mqtt::limits::HELD_BYTES_MAX + 1]);
    assert_eq!((sent[0], sent[3]), (0x20, 0x97));
    assert!(driver.endpoint.is_closing());
}

#[test]
fn the_handshake_has_ten_seconds() {
    let mut driver = Driver::new();
    driver.feed(&[0x10]);
    assert!(driver.wait(9_999).is_empty());
    assert!(!driver.endpoint.is_closing());
    driver.feed(&[20]);
    assert!(driver.wait(1).is_empty());
    assert!(driver.endpoint.is_closing() && driver.requests().is_empty());
}

#[test]
fn keep_alive_is_one_and_a_half_intervals() {
    golden(|driver| {
        driver.connected_5(&[]);
        assert!(driver.wait(14_000).is_empty());
        assert_eq!(driver.feed(&[0xC0, 0]), [0xD0, 0]);
        assert!(driver.wait(14_999).is_empty());
        assert_eq!(driver.wait(1), [0xE0, 1, 0x8D]);
        assert!(driver.endpoint.is_closing());
        // The will is not discarded.
        driver.ended_for_good();
    });
    let mut driver = Driver::new();
    driver.connect(&packet(0x10, &[b"\x00\x04MQTT\x04\x02\x00\x00\x00\x01c"]), None);
    assert_eq!(driver.endpoint.poll_timeout(), None);
}

#[test]
fn the_servers_limits_are_told() {
    let options = Options { keep_alive_max_s: Some(5), session_expiry_max_s: 60, ..Options::new(CONNECTION, 1) };
    golden_with(options, |driver| {
        let connack = driver.connect(&connect_5("c", true, &[0x11, 0xFF, 0xFF, 0xFF, 0xFF]), None);
        assert!(connack.windows(5).any(|bytes| bytes == [0x11, 0, 0, 0, 60]));
        assert!(connack.windows(3).any(|bytes| bytes == [0x13, 0, 5]));
        assert_eq!(driver.wait(7_500), [0xE0, 1, 0x8D]);
    });
}

#[test]
fn a_client_that_takes_no_connack_is_closed() {
    let mut driver = Driver::new();
    assert!(driver.connect(&connect_5("c", true, &[0x27, 0, 0, 0, 2]), None).is_empty());
    assert!(driver.endpoint.is_closing());
    driver.ended_for_good();
}

#[test]
fn a_client_that_goes_while_its_session_opens_leaves_it_as_it_was() {
    let mut driver = Driver::new();
    driver.feed(&connect_3("c", false));
    let open = driver.authenticate();
    driver.handle(Event::ConnectionLost);
    assert!(driver.requests().is_empty());
    let state = SessionState { unreleased: vec![5], next_subscription: 9, ..SessionState::default() };
    assert!(driver.open(&open, Some(state)).is_empty());
    let requests = driver.requests();
    assert!(matches!(requests[0], Request::DiscardWill));
    match &requests[1] {
        Request::EndSession { state: Some(state), expiry_s: u32::MAX } => assert_eq!(state.unreleased, [5]),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_second_connect_is_a_fault() {
    let mut driver = Driver::new();
    driver.connected_5(&[]);
    assert_eq!(driver.feed(&connect_5("c", true, &[])), [0xE0, 1, 0x82]);
    let mut driver = Driver::new();
    driver.connected_3();
    assert!(driver.feed(&connect_3("c", true)).is_empty());
    assert!(driver.endpoint.is_closing());
    assert!(driver.feed(&acknowledge(0x40, 1)).is_empty());
}

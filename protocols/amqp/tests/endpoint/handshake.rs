//! From the protocol header to the first channel.

use braid_amqp::{
    frame::{FrameKind, PROTOCOL_HEADER},
    method::{channel, connection},
};
use braid_types::{
    Completion, Credentials, Endpoint, Event, HeaderValue, Headers, Identity, Refusal, RefusalKind, Request,
};
use bytes::Bytes;

use crate::driver::{
    Driver, Split, client_properties, frame_bytes, golden, golden_with, method_bytes, once, options, start_ok, text,
};

#[test]
fn a_client_gets_in() {
    golden(|driver| {
        driver.send(&PROTOCOL_HEADER);
        let start = driver.expect::<connection::Start>(0);
        assert_eq!((start.version_major, start.version_minor), (0, 9));
        assert_eq!(start.mechanisms, "PLAIN AMQPLAIN");
        assert_eq!(start.locales, "en_US");
        let HeaderValue::Table(capabilities) = &start.server_properties[0].1 else { panic!("no capabilities") };
        let can = |name: &str| capabilities.contains(&(text(name), HeaderValue::Boolean(true)));
        for name in ["publisher_confirms", "basic.nack", "consumer_cancel_notify", "connection.blocked"] {
            assert!(can(name), "{name}");
        }
        for name in ["consumer_priorities", "authentication_failure_close", "per_consumer_qos"] {
            assert!(can(name), "{name}");
        }
        assert!(!can("exchange_exchange_bindings") && !can("direct_reply_to"));

        driver.send_method(0, &start_ok(client_properties()));
        let Request::Authenticate(login) = driver.request() else { panic!("no login") };
        let expected = Credentials::Password { user: text("guest"), password: text("guest") };
        assert_eq!((&login.credentials, &login.client_name), (&expected, &text("tester")));
        let result = Ok(Identity { user: text("guest"), vhost: text("/") });
        driver.event(Event::Authenticated { ticket: login.ticket, result });
        let tune = driver.expect::<connection::Tune>(0);
        assert_eq!((tune.channel_max, tune.frame_max, tune.heartbeat), (2047, 131_072, 60));
        driver.send_method(0, &connection::TuneOk { channel_max: 10, frame_max: 4096, heartbeat: 0 });
        driver.send_method(0, &connection::Open { virtual_host: text("/v"), ..Default::default() });
        let Request::OpenVhost { name, .. } = driver.complete_done() else { panic!("no vhost") };
        assert_eq!(name, "/v");
        driver.expect::<connection::OpenOk>(0);
        driver.open_channel(10);
        assert_eq!(driver.connection.poll_timeout(), None);
    });
}

#[test]
fn amqplain_is_a_table_without_its_length() {
    golden(|driver| {
        driver.send(&PROTOCOL_HEADER);
        driver.expect::<connection::Start>(0);
        let response = Bytes::from_static(b"\x05LOGINS\0\0\0\x01u\x08PASSWORDS\0\0\0\x02pw");
        let start_ok = connection::StartOk { mechanism: text("AMQPLAIN"), response, ..start_ok(Headers::new()) };
        driver.send_method(0, &start_ok);
        let Request::Authenticate(login) = driver.request() else { panic!("no login") };
        let expected = Credentials::Password { user: text("u"), password: text("pw") };
        assert_eq!((&login.credentials, login.client_name.len()), (&expected, 0));
    });
}

#[test]
fn what_is_sent_ahead_of_an_answer_waits_for_it() {
    golden(|driver| {
        let ahead = [
            &PROTOCOL_HEADER[..],
            &method_bytes(0, &start_ok(client_properties())),
            &method_bytes(0, &connection::TuneOk::default()),
            &method_bytes(0, &connection::Open { virtual_host: text("/"), ..Default::default() }),
            &method_bytes(1, &channel::Open::default()),
        ]
        .concat();
        driver.send(&ahead);
        driver.expect::<connection::Start>(0);
        driver.expect_silence();
        let Request::Authenticate(login) = driver.request() else { panic!("no login") };
        driver.expect_no_request();
        let result = Ok(Identity { user: text("guest"), vhost: text("/") });
        driver.event(Event::Authenticated { ticket: login.ticket, result });
        driver.expect::<connection::Tune>(0);
        driver.expect_silence();
        driver.complete_done();
        driver.expect::<connection::OpenOk>(0);
        driver.expect::<channel::OpenOk>(1);
    });
}

#[test]
fn a_wrong_protocol_header_gets_the_right_one() {
    for header in
        [&b"AMQP\x00\x01\x00\x00"[..], b"AMQP\x03\x01\x00\x00", b"GET / HTTP/1.1\r\n", b"\x10\x0c\x00\x04MQTT"]
    {
        golden(|driver| {
            driver.send(header);
            assert_eq!(driver.output(), &PROTOCOL_HEADER[..]);
            assert!(driver.connection.is_closing());
        });
    }
}

#[test]
fn frame_max_is_the_clients_from_4096_up_and_ours_if_it_has_no_wish() {
    for (wish, body_piece) in [(0, 131_064), (4096, 4088), (8192, 8184), (131_072, 131_064)] {
        once(|driver| {
            driver.open_with(&connection::TuneOk { channel_max: 0, frame_max: wish, heartbeat: 0 });
            driver.open_channel(1);
            let consume = braid_amqp::method::basic::Consume { queue: text("q"), ..Default::default() };
            let subscription = driver.consume(1, &consume);
            let body: Vec<u8> = (0..1_048_576_u32).map(|at| (at % 251) as u8).collect();
            let message = crate::driver::message("", "q", &body);
            driver.event(Event::Deliver(crate::driver::delivery(subscription, 0, message)));
            driver.expect::<braid_amqp::method::basic::Deliver>(1);
            let (_, pieces) = driver.expect_content(1);
            assert!(pieces.iter().rev().skip(1).all(|piece| piece.len() == body_piece));
            assert_eq!(pieces.concat(), body);
        });
    }
}

#[test]
fn limits_out_of_range_are_not_allowed() {
    let cases = [
        (
            connection::TuneOk { channel_max: 0, frame_max: 4095, heartbeat: 0 },
            "lower than the minimum allowed value (4096)",
        ),
        (connection::TuneOk { channel_max: 0, frame_max: 131_073, heartbeat: 0 }, "higher than the maximum"),
        (connection::TuneOk { channel_max: 2048, frame_max: 0, heartbeat: 0 }, "negotiated channel_max = 2048"),
    ];
    for (tune_ok, words) in cases {
        golden(|driver| {
            driver.log_in(client_properties());
            driver.send_method(0, &tune_ok);
            let close = driver.expect_close(530);
            assert!(String::from_utf8_lossy(&close.reply_text).contains(words), "{close:?}");
            assert_eq!((close.class_id, close.method_id), (10, 31));
            driver.send_method(0, &connection::CloseOk {});
            assert!(driver.connection.is_closing());
        });
    }
}

#[test]
fn a_big_token_fits_before_tuning() {
    once(|driver| {
        driver.send(&PROTOCOL_HEADER);
        driver.expect::<connection::Start>(0);
        let response = [b"\0\0".as_slice(), &[b'j'; 20_480]].concat().into();
        driver.send_method(0, &connection::StartOk { response, ..start_ok(client_properties()) });
        let Request::Authenticate(login) = driver.request() else { panic!("no login") };
        assert!(matches!(&login.credentials, Credentials::Password { password, .. } if password.len() == 20_480));
    });
}

#[test]
fn bad_credentials_are_told_to_those_who_can_hear_it() {
    let refused = || Err(Refusal::new(RefusalKind::BadCredentials, "no"));
    golden(|driver| {
        driver.send(&PROTOCOL_HEADER);
        driver.expect::<connection::Start>(0);
        driver.send_method(0, &start_ok(client_properties()));
        let Request::Authenticate(login) = driver.request() else { panic!("no login") };
        driver.event(Event::Authenticated { ticket: login.ticket, result: refused() });
        let close = driver.expect_close(403);
        let expected = "ACCESS_REFUSED - Login was refused using authentication mechanism PLAIN. \
                        For details see the broker logfile.";
        assert_eq!(close.reply_text, expected);
        assert!(!driver.connection.is_closing());
    });
    golden(|driver| {
        driver.send(&PROTOCOL_HEADER);
        driver.expect::<connection::Start>(0);
        driver.send_method(0, &start_ok(Headers::new()));
        let Request::Authenticate(login) = driver.request() else { panic!("no login") };
        driver.event(Event::Authenticated { ticket: login.ticket, result: refused() });
        driver.expect_silence();
        assert!(driver.connection.is_closing());
    });
}

#[test]
fn an_unknown_mechanism_and_a_missing_vhost_are_refused() {
    golden(|driver| {
        driver.send(&PROTOCOL_HEADER);
        driver.expect::<connection::Start>(0);
        driver.send_method(0, &connection::StartOk { mechanism: text("EXTERNAL"), ..start_ok(client_properties()) });
        let close = driver.expect_close(503);
        assert_eq!(close.reply_text, "COMMAND_INVALID - unknown authentication mechanism 'EXTERNAL'");
    });
    golden(|driver| {
        driver.log_in(client_properties());
        driver.send_method(0, &connection::TuneOk::default());
        driver.send_method(0, &connection::Open { virtual_host: text("nope"), ..Default::default() });
        driver.refuse(RefusalKind::NotFound, "vhost nope not found");
        let close = driver.expect_close(530);
        assert_eq!(close.reply_text, "NOT_ALLOWED - vhost nope not found");
        assert_eq!((close.class_id, close.method_id), (10, 40));
    });
}

#[test]
fn a_handshake_ends_after_ten_seconds() {
    for sent in [&b""[..], b"AMQP", &PROTOCOL_HEADER] {
        let mut driver = Driver::new(options(), Split::Whole);
        driver.send(sent);
        driver.pass_ms(9_999);
        assert!(!driver.connection.is_closing());
        driver.pass_ms(1);
        assert!(driver.connection.is_closing());
    }
    once(|driver| {
        driver.open();
        driver.pass_ms(100_000);
        assert!(!driver.connection.is_closing());
    });
}

#[test]
fn channels_are_counted_and_named_once() {
    let options = braid_amqp::Options { channel_max: 2, ..options() };
    golden_with(options, |driver| {
        driver.open();
        driver.open_channel(1);
        driver.open_channel(2);
        driver.send_method(3, &channel::Open::default());
        let close = driver.expect_close(530);
        let expected = "NOT_ALLOWED - number of channels opened (2) has reached the negotiated channel_max (2)";
        assert_eq!(close.reply_text, expected);
    });
    golden(|driver| {
        driver.open();
        driver.open_channel(1);
        driver.send_method(1, &channel::Open::default());
        assert_eq!(driver.expect_close(503).reply_text, "COMMAND_INVALID - second 'channel.open' seen");
    });
}

#[test]
fn a_second_open_is_a_channel_error() {
    golden(|driver| {
        driver.open();
        driver.send_method(0, &connection::Open { virtual_host: text("/"), ..Default::default() });
        let close = driver.expect_close(504);
        assert_eq!(close.reply_text, "CHANNEL_ERROR - unexpected method in connection state running");
    });
}

#[test]
fn too_much_ahead_of_an_answer_is_a_resource_error() {
    once(|driver| {
        driver.send(&PROTOCOL_HEADER);
        driver.expect::<connection::Start>(0);
        driver.send_method(0, &start_ok(client_properties()));
        for _ in 0..20 {
            driver.send(&frame_bytes(FrameKind::Body, 1, &[0; 60_000]));
        }
        driver.expect_close(506);
        let Request::Authenticate(login) = driver.request() else { panic!("no login") };
        let result = Ok(Identity { user: text("guest"), vhost: text("/") });
        driver.event(Event::Authenticated { ticket: login.ticket, result });
        driver.event(Event::Completed { ticket: login.ticket, result: Ok(Completion::Done) });
        driver.expect_silence();
    });
}

//! Random and mutated input: no panic, no growth, and the same outcome however it is split.

use braid_nats::neutral;
use braid_types::{Endpoint, Event, Message, Properties, Protocol};
use bytes::Bytes;
use proptest::{collection::vec, prelude::*};

use crate::driver::{CONNECT, Driver, VERBOSE, delivery, essence, message};

fn operation() -> impl Strategy<Value = Vec<u8>> {
    let subject = "[a-c*>]{1,2}(\\.[a-c*>]{0,2}){0,2}";
    prop_oneof![
        Just(b"PING\r\n".to_vec()),
        Just(b"PONG\r\n".to_vec()),
        Just(CONNECT.as_bytes().to_vec()),
        Just(VERBOSE.as_bytes().to_vec()),
        (subject, "[1-5]").prop_map(|(subject, sid)| format!("SUB {subject} {sid}\r\n").into_bytes()),
        (subject, "[1-5]").prop_map(|(subject, sid)| format!("SUB {subject} q {sid}\r\n").into_bytes()),
        ("[1-5]", "( [0-9]{1,2})?").prop_map(|(sid, max)| format!("UNSUB {sid}{max}\r\n").into_bytes()),
        (subject, "( [a-c])?", vec(any::<u8>(), 0..20)).prop_map(|(subject, reply, body)| {
            [format!("PUB {subject}{reply} {}\r\n", body.len()).as_bytes(), &body, b"\r\n"].concat()
        }),
        (subject, vec(any::<u8>(), 0..20)).prop_map(|(subject, body)| {
            let header = b"NATS/1.0\r\nA: b\r\n\r\n";
            let total = header.len() + body.len();
            [format!("HPUB {subject} {} {total}\r\n", header.len()).as_bytes(), header, &body, b"\r\n"].concat()
        }),
    ]
}

fn run(pieces: &[&[u8]]) -> (String, Vec<String>, bool) {
    let mut driver = Driver::new();
    for piece in pieces {
        driver.send(piece);
        assert!(driver.input.len() < 1024 * 1024 + 8192);
    }
    let closing = driver.endpoint.is_closing();
    (driver.output, driver.log, closing)
}

fn split<'a>(bytes: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
    let mut rest = bytes;
    let mut pieces = Vec::new();
    for cut in cuts {
        let (piece, after) = rest.split_at((*cut).min(rest.len()));
        pieces.push(piece);
        rest = after;
    }
    pieces.push(rest);
    pieces
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn random_bytes_hurt_nobody(bytes in vec(any::<u8>(), 0..400), prefix in any::<bool>()) {
        let mut driver = if prefix { Driver::connected(CONNECT) } else { Driver::new() };
        driver.send(&bytes);
        driver.pass_ms(20_000);
        driver.tell(Event::Deliver(delivery(1, message("a", "x"))));
    }

    #[test]
    fn valid_streams_do_not_depend_on_their_pieces(
        operations in vec(operation(), 0..30),
        cuts in vec(0usize..40, 0..30),
    ) {
        let stream = [CONNECT.as_bytes(), &operations.concat()].concat();
        let (whole, whole_log, whole_closing) = run(&[&stream]);
        let (pieces, pieces_log, pieces_closing) = run(&split(&stream, &cuts));
        prop_assert_eq!(whole_closing, pieces_closing);
        prop_assert_eq!(essence(&whole_log), essence(&pieces_log));
        // A verbose client's +OK for a publish may pass the message that comes back; what comes, comes in both.
        let sorted = |text: &str| { let mut lines: Vec<_> = text.split("\r\n").map(str::to_owned).collect(); lines.sort(); lines };
        prop_assert_eq!(sorted(&whole), sorted(&pieces));
    }

    #[test]
    fn mutated_streams_hurt_nobody_and_do_not_depend_on_their_pieces(
        operations in vec(operation(), 1..20),
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..5),
        cuts in vec(0usize..40, 0..30),
    ) {
        let mut stream = [CONNECT.as_bytes(), &operations.concat()].concat();
        for (position, byte) in changes {
            let position = position.index(stream.len());
            if let Some(changed) = stream.get_mut(position) {
                *changed = byte;
            }
        }
        let (_, whole_log, whole_closing) = run(&[&stream]);
        let (_, pieces_log, pieces_closing) = run(&split(&stream, &cuts));
        prop_assert_eq!(whole_closing, pieces_closing);
        prop_assert_eq!(essence(&whole_log), essence(&pieces_log));
    }

    #[test]
    fn header_blocks_of_any_bytes_convert(header in vec(any::<u8>(), 0..200), reply in vec(any::<u8>(), 0..40)) {
        let block = [&b"NATS/1.0\r\n"[..], &header].concat();
        for header in [header, block] {
            let message = Message {
                header: Bytes::from(header),
                reply: Bytes::from(reply.clone()),
                ..Message::empty(Protocol::Nats)
            };
            let properties = neutral(&message);
            prop_assert!(properties.headers.len() <= 200);
        }
    }

    #[test]
    fn what_is_written_for_another_protocol_is_read_back(
        correlation in vec(any::<u8>(), 1..30),
        name in "[A-Za-z-]{1,10}",
        value in "[ -~]{0,20}",
    ) {
        let mut driver = Driver::connected(CONNECT);
        driver.send(b"SUB a 1\r\n");
        let text = Bytes::from(value.trim().to_owned());
        let name = Bytes::from(format!("X-{name}"));
        let properties = Properties {
            correlation: Some(Bytes::from(correlation)),
            headers: vec![(name, braid_types::HeaderValue::Text(text))],
            ..Properties::default()
        };
        let mut crossing = delivery(1, Message { origin: Protocol::Amqp, ..message("a", "") });
        crossing.properties = Some(std::sync::Arc::new(properties.clone()));
        let sent = driver.tell(Event::Deliver(crossing));
        let header = sent.split_once("\r\n").unwrap().1.strip_suffix("\r\n").unwrap().to_owned();
        let back = neutral(&Message { header: Bytes::from(header), ..Message::empty(Protocol::Nats) });
        prop_assert_eq!(back, properties);
    }
}

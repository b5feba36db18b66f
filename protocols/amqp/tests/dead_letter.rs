//! Dead letters of AMQP messages: RabbitMQ 4.3's bytes, merging, circles, headers that clients forge, and arbitrary bytes.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use braid_amqp::{dead_letter, deaths, field_table, properties::View};
use braid_types::{ConnectionId, DeadLetter, Death, HeaderValue, Headers, Message, Protocol, Timestamp};
use bytes::Bytes;
use proptest::{collection::vec, prelude::*};

/// Headers as RabbitMQ 4.3.x delivered them from the dead-letter queue (captured; queues `csrc`, `cwork`, `cwait`).
const REJECTED_WITH_EXPIRATION: &str = "bc8001740000015b016153000000016207782d6465617468410000008c4600000087136f726967\
    696e616c2d65787069726174696f6e5300000005363030303005636f756e746c000000000000000106726561736f6e530000000872656a656374\
    65640571756575655300000004637372630474696d6554000000006b0d9a0d0865786368616e676553000000000c726f7574696e672d6b657973\
    410000000953000000046373726316782d66697273742d64656174682d65786368616e6765530000000013782d66697273742d64656174682d71\
    7565756553000000046373726314782d66697273742d64656174682d726561736f6e530000000872656a656374656415782d6c6173742d646561\
    74682d65786368616e6765530000000012782d6c6173742d64656174682d717565756553000000046373726313782d6c6173742d64656174682d\
    726561736f6e530000000872656a6563746564017a490000000102030163016d";
const REJECT_LOOP: &str = "2000000001a007782d646561746841000000df460000006a05636f756e746c000000000000000206726561736f6e\
    530000000765787069726564057175657565530000000563776169740474696d6554000000006b0d9a0e0865786368616e676553000000000c72\
    6f7574696e672d6b657973410000000a53000000056377616974460000006b05636f756e746c000000000000000206726561736f6e5300000008\
    72656a6563746564057175657565530000000563776f726b0474696d6554000000006b0d9a0d0865786368616e676553000000000c726f757469\
    6e672d6b657973410000000a530000000563776f726b16782d66697273742d64656174682d65786368616e6765530000000013782d6669727374\
    2d64656174682d7175657565530000000563776f726b14782d66697273742d64656174682d726561736f6e530000000872656a65637465641578\
    2d6c6173742d64656174682d65786368616e6765530000000012782d6c6173742d64656174682d71756575655300000005637761697413782d6c\
    6173742d64656174682d726561736f6e530000000765787069726564";

/// A message from a client, headers as fields written out.
fn message(header: &[u8]) -> Message {
    Message {
        header: Bytes::copy_from_slice(header),
        key: Bytes::from_static(b"csrc"),
        body: Bytes::from_static(b"body"),
        publisher: ConnectionId(7),
        expires_at: Some(Timestamp(1)),
        ..Message::empty(Protocol::Amqp)
    }
}

fn death(queue: &'static str, reason: &'static str, time_s: u64) -> Death {
    let queue = Bytes::from_static(queue.as_bytes());
    Death { reason, queue: queue.clone(), time_s, exchange: Bytes::new(), routing_keys: vec![queue] }
}

/// Dies again and again, as one message.
fn dies(message: &Message, deaths: &[(&'static str, &'static str, u64)]) -> DeadLetter {
    let mut letter: Option<DeadLetter> = None;
    for (queue, reason, time_s) in deaths {
        let message = letter.as_ref().map_or(message, |letter| &letter.message);
        letter = Some(dead_letter(message, &death(queue, reason, *time_s)));
    }
    letter.unwrap()
}

fn headers(message: &Message) -> Headers {
    let view = View::parse(&message.header).unwrap();
    field_table::decode(view.headers.unwrap(), &message.header).unwrap()
}

fn header(message: &Message, name: &str) -> Option<HeaderValue> {
    let mut found = headers(message).into_iter().filter(|(found, _)| found == name).map(|(_, value)| value);
    let first = found.next();
    assert_eq!(found.next(), None, "{name} twice");
    first
}

fn text(text: &'static str) -> HeaderValue {
    HeaderValue::Text(Bytes::from_static(text.as_bytes()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn the_bytes_are_those_of_rabbitmq() {
    let published = b"\xbd\x80\x01t\0\0\0\x0f\x01zI\0\0\0\x01\x01aS\0\0\0\x01b\x02\x03\x01c\x0560000\x01m";
    let letter = dies(&message(published), &[("csrc", "rejected", 0x6b0d_9a0d)]);
    assert_eq!(hex(&letter.message.header), REJECTED_WITH_EXPIRATION);
    assert_eq!((letter.message.expires_at, letter.message.body), (None, Bytes::from_static(b"body")));
    assert_eq!((letter.message.key, letter.message.exchange), (Bytes::from_static(b"csrc"), Bytes::new()));

    let round = [("cwork", "rejected", 0x6b0d_9a0d), ("cwait", "expired", 0x6b0d_9a0e)];
    let letter = dies(&message(b"\0\0"), &[round, [("cwork", "rejected", 1), ("cwait", "expired", 2)]].concat());
    assert_eq!(hex(&letter.message.header), REJECT_LOOP);
}

#[test]
fn the_first_death_stays_and_the_last_one_follows() {
    let letter = dies(&message(b"\0\0"), &[("a", "maxlen", 1), ("b", "expired", 2), ("c", "delivery_limit", 3)]);
    let mark = |name| header(&letter.message, name);
    assert_eq!((mark("x-first-death-queue"), mark("x-first-death-reason")), (Some(text("a")), Some(text("maxlen"))));
    assert_eq!(
        (mark("x-last-death-queue"), mark("x-last-death-reason")),
        (Some(text("c")), Some(text("delivery_limit")))
    );
    let Some(HeaderValue::List(records)) = mark("x-death") else { panic!("no array") };
    assert_eq!(records.len(), 3);
    let queues: Vec<_> = deaths(&letter.message).into_iter().map(|record| record.queue).collect();
    assert_eq!(queues, ["c", "b", "a"]);
    assert_eq!(deaths(&letter.message), letter.deaths);
}

#[test]
fn a_history_survives_its_bytes() {
    let letter = dies(&message(b"\x01\0\x0560000"), &[("a", "expired", 1), ("b", "rejected", 2), ("a", "expired", 3)]);
    let seen: Vec<_> = deaths(&letter.message)
        .into_iter()
        .map(|record| (record.queue, record.count, record.time_s, record.original_expiration_ms, record.routing_keys))
        .collect();
    let [a, b] = ["a", "b"].map(|name| Bytes::from_static(name.as_bytes()));
    assert_eq!(seen, [(a.clone(), 2, 1, Some(60_000), vec![a]), (b.clone(), 1, 2, None, vec![b])]);
}

#[test]
fn circles_end_unless_somebody_rejected() {
    let letter = dies(&message(b"\0\0"), &[("a", "expired", 1), ("b", "expired", 2)]);
    assert!(letter.is_cycle(b"a") && letter.is_cycle(b"b") && !letter.is_cycle(b"c"));
    let letter = dies(&message(b"\0\0"), &[("a", "rejected", 1), ("b", "expired", 2)]);
    assert!(!letter.is_cycle(b"a") && letter.is_cycle(b"b"));
}

#[test]
fn what_a_client_says_about_deaths_is_replaced() {
    let forged = dies(&message(b"\0\0"), &[("csrc", "rejected", 1), ("x", "expired", 2)]).message;
    let republished = Message { publisher: ConnectionId(7), ..forged };
    assert_eq!(deaths(&republished), []);
    let letter = dies(&republished, &[("csrc", "rejected", 5)]);
    assert_eq!(letter.deaths.len(), 1);
    assert_eq!(letter.deaths.first().map(|record| (record.count, record.time_s)), Some((1, 5)));
    assert_eq!(header(&letter.message, "x-first-death-queue"), Some(text("csrc")));

    let junk: [&[u8]; 4] = [b"S\0\0\0\x04junk", b"A\0\0\0\x01V", b"A\0\0\0\x05F\0\0\0\0", b"V"];
    for value in junk {
        let table = [&b"\x07x-death"[..], value, b"\x13x-first-death-queueI\0\0\0\x05\x01kt\x01"].concat();
        let size = u32::try_from(table.len()).unwrap().to_be_bytes();
        let block = [&[0x20, 0][..], &size, &table].concat();
        for publisher in [ConnectionId(7), ConnectionId::BROKER] {
            let letter = dies(&Message { publisher, ..message(&block) }, &[("q", "rejected", 5)]);
            assert_eq!(letter.deaths.len(), 1, "{value:?}");
            assert_eq!(header(&letter.message, "x-first-death-queue"), Some(text("q")));
            assert_eq!(header(&letter.message, "k"), Some(HeaderValue::Boolean(true)));
        }
    }
}

proptest! {
    #[test]
    fn any_block_becomes_one_that_can_be_read(
        block in prop_oneof![vec(any::<u8>(), 0..60), table_block()],
        is_brokers in any::<bool>(),
    ) {
        let publisher = if is_brokers { ConnectionId::BROKER } else { ConnectionId(7) };
        let letter = dies(&Message { publisher, ..message(&block) }, &[("q", "expired", 5), ("r", "rejected", 6)]);
        let view = View::parse(&letter.message.header).unwrap();
        prop_assert_eq!(view.expiration, None);
        prop_assert!(field_table::validate(view.headers.unwrap()).is_ok());
        prop_assert_eq!(deaths(&letter.message), letter.deaths);
        if let Ok(before) = View::parse(&block) {
            let kept = |view: View<'_>| {
                (view.content_type.map(hex), view.priority, view.reply_to.map(hex), view.timestamp_s, view.app_id.map(hex))
            };
            prop_assert_eq!(kept(before), kept(view));
        }
    }
}

/// Blocks that are nearly right: a table with fields of ours and of clients, and other properties.
fn table_block() -> impl Strategy<Value = Vec<u8>> {
    let name = prop_oneof![Just("x-death"), Just("x-first-death-queue"), Just("x-last-death-reason"), Just("k")];
    let value = prop_oneof![
        Just(b"S\0\0\0\x01v".to_vec()),
        Just(b"A\0\0\0\x0dF\0\0\0\x08\x05countb\xff".to_vec()),
        Just(b"A\0\0\0\x17F\0\0\0\x12\x05queueS\0\0\0\x01q\x04timeV".to_vec()),
        vec(any::<u8>(), 0..12),
    ];
    (any::<u16>(), vec((name, value), 0..5), vec(any::<u8>(), 0..30)).prop_map(|(flags, fields, tail)| {
        let mut table = Vec::new();
        for (name, value) in fields {
            table.push(u8::try_from(name.len()).unwrap());
            table.extend_from_slice(name.as_bytes());
            table.extend_from_slice(&value);
        }
        let size = u32::try_from(table.len()).unwrap().to_be_bytes();
        // Only `headers` before the table, so that it is found.
        let flags = (flags & 0x1ffc) | 0x2000;
        [&flags.to_be_bytes()[..], &size, &table, &tail].concat()
    })
}

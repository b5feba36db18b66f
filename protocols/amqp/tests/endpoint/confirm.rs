//! Publisher confirms.

use std::{collections::BTreeSet, sync::Arc};

use braid_amqp::{
    frame::FrameKind,
    method::{Method, basic, channel, confirm},
};
use braid_types::{Event, Message, PublishResult, RefusalKind, Request, Ticket};

use crate::driver::{Driver, golden, publish, publish_frames};

fn start(driver: &mut Driver) {
    driver.open();
    driver.open_channel(1);
    driver.send_method(1, &confirm::Select::default());
    driver.expect::<confirm::SelectOk>(1);
}

/// Publishes `count` messages; their tickets, return keys and messages.
fn publish_some(driver: &mut Driver, count: usize) -> Vec<(Ticket, u16, Arc<Message>)> {
    let mandatory = basic::Publish { mandatory: true, ..publish("", "q") };
    let all: Vec<_> = (0..count).map(|at| publish_frames(1, &mandatory, &[0, 0], at.to_string().as_bytes())).collect();
    driver.send(&all.concat());
    let next = |_| match driver.request() {
        Request::Publish(publish) => (publish.ticket.expect("a ticket"), publish.channel, publish.message),
        other => panic!("not a publish: {other:?}"),
    };
    (0..count).map(next).collect()
}

fn accepted(ticket: Ticket) -> Event {
    Event::Published { ticket, result: PublishResult::Accepted }
}

fn expect_ack(driver: &mut Driver, delivery_tag: u64, multiple: bool) {
    assert_eq!(driver.expect::<basic::Ack>(1), basic::Ack { delivery_tag, multiple });
}

#[test]
fn acks_of_one_batch_are_put_together() {
    golden(|driver| {
        start(driver);
        let publishes = publish_some(driver, 6);
        driver.events([0, 1, 2, 4].map(|at: usize| accepted(publishes[at].0)));
        expect_ack(driver, 3, true);
        expect_ack(driver, 5, false);
        driver.event(accepted(publishes[3].0));
        expect_ack(driver, 4, false);
        driver.event(accepted(publishes[3].0));
        driver.expect_silence();
        driver.event(accepted(publishes[5].0));
        expect_ack(driver, 6, false);
    });
}

#[test]
fn what_was_refused_is_nacked() {
    golden(|driver| {
        start(driver);
        let publishes = publish_some(driver, 3);
        let refused = PublishResult::Refused(RefusalKind::LimitReached);
        driver.events([
            accepted(publishes[0].0),
            Event::Published { ticket: publishes[1].0, result: refused },
            accepted(publishes[2].0),
        ]);
        expect_ack(driver, 1, false);
        let nack = driver.expect::<basic::Nack>(1);
        assert_eq!((nack.delivery_tag, nack.multiple), (2, false));
        expect_ack(driver, 3, false);
    });
}

#[test]
fn a_return_comes_before_its_ack_and_all_are_acked_once() {
    golden(|driver| {
        start(driver);
        let publishes = publish_some(driver, 20);
        let events = publishes.iter().enumerate().flat_map(|(at, (ticket, channel, message))| {
            let returned = Event::Returned {
                ticket: Some(*ticket),
                channel: *channel,
                message: Arc::clone(message),
                refusal: None,
            };
            let result = if at % 2 == 1 { PublishResult::Unroutable } else { PublishResult::Accepted };
            let published = Event::Published { ticket: *ticket, result };
            [(at % 2 == 1).then_some(returned), Some(published)].into_iter().flatten()
        });
        driver.events(events);
        let (mut returned, mut open): (Vec<u64>, BTreeSet<u64>) = (Vec::new(), (1..=20).collect());
        while let Some(frame) = driver.frame() {
            assert_eq!(frame.kind, FrameKind::Method);
            if frame.payload[2..4] == basic::Return::ID.method.to_be_bytes() {
                let (_, body) = driver.expect_content(1);
                returned.push(String::from_utf8(body.concat()).unwrap().parse::<u64>().unwrap() + 1);
                continue;
            }
            assert_eq!(frame.payload[2..4], basic::Ack::ID.method.to_be_bytes());
            let tag = u64::from_be_bytes(frame.payload[4..12].try_into().unwrap());
            let acked: Vec<_> = if frame.payload[12] == 1 { open.range(..=tag).copied().collect() } else { vec![tag] };
            for tag in acked {
                assert!(open.remove(&tag), "{tag} acked once");
                assert!(tag % 2 == 1 || returned.contains(&tag), "{tag} returned before");
            }
        }
        assert!(open.is_empty());
    });
}

#[test]
fn confirms_that_are_known_come_before_the_channels_end() {
    golden(|driver| {
        start(driver);
        let publishes = publish_some(driver, 2);
        driver.connection_handle_without_write(accepted(publishes[0].0));
        driver.send_method(1, &channel::Close::default());
        expect_ack(driver, 1, false);
        driver.expect::<channel::CloseOk>(1);
        driver.open_channel(1);
        driver.send_method(1, &confirm::Select { no_wait: true });
        publish_some(driver, 1);
        driver.event(accepted(publishes[0].0));
        driver.event(accepted(publishes[1].0));
        driver.expect_silence();
    });
}

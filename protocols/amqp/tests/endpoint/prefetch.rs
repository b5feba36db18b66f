//! Prefetch of consumers and of channels.

use braid_amqp::method::{basic, channel};
use braid_types::{Completion, Outcome, Request, Settlement, SubscriptionId};

use crate::driver::{Driver, deliver, golden, settled, text};

fn start(driver: &mut Driver) {
    driver.open();
    driver.open_channel(1);
}

fn qos(driver: &mut Driver, prefetch_count: u16, global: bool) {
    driver.send_method(1, &basic::Qos { prefetch_size: 0, prefetch_count, global });
}

fn consume(driver: &mut Driver, tag: &str) -> (SubscriptionId, u32) {
    driver.send_method(1, &basic::Consume { queue: text("q"), consumer_tag: text(tag), ..Default::default() });
    let Request::Subscribe(subscribe) = driver.complete_done() else { panic!("no subscribe") };
    driver.expect::<basic::ConsumeOk>(1);
    let Settlement::Acknowledged { messages } = subscribe.settlement else { panic!("no window") };
    (subscribe.subscription, messages)
}

fn expect_bodies(driver: &mut Driver, bodies: &[&str]) {
    for body in bodies {
        assert_eq!(driver.expect_delivery(1).2, body);
    }
    driver.expect_silence();
}

#[test]
fn the_prefetch_of_consumers_holds_for_later_ones() {
    golden(|driver| {
        start(driver);
        assert_eq!(consume(driver, "a").1, 1_048_576);
        qos(driver, 7, false);
        driver.expect::<basic::QosOk>(1);
        driver.expect_no_request();
        assert_eq!(consume(driver, "b").1, 7);
        driver.send_method(1, &basic::Qos { prefetch_size: 1, prefetch_count: 1, global: false });
        assert_eq!(driver.expect_close(540).reply_text, "NOT_IMPLEMENTED - prefetch_size!=0 (1)");
    });
}

#[test]
fn the_prefetch_of_a_channel_holds_for_its_consumers_together() {
    golden(|driver| {
        start(driver);
        qos(driver, 3, true);
        driver.expect::<basic::QosOk>(1);
        let (a, window) = consume(driver, "a");
        assert_eq!(window, 3);
        let (b, _) = consume(driver, "b");
        deliver(driver, a, [1, 2]);
        deliver(driver, b, [3, 4, 5]);
        expect_bodies(driver, &["1", "2", "3"]);
        driver.send_method(1, &basic::Ack { delivery_tag: 2, multiple: true });
        expect_bodies(driver, &["4", "5"]);
        assert_eq!((settled(driver).0, settled(driver).0), (1, 2));
        driver.expect_no_request();
    });
}

#[test]
fn a_changed_channel_prefetch_holds_at_once() {
    golden(|driver| {
        start(driver);
        let (a, window) = consume(driver, "a");
        assert_eq!(window, 1_048_576);
        qos(driver, 1, true);
        let Request::SetWindow { subscription, messages } = driver.request() else { panic!("no window") };
        assert_eq!((subscription, messages), (a, 1));
        driver.expect::<basic::QosOk>(1);
        deliver(driver, a, [1, 2, 3]);
        expect_bodies(driver, &["1"]);
        qos(driver, 2, true);
        assert!(matches!(driver.request(), Request::SetWindow { messages: 2, .. }));
        assert_eq!(driver.expect_delivery(1).2, "2");
        driver.expect::<basic::QosOk>(1);
        qos(driver, 0, true);
        assert!(matches!(driver.request(), Request::SetWindow { messages: 1_048_576, .. }));
        assert_eq!(driver.expect_delivery(1).2, "3");
        driver.expect::<basic::QosOk>(1);
    });
}

#[test]
fn what_was_not_sent_goes_back_uncounted() {
    golden(|driver| {
        start(driver);
        qos(driver, 1, true);
        driver.expect::<basic::QosOk>(1);
        let (a, _) = consume(driver, "a");
        let (b, _) = consume(driver, "b");
        deliver(driver, a, [1, 2]);
        deliver(driver, b, [3]);
        expect_bodies(driver, &["1"]);
        driver.send_method(1, &basic::Cancel { consumer_tag: text("a"), no_wait: false });
        assert_eq!(settled(driver), (2, Outcome::Released));
        driver.complete(Ok(Completion::Unsubscribed { existed: true }));
        driver.expect::<basic::CancelOk>(1);
        driver.send_method(1, &channel::Close::default());
        assert_eq!(settled(driver), (3, Outcome::Released));
        assert_eq!(settled(driver), (1, Outcome::Modified));
        assert!(matches!(driver.request(), Request::Unsubscribe { subscription, .. } if subscription == b));
    });
}

#[test]
fn gets_and_unacknowledged_consumers_are_not_counted() {
    golden(|driver| {
        start(driver);
        qos(driver, 1, true);
        driver.expect::<basic::QosOk>(1);
        let (a, _) = consume(driver, "a");
        deliver(driver, a, [1]);
        expect_bodies(driver, &["1"]);
        driver.send_method(
            1,
            &basic::Consume { queue: text("q"), consumer_tag: text("n"), no_ack: true, ..Default::default() },
        );
        let Request::Subscribe(subscribe) = driver.complete_done() else { panic!("no subscribe") };
        driver.expect::<basic::ConsumeOk>(1);
        deliver(driver, subscribe.subscription, [2, 3]);
        expect_bodies(driver, &["2", "3"]);
    });
}

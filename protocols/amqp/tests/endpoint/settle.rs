//! Acks, nacks, rejects and recover.

use braid_amqp::method::{basic, channel, confirm};
use braid_types::{Completion, Outcome, Request, SubscriptionId};

use crate::driver::{Driver, deliver, golden, settled, text};

fn start(driver: &mut Driver, messages: u64) -> SubscriptionId {
    driver.open();
    driver.open_channel(1);
    let subscription = driver.consume(1, &basic::Consume { queue: text("q"), ..Default::default() });
    deliver(driver, subscription, 1..=messages);
    driver.output();
    subscription
}

#[test]
fn each_method_has_its_outcome() {
    golden(|driver| {
        start(driver, 6);
        driver.send_method(1, &basic::Ack { delivery_tag: 1, multiple: false });
        assert_eq!(settled(driver), (1, Outcome::Accepted));
        driver.send_method(1, &basic::Nack { delivery_tag: 2, multiple: false, requeue: true });
        assert_eq!(settled(driver), (2, Outcome::Released));
        driver.send_method(1, &basic::Nack { delivery_tag: 3, multiple: false, requeue: false });
        assert_eq!(settled(driver), (3, Outcome::Rejected));
        driver.send_method(1, &basic::Reject { delivery_tag: 4, requeue: true });
        assert_eq!(settled(driver), (4, Outcome::Modified));
        driver.send_method(1, &basic::Reject { delivery_tag: 5, requeue: false });
        assert_eq!(settled(driver), (5, Outcome::Rejected));
        driver.send_method(1, &basic::Recover { requeue: true });
        assert_eq!(settled(driver), (6, Outcome::Released));
        driver.expect_silence();
        assert!(matches!(driver.complete_done(), Request::Sync { .. }));
        driver.expect::<basic::RecoverOk>(1);
        driver.send_method(1, &basic::RecoverAsync { requeue: true });
        driver.expect_no_request();
        driver.expect_silence();
    });
}

/// SPEC section 8, P7: any answer on the channel means that what was acknowledged before will not come again.
#[test]
fn answers_wait_until_what_was_settled_before_is_gone_for_good() {
    golden(|driver| {
        start(driver, 2);
        let qos = basic::Qos { prefetch_size: 0, prefetch_count: 7, global: false };
        driver.send_method(1, &qos);
        driver.expect::<basic::QosOk>(1);
        driver.send_method(1, &basic::Ack { delivery_tag: 1, multiple: false });
        assert_eq!(settled(driver), (1, Outcome::Accepted));
        driver.send_method(1, &qos);
        driver.send_method(1, &confirm::Select { no_wait: false });
        driver.expect_silence();
        assert!(matches!(driver.complete_done(), Request::Sync { .. }));
        driver.expect::<basic::QosOk>(1);
        driver.expect_silence();
        assert!(matches!(driver.complete_done(), Request::Sync { .. }), "answers keep their order");
        driver.expect::<confirm::SelectOk>(1);
        driver.send_method(1, &qos);
        driver.expect::<basic::QosOk>(1);
    });
}

#[test]
fn a_channel_without_consumers_is_closed_when_what_it_settled_is_gone_for_good() {
    golden(|driver| {
        driver.open();
        driver.open_channel(1);
        let consume = basic::Consume { queue: text("q"), consumer_tag: text("c"), ..Default::default() };
        let subscription = driver.consume(1, &consume);
        deliver(driver, subscription, 1..=1);
        driver.output();
        driver.send_method(1, &basic::Cancel { consumer_tag: text("c"), no_wait: false });
        assert!(matches!(
            driver.complete(Ok(Completion::Unsubscribed { existed: true })),
            Request::Unsubscribe { subscription: ended, .. } if ended == subscription
        ));
        driver.expect::<basic::CancelOk>(1);
        driver.send_method(1, &basic::Ack { delivery_tag: 1, multiple: false });
        assert_eq!(settled(driver), (1, Outcome::Accepted));
        let close = channel::Close { reply_code: 200, reply_text: text("bye"), class_id: 0, method_id: 0 };
        driver.send_method(1, &close);
        driver.expect_silence();
        assert!(matches!(driver.complete_done(), Request::Sync { .. }));
        driver.expect::<channel::CloseOk>(1);
    });
}

#[test]
fn multiple_settles_what_is_open_up_to_the_tag_in_order() {
    golden(|driver| {
        start(driver, 8);
        driver.send_method(1, &basic::Ack { delivery_tag: 3, multiple: false });
        assert_eq!(settled(driver), (3, Outcome::Accepted));
        driver.send_method(1, &basic::Ack { delivery_tag: 5, multiple: true });
        for number in [1, 2, 4, 5] {
            assert_eq!(settled(driver), (number, Outcome::Accepted));
        }
        driver.send_method(1, &basic::Nack { delivery_tag: 0, multiple: true, requeue: true });
        for number in [6, 7, 8] {
            assert_eq!(settled(driver), (number, Outcome::Released));
        }
        driver.send_method(1, &basic::Ack { delivery_tag: 0, multiple: true });
        driver.expect_no_request();
        driver.expect_silence();
    });
}

#[test]
fn unknown_tags_close_the_channel_only() {
    for (delivery_tag, multiple) in [(0, false), (1, false), (1, true), (3, false), (9, true), (u64::MAX, true)] {
        golden(|driver| {
            start(driver, 2);
            driver.send_method(1, &basic::Ack { delivery_tag: 1, multiple: false });
            settled(driver);
            driver.open_channel(2);
            driver.send_method(1, &basic::Ack { delivery_tag, multiple });
            let close = driver.expect_channel_close(1, 406);
            let expected = format!("PRECONDITION_FAILED - unknown delivery tag {delivery_tag}");
            assert_eq!(close.reply_text, expected);
            assert_eq!((close.class_id, close.method_id), (60, 80));
            assert!(matches!(driver.request(), Request::Unsubscribe { .. }));
            // Acks for a channel that is closing are discarded, and the connection goes on.
            driver.send_method(1, &basic::Ack { delivery_tag: 2, multiple: false });
            driver.expect_no_request();
            driver.send_method(2, &basic::Qos::default());
            driver.expect::<basic::QosOk>(2);
            driver.send_method(1, &channel::CloseOk {});
            driver.open_channel(1);
        });
    }
}

#[test]
fn recover_without_requeue_and_flow_off_are_not_implemented() {
    golden(|driver| {
        start(driver, 0);
        driver.send_method(1, &channel::Flow { active: true });
        assert!(driver.expect::<channel::FlowOk>(1).active);
        driver.send_method(1, &basic::Recover { requeue: false });
        assert_eq!(driver.expect_close(540).reply_text, "NOT_IMPLEMENTED - requeue=false");
    });
    golden(|driver| {
        start(driver, 0);
        driver.send_method(1, &channel::Flow { active: false });
        assert_eq!(driver.expect_close(540).reply_text, "NOT_IMPLEMENTED - active=false");
    });
}

//! Exchanges, queues, bindings.

use braid_amqp::method::{channel, exchange, queue};
use braid_types::{Completion, HeaderValue, RefusalKind, Request};

use crate::driver::{Driver, golden, method_bytes, text};

fn start(driver: &mut Driver) {
    driver.open();
    driver.open_channel(1);
}

fn declared(name: &str, message_count: u64, consumer_count: u32) -> Completion {
    Completion::Declared { name: text(name), message_count, consumer_count }
}

#[test]
fn exchanges_are_declared_and_deleted() {
    golden(|driver| {
        start(driver);
        let declare = exchange::Declare {
            exchange: text("x"),
            kind: text("topic"),
            durable: true,
            internal: true,
            arguments: vec![(text("alternate-exchange"), HeaderValue::Text(text("y")))],
            ..Default::default()
        };
        driver.send_method(1, &declare);
        let Request::DeclareExchange(request) = driver.complete_done() else { panic!("no declare") };
        assert_eq!((&request.name, &request.kind), (&text("x"), &text("topic")));
        assert!(request.durable && request.internal && !request.passive && !request.auto_delete);
        assert_eq!(request.arguments, declare.arguments);
        driver.expect::<exchange::DeclareOk>(1);

        driver.send_method(1, &exchange::Declare { passive: true, no_wait: true, ..declare });
        driver.complete_done();
        driver.expect_silence();

        driver.send_method(1, &exchange::Delete { exchange: text("x"), if_unused: true, ..Default::default() });
        assert!(matches!(driver.complete_done(), Request::DeleteExchange { if_unused: true, .. }));
        driver.expect::<exchange::DeleteOk>(1);
    });
}

#[test]
fn queues_are_declared_bound_purged_and_deleted() {
    golden(|driver| {
        start(driver);
        let declare = queue::Declare { queue: text("q"), durable: true, exclusive: true, ..Default::default() };
        driver.send_method(1, &declare);
        let Request::DeclareGroup(request) = driver.complete(Ok(declared("q", 5, 2))) else { panic!("no declare") };
        assert!(request.durable && request.exclusive && !request.auto_delete && !request.passive);
        let ok = driver.expect::<queue::DeclareOk>(1);
        assert_eq!((ok.queue, ok.message_count, ok.consumer_count), (text("q"), 5, 2));

        let bind = queue::Bind { exchange: text("x"), routing_key: text("k"), queue: text("q"), ..Default::default() };
        driver.send_method(1, &bind);
        let Request::Bind(request) = driver.complete_done() else { panic!("no bind") };
        assert_eq!((&request.group, &request.exchange, &request.key), (&text("q"), &text("x"), &text("k")));
        driver.expect::<queue::BindOk>(1);
        driver.send_method(1, &queue::Bind { no_wait: true, ..bind });
        driver.complete_done();
        driver.expect_silence();

        let unbind = queue::Unbind { exchange: text("x"), routing_key: text("k"), ..Default::default() };
        driver.send_method(1, &unbind);
        let Request::Unbind(request) = driver.complete_done() else { panic!("no unbind") };
        assert_eq!(request.group, "q");
        driver.expect::<queue::UnbindOk>(1);

        driver.send_method(1, &queue::Purge::default());
        driver.complete(Ok(Completion::Removed { message_count: 7 }));
        assert_eq!(driver.expect::<queue::PurgeOk>(1).message_count, 7);
        driver.send_method(1, &queue::Purge { no_wait: true, ..Default::default() });
        driver.complete(Ok(Completion::Removed { message_count: 0 }));
        driver.expect_silence();

        driver.send_method(1, &queue::Delete { if_empty: true, ..Default::default() });
        let request = driver.complete(Ok(Completion::Removed { message_count: 3 }));
        assert!(matches!(request, Request::DeleteGroup { if_empty: true, if_unused: false, .. }));
        assert_eq!(driver.expect::<queue::DeleteOk>(1).message_count, 3);
    });
}

#[test]
fn what_follows_a_queue_without_a_name_waits_for_the_name() {
    golden(|driver| {
        start(driver);
        let ahead = [
            method_bytes(1, &queue::Declare { queue: text("first"), ..Default::default() }),
            method_bytes(1, &queue::Declare::default()),
            method_bytes(1, &queue::Bind { exchange: text("x"), ..Default::default() }),
            method_bytes(1, &queue::Declare { no_wait: true, ..Default::default() }),
            method_bytes(1, &queue::Purge::default()),
        ]
        .concat();
        driver.send(&ahead);
        driver.complete(Ok(declared("first", 0, 0)));
        assert_eq!(driver.expect::<queue::DeclareOk>(1).queue, "first");
        let request = driver.complete(Ok(declared("amq.gen-1", 0, 0)));
        assert!(matches!(request, Request::DeclareGroup(declare) if declare.name.is_empty()));
        assert_eq!(driver.expect::<queue::DeclareOk>(1).queue, "amq.gen-1");
        let Request::Bind(bind) = driver.complete_done() else { panic!("no bind") };
        assert_eq!((&bind.group, &bind.key), (&text("amq.gen-1"), &text("amq.gen-1")));
        driver.expect::<queue::BindOk>(1);
        driver.complete(Ok(declared("amq.gen-2", 0, 0)));
        driver.expect_silence();
        assert!(matches!(driver.request(), Request::PurgeGroup { name, .. } if name == "amq.gen-2"));
    });
}

#[test]
fn without_a_declared_queue_an_empty_name_names_nothing() {
    golden(|driver| {
        start(driver);
        driver.send_method(1, &queue::Purge::default());
        let close = driver.expect_channel_close(1, 404);
        assert_eq!(close.reply_text, "NOT_FOUND - no previously declared queue");
        driver.send_method(1, &channel::CloseOk {});
        driver.open_channel(1);
        driver.send_method(1, &queue::Declare { passive: true, ..Default::default() });
        assert_eq!(driver.expect_channel_close(1, 404).reply_text, "NOT_FOUND - no queue '' in vhost '/'");
    });
}

#[test]
fn refusals_close_what_their_code_says_and_name_the_method() {
    let soft = [
        (RefusalKind::NotFound, 404, "NOT_FOUND - why"),
        (RefusalKind::PreconditionFailed, 406, "PRECONDITION_FAILED - why"),
        (RefusalKind::AccessRefused, 403, "ACCESS_REFUSED - why"),
        (RefusalKind::ResourceLocked, 405, "RESOURCE_LOCKED - why"),
    ];
    for (kind, code, words) in soft {
        golden(|driver| {
            start(driver);
            driver.send_method(1, &queue::Declare { queue: text("q"), passive: true, ..Default::default() });
            driver.refuse(kind, "why");
            let close = driver.expect_channel_close(1, code);
            assert_eq!(close.reply_text, words);
            assert_eq!((close.class_id, close.method_id), (50, 10));
            driver.send_method(1, &channel::CloseOk {});
            driver.open_channel(1);
        });
    }
    let hard = [
        (RefusalKind::NotAllowed, 530),
        (RefusalKind::NotImplemented, 540),
        (RefusalKind::LimitReached, 506),
        (RefusalKind::Unavailable, 506),
        (RefusalKind::Internal, 541),
    ];
    for (kind, code) in hard {
        golden(|driver| {
            start(driver);
            driver.send_method(1, &exchange::Delete { exchange: text("x"), no_wait: true, ..Default::default() });
            driver.refuse(kind, "why");
            let close = driver.expect_close(code);
            assert_eq!((close.class_id, close.method_id), (40, 20));
        });
    }
}

#[test]
fn what_this_broker_does_not_do_is_said() {
    let unknown = exchange::Declare { exchange: text("x"), kind: text("x-odd"), ..Default::default() };
    golden(|driver| {
        start(driver);
        driver.send_method(1, &unknown);
        assert_eq!(driver.expect_close(503).reply_text, "COMMAND_INVALID - unknown exchange type 'x-odd'");
    });
    for method in [method_bytes(1, &exchange::Bind::default()), method_bytes(1, &exchange::Unbind::default())] {
        golden(|driver| {
            start(driver);
            driver.send(&method);
            driver.expect_close(540);
        });
    }
}

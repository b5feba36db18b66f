//! MQTT 3.1.1 and 5 with rumqttc: each scenario runs with both versions unless it is about one of them.

use std::collections::BTreeSet;

use braid_conformance::{
    Broker, Failure, Outcome, Port, Wire,
    mqtt::{Client, Options, PublishProperties, Reply, Version, Will},
    raw::Raw,
    unique,
};

/// A broker and a way to connect to it.
struct Scene {
    broker: Broker,
}

impl Scene {
    async fn new() -> Result<Self, Failure> {
        Ok(Self { broker: Broker::start().await? })
    }

    async fn client(&self, version: Version) -> Result<Client, Failure> {
        self.connect(&Options::new(version)).await
    }

    async fn connect(&self, options: &Options) -> Result<Client, Failure> {
        Client::connect(self.broker.address(Port::Mqtt)?, options).await
    }
}

/// Proves that nothing has come for `subscriber`: a message sent to it now is the next that it gets.
async fn nothing_before(subscriber: &mut Client, publisher: &mut Client) -> Outcome {
    let topic = unique("marker");
    subscriber.subscribe(&topic, 1).await?;
    publisher.publish(&topic, 1, b"marker").await?;
    let next = subscriber.next().await?;
    assert_eq!(next.topic, topic, "an unexpected message: {next:?}");
    subscriber.unsubscribe(&topic).await
}

#[tokio::test]
async fn each_quality_of_service_delivers_once_at_the_lower_of_both() -> Outcome {
    let scene = Scene::new().await?;
    for version in Version::ALL {
        for granted in 0..=2_u8 {
            let mut subscriber = scene.client(version).await?;
            let mut publisher = scene.client(version).await?;
            let topic = unique("qos");
            assert_eq!(subscriber.subscribe(&topic, granted).await?, granted);
            for published in 0..=2_u8 {
                publisher.publish(&topic, published, &[published]).await?;
                let message = subscriber.next().await?;
                assert_eq!(
                    (message.topic.as_str(), message.payload.as_ref()),
                    (topic.as_str(), [published].as_slice())
                );
                assert_eq!(message.qos, published.min(granted), "{version:?}");
                assert!(!message.retain && !message.dup);
            }
            nothing_before(&mut subscriber, &mut publisher).await?;
        }
    }
    Ok(())
}

#[tokio::test]
async fn wildcards_match_levels() -> Outcome {
    let scene = Scene::new().await?;
    for version in Version::ALL {
        let base = unique("wild");
        let cases = [
            ("a/b", vec![("a/b", true), ("a/b/c", false), ("a", false)]),
            ("+/b", vec![("a/b", true), ("/b", true), ("a/c", false), ("a/a/b", false)]),
            ("a/#", vec![("a", true), ("a/b", true), ("a/b/c", true), ("b", false)]),
            ("a/+/c", vec![("a/b/c", true), ("a//c", true), ("a/c", false)]),
            ("#", vec![("a", true), ("a/b//", true)]),
        ];
        for (filter, topics) in cases {
            let mut subscriber = scene.client(version).await?;
            let mut publisher = scene.client(version).await?;
            subscriber.subscribe(&format!("{base}/{filter}"), 1).await?;
            for (topic, matches) in topics {
                let topic = format!("{base}/{topic}");
                publisher.publish(&topic, 1, b"x").await?;
                if matches {
                    assert_eq!(subscriber.next().await?.topic, topic, "{filter}");
                }
            }
            nothing_before(&mut subscriber, &mut publisher).await?;
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_filter_that_begins_with_a_wildcard_sees_no_dollar_topic() -> Outcome {
    let scene = Scene::new().await?;
    let mut subscriber = scene.client(Version::V5).await?;
    let mut publisher = scene.client(Version::V5).await?;
    let name = unique("dollar");
    subscriber.subscribe(&format!("+/{name}"), 1).await?;
    publisher.publish(&format!("$x/{name}"), 1, b"hidden").await?;
    publisher.publish(&format!("x/{name}"), 1, b"seen").await?;
    assert_eq!(subscriber.next().await?.payload.as_ref(), b"seen");
    subscriber.subscribe(&format!("$x/{name}"), 1).await?;
    publisher.publish(&format!("$x/{name}"), 1, b"named").await?;
    assert_eq!(subscriber.next().await?.payload.as_ref(), b"named");
    Ok(())
}

#[tokio::test]
async fn retained_messages_are_kept_replaced_and_removed() -> Outcome {
    let scene = Scene::new().await?;
    for version in Version::ALL {
        let base = unique("retained");
        let topic = format!("{base}/a");
        let mut live = scene.client(version).await?;
        live.subscribe(&topic, 1).await?;
        let mut publisher = scene.client(version).await?;
        publisher.retain(&topic, 1, b"old").await?;
        publisher.retain(&topic, 1, b"new").await?;
        assert!(!live.next().await?.retain && !live.next().await?.retain, "a live copy is flagged as retained");
        for filter in [topic.clone(), format!("{base}/#"), format!("{base}/+")] {
            let mut late = scene.client(version).await?;
            late.subscribe(&filter, 1).await?;
            let message = late.next().await?;
            assert!(message.retain, "not flagged");
            assert_eq!((message.topic.as_str(), message.payload.as_ref()), (topic.as_str(), b"new".as_slice()));
            nothing_before(&mut late, &mut publisher).await?;
        }
        publisher.retain(&topic, 1, b"").await?;
        assert!(live.next().await?.payload.is_empty());
        let mut late = scene.client(version).await?;
        late.subscribe(&topic, 1).await?;
        nothing_before(&mut late, &mut publisher).await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_will_is_published_when_the_connection_is_lost_and_not_after_a_goodbye() -> Outcome {
    let scene = Scene::new().await?;
    for version in Version::ALL {
        let topic = unique("will");
        let mut watcher = scene.client(version).await?;
        watcher.subscribe(&topic, 1).await?;
        let will = |payload: &str| {
            let mut options = Options::new(version);
            options.will = Some(Will { topic: topic.clone(), payload: payload.as_bytes().to_vec() });
            options
        };
        scene.connect(&will("polite")).await?.disconnect().await?;
        let wire = Wire::to(scene.broker.address(Port::Mqtt)?).await?;
        let _lost = Client::connect(wire.address(), &will("lost")).await?;
        wire.cut().await;
        assert_eq!(watcher.next().await?.payload.as_ref(), b"lost", "{version:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_client_that_says_goodbye_and_comes_back_at_once_fires_no_will() -> Outcome {
    let scene = Scene::new().await?;
    let mut watcher = scene.client(Version::V311).await?;
    watcher.subscribe("bye", 1).await?;
    for round in 0..50 {
        let mut client = Raw::connect(scene.broker.address(Port::Mqtt)?).await?;
        // Version 3.1.1, session kept, keepalive 60 s, client id `back`, will `lost` to `bye`.
        client.send(b"\x10\x1b\x00\x04MQTT\x04\x04\x00\x3c\x00\x04back\x00\x03bye\x00\x04lost").await?;
        client.read_exactly(4).await?;
        client.send(b"\x30\x0a\x00\x03byealive").await?;
        client.send(b"\xe0\x00").await?;
        let payload = watcher.next().await?.payload;
        assert_eq!(payload.as_ref(), b"alive", "round {round}");
    }
    Ok(())
}

#[tokio::test]
async fn a_silent_client_is_closed_after_its_keepalive() -> Outcome {
    let scene = Scene::new().await?;
    let mut silent = Raw::connect(scene.broker.address(Port::Mqtt)?).await?;
    // Version 3.1.1, clean session, keepalive of one second, client id `hush`.
    silent.send(b"\x10\x10\x00\x04MQTT\x04\x02\x00\x01\x00\x04hush").await?;
    assert_eq!(silent.read_exactly(4).await?, b"\x20\x02\x00\x00");
    assert_eq!(silent.read_to_close().await?, b"");
    Ok(())
}

#[tokio::test]
async fn members_of_a_share_get_each_message_once() -> Outcome {
    let scene = Scene::new().await?;
    for (one, other) in [(Version::V5, Version::V5), (Version::V5, Version::V311), (Version::V311, Version::V311)] {
        let base = unique("share");
        let filter = format!("$share/workers/{base}/+");
        let mut members = [scene.client(one).await?, scene.client(other).await?];
        for member in &mut members {
            assert_eq!(member.subscribe(&filter, 1).await?, 1);
        }
        let mut plain = scene.client(one).await?;
        plain.subscribe(&format!("{base}/#"), 1).await?;
        let mut publisher = scene.client(one).await?;
        for number in 0..100_u8 {
            publisher.publish(&format!("{base}/{}", number % 7), 1, &[number]).await?;
        }
        let mut plainly = Vec::new();
        for _ in 0..100 {
            plainly.extend_from_slice(&plain.next().await?.payload);
        }
        assert_eq!(plainly, (0..100).collect::<Vec<u8>>(), "a plain subscriber gets all, in order");
        let mut seen = BTreeSet::new();
        for member in &mut members {
            nothing_after_share(member, &mut publisher, &mut seen).await?;
        }
        assert_eq!(seen.len(), 100);
    }
    Ok(())
}

/// Takes all that `member` has got, up to a marker that is sent now.
async fn nothing_after_share(member: &mut Client, publisher: &mut Client, seen: &mut BTreeSet<u8>) -> Outcome {
    let marker = unique("marker");
    member.subscribe(&marker, 1).await?;
    publisher.publish(&marker, 1, b"").await?;
    let before = seen.len();
    loop {
        let message = member.next().await?;
        if message.topic == marker {
            break;
        }
        assert!(seen.insert(message.payload[0]), "{} came twice", message.payload[0]);
    }
    assert!(seen.len() > before, "a member got nothing");
    Ok(())
}

#[tokio::test]
async fn a_persistent_session_gets_what_it_missed() -> Outcome {
    let scene = Scene::new().await?;
    for version in Version::ALL {
        let mut options = Options::new(version);
        options.persistent = true;
        let topic = unique("session");
        let mut client = scene.connect(&options).await?;
        assert!(!client.session_present);
        client.subscribe(&topic, 1).await?;
        client.disconnect().await?;
        let mut publisher = scene.client(version).await?;
        for number in 0..10_u8 {
            publisher.publish(&topic, 1, &[number]).await?;
        }
        let mut client = scene.connect(&options).await?;
        assert!(client.session_present, "{version:?}: the session is gone");
        for number in 0..10_u8 {
            let message = client.next().await?;
            assert_eq!((message.payload.as_ref(), message.qos), ([number].as_slice(), 1));
        }
        nothing_before(&mut client, &mut publisher).await?;
        client.disconnect().await?;
        options.persistent = false;
        assert!(!scene.connect(&options).await?.session_present, "{version:?}: a clean start kept the session");
    }
    Ok(())
}

#[tokio::test]
async fn unacknowledged_messages_are_sent_again_to_their_session() -> Outcome {
    let scene = Scene::new().await?;
    for version in Version::ALL {
        let mut options = Options::new(version);
        options.persistent = true;
        options.manual_acks = true;
        let topic = unique("again");
        let wire = Wire::to(scene.broker.address(Port::Mqtt)?).await?;
        let mut client = Client::connect(wire.address(), &options).await?;
        client.subscribe(&topic, 1).await?;
        let mut publisher = scene.client(version).await?;
        for number in 0..3_u8 {
            publisher.publish(&topic, 1, &[number]).await?;
        }
        let first = client.next().await?;
        client.sender.acknowledge(&first).await?;
        client.unsubscribe(&unique("barrier")).await?;
        wire.cut().await;
        drop(client);
        let mut client = scene.connect(&options).await?;
        for number in 1..3_u8 {
            let message = client.next().await?;
            assert_eq!(message.payload.as_ref(), [number], "{version:?}");
            client.sender.acknowledge(&message).await?;
        }
        nothing_before(&mut client, &mut publisher).await?;
    }
    Ok(())
}

#[tokio::test]
async fn an_unsubscribed_filter_gets_nothing_more() -> Outcome {
    let scene = Scene::new().await?;
    for version in Version::ALL {
        let topic = unique("leave");
        let mut subscriber = scene.client(version).await?;
        let mut publisher = scene.client(version).await?;
        for filter in [topic.clone(), format!("$share/leavers/{topic}")] {
            subscriber.subscribe(&filter, 1).await?;
            publisher.publish(&topic, 1, b"one").await?;
            assert_eq!(subscriber.next().await?.payload.as_ref(), b"one");
            subscriber.unsubscribe(&filter).await?;
            publisher.publish(&topic, 1, b"two").await?;
            nothing_before(&mut subscriber, &mut publisher).await?;
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_second_client_with_the_same_id_takes_over() -> Outcome {
    let scene = Scene::new().await?;
    for version in Version::ALL {
        let options = Options::new(version);
        let mut old = scene.connect(&options).await?;
        let mut new = scene.connect(&options).await?;
        // rumqttc may meet the close before it has told about a DISCONNECT; the bytes are looked at below.
        assert!(matches!(old.reply().await?, Reply::Lost(_) | Reply::Disconnected(_)));
        let mut publisher = scene.client(version).await?;
        nothing_before(&mut new, &mut publisher).await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_client_of_version_5_is_told_that_its_session_was_taken_over() -> Outcome {
    let scene = Scene::new().await?;
    let mut old = Raw::connect(scene.broker.address(Port::Mqtt)?).await?;
    old.send(b"\x10\x12\x00\x04MQTT\x05\x02\x00\x3c\x00\x00\x05taken").await?;
    let head = old.read_exactly(2).await?;
    assert_eq!(head[0], 0x20, "no CONNACK");
    old.read_exactly(usize::from(head[1])).await?;
    let mut options = Options::new(Version::V5);
    "taken".clone_into(&mut options.client_id);
    let _new = scene.connect(&options).await?;
    let goodbye = old.read_to_close().await?;
    assert_eq!((goodbye.first(), goodbye.get(2)), (Some(&0xe0), Some(&0x8e)), "{}", goodbye.escape_ascii());
    Ok(())
}

#[tokio::test]
async fn properties_of_version_5_arrive_as_they_were_sent() -> Outcome {
    let scene = Scene::new().await?;
    let topic = unique("properties");
    let mut subscriber = scene.client(Version::V5).await?;
    subscriber.subscribe(&topic, 1).await?;
    let mut old = scene.client(Version::V311).await?;
    old.subscribe(&topic, 1).await?;
    let mut publisher = scene.client(Version::V5).await?;
    let properties = PublishProperties {
        payload_format_indicator: Some(1),
        response_topic: Some("answers/here".to_owned()),
        correlation_data: Some(vec![0, 255, 7].into()),
        user_properties: vec![("a".to_owned(), "1".to_owned()), ("a".to_owned(), "2".to_owned())],
        content_type: Some("text/plain".to_owned()),
        ..PublishProperties::default()
    };
    publisher.sender.publish_with(&topic, 1, b"body", properties.clone()).await?;
    publisher.published(1).await?;
    assert_eq!(subscriber.next().await?.properties, Some(properties));
    assert_eq!(old.next().await?.payload.as_ref(), b"body");
    Ok(())
}

#[tokio::test]
async fn receive_maximum_is_never_exceeded() -> Outcome {
    let scene = Scene::new().await?;
    let topic = unique("window");
    let mut options = Options::new(Version::V5);
    options.manual_acks = true;
    options.receive_maximum = Some(3);
    let mut subscriber = scene.connect(&options).await?;
    subscriber.subscribe(&topic, 1).await?;
    let mut publisher = scene.client(Version::V5).await?;
    for number in 0..6_u8 {
        publisher.publish(&topic, 1, &[number]).await?;
    }
    let mut held = Vec::new();
    for _ in 0..3 {
        held.push(subscriber.next().await?);
    }
    // A QoS 0 message does not count and overtakes those that wait.
    let marker = unique("marker");
    subscriber.subscribe(&marker, 0).await?;
    publisher.publish(&marker, 0, b"").await?;
    assert_eq!(subscriber.next().await?.topic, marker, "more than Receive Maximum was sent");
    for message in &held {
        subscriber.sender.acknowledge(message).await?;
    }
    for number in 3..6_u8 {
        assert_eq!(subscriber.next().await?.payload.as_ref(), [number]);
    }
    Ok(())
}

#[tokio::test]
async fn a_repeated_qos_2_publish_is_delivered_once() -> Outcome {
    let scene = Scene::new().await?;
    let topic = "twice/q2"; // eight bytes, as the packet below says
    let mut subscriber = scene.client(Version::V311).await?;
    subscriber.subscribe(topic, 2).await?;
    let mut sender = Raw::connect(scene.broker.address(Port::Mqtt)?).await?;
    sender.send(b"\x10\x11\x00\x04MQTT\x04\x02\x00\x3c\x00\x05twice").await?;
    sender.read_exactly(4).await?;
    for first in [b'\x34', b'\x3c'] {
        sender.send(&[&[first], b"\x0d\x00\x08twice/q2\x00\x07x".as_slice()].concat()).await?;
        assert_eq!(sender.read_exactly(4).await?, b"\x50\x02\x00\x07", "no PUBREC");
    }
    sender.send(b"\x62\x02\x00\x07").await?;
    assert_eq!(sender.read_exactly(4).await?, b"\x70\x02\x00\x07", "no PUBCOMP");
    assert_eq!(subscriber.next().await?.payload.as_ref(), b"x");
    let mut publisher = scene.client(Version::V311).await?;
    nothing_before(&mut subscriber, &mut publisher).await
}

//! What an operator sees: health, metrics, the command line, configuration errors, and a stop in order.

use braid_conformance::{
    Broker, Failure, Options as Start, Outcome, Port, amqp, group, http,
    mqtt::{Client, Options, Version},
    nats, unique, within,
};
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

#[tokio::test]
async fn health_and_metrics_are_shown() -> Outcome {
    let broker = Broker::start().await?;
    let address = broker.address(Port::Http)?;
    assert_eq!(http::get(address, "/healthz").await?.status, 200);
    let metrics = http::get(address, "/metrics").await?;
    assert_eq!(metrics.status, 200);
    assert!(metrics.head.to_ascii_lowercase().contains("content-type: text/plain"), "{}", metrics.head);
    let samples = metrics.body.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    for sample in samples.clone() {
        let value = sample.rsplit(' ').next().unwrap_or_default();
        let named = ["braidmq_", "process_"].iter().any(|prefix| sample.starts_with(prefix));
        assert!(named && value.parse::<f64>().is_ok(), "{sample}");
    }
    assert!(samples.count() > 3, "{}", metrics.body);
    assert_eq!(http::get(address, "/no/such/page").await?.status, 404);
    Ok(())
}

#[tokio::test]
async fn a_group_is_listed_with_members_of_each_protocol() -> Outcome {
    let broker = Broker::start().await?;
    let (name, topic) = (unique("listed"), unique("topic"));
    let connection = amqp::connect(broker.address(Port::Amqp)?).await?;
    let channel = amqp::confirming_channel(&connection).await?;
    amqp::declare(&channel, &name).await?;
    amqp::bind(&channel, &name, "amq.topic", &format!("{topic}.*")).await?;
    amqp::publish(&channel, "amq.topic", &format!("{topic}.a"), b"x").await?;
    let shown = group::show(&broker, &name).await?;
    assert_eq!((shown.name.as_str(), shown.ready, shown.unacked), (name.as_str(), 1, 0));
    assert!(shown.members.is_empty());
    let _consumer = amqp::consume(&channel, &name).await?;
    let mut mqtt = Client::connect(broker.address(Port::Mqtt)?, &Options::new(Version::V5)).await?;
    mqtt.subscribe(&format!("$share/{name}/{topic}/+"), 1).await?;
    let client = nats::connect(broker.address(Port::Nats)?).await?;
    let _subscriber = nats::queue_subscribe(&client, &format!("{topic}.*"), &name).await?;
    let shown = group::show(&broker, &name).await?;
    assert_eq!(shown.members, ["amqp", "mqtt", "nats"]);
    assert_eq!((shown.ready, shown.unacked), (0, 1), "the consumer holds the message");
    assert!(group::list(&broker).await?.contains(&name));
    let text = broker.command(&["group", "list"]).await?;
    assert!(text.status.success() && String::from_utf8(text.stdout)?.contains(&name));
    Ok(())
}

#[tokio::test]
async fn an_unknown_group_is_an_error_that_names_it() -> Outcome {
    let broker = Broker::start().await?;
    let output = broker.command(&["group", "show", "no-such-group"]).await?;
    assert!(!output.status.success());
    assert!(String::from_utf8(output.stderr)?.contains("no-such-group"));
    Ok(())
}

#[tokio::test]
async fn a_wrong_configuration_names_the_key_and_the_line() -> Outcome {
    for (config, key, line) in [
        ("[listen]\namqp = \"127.0.0.1:0\"\n\n[amqp]\nheartbeat_s = \"soon\"\n", "heartbeat_s", "5"),
        ("[amqp]\n# a comment\nheartbeet_s = 10\n", "heartbeet_s", "3"),
        ("[amqp]\nframe_bytes_max = 1\n", "frame_bytes_max", "2"),
        ("[amqp\n", "", "1"),
    ] {
        let start = Start { config: config.to_owned(), ..Start::default() };
        let Err(failure) = Broker::start_with(start).await else {
            return Err(Failure::new(format!("it started with `{config}`")));
        };
        let message = failure.to_string();
        assert!(message.contains(key), "the key {key} is not named: {message}");
        let named = message.split(|letter: char| !letter.is_ascii_digit()).any(|number| number == line);
        assert!(named && message.contains("braidmq.toml"), "line {line} is not named: {message}");
    }
    Ok(())
}

#[tokio::test]
async fn a_signal_stops_it_in_order() -> Outcome {
    let mut broker = Broker::start().await?;
    let connection = amqp::connect(broker.address(Port::Amqp)?).await?;
    let _channel = amqp::confirming_channel(&connection).await?;
    let _mqtt = Client::connect(broker.address(Port::Mqtt)?, &Options::new(Version::V5)).await?;
    let _nats = nats::connect(broker.address(Port::Nats)?).await?;
    let status = broker.terminate().await?;
    assert_eq!(status.code(), Some(0), "{status}; its log:\n{}", broker.log());
    Ok(())
}

#[tokio::test]
async fn it_starts_again_on_its_own_data() -> Outcome {
    let mut broker = Broker::start().await?;
    for _ in 0..2 {
        broker.restart().await?;
        let connection = amqp::connect(broker.address(Port::Amqp)?).await?;
        let channel = amqp::confirming_channel(&connection).await?;
        amqp::declare(&channel, &unique("again")).await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_second_broker_on_a_taken_port_says_so_and_ends() -> Outcome {
    let broker = Broker::start().await?;
    let taken = broker.address(Port::Amqp)?.to_string();
    let start = Start { arguments: vec!["--amqp-listen".to_owned(), taken.clone()], ..Start::default() };
    let Err(failure) = Broker::start_with(start).await else { return Err(Failure::new("two brokers on one port")) };
    assert!(failure.to_string().contains(&taken), "{failure}");
    Ok(())
}

/// Reads lines until one has one of `words`.
async fn line_with(output: impl AsyncRead + Unpin, words: &[&str]) -> Outcome {
    let mut lines = BufReader::new(output).lines();
    while let Some(line) = within(&format!("a line with one of {words:?}"), lines.next_line()).await?? {
        if words.iter().any(|word| line.contains(word)) {
            return Ok(());
        }
    }
    Err(Failure::new(format!("the output ended without one of {words:?}")))
}

#[tokio::test]
async fn pub_and_sub_carry_a_message_from_each_protocol_to_each() -> Outcome {
    let broker = Broker::start().await?;
    let one = broker.address(Port::Any)?.to_string();
    for to in ["amqp", "mqtt", "nats"] {
        for from in ["amqp", "mqtt", "nats"] {
            let base = unique("command");
            let (dots, slashes) = (format!("{base}.a"), format!("{base}/a"));
            let source: &[&str] = match to {
                "amqp" => &[&base, "--bind", &dots],
                "mqtt" => &[&slashes],
                _ => &[&dots],
            };
            let mut subscriber = broker.prepare(&[&["sub", to, "--server", &one, "--count", "1"], source].concat())?;
            let piped = std::process::Stdio::piped;
            let mut subscriber = subscriber.stdout(piped()).stderr(piped()).spawn()?;
            let errors = subscriber.stderr.take().ok_or_else(|| Failure::new("no stderr"))?;
            line_with(errors, &["subscribed", "consuming"]).await?;
            let address = if from == "mqtt" { &slashes } else { &dots };
            let published = broker.command(&["pub", from, "--server", &one, address, "hello braid"]).await?;
            assert!(published.status.success(), "{from}: {}", String::from_utf8_lossy(&published.stderr));
            let output = subscriber.stdout.take().ok_or_else(|| Failure::new("no stdout"))?;
            line_with(output, &["hello braid"]).await?;
            let status = within("end of `braidmq sub`", subscriber.wait()).await??;
            assert!(status.success(), "from {from} to {to}: {status}");
        }
    }
    Ok(())
}

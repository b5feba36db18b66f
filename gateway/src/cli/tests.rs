//! Tests of the command line.

use clap::{CommandFactory, error::ErrorKind};

use super::*;
use crate::config::{Config, Override};

fn parse(line: &str) -> Result<Command, clap::Error> {
    Cli::try_parse_from(std::iter::once("braidmq").chain(line.split_ascii_whitespace())).map(Cli::into_command)
}

fn serve(line: &str) -> ServeFlags {
    match parse(line).unwrap() {
        Command::Serve(flags) => flags,
        other @ Command::Client(_) => panic!("{other:?}"),
    }
}

fn client(line: &str) -> ClientCommand {
    match parse(line).unwrap() {
        Command::Client(command) => command,
        other @ Command::Serve(_) => panic!("{other:?}"),
    }
}

#[test]
fn the_definition_is_sound() {
    Cli::command().debug_assert();
}

#[test]
fn serve_is_the_default_command() {
    assert_eq!(serve("").overrides(), []);
    for line in ["--data-dir x --log-level debug", "serve --data-dir x --log-level debug"] {
        let flags = serve(line).overrides();
        let expected =
            |key: &str, flag: &str, text: &str| Override { key: key.into(), flag: flag.into(), text: text.into() };
        assert_eq!(flags, [expected("data_dir", "--data-dir", "x"), expected("log.level", "--log-level", "debug")]);
    }
}

#[test]
fn every_flag_of_serve_reaches_its_key() {
    let flags = serve(
        "--data-dir d --listen 127.0.0.1:1 --amqp-listen off --mqtt-listen 127.0.0.1:3 --nats-listen 127.0.0.1:4,[::1]:4 \
         --http-listen 127.0.0.1:5 --log-level warn --set amqp.heartbeat_s=7 --set limits.memory_bytes_max=50%",
    );
    let sources = crate::config::Sources { flags: flags.overrides(), ..Default::default() };
    let config = Config::load(&sources).unwrap().config;
    assert_eq!(config.node.data_dir.to_str(), Some("d"));
    let addresses =
        config.listen.by_key().map(|(_, addresses)| addresses.iter().map(ToString::to_string).collect::<Vec<_>>());
    let expected: [&[&str]; 5] =
        [&["127.0.0.1:1"], &[], &["127.0.0.1:3"], &["127.0.0.1:4", "[::1]:4"], &["127.0.0.1:5"]];
    assert_eq!(addresses, expected.map(|list| list.iter().map(ToString::to_string).collect::<Vec<_>>()));
    assert_eq!((config.log.level.as_str(), config.amqp.heartbeat_s), ("warn", 7));
    assert_eq!(config.limits.memory_bytes_max.bytes_of(2_000_000_000), 1_000_000_000);
}

#[test]
fn an_error_of_a_flag_names_flag_and_key() {
    let sources = |line: &str| crate::config::Sources { flags: serve(line).overrides(), ..Default::default() };
    let error = Config::load(&sources("--amqp-listen x")).unwrap_err().to_string();
    assert!(error.starts_with("flag --amqp-listen: listen.amqp: expected ADDR:PORT"), "{error}");
    let error = Config::load(&sources("--set amqp.heartbeats=1")).unwrap_err().to_string();
    assert_eq!(error, "flag --set amqp.heartbeats: unknown key amqp.heartbeats; did you mean amqp.heartbeat_s?");
}

#[test]
fn pub_amqp_goes_to_an_exchange_or_a_queue() {
    let ClientCommand::Publish(PublishCommand::Amqp(publish)) =
        client("pub amqp a.b hello --count 3 --header k=v --header k=w=x --user u --password p")
    else {
        panic!()
    };
    assert_eq!((publish.key.as_deref(), publish.exchange.as_str(), publish.queue), (Some("a.b"), "amq.topic", None));
    assert_eq!((publish.message.body.as_str(), publish.message.count), ("hello", 3));
    let pair = |value: &str| ("k".to_owned(), value.to_owned());
    assert_eq!(publish.message.headers, [pair("v"), pair("w=x")]);
    assert_eq!(publish.server.server, "127.0.0.1:6720");
    assert_eq!(
        (publish.server.login().user.as_deref(), publish.server.login().password.as_deref()),
        (Some("u"), Some("p"))
    );

    let ClientCommand::Publish(PublishCommand::Amqp(publish)) = client("pub amqp --queue jobs hello") else { panic!() };
    assert_eq!((publish.key, publish.queue.as_deref(), publish.message.body.as_str()), (None, Some("jobs"), "hello"));
}

#[test]
fn the_other_protocols_are_parsed() {
    let ClientCommand::Publish(PublishCommand::Mqtt(publish)) = client("pub mqtt a/b - --qos 2 --retain") else {
        panic!()
    };
    assert_eq!(
        (publish.topic.as_str(), publish.message.body.as_str(), publish.qos, publish.retain),
        ("a/b", "-", 2, true)
    );
    let ClientCommand::Publish(PublishCommand::Nats(publish)) = client("pub nats a.b -5 --server h:1") else {
        panic!()
    };
    assert_eq!(
        (publish.subject.as_str(), publish.message.body.as_str(), publish.server.server.as_str()),
        ("a.b", "-5", "h:1")
    );
    let ClientCommand::Subscribe(SubscribeCommand::Amqp(subscribe)) =
        client("sub amqp jobs --bind a.# --count 2 --json")
    else {
        panic!()
    };
    assert_eq!(
        (subscribe.queue.as_str(), subscribe.bind.as_deref(), subscribe.exchange.as_str()),
        ("jobs", Some("a.#"), "amq.topic")
    );
    assert_eq!((subscribe.messages.count, subscribe.messages.json), (Some(2), true));
    let ClientCommand::Subscribe(SubscribeCommand::Mqtt(subscribe)) = client("sub mqtt a/# --share g") else {
        panic!()
    };
    assert_eq!((subscribe.filter.as_str(), subscribe.share.as_deref(), subscribe.qos), ("a/#", Some("g"), 1));
    let ClientCommand::Subscribe(SubscribeCommand::Nats(subscribe)) = client("sub nats a.> --queue g") else {
        panic!()
    };
    assert_eq!((subscribe.subject.as_str(), subscribe.queue.as_deref()), ("a.>", Some("g")));
    let ClientCommand::Group(GroupCommand::List(list)) = client("group list --vhost v --json") else { panic!() };
    assert_eq!((list.vhost.as_deref(), list.view.json), (Some("v"), true));
    let ClientCommand::Group(GroupCommand::Show(show)) = client("group show jobs --http h:1") else { panic!() };
    assert_eq!((show.name.as_str(), show.vhost.as_str(), show.view.http.as_str()), ("jobs", "/", "h:1"));
}

#[test]
fn wrong_usage_ends_with_code_2() {
    for line in [
        "frobnicate",
        "--data-dir x group list",
        "serve --set nothing",
        "pub",
        "pub amqp",
        "pub amqp hello",
        "pub amqp a.b --queue jobs hello",
        "pub amqp --queue jobs --exchange e hello",
        "pub mqtt t",
        "pub mqtt t b --qos 3",
        "pub nats s b --count 0",
        "pub nats s b --header novalue",
        "sub amqp",
        "sub amqp q --exchange e",
        "sub nats s --count x",
        "group",
        "group show",
    ] {
        assert_eq!(parse(line).unwrap_err().exit_code(), 2, "{line}");
    }
    for (line, kind) in [("--help", ErrorKind::DisplayHelp), ("--version", ErrorKind::DisplayVersion)] {
        let error = parse(line).unwrap_err();
        assert_eq!((error.kind(), error.exit_code()), (kind, 0));
    }
}

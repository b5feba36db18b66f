//! Tests of the configuration: the sample, every kind of error, precedence.

use std::{fs, path::Path};

use super::{memory_limit::MemoryLimit, *};

const SAMPLE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy/braidmq.toml"));

/// A file that is gone when the test ends.
struct TemporaryFile(PathBuf);

impl TemporaryFile {
    fn new(name: &str, text: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("braidmq-config-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("braidmq.toml");
        fs::write(&path, text).unwrap();
        Self(path)
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(self.0.parent().unwrap()));
    }
}

fn flag(key: &str, text: &str) -> Override {
    Override { key: key.to_owned(), flag: format!("--{}", key.replace('.', "-")), text: text.to_owned() }
}

fn from_environment(variables: &[(&str, &str)]) -> Result<Loaded, ConfigError> {
    let environment = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Config::load(&Sources { environment, ..Sources::default() })
}

/// The error of a file with this text, with the folder left out.
fn file_error(name: &str, text: &str) -> String {
    let file = TemporaryFile::new(name, text);
    let error = Config::load(&Sources { file: Some(file.0.clone()), ..Sources::default() }).unwrap_err().to_string();
    error.replace(&format!("{}/", file.0.parent().unwrap().display()), "")
}

#[test]
fn the_sample_has_every_key_with_its_default() {
    let entries = file::parse(Path::new("braidmq.toml"), SAMPLE).unwrap();
    let keys: Vec<String> = entries.iter().map(|entry| entry.key.clone()).collect();
    assert_eq!(keys, Config::keys(), "every key, in the order of the sections");

    let file = TemporaryFile::new("sample", SAMPLE);
    let loaded = Config::load(&Sources { file: Some(file.0.clone()), ..Sources::default() }).unwrap();
    assert_eq!(loaded, Loaded { config: Config::default(), warnings: Vec::new() });
}

#[test]
fn every_key_can_come_from_the_environment() {
    let keys = Config::keys();
    let entries = file::parse(Path::new("braidmq.toml"), SAMPLE).unwrap();
    for (key, entry) in keys.iter().zip(entries) {
        let variable = format!("BRAIDMQ_{}", key.replace('.', "_").to_uppercase());
        let text = match entry.given {
            Given::Text(text) => text,
            Given::List(elements) => elements.iter().filter_map(Given::as_text).collect::<Vec<_>>().join(","),
            other => other.to_string(),
        };
        let loaded = from_environment(&[(&variable, &text)]).unwrap();
        assert_eq!(loaded, Loaded { config: Config::default(), warnings: Vec::new() }, "{variable}");
        // Nothing takes a control character, so an error shows that the variable reached its key.
        let error = from_environment(&[(&variable, "\0")]).unwrap_err().to_string();
        assert!(error.starts_with(&format!("environment {variable}: {key}: expected ")), "{error}");
    }
}

#[test]
fn every_source_beats_the_one_before() {
    let file =
        TemporaryFile::new("precedence", "node_id = 2\n[limits]\nconnections_max = 3\n[log]\nlevel = \"warn\"\n");
    let sources = Sources {
        file: Some(file.0.clone()),
        environment: vec![
            ("BRAIDMQ_LIMITS_CONNECTIONS_MAX".to_owned(), "4".to_owned()),
            ("BRAIDMQ_LOG_LEVEL".to_owned(), "error".to_owned()),
            ("HOME".to_owned(), "elsewhere".to_owned()),
        ],
        flags: vec![flag("log.level", "trace"), flag("log.level", "debug")],
    };
    let config = Config::load(&sources).unwrap().config;
    assert_eq!(config.node.node_id, 2);
    assert_eq!(config.limits.connections_max, 4);
    assert_eq!(config.log.level.as_str(), "debug");
    assert_eq!(config.amqp, Amqp::default());
}

#[test]
fn an_error_of_the_file_names_key_and_line() {
    let cases = [
        (
            "node_id = 1\n\n[listen]\nany = []\namqp = \"x\"\n",
            "braidmq.toml line 5: listen.amqp: expected ADDR:PORT (127.0.0.1:5672, [::]:5672) or off, got \"x\"",
        ),
        (
            "[listen]\nhttp = [\n  \"127.0.0.1:1\",\n  \"localhost:2\",\n]\n",
            "braidmq.toml line 2: listen.http: expected ADDR:PORT (127.0.0.1:5672, [::]:5672) or off, got \"localhost:2\"",
        ),
        ("[listen]\nhttp = 80\n", "braidmq.toml line 2: listen.http: expected ADDR:PORT in quotes, or \"off\", got 80"),
        (
            "[limits]\nconnections_max = \"7\"\n",
            "braidmq.toml line 2: limits.connections_max: expected a whole number from 1 to 10000000, got \"7\"",
        ),
        (
            "[limits]\nconnections_max = 0\n",
            "braidmq.toml line 2: limits.connections_max: expected a whole number from 1 to 10000000, got 0",
        ),
        (
            "[limits]\nconnections_max = -1\n",
            "braidmq.toml line 2: limits.connections_max: expected a whole number from 1 to 10000000, got -1",
        ),
        (
            "[amqp]\nheartbeat_s = 65536",
            "braidmq.toml line 2: amqp.heartbeat_s: expected a whole number from 0 to 65535, got 65536",
        ),
        (
            "[amqp]\nheartbeat_s = 1.5",
            "braidmq.toml line 2: amqp.heartbeat_s: expected a whole number from 0 to 65535, got a number with a fraction",
        ),
        (
            "[limits]\nmemory_bytes_max = \"91%\"",
            "braidmq.toml line 2: limits.memory_bytes_max: expected bytes (1048576 or more) or a share of the memory (\"1%\" to \"90%\"), got \"91%\"",
        ),
        (
            "[groups]\nmqtt_join_declared = \"true\"",
            "braidmq.toml line 2: groups.mqtt_join_declared: expected true or false, got \"true\"",
        ),
        ("[log]\nformat = \"xml\"", "braidmq.toml line 2: log.format: expected text or json, got \"xml\""),
        (
            "[log]\nlevel = \"inof\"",
            "braidmq.toml line 2: log.level: expected one of off, error, warn, info, debug, trace (also per part: warn,braid_broker=debug), got \"inof\"",
        ),
        ("data_dir = [\"a\"]", "braidmq.toml line 1: data_dir: expected a path, got [\"a\"]"),
        ("listen = 5672", "braidmq.toml line 1: listen: expected a section ([listen]), got 5672"),
        // Of several errors the first of the file.
        (
            "node_id = 0\ndata_dir = 1",
            "braidmq.toml line 1: node_id: expected a whole number from 1 to 9007199254740992, got 0",
        ),
    ];
    for (position, (text, expected)) in cases.into_iter().enumerate() {
        assert_eq!(file_error(&format!("value-{position}"), text), expected);
    }
}

#[test]
fn an_unknown_key_is_an_error_with_a_suggestion() {
    let cases = [
        ("[listen]\nampq = \"off\"", "braidmq.toml line 2: unknown key listen.ampq; did you mean listen.amqp?"),
        ("[limit]\nconnections_max = 5", "braidmq.toml line 1: unknown key limit; did you mean limits?"),
        ("[log]\ndata_dir = \"x\"", "braidmq.toml line 2: unknown key log.data_dir; did you mean data_dir?"),
        (
            "[listen.amqp]\nport = 5",
            "braidmq.toml line 1: listen.amqp: expected ADDR:PORT in quotes, or \"off\", got a table",
        ),
        ("colour = \"green\"", "braidmq.toml line 1: unknown key colour"),
    ];
    for (position, (text, expected)) in cases.into_iter().enumerate() {
        assert_eq!(file_error(&format!("unknown-{position}"), text), expected);
    }
    let sources = Sources { flags: vec![flag("log.levle", "info")], ..Sources::default() };
    let error = Config::load(&sources).unwrap_err().to_string();
    assert_eq!(error, "flag --log-levle: unknown key log.levle; did you mean log.level?");
}

#[test]
fn broken_toml_is_an_error_with_a_line() {
    assert!(file_error("syntax", "node_id = 1\n[listen\n").starts_with("braidmq.toml line 2: "));
    assert!(file_error("twice", "node_id = 1\nnode_id = 2\n").starts_with("braidmq.toml line 2: duplicate key"));
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let sources = Sources { file: Some(PathBuf::from("/nonexistent/braidmq.toml")), ..Sources::default() };
    let error = Config::load(&sources).unwrap_err();
    assert!(matches!(error, ConfigError::Unreadable { .. }));
    assert!(error.to_string().starts_with("/nonexistent/braidmq.toml: "), "{error}");
}

#[test]
fn the_environment_takes_lists_and_off() {
    let loaded = from_environment(&[
        ("BRAIDMQ_LISTEN_AMQP", "0.0.0.0:5672, [::]:5672"),
        ("BRAIDMQ_LISTEN_NATS", "off"),
        ("BRAIDMQ_LIMITS_MEMORY_BYTES_MAX", "25%"),
        ("BRAIDMQ_NODE_ID", "1_000"),
    ])
    .unwrap();
    let addresses: Vec<String> = loaded.config.listen.amqp.iter().map(ToString::to_string).collect();
    assert_eq!(addresses, ["0.0.0.0:5672", "[::]:5672"]);
    assert!(loaded.config.listen.nats.is_off());
    assert_eq!(loaded.config.limits.memory_bytes_max, MemoryLimit::Percent(25));
    assert_eq!(loaded.config.node.node_id, 1000);
}

#[test]
fn a_mistyped_variable_is_a_warning_and_a_foreign_one_is_nothing() {
    let loaded = from_environment(&[
        ("BRAIDMQ_LISTEN_AMPQ", "off"),
        ("BRAIDMQ_SERVICE_HOST", "10.0.0.1"),
        ("BRAIDMQ_PORT_5672_TCP_ADDR", "10.0.0.1"),
        ("BRAIDMQ_CONFIG", "a"),
    ])
    .unwrap();
    let expected = "environment BRAIDMQ_LISTEN_AMPQ names no key and is not used; did you mean BRAIDMQ_LISTEN_AMQP?";
    assert_eq!(loaded, Loaded { config: Config::default(), warnings: vec![expected.to_owned()] });
}

#[test]
fn listeners_that_collide_are_an_error_of_the_one_that_was_set() {
    let error = file_error("collide", "[listen]\namqp = \"127.0.0.1:1883\"");
    assert_eq!(error, "braidmq.toml line 2: listen.amqp: 127.0.0.1:1883 is the address of listen.mqtt already");
    let error = from_environment(&[("BRAIDMQ_LISTEN_HTTP", "127.0.0.1:6720")]).unwrap_err().to_string();
    assert_eq!(
        error,
        "environment BRAIDMQ_LISTEN_HTTP: listen.http: 127.0.0.1:6720 is the address of listen.any already"
    );
    // Port 0 is a free port each time.
    from_environment(&[("BRAIDMQ_LISTEN_HTTP", "127.0.0.1:0"), ("BRAIDMQ_LISTEN_ANY", "127.0.0.1:0")]).unwrap();
}

#[test]
fn a_node_that_no_client_can_reach_is_an_error() {
    let off = ["any", "amqp", "mqtt", "nats"].map(|name| flag(&format!("listen.{name}"), "off")).to_vec();
    let error = Config::load(&Sources { flags: off, ..Sources::default() }).unwrap_err();
    assert!(matches!(&error, ConfigError::Conflict { key, .. } if key == "listen.any"));
    assert!(error.to_string().starts_with("flag --listen-any: listen.any: is off"), "{error}");
}

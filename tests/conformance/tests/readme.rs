//! The copy-paste lines of README.md do what they say. A fenced block whose info string has the word `tested` is run
//! line by line, as a reader would, with the broker's address added; a line that ends with `&` stays in the background.

use std::{path::Path, process::Stdio};

use braid_conformance::{Broker, Failure, Outcome, Port, within};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, BufReader},
    process::Child,
};

/// The lines of tested blocks that call the binary which `cargo run --release` has built.
fn lines() -> Result<Vec<String>, Failure> {
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md"))?;
    let (mut fenced, mut tested, mut lines) = (false, false, Vec::new());
    for line in page.lines() {
        if let Some(info) = line.trim_start().strip_prefix("```") {
            fenced = !fenced;
            tested = fenced && info.split_whitespace().any(|word| word == "tested");
        } else if let Some(rest) = line.trim().strip_prefix("target/release/braidmq ").filter(|_| tested) {
            lines.push(rest.to_owned());
        }
    }
    Ok(lines)
}

/// Splits at spaces outside single quotes, as a shell does with the lines that a README has.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (index, part) in line.split('\'').enumerate() {
        if index % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}

#[tokio::test]
async fn the_copy_paste_lines_show_messages_crossing_protocols() -> Outcome {
    let lines = lines()?;
    assert!(lines.len() >= 3, "README.md has no three tested lines: {lines:?}");
    let broker = Broker::start().await?;
    let one = broker.address(Port::Any)?.to_string();
    let mut subscribers: Vec<Child> = Vec::new();
    let mut bodies = Vec::new();
    for line in &lines {
        let mut arguments = words(line);
        let background = arguments.last().is_some_and(|word| word == "&");
        if background {
            arguments.pop();
        }
        if let Some("pub" | "sub") = arguments.first().map(String::as_str) {
            if arguments.first().is_some_and(|word| word == "pub") {
                bodies.extend(arguments.last().cloned());
            }
            arguments.extend(["--server".to_owned(), one.clone()]);
        }
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        if background {
            subscribers.push(subscribe(&broker, &arguments).await?);
        } else {
            let output = broker.command(&arguments).await?;
            assert!(output.status.success(), "`{line}`: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
    let mut seen = String::new();
    for mut subscriber in subscribers {
        let mut output = subscriber.stdout.take().ok_or_else(|| Failure::new("no stdout"))?;
        within("end of a subscriber's output", output.read_to_string(&mut seen)).await??;
        let status = within("end of a subscriber", subscriber.wait()).await??;
        assert!(status.success(), "{status}");
    }
    for body in &bodies {
        assert_eq!(seen.matches(body.as_str()).count(), 1, "`{body}` in\n{seen}");
    }
    assert!(!bodies.is_empty(), "no line publishes");
    Ok(())
}

/// Starts a subscriber and waits until it says that it is one.
async fn subscribe(broker: &Broker, arguments: &[&str]) -> Result<Child, Failure> {
    let mut command = broker.prepare(arguments)?;
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let errors = child.stderr.take().ok_or_else(|| Failure::new("no stderr"))?;
    let first = within("note of the subscriber", BufReader::new(errors).lines().next_line()).await??;
    assert!(first.is_some(), "`braidmq {}` ended", arguments.join(" "));
    Ok(child)
}

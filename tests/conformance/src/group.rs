//! What `braidmq group list` and `group show` say, read from their JSON.

use serde_json::Value;

use crate::{Broker, Failure};

/// A group as `group show --json` prints it.
#[derive(Clone, Debug)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// Messages that wait.
    pub ready: u64,
    /// Messages handed out and not settled.
    pub unacked: u64,
    /// Protocol of each member, sorted: `amqp`, `mqtt` or `nats`.
    pub members: Vec<String>,
}

/// Runs `group show`.
///
/// # Errors
/// When the command fails or prints something else.
pub async fn show(broker: &Broker, name: &str) -> Result<Group, Failure> {
    read(&run(broker, &["group", "show", name, "--json"]).await?)
}

/// Runs `group list`; returns the names.
///
/// # Errors
/// When the command fails or prints something else.
pub async fn list(broker: &Broker) -> Result<Vec<String>, Failure> {
    let value = run(broker, &["group", "list", "--json"]).await?;
    let groups = value.get("groups").unwrap_or(&value).as_array();
    let groups = groups.ok_or_else(|| Failure::new(format!("no array: {value}")))?;
    groups.iter().map(|group| text(group, "name")).collect()
}

async fn run(broker: &Broker, arguments: &[&str]) -> Result<Value, Failure> {
    let output = broker.command(arguments).await?;
    if !output.status.success() {
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(Failure::new(format!("`{}` failed: {error}", arguments.join(" "))));
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn read(value: &Value) -> Result<Group, Failure> {
    let members =
        value.get("members").and_then(Value::as_array).ok_or_else(|| Failure::new(format!("no members: {value}")))?;
    let mut members = members.iter().map(|member| text(member, "protocol")).collect::<Result<Vec<_>, _>>()?;
    members.sort();
    Ok(Group {
        name: text(value, "name")?,
        ready: number(value, "ready")?,
        unacked: number(value, "unacked")?,
        members,
    })
}

fn text(value: &Value, key: &str) -> Result<String, Failure> {
    let found =
        value.get(key).and_then(Value::as_str).ok_or_else(|| Failure::new(format!("no text `{key}` in {value}")))?;
    Ok(found.to_owned())
}

fn number(value: &Value, key: &str) -> Result<u64, Failure> {
    value.get(key).and_then(Value::as_u64).ok_or_else(|| Failure::new(format!("no number `{key}` in {value}")))
}

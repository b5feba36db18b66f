//! `braidmq group`: asks a node over HTTP what groups it has, and prints it for people or programs.

use std::io::Write;

use serde::de::DeserializeOwned;

use super::{
    CommandError,
    printable::{self, table},
};
use crate::{
    cli::{GroupCommand, GroupList, GroupShow, View},
    client::{ClientError, http},
    http::{GroupDocument, GroupsDocument, MemberDocument, escaped},
};

/// Asks and prints.
///
/// # Errors
/// The node does not answer, or there is no such group.
pub(crate) async fn run(command: &GroupCommand, output: &mut impl Write) -> Result<(), CommandError> {
    match command {
        GroupCommand::List(GroupList { vhost, view }) => {
            let query = vhost.as_ref().map(|vhost| format!("?vhost={}", escaped(vhost))).unwrap_or_default();
            let body = ask(view, &format!("/v1/groups{query}")).await?;
            print(&body, view, output, list)
        }
        GroupCommand::Show(GroupShow { name, vhost, view }) => {
            let body = ask(view, &format!("/v1/groups/{}/{}", escaped(vhost), escaped(name))).await?;
            print(&body, view, output, show)
        }
    }
}

/// The body of the answer; an error of the node is one here.
async fn ask(view: &View, path: &str) -> Result<String, CommandError> {
    let answer = http::get(&view.http, path).await?;
    let body = String::from_utf8_lossy(&answer.body).into_owned();
    if answer.status == 200 {
        return Ok(body);
    }
    let document: Option<serde_json::Value> = serde_json::from_str(&body).ok();
    let message = document.as_ref().and_then(|document| document.pointer("/error/message")?.as_str());
    Err(CommandError::Outcome(message.map_or_else(|| format!("the node answers {}", answer.status), str::to_owned)))
}

fn print<D: DeserializeOwned>(
    body: &str,
    view: &View,
    output: &mut impl Write,
    for_people: impl FnOnce(&D) -> String,
) -> Result<(), CommandError> {
    if view.json {
        writeln!(output, "{}", body.trim_end())?;
        return Ok(());
    }
    let document = serde_json::from_str(body)
        .map_err(|_| ClientError::Protocol("the server there is no BraidMQ, or another version"))?;
    output.write_all(for_people(&document).as_bytes())?;
    Ok(())
}

fn list(document: &GroupsDocument) -> String {
    let rows: Vec<Vec<String>> = document.groups.iter().map(row).collect();
    if rows.is_empty() {
        return "no groups\n".to_owned();
    }
    table(&["VHOST", "NAME", "KIND", "CLASS", "READY", "UNACKED", "MEMBERS", "PROTOCOLS"], &rows)
}

fn row(group: &GroupDocument) -> Vec<String> {
    vec![
        group.vhost.clone(),
        group.name.clone(),
        group.kind.clone(),
        group.class.clone(),
        group.ready.to_string(),
        group.unacked.to_string(),
        group.members.len().to_string(),
        protocols(group),
    ]
}

/// How many members speak what: `amqp 3, nats 1`.
fn protocols(group: &GroupDocument) -> String {
    let count = |protocol: &str| group.members.iter().filter(|member| member.protocol == protocol).count();
    let counts = ["amqp", "mqtt", "nats"].map(|protocol| (protocol, count(protocol)));
    let present = counts.iter().filter(|(_, count)| *count > 0).map(|(protocol, count)| format!("{protocol} {count}"));
    present.collect::<Vec<_>>().join(", ")
}

fn show(group: &GroupDocument) -> String {
    let facts = [
        ("name", group.name.clone()),
        ("vhost", group.vhost.clone()),
        ("kind", group.kind.clone()),
        ("class", group.class.clone()),
        ("partition", format!("{} (led by node {}, epoch {})", group.partition, group.leader, group.epoch)),
        ("ready", group.ready.to_string()),
        ("unacked", group.unacked.to_string()),
        ("members", group.members.len().to_string()),
    ];
    let mut text: String =
        facts.iter().map(|(name, value)| format!("{name:9}  {}\n", printable::line(value))).collect();
    if !group.members.is_empty() {
        let rows: Vec<Vec<String>> = group.members.iter().map(member_row).collect();
        text.push('\n');
        text.push_str(&table(&MEMBER_HEADINGS, &rows));
    }
    text
}

const MEMBER_HEADINGS: [&str; 8] = ["PROTOCOL", "LABEL", "PEER", "CREDIT", "UNACKED", "PRIORITY", "FILTER", "SKIPPED"];

fn member_row(member: &MemberDocument) -> Vec<String> {
    let or_dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    vec![
        member.protocol.clone(),
        member.label.clone(),
        member.peer.clone(),
        member.credit_messages.map_or_else(|| "unlimited".to_owned(), |credit| credit.to_string()),
        member.unacked.to_string(),
        member.priority.to_string(),
        or_dash(&member.filter),
        or_dash(&member.skipped),
    ]
}

#[cfg(test)]
mod tests;

//! Answers `group list` and `group show` from a partition's machine. Reads only.

use braid_machine::Partition;
use braid_types::{GroupId, Protocol};

use super::Inspected;
use super::attached::Attached;
use crate::listing::MemberListing;

pub(super) fn inspect(
    machine: &Partition,
    attached: &Attached,
    groups: Option<Vec<GroupId>>,
) -> Vec<(GroupId, Inspected)> {
    let groups = groups.unwrap_or_else(|| machine.group_ids());
    groups
        .into_iter()
        .filter_map(|group| {
            let view = machine.group(group)?;
            let members = view.members().map(|member| member_listing(attached, &member)).collect();
            Some((group, Inspected { ready: view.ready(), unacked: view.unacked(), members }))
        })
        .collect()
}

fn member_listing(attached: &Attached, member: &braid_machine::MemberView<'_>) -> MemberListing {
    let info = attached.connection(member.owner.connection).map(|connection| connection.mailbox.info());
    MemberListing {
        protocol: match info.map(|info| info.protocol) {
            Some(Protocol::Amqp) => "amqp",
            Some(Protocol::Mqtt) => "mqtt",
            Some(Protocol::Nats) => "nats",
            None => "away",
        },
        connection: member.owner.connection.0,
        peer: info.map(|info| info.peer.clone()).unwrap_or_default(),
        label: attached.label(member.owner.connection, member.id),
        credit_messages: member.credit_messages,
        unacked: member.unacked,
        priority: member.priority,
        filter: member.filter.map(|filter| {
            filter
                .to_notation(Protocol::Mqtt)
                .map_or_else(|_| String::from("?"), |text| String::from_utf8_lossy(&text).into_owned())
        }),
        skipped: member.skipped.map(|reason| reason.text()),
    }
}

//! A start on what a crash left, and the look at all that is there.

use std::collections::BTreeMap;

use braid_broker::{Item, PartitionHandle};
use braid_log::disk::SimulatedDisk;
use braid_types::{GroupId, PartitionKind};

use crate::client::{Client, RELEASED, UNLIMITED, number_of};
use crate::ledger::{Handed, Ledger};
use crate::node::{Node, quiet, within};

/// Starts on a disk, and compares what is there with the ledger.
pub(crate) async fn recover(disk: &SimulatedDisk, kind: PartitionKind, ledger: &mut Ledger, what: &str) -> Node {
    let node = Node::start(disk).await.unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(node.out_of_service(), 0, "{what}");
    ledger.recovered(&all_of(&node.partition(kind), what).await, what);
    node
}

/// Hands out all that is there, to a connection that is lost then. As many as the groups say that they have.
pub(crate) async fn all_of(partition: &PartitionHandle, what: &str) -> BTreeMap<GroupId, Vec<Handed>> {
    let inspected = within(partition.inspect(None)).await;
    let client = Client::new(1_000, partition);
    let groups: Vec<GroupId> = inspected.iter().map(|(group, _)| *group).collect();
    let numbered = || (0..).zip(&groups);
    client.submit(numbered().map(|(place, group)| client.attach(*group, place, UNLIMITED, RELEASED)).collect());
    quiet(partition).await;
    let mut found: BTreeMap<GroupId, Vec<Handed>> = groups.iter().map(|group| (*group, Vec::new())).collect();
    let mut members = BTreeMap::new();
    for item in client.take() {
        match item {
            Item::Attached { attachment, result } => {
                members.insert(attachment, result.unwrap());
            }
            Item::Deliver { attachment, delivery, redelivered, delivery_count, message, .. } => {
                let (group, member) = (groups[attachment as usize], members[&attachment]);
                let (delivery, number) = (delivery.0, number_of(&message));
                let handed = Handed { group, member, delivery, redelivered, delivery_count, number };
                found.get_mut(&group).unwrap().push(handed);
            }
            other => panic!("{what}: {other:?}"),
        }
    }
    for (group, inspected) in inspected {
        assert_eq!((inspected.ready, inspected.unacked), (found[&group].len() as u64, 0), "{what}: {group:?}");
        assert!(inspected.members.is_empty(), "{what}: members of a former run");
    }
    client.lose();
    quiet(partition).await;
    found
}

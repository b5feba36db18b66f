//! The groups as they are sent: the JSON of `/v1/groups`, written here and read by `braidmq group`.
//!
//! Fields are only ever added. Counts are messages.

use braid_broker::{GroupListing, MemberListing};
use serde::{Deserialize, Serialize};

/// Several groups.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct GroupsDocument {
    /// Ordered by vhost and name.
    pub(crate) groups: Vec<GroupDocument>,
}

/// One group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct GroupDocument {
    /// Its vhost.
    pub(crate) vhost: String,
    /// Its name.
    pub(crate) name: String,
    /// `declared`, `shared` or `session`.
    pub(crate) kind: String,
    /// Storage class: `direct`, `memory`, `disk` or `quorum`.
    pub(crate) class: String,
    /// Its partition.
    pub(crate) partition: u32,
    /// The node that leads it.
    pub(crate) leader: u64,
    /// Fences the leader.
    pub(crate) epoch: u64,
    /// Messages that wait.
    pub(crate) ready: u64,
    /// Messages handed out and not settled.
    pub(crate) unacked: u64,
    /// Its members, in the order in which the broker names them.
    pub(crate) members: Vec<MemberDocument>,
}

/// One member of a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MemberDocument {
    /// `amqp`, `mqtt` or `nats`.
    pub(crate) protocol: String,
    /// The node's number of the connection.
    pub(crate) connection: u64,
    /// Address of the client.
    pub(crate) peer: String,
    /// Consumer tag, client id or sid.
    pub(crate) label: String,
    /// Messages it may still be sent; null: unlimited.
    pub(crate) credit_messages: Option<u64>,
    /// Deliveries that it has not settled.
    pub(crate) unacked: u64,
    /// Consumer priority.
    pub(crate) priority: i32,
    /// The filter it came by, in MQTT's notation; null: by the group's name.
    pub(crate) filter: Option<String>,
    /// Why it is sent nothing just now; null when it would be.
    pub(crate) skipped: Option<String>,
}

impl From<Vec<GroupListing>> for GroupsDocument {
    fn from(listings: Vec<GroupListing>) -> Self {
        let mut groups: Vec<GroupDocument> = listings.into_iter().map(GroupDocument::from).collect();
        groups.sort_by(|one, other| (&one.vhost, &one.name).cmp(&(&other.vhost, &other.name)));
        Self { groups }
    }
}

impl From<GroupListing> for GroupDocument {
    fn from(listing: GroupListing) -> Self {
        Self {
            vhost: listing.vhost,
            name: listing.name,
            kind: listing.kind.to_owned(),
            class: listing.class.to_owned(),
            partition: listing.partition,
            leader: listing.leader,
            epoch: listing.epoch,
            ready: listing.ready,
            unacked: listing.unacked,
            members: listing.members.into_iter().map(MemberDocument::from).collect(),
        }
    }
}

impl From<MemberListing> for MemberDocument {
    fn from(listing: MemberListing) -> Self {
        Self {
            protocol: listing.protocol.to_owned(),
            connection: listing.connection,
            peer: listing.peer,
            label: listing.label,
            credit_messages: listing.credit_messages,
            unacked: listing.unacked,
            priority: listing.priority,
            filter: listing.filter,
            skipped: listing.skipped.map(str::to_owned),
        }
    }
}

//! What `group list` and `group show` tell: plain data, gathered from catalog and partitions on request.

/// One attached member.
#[derive(Clone, Debug)]
pub struct MemberListing {
    /// `amqp`, `mqtt` or `nats`.
    pub protocol: &'static str,
    /// The node's number of the connection.
    pub connection: u64,
    /// Peer address of the connection.
    pub peer: String,
    /// Consumer tag, client id or sid.
    pub label: String,
    /// Messages it may still be sent; `None`: unlimited.
    pub credit_messages: Option<u64>,
    /// Deliveries that it has not settled.
    pub unacked: u64,
    /// Consumer priority.
    pub priority: i32,
    /// Its filter in MQTT's notation, if it came by one and the group has other bindings too.
    pub filter: Option<String>,
    /// Why it is sent nothing just now; `None` when it would be.
    pub skipped: Option<&'static str>,
}

/// One group.
#[derive(Clone, Debug)]
pub struct GroupListing {
    /// Its vhost.
    pub vhost: String,
    /// Its name.
    pub name: String,
    /// `declared`, `shared` or `session`.
    pub kind: &'static str,
    /// `direct`, `memory`, `disk`, `quorum`: as declared. (The README says what holds today.)
    pub class: &'static str,
    /// Its partition.
    pub partition: u32,
    /// The node that leads it.
    pub leader: u64,
    /// Fences the leader.
    pub epoch: u64,
    /// Messages that wait.
    pub ready: u64,
    /// Messages handed out and not settled.
    pub unacked: u64,
    /// Its members.
    pub members: Vec<MemberListing>,
}

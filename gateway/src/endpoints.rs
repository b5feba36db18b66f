//! Makes the endpoint of a new connection from the node's settings.

use std::net::SocketAddr;
use std::sync::Arc;

use braid_types::ConnectionId;
use bytes::Bytes;

use crate::node::Node;
use crate::operations::random;

pub(crate) fn amqp(node: &Node, id: ConnectionId) -> braid_amqp::Connection {
    let settings = &node.config.amqp;
    let options = braid_amqp::Options {
        heartbeat_s: settings.heartbeat_s,
        frame_bytes_max: settings.frame_bytes_max,
        channel_max: settings.channels_max,
        node: Bytes::from(node_name(node)),
        ..braid_amqp::Options::new(id, random())
    };
    braid_amqp::Connection::new(node.broker.clock.now(), options)
}

pub(crate) fn mqtt(node: &Node, id: ConnectionId) -> braid_mqtt::Connection {
    let settings = &node.config.mqtt;
    let options = braid_mqtt::Options {
        receive_maximum: settings.receive_maximum,
        topic_alias_maximum: settings.topic_alias_maximum,
        packet_bytes_max: settings.packet_bytes_max,
        session_expiry_max_s: settings.session_expiry_s_max,
        ..braid_mqtt::Options::new(id, random())
    };
    braid_mqtt::Connection::new(node.broker.clock.now(), options)
}

pub(crate) fn nats(
    node: &Node,
    id: ConnectionId,
    local: Option<SocketAddr>,
    peer: SocketAddr,
) -> braid_nats::Connection {
    let settings = &node.config.nats;
    let name = node_name(node);
    let options = braid_nats::Options {
        server_id: Arc::from(name.to_uppercase().replace('-', "")),
        server_name: Arc::from(name),
        host: Arc::from(local.map(|local| local.ip().to_string()).unwrap_or_default()),
        port: local.map_or(0, |local| local.port()),
        max_payload_bytes: settings.payload_bytes_max as usize,
        client_id: id,
        client_ip: Arc::from(peer.ip().to_string()),
        auth_required: !peer.ip().to_canonical().is_loopback(),
        ping_interval_ms: settings.ping_interval_ms,
        ..braid_nats::Options::default()
    };
    braid_nats::Connection::new(node.broker.clock.now(), options)
}

fn node_name(node: &Node) -> String {
    format!("braidmq-{}", node.config.node.node_id)
}

//! Packets as a client writes them.

/// A packet from its first byte and its parts; the remaining length is computed.
pub(crate) fn packet(first: u8, parts: &[&[u8]]) -> Vec<u8> {
    let body = parts.concat();
    let mut out = vec![first];
    let mut length = body.len();
    loop {
        let byte = u8::try_from(length & 0x7F).expect("seven bits");
        length >>= 7;
        out.push(if length > 0 { byte | 0x80 } else { byte });
        if length == 0 {
            break;
        }
    }
    out.extend(body);
    out
}

/// Two bytes of length, and the text.
pub(crate) fn text(text: &str) -> Vec<u8> {
    let mut out = u16::try_from(text.len()).expect("short").to_be_bytes().to_vec();
    out.extend(text.as_bytes());
    out
}

/// A property block with its length.
pub(crate) fn block(properties: &[u8]) -> Vec<u8> {
    packet(0, &[properties]).split_off(1)
}

/// CONNECT of MQTT 5 without will and credentials.
pub(crate) fn connect_5(client_id: &str, clean: bool, properties: &[u8]) -> Vec<u8> {
    packet(0x10, &[b"\x00\x04MQTT\x05", &[u8::from(clean) << 1, 0, 10], &block(properties), &text(client_id)])
}

/// CONNECT of MQTT 3.1.1.
pub(crate) fn connect_3(client_id: &str, clean: bool) -> Vec<u8> {
    packet(0x10, &[b"\x00\x04MQTT\x04", &[u8::from(clean) << 1, 0, 10], &text(client_id)])
}

/// PUBLISH; `properties` only for MQTT 5.
pub(crate) fn publish(flags: u8, topic: &str, packet_id: u16, properties: Option<&[u8]>, body: &[u8]) -> Vec<u8> {
    let id = packet_id.to_be_bytes();
    let id: &[u8] = if flags & 0b110 == 0 { &[] } else { &id };
    let properties = properties.map(block).unwrap_or_default();
    packet(0x30 | flags, &[&text(topic), id, &properties, body])
}

/// PUBACK, PUBREC, PUBREL, PUBCOMP in the short form.
pub(crate) fn acknowledge(first: u8, packet_id: u16) -> Vec<u8> {
    packet(first, &[&packet_id.to_be_bytes()])
}

/// SUBSCRIBE of MQTT 5 with one filter.
pub(crate) fn subscribe_5(packet_id: u16, properties: &[u8], filter: &str, options: u8) -> Vec<u8> {
    packet(0x82, &[&packet_id.to_be_bytes(), &block(properties), &text(filter), &[options]])
}

/// SUBSCRIBE of MQTT 3 with one filter.
pub(crate) fn subscribe_3(packet_id: u16, filter: &str, qos: u8) -> Vec<u8> {
    packet(0x82, &[&packet_id.to_be_bytes(), &text(filter), &[qos]])
}

/// UNSUBSCRIBE of MQTT 5 with one filter.
pub(crate) fn unsubscribe_5(packet_id: u16, filter: &str) -> Vec<u8> {
    packet(0xA2, &[&packet_id.to_be_bytes(), &[0], &text(filter)])
}

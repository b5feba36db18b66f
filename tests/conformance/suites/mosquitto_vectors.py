"""Mosquitto's wire vectors: sequences of packets in JSON, sent and expected byte for byte.

Two readings. Strict: what the vector says, except that properties of a successful CONNACK are the server's own. Lenient:
besides, a DISCONNECT may be left out, added or carry another code, and a refusing CONNACK may be a bare close, as the
standard allows; the connection must be closed all the same.
"""

import json
import struct

from . import mosquitto_source
from .mqtt_packets import Stream, Unexpected, connect_packet, parse_vector

HOST = "127.0.0.1"
CLOSE_TIMEOUT_S = 2

CONNACK, PUBACK, PUBREC, PUBCOMP, PINGRESP, DISCONNECT = 0x20, 0x40, 0x50, 0x70, 0xD0, 0xE0


class Vectors:
    """The suite in one of its readings."""

    TITLE_OF = {False: "Mosquitto wire vectors, strict", True: "Mosquitto wire vectors, lenient"}
    VERSION = mosquitto_source.VERSION
    CONFIG = mosquitto_source.CONFIG
    SOURCE = "Debian source"
    PEER = "Mosquitto 2.1.2"
    PEER_PASSES = 1773

    def __init__(self, name, lenient):
        self.NAME, self.TITLE, self.lenient = name, self.TITLE_OF[lenient], lenient

    def prepare(self, folder):
        mosquitto_source.prepare()

    def run(self, folder, ports):
        outcomes = {}
        for file in sorted((mosquitto_source.prepare() / "data").glob("*.json")):
            for group in json.loads(file.read_text()):
                if group.get("disable"):
                    continue
                for test in group["tests"]:
                    base = name = f"{file.stem} {group['group'].strip()} {test['name'].strip()}"
                    number = 2
                    while name in outcomes:
                        name, number = f"{base} ({number})", number + 1
                    outcomes[name] = self.play(ports["mqtt"], group, test)
        return outcomes

    def play(self, port, group, test):
        """Plays one vector; returns why it failed, or None."""

        def setting(key, default):
            return test.get(key, group.get(key, default))

        client_id = f"{group['group']} {test['name']}"
        try:
            with Stream(HOST, port, CLOSE_TIMEOUT_S) as stream:
                if setting("connect", True):
                    stream.send(connect_packet(client_id, setting("ver", 4)))
                    self.expect(stream, parse_vector("20 r2 00 00" if setting("ver", 4) != 5 else "20 r3 00 00 00"))
                for message in test["msgs"]:
                    if message["type"] == "send":
                        stream.send(parse_vector(message["payload"]))
                    elif message["type"] == "recv":
                        self.expect(stream, parse_vector(message["payload"]))
                    else:
                        publish_by_another(port, message)
                if setting("expect_disconnect", True):
                    self.expect_close(stream)
                else:
                    stream.send(b"\xc0\x00")
                    self.expect(stream, b"\xd0\x00")
        except (Unexpected, OSError) as error:
            return f"{type(error).__name__}: {error}"
        return None

    def expect(self, stream, expected):
        kind = expected[0] & 0xF0 if expected else 0
        if kind == CONNACK:
            self.expect_connack(stream, expected)
        elif kind == DISCONNECT and self.lenient:
            packet = stream.packet_or_close()
            if packet is not None and packet.kind != DISCONNECT:
                raise Unexpected(f"{packet.raw.hex()} instead of a close")
        else:
            got = stream.take(len(expected))
            if got != expected:
                raise Unexpected(f"{got.hex()} instead of {expected.hex()}")

    def expect_connack(self, stream, expected):
        refused = expected[3] != 0
        packet = stream.packet_or_close()
        if packet is None:
            if refused and self.lenient:
                return
            raise Unexpected("closed instead of CONNACK")
        same_code = packet.kind == CONNACK and len(packet.body) > 1 and packet.body[1] == expected[3]
        both_refuse = packet.kind == CONNACK and refused and self.lenient and packet.body[1:2] != b"\x00"
        if not (same_code or both_refuse):
            raise Unexpected(f"{packet.raw.hex()} instead of {expected.hex()}")

    def expect_close(self, stream):
        packet = stream.packet_or_close()
        if packet is None:
            return
        refusing_connack = packet.kind == CONNACK and packet.body[1:2] != b"\x00"
        if self.lenient and (packet.kind == DISCONNECT or refusing_connack) and stream.packet_or_close() is None:
            return
        raise Unexpected(f"still connected: {packet.raw.hex()}")


def publish_by_another(port, message):
    """Publishes what the vector says from a connection of its own."""
    topic, payload = message["topic"].encode(), message["payload"].encode()
    qos = message["qos"]
    body = struct.pack("!H", len(topic)) + topic + (struct.pack("!H", 1) if qos else b"") + payload
    with Stream(HOST, port, CLOSE_TIMEOUT_S) as stream:
        stream.send(connect_packet("helper", 4))
        steps = [(None, CONNACK), (bytes([0x30 | qos << 1, len(body)]) + body, {1: PUBACK, 2: PUBREC}.get(qos))]
        if qos == 2:
            steps.append((b"\x62\x02\x00\x01", PUBCOMP))
        for sent, kind in steps:
            if sent:
                stream.send(sent)
            packet = stream.packet_or_close() if kind else None
            if kind and (packet is None or packet.kind != kind):
                raise Unexpected("the publishing connection was not answered")
        if qos == 0:
            stream.send(b"\xc0\x00")
            packet = stream.packet_or_close()
            if packet is None or packet.kind != PINGRESP:
                raise Unexpected("the publishing connection was not answered")


STRICT = Vectors("mosquitto-vectors-strict", lenient=False)
LENIENT = Vectors("mosquitto-vectors-lenient", lenient=True)

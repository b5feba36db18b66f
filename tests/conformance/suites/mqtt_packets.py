"""MQTT packets for the wire vectors: reading their notation, and a socket that gives whole packets."""

import dataclasses
import re
import socket
import struct


class Unexpected(Exception):
    """The broker did something else."""


@dataclasses.dataclass
class Packet:
    """A received packet: type (high half of the first byte), what follows the length, and all of it."""

    kind: int
    body: bytes
    raw: bytes


class Stream:
    """A connection to the broker."""

    def __init__(self, host, port, timeout_s):
        self.socket = socket.create_connection((host, port), timeout=timeout_s)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, packet):
        self.socket.sendall(packet)

    def take(self, count):
        """`count` bytes, or fewer when the broker closes."""
        taken = b""
        while len(taken) < count:
            part = self.socket.recv(count - len(taken))
            if not part:
                break
            taken += part
        return taken

    def packet_or_close(self):
        """The next packet; None when the broker closed, in order or by reset."""
        try:
            raw = self.take(1)
            if not raw:
                return None
            length, shift = 0, 0
            while True:
                byte = self.take(1)
                if not byte:
                    return None
                raw += byte
                length |= (byte[0] & 0x7F) << shift
                shift += 7
                if byte[0] < 0x80:
                    break
            body = self.take(length)
        except (ConnectionResetError, BrokenPipeError):
            return None
        return Packet(raw[0] & 0xF0, body, raw + body)


def varint(value):
    """A variable byte integer; too large ones too, as vectors want them."""
    encoded = b""
    while True:
        value, low = value >> 7, value & 0x7F
        encoded += bytes([low | 0x80 if value else low])
        if not value:
            return encoded


# Each notation of a vector with its meaning: text, one byte, two, four, variable length, hexadecimal.
NOTATIONS = [
    (re.compile(r"'([^']*)'"), lambda text: text.encode()),
    (re.compile(r"i(\d+)"), lambda number: int(number).to_bytes(1, "big")),
    (re.compile(r"[Hkms](\d+)"), lambda number: int(number).to_bytes(2, "big")),
    (re.compile(r"L(\d+)"), lambda number: int(number).to_bytes(4, "big")),
    (re.compile(r"[vr](\d+)"), lambda number: varint(int(number))),
    (re.compile(r"((?:[0-9A-Fa-f]{2})+)"), bytes.fromhex),
]


def parse_vector(text):
    """The bytes that a vector describes."""
    encoded, at = b"", 0
    while at < len(text):
        if text[at] == " ":
            at += 1
            continue
        for pattern, encode in NOTATIONS:
            match = pattern.match(text, at)
            if match:
                encoded, at = encoded + encode(match[1]), match.end()
                break
        else:
            raise ValueError(f"cannot read `{text}` at {at}")
    return encoded


def connect_packet(client_id, version):
    """CONNECT with a clean session, keepalive 60 s, and in version 5 a Receive Maximum of 20."""
    name = b"MQIsdp" if version & 0x7F == 3 else b"MQTT"
    properties = b"\x03\x21\x00\x14" if version == 5 else b""
    identifier = client_id.encode()
    body = struct.pack("!H", len(name)) + name + bytes([version, 2, 0, 60]) + properties
    body += struct.pack("!H", len(identifier)) + identifier
    return b"\x10" + varint(len(body)) + body

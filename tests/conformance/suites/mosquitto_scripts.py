"""Mosquitto's test scripts that take a running broker: each is a Python file with `all_tests(start_broker=False)`.

Properties of a successful CONNACK are the server's own, so any successful one matches; all else is as the script says.
"""

import re
import subprocess
import sys

from . import mosquitto_source

NAME = "mosquitto-scripts"
TITLE = "Mosquitto scripts on a running broker"
VERSION = mosquitto_source.VERSION
CONFIG = mosquitto_source.CONFIG
SOURCE = "Debian source"
PEER = "Mosquitto 2.1.2"
PEER_PASSES = 64

SCRIPT_TIMEOUT_S = 60
ENTRY = "def all_tests(start_broker=False)"

# Runs in a process of its own, since scripts keep state in modules and end the interpreter.
CHILD = """
import importlib.util, sys
script, port = sys.argv[1:3]
sys.argv = [script, port]
import mosq_test

plain = mosq_test.expect_packet

def packet(sock):
    raw = sock.recv(2)
    while len(raw) > 1 and raw[-1] & 0x80:
        raw += sock.recv(1)
    length = sum((byte & 0x7F) << (7 * index) for index, byte in enumerate(raw[1:]))
    body = b""
    while len(body) < length:
        part = sock.recv(length - len(body))
        if not part:
            break
        body += part
    return raw, body

def expect_packet(sock, name, expected):
    if expected[:1] != b"\\x20":
        return plain(sock, name, expected)
    raw, body = packet(sock)
    if not raw:
        raise BrokenPipeError("closed instead of CONNACK")
    start = 2 if expected[1] < 0x80 else 3
    if raw + body == expected or (raw[0] == 0x20 and body[:2] == expected[start:start + 2] and body[1] == 0):
        return True
    if body[1:2] != b"\\x00" and len(raw + body) < len(expected) and not sock.recv(1):
        raise BrokenPipeError("refused")  # what reading on for the rest of the expected packet would meet
    if not mosq_test.packet_matches(name, raw + body, expected):
        raise mosq_test.TestError
    return True

mosq_test.expect_packet = expect_packet
spec = importlib.util.spec_from_file_location("script", script)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
sys.exit(module.all_tests() or 0)
"""


def prepare(_folder):
    mosquitto_source.prepare()


def run(_folder, ports):
    scripts = mosquitto_source.prepare()
    outcomes = {}
    for script in sorted(scripts.glob("[0-9][0-9]-*.py")):
        if ENTRY in script.read_text():
            outcomes[script.name] = play(script, ports["mqtt"])
    return outcomes


def play(script, port):
    environment = {"PYTHONPATH": f"{script.parent}:{script.parents[1]}", "PATH": "/usr/bin:/bin"}
    command = [sys.executable, "-B", "-W", "ignore", "-c", CHILD, str(script), str(port)]
    try:
        done = subprocess.run(
            command, cwd=script.parent, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=SCRIPT_TIMEOUT_S, check=False,
        )
    except subprocess.TimeoutExpired:
        return f"not done after {SCRIPT_TIMEOUT_S} s"
    if done.returncode == 0:
        return None
    told = re.findall(r"^(?:FAIL|Received|Expected|\w*Error).*$", done.stdout, re.MULTILINE)
    return " | ".join(told)[:300] or f"code {done.returncode}"

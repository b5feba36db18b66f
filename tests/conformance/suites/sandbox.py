"""Where a suite runs: a network namespace with nothing but loopback, and in it a fresh broker on the usual ports."""

import contextlib
import fcntl
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import tempfile

STOP_TIMEOUT_S = 30
PORTS = {"amqp": 5672, "mqtt": 1883, "nats": 4222, "http": 15672}

SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1


def is_peer():
    """Whether the environment names a running broker to be used instead of ours."""
    return "AMQP_PORT" in os.environ and "MQTT_PORT" in os.environ


def isolated(command):
    """The command line that runs `command` in a network namespace of its own."""
    if is_peer():
        return command
    rights = [] if os.geteuid() == 0 else ["--map-root-user"]
    return ["unshare", *rights, "--net", *command]


@contextlib.contextmanager
def broker(log, config):
    """Starts a broker with a data folder of its own and the text `config`; gives its ports by name; ends it and only it."""
    if is_peer():
        yield {"amqp": int(os.environ["AMQP_PORT"]), "mqtt": int(os.environ["MQTT_PORT"])}
        return
    raise_loopback()
    data = tempfile.mkdtemp(prefix="braidmq-suite")
    settings = pathlib.Path(data) / "braidmq.toml"
    settings.write_text(config)
    command = [binary(), "serve", "--data-dir", data, "--config", str(settings)]
    with open(log, "w", encoding="utf-8") as errors:
        process = subprocess.Popen(command, cwd=data, stdout=subprocess.PIPE, stderr=errors, text=True)
        try:
            for line in process.stdout:
                if line.strip() == "ready":
                    break
            else:
                raise SystemExit(f"run-suites: the broker did not start: {pathlib.Path(log).read_text()}")
            yield PORTS
            if process.poll() is not None:
                raise SystemExit(f"run-suites: the broker died: {pathlib.Path(log).read_text()[-4000:]}")
        finally:
            process.terminate()
            try:
                process.wait(STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()
            shutil.rmtree(data, ignore_errors=True)


def raise_loopback():
    """Switches the loopback interface of this namespace on."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = struct.pack("16sH14x", b"lo", 0)
        flags = struct.unpack("16sH14x", fcntl.ioctl(control, SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flags | IFF_UP))


def binary():
    """The broker's binary: $BRAIDMQ, or the one in the target folder."""
    root = pathlib.Path(__file__).resolve().parents[3]
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR") or root / "target").resolve()
    candidates = [os.environ.get("BRAIDMQ"), target / "debug/braidmq", target / "release/braidmq"]
    for candidate in candidates:
        if candidate and os.access(candidate, os.X_OK):
            return str(pathlib.Path(candidate).resolve())
    raise SystemExit("run-suites: no braidmq binary: run cargo build -p braid-gateway, or set BRAIDMQ")

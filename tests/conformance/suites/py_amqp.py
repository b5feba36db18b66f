"""py-amqp's integration tests (PyPI source distribution), without those that need TLS."""

from . import fetch, junit

NAME = "py-amqp"
TITLE = "py-amqp `t/integration` (without TLS)"
VERSION = "5.4.2"
SOURCE = "PyPI"
PEER = "RabbitMQ 4.3.6"
PEER_PASSES = 48


def prepare(folder):
    fetch.python_tools()
    fetch.once(folder / "fetched", VERSION, lambda path: fetch.python_source("amqp", VERSION, path))


def run(folder, ports):
    environment = {"RABBITMQ_HOST": "127.0.0.1", "RABBITMQ_5672_TCP": str(ports["amqp"]), "PYTHONPATH": "."}
    arguments = ["t/integration", "-k", "not tls and not ssl"]
    return junit.pytest(folder / "fetched/source", arguments, environment, folder / "junit.xml")

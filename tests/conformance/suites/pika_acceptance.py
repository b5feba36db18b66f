"""pika's acceptance tests (upstream archive of the Debian source package), without TLS (skipped) and Twisted."""

from . import fetch, junit

NAME = "pika"
TITLE = "pika `tests/acceptance` (without TLS and Twisted)"
VERSION = "1.3.2"
DEBIAN_VERSION = "1.3.2-1"
SOURCE = "Debian source"
PEER = "RabbitMQ 4.3.6"
PEER_PASSES = 477

# Names that would have to be looked up outside: there is no outside in the sandbox.
OUTSIDE = "not Getaddrinfo"

def prepare(folder):
    fetch.python_tools()
    install = lambda path: fetch.debian_source("python-pika", DEBIAN_VERSION, path)  # noqa: E731
    fetch.once(folder / "fetched", DEBIAN_VERSION, install)


def run(folder, _ports):
    # Its tests name no port but 5672, which in the sandbox is the broker's.
    arguments = ["-o", "python_files=*_tests.py *_test.py", "-k", OUTSIDE]
    arguments += ["--ignore=tests/acceptance/twisted_adapter_tests.py", "tests/acceptance"]
    return junit.pytest(folder / "fetched/source", arguments, {"PYTHONPATH": "."}, folder / "junit.xml")

"""The source of Mosquitto, for the suites that are taken from it (upstream archive of the Debian source package)."""

from . import fetch

VERSION = "2.1.2"
DEBIAN_VERSION = "2.1.2-3"

# What Mosquitto itself runs its tests with.
CONFIG = "[mqtt]\ntopic_alias_maximum = 10\nreceive_maximum = 20\n"


def prepare():
    """Fetches it; returns its folder `test/broker`."""
    install = lambda path: fetch.debian_source("mosquitto", DEBIAN_VERSION, path)  # noqa: E731
    return fetch.once(fetch.folder("mosquitto") / "fetched", DEBIAN_VERSION, install) / "source/test/broker"

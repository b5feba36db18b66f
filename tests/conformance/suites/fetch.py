"""Gets pinned sources and tools from package registries into the target folder. What is there already stays."""

import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

HERE = pathlib.Path(__file__).resolve().parent
DEBIAN_RELEASES = ["bookworm", "trixie", "sid"]


def folder(name):
    """The folder of one suite below the target folder."""
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR") or HERE.parents[2] / "target")
    path = target.resolve() / "conformance" / "suites" / name
    path.mkdir(parents=True, exist_ok=True)
    return path


def once(path, pins, install):
    """Calls `install(path)` for an empty folder `path`, unless that was done before for the same `pins`."""
    stamp, wanted = path / ".fetched", hashlib.sha256(repr(pins).encode()).hexdigest()
    if stamp.exists() and stamp.read_text() == wanted:
        return path
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    install(path)
    stamp.write_text(wanted)
    return path


def run(*command, **options):
    """Runs a command to its end; what it printed is shown only when it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options)
    if done.returncode != 0:
        raise SystemExit(f"run-suites: `{' '.join(map(str, command))}` failed:\n{done.stdout[-4000:]}")
    return done.stdout


def unpack(archive, path):
    """Unpacks `archive` into `path` without its top folder."""
    with tarfile.open(archive) as tar:
        for member in tar:
            _, _, inner = member.name.partition("/")
            if inner:
                member.name = inner
                tar.extract(member, path, filter="data")


def debian_source(package, version, path):
    """Unpacks the upstream archive of a Debian source package into `path`. The machine's own apt lists stay as they are:
    the source lists are kept in a folder of ours, from the mirror and with the keyring that the machine uses."""
    apt = path / "apt"
    for part in ("lists/partial", "cache/archives/partial", "archives"):
        (apt / part).mkdir(parents=True)
    mirror, keyring = debian_mirror()
    lines = [f"deb-src [signed-by={keyring}] {mirror} {release} main" for release in DEBIAN_RELEASES]
    (apt / "sources.list").write_text("\n".join(lines) + "\n")
    settings = {
        "Dir::Etc::SourceList": apt / "sources.list",
        "Dir::Etc::SourceParts": "/dev/null",
        "Dir::State::Lists": apt / "lists",
        "Dir::Cache": apt / "cache",
        "APT::Sandbox::User": "root",
    }
    options = [part for key, value in settings.items() for part in ("-o", f"{key}={value}")]
    run("apt-get", *options, "update")
    # The upstream archive is all that is wanted; mirrors may have lost the packaging files beside it. apt has checked
    # the archive against the signed lists before it gives it its name.
    command = ("apt-get", *options, "source", "--download-only", f"{package}={version}")
    done = subprocess.run(command, cwd=apt / "archives", capture_output=True, text=True, check=False)
    archive = next((apt / "archives").glob("*.orig.tar.*"), None)
    if archive is None:
        raise SystemExit(f"run-suites: no source of {package} {version}:\n{done.stderr[-4000:]}")
    unpack(archive, path / "source")
    shutil.rmtree(apt)


def debian_mirror():
    """Mirror and keyring of the machine, from its own sources."""
    files = [pathlib.Path("/etc/apt/sources.list"), *sorted(pathlib.Path("/etc/apt/sources.list.d").glob("*.sources"))]
    text = "\n".join(file.read_text() for file in files if file.exists())
    mirror = re.search(r"^(?:URIs:|deb(?: \[[^]]*\])?)\s+(\S+/debian)/?\s", text, re.MULTILINE)
    if not mirror:
        raise SystemExit("run-suites: no Debian mirror in /etc/apt")
    return mirror[1], "/usr/share/keyrings/debian-archive-keyring.gpg"


def python_source(package, version, path):
    """Unpacks a source distribution from PyPI into `path`."""
    archives = path / "archives"
    pip = (sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps")
    run(*pip, "--no-binary", ":all:", "--dest", str(archives), f"{package}=={version}")
    (archive,) = archives.glob("*.tar.gz")
    unpack(archive, path / "source")
    shutil.rmtree(archives)


def python_tools():
    """An interpreter with the pinned tools of requirements.txt."""
    pins = HERE / "requirements.txt"

    def install(path):
        run(sys.executable, "-m", "venv", str(path))
        run(str(path / "bin/pip"), "install", "--quiet", "--disable-pip-version-check", "--requirement", str(pins))

    return once(folder("python"), pins.read_text(), install) / "bin/python"

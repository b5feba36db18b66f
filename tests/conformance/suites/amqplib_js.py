"""amqplib's own tests (npm package), with mocha."""

import json
import os
import subprocess

from . import fetch

NAME = "amqplib"
TITLE = "amqplib (Node) `test/`"
VERSION = "0.10.3"
SOURCE = "npm"
PEER = "RabbitMQ 4.0.5"
PEER_PASSES = 255

TOOLS = [
    "@acuminous/bitsyntax@0.1.2",
    "buffer-more-ints@1.0.0",
    "claire@0.4.1",
    "mocha@9.2.2",
    "readable-stream@1.1.14",
    "url-parse@1.5.10",
]


def prepare(folder):
    def install(path):
        npm = ("npm", "--prefix", str(path), "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error")
        fetch.run(*npm, "install", "--no-save", *TOOLS, cwd=path)
        fetch.run("npm", "pack", "--silent", f"amqplib@{VERSION}", cwd=path)
        (archive,) = path.glob("amqplib-*.tgz")
        fetch.unpack(archive, path / "amqplib")

    fetch.once(folder / "fetched", (VERSION, TOOLS), install)


def run(folder, ports):
    out = folder / "mocha.json"
    out.unlink(missing_ok=True)
    mocha = folder / "fetched/node_modules/mocha/bin/mocha"
    command = ["node", str(mocha), "--ui", "tdd", "--exit", "--reporter", "json", "--reporter-option", f"output={out}"]
    tests = sorted(str(path) for path in (folder / "fetched/amqplib/test").glob("*.js"))
    environment = {**os.environ, "URL": f"amqp://guest:guest@127.0.0.1:{ports['amqp']}"}
    done = subprocess.run(
        [*command, *tests], cwd=folder / "fetched/amqplib", env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, check=False,
    )
    if not out.exists():
        raise SystemExit(f"run-suites: mocha did not run:\n{done.stdout[-4000:]}")
    report = json.loads(out.read_text())
    pending = {test["fullTitle"] for test in report["pending"]}
    outcomes = {}
    for test in report["tests"]:
        if test["fullTitle"] in pending:
            continue
        name, number = test["fullTitle"], 2
        while name in outcomes:
            name, number = f"{test['fullTitle']} ({number})", number + 1
        why = test.get("err", {})
        outcomes[name] = (why.get("message") or "?").replace("\n", " ")[:300] if why else None
    return outcomes

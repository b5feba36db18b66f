"""Runs pytest and reads what each test did."""

import os
import re
import subprocess
import xml.etree.ElementTree as xml

from . import fetch


def pytest(source, arguments, environment, out):
    """{test: None or why it failed} of a pytest run in `source`; skipped tests are left out."""
    out.unlink(missing_ok=True)
    command = [str(fetch.python_tools()), "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junit-xml={out}", *arguments]
    done = subprocess.run(
        command, cwd=source, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if not out.exists():
        raise SystemExit(f"run-suites: pytest did not run:\n{done.stdout[-4000:]}")
    outcomes = {}
    for case in xml.parse(out).getroot().iter("testcase"):
        if case.find("skipped") is not None:
            continue
        problems = [*case.findall("failure"), *case.findall("error")]
        why = " ".join((problem.get("message") or problem.text or "?") for problem in problems)
        # The end of a message says what happened, its beginning often only where.
        outcomes[f"{case.get('classname')}::{case.get('name')}"] = re.sub(r"\s+", " ", why)[-300:] if problems else None
    return outcomes

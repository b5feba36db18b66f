"""Writes RESULTS.md: our passes beside those of the peer that the suite was written for. No dates and no times, so that
the same results give the same file."""

HEAD = """# Third-party suites: results

Written by `tests/conformance/run-suites`; do not edit. The peer's figures were measured once with the same tests on the
same kind of machine. Reasons for expected failures stand in `suites/expected-fail/`.

| suite | version | from | tests | passed | expected failures | not as expected | peer | peer passed |
|---|---|---|---|---|---|---|---|---|
"""


def write(path, rows):
    """Writes the table of (suite, verdict) rows."""
    lines = [
        f"| {suite.TITLE} | {suite.VERSION} | {suite.SOURCE} | {verdict.tests} | {verdict.passed} "
        f"| {verdict.expected_failures} | {len(verdict.complaints)} | {suite.PEER} | {suite.PEER_PASSES} |\n"
        for suite, verdict in rows
    ]
    text = HEAD + "".join(lines)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)

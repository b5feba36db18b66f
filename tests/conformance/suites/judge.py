"""Compares what tests did with what is expected of them."""

import dataclasses
import json
import pathlib

LISTS = pathlib.Path(__file__).resolve().parent / "expected-fail"


@dataclasses.dataclass
class Verdict:
    """The result of a suite: counts, and a line for each test that did not do what was expected."""

    tests: int
    passed: int
    expected_failures: int
    complaints: list

    def summary(self):
        expected = f", {self.expected_failures} failed as expected" if self.expected_failures else ""
        return f"{self.passed} of {self.tests} passed{expected}, {len(self.complaints)} not as expected"


def judge(suite, outcomes):
    """Compares `outcomes` with the suite's list."""
    expected = read_list(LISTS / f"{suite.NAME}.txt")
    complaints = [f"REGRESSION {test}: {why}" for test, why in outcomes.items() if why and test not in expected]
    complaints += [f"UNEXPECTED PASS {test}: take it off the list" for test in expected if outcomes.get(test, "") is None]
    complaints += [f"GONE {test}: it is on the list and did not run" for test in expected if test not in outcomes]
    if not outcomes:
        complaints.append("no test ran")
    failed = {test for test, why in outcomes.items() if why}
    return Verdict(len(outcomes), len(outcomes) - len(failed), len(failed & set(expected)), complaints)


def read_list(path):
    """{test: reason} of a list; a line without a reason is an error."""
    expected = {}
    for number, line in enumerate(path.read_text().splitlines() if path.exists() else [], 1):
        if not line.strip() or line.startswith("#"):
            continue
        test, mark, reason = line.rpartition(" # ")
        if not mark or not reason.strip():
            raise SystemExit(f"run-suites: {path.name}:{number}: a test without a reason")
        expected[test.strip()] = reason.strip()
    return expected


def save(path, outcomes):
    """Writes outcomes for the process that judges them."""
    path.write_text(json.dumps(outcomes))


def load(path):
    """Reads what `save` wrote."""
    return json.loads(path.read_text())

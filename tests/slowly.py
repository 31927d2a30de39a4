"""Run the slow tests within a time, and once more alone what has failed among others.

    python -m tests.slowly --minutes 50

Tests that wait for processes and clocks may fail on a busy machine. So each that fails runs again
in a process of its own, after all others, and has to pass there; it is listed. Once the minutes are
over no further test begins. Those that were not reached are listed, and are no failure. A test that
runs for five minutes longer is stopped, and counts as not reached. What has failed and has no time
to run again, within ten minutes after the minutes are over, has failed.

Other arguments are passed to pytest. As a plugin of pytest, also in the workers of pytest-xdist,
this module skips what begins too late.
"""

import argparse
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from time import time

import pytest

GRACE = 5 * 60.0
"""Seconds for the tests that run when the time is over."""
AGAIN = 10 * 60.0
"""Seconds, from then on too, for those that run again."""
LATE = "the time was over before it began"
CHOSEN = ("-m", "slow", "-q", "-rs", "-n", "auto", "--dist", "worksteal")
RAN = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)


# The plugin


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the time, in seconds since 1970, after which no test begins."""
    parser.addoption("--until", type=float, default=float("inf"))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test if the time is over."""
    if not time() < item.config.getoption("--until"):
        pytest.skip(LATE)


class Outcomes:
    """Notes what became of each test, in the process that reports.

    Attributes:
        tests: all of them.
        broken: the files that cannot be imported.
        ended: those that have ended, and how: "passed", "failed", "skipped" or "not reached".
    """

    def __init__(self) -> None:
        self.tests: list[str] = []
        self.broken: list[str] = []
        self.ended: dict[str, str] = {}

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note all tests, if there are no workers."""
        self.tests = [item.nodeid for item in session.items] or self.tests

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """Note all tests, if there are workers."""
        self.tests = [*ids]

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note a file that cannot be imported; each worker reports it."""
        if report.failed and report.nodeid not in self.broken:
            self.broken.append(report.nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a phase of a test: one that fails is enough, and to pass takes all."""
        late = report.skipped and LATE in str(report.longrepr)
        if report.failed or (report.skipped and report.nodeid not in self.ended):
            self.ended[report.nodeid] = "not reached" if late else report.outcome
        elif report.when == "teardown":
            self.ended.setdefault(report.nodeid, "passed")

    def which(self, outcome: str) -> list[str]:
        """The tests with an outcome, in order; all that have not ended were not reached."""
        return [each for each in self.tests if self.ended.get(each, "not reached") == outcome]


# The run


@contextmanager
def stopped_at(end: float) -> Iterator[None]:
    """Interrupt the block if it runs at that time."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    old = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, max(0.001, end - time()))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)


def passes_alone(test: str, end: float) -> bool:
    """Run a test in a process of its own; whether it passes before the end."""
    told(f"\nrunning again, alone: {test}")
    command = [sys.executable, "-m", "pytest", "-q", "-m", "", "-p", "no:xdist", test]
    try:
        return subprocess.run(command, timeout=max(1, end - time()), check=False).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def told(*lines: str) -> None:
    """Print at once: other processes print too."""
    print(*lines, sep="\n", flush=True)  # noqa: T201


def main(arguments: Sequence[str]) -> int:
    """Run the slow tests; the status is 0 unless one has failed twice, or they could not be run."""
    parser = argparse.ArgumentParser(prog="python -m tests.slowly")
    parser.add_argument("--minutes", type=float, default=50.0)
    given, others = parser.parse_known_args(arguments)
    until, outcomes = time() + given.minutes * 60, Outcomes()
    status: int = pytest.ExitCode.INTERRUPTED
    with suppress(KeyboardInterrupt), stopped_at(until + GRACE):
        options = [*CHOSEN, "-p", "tests.slowly", f"--until={until}", *others]
        status = pytest.main(options, plugins=[outcomes])
    ran = status in RAN or not time() < until + GRACE
    end, failed = until + AGAIN, outcomes.which("failed")
    alone = [each for each in failed if ran and time() < end and passes_alone(each, end)]
    found = {
        "passed": outcomes.which("passed") + alone,
        "failed": [*outcomes.broken, *(each for each in failed if each not in alone)],
        "skipped": outcomes.which("skipped"),
        "not reached": outcomes.which("not reached"),
    }
    for heading, tests in (
        ("failed among others, and passed alone", alone),
        (f"not reached in {given.minutes:g} minutes", found["not reached"]),
        ("failed twice, or could not run again", found["failed"]),
    ):
        if tests:
            told(f"\n{heading}:", *(f"  {each}" for each in tests))
    told("", ", ".join(f"{len(tests)} {outcome}" for outcome, tests in found.items()))
    return int(bool(found["failed"])) if ran else status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Two curators that open one root, and many threads that launch in one."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import attrs
import pytest

import curator
from composition import FiltCon
from curator.ledgers import LeaseError, Ledger, SQLiteLedger, chained, ledger_of
from curator.verify import verify
from mechanisms import Gaussian, SparseVector
from queryable import ZCDP, Queryable, QueryRefusedError
from tests.curator import analyses
from tests.curator.analyses import DATA, WATCHED, Watched
from tests.postgres import POSTGRES, database
from tests.stored import KEY

pytestmark = pytest.mark.filterwarnings("ignore::queryable.PrivacyWarning")

BUDGET = FiltCon(ZCDP(1))


def opened(ledger: Ledger, mechanism: Any = BUDGET) -> Queryable:
    return curator.open(ledger, mechanism, DATA, name="visits", key=KEY, codec=WATCHED)


@attrs.define
class Machines:
    """Says on which machine `curator.open` runs."""

    patch: pytest.MonkeyPatch

    def use(self, name: str) -> None:
        self.patch.setattr("curator.root.this_process", lambda: f"{name} 7")


@pytest.fixture
def machines(monkeypatch: pytest.MonkeyPatch) -> Machines:
    monkeypatch.setattr("curator.logs.journal.LedgerJournal.renew", lambda _: None)
    return Machines(monkeypatch)


def taken_over(one: Ledger, other: Ledger, machines: Machines, end: Any) -> None:
    """A second curator is refused, takes over after the lease has ended, and the first is stale."""
    reads: list[Watched] = []
    machines.patch.setattr(analyses, "SEEN", [reads.append])
    machines.use("first")
    stale = opened(one)
    search = stale.launch(SparseVector(20, epsilon="1/10", cutoff=9))
    answer = search(Watched(1))
    machines.use("second")
    with pytest.raises(LeaseError, match="is held by first 7 for another"):
        opened(other)
    assert search(Watched(2)) in {True, False}
    end()
    table = opened(other)
    before = list(other.read("visits"))
    count = len(reads)
    for message in (lambda: search(Watched(3)), lambda: stale.launch(Gaussian(Watched(4), rho=1))):
        with pytest.raises(LeaseError, match="took root 'visits' over"):
            message()
    assert len(reads) == count
    assert list(other.read("visits")) == before
    again = table.children[0]
    assert again.view[0].answer == answer
    assert again(Watched(5)) in {True, False}
    assert [event.epoch for event in chained(other.read("visits"))][-1] == before[-1].epoch + 1
    verify(other.read("visits"), codec=WATCHED)
    one.close()
    other.close()


def test_a_second_curator_waits_for_the_end_of_the_lease(
    tmp_path: Path, machines: Machines
) -> None:
    now = [1000.0]
    one, other = (SQLiteLedger(tmp_path / "a.db", clock=lambda: now[0]) for _ in range(2))
    taken_over(one, other, machines, lambda: now.__setitem__(0, 2000.0))


@POSTGRES
def test_a_second_curator_on_postgres(machines: Machines) -> None:
    """The clock is that of the server, so the lease is ended in its table."""
    url = database()
    one, other = ledger_of(url), ledger_of(url)
    end = "UPDATE curator_leases SET until = clock_timestamp() RETURNING 1"
    taken_over(one, other, machines, lambda: other._rows(end))  # type: ignore[attr-defined]


def admitted(path: Path, launches: int, tries: int) -> int:
    """How many launches 64 threads get from a budget for so many; each thread tries so often."""
    ledger = SQLiteLedger(path)
    table = opened(ledger, FiltCon(ZCDP(launches)))

    def work(_: int) -> int:
        done = 0
        for _ in range(tries):
            with suppress(QueryRefusedError):
                table.launch(Gaussian(Watched(1), rho=1))
                done += 1
        return done

    with ThreadPoolExecutor(64) as threads:
        done = sum(threads.map(work, range(64)))
    assert table.privacy_loss() == ZCDP(launches)
    kinds = [event.kind for event in chained(ledger.read("visits"))]
    assert kinds.count("intent") == launches
    assert kinds.count("exchange") == 64 * tries - launches
    assert len(opened(ledger, FiltCon(ZCDP(launches))).ledger()) == 64 * tries
    ledger.close()
    return done


@pytest.mark.parametrize(
    ("launches", "tries"), [(100, 2), pytest.param(1000, 20, marks=pytest.mark.slow)]
)
def test_64_threads_get_what_the_budget_has(tmp_path: Path, launches: int, tries: int) -> None:
    assert admitted(tmp_path / "a.db", launches, tries) == launches

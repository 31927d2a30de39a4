"""What is read of a ledger, and of the data, when a child goes on after a restart."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import curator
from composition import FiltCon
from curator.ledgers import Event
from curator.logs import reading
from mechanisms import Count, Gaussian, SparseVector, Table, column
from queryable import ZCDP, Queryable
from tests.stored import KEY, MemoryLedger

pytestmark = pytest.mark.filterwarnings("ignore::queryable.PrivacyWarning")

DATA = {"age": list(range(100))}


class Watched(MemoryLedger):
    """Counts the events that were read."""

    read_of_it = 0

    def read(self, root: str, after: int = 0) -> Iterator[Event]:
        for event in super().read(root, after):
            self.read_of_it += 1
            yield event


def above(age: int) -> Count:
    return Count(column("age") >= age)


def events_of(ledger: Watched, run: Callable[[], Any]) -> int:
    before = ledger.read_of_it
    run()
    return ledger.read_of_it - before


def opened(ledger: MemoryLedger, data: Any = DATA) -> Queryable:
    return curator.open(ledger, FiltCon(ZCDP(100)), data, name="a", key=KEY)


def test_messages_that_are_far_apart_are_read_alone() -> None:
    ledger = Watched()
    table = opened(ledger)
    search = table.launch(SparseVector(10**6, epsilon="1/10"))
    for age in range(10):
        search.ask(above(age + 50))
        table.launch_many([Gaussian(above(age), rho="1/100")] * 2)
        for _ in range(20):
            table.launch(Gaussian(above(age), rho="1/1000"))
    table = opened(ledger)
    assert events_of(ledger, lambda: table.children[0].ask(above(77))) < 10 * 6
    assert events_of(ledger, lambda: list(table.view)) < 1.2 * len(ledger.events["a"])


def test_the_entries_of_a_message_are_decoded_together(monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = MemoryLedger()
    opened(ledger).launch_many([Gaussian(above(age), rho="1/1000") for age in range(90)])
    table = opened(ledger)
    decoded: list[Any] = []
    past_of = reading.past_of
    monkeypatch.setattr(reading, "past_of", lambda *given: decoded.append(0) or past_of(*given))
    assert [each.query.mechanism.statistic for each in table.view] == [above(n) for n in range(90)]
    assert table.privacy_loss(2) == ZCDP("36/100")
    assert len(decoded) < 3


def test_statistics_that_are_run_again_are_prepared_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Those of questions that were asked one by one, and together."""
    ledger = MemoryLedger()
    with Table(DATA) as data:
        search = opened(ledger, data).launch(SparseVector(10**6, epsilon="1/10"))
        for age in range(5):
            search.ask(above(age + 50))
        search.ask_many([above(70), above(71)])
    prepared: list[int] = []
    prepare = Table.prepare

    def noted(table: Table, statistics: Any) -> None:
        prepared.append(len(statistics))
        prepare(table, statistics)

    monkeypatch.setattr(Table, "prepare", noted)
    with Table(DATA) as data:
        assert opened(ledger, data).children[0].ask(above(90)) is False
    assert prepared[0] == 7

"""`curator.view`: a root without its data and its key."""

from pathlib import Path
from typing import Any

import pytest

import curator
import mechanisms as m
from composition import FiltCon
from curator import LedgerError
from queryable import ZCDP, Queryable, QueryError
from queryable.errors import HandleError
from tests.curator.test_same_views import charges_of, tree_of, view_of
from tests.stored import KEY, STORED, Crash, MemoryLedger
from tests.strategies import RandomBits

pytestmark = pytest.mark.filterwarnings("ignore::queryable.PrivacyWarning")

DATA = {"age": [31, 47, 62] * 20}
BUDGET = FiltCon(ZCDP(1))
OLD = m.Count(m.column("age") >= 40)
NOISY = m.Gaussian(OLD, rho="1/50")


def opened(ledger: Any, dataset: Any = DATA) -> Queryable:
    key = KEY if isinstance(ledger, MemoryLedger) else None
    return curator.open(ledger, BUDGET, dataset, name="visits", key=key)


def test_a_closed_root_can_be_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "visits.db"
    table = opened(path)
    table.launch(NOISY, name="old")
    search = table.launch(m.SparseVector(30, epsilon="1/10", cutoff=9))
    search(OLD)
    team = table.launch(FiltCon(ZCDP("1/10")))
    team(NOISY)
    views = view_of(table), charges_of(table), tree_of(table), table.privacy_loss()
    curator.close(path, "visits")
    shown = curator.view(path, "visits")
    assert (view_of(shown), charges_of(shown), tree_of(shown), shown.privacy_loss()) == views
    assert shown.explain() == table.explain()
    assert shown.children[2].privacy_loss() == ZCDP("1/50")
    assert not shown.can_afford(m.Gaussian(m.Count(), rho=1))
    asks: list[Any] = [
        lambda: shown.launch(NOISY),
        lambda: shown.launch(NOISY, name="old"),
        lambda: shown.launch_many([NOISY]),
        lambda: shown.children[1](OLD),
        lambda: shown.children[2](NOISY),
    ]
    for ask in asks:
        with pytest.raises(HandleError, match=r"open the root with curator\.open"):
            ask()
    assert view_of(shown) == views[0]


def test_a_poll_that_needs_the_data_is_refused() -> None:
    """A person in the middle would be run again."""
    ledger = MemoryLedger()
    opened(ledger).launch(m.BrownianNoiseReduction() @ FiltCon(ZCDP("1/10")))
    shown = curator.view(ledger, "visits")
    with pytest.raises(HandleError, match="this is a view"):
        shown.children[0].privacy_loss()
    assert shown.privacy_loss() == ZCDP("1/10")


def test_a_look_changes_nothing(tmp_path: Path) -> None:
    """Another curator goes on meanwhile."""
    ledger = MemoryLedger()
    table = opened(ledger)
    table.launch(NOISY)
    appends, epochs = ledger.appends, {**ledger.epochs}
    shown = curator.view(ledger, "visits")
    assert shown.privacy_loss() == ZCDP("1/50")
    assert (ledger.appends, ledger.epochs) == (appends, epochs)
    table.launch(NOISY)
    assert len([*shown.view]) == 2  # with the report
    assert curator.view(ledger, "visits").privacy_loss() == ZCDP("1/25")


def test_a_message_under_way_is_shown_with_its_charge() -> None:
    ledger = MemoryLedger()
    table = opened(ledger)
    clock: Any = table._root
    clock.journal._now = lambda: 86_400.5
    table.launch(NOISY)
    ledger.crash_at = ledger.appends + 1  # the answer
    ledger.stored = False
    clock.journal._now = lambda: 3 * 86_400.5
    with pytest.raises(Crash):
        table.launch(NOISY)
    shown = curator.view(ledger, "visits")
    assert shown.privacy_loss() == ZCDP("1/25")
    assert "failed" in shown.tree()
    told = [(each.time, each.row.outcome) for each in shown.report().questions]
    assert told == [("1970-01-02 00:00:00", "charged"), ("1970-01-04 00:00:01", "failed")]


def test_what_could_be_afforded_depends_on_who_is_protected() -> None:
    """Which is shown. The ledger says that, and no column, so another column is not found."""
    ledger = MemoryLedger()
    rows = m.Table({"age": [31, 47, 62], "who": [1, 1, 2]}, privacy_unit="who", max_rows=2)
    table = opened(ledger, rows)
    shown = curator.view(ledger, "visits")
    assert "one who: at most 2" in table.tree()
    assert shown.tree() == table.tree()
    for handle in (table, shown):
        assert handle.can_afford(m.TreeCounter(m.Count(per=rows.unit), rho="1/100", horizon=4))
        assert not handle.can_afford(m.TreeCounter(m.Count(per=rows.unit), rho=100, horizon=4))
        with pytest.raises(QueryError, match=r"per=visits\.unit|protect all rows of one who"):
            handle.can_afford(m.TreeCounter(m.Count(), rho="1/100", horizon=4))


def test_a_root_that_is_no_filter() -> None:
    ledger = MemoryLedger()
    table = curator.open(ledger, RandomBits(), DATA, name="bits", key=KEY, codec=STORED)
    table("bits")
    shown = curator.view(ledger, "bits", codec=STORED)
    assert shown.opening == table.opening
    assert view_of(shown) == view_of(table)
    with pytest.raises(HandleError):
        shown("bits")


def test_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="there is no ledger"):
        curator.view(tmp_path / "no.db", "visits")
    assert not (tmp_path / "no.db").exists()
    ledger = MemoryLedger()
    opened(ledger)
    with pytest.raises(LedgerError, match="no root 'other'; there are: visits"):
        curator.view(ledger, "other")
    torn = MemoryLedger(crash_at=1, stored=False)
    with pytest.raises(Crash):
        curator.open(torn, RandomBits(), DATA, name="bits", key=KEY, codec=STORED)
    with pytest.raises(LedgerError, match="not opened to the end"):
        curator.view(torn, "bits", codec=STORED)

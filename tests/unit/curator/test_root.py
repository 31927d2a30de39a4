"""`curator.open` and `curator.close`: going on, and what is refused."""

import gc
import warnings
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import attrs
import numpy as np
import pytest

import curator
import queryable as q
from composition import FiltCon, Parallel, Partition
from curator import LedgerError
from curator.codec import entry_of
from mechanisms import Count, Gaussian, SparseVector, Table, column
from queryable.errors import CodecError, HandleError, RetiredChildError
from queryable.messages import addressed
from tests.stored import KEY, STORED, MemoryLedger
from tests.strategies import Faulty, RandomBits, Toy, raising

pytestmark = pytest.mark.filterwarnings("ignore::queryable.PrivacyWarning")

DATA = {"age": [31, 47, 62] * 20}
BUDGET = FiltCon(q.ZCDP(1))
NOISY = Gaussian(Count(column("age") >= 40), rho="1/50")


def opened(ledger: Any, mechanism: Any = BUDGET, dataset: Any = DATA, **more: Any) -> q.Queryable:
    return curator.open(ledger, mechanism, dataset, name="visits", **more)


def test_an_analysis_goes_on(tmp_path: Path) -> None:
    ledger = tmp_path / "visits.db"
    table = opened(ledger)
    noisy = table.launch(NOISY, name="old")
    search = table.launch(SparseVector(30, epsilon="1/10", cutoff=9), name="search")
    found = [search(Count(column("age") >= age)) for age in (60, 50)]
    again = opened(str(ledger))
    assert again.view == table.view
    assert again.tree() == table.tree()
    assert again.launch(NOISY, name="old") == noisy
    more = again.launch(SparseVector(30, epsilon="1/10", cutoff=9), name="search")
    assert more is again.children[1]
    assert [each.answer for each in more.view] == found
    more(Count())
    with pytest.raises(LedgerError, match=r"'visits' over.* Ask the handle that was"):
        search(Count())
    assert len(opened(ledger).view) == 5


def test_a_report_after_a_restart_is_no_message() -> None:
    """It runs the part again and changes nothing, so that all later answers have their coins."""
    ledger, data = MemoryLedger(), {"city": ["a", "b"] * 30}
    parts = Parallel(Partition("city", ("a",)), {"a": FiltCon(q.ZCDP(1))})
    opened(ledger, parts, data, key=KEY).children["a"](Gaussian(Count(), rho="1/9"))
    kept = len(ledger.events["visits"])
    again = opened(ledger, parts, data, key=KEY)
    assert again.privacy_loss() == q.ZCDP("1/9")
    assert again.children["a"].privacy_loss() == q.ZCDP("1/9")
    assert len(ledger.events["visits"]) == kept


@pytest.mark.parametrize("at", [(), (0,), (0, 1)])
def test_what_failed_is_retired_for_good(at: tuple[int, ...]) -> None:
    """However its parents were named in the message: in its path, or in an `Ask`."""
    ledger = MemoryLedger()
    table = opened(ledger, FiltCon(q.PureDP(1)), key=KEY, codec=STORED)
    team = table.launch(FiltCon(q.PureDP("1/2")))
    team.launch(RandomBits(q.PureDP("1/100")))
    team.launch(Faulty(raising(ValueError())))
    query = addressed((0, 1)[len(at) :], "bits")
    assert table._root.tell(at, query) == q.Failed()
    for handle in (table, opened(ledger, FiltCon(q.PureDP(1)), key=KEY, codec=STORED)):
        with pytest.raises(RetiredChildError):
            handle._root.tell(at, query)
        with pytest.raises(RetiredChildError):
            handle.ask(q.Ask(0, q.Ask(1, "bits")))


def test_several_roots_share_a_ledger(tmp_path: Path) -> None:
    """Also with one key and the same questions, each has noise of its own; so has each ledger."""
    answers = [
        opened(MemoryLedger(), RandomBits(), key=KEY, codec=STORED).opening for _ in range(2)
    ]
    for name in ("one", "two"):
        handle = curator.open(tmp_path / "a.db", RandomBits(), DATA, name=name, codec=STORED)
        answers += [handle.opening, handle("bits")]
    assert len(set(answers)) == 6


def test_an_old_copy_that_is_continued_otherwise_uses_no_coin_again() -> None:
    """The same question has the same answer there; after another one, all noise is another."""
    ledger = MemoryLedger()
    table = opened(ledger, RandomBits(), key=KEY, codec=STORED)
    first = table("bits")
    copy = ledger.copy()
    later = [table("bits") for _ in range(3)]
    restored = opened(copy, RandomBits(), key=KEY, codec=STORED)
    assert [restored("bits") for _ in range(3)] == later
    budget = MemoryLedger()
    team = opened(budget, FiltCon(q.PureDP(1)), key=KEY, codec=STORED)
    team(RandomBits(q.PureDP("0.1")))
    other = opened(budget.copy(), FiltCon(q.PureDP(1)), key=KEY, codec=STORED)
    other.launch(RandomBits(q.PureDP("0.2")))
    words = [[handle.children[0]("bits") for _ in range(3)] for handle in (team, other)]
    assert len({first, *later, *words[0], *words[1]}) == 10


def sources(folder: Path) -> dict[str, list[Any]]:
    """Data of each kind, as they were and then otherwise."""
    pandas, ibis = pytest.importorskip("pandas"), pytest.importorskip("ibis")
    rows = {"age": [31, 47], "who": [1, 1]}
    other = {"age": [31, 48], "who": [1, 1]}
    connection = ibis.duckdb.connect()
    for name, kept in (("visits", "age"), ("calls", "age"), ("wide", "age, 1 AS b")):
        connection.raw_sql(f"CREATE TABLE {name} AS SELECT 31 AS {kept}")

    def file(text: str) -> Table:
        (folder / "visits.csv").write_text(text)
        return Table(folder / "visits.csv")

    def stored(name: str) -> Callable[[], Table]:
        return lambda: Table(connection.table(name))

    unit = {"privacy_unit": "who", "max_rows": 2}
    return {
        "file": [lambda: file("age\n31\n"), lambda: file("age\n32\n")],
        "frame": [lambda: pandas.DataFrame(rows), lambda: pandas.DataFrame(other)],
        "unit": [lambda: Table(rows, **unit), lambda: Table(rows)],
        "max_rows": [lambda: Table(rows, **unit), lambda: Table(rows, **unit | {"max_rows": 3})],
        "database table": [stored("visits"), stored("calls")],
        "database columns": [stored("visits"), stored("wide")],
    }


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(
    "kind", ["file", "frame", "unit", "max_rows", "database table", "database columns"]
)
def test_data_that_changed_seal_the_root(tmp_path: Path, kind: str) -> None:
    """Until the data of then are back. Its answers can be looked at."""
    ledger = MemoryLedger()
    then, now = sources(tmp_path)[kind]
    opened(ledger, dataset=then(), key=KEY).launch(FiltCon(q.ZCDP("1/50")))
    appends = ledger.appends
    with pytest.raises(LedgerError, match=r"opened on other data.*curator\.view shows"):
        opened(ledger, dataset=now(), key=KEY)
    assert ledger.appends == appends
    assert len(curator.view(ledger, "visits").view) == 1
    opened(ledger, dataset=then(), key=KEY)


def test_what_has_no_text_is_refused_before_anything_is_read() -> None:
    table = opened(MemoryLedger(), key=KEY)
    statistic = q.Statistic(lambda dataset: 3, l1=1, l2=1)
    with pytest.raises(CodecError, match="Python function"):
        table.launch(Gaussian(statistic, rho="1/50"))
    assert table.privacy_loss() == q.ZCDP(0)
    assert len(table.view) == 1  # the report
    with pytest.raises(CodecError):
        opened(MemoryLedger(), RandomBits(), key=KEY)


def test_a_closed_root_has_no_more_answers(tmp_path: Path) -> None:
    ledger = tmp_path / "visits.db"
    table = opened(ledger)
    table.launch(NOISY)
    key = tmp_path / "visits.db.key"
    assert key.exists()
    curator.close(ledger, "visits")
    assert not key.exists()
    with pytest.raises(LedgerError):
        table.launch(NOISY)
    with pytest.raises(LedgerError, match="is closed"):
        opened(ledger, key=KEY)
    curator.close(ledger, "visits")
    with pytest.raises(LedgerError, match="no root 'other'"):
        curator.close(ledger, "other")


def test_a_table_keeps_its_choice_of_rows(tmp_path: Path) -> None:
    """The random seed of a table is that of the first time, so replays see the same rows."""

    def table() -> Table:
        rows = {"age": list(range(60)), "who": [row % 6 for row in range(60)]}
        return Table(rows, privacy_unit="who", max_rows=2)

    ledger, answers = MemoryLedger(), list[bool]()
    for _ in range(4):
        data = table()
        query = data.count(column("age") >= 30)
        handle = opened(ledger, dataset=data, key=KEY)
        search = handle.launch(
            SparseVector(6, epsilon="9/10", cutoff=20, sensitivity=2), name="search"
        )
        answers.append(search(query))
    assert len(answers) == 4
    assert [*handle.children] == [0]


def test_changed_data_retire_a_child(monkeypatch: pytest.MonkeyPatch) -> None:
    """If a fingerprint does not see a change, the comparison of answers does. The charge stays."""
    ledger, faults = MemoryLedger(), list[BaseException]()
    monkeypatch.setattr("curator.identities.fingerprint", lambda dataset, key: {})
    rich = FiltCon(q.ZCDP(100))
    search = opened(ledger, rich, key=KEY).launch(SparseVector(30, epsilon=9, cutoff=2))
    assert search(Count()) is True
    table = opened(ledger, rich, {"age": [31]}, key=KEY, on_fault=faults.append)
    with pytest.raises(q.MechanismFault):
        table.children[0](Count())
    assert "otherwise than the log says" in str(faults[0])
    loss = table.privacy_loss()
    assert not loss <= q.ZCDP(1)
    table = opened(ledger, rich, key=KEY)
    assert table.privacy_loss() == loss
    with pytest.raises(q.QueryError, match="retired"):
        table.children[0](Count())


def test_names_of_launches_survive_and_stay_bound(tmp_path: Path) -> None:
    ledger = MemoryLedger()
    first = opened(ledger, key=KEY).launch_many([NOISY, NOISY, NOISY], names=["a", None, "b"])
    table = opened(ledger, key=KEY)
    assert table.launch_many([NOISY, NOISY], names=["b", "a"]) == (first[2], first[0])
    with pytest.raises(q.QueryError, match="'a' belongs to another mechanism"):
        table.launch(Gaussian(Count(), rho="1/50"), name="a")
    assert "a: Gaussian" in table.tree()


class Rows(list[int]):
    """A list that can be watched."""


def test_dropping_the_last_handle_frees_the_data() -> None:
    """Of a root, and of one that was opened again, with a child that was run again."""
    data = [Rows([1, 2]), Rows([1, 2])]
    watched, ledger = [weakref.ref(each) for each in data], MemoryLedger()
    first = opened(ledger, FiltCon(q.PureDP(1)), data[0], key=KEY, codec=STORED)
    first.launch(RandomBits()).ask("bits")
    again = opened(ledger, FiltCon(q.PureDP(1)), data[1], key=KEY, codec=STORED)
    again.children[0].ask("bits")
    del first, again
    data.clear()
    gc.collect()
    assert [each() for each in watched] == [None, None]


@attrs.frozen
class Capricious(Toy):
    """Its claim is larger after `claims` was changed."""

    claims: ClassVar[list[q.PureDP]] = [q.PureDP("1/10")]

    def loss(self, d_in: int) -> q.PureDP:
        if not self.claims:
            raise ValueError("not again")
        return self.claims[0]


def test_a_mechanism_that_claims_otherwise_after_a_restart(monkeypatch: pytest.MonkeyPatch) -> None:
    """What claims more is charged more; what claims nothing is refused."""
    codec = STORED.joined([entry_of("tests.capricious/1", Capricious)])
    ledger = MemoryLedger()

    def claims(*losses: q.PureDP) -> q.Queryable:
        monkeypatch.setattr(Capricious, "claims", [*losses])
        return opened(ledger, FiltCon(q.PureDP(1)), key=KEY, codec=codec)

    claims(q.PureDP("1/10")).launch(Capricious())
    for loss in (q.PureDP("1/10"), q.PureDP("1/5")):
        assert claims(loss).privacy_loss() == loss
    with pytest.raises(HandleError, match="the versions that wrote it"):
        claims()


@pytest.mark.parametrize("name", ["\ud800\udc00", "\udc80", "a\ud83d"])
def test_names_with_lone_surrogates_are_refused(name: str) -> None:
    """JSON would read two of them as one character, and the launch would be charged again."""
    table = opened(MemoryLedger(), key=KEY)
    with pytest.raises(q.QueryError, match="lone surrogate"):
        table.launch(NOISY, name=name)
    with pytest.raises(q.QueryError, match="lone surrogate"):
        table.launch_many([NOISY, NOISY], names=["right", name])
    assert not len(table.view)
    table.launch(NOISY, name="\U00010000")


def test_what_was_under_way_is_finished_or_the_root_stays_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def crash(*_: Any) -> None:
        raise KeyboardInterrupt

    ledger = MemoryLedger()
    table = opened(ledger, key=KEY)
    with monkeypatch.context() as patched:
        patched.setattr("curator.logs.journal.LedgerJournal.answer", crash)
        with pytest.raises(KeyboardInterrupt):
            table.launch(NOISY)
    with monkeypatch.context() as patched:
        patched.setattr("curator.root.tell_again", lambda *_: None)
        with pytest.raises(LedgerError, match="was not finished"):
            opened(ledger, key=KEY)


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"key": bytes(32)}, "opened with another key"),
        ({"key": None}, "give a key"),
        ({"mechanism": FiltCon(q.ZCDP(2))}, "opened with another budget or mechanism: .*filt-con"),
        ({"dataset": {"age": [31, 47, 63] * 20}}, "opened on other data"),
    ],
)
def test_an_opening_that_is_refused_leaves_the_open_handle_alive(
    wrong: dict[str, Any], why: str
) -> None:
    ledger = MemoryLedger()
    table = opened(ledger, key=KEY)
    with pytest.raises((LedgerError, ValueError), match=why):
        opened(ledger, **{"key": KEY, **wrong})
    table.launch(NOISY)
    assert len(table.view) == 1


def test_data_that_the_ledger_holds_under_another_name_are_warned_about(tmp_path: Path) -> None:
    """In another process nothing of the first queryable is known but the ledger."""
    ledger, rows = tmp_path / "visits.db", {"age": np.arange(40)}
    curator.release(curator.open(ledger, BUDGET, rows, name="visits"))
    copied = {"age": np.arange(40)}
    with pytest.warns(q.PrivacyWarning, match="both reveal adds up.*the root 'visits'"):
        curator.open(ledger, FiltCon(q.ZCDP("1/50")), copied, name="again")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        curator.open(ledger, BUDGET, {"age": np.arange(41)}, name="others")
        curator.open(ledger, BUDGET, copied, name="visits")  # it goes on


@pytest.mark.parametrize("unit", [None, "who"])
def test_a_file_that_the_ledger_holds_is_known_with_another_unit(
    tmp_path: Path, unit: str | None
) -> None:
    file = tmp_path / "visits.csv"
    file.write_text("who,age\n1,30\n2,40\n")
    with Table(file) as rows:
        curator.release(opened(tmp_path / "visits.db", BUDGET, rows))
    with (
        Table(file, privacy_unit=unit, max_rows=None if unit is None else 1) as rows,
        pytest.warns(q.PrivacyWarning, match="the root 'visits'"),
    ):
        curator.open(tmp_path / "visits.db", BUDGET, rows, name="again")

"""Anchors: which copies of a ledger are sealed, and what charging one costs."""

import os
import stat
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import curator
import mechanisms as m
from composition import ConComp, ExPost, FiltCon, FiltSeq, OdomCon, ViaRenyi
from curator import Anchor, AnchorError, LedgerError, SealedError
from curator.lost import Lost
from curator.moorings import Mooring
from curator.verify import verify
from queryable import ZCDP, ApproxDP, Launch, PrivacyLossQuery, PureDP, Queryable, QueryError
from queryable.errors import HandleError
from queryable.messages import LaunchMany
from tests.encoded import ODOMETERS, RULES
from tests.instances import BUDGET
from tests.stored import KEY, STORED, Crash, MemoryLedger
from tests.strategies import RandomBits, RandomWord

pytestmark = pytest.mark.filterwarnings("ignore::queryable.PrivacyWarning")

DATA = {"age": [31, 47, 62] * 20}
OLD = m.Count(m.column("age") >= 40)
NOISY = m.Gaussian(OLD, rho="1/50")
ROOT = FiltCon(ZCDP(1))


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of an anchor; nothing waits for the disk."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)
    return tmp_path / "anchor"


def opened(ledger: Any, anchor: Any, mechanism: Any = ROOT, **more: Any) -> Queryable:
    return curator.open(
        ledger, mechanism, DATA, name="visits", key=KEY, codec=STORED, anchor=anchor, **more
    )


def bound(path: Path) -> Any:
    return Anchor(path).marks()["visits"].bound


@pytest.mark.parametrize("stored", [True, False])
@pytest.mark.parametrize("crash", range(1, 13))
def test_a_crash_costs_nothing(path: Path, crash: int, stored: bool) -> None:
    """At any append: the root goes on as if nothing had happened, with all its children."""

    def analysis(table: Queryable) -> list[Any]:
        said: list[Any] = [table.launch(RandomWord(PureDP(1)), name="a")]
        bits = table.launch(RandomBits(PureDP(1)), name="b")
        team = table.launch(FiltCon(PureDP(2)), name="c")
        said += [bits.opening, team.launch(RandomWord(PureDP(1)), name="d")]
        return [*said, table.launch(RandomWord(PureDP(1)), name="e")]

    root = FiltCon(PureDP(9))
    ledger = MemoryLedger(crash_at=crash, stored=stored)
    try:
        said = analysis(opened(ledger, path, root))
    except Crash:
        table = opened(ledger, path, root)
        said = analysis(table)
    table = opened(ledger, path, root)
    assert analysis(table) == said
    assert table.privacy_loss() == PureDP(5)
    assert {*table.children} == {1, 2}
    assert bound(path) == (5,)


def test_the_anchor_is_written_before_data_are_read(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If it cannot be, nothing is read; the message is run when the root is opened again."""
    ledger = MemoryLedger()
    table, marks = opened(ledger, path), list[int]()
    real = m.Gaussian.release

    def release(self: Any, dataset: Any, coins: Any) -> Any:
        marks.append(Anchor(path).marks()["visits"].seq)
        return real(self, dataset, coins)

    monkeypatch.setattr(m.Gaussian, "release", release)
    table.launch(NOISY)
    assert marks == [len(ledger.events["visits"]) - 1]  # the intent
    path.with_name("anchor.new").mkdir()  # in the way of the next write
    with pytest.raises(AnchorError, match="cannot be written"):
        table.launch(NOISY)
    assert len(marks) == 1
    with pytest.raises(HandleError, match="open root 'visits' again"):
        table.launch(NOISY)
    path.with_name("anchor.new").rmdir()
    again = opened(ledger, path)
    assert len(marks) == 2
    assert again.privacy_loss() == ZCDP("1/25")


def test_an_old_copy_is_sealed_until_it_is_charged(path: Path) -> None:
    ledger = MemoryLedger()
    table = opened(ledger, path)
    search = table.launch(m.SparseVector(30, epsilon="1/10", cutoff=9), name="search")
    noisy = table.launch(NOISY, name="old")
    loss = table.privacy_loss()
    old = ledger.copy()
    table.launch(m.Gaussian(OLD, rho="1/2"))
    search(OLD)
    spent = table.privacy_loss()
    appends = old.appends
    with pytest.raises(SealedError, match="'visits' is sealed: the ledger is an old copy"):
        opened(old, path)
    assert old.appends == appends
    assert curator.view(old, "visits", codec=STORED).privacy_loss() == loss
    restored = opened(old, path, charge_to_anchor=True)
    assert restored.privacy_loss() == spent
    assert restored.launch(NOISY, name="old") == noisy
    with pytest.raises(QueryError, match="retired"):
        restored.children[0](OLD)
    assert "retired" in restored.tree()
    assert "Lost" in restored.tree()
    verified = verify(old.read("visits"), codec=STORED)
    assert verified.spent[()] == (spent.rho,)  # type: ignore[union-attr]
    assert opened(old, path).privacy_loss() == spent  # it goes on without a further charge
    with pytest.raises(SealedError):
        opened(ledger, path)  # what was the newest copy is another history now


def test_a_message_under_way_in_an_old_copy_fails(path: Path) -> None:
    """Nothing is read for it, and its charge is kept."""
    ledger = MemoryLedger()
    table = opened(ledger, path)
    table.launch(NOISY)
    old = ledger.copy(len(ledger.events["visits"]) - 1)
    table.launch(NOISY)
    restored = opened(old, path, charge_to_anchor=True)
    assert "failed" in restored.tree()
    assert restored.privacy_loss() == ZCDP("1/25")


def test_a_ledger_that_was_deleted_is_missed(path: Path) -> None:
    opened(MemoryLedger(), path).launch(NOISY)
    with pytest.raises(SealedError, match="knows a root 'visits' that this ledger does not have"):
        opened(MemoryLedger(), path)


def test_two_roots_share_an_anchor(path: Path) -> None:
    ledger = MemoryLedger()
    tables = [
        curator.open(ledger, ROOT, DATA, name=name, key=KEY, anchor=path) for name in ("a", "b")
    ]
    for table in (*tables, tables[1]):
        table.launch(NOISY)
    marks = Anchor(path).marks()
    assert {name: mark.bound for name, mark in marks.items()} == {
        "a": (Fraction(1, 50),),
        "b": (Fraction(1, 25),),
    }
    old = ledger.copy(3)
    curator.open(old, ROOT, DATA, name="a", key=KEY, anchor=path)
    with pytest.raises(SealedError):
        curator.open(old, ROOT, DATA, name="b", key=KEY, anchor=path)


def test_an_anchor_belongs_to_its_root(path: Path) -> None:
    ledger, bare = MemoryLedger(), MemoryLedger()
    opened(ledger, path)
    opened(bare, None)
    with pytest.raises(LedgerError, match="was opened with an anchor"):
        opened(ledger, None)
    with pytest.raises(LedgerError, match="was opened without an anchor"):
        opened(bare, path)
    with pytest.raises(AnchorError, match="cannot be read"):
        opened(ledger, path.with_name("other"))
    other = path.with_name("other")
    opened(MemoryLedger(), other)
    with pytest.raises(AnchorError, match="no mark of this root"):
        opened(ledger, other)


def test_a_damaged_or_open_file_is_refused(path: Path) -> None:
    ledger = MemoryLedger()
    opened(ledger, path).launch(NOISY)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    text = path.read_text()
    for wrong in ("", text[:-20], text.replace('"1/50"', '"1/500"'), "{}\n", "[]"):
        path.write_text(wrong)
        with pytest.raises(AnchorError, match="is no anchor, or is damaged"):
            opened(ledger, path)
    path.write_text(text)
    path.chmod(0o644)
    with pytest.raises(AnchorError, match="chmod 600"):
        opened(ledger, path)
    path.chmod(0o600)
    opened(ledger, path)


def test_a_second_curator_does_not_lower_the_mark(path: Path) -> None:
    """The first one lost the root after its intent; it may not read."""
    ledger = MemoryLedger()
    stale = opened(ledger, path)
    opened(ledger, path).launch(NOISY)
    ledger.epochs["visits"] -= 1  # as if its intent had come through
    stale._root.journal.head = ledger.events["visits"][-1]  # type: ignore[attr-defined]
    with pytest.raises(AnchorError, match="another process has changed the mark"):
        stale.launch(NOISY)


RICH = ApproxDP(9, "1e-6")
ACCOUNTS: list[Any] = [
    *(FiltCon(RICH if isinstance(rule, ViaRenyi) else BUDGET, rule) for rule in RULES),
    *(OdomCon(*odometer) for odometer in ODOMETERS),
]


@pytest.mark.parametrize("mechanism", ACCOUNTS, ids=repr)
def test_every_account_is_charged_or_sealed_for_good(path: Path, mechanism: Any) -> None:
    ledger = MemoryLedger()
    table = opened(ledger, path, mechanism)
    word = RandomWord(PureDP("0.01"))
    table.launch(word)
    old = ledger.copy()
    for _ in range(3):
        table.launch(word)
    spent = table.ask(PrivacyLossQuery())
    known = Anchor(path).marks()["visits"].bound is not None
    with pytest.raises(SealedError, match="is sealed: the ledger is an old copy"):
        opened(old, path, mechanism)
    if known:
        restored = opened(old, path, mechanism, charge_to_anchor=True)
        assert spent <= restored.ask(PrivacyLossQuery())
        opened(old, path, mechanism).launch(word)
        return
    for _ in range(2):
        with pytest.raises(SealedError, match="sealed for good"):
            opened(old, path, mechanism, charge_to_anchor=True)
    assert len([*curator.view(old, "visits", codec=STORED).view]) == 1
    opened(ledger, path, mechanism).launch(word)  # the newest copy goes on


@pytest.mark.parametrize(
    "mechanism",
    [RandomBits(), ConComp([RandomBits(), RandomBits()]), FiltCon(PureDP(1), max_mechanisms=1)],
    ids=lambda each: type(each).__name__,
)
def test_what_cannot_be_charged_is_sealed_for_good(path: Path, mechanism: Any) -> None:
    ledger = MemoryLedger()
    table = opened(ledger, path, mechanism)
    if isinstance(mechanism, FiltCon):
        table.launch(RandomBits())
    asked = table if isinstance(mechanism, RandomBits) else table.children[0]
    asked("bits")
    old = ledger.copy()
    asked("bits")
    loss = old.events
    for _ in range(2):
        with pytest.raises(SealedError, match="sealed for good"):
            opened(old, path, mechanism, charge_to_anchor=True)
    assert old.events == loss
    asked = opened(ledger, path, mechanism)
    (asked if isinstance(mechanism, RandomBits) else asked.children[0])("bits")


def test_a_bound_that_is_raised_in_blocks(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Launches at the root write the anchor once a block; messages to children always do."""
    anchor, ledger, found = Anchor(path, block=ZCDP("1/10")), MemoryLedger(), list[Any]()
    real = Anchor.put
    monkeypatch.setattr(Anchor, "put", lambda *given: found.append(given[-1]) or real(*given))
    table = opened(ledger, anchor)
    found.clear()
    for _ in range(20):
        table.launch(NOISY)
    assert len(found) == 4  # each covers a launch of 1/50, and 5 more
    search = table.launch(m.SparseVector(30, epsilon="1/10", cutoff=9))
    team = table.launch(FiltCon(ZCDP("1/10")))
    found.clear()
    search(OLD)
    team.launch(NOISY)
    assert len(found) == 2
    loss = table.privacy_loss()
    crashed = ledger.copy()
    with pytest.raises(SealedError, match="raised ahead"):
        opened(crashed, anchor)
    again = opened(crashed, anchor, charge_to_anchor=True)
    now = again.privacy_loss()
    assert isinstance(now, ZCDP)
    assert isinstance(loss, ZCDP)
    assert loss.rho < now.rho <= loss.rho + Fraction(1, 10)
    again.children[20](OLD)  # children go on
    curator.release(again)
    assert bound(path) == (now.rho,)
    assert opened(crashed, anchor).privacy_loss() == now


def test_a_block_never_reaches_beyond_the_budget(path: Path) -> None:
    anchor, ledger = Anchor(path, block=ZCDP(5)), MemoryLedger()
    opened(ledger, anchor).launch(NOISY)
    assert bound(path) == (1,)
    again = opened(ledger, anchor, charge_to_anchor=True)
    assert again.privacy_loss() == ZCDP(1)


def test_a_launch_that_retires_others_is_always_marked(path: Path) -> None:
    """Otherwise a child that a lost launch retired would go on."""
    anchor, ledger = Anchor(path, block=ZCDP("1/10")), MemoryLedger()
    table = opened(ledger, anchor, FiltSeq(ZCDP(1)))
    table.launch(m.SparseVector(30, epsilon="1/10", cutoff=9))
    old = ledger.copy()
    table.launch(NOISY)
    with pytest.raises(SealedError, match="old copy"):
        opened(old, anchor, FiltSeq(ZCDP(1)))


def test_what_children_cost_as_they_answer_is_covered(path: Path) -> None:
    """An old copy from before the answers is charged for them; the newest one goes on."""
    ledger, root = MemoryLedger(), ExPost(PureDP(5))
    table = opened(ledger, path, root)
    child = table.launch(m.LaplaceNoiseReduction(OLD, epsilons=["1/10", 1, 2]))
    old = ledger.copy()
    assert bound(path) == (0,)
    child(m.Refine())
    assert bound(path) == (Fraction(1, 10),)
    child(m.Refine())
    child(m.Refine())
    assert bound(path) == (2,)
    assert opened(ledger, path, root).privacy_loss().epsilon == 2  # type: ignore[union-attr]
    charged = opened(old, path, root, charge_to_anchor=True)
    assert charged.privacy_loss().epsilon == 2  # type: ignore[union-attr]


POOL = ExPost(ApproxDP(1, "1e-6"), slack="1e-7")
BESIDE = m.Laplace(OLD, epsilon="1/10")


@pytest.mark.parametrize("lost", [(NOISY,), (BESIDE,), (BESIDE, NOISY)], ids=len)
@pytest.mark.parametrize("before", [(), (NOISY, BESIDE)], ids=len)
def test_an_old_copy_is_charged_for_a_pool_and_for_the_rest(
    path: Path, before: Any, lost: Any
) -> None:
    """By a charge of each that the lost messages have charged; then the copy goes on."""
    ledger, noisy = MemoryLedger(), m.Gaussian(OLD, rho="1/900")
    given = {NOISY: noisy, BESIDE: BESIDE}
    table = opened(ledger, path, POOL)
    for each in before:
        table.launch(given[each])
    old = ledger.copy()
    for each in lost:
        table.launch(given[each])
    with pytest.raises(SealedError, match="old copy"):
        opened(old, path, POOL)
    charged = opened(old, path, POOL, charge_to_anchor=True)
    assert charged.privacy_loss() == table.privacy_loss()
    charged.launch(noisy)
    assert not verify(old.read("visits"), codec=STORED).unchecked
    assert opened(old, path, POOL).privacy_loss() == charged.privacy_loss()


def test_a_block_beside_a_pool_is_charged_as_far_as_the_budget_pays(path: Path) -> None:
    anchor, ledger = Anchor(path, block=ApproxDP(1, "1e-6")), MemoryLedger()
    table = opened(ledger, anchor, POOL)
    table.launch(m.Gaussian(OLD, rho="1/900"))
    table.launch(BESIDE)
    assert bound(path)[0] == 1 - POOL.account().add(ZCDP("1/900")).pool[0]  # type: ignore[union-attr]
    again = opened(ledger, anchor, POOL, charge_to_anchor=True)
    assert again.privacy_loss().epsilon == 1  # type: ignore[union-attr]


def test_the_bound_is_the_worst_case_until_the_answer_tells_less(path: Path) -> None:
    ledger, root = MemoryLedger(), ExPost(PureDP(5))
    table = opened(ledger, path, root)
    child = table.launch(m.LaplaceNoiseReduction(OLD, epsilons=["1/10", 1, 2]))
    query = m.Until(
        m.AbsoluteError(10**6)
    )  # the first step is enough; the last one is the worst case
    ledger.crash_at = ledger.appends + 1
    with pytest.raises(Crash):
        child(query)
    assert bound(path) == (2,)
    ledger.crash_at = None
    with pytest.raises(SealedError, match="raised ahead"):
        opened(ledger, path, root)
    table = opened(ledger, path, root, charge_to_anchor=True)
    assert table.privacy_loss().epsilon == 2  # type: ignore[union-attr]
    second = table.launch(m.LaplaceNoiseReduction(OLD, epsilons=["1/10", 1, 2]))
    second(query)
    assert bound(path) == (Fraction(21, 10),)


def test_a_message_that_runs_again_covers_those_before_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the anchor could not be written twice: for a filter, and for a launch in it."""
    ledger, real = MemoryLedger(), Mooring.keep
    table = opened(ledger, path)
    table.launch(NOISY)
    old = ledger.copy()

    def crash(*_: Any, **__: Any) -> None:
        raise Crash

    monkeypatch.setattr(Mooring, "keep", crash)
    with pytest.raises(Crash):
        table.launch(FiltCon(ZCDP("1/2")))
    monkeypatch.setattr(Mooring, "keep", real)
    table = opened(ledger, path)
    monkeypatch.setattr(Mooring, "keep", crash)
    with pytest.raises(Crash):
        table.children[1].launch(NOISY)
    monkeypatch.setattr(Mooring, "keep", real)
    table = opened(ledger, path)  # runs the launch in the filter
    assert len(table.children[1].view) == 1
    assert bound(path) == (Fraction(13, 25),)
    assert opened(old, path, charge_to_anchor=True).privacy_loss() == ZCDP("13/25")


def test_what_is_lost_reads_nothing_and_is_charged() -> None:
    lost = Lost(ZCDP("1/50"), 2)
    assert lost.privacy_map(0) == ZCDP(0)
    assert lost.privacy_map(1) == lost.privacy_map(2) == ZCDP("1/50")
    assert lost.privacy_map(3) == ZCDP("4/50")
    table = Queryable(FiltCon(ZCDP(1), d_in=2), DATA)
    search = table.launch(m.SparseVector(30, epsilon="1/10", cutoff=9))
    with pytest.raises(QueryError, match="retires the others alone"):
        table._root.tell((), LaunchMany([Launch(lost), Launch(NOISY)]))
    before = table.privacy_loss()
    table.launch(Lost(ZCDP("1/50"), 2, retires_others=False))
    search(OLD)
    assert table.launch(lost) is None
    with pytest.raises(QueryError, match="retired"):
        search(OLD)
    after = table.privacy_loss()
    assert isinstance(after, ZCDP)
    assert isinstance(before, ZCDP)
    assert after.rho == before.rho + Fraction(1, 25)


PROGRAM = """
import sys, warnings
import curator
from composition import FiltCon
from mechanisms import Count, Gaussian
from queryable import ZCDP
warnings.simplefilter("ignore")
anchor = curator.Anchor(sys.argv[1] + "/anchor", block=ZCDP("1/10"))
table = curator.open(sys.argv[1] + "/a.db", FiltCon(ZCDP(1)), [1], name="visits", anchor=anchor)
table.launch(Gaussian(Count(), rho="1/50"))
"""


def test_a_process_that_ends_lowers_the_bound(tmp_path: Path) -> None:
    """Without a release, and it does not wait for the thread that renews leases."""
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    ended = subprocess.run(command, cwd=Path(__file__).parents[3], timeout=600, check=False)
    assert ended.returncode == 0
    assert bound(tmp_path / "anchor") == (Fraction(1, 50),)

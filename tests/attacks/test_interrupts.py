"""Interrupts between any two instructions: either nothing has changed, or the charge is made.

After each interrupt the tree has to answer, the last total of its ledger has to equal
`privacy_loss`, and nothing may have run uncharged. Here an interrupt is raised at points of a
message at which CPython would deliver one, and real signals are sent at random moments; the slow
tests take every point, and 20,000 signals.
"""

import dis
import gc
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest

from composition import ExPost, FiltCon, FiltSeq
from curator.ledgers import Event, SQLiteLedger, following
from mechanisms import (
    Count,
    Fit,
    FromModel,
    Gaussian,
    Measurements,
    SparseVector,
    Synthetic,
    Table,
    column,
)
from queryable import (
    SYSTEM,
    ZCDP,
    Ask,
    Coins,
    Failed,
    InteractiveMechanism,
    Measurement,
    MechanismFault,
    PureDP,
    Queryable,
    QueryRefusedError,
)
from queryable.checks.datasets import Described
from queryable.errors import RetiredChildError
from queryable.ex_post import Expense, ExPostMechanism
from queryable.randomness import pools
from queryable.statistics import IntegerStatistic
from tests.strategies import Courier

TINY = Fraction(1, 10**6)
RUNS: list[int] = []
ROOT = Path(__file__).parent.parent.parent
OURS = (str(ROOT / "queryable"), str(ROOT / "composition"), "<attrs generated")


@pytest.fixture(autouse=True)
def _nothing_has_run() -> None:
    """No run of another test is counted."""
    RUNS.clear()


@attrs.frozen
class Counted(Measurement):
    """A measurement that counts its runs."""

    def loss(self, d_in: int) -> ZCDP:
        return ZCDP(TINY * d_in**2)

    def release(self, dataset: Any, coins: Coins) -> int:
        RUNS.append(1)
        return len(RUNS)


@attrs.frozen
class Steps(InteractiveMechanism[int]):
    """A mechanism that answers with the number of asks."""

    def loss(self, d_in: int) -> ZCDP:
        return ZCDP(TINY * d_in**2)

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[int, Any]:
        return 0, None

    def step(self, state: int, query: Any, coins: Coins = SYSTEM) -> tuple[int, Any]:
        return state + 1, state


def _delivers(operation: str) -> bool:
    """Whether CPython looks for signals after this instruction."""
    return operation.startswith("CALL") or operation in ("RESUME", "JUMP_BACKWARD")


def interrupted_at(point: int, call: Callable[[], object], ours: tuple[str, ...] = OURS) -> bool:
    """Raise an interrupt at one of the points at which one can be delivered, if there are so many.

    An exception ends tracing, so there is one interrupt at most. In a thread of its own, because
    one that is raised by a tracer may leave another behind as the one being handled. Garbage is not
    collected meanwhile: Python drops what is raised in the finalizer of something else.
    """
    seen = 0
    last: dict[Any, str] = {}
    wrong: list[BaseException] = []

    def trace(frame: Any, event: str, arg: Any) -> Any:
        nonlocal seen
        if not frame.f_code.co_filename.startswith(ours):
            return None  # Python itself drops what is raised in a callback of its own
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "opcode":
            before = last.get(frame, "")
            last[frame] = dis.opname[frame.f_code.co_code[frame.f_lasti]]
            seen += _delivers(before)
            if seen == point and _delivers(before):
                raise KeyboardInterrupt
        return trace

    def run() -> None:
        gc.disable()
        sys.settrace(trace)
        try:
            call()
        except KeyboardInterrupt:
            pass
        except BaseException as error:
            wrong.append(error)
        finally:
            sys.settrace(None)
            gc.enable()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(300)
    assert not thread.is_alive()
    if wrong:
        raise wrong[0]
    return seen >= point


class Watched:
    """A tree with a team in it, and everything that has to hold of it."""

    def __init__(self) -> None:
        RUNS.clear()
        self.counted = Counted()
        self.root = Queryable(FiltCon(ZCDP(1)), "data")
        self.sibling = self.root(Steps())
        self.team = self.root(FiltCon(ZCDP("1/2")))

    def check(self) -> None:
        """The ledger first: it reads what an interrupted message has left."""
        rows = [row for row in self.team.ledger() if row.path == self.team._path]
        loss = self.team.privacy_loss()
        assert loss.rho == (rows[-1].total.rho if rows else 0)
        assert len(RUNS) * TINY <= loss.rho
        names = {row.name for row in rows if row.name}
        for name in names:
            before = len(RUNS)
            with suppress(MechanismFault):
                self.team(self.counted, name=name)
            assert len(RUNS) == before
        assert not self.root._root._lock._is_owned()
        self.sibling.ask("bits")


STRIDE = 9


def _points(call: Callable[[int], object], most: int = 100, every: int = 1) -> Iterator[int]:
    """Interrupt a call at every ninth point in turn, of which there are more than so many.

    Yields each point after the call, and last one that the call ended before. `every` leaves out
    some more of them, unless every single point is taken.
    """
    stride = every * (STRIDE - 1) + 1
    point, hit = 1 - stride, True
    while hit:
        point += stride
        hit = interrupted_at(point, partial(call, point))
        yield point
    assert point > most


def _sweep(watched: Watched, call: Callable[[int], object], most: int = 100) -> None:
    """Interrupt a call at these points, and check the tree after each."""
    for _ in _points(call, most):
        watched.check()


def test_a_launch_is_interrupted_anywhere() -> None:
    """Below a team, with and without a name; an interrupted name is free, or has its answer."""
    watched = Watched()
    _sweep(watched, lambda _: watched.team(watched.counted))
    watched = Watched()
    _sweep(watched, lambda n: watched.team(watched.counted, name=f"launch {n}"))
    assert watched.root.privacy_loss() == ZCDP(Fraction(1, 2) + TINY)


class Prepared(Described):
    """A dataset that can prepare statistics, and notes when it is read."""

    def check(self, statistic: IntegerStatistic) -> None:
        """Every statistic fits."""

    def prepare(self, statistics: Any) -> None:
        RUNS.append(len(tuple(statistics)))


@attrs.frozen
class Size(IntegerStatistic):
    """One, whatever the data."""

    l1 = l2 = Fraction(1)
    shape = None

    def value(self, dataset: Any) -> int:
        return 1


@attrs.frozen
class Noted(Counted):
    """A measurement of a statistic."""

    statistic: Any = Size()


def test_several_launches_are_interrupted_anywhere() -> None:
    """None is charged, or all are; what has not run has failed, and each has an exchange.

    This message has the most points, so every seventeenth is taken where others take every ninth.
    """
    root = Queryable(FiltCon(ZCDP(1)), Prepared())
    team = root(FiltCon(ZCDP("1/2")))
    launches, launched = [Noted(), Steps(), Noted(), Gaussian(Count(), rho=9)], 0

    def launch(point: int) -> None:
        RUNS.clear()
        team.launch_many(launches, names=[f"0 at {point}", f"1 at {point}", None, None])

    for point in _points(launch, 200, every=2):
        rows = [row for row in team.ledger() if row.outcome != "refused"]
        assert len(rows) in (launched, launched + 3)
        assert team.privacy_loss().rho == len(rows) * TINY
        assert all(row.total.rho == n * TINY for n, row in enumerate(rows, 1))
        assert not RUNS or len(rows) == launched + 3
        assert len(team.ledger()) == len(rows) // 3 * 4
        if len(rows) > launched:
            before = len(RUNS)
            with suppress(MechanismFault):
                team(Noted(), name=f"0 at {point}")  # the old answer, or the failure again
            assert len(RUNS) == before
        launched = len(rows)


@pytest.mark.parametrize("count", [1, 3])
def test_launches_in_sequence_are_interrupted_anywhere(count: int) -> None:
    """At most the last child is alive, and it only if it has run. None is charged, or all are."""
    root = Queryable(FiltSeq(ZCDP(1)), Prepared())
    started = [Started()] * count
    call = partial(root.launch, *started) if count == 1 else partial(root.launch_many, started)
    for _ in _points(lambda _: call()):
        alive = []
        for each in range(len(root.ledger())):
            with suppress(RetiredChildError):
                root.ask(Ask(each, "bits"))
                alive.append(each)
        assert alive in ([], [len(root.ledger()) - 1])
        assert len(RUNS) <= len(root.ledger())
        assert len(root.ledger()) % count == 0
        assert root.privacy_loss() == ZCDP(len(root.ledger()) * TINY)


def test_several_queries_are_interrupted_anywhere() -> None:
    """A sparse vector has answered none of them, or each has its answer or has failed."""
    root = Queryable(FiltCon(ZCDP(1)), Prepared())
    search = [root(SparseVector(10**9, "1/1000", cutoff=9))]
    asked = 0
    for _ in _points(lambda _: search[0].ask_many([Size(), Size()])):
        answers = search[0].view.answers
        assert len(answers) in (asked, asked + 2)
        new = answers[asked:]
        assert new in ((), (False, False), (False, Failed()), (Failed(), Failed()))
        asked = len(answers)
        if Failed() in new:
            with pytest.raises((RetiredChildError, MechanismFault)):
                search[0].ask(Size())
            search[0], asked = root(SparseVector(10**9, "1/1000", cutoff=9)), 0


def test_an_ask_is_interrupted_anywhere() -> None:
    """A child is as it was, has answered, or is retired; and then it alone."""
    watched = Watched()
    child = [watched.team(Steps())]
    answers: list[int] = []

    def ask(_: int) -> None:
        try:
            answers.append(child[0].ask("bits"))
        except RetiredChildError:
            child[0] = watched.team(Steps())
            answers.clear()

    _sweep(watched, ask)
    assert answers == sorted(set(answers))  # no answer is given twice


def test_a_report_is_interrupted_anywhere() -> None:
    """An interrupted report retires no child."""
    watched = Watched()
    child = watched.team(Steps())
    _sweep(watched, lambda _: watched.team.privacy_loss(), 50)
    _sweep(watched, lambda _: watched.team.can_afford(watched.counted), 50)
    assert child.ask("bits") == 0


def test_a_person_is_interrupted_anywhere() -> None:
    """It is unchanged until its query is charged, and retired after that; other children go on."""

    watched = Watched()
    people: list[Queryable] = []

    def launch(_: int) -> None:
        if not people:
            people.append(watched.team(Courier() @ FiltCon(ZCDP("1/1000"))))
        try:
            people[0](watched.counted)
            people[0].launch_many([watched.counted, watched.counted])
        except RetiredChildError:
            people.clear()

    _sweep(watched, launch, 200)


@attrs.frozen
class Meter(Expense):
    """Every answer costs as much as the one before."""

    answers: int = 0

    def epsilon(self, d_in: int) -> Fraction:
        return self.answers * TINY * d_in

    def at_worst(self, query: Any, d_in: int) -> Fraction:
        return (self.answers + 1) * TINY * d_in

    def after(self, query: Any, answer: Any) -> "Meter":
        return Meter(self.answers + 1)


@attrs.frozen
class Metered(ExPostMechanism[int]):
    """Notes each of its runs, the opening too."""

    def expense(self) -> Meter:
        return Meter()

    def loss(self, d_in: int) -> PureDP:
        return PureDP(d_in)

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[int, Any]:
        RUNS.append(1)
        return 0, None

    def step(self, state: int, query: Any, coins: Coins = SYSTEM) -> tuple[int, Any]:
        RUNS.append(1)
        return state + 1, state


def test_an_ex_post_child_is_interrupted_anywhere() -> None:
    """Each run is in the realised total, also one whose answer is lost."""
    root = Queryable(ExPost(PureDP(1)), "data")
    child = [root(Metered())]

    def ask(_: int) -> None:
        try:
            child[0].ask("more")
        except RetiredChildError:
            child[0] = root(Metered())

    for _ in _points(ask):
        account = root.node.account
        assert account is not None
        assert account.total() == root.privacy_loss()
        assert len(RUNS) * TINY <= root.privacy_loss().epsilon


@attrs.frozen
class Started(Steps):
    """Notes that it was started."""

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[int, Any]:
        RUNS.append(1)
        return 0, None


@pytest.mark.slow
@pytest.mark.parametrize(
    "sweep",
    [
        test_a_launch_is_interrupted_anywhere,
        test_several_launches_are_interrupted_anywhere,
        partial(test_launches_in_sequence_are_interrupted_anywhere, 1),
        partial(test_launches_in_sequence_are_interrupted_anywhere, 3),
        test_several_queries_are_interrupted_anywhere,
        test_an_ask_is_interrupted_anywhere,
        test_a_report_is_interrupted_anywhere,
        test_a_person_is_interrupted_anywhere,
        test_an_ex_post_child_is_interrupted_anywhere,
    ],
    ids=lambda sweep: getattr(sweep, "__name__", f"in sequence, {getattr(sweep, 'args', '')}"),
)
def test_every_single_instruction(
    sweep: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sweeps above, at every point at which an interrupt is delivered.

    Without values drawn ahead: filling a pool has more points than all else together, and an
    interrupted filling starts again.
    """
    monkeypatch.setattr(sys.modules[__name__], "STRIDE", 1)
    monkeypatch.setattr(pools, "_WARM", sys.maxsize)
    pools._forget_all()
    sweep()


@pytest.mark.parametrize("nth", [1, 2, 3])
def test_a_second_interrupt_while_the_first_is_handled(nth: int) -> None:
    """The next query or the ledger completes the interrupted change."""
    for point in range(1, 240, 13):
        watched = Watched()
        root, calls = watched.root._root, [0]

        def settled(root: Any = root, calls: list[int] = calls) -> Any:
            calls[0] += 1
            if calls[0] == nth:
                raise KeyboardInterrupt
            return type(root).settled(root)

        root.settled = settled  # type: ignore[method-assign]
        interrupted_at(point, lambda watched=watched: watched.team(watched.counted))  # type: ignore[misc]
        calls[0] = 9
        watched.check()


def test_an_interrupt_releases_the_lock_of_the_handle() -> None:
    """Another thread is answered afterwards."""
    watched = Watched()
    for point in range(1, 60, 3):
        interrupted_at(point, watched.root.privacy_loss)
        answered = threading.Thread(target=watched.root.privacy_loss, daemon=True)
        answered.start()
        answered.join(300)
        assert not answered.is_alive()


def test_an_interrupt_in_a_mechanism_comes_out_bare() -> None:
    """The charge stands; the interrupt is raised without context from the mechanism."""

    class Interrupted(Counted):
        def release(self, dataset: Any, coins: Coins) -> int:
            raise KeyboardInterrupt("data")

    watched = Watched()
    with pytest.raises(KeyboardInterrupt) as caught:
        watched.team(Interrupted())
    assert caught.value.args == ()
    assert caught.value.__context__ is None
    assert watched.team.privacy_loss() == ZCDP(TINY)
    watched.check()


def test_an_interrupt_of_a_compositors_own_comes_out_bare() -> None:
    """Before anything is charged: the old state, and no frame with a state in it."""

    class Slow(Counted):
        def loss(self, d_in: int) -> ZCDP:
            raise KeyboardInterrupt("state")

    watched = Watched()
    with pytest.raises(KeyboardInterrupt) as caught:
        watched.team(Slow())
    assert caught.value.args == ()
    trace, frames = caught.value.__traceback__, set()
    while trace is not None:
        frames.add(trace.tb_frame.f_code.co_name)
        trace = trace.tb_next
    assert not frames & {"step", "_launch", "claimed", "advance"}
    assert watched.team.privacy_loss() == ZCDP(0)
    watched.check()


def test_an_append_is_interrupted_anywhere(tmp_path: Path) -> None:
    """Roots of the same ledger go on, also while somebody keeps the traceback."""
    ledger = SQLiteLedger(tmp_path / "ledger.db")
    ours = (str(ROOT / "curator" / "ledgers"),)
    head = following(None, "other", ledger.lease("other", "curator", 99), "opened", "{}")
    ledger.append("other", [head])
    kept: list[BaseException] = []
    point, hit = 0, True

    def append(root: str, event: Event) -> None:
        try:
            ledger.append(root, [event])
        except KeyboardInterrupt as error:
            kept.append(error)
            raise

    while hit:
        point += 1
        root = f"root {point}"
        event = following(None, root, ledger.lease(root, "curator", 99), "opened", "{}")
        hit = interrupted_at(point, partial(append, root, event), ours)
        assert list(ledger.read(root)) in ([], [event])
        head = following(head, "other", 1, "answer", "{}")
        other = threading.Thread(target=ledger.append, args=("other", [head]), daemon=True)
        other.start()
        other.join(300)
        assert not other.is_alive(), point
        assert list(ledger.read("other"))[-1] == head
    assert point > 40
    ledger.close()


@contextmanager
def alarms(most: float) -> Iterator[Callable[[Callable[[], object]], bool]]:
    """Runs calls that a signal interrupts at a random moment; each tells whether it did.

    An interrupt inside a callback of a weak reference or of the garbage collector cannot be raised:
    Python reports it as unraisable and goes on. Such a call was not interrupted.
    """
    delays = np.random.default_rng(5)
    report = sys.unraisablehook

    def unless_interrupt(unraisable: Any) -> None:
        if not issubclass(unraisable.exc_type, KeyboardInterrupt):
            report(unraisable)

    sys.unraisablehook = unless_interrupt
    old = signal.signal(signal.SIGALRM, signal.default_int_handler)

    def during(call: Callable[[], object]) -> bool:
        try:
            signal.setitimer(signal.ITIMER_REAL, 1e-6 + most * delays.random())
            call()
            signal.setitimer(signal.ITIMER_REAL, 0)
        except KeyboardInterrupt:
            signal.setitimer(signal.ITIMER_REAL, 0)
            return True
        return False

    try:
        yield during
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
        sys.unraisablehook = report


class Dropped:
    """Is interrupted while it goes."""

    def __del__(self) -> None:
        signal.raise_signal(signal.SIGALRM)
        sorted([])  # in Python 3.11 the interrupt is raised after the next call


def test_a_signal_that_python_drops_is_no_interrupt() -> None:
    """Inside a finalizer or a callback; pytest would report it, at random, as a failure."""
    with alarms(1000) as during:
        assert not during(lambda: Dropped() and None)
    with alarms(0.01) as during:
        assert during(lambda: time.sleep(10))


def _typical(call: Callable[[], object]) -> float:
    times = []
    for _ in range(9):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return sorted(times)[4]


ROWS = {"age": np.arange(3000) % 90}


def _fast() -> tuple[Any, Any]:
    return "data", Counted()


def _rows() -> tuple[Any, Any]:
    return ROWS, Gaussian(Count(lambda data: data["age"] >= 30), rho=TINY)


def _table() -> tuple[Any, Any]:
    pytest.importorskip("duckdb")
    table = Table({"age": ROWS["age"]})
    return table, Gaussian(Count(column("age") >= 30), rho=TINY)


def _fuzzed(case: Callable[[], tuple[Any, Any]], wanted: int) -> None:
    """Interrupt launches until so many have been; check after each."""
    dataset, mechanism = case()
    interrupts = 0
    while interrupts < wanted:
        root = Queryable(FiltCon(ZCDP(1)), dataset)
        sibling = root(Steps())
        launch = partial(root, mechanism)
        with alarms(1.5 * _typical(launch)) as during:
            for _ in range(200):
                interrupts += during(launch)
                total = root.ledger()[-1].total
                assert root.privacy_loss() == total
                sibling.ask("bits")
        if isinstance(mechanism, Counted):
            assert len(RUNS) * TINY <= root.privacy_loss().rho
            RUNS.clear()
        answered = threading.Thread(target=root.privacy_loss, daemon=True)
        answered.start()
        answered.join(300)
        assert not answered.is_alive()


@pytest.mark.parametrize("case", [_fast, _rows, _table])
def test_real_signals_leave_the_tree_alive(case: Any) -> None:
    _fuzzed(case, 100)


@pytest.mark.slow
@pytest.mark.parametrize("case", [_fast, _rows, _table])
def test_twenty_thousand_real_signals_leave_the_tree_alive(case: Any) -> None:
    _fuzzed(case, 20_000)


@pytest.mark.parametrize("wanted", [14, pytest.param(300, marks=pytest.mark.slow)])
def test_signals_during_fits_leave_what_was_paid_for(wanted: int) -> None:
    """A fit ends where it is interrupted. Most persons go on; others are retired, and stay paid."""
    person = Synthetic({"age": [1, 2], "sex": [0, 1]}, rounds=3) @ FiltCon(ZCDP(1))
    rows = {"age": ROWS["age"] % 4, "sex": ROWS["age"] % 2}
    root = Queryable(FiltCon(ZCDP(10**6)), rows)
    persons, interrupts, retired = [root(person)], 0, 0
    most = _typical(lambda: root(person).ask(Fit("1/100", rounds=2)))
    with alarms(1.1 * most) as during:
        while interrupts < wanted:
            try:
                interrupts += during(lambda: persons[-1].ask(Fit("1/100", rounds=2)))
                measured = persons[-1].ask(Measurements())
            except RetiredChildError:
                retired += 1
                persons.append(root(person))
                continue
            except QueryRefusedError:
                persons.append(root(person))
                continue
            paid = sum(1 / (2 * each.variance) for each in measured)
            assert paid <= persons[-1].privacy_loss().rho <= 1
            if measured:
                assert persons[-1].ask(FromModel(Count())).measured
    assert retired < 0.9 * wanted  # one in seven is: 13 of 14 with chance 1.3e-10
    totals = [row.total for row in root.ledger() if row.total is not None]  # not of its purchases
    assert root.privacy_loss() == totals[-1]


def test_a_signal_during_a_long_query_of_a_table_is_an_interrupt() -> None:
    """DuckDB makes a RuntimeError of it; the charge stands, and the table goes on."""
    pytest.importorskip("duckdb")
    table = Table({"age": np.arange(60_000) % 1000})
    count = Gaussian(Count(column("age").is_in(list(range(0, 1000, 3)))), rho=TINY)
    root = Queryable(FiltCon(ZCDP(1)), table)
    most = _typical(lambda: root(count))
    with alarms(most) as during:
        interrupted = [during(lambda: root(count)) for _ in range(10)]  # and no MechanismFault
    assert any(interrupted)
    assert root.privacy_loss() == root.ledger()[-1].total
    assert (19 - sum(interrupted)) * TINY <= root.privacy_loss().rho <= 19 * TINY


def test_a_signal_while_rows_are_chosen_leaves_no_half_of_them() -> None:
    """The next question chooses again, has the same value, and drops what was left."""
    pytest.importorskip("duckdb")
    cells = {"person": np.arange(60_000) % 9_000, "age": np.arange(60_000) // 7 % 50}
    table = Table(cells, privacy_unit="person", max_rows=2)  # rows tie, so there are several steps
    engine, numbers = table._engine, iter(range(1000))

    def count() -> int:
        return int(Count(column("age") > -1 - next(numbers), per=table.unit).value(table))

    def cold() -> int:
        with engine._lock:
            engine._keeper.forget()
        return count()

    most, interrupts = 1.2 * _typical(cold), 0
    with alarms(most) as during:
        for _ in range(15):
            with engine._lock:
                engine._keeper.forget()
            interrupts += during(count)
            assert count() == 18_000
            names = engine.fetch("SELECT table_name FROM duckdb_tables() WHERE temporary")
            assert len(engine._keeper._tables) == 1
            assert len(names) <= 2  # with the units of rows that tie
    assert interrupts  # some dozen: none with chance 4e-11


def test_a_signal_during_a_long_query_of_sqlite_is_an_interrupt() -> None:
    """SQLite makes an OperationalError of it, if a function of Python runs for each row."""
    ibis = pytest.importorskip("ibis")
    backend = ibis.sqlite.connect()
    backend.raw_sql("CREATE TABLE visits (person BIGINT)").close()
    with backend.begin() as cursor:
        cursor.executemany("INSERT INTO visits VALUES (?)", [(i // 2,) for i in range(5_000)])
    table = Table(backend.table("visits"), privacy_unit="person", max_rows=1)
    root = Queryable(FiltCon(ZCDP(1)), table)
    count = Gaussian(Count(per=table.unit), rho=TINY)
    most = _typical(lambda: root(count))
    with alarms(most) as during:
        interrupted = [during(lambda: root(count)) for _ in range(20)]  # and no MechanismFault
    assert any(interrupted)
    assert root.privacy_loss() == root.ledger()[-1].total

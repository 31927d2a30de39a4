"""Timeouts: a question that takes too long fails, is charged, and leaves the table usable."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from threading import Event, Thread, main_thread
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pytest

from composition import FiltCon
from mechanisms import Count, Gaussian, Table, column
from mechanisms.tables.engines import limits
from mechanisms.tables.engines.duckdb.engine import DuckDB
from mechanisms.tables.engines.limits import limited
from mechanisms.tables.engines.sql.statements import Plan
from queryable import ZCDP, MechanismFault, Queryable
from tests.engines import Plain

ENDLESS = "SELECT sum(hash(a.range, b.range)) FROM range(10000000) a, range(10000000) b"
SOON, LATE = Fraction(1, 20), Fraction(600)


@contextmanager
def endless(table: Table) -> Iterator[None]:
    """Every statement takes hours."""
    engine: Any = table._engine
    plan = engine.plan
    engine.plan = lambda *given: Plan(ENDLESS, ())
    yield
    engine.plan = plan


def test_a_timeout_fails_the_launch_which_is_charged_and_the_table_stays_usable() -> None:
    table = Table({"age": np.arange(100)}, timeout=SOON)
    faults: list[BaseException] = []
    queryable = Queryable(FiltCon(ZCDP(1)), table, on_fault=faults.append)
    with endless(table), pytest.raises(MechanismFault):  # plans are remembered
        queryable(Gaussian(Count(column("age") >= 50), rho="1/4"))
    assert queryable.privacy_loss() == ZCDP("1/4")
    assert [type(each) for each in faults] == [TimeoutError]
    assert "timeout=0.05 seconds" in str(faults[0])
    table._engine.timeout = LATE  # type: ignore[attr-defined]
    for _ in range(2):
        assert Count()(table) == 100
    queryable(Gaussian(Count(), rho="1/4"))


def test_joined_rows_have_the_timeout_of_the_table_that_was_opened() -> None:
    table = Table({"age": np.arange(100)}, timeout="1/20")
    joined = table.join(public={"age": [1], "young": [True]}, on="age")
    engine: Any = joined._engine
    with pytest.raises(TimeoutError):
        engine.run(Plan(ENDLESS, ()))
    table._engine.timeout = LATE  # type: ignore[attr-defined]
    assert joined.totals(Count().request) == 100


def test_an_interrupt_by_the_user_stays_an_interrupt() -> None:
    """DuckDB does not notice one that comes just before a statement; a user presses again."""
    engine: Any = Table({"age": np.arange(100)}, timeout=LATE, threads=1)._engine
    main, over = main_thread().ident, Event()
    assert main is not None

    def press() -> None:
        while not over.wait(0.3):
            signal.pthread_kill(main, signal.SIGINT)

    thread = Thread(target=press)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            engine.run(Plan(ENDLESS, ()))
    finally:
        over.set()
        thread.join()
    assert engine.run(Plan("SELECT 7", ())) == [(7,)]


@pytest.fixture
def limiting(monkeypatch: pytest.MonkeyPatch) -> list[Thread]:
    """The threads that wait for a timeout."""
    found: list[Thread] = []

    def thread(**given: Any) -> Thread:
        found.append(Thread(**given))
        return found[-1]

    monkeypatch.setattr(limits, "Thread", thread)
    return found


def test_waiting_for_another_question_does_not_count(limiting: list[Thread]) -> None:
    """The time begins after the lock is acquired."""
    engine: Any = Table({"age": np.arange(100)}, timeout=LATE)._engine
    assert limiting == []
    with engine._lock:
        found: list[Any] = []
        thread = Thread(target=lambda: found.extend(engine.run(Plan("SELECT 7", ()))))
        thread.start()
        time.sleep(0.2)
        assert limiting == []
    thread.join()
    assert found == [(7,)]
    assert len(limiting) == 1


def test_an_engine_that_begins_late_is_interrupted_again() -> None:
    """DuckDB forgets an interrupt that comes before a statement."""
    engine: Any = Table({"age": np.arange(100)}, timeout=SOON)._engine
    connection = engine._connection

    class Late:
        interrupt, close = connection.interrupt, connection.close

        @staticmethod
        def execute(*given: Any) -> Any:
            time.sleep(0.2)
            return connection.execute(*given)

    engine._held[0] = Late
    with pytest.raises(TimeoutError):
        engine.run(Plan(ENDLESS, ()))


def test_nothing_is_interrupted_after_the_block(limiting: list[Thread]) -> None:
    """Not even if the block is left by an interrupt of the user."""
    calls: list[int] = []
    for error in (None, ValueError, KeyboardInterrupt):
        try:
            with limited(LATE, lambda: calls.append(1)):
                if error is not None:
                    raise error
        except (ValueError, KeyboardInterrupt):
            pass
    assert len(limiting) == 3
    for thread in limiting:
        thread.join(60)
        assert not thread.is_alive()
    assert not calls


def test_a_block_that_ends_well_though_it_was_interrupted_has_its_result() -> None:
    struck = Event()
    with limited(SOON, struck.set):
        assert struck.wait(60)


def interrupted(error: BaseException) -> None:
    """Raise an error in a block that was interrupted."""
    struck = Event()
    with limited(SOON, struck.set):
        assert struck.wait(60)
        raise error


def test_errors_of_an_interrupted_block_are_timeouts_unless_the_user_interrupted_it() -> None:
    with pytest.raises(TimeoutError) as caught:
        interrupted(RuntimeError("INTERRUPT Error: cell 17"))
    assert "17" not in str(caught.value)
    assert caught.value.__suppress_context__
    for raised in (RuntimeError("Query interrupted"), KeyboardInterrupt()):
        with pytest.raises(type(raised)) as same:
            interrupted(raised)
        assert same.value is raised
    with pytest.raises(RuntimeError, match="overflow"), limited(LATE, SOON.limit_denominator):
        raise RuntimeError("overflow")


def test_an_engine_that_cannot_be_interrupted_takes_no_timeout() -> None:
    engine = Plain(Table({"age": [1]})._engine)
    with pytest.raises(TypeError, match="leave timeout out"):
        Table(engine=engine, timeout=1)
    duckdb = DuckDB(Table({"age": [1]})._engine._frame)  # type: ignore[attr-defined]
    assert Table(engine=duckdb, timeout=3)._engine.timeout == 3  # type: ignore[attr-defined]
    warehouse = ibis.memtable(pa.table({"age": [1]}))
    if not Table(warehouse)._engine.can_be_interrupted:
        with pytest.raises(TypeError, match="leave timeout out"):
            Table(warehouse, timeout=1)

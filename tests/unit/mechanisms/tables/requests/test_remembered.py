"""Remembered totals: equal requests are evaluated once, and nothing but time depends on that."""

import copy
import datetime as dt
import os
import pickle
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from composition import FiltCon
from mechanisms import (
    Count,
    CountUnits,
    Gaussian,
    GroupBy,
    Histogram,
    Mean,
    PrivacyUnit,
    Quantiles,
    Sum,
    Table,
    Top,
    column,
)
from mechanisms.tables.expressions.operands import PerUnit
from mechanisms.tables.expressions.predicates import Comparison, Predicate
from mechanisms.tables.requests import remembered
from mechanisms.tables.requests.remembered import Remembered, key_of
from mechanisms.tables.requests.request import Categories, Request, Term
from queryable import ZCDP, MechanismFault, Queryable, QueryError, Statistic
from queryable.checks.datasets import Described
from tests.engines import Plain

VISITS = {
    "person": [0, 0, 0, 1, 1, 2, 3, 3],
    "hours": [5, 1, 9, 4, 4, 7, 2, 8],
    "state": ["CA", "NY", "CA", "NY", "NY", "CA", "CA", "NY"],
}


class Watched:
    """An engine that counts how often it reads rows, alone and together."""

    def __init__(self, engine: Any) -> None:
        self.engine, self.ran, self.together = engine, 0, [0]
        self.fails: Callable[[Any], BaseException | None] = lambda plan: None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.engine, name)

    def run(self, plan: Any) -> Iterable[tuple[int, ...]]:
        self.ran += 1
        if (error := self.fails(plan)) is not None:
            raise error
        rows: Iterable[tuple[int, ...]] = self.engine.run(plan)
        return rows

    def run_together(self, plans: Sequence[Any]) -> list[Iterable[tuple[int, ...]]]:
        self.together.append(len(plans))
        for plan in plans:
            if (error := self.fails(plan)) is not None:
                raise error
        return [self.engine.run(plan) for plan in plans]


def watched(table: Table) -> tuple[Table, Watched]:
    engine = Watched(table._engine)
    table._engine = engine  # type: ignore[assignment]
    return table, engine


def visits(**options: Any) -> tuple[Table, Watched]:
    return watched(Table(VISITS, privacy_unit="person", max_rows=2, seed=0, **options))


def questions(per: PrivacyUnit | None) -> list[Any]:
    """Every kind of statistic, twice."""
    once = [
        Count(per=per),
        Count(column("hours") > 3, per=per),
        CountUnits(column("hours") > 3, per=per),
        Sum("hours", 0, 8, per=per),
        Histogram("state", ["CA", "NY"], per=per),
        GroupBy({"state": ["CA", "NY"]}, Mean("hours", 0, 8, per=per)),
        Quantiles("hours", "1/2", range(9), per=per),
        Top("state", 1, ["CA", "NY", "TX"], per=per),
    ]
    return once + copy.deepcopy(once)


def exact(table: Table, statistics: Iterable[Any]) -> list[Any]:
    return [table.totals(each.request).tolist() for each in statistics]


class OneCursor(Plain):
    """Has rows of the latest question only: an earlier one that is read late has none."""

    def run(self, plan: Any) -> Any:
        self.rows = list(self.engine.run(plan))
        return iter(lambda: self.rows.pop() if self.rows else None, None)


def test_prepared_statistics_are_evaluated_in_one_scan_and_once() -> None:
    table, engine = visits()
    fresh, _ = visits()
    assert isinstance(table, Described)
    table.prepare(questions(table.unit))
    assert engine.together[1:] == [8]
    assert exact(table, questions(table.unit)) == exact(fresh, questions(fresh.unit))
    assert engine.ran == 0
    table, engine = visits()
    for _ in range(2):
        with pytest.warns(match="queryable already") if engine.ran else nullcontext():
            queryable = Queryable(FiltCon(ZCDP(10)), table)
        queryable(Gaussian(Count(per=table.unit), rho=1))
        queryable(Gaussian(Count(per=table.unit), rho=2))
    assert engine.ran == 1
    table = Table(engine=Plain(Table(VISITS)._engine))
    table.prepare([Count(), Sum("hours", 0, 8)])
    assert exact(table, [Count(), Sum("hours", 0, 8), Count()]) == [[8], [39], [8]]
    table, asked = Table(engine=OneCursor(Table(VISITS)._engine)), [Count(), Sum("hours", 0, 8)]
    table.prepare(asked)
    assert exact(table, asked) == [[8], [39]]


@pytest.mark.parametrize("error", [RuntimeError("overflow"), MemoryError()])
def test_a_statistic_that_fails_does_not_fail_another(error: Exception) -> None:
    table, engine = visits()
    per = table.unit
    bad = Sum("hours", 0, 7, per=per)
    engine.fails = lambda plan: error if str(7) in repr(plan) else None
    table.prepare([Count(per=per), bad, CountUnits(per=per)])
    assert Count(per=per)(table) == 7
    assert CountUnits(per=per)(table) == 4
    for _ in range(2):  # it is evaluated anew: its failure is not remembered
        with pytest.raises(MechanismFault):
            bad(table)
    engine.fails = lambda plan: None
    assert bad(table) > 0


def test_what_does_not_fit_the_table_is_left_to_its_own_launch() -> None:
    table, engine = visits()
    mistakes: list[Any] = [
        Count(),  # per row, but persons are protected
        Count(column("weight") > 1, per=table.unit),
        Count(lambda rows: rows, per=table.unit),
        Statistic(len, l1=1, l2=1),
        None,
    ]
    table.prepare([*mistakes, Count(per=table.unit), CountUnits(per=table.unit)])
    assert engine.together[1:] == [2]
    for each in mistakes[:4]:
        with pytest.raises(MechanismFault):
            each(table)


def test_an_interrupt_leaves_nothing_half_remembered() -> None:
    table, engine = visits()
    per = table.unit
    engine.fails = lambda plan: KeyboardInterrupt() if "7" in repr(plan) else None
    both = [Count(per=per), Sum("hours", 0, 7, per=per)]
    with pytest.raises(KeyboardInterrupt):
        table.prepare(both)
    with pytest.raises(KeyboardInterrupt):
        table.totals(both[1].request)
    assert not table._remembered._totals
    engine.fails = lambda plan: None
    assert exact(table, both) == exact(visits()[0], both)


def test_totals_are_copies_and_memories_empty() -> None:
    table, _ = visits()
    request = Histogram("state", ["CA", "NY"], per=table.unit).request
    first = table.totals(request)
    right = first.tolist()
    first += 100
    table.totals(request)[:] = 0
    assert table.totals(request).tolist() == right
    memory = Remembered()
    key = key_of(Count().request)
    memory.keep(key, np.array([7], dtype=object), 3)
    assert memory.find(key) == 7
    for other in (copy.copy(memory), copy.deepcopy(memory), pickle.loads(pickle.dumps(memory))):
        assert other.find(key) is None
    assert "7" not in repr(memory)


def test_a_changed_file_is_detected_though_its_total_is_remembered(tmp_path: Path) -> None:
    path = tmp_path / "visits.parquet"
    pq.write_table(pa.table(VISITS), path)
    table = Table(path)
    joined = table.join(public={"state": ["CA"], "west": [True]}, on="state")
    count = Count()
    queryable = Queryable(FiltCon(ZCDP(1)), table)
    assert [count(table), count(joined)] == [8, 8]
    os.utime(path, ns=(0, 0))
    with pytest.raises(QueryError, match="a file has changed"):
        queryable(Gaussian(count, rho="1/100"))
    for each in (table, joined):
        with pytest.raises(MechanismFault):
            count(each)


def test_a_launch_compiles_a_statistic_once() -> None:
    table = Table(VISITS)
    joined = table.join(public={"state": ["CA"], "west": [True]}, on="state", how="inner")
    plan, planned = table._engine.plan, []
    table._engine.plan = (  # type: ignore[method-assign]
        lambda *given: (planned.append(given), plan(*given))[1]
    )
    queryable = Queryable(FiltCon(ZCDP(1)), table)
    queryable(Gaussian(Count(), rho="1/100"))
    assert len(planned) == 1
    table.check(Count(column("hours") > 100))
    assert Count(column("hours") > 100.0)(table) == 0
    assert Count()(joined) == 4
    table.check(Count(column("hours") > 3))
    late = table.join(public={"state": ["CA"], "west": [True]}, on="state", how="inner")
    assert [Count(column("hours") > 3)(each) for each in (table, late)] == [6, 3]


def test_a_join_has_a_memory_of_its_own() -> None:
    table = Table(VISITS)
    other = Table(engine=table._engine)
    joined = table.join(public={"state": ["CA"], "west": [True]}, on="state")
    for each in (table, other, joined):
        assert Count()(each) == 8
    table.close()
    assert not table._remembered._totals
    for each in (table, other, joined):
        with pytest.raises(MechanismFault):
            Count()(each)
    table = Table(VISITS)
    assert Count()(table) == 8
    public = {"state": ["CA"], "west": [True]}
    joined = table.join(public=public, on="state", how="inner")
    assert Count()(joined) == 4
    assert Count()(table) == 8


@pytest.mark.parametrize(
    "constants",
    [
        (1, 1.0, True),
        (0.0, -0.0, 0, False),
        (dt.date(2020, 1, 1), dt.datetime(2020, 1, 1)),  # noqa: DTZ001
        (np.datetime64("2020-01-01", "D"), np.datetime64("2020-01-01", "ns")),
        (np.timedelta64(1, "h"), np.timedelta64(60, "m")),
        ("1", b"1", 1),
    ],
)
def test_constants_that_are_equal_but_of_other_types_have_other_keys(
    constants: tuple[Any, ...],
) -> None:
    """A column of text compares with 1, 1.0 and True in different ways."""
    keys = [key_of(Count(column("age") == each).request) for each in constants]
    assert len(set(keys)) == len(constants)
    assert None not in keys
    members = [key_of(Histogram("age", [each]).request) for each in constants]
    assert len(set(members)) == len(constants)


def test_text_compares_with_numbers_and_truth_values_by_their_types(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("paid\ntrue\n1\n1.0\n")
    with Table(path) as table:
        asked = [Count(column("paid") == each).request for each in (1, True, "1")]
        found = [table.totals(each).tolist() for each in asked]
        fresh = []
        for each in asked:
            with Table(path) as other:
                fresh.append(other.totals(each).tolist())
        assert found == fresh
        assert len({tuple(each) for each in found}) > 1


def test_requests_that_differ_anywhere_have_other_keys() -> None:
    """Every field of every part of a request is in its key."""
    per = PrivacyUnit("person", max_rows=2)
    requests = [each.request for each in questions(per)[:8]]
    requests += [
        Request((Term(),), column("a") > 1, per=per),
        Request((Term(),), column("a") >= 1, per=per),
        Request((Term(),), (column("a") > 1) & (column("b") > 1), per=per),
        Request((Term(),), (column("a") > 1) | (column("b") > 1), per=per),
        Request((Term(),), ~(column("a") > 1), per=per),
        Request((Term(), Term()), column("a") > 1, per=per),
        Request((Term("a"),), column("a") > 1, per=per),
        Request((Term(),), column("a") > 1, per=attrs.evolve(per, max_rows=3)),
        Request((Term(),), column("a") > 1, per=attrs.evolve(per, max_groups=1)),
        Request((Term(PerUnit("count", None, Fraction(0), Fraction(1))),), per=per),
        Request((Term(PerUnit("count", None, Fraction(1), Fraction(2))),), per=per),
        Request((Term(PerUnit("count", None, Fraction(0), Fraction(2))),), per=per),
        Request(
            (Term(PerUnit("count", None, Fraction(0), Fraction(2), where=column("a") > 1)),),
            per=per,
        ),
        Request((Term(PerUnit("sum", "a", Fraction(0), Fraction(2))),), per=per),
        Request((Term(PerUnit("sum", "b", Fraction(0), Fraction(2))),), per=per),
        Request((Term(PerUnit("sum", "a", Fraction(0), Fraction(2), Fraction(1, 2))),), per=per),
        Request((Term(PerUnit("mean", "a", Fraction(0), Fraction(2))),), per=per),
        Request((Term(),), by=(Categories("a", ("x", "y")),)),
        Request((Term(),), by=(Categories("a", ("x", "y", "z")),)),
        Request((Term(),), by=(Categories("a", ("x",)), Categories("b", ("y",)))),
    ]
    keys = [key_of(each) for each in requests]
    assert None not in keys
    assert len(set(keys)) == len(keys)


def test_an_expression_of_the_users_own_has_no_key() -> None:
    class Never(Predicate):
        def holds(self, dataset: Any) -> Any:
            return np.zeros(1, dtype=bool)

    class Liar(Comparison):
        pass

    class Meta(type):
        __hash__ = None  # type: ignore[assignment]

    class NoHash(metaclass=Meta):
        def __call__(self, rows: Any) -> Any:
            return rows

    for where in (Never(), Liar("age", ">", 1), NoHash(), len):
        assert key_of(Request((Term(),), where)) is None
    assert key_of(Count(column("age") > 1).request) is not None


def test_memory_is_bounded_and_the_oldest_totals_are_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table, engine = visits()
    per = table.unit
    asked = [Sum("hours", 0, 1 + i, per=per) for i in range(40)]
    size = remembered.weight(asked[0].request, key_of(asked[0].request))
    monkeypatch.setattr(remembered, "ROOM", 5 * size)
    for each in asked:
        table.totals(each.request)
        assert sum(weight for _, weight in table._remembered._totals.values()) <= 10 * size
        assert table._remembered._weight <= 10 * size
    assert engine.ran == 40
    table.totals(asked[-1].request)
    assert engine.ran == 40
    table.totals(asked[0].request)
    assert engine.ran == 41
    large = Histogram("state", [str(i) for i in range(5 * size)], per=per)
    for _ in range(2):
        table.totals(large.request)
    assert engine.ran == 43


def test_what_does_not_fit_into_memory_is_not_read_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    from mechanisms.tables import table as tables

    table, engine = visits()
    per = table.unit
    asked = [Sum("hours", 0, 1 + i, per=per) for i in range(8)]
    size = remembered.weight(asked[0].request, key_of(asked[0].request))
    monkeypatch.setattr(remembered, "ROOM", 5 * size)
    monkeypatch.setattr(tables, "ROOM", 5 * size)
    table.prepare(asked)
    assert engine.together[1:] == [5]
    assert exact(table, asked) == exact(visits()[0], asked)
    assert engine.ran == 3


def test_threads_get_the_same_totals() -> None:
    table, _ = visits()
    statistics = questions(table.unit)
    right = exact(visits()[0], statistics)
    with ThreadPoolExecutor(4) as pool:
        prepared = pool.submit(table.prepare, statistics)
        found = list(pool.map(lambda _: exact(table, statistics), range(8)))
        prepared.result()
    assert found == [right] * 8

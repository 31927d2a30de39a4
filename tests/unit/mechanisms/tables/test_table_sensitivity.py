"""Declared sensitivities hold for random tables and every kind of neighbour, however rows lie."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import attrs
import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mechanisms import (
    Correlation,
    Count,
    CountUnits,
    GroupBy,
    Histogram,
    Keys,
    Mean,
    PrivacyUnit,
    Quantile,
    Quantiles,
    Regression,
    Sum,
    Table,
    UnitSizes,
    Variance,
    column,
)
from mechanisms.tables.expressions.columns import Column
from mechanisms.tables.expressions.operands import PerUnit
from queryable.statistics import IntegerStatistic
from tests.engines import ENGINES, FEW, opened

Rows = list[dict[str, Any]]
every_engine = pytest.mark.parametrize("engine", ENGINES)
NAN, INF = float("nan"), float("inf")

SCHEMA = pa.schema(
    {"person": pa.int64(), "x": pa.float64(), "n": pa.int64(), "g": pa.string(), "day": pa.int8()}
)
cell = st.fixed_dictionaries(
    {
        "person": st.one_of(st.none(), st.integers(0, 4)),
        "x": st.one_of(st.none(), st.floats(), st.sampled_from([0.0, -0.0, 0.29, 1.0])),
        "n": st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1), st.integers(-3, 3)),
        "g": st.one_of(st.none(), st.sampled_from(["a", "b", "c", "d"])),
        "day": st.integers(0, 2),
    }
)
units = st.builds(
    PrivacyUnit,
    st.just("person"),
    max_rows=st.integers(1, 5),
    max_groups=st.one_of(st.none(), st.integers(1, 3)),
    max_rows_per_group=st.one_of(st.none(), st.integers(1, 3)),
)


def statistics(per: PrivacyUnit | None) -> Iterator[IntegerStatistic]:
    """Each kind, with and without a `where`."""
    yield Count(per=per)
    yield Count((column("x") < 1) | ~(column("g") == "a"), per=per)
    yield Sum("n", -7, 5, per=per)
    yield Sum("x", 1, 3, column("n") != 0, unit="0.01", per=per)
    yield Histogram("g", ["a", "b", "c"], per=per)
    yield Histogram("x", [0, 0.29, 1], column("g") != "b", per=per)
    yield Histogram("x", bins=[0, 0.29, 1, 1.5], per=per)
    pairs = Keys.of({"g": ["a", "b", "c"], "day": [0, 1, 0]}, "g", "day")
    yield GroupBy([pairs, Keys.bins("n", [-3, 0, 2])], Count(per=per))
    yield GroupBy(pairs, Sum("x", 0, 1, unit="0.01", per=per))
    yield GroupBy({"g": ["a", "c"], "day": [0, 1]}, Mean("x", 0, 3, unit="0.5", per=per))
    yield GroupBy({"day": [1, 2]}, Variance("n", -9, 9, per=per))
    yield Regression("n", ["x"], {"n": (-3, 3), "x": (0, 2)}, per=per)
    yield GroupBy({"day": [1, 2]}, Correlation("x", "n", {"n": (-2, 9), "x": (0, 1)}, per=per))
    yield Quantile("x", "1/3", [0, 0.29, 2], column("n") > 0, per=per)
    yield Quantiles("x", ["1/4", "1/2"], [0, 1], by={"g": ["a", "c"], "day": [0, 1]}, per=per)
    if per is not None:
        yield CountUnits(per=per)
        yield CountUnits(column("n") > 0, per=per)
        yield GroupBy(pairs, CountUnits(per=per))
        yield UnitSizes([1, 3], column("g") != "b", per=per)
        yield GroupBy({"g": ["a", "b", "c"]}, CountUnits(per=per))
        yield GroupBy({"g": ["a", "c"], "day": [0, 1]}, UnitSizes([1, 2], per=per))
        sums = PerUnit("sum", "x", Fraction(-1), Fraction(3), Fraction(1, 100), column("n") > 0)
        lows, means = (PerUnit(how, "n", Fraction(-3), Fraction(5)) for how in ("min", "mean"))
        yield Sum(sums, -1, 3, unit="0.01", per=per)
        yield Count(Column(lows) >= 1, per=per)
        yield Quantile(means, "1/3", [0, 2, 4], Column(means) != 1, per=per)
        yield GroupBy({"g": ["a", "c"], "day": [0, 1]}, Mean(means, -3, 5, per=per))
        yield GroupBy(pairs, Histogram(sums, bins=[-1, 0, 0.5, 4], per=per))
        yield Quantiles(lows, ["1/4", "1/2"], [0, 1], by={"g": ["a", "c"]}, per=per)
        yield GroupBy([{"g": ["a", "b"]}, Keys.bins(lows, [-3, 0, 2])], Count(per=per))


def table(rows: Rows, **options: Any) -> Table:
    return Table(pa.Table.from_pylist(rows, schema=SCHEMA), seed=5, **options)


def moves(statistic: IntegerStatistic, one: Table, other: Table) -> tuple[int, int]:
    """The L1 and the squared L2 norm of the change."""
    change = np.asarray(statistic(one), dtype=object) - np.asarray(statistic(other), dtype=object)
    entries = np.atleast_1d(change)
    return int(abs(entries).sum()), int((entries**2).sum())


def within(statistic: IntegerStatistic, one: Table, other: Table, d_in: int) -> bool:
    """Whether the statistic moves by no more than it declares, for so many units."""
    l1, l2_squared = moves(statistic, one, other)
    return l1 <= d_in * statistic.l1 and l2_squared <= (d_in * statistic.l2) ** 2


def shuffled(rows: Rows, data: st.DataObject) -> Rows:
    return data.draw(st.permutations(rows))


@settings(max_examples=4)
@given(st.lists(cell, max_size=12), cell, st.data())
def test_rows(rows: Rows, another: dict[str, Any], data: st.DataObject) -> None:
    """One row more moves a statistic by its sensitivity at most, another row by twice that."""
    more, other = [*rows, another], [*rows, data.draw(cell)]
    here, there, instead = (table(shuffled(each, data)) for each in (rows, more, other))
    for statistic in statistics(None):
        assert within(statistic, here, there, 1)
        assert within(statistic, there, instead, 2)


@settings(max_examples=4)
@given(st.lists(cell, max_size=30), units, st.sampled_from([None, "day"]), st.data())
def test_persons(rows: Rows, per: PrivacyUnit, keep: str | None, data: st.DataObject) -> None:
    """The same for all rows of a person; rows of nobody may come and go."""
    person = data.draw(st.integers(0, 4))
    others = [row for row in rows if row["person"] not in (person, None)]
    instead = [{**row, "person": person} for row in data.draw(st.lists(cell, max_size=8))]
    here, there, changed = (
        table(shuffled(each, data), privacy_unit="person", max_rows=1, keep=keep)
        for each in (rows, others, [*others, *instead])
    )
    for statistic in statistics(per):
        assert within(statistic, here, there, 1)
        assert within(statistic, here, changed, 2)


@settings(max_examples=3)
@given(st.lists(cell, max_size=30), units, st.data())
def test_the_order_of_rows_is_nothing(rows: Rows, per: PrivacyUnit, data: st.DataObject) -> None:
    one, other = (
        table(each, privacy_unit="person", max_rows=1) for each in (rows, shuffled(rows, data))
    )
    for statistic in statistics(per):
        assert moves(statistic, one, other) == (0, 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("test", "strategies"),
    [
        (test_rows, [st.lists(cell, max_size=12), cell]),
        (test_persons, [st.lists(cell, max_size=30), units, st.sampled_from([None, "day"])]),
        (test_the_order_of_rows_is_nothing, [st.lists(cell, max_size=30), units]),
    ],
)
@settings(max_examples=40)
@given(data=st.data())
def test_more_neighbours(test: Any, strategies: Any, data: st.DataObject) -> None:
    test.hypothesis.inner_test(*(data.draw(each) for each in strategies), data)


STEPS = {"duckdb": (0, 1), "ibis on duckdb": (0, 5), "ibis on sqlite": (1, 5)}
"""An engine tries one statistic in so many from a first; others have another first, so that each
is tried on some. A `slow` test tries all on each."""


@pytest.mark.parametrize("engine", FEW)
def test_every_engine(engine: str) -> None:
    """A row less, a person less, a person replaced, on each engine, rows lying anyhow."""
    check_neighbours(engine, 1, *STEPS.get(engine, (2, 5)))


@pytest.mark.slow
@every_engine
def test_every_engine_at_length(engine: str) -> None:
    check_neighbours(engine, 2, 0, 1)


def check_neighbours(engine: str, seed: int, first: int, step: int) -> None:
    random = np.random.default_rng(seed)
    per = PrivacyUnit("person", max_rows=4, max_groups=2, max_rows_per_group=2 + seed % 2)
    names = ["person", "x", "n", "g", "day"]
    kinds = dict(zip(names, ["integer", "float", "integer", "text", "integer"], strict=True))

    def some(person: int | None) -> tuple[Any, ...]:
        cells = [0.0, 0.29, 1.0, NAN, INF, None], [2**62, -7, 3, None], ["a", "b", "c", None]
        x, n, g = (each[random.integers(len(each))] for each in cells)
        return person, x, n, g, int(random.integers(3))

    def table(rows: list[tuple[Any, ...]], **unit: Any) -> Table:
        return opened(engine, kinds, [rows[i] for i in random.permutation(len(rows))], **unit)

    whole = [some(int(random.integers(5))) for _ in range(40)] + [some(None)]
    here, less = table(whole), table(whole[1:])
    for statistic in list(statistics(None))[first::step]:
        assert within(statistic, here, less, 1)
    unit = {"privacy_unit": "person", "max_rows": 1, "seed": seed}
    others = [row for row in whole if row[0] != 0]
    replaced = [*others, *(some(0) for _ in range(9))]
    here, again, less, changed = (table(rows, **unit) for rows in (whole, whole, others, replaced))
    for statistic in list(statistics(per))[first::step]:
        assert within(statistic, here, less, 1)
        assert within(statistic, here, changed, 2)
        assert moves(statistic, here, again) == (0, 0)


def everyone() -> Rows:
    """Five persons with six rows each, in two groups."""
    return [
        {"person": p, "x": float(i), "n": i, "g": "ab"[i % 2], "day": i % 3}
        for p in range(5)
        for i in range(6)
    ]


def on(engine: str, rows: Rows) -> Table:
    """The rows on an engine, with persons as units."""
    kinds = dict(zip(SCHEMA.names, ["integer", "float", "integer", "text", "integer"], strict=True))
    cells = [tuple(row.values()) for row in rows]
    return opened(engine, kinds, cells, privacy_unit="person", max_rows=1, seed=5)


@attrs.frozen
class AsIfPerRow(Count):
    """A count of persons' rows that claims the sensitivity of a count of rows."""

    l1 = 1
    l2 = 1


@attrs.frozen
class AsIfOneGroup(Histogram):
    """A histogram that claims a person is in one group only."""

    l1 = 1
    l2 = 1


@attrs.frozen
class AsIfNoGroups(GroupBy):
    """People counted in groups, claiming that each is in one group only."""

    l1 = 1
    l2 = 1


@every_engine
def test_a_person_in_several_groups_moves_as_many_counts(engine: str) -> None:
    """The sensitivity of people counted in groups is reached, and 1 is caught as too small."""
    by, per = {"g": ["a", "b", "c"]}, PrivacyUnit("person", max_rows=4, max_groups=2)
    counts = GroupBy(by, CountUnits(per=per))
    tables = [on(engine, rows) for rows in (everyone(), everyone()[6:])]
    assert moves(counts, *tables) == (counts.l1, int(counts.l2**2)) == (2, 2)
    assert not within(AsIfNoGroups(by, CountUnits(per=per)), *tables, 1)
    once = GroupBy(by, CountUnits(per=attrs.evolve(per, max_groups=1)))
    assert moves(once, *tables) == (once.l1, once.l2**2) == (1, 1)


@every_engine
@pytest.mark.parametrize("wrong", [AsIfPerRow, lambda per: AsIfOneGroup("g", ["a", "b"], per=per)])
def test_a_wrong_sensitivity_is_caught(wrong: Any, engine: str) -> None:
    per = PrivacyUnit("person", max_rows=4, max_rows_per_group=1)
    statistic = wrong(per=per)
    with_zero, without = on(engine, everyone()), on(engine, everyone()[6:])
    assert not within(statistic, with_zero, without, 1)


def test_choosing_by_arrival_would_break_it() -> None:
    """Rows numbered as they come give another sum when the same rows come in another order."""
    query = (
        "SELECT sum(n) FROM (SELECT *, row_number() OVER (PARTITION BY person) AS r FROM rows) "
        "WHERE r <= 2"
    )
    naive = set()
    for rows in (everyone(), everyone()[::-1]):
        with duckdb.connect() as connection:
            connection.register("rows", pa.Table.from_pylist(rows, schema=SCHEMA))
            naive.add(connection.execute(query).fetchone())
    assert len(naive) == 2
    tables = [
        table(rows, privacy_unit="person", max_rows=2) for rows in (everyone(), everyone()[::-1])
    ]
    assert moves(Sum("n", 0, 9, per=tables[0].unit), *tables) == (0, 0)

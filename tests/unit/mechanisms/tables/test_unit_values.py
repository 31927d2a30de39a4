"""Values of privacy units, and statistics over units: on every engine, in every kind of table."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from composition import FiltCon, Individual
from curator.wire.outlines import about_of, outline_of
from mechanisms import (
    Count,
    CountUnits,
    Estimate,
    Frugal,
    Gaussian,
    GroupBy,
    Histogram,
    Keys,
    Mean,
    Quantiles,
    Std,
    Sum,
    Synthetic,
    Table,
    TreeCounter,
    UnitSizes,
    Variance,
    column,
    when,
)
from mechanisms.tables.expressions.column_types import decimal, integer, real
from mechanisms.tables.expressions.columns import Column
from mechanisms.tables.expressions.operands import PerUnit
from mechanisms.tables.front_door import unit_of
from mechanisms.tables.quantiles.quantile import Quantile
from queryable import ZCDP, Queryable, QueryError
from tests.engines import DIALECTS, ENGINES, opened

TYPES = {"who": "text", "cost": "float", "age": "integer", "city": "text"}
ROWS: list[tuple[Any, ...]] = [
    ("ann", 10.0, 30, "a"),
    ("ann", 20.5, 30, "b"),
    ("ann", -100.0, 31, "b"),
    ("bob", 7.25, 50, "a"),
    ("bob", None, 50, "a"),
    ("cyd", None, 70, "b"),
    ("dan", 5.0, None, "c"),
    ("dan", 900.0, 9, None),
    ("dan", -3.0, 9, "c"),
    (None, 3.0, 20, "a"),
]
OPTIONS = {"privacy_unit": "who", "max_rows": 2, "max_groups": 2, "seed": 3}
every_engine = pytest.mark.parametrize("engine", ENGINES)
dialects = pytest.mark.parametrize("engine", DIALECTS)
COSTLY = column("cost") > 6


def values(table: Any, made: PerUnit, where: Any = None) -> list[float]:
    """The values of all units, in ascending order: how many are at each multiple of the unit."""
    lattice, step = made.lattice, made.unit
    edges = [float(each * step) for each in range(lattice.low, lattice.high + 2)]
    bins = Histogram(made, bins=edges, where=where, per=table.unit)
    found = bins(table).tolist()
    return [edge for edge, count in zip(edges, found, strict=False) for _ in range(count)]


def per(how: str, name: Any, low: Any, high: Any, unit: Any = 1, where: Any = None) -> PerUnit:
    return PerUnit(how, name, Fraction(low), Fraction(high), Fraction(unit), where)


@every_engine
@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (per("count", None, 0, 5), [1, 2, 3, 3]),
        (per("count", None, 0, 2), [1, 2, 2, 2]),
        (per("count", None, 2, 5), [2, 2, 3, 3]),
        (per("count", None, 0, 5, where=COSTLY), [1, 1, 2]),
        # Ann's -100 counts as -20, Dan's 900 as 20.
        (per("sum", "cost", 0, 20, "1/4"), [0, 7.25, 10, 20]),
        (per("sum", "cost", -20, 5, "1/2"), [0, 5, 5, 5]),
        (per("sum", "cost", -200, 1000, 1), [-70, 0, 7, 902]),
        (per("sum", "age", 0, 100), [18, 70, 91, 100]),
        (per("mean", "cost", 0, 20, "1/4"), [7.25, 8.25, 10]),
        (per("mean", "cost", -4, 20, "1/2"), [7, 7, 8.5]),
        (per("mean", "age", 0, 60), [9, 30, 50, 60]),
        (per("min", "cost", -10, 20, "1/4"), [-10, -3, 7.25]),
        (per("max", "cost", -10, 20, "1/4"), [7.25, 20, 20]),
        (per("max", "age", 0, 99, where=column("city") != "a"), [9, 31, 70]),
    ],
)
def test_values_are_these(engine: str, made: PerUnit, expected: list[Any]) -> None:
    """All rows of a unit are read, cells are clipped first, and missing cells are left out."""
    value, largest = Column(made), expected[-1]
    with opened(engine, TYPES, ROWS, **OPTIONS) as table:
        assert values(table, made) == expected
        assert Count(value == largest, per=table.unit)(table) == expected.count(largest)
        assert Count(value != largest, per=table.unit)(table) < len(expected)


@every_engine
def test_a_mean_is_rounded_down(engine: str) -> None:
    """To units above the lower bound, also below 0: -5/3 and 5/3."""
    rows = [("a", -2.0, 0, ""), ("a", -2.0, 0, ""), ("a", -1.0, 0, "")]
    rows += [("b", 2.0, 0, ""), ("b", 2.0, 0, ""), ("b", 1.0, 0, "")]
    with opened(engine, TYPES, rows, **OPTIONS) as table:
        assert values(table, per("mean", "cost", -3, 3)) == [-2, 1]


@every_engine
def test_units_count_in_some_of_their_groups(engine: str) -> None:
    """At most `max_groups`, of those in which their values count; in each with its rows there."""
    rows = [(f"{i}", float(k), k, "abcd"[k]) for i in range(50) for k in range(4)]
    rows += [(f"{i}", 1.0, 0, "d") for i in range(50)]
    by = {"city": ["a", "b", "c", "d"]}
    with opened(engine, TYPES, rows, **OPTIONS) as table:
        grouped = table.group_by(by)
        counts = grouped.per_unit("count", upper=9)
        assert counts.count()(table).sum() == 100
        assert counts.count(counts >= 2)(table).tolist() == [0, 0, 0, 50]
        sums = grouped.per_unit("sum", "cost", 0, 9)
        assert sums.histogram(bins=[3.5, 4.5])(table).tolist() == [[0], [0], [0], [50]]
        assert grouped.count_units(column("age") >= 2)(table).tolist() == [0, 0, 50, 50]
        in_both = GroupBy([by, Keys.bins(sums, [0, 3.5, 9])], Count(per=table.unit))
        assert in_both(table).sum() == 100


@dialects
def test_many_keys_and_intervals_beside_each_other(engine: str) -> None:
    """Keys of rows and of values are in tables of their own, which do not meet."""
    rows = [(f"{i}", float(i % 7), i, "") for i in range(900)]
    with opened(engine, TYPES, rows, **{**OPTIONS, "max_groups": None}) as table:
        grouped = table.group_by({"age": list(range(0, 1200, 2))})
        sums = grouped.per_unit("sum", "cost", 0, 9)
        found = sums.histogram(bins=[each / 8 for each in range(80)])(table)
        assert found.sum() == 450
        assert all(found[i, 8 * (2 * i % 7)] == 1 for i in range(450))
        whole = sums.histogram(list(range(600)))(table)
        assert [np.flatnonzero(each).tolist() for each in whole[:4]] == [[0], [2], [4], [6]]


@dialects
def test_constants_of_rows_and_of_values_stay_apart(engine: str) -> None:
    """Where both are parameters of one statement."""
    tags = when(column("city") == "a").then(2).when(column("city") == "b").then(3).otherwise(0)
    with opened(engine, TYPES, ROWS, **OPTIONS) as table:
        worth = table.per_unit("max", tags, 0, 9, column("city").is_in(["a", "b", "é'"]))
        assert worth.count()(table) == 3
        assert worth.count(worth == 3)(table) == 2
        named = when(worth > 2).then("b").when(worth > 1).then("a").otherwise("c")
        assert table.histogram(named, ["a", "b", "c"])(table).tolist() == [1, 2, 0]
        assert table.sum(worth * 2 + 1, 0, 9, unit=1)(table) == 5 + 7 + 7
        with pytest.raises(TypeError, match="of one type"):
            table.check(table.histogram(when(worth > 2).then("b").otherwise(worth), ["b"]))


@pytest.fixture
def visits() -> Iterator[Table]:
    with opened("duckdb", TYPES, ROWS, **OPTIONS) as table:
        yield table


def test_methods_are_those_of_the_table(visits: Table) -> None:
    unit = visits.unit
    costs = visits.per_unit("sum", "cost", 0, 500, COSTLY, unit="1/4")
    assert costs.operand == per("sum", "cost", 0, 500, "1/4", COSTLY)
    given = {"unit": "1/4", "per": unit}
    there = ~Column(costs.operand).is_null()
    assert costs.sum() == Sum(costs, 0, 500, **given)
    assert costs.mean(costs > 1) == Mean(costs, 0, 500, costs > 1, **given)
    assert costs.variance() == Variance(costs, 0, 500, **given)
    assert costs.std(costs > 1) == Std(costs, 0, 500, costs > 1, **given)
    assert costs.histogram(bins=[0, 5]) == Histogram(costs, bins=[0, 5], per=unit)
    assert costs.median([1, 2]) == Quantile(costs, "1/2", [1, 2], per=unit)
    assert costs.quantiles([0, 1], [1, 2]) == Quantiles(costs, [0, 1], [1, 2], per=unit)
    assert costs.count() == Count(costs.is_not_null(), per=unit)
    assert costs.count(costs > 9) == Count(there & (costs > 9), per=unit)
    holds = when(costs > 9).then(1).otherwise(0)
    assert costs.share(costs > 9) == visits.mean(holds, 0, 1)
    means = visits.per_unit("mean", "cost", 0, 500)
    assert means.share(means > 9) == visits.share(means > 9, means.is_not_null())
    grouped = visits.group_by({"city": ["a", "b"]}).per_unit("count")
    assert grouped.mean() == GroupBy({"city": ["a", "b"]}, visits.per_unit("count").mean())
    by = grouped.median([1, 2])
    assert by == Quantiles(grouped, "1/2", [1, 2], by={"city": ["a", "b"]}, per=unit)
    assert grouped.median([1, 2])(visits).shape == (2, 5)


def test_bounds_and_units_are_known(visits: Table) -> None:
    """A count is from 0 to `max_rows`; other units have fewer than 4,194,304 steps."""
    assert visits.per_unit("count").operand == per("count", None, 0, 2)
    assert visits.per_unit("count", upper=9).operand == per("count", None, 0, 9)
    assert visits.per_unit("sum", "age", 0, 100).operand.unit == 1
    assert visits.per_unit("mean", "age", 0, 100).operand.unit == Fraction(1, 10**4)
    assert visits.per_unit("sum", "cost", 0, 500).operand.unit == Fraction(1, 1000)
    assert visits.kind(visits.per_unit("count")).name == "integer"
    bounds = [(0, 1), (0, 500), (-3, 10**7), (10**9, 10**9 + 1), (5, 5), (0, 0)]
    for kind in (integer(64), real(64), real(32), decimal(12, 2)):
        for low, high in bounds:
            for how in ("sum", "mean", "min", "max"):
                ends = Fraction(low), Fraction(high)
                made = PerUnit(how, "x", *ends, unit_of(how, kind, *ends))
                assert how != "sum" or made.lattice.largest < 2**22


def test_one_unit_is_one_row(visits: Table) -> None:
    """The sensitivity is that of one row, whatever `max_rows` is; in groups of `max_groups`."""
    counts = visits.per_unit("count", upper=9)
    assert counts.sum().l1 == counts.sum().l2 == 9
    assert counts.histogram(bins=[0, 5, 10]).l1 == 1
    assert counts.median([1, 2]).linf == 1
    assert counts.count().l1 == visits.share(counts > 1).linf == 1
    grouped = visits.group_by({"city": ["a", "b", "c"]}).per_unit("count", upper=9)
    assert grouped.sum().l1 == 18
    assert grouped.count().l2 ** 2 >= 2
    assert visits.group_by({"city": ["a"]}).per_unit("count").count().l1 == 1
    for asked in (Quantiles, Quantile):  # refused, but its norms hold
        ages = asked("age", "1/2", [1], counts > 1, per=visits.unit)
        assert ages.request.contribution.l1 == 2
        assert ages.request.contribution.l2_squared == 4
        assert ages.linf >= 2 or asked is Quantiles


def test_all_of_it_is_a_count(visits: Table) -> None:
    """`CountUnits` and `UnitSizes` are about numbers of rows of units."""
    unit, counts = visits.unit, visits.per_unit("count", upper=9, where=COSTLY)
    assert unit is not None
    assert CountUnits(COSTLY, per=unit)(visits) == counts.count(counts >= 1)(visits) == 3
    sizes = counts.histogram(bins=[1, 2, 10])(visits)
    assert UnitSizes([1], COSTLY, per=unit)(visits).tolist() == sizes.tolist() == [2, 1]


def test_urgent_visits_of_those_without_one(visits: Table) -> None:
    """Zeros are added up: those who have no such row count as 0."""
    urgent = when(COSTLY).then(1).otherwise(0)
    assert values(visits, per("sum", urgent, 0, 3)) == [0, 1, 1, 2]


def test_what_is_asked_is_said(visits: Table) -> None:
    costs = visits.per_unit("sum", "cost", 0, 500, COSTLY)
    assert costs.mean(costs > 1).asked == (
        "Mean(sum of cost per unit) where cost > 6, units with sum of cost per unit > 1"
    )
    assert costs.count().asked == "Count of units where cost > 6"
    assert costs.count((costs > 1) & (costs < 9)).asked == (
        "Count of units where cost > 6, units with "
        "sum of cost per unit > 1 and sum of cost per unit < 9"
    )
    oldest = visits.per_unit("max", "age", 0, 99)
    assert oldest.count().asked == "Count of units, units with max of age per unit is not missing"
    grouped = visits.group_by({"city": ["a", "b", "c"]}).per_unit("count").mean()
    assert grouped.asked == "Mean(number of rows (at most 2) per unit) by city"
    clipped = visits.per_unit("count", lower=1, upper=2000).operand
    assert clipped.text == "number of rows (at least 1 and at most 2000) per unit"
    assert visits.count_units(COSTLY).asked == "Count of distinct who where cost > 6"


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        (lambda t: t.count((t.per_unit("count") > 1) & (column("age") > 3)), "per_unit.*where="),
        (lambda t: t.mean("age", 0, 9, t.per_unit("count") > 1), "per_unit.*where="),
        (lambda t: t.median("age", [1], t.per_unit("count") > 1), "quantile of per_unit"),
        (lambda t: t.count(t.per_unit("count") > column("age")), "per_unit.*where="),
        (lambda t: t.per_unit("count").count(t.per_unit("max", "age", 0, 9) > 1), "one per_unit"),
        (lambda t: t.per_unit("count").share(column("age") > 3), "condition on number of rows"),
        (lambda t: t.per_unit("count").share(t.per_unit("count", upper=9) > 1), "condition on"),
        (lambda t: t.per_unit("count").count(column("age") > 3), "per_unit.*where="),
        (lambda t: t.per_unit("count").median([1], column("age") > 3), "per_unit.*where="),
        (
            lambda t: t.per_unit("count").histogram(bins=[0, 1], where=column("age") > 3),
            "per_unit.*where=",
        ),
        (lambda t: t.count_units(t.per_unit("count") > 1), "condition on rows"),
        (lambda t: t.rows_per_unit([1], t.per_unit("count") > 1), "condition on rows"),
        (lambda t: t.group_by(Keys(t.per_unit("count"), [1])).count_units(), r"count\(\), which"),
        (lambda t: t.per_unit("sum", "city", 0, 9).mean(), "numbers"),
        (lambda t: t.mean(t.per_unit("sum", "cost", 0, 9) * 2, 0, 9), "nothing is computed"),
        (lambda t: t.per_unit("sum", "cost", 0, 9).histogram([1, 2]), r"bins=\[..\]"),
        (lambda t: t.per_unit("count").count(t.per_unit("count") == "a"), "number"),
        (lambda t: t.discovered_keys(t.per_unit("count")), "no cell of a row"),
        (lambda t: t.discovered_keys("city", where=t.per_unit("count") > 1), "no cell of a row"),
        (
            lambda t: GroupBy(
                [Keys.bins(t.per_unit("count"), [0, 2])], Histogram("city", ["a"], per=t.unit)
            ),
            "groups of rows first",
        ),
        (
            lambda t: t.covariance(
                t.per_unit("count"),
                "age",
                {"number of rows (at most 2) per unit": (0, 9), "age": (0, 9)},
            ),
            "per_unit.*where=",
        ),
    ],
)
@pytest.mark.parametrize("engine", ["duckdb", "ibis on sqlite"])
def test_other_questions_are_refused(engine: str, asked: Any, error: str) -> None:
    """Before anything is read; the same without rows."""

    def ask(table: Table) -> None:
        table.check(asked(table))

    for rows in (ROWS, []):
        with (
            opened(engine, TYPES, rows, **OPTIONS) as table,
            pytest.raises((TypeError, KeyError), match=error),
        ):
            ask(table)


def test_data_without_units_have_no_values() -> None:
    with pytest.raises(TypeError, match="privacy_unit="):
        Table({"age": [1]}).per_unit("count")
    counts = Count(Column(per("count", None, 0, 9)) > 1)
    for data in (Table({"age": [1]}), {"age": [1]}, np.array([(1,)], dtype=[("age", "i8")])):
        with pytest.raises(QueryError, match="a table with a privacy unit"):
            Queryable(FiltCon(ZCDP(1)), data).launch(Gaussian(counts, scale=3))


@pytest.mark.parametrize(
    "make",
    [
        lambda: per("count", "age", 0, 9),
        lambda: per("sum", None, 0, 9),
        lambda: per("median", "age", 0, 9),
        lambda: per("count", None, 0, 9, 2),
        lambda: per("sum", "age", 9, 0),
        lambda: per("sum", "age", 0, 9, 0),
        lambda: per("sum", "age", 0, 2**22),
        lambda: per("sum", "age", -(2**22), 0),
        lambda: per("mean", "age", -(2**21), 2**21),
        lambda: per("sum", per("count", None, 0, 9), 0, 9),
        lambda: per("sum", "age", 0, 9, 1, Column(per("count", None, 0, 9)) > 1),
        lambda: per("sum", "age", 0, 9, 1, len),
        lambda: per("sum", "age", 0, 9, 1, column("age") + 1),
        lambda: PerUnit("sum", "age", 0, 9),  # type: ignore[arg-type]
    ],
)
def test_wrong_values_are_refused(make: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        make()
    assert per("sum", "age", 1 - 2**22, 0).lattice.low == 1 - 2**22
    assert per("mean", "age", 2**40, 2**40 + 9).lattice.high == 2**40 + 9


def test_a_far_mean_is_exact(visits: Table) -> None:
    """Bounds may be far from 0: only their distance is added up."""
    far = column("age") + 2**40
    assert values(visits, per("mean", far, 2**40, 2**40 + 99)) == [
        2**40 + each for each in (9, 30, 50, 70)
    ]


def test_tables_that_grow_and_joined_ones() -> None:
    """A value is of the rows that there are: of named blocks, and of joined rows."""
    frame = pd.DataFrame({"who": [1, 1, 2], "cost": [1.0, 2.0, 4.0]})
    with Table(frame, privacy_unit="who", max_rows=2) as first:
        grown = first.append(frame.assign(who=[2, 3, 3]), block="b")
        made = per("sum", "cost", 0, 9)
        assert values(first, made) == [3, 4]
        assert values(grown, made) == [3, 5, 6]
        assert values(grown.over(["b"]), made) == [1, 6]
        prices = {"cost": [1, 2, 4], "price": [10, 20, 40]}
        with Table(frame.astype(int), privacy_unit="who", max_rows=2) as whole:
            joined = whole.join(public=prices, on="cost")
            assert values(joined, per("sum", "price", 0, 99)) == [30, 40]
            days = pd.DataFrame({"who": [1, 1, 2], "day": [5, 6, 7]})
            other = Table(days, privacy_unit="who", max_rows=9)
            both = whole.join(other, on="who")
            assert values(both, per("count", None, 0, 9)) == [1, 4]
        with pytest.raises(TypeError, match="statistic of rows"):
            TreeCounter(first.per_unit("sum", "cost", 0, 9).sum(), rho=1, horizon=3)
    with Table({"cost": [1, 2, 4]}) as rows:
        joined = rows.join(public={"cost": [1, 1], "x": [3, 4]}, on="cost", max_matches=2)
        with pytest.raises(TypeError, match="before the join"):
            joined.check(joined.per_unit("count").mean())


def test_individual_accounts_charge_what_a_unit_adds() -> None:
    """A unit without a value pays nothing; the others their own squares."""
    frame = pd.DataFrame({"who": [1, 1, 2, 3], "cost": [1.0, 2.0, 4.0, None]})
    with Table(frame, privacy_unit="who", max_rows=2, max_groups=1) as table:
        sums = table.per_unit("sum", "cost", 0, 9).sum()
        squares = sums.contributions(table.records()).squares.astype(object)
        assert sums.by_record
        assert sorted(squares.tolist()) == [0, 9 * 10**10, 16 * 10**10]
        lows = table.group_by({"cost": [1, 4]}).per_unit("min", "cost", 0, 9, unit=1).sum()
        assert sorted(lows.contributions(table.records()).squares.tolist()) == [0, 1, 16]
        whole = table.per_unit("sum", "cost", 0, 9, unit=1).sum()
        account = Queryable(Individual(rho=1), table)  # they pay 9/18 and 16/18
        assert abs(int(account.launch(Gaussian(whole, scale=3))) - 7) < 40
        assert int(account.launch(Gaussian(sums, scale=3))) < 10**4  # nobody can pay for it


def test_persons_who_answer_from_rows_refuse_units(visits: Table) -> None:
    counts = visits.per_unit("count")
    root = Queryable(FiltCon(ZCDP(9)), visits)
    frugal = root.launch(Frugal() @ FiltCon(ZCDP(9)))
    grouped = visits.group_by({"city": ["a"]}).per_unit("count")
    for asked in (counts.count(counts > 1), grouped.count()):
        with pytest.raises(QueryError, match="per_unit"):
            frugal.ask(Estimate(asked, within=3))
    with pytest.raises(TypeError, match="one column"):
        Synthetic([Keys(counts, [0, 1, 2])], per=visits.unit)


def test_analysts_elsewhere_ask_the_same(visits: Table) -> None:
    """An outline makes equal statistics, without rows."""
    outline = outline_of(about_of(visits.columns, visits.unit))
    for table in (visits, outline):
        costs = table.per_unit("mean", "cost", 0, 500, COSTLY)
        assert costs.mean() == visits.per_unit("mean", "cost", 0, 500, COSTLY).mean()
        assert costs.share(costs > 3).asked.find("mean of cost per unit > 3") > 0
        assert table.group_by({"city": ["a"]}).per_unit("count").median([1, 2]).by


def test_undeclared_columns_are_read_as_numbers(tmp_path: Any) -> None:
    path = tmp_path / "visits.csv"
    path.write_text("who;cost;age\na;1,5;3\na;x;4\nb;2,5;7\n")
    with Table(path, sep=";", decimal=",", privacy_unit="who", max_rows=2) as table:
        made = per("sum", column("cost").cast("number"), 0, 9, "1/2", column("age") >= 3)
        assert values(table, made) == [1.5, 2.5]
        with pytest.raises(TypeError, match="cast"):
            table.check(Sum(per("max", "cost", 0, 9), 0, 9, per=table.unit))


def test_an_interval_holds_what_is_asked(visits: Table) -> None:
    """Whole units lose nothing to truncation: the interval is not wider for it."""
    counts = visits.per_unit("count", upper=4)
    root = Queryable(FiltCon(ZCDP(10**6)), visits)
    found = root.release(counts.mean(), loss=ZCDP(10**5))
    low, high = found.interval("0.95")
    assert low <= 9 / 4 <= high
    assert high - low < 0.1
    assert root.release(counts.median([0, 1, 2, 3, 4]), loss=ZCDP(1000)).estimate in (2, 3)


@pytest.mark.parametrize(
    ("how", "cells", "bounds", "unit", "true"),
    [
        ("mean", [0, 0, -1], (-100, 100), 1, -1 / 3),
        ("mean", [1, 1, 0], (0, 100), 1, 2 / 3),
        ("max", [0.2, 1.9], (0, 100), 1, 1.9),
        ("min", [-1.9, 5.0], (-100, 100), 1, -1.9),
        ("sum", [1, 2, 4], (0, 100), 1, 7),
        ("count", [1, 2, 4], (0, 3), None, 3),
    ],
)
def test_intervals_allow_for_what_is_cut_from_values(
    how: str, cells: list[Any], bounds: tuple[int, int], unit: Any, true: float
) -> None:
    """With almost no noise. Nothing is cut from sums of whole numbers, and from counts."""
    frame = pd.DataFrame({"who": np.repeat(np.arange(2000), len(cells)), "x": cells * 2000})
    with Table(frame, privacy_unit="who", max_rows=5) as table:
        of = (how, None) if how == "count" else (how, "x")
        values = table.per_unit(*of, *bounds, unit=unit)
        queryable = Queryable(FiltCon(ZCDP(10**9)), table)
        answer = queryable.release(values.mean(), loss=ZCDP(10**8))
        low, high = answer.interval()
        assert low - 1e-9 <= true <= high + 1e-9
        exact = how in ("sum", "count")
        assert high - low < 1e-3 if exact else high - low > 0.9
        assert not any("cut to multiples" in note for note in answer.notes)


def test_a_sum_of_numbers_that_are_cut_says_so() -> None:
    frame = pd.DataFrame({"who": np.repeat(np.arange(2000), 50), "x": 1.2399})
    with Table(frame, privacy_unit="who", max_rows=5) as table:
        mean = table.per_unit("sum", "x", 0, 5000).mean()
        answer = Queryable(FiltCon(ZCDP(99)), table).release(mean, loss=ZCDP(9))
        assert any("cut to multiples of 0.01 before they are added" in x for x in answer.notes)


def test_clipped_numbers_of_rows_are_noted(visits: Table) -> None:
    """Also where all count as 1; a share near 1 is not at a bound."""
    root = Queryable(FiltCon(ZCDP(10**6)), visits)
    ones = visits.per_unit("count", upper=1)
    [note] = root.release(ones.mean(), loss=ZCDP(10**5)).notes
    assert "near the upper bound, 1" in note
    assert not root.release(ones.share(ones >= 1), loss=ZCDP(10**5)).notes


def test_a_number_of_bins_divides_the_known_range(visits: Table) -> None:
    """The last interval has the units at the upper bound, where clipped values are."""
    counts, costs = visits.per_unit("count"), visits.per_unit("sum", "cost", 0, 500)
    assert counts.histogram(bins=2) == counts.histogram(bins=[0, 1, 3])
    assert counts.histogram(bins=2)(visits).tolist() == [0, 4]
    tenths = costs.histogram(bins=4, where=costs > 1)
    assert tenths == costs.histogram(bins=[0, 125, 250, 375, 500.001], where=costs > 1)
    assert costs.histogram(bins=1)(visits).tolist() == [4]
    wide = visits.per_unit("max", "cost", 0, 10**15)
    assert wide.histogram(bins=1).bins[-1] > 10**15
    with pytest.raises(ValueError, match="bins is 0"):
        costs.histogram(bins=0)

"""Counts of rows, of units and of groups."""

import datetime as dt
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from composition import FiltCon
from mechanisms import (
    Count,
    CountUnits,
    GroupBy,
    Histogram,
    Laplace,
    Mean,
    PrivacyUnit,
    Sum,
    Table,
    UnitSizes,
    Variance,
    column,
)
from queryable import ZCDP, MechanismFault, Queryable, SeededCoins
from queryable.statistics import IntegerStatistic

TABLE = {"age": [17, 30, None, 64], "state": ["NY", "CA", "NY", None]}
TABLES = {
    "lists": TABLE,
    "pandas": pd.DataFrame(TABLE),
    "polars": pl.DataFrame(TABLE),
    "structured": np.array(
        [(17, "NY"), (30, "CA"), (np.nan, "NY"), (64, "")], dtype=[("age", float), ("state", "U2")]
    ),
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES.keys())
def test_values(table: Any) -> None:
    """Every kind of table gives the same counts, sums and histograms."""
    assert Count()(table) == 4
    assert Count(column("age") >= 30)(table) == 2
    assert Count(lambda data: np.array([True, False, True, True]))(table) == 3
    assert Sum("age", 0, 50)(table) == 17 + 30 + 50
    assert Sum("age", 20, 50, column("state") == "NY")(table) == 20
    assert Sum(column("age"), 0, 50, unit=10)(table) == 1 + 3 + 5
    assert Histogram("state", ["CA", "TX", "NY"])(table).tolist() == [1, 0, 2]
    assert Histogram(column("age"), [17, 18])(table).tolist() == [1, 0]


def test_values_are_exact_integers() -> None:
    """What noise is added to is an exact Python int; any array can be counted."""
    assert Count()(np.zeros((5, 2))) == 5
    assert type(Count(column("age") > 0)(TABLE)) is int
    assert type(Sum("age", 0, 9)({"age": np.array([1.5])})) is int
    # A number that raises when compared is left out.
    assert Sum("x", 0, 9)({"x": [Decimal("sNaN"), Decimal(3)]}) == 3
    with pytest.raises(MechanismFault):
        Sum("height", 0, 1)(TABLE)


cells = st.one_of(
    st.none(),
    st.floats(),
    st.integers(-(2**70), 2**70),
    st.text(max_size=2),
    st.booleans(),
    st.decimals(allow_nan=True),
    st.lists(st.integers(), max_size=2),
)
bounds = st.fractions(-(10**6), 10**6, max_denominator=100)
units = st.sampled_from(["1", "1/4", "3/7", "100"])


def norms(statistic: IntegerStatistic, one: Any, other: Any) -> tuple[int, int]:
    """The L1 and squared L2 norms of the change between two datasets."""
    change = np.asarray(statistic(one), dtype=object) - np.asarray(statistic(other), dtype=object)
    moves = np.atleast_1d(change)
    return int(abs(moves).sum()), int((moves**2).sum())


def check(statistic: IntegerStatistic, one: Any, other: Any) -> None:
    l1, l2_squared = norms(statistic, one, other)
    assert l1 <= statistic.l1
    assert l2_squared <= statistic.l2**2


def without(values: list[Any], index: int) -> list[Any]:
    return values[:index] + values[index + 1 :]


@given(st.lists(cells, min_size=1, max_size=6), bounds, bounds, units, st.data())
def test_sensitivity_on_objects(
    values: list[Any], one: Fraction, other: Fraction, unit: str, data: st.DataObject
) -> None:
    """Whatever cells hold, nothing fails and removing a record moves no statistic too far."""
    rest = without(values, data.draw(st.integers(0, len(values) - 1)))
    for statistic in (
        Sum("x", min(one, other), max(one, other), unit=unit),
        Sum("x", min(one, other), max(one, other), column("x") != 3, unit=unit),
        Count(column("x") > 1),
        Count(~(column("x") == "a")),
        Histogram("x", [0, True, "a", 0.5]),
    ):
        check(statistic, {"x": values}, {"x": rest})


@given(
    st.lists(st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)), min_size=1, max_size=6),
    st.integers(1, 2**62),
    units,
    st.data(),
)
def test_sensitivity_on_nullable_integers(
    values: list[Any], bound: int, unit: str, data: st.DataObject
) -> None:
    """A null in a frame moves no other record, though a library would turn all into floats."""
    rest = without(values, data.draw(st.integers(0, len(values) - 1)))
    threshold = next((value for value in values if value is not None), 0)
    for frame in (
        lambda each: pl.DataFrame({"x": pl.Series(each, dtype=pl.Int64)}),
        lambda each: pd.DataFrame({"x": pd.array(each, dtype="Int64")}),
    ):
        for statistic in (
            Sum("x", -bound, bound, unit=unit),
            Count(column("x") == threshold),
            Histogram("x", [threshold]),
        ):
            check(statistic, frame(values), frame(rest))


@given(st.lists(st.floats(width=32), min_size=1, max_size=6), bounds, bounds, units, st.data())
def test_sensitivity_on_float_arrays(
    values: list[float], one: Fraction, other: Fraction, unit: str, data: st.DataObject
) -> None:
    """The same for arrays of floats, with NaN and infinities, in both precisions."""
    index = data.draw(st.integers(0, len(values) - 1))
    statistic = Sum("x", min(one, other), max(one, other), unit=unit)
    for dtype in (np.float32, np.float64):
        array = np.array(values, dtype=dtype)
        check(statistic, {"x": array}, {"x": np.delete(array, index)})


def test_other_sums_would_break_the_sensitivity() -> None:
    """Rounding the total to even moves by 2 for one record; units truncated one by one do not."""
    whole, rest = np.array([0.5, 1.0]), np.array([0.5])
    assert round(whole.sum()) - round(rest.sum()) == 2
    assert norms(Sum("x", 0, 1), {"x": whole}, {"x": rest}) == (1, 1)
    # Beside a large number a float total moves by 2 for a record of 1; the exact one by 1.
    whole, rest = np.array([2.0**53, 1, 1, 1]), np.array([2.0**53, 1, 1])
    floats = (sum(whole[::-1]) - sum(rest[::-1]), sum(whole) - sum(rest))
    assert max(map(abs, floats)) != 1
    assert norms(Sum("x", 0, 2**53), {"x": whole}, {"x": rest}) == (1, 1)


def test_a_record_is_in_one_category_only() -> None:
    """Categories that a column's type cannot tell apart do not count a record twice."""
    singles = {"x": np.array([0.1], dtype=np.float32)}
    near = [0.1, float(np.float32(0.1))]
    assert (column("x").is_in(near[:1])).holds(singles).all()  # numpy takes both for equal
    assert Histogram("x", near)(singles).sum() == 1
    large = {"x": np.array([2.0**53])}
    assert Histogram("x", [2**53, 2**53 + 1])(large).tolist() == [1, 0]


@pytest.mark.parametrize("unit", ["D", "us", "ns"])
def test_histogram_of_dates(unit: str) -> None:
    """Dates are counted in date columns, datetimes in columns of any finer resolution."""
    day = dt.datetime(2020, 1, 1)  # noqa: DTZ001
    category = day.date() if unit == "D" else day
    table = {"x": np.array(["2020-01-01", "2021-01-01", "NaT"], dtype=f"datetime64[{unit}]")}
    assert Histogram("x", [category])(table).tolist() == [1]


@pytest.mark.parametrize(
    ("lower", "upper", "unit", "sensitivity"),
    [
        (0, 10, 1, 10),
        (-10, 3, 1, 10),
        (5, 10, 1, 10),
        (0, "9.99", 1, 9),
        (0, 10, "1/4", 40),
        (0, 10, 3, 3),
        ("-0.5", "0.5", 1, 0),
    ],
)
def test_sum_sensitivity(lower: Any, upper: Any, unit: Any, sensitivity: int) -> None:
    """The larger bound in units, truncated as the records are."""
    statistic = Sum("x", lower, upper, unit=unit)
    assert statistic.l1 == statistic.l2 == sensitivity


def test_sensitivities_of_counts() -> None:
    for statistic in (Count(), Count(column("x") == 1), Histogram("x", [1, 2, 3])):
        assert statistic.l1 == statistic.l2 == 1
    assert Histogram("x", [1, 2, 3]).shape == (3,)
    # Queries are data: two that say the same compare and hash equal.
    assert Sum(column("x"), 0, "0.5", column("y") == 1) == Sum("x", 0, 0.5, column("y") == 1)
    assert len({Count(column("x") > 1), Count(column("x") > 1), Count(column("x") > 2)}) == 2


ROWS = {
    "state": ["NY", "CA", "NY", None, "TX"],
    "sex": [1, 2, 2, 1, 1],
    "age": [10, 20, 30, 40, 50],
}
BY = {"state": ["CA", "NY"], "sex": [1, 2, 3]}


def test_values_and_estimates_by_group() -> None:
    assert GroupBy(BY, Count())(ROWS).tolist() == [[0, 1, 0], [1, 1, 0]]
    assert GroupBy(BY, Sum("age", 0, 25))(ROWS).tolist() == [[0, 20, 0], [10, 25, 0]]
    assert GroupBy(BY, Mean("age", 0, 50)).shape == (2, 3, 2)
    assert GroupBy({"sex": [1, 2]}, Histogram("state", ["NY"]))(ROWS).tolist() == [[1], [1]]
    assert GroupBy(BY, Count(column("age") > 10))(ROWS).sum() == 2
    means = GroupBy({"sex": [1, 2, 3]}, Mean("age", 0, 50))
    estimated = means.estimate(means(ROWS))
    assert estimated[:2] == pytest.approx([100 / 3, 25])
    assert np.isnan(estimated[2])
    spread = GroupBy({"sex": [1]}, Variance("age", 0, 50))
    assert spread.estimate(spread(ROWS)) == pytest.approx([np.var([10, 40, 50])])
    assert GroupBy(BY, Count()).estimate([1, 2]).tolist() == [1, 2]


@pytest.mark.parametrize(
    ("bounds", "l1", "l2_squared"),
    [
        ({"max_rows": 5}, 5, 25),
        ({"max_rows": 5, "max_groups": 2}, 5, 25),
        ({"max_rows": 5, "max_rows_per_group": 1}, 5, 5),
        ({"max_rows": 5, "max_groups": 2, "max_rows_per_group": 1}, 2, 2),
        ({"max_rows": 5, "max_groups": 2, "max_rows_per_group": 2}, 4, 8),
        ({"max_rows": 5, "max_rows_per_group": 2}, 5, 9),
    ],
)
def test_sensitivities(bounds: dict[str, int], l1: int, l2_squared: int) -> None:
    """A row is in one group; a person's rows fill groups as far as the bounds let them."""
    per = PrivacyUnit("id", **bounds)
    counts, sums = GroupBy(BY, Count(per=per)), GroupBy(BY, Sum("age", -3, 10, per=per))
    assert (counts.l1, sums.l1) == (l1, 10 * l1)
    assert l2_squared <= counts.l2**2 <= l2_squared + Fraction(1, 10**20)
    assert sums.l2**2 == pytest.approx(100 * l2_squared)
    assert GroupBy(BY, Count()).l1 == 1


def test_one_launch_is_one_query(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts and sums of all groups come from one statement."""
    table, statements = Table(ROWS), []
    run = table._engine.run
    monkeypatch.setattr(table._engine, "run", lambda plan: (statements.append(plan), run(plan))[1])
    Laplace(GroupBy(BY, Mean("age", 0, 50)), epsilon=1).init(table)
    assert len(statements) == 1


PER = PrivacyUnit("who", max_rows=4)
BOUGHT = pd.DataFrame({"who": [1, 1, 1, 2, 3, 3], "item": ["a", "book", "a", "a", "book", "book"]})


def test_a_unit_is_counted_once() -> None:
    """Whichever rows of a person are kept, a row that satisfies `where` is found."""
    table = Table(BOUGHT, privacy_unit="who", max_rows=1)
    books = column("item") == "book"
    assert CountUnits(per=table.unit).value(table) == 3
    assert CountUnits(books, per=table.unit).value(table) == 2
    assert CountUnits(~books, per=table.unit).value(table) == 2
    table = Table(BOUGHT, privacy_unit="who", max_rows=1)
    sizes = UnitSizes([1, 2], per=table.unit)
    assert sizes.value(table).tolist() == [1, 1, 1]
    # With one row a person, the kept row decides; the people themselves are counted apart.
    table = Table(BOUGHT, privacy_unit="who", max_rows=1)
    kept = Count(column("item") == "book", per=table.unit).value(table)
    assert kept <= CountUnits(column("item") == "book", per=table.unit).value(table) == 2


def test_the_share_of_units_over_a_limit() -> None:
    """The share of a released answer, with an interval that contains the true share."""
    rows = pd.DataFrame({"who": [i for i in range(1000) for _ in range(1 + i % 4)]})
    rows["sex"] = rows["who"] % 2
    table = Table(rows, privacy_unit="who", max_rows=1, max_groups=1, seed=1)
    queryable = Queryable(FiltCon(ZCDP(9)), table, coins=SeededCoins(1), allow_seeded=True)
    answer = queryable.release(table.rows_per_unit([1, 2, 3]), loss=ZCDP(1))
    shares = [answer.share_over(limit) for limit in (0, 1, 2, 3)]
    for share, true in zip(shares, (1, 0.75, 0.5, 0.25), strict=True):
        low, high = share.interval()
        assert 0 <= low <= true <= high <= 1
        assert low <= share.estimate <= high < low + 0.05
    assert shares[0].estimate == 1
    for other in (4, "1"):
        with pytest.raises(ValueError, match=r"one of \[1, 2, 3\]"):
            answer.share_over(other)
    by_sex = queryable.release(
        table.group_by({"sex": [0, 1, 2]}).rows_per_unit([2]), loss=ZCDP(1)
    ).share_over(2)
    low, high = by_sex.interval()
    assert ((low[:2] <= 0.5) & (high[:2] >= 0.5)).all()
    assert (low[2], high[2]) == (0, 1) or low[2] >= 0
    assert list(by_sex.to_pandas().columns) == ["sex", "estimate", "low", "high"]


@pytest.mark.parametrize("statistic", [CountUnits(per=PER), UnitSizes([1, 3], per=PER)])
def test_a_unit_moves_one_number_by_one(statistic: Any) -> None:
    assert statistic.l1 == statistic.l2 == statistic.linf == 1


@pytest.mark.parametrize(
    ("bounds", "keys", "l1"),
    [
        ({"max_rows": 4}, 9, 4),
        ({"max_rows": 4}, 3, 3),
        ({"max_rows": 9, "max_groups": 5}, 9, 5),
        ({"max_rows": 9, "max_groups": 5, "max_rows_per_group": 2}, 9, 5),
    ],
)
@pytest.mark.parametrize("kind", [CountUnits, lambda per: UnitSizes([1, 7], per=per)])
def test_in_groups_a_unit_moves_one_number_in_each(
    kind: Any, bounds: dict[str, int], keys: int, l1: int
) -> None:
    """The bound on groups applies, and there are no more groups than keys."""
    statistic = GroupBy({"item": range(keys)}, kind(per=PrivacyUnit("who", **bounds)))
    assert statistic.l1 == l1
    assert float(statistic.l2) == pytest.approx(l1**0.5)
    assert statistic.linf == 1


@pytest.mark.slow
def test_many_limits_are_one_query() -> None:
    table = Table(BOUGHT, privacy_unit="who", max_rows=1)
    assert UnitSizes(range(1, 3000), per=table.unit).value(table)[:4].tolist() == [1, 1, 1, 0]

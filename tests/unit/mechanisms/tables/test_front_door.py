"""The methods of a table, and the outline that describes it."""

import datetime as dt
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from composition import FiltCon
from curator.wire import WireError
from curator.wire.outlines import about_of, outline_of
from mechanisms import (
    Correlation,
    Count,
    CountUnits,
    Covariance,
    GroupBy,
    Histogram,
    Keys,
    Mean,
    Quantile,
    Quantiles,
    Regression,
    Std,
    Sum,
    Table,
    Top,
    UnitSizes,
    Variance,
    column,
    when,
)
from mechanisms.sampling.laws import DiscreteGaussian
from mechanisms.tables.expressions.column_types import (
    BOOLEAN,
    TEXT,
    WRITTEN,
    decimal,
    integer,
    real,
)
from mechanisms.tables.front_door import unit_between
from mechanisms.tables.outline import Outline
from queryable import ZCDP, Queryable
from queryable.statistics import IntegerStatistic

VISITS = pd.DataFrame(
    {
        "person": [1, 1, 2, 3, 3, 3],
        "state": ["CA", "NY", "CA", "CA", "CA", "NY"],
        "hours": [1, 2, 3, 4, 5, 6],
        "paid": [12.99, 0.5, 3.25, 8.0, 1.01, 2.5],
        "day": pd.to_datetime(["2024-01-05", "2024-02-01"] * 3),
    }
)
PER = {"privacy_unit": "person", "max_rows": 2, "max_groups": 1}
BOUNDS = {"hours": (0, 10), "paid": (0, 20)}
LONG = column("hours") > 2


@pytest.fixture
def visits() -> Any:
    with Table(VISITS, seed=1, **PER) as table:
        yield table


def test_every_statistic_is_of_the_tables_unit(visits: Table) -> None:
    per = visits.unit
    assert per is not None
    money = Fraction(1, 10**5)
    assert visits.count(LONG) == Count(LONG, per=per)
    assert visits.count_units(LONG) == CountUnits(LONG, per=per)
    assert visits.rows_per_unit([1, 2]) == UnitSizes([1, 2], per=per)
    assert visits.sum("hours", 0, 10, LONG) == Sum("hours", 0, 10, LONG, per=per)
    assert visits.mean("paid", 0, 20) == Mean("paid", 0, 20, unit=money, per=per)
    assert visits.variance("hours", 0, 9, unit=3) == Variance("hours", 0, 9, unit=3, per=per)
    assert visits.std("hours", 0, 10) == Std("hours", 0, 10, per=per)
    assert visits.histogram("state", ["CA"]) == Histogram("state", ["CA"], per=per)
    assert visits.histogram("paid", bins=[0, 5]) == Histogram("paid", bins=[0, 5], per=per)
    assert visits.quantile("hours", "1/2", [1, 5]) == Quantile("hours", "1/2", [1, 5], per=per)
    assert visits.median("hours", [1, 5], LONG) == Quantile("hours", "1/2", [1, 5], LONG, per=per)
    levels = ["1/4", "1/2"]
    assert visits.quantiles("hours", levels, [1]) == Quantiles("hours", levels, [1], per=per)
    assert visits.top("state", 1, ["CA", "NY"]) == Top("state", 1, ["CA", "NY"], per=per)
    assert visits.covariance("hours", "paid", BOUNDS) == Covariance(
        "hours", "paid", BOUNDS, per=per
    )
    assert visits.correlation("hours", "paid", BOUNDS, LONG) == Correlation(
        "hours", "paid", BOUNDS, LONG, per=per
    )
    assert visits.regress("paid", "hours", bounds=BOUNDS) == Regression(
        "paid", ("hours",), BOUNDS, per=per
    )
    assert visits.mean(column("paid") * 2, 0, 40).unit == Fraction(1, 10**5)


def test_groups_have_the_same_methods(visits: Table) -> None:
    """A group-by gives each statistic by group; keys of several calls are crossed."""
    grouped = visits.group_by({"state": ["CA", "NY"]}, Keys.bins("hours", [0, 3, 9]))
    by, per = grouped.keys, visits.unit
    assert grouped.unit == per
    assert grouped.count() == GroupBy(by, Count(per=per))
    assert grouped.count_units() == GroupBy(by, CountUnits(per=per))
    assert grouped.rows_per_unit([1]) == GroupBy(by, UnitSizes([1], per=per))
    mean = Mean("hours", 0, 9, LONG, unit="1/2", per=per)
    assert grouped.mean("hours", 0, 9, LONG) == GroupBy(by, mean)
    assert grouped.histogram("state", ["CA"]) == GroupBy(by, Histogram("state", ["CA"], per=per))
    assert grouped.quantile("hours", "1/2", [1, 5]) == Quantiles(
        "hours", "1/2", [1, 5], by=by, per=per
    )
    assert grouped.median("hours", [1, 5]) == grouped.quantile("hours", "1/2", [1, 5])
    assert grouped.covariance("hours", "paid", BOUNDS) == GroupBy(
        by, Covariance("hours", "paid", BOUNDS, per=per)
    )
    assert visits.group_by({"state": ["CA"]}).group_by(Keys("hours", [1, 2])).count().shape == (
        1,
        2,
    )
    with pytest.raises(TypeError, match="top"):
        grouped.top("state", 1, ["CA"])
    assert repr(grouped) == f"<{visits!r} by state, hours>"


def test_everything_is_answered(visits: Table) -> None:
    """Each statistic fits the table; released, it has labels and intervals."""
    queryable = Queryable(FiltCon(ZCDP(10)), visits)
    statistics: list[IntegerStatistic | Any] = []
    for source in (visits, visits.group_by({"state": ["CA", "NY"]})):
        statistics += [
            source.count(LONG),
            source.count_units(),
            source.rows_per_unit([1, 2]),
            source.sum("paid", 0, 20),
            source.mean("hours", 0, 10),
            source.variance("hours", 0, 10),
            source.std("paid", 0, 20),
            source.histogram("hours", bins=[0, 3, 7]),
            source.quantile("hours", ["1/4", "1/2"], [1, 2, 3]),
            source.correlation("hours", "paid", BOUNDS),
            source.regress("paid", "hours", bounds=BOUNDS),
        ]
    statistics.append(visits.top("state", 1, ["CA", "NY"]))
    for statistic in statistics:
        answer = queryable.release(statistic, loss=ZCDP("1/10"))
        assert not isinstance(answer.estimate, str) or answer.estimate in ("CA", "NY")
        assert len(str(answer)) > 10
    frame = queryable.release(
        visits.group_by(Keys.months("day", "2024-01", "2024-02")).count_units(), within=2
    ).to_pandas()
    assert list(frame.columns) == ["day truncated to month", "estimate", "low", "high"]


def test_units_need_a_privacy_unit() -> None:
    table = Table(VISITS)
    for ask in (table.count_units, lambda: table.rows_per_unit([1])):
        with pytest.raises(TypeError, match="privacy_unit="):
            ask()
    assert table.count() == Count()


def test_twelve_ninety_nine_is_not_twelve() -> None:
    """Without a unit, cents are not cut off; the unit does not depend on rows."""
    table = Table(VISITS)
    total = table.sum("paid", 0, 20)
    assert total.value(table) * total.unit == Fraction("28.25")
    empty = Table(VISITS[:0])
    assert empty.sum("paid", 0, 20).unit == total.unit
    text = Table({"paid": ["12.99", "0.50"]})
    mean = text.mean("paid", 0, 20)
    assert mean.estimate(mean.value(text)) == pytest.approx(6.745)
    exact = Table(pl.DataFrame({"paid": ["12.99"]}).cast(pl.Decimal(10, 2)))
    assert exact.sum("paid", 0, 20).unit == Fraction(1, 100)
    assert exact.sum("paid", 0, 20).value(exact) == 1299


@pytest.mark.parametrize(
    ("kind", "lower", "upper", "unit"),
    [
        (integer(64), 0, 120, 1),
        (BOOLEAN, 0, 1, 1),
        (TEXT, 0, 1, 1),
        (decimal(10, 2), 0, 100, "0.01"),
        (real(64), 0, 1, "1e-6"),
        (real(64), 0, 10, "1e-5"),
        (real(64), 0, 9.99, "1e-6"),
        (real(64), -50, 50, "1e-4"),
        (real(64), 5, 5, "1e-6"),
        (real(64), 0, 0, "1e-6"),
        (real(64), 0, "1e12", "1e6"),
        (WRITTEN, 0, 1000, "1e-3"),
        (real(32), 0, 1, Fraction(1, 2**22)),
        (real(64), 0, 10**15, 2**27),
    ],
)
def test_units(kind: Any, lower: Any, upper: Any, unit: Any) -> None:
    assert unit_between(kind, Fraction(lower), Fraction(upper)) == Fraction(unit)


@pytest.mark.parametrize("exponent", range(-12, 13, 3))
@pytest.mark.parametrize("lower", ["0", "-1", "0.999", "-0.3"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_engine_adds_up_in_the_chosen_unit(exponent: int, lower: str, dtype: Any) -> None:
    """The range has 10^6 to 10^7 units, and fewer only where digits run out."""
    scale = Fraction(10) ** exponent
    table = Table(pd.DataFrame({"x": np.array([0.5, 1.0], dtype)}))
    statistic = table.mean("x", Fraction(lower) * scale, scale)
    table.check(statistic)
    if dtype is np.float64 and exponent > -9 and lower != "0.999":
        units = (1 - Fraction(lower)) * scale / statistic.unit
        assert 10**6 <= units < 10**7


def test_unknown_columns_are_said_at_once(visits: Table) -> None:
    with pytest.raises(ValueError, match=r"no column 'hors'.*'hours'"):
        visits.mean("hors", 0, 10)
    assert visits.kind("hours").name == "integer"
    assert visits.kind(column("day").month()).name == "integer"
    assert attrs.evolve(visits.kind(column("hours") * 2), declared="").name == "float"


ROWS = pa.table(
    {
        "person": [1, 2],
        "paid": pa.array([Decimal("1.25"), Decimal("2.50")], pa.decimal128(8, 2)),
        "weight": np.array([1.5, 2.5], np.float32),
        "height": [1.5, 2.5],
        "name": ["a", "b"],
        "day": [dt.date(2024, 1, 1), dt.date(2024, 2, 1)],
    }
)
RANGES = {"paid": (0, 100), "height": (0, 3)}


def statistics(table: Any) -> list[Any]:
    expressions = ("paid", "weight", "height", column("paid") + column("height"))
    numbers = (*expressions, column("day").month(), column("person") * 2)
    return [
        table.count(column("name") == "a"),
        *(table.sum(each, 0, 100) for each in numbers),
        *(table.group_by({"name": ["a"]}).mean(each, -1, "5/2") for each in numbers),
        table.std("weight", 0, 3),
        table.histogram("name", ["a", "b"]),
        table.median("height", [1, 2, 3]),
        table.top("name", 1, ["a", "b"]),
        table.regress("paid", "height", bounds=RANGES),
    ]


@pytest.mark.parametrize("units", [{}, {"privacy_unit": "person", "max_rows": 3, "max_groups": 2}])
def test_equal_statistics(units: Any) -> None:
    with Table(ROWS, seed=1, **units) as table:
        outline = outline_of(about_of(table.columns, table.unit))
        assert outline.unit == table.unit
        assert statistics(outline) == statistics(table)


def test_undeclared_columns(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("person,day,hours\n1,2024-01-31,2.5\n")
    with Table(path, privacy_unit="person", max_rows=1) as table:
        outline = outline_of(about_of(table.columns, table.unit))
        for asked in ("hours", column("hours") * 2, column("day").month()):
            assert outline.sum(asked, 0, 10) == table.sum(asked, 0, 10)
        assert outline.count_units() == table.count_units()


def test_a_wrong_column_is_named() -> None:
    with Table(ROWS, seed=1) as table:
        outline = outline_of(about_of(table.columns, table.unit))
    assert repr(outline) == repr(table).replace("Table", "Outline")
    for asked in ("heigth", column("heigth") + 1):
        with pytest.raises((ValueError, TypeError, KeyError), match="height"):
            outline.sum(asked, 0, 1)
    with pytest.raises(TypeError, match="privacy_unit"):
        outline.count_units()


def test_another_description_is_refused() -> None:
    good = about_of(Outline({}).columns, None)
    assert outline_of(good).unit is None
    for wrong in (
        {"columns": {"age": "int"}},
        {**good, "columns": ["age"]},
        {**good, "columns": {"age": "integer"}, "kinds": {"age": "integer"}},
        {**good, "columns": {"age": "integer"}, "kinds": {"age": {"step": "x"}}},
        {**good, "privacy_unit": "person"},
        {**good, "kinds": []},
    ):
        with pytest.raises(WireError, match="by hand"):
            outline_of(wrong)


def test_a_share_is_a_mean_of_truth_values(visits: Table) -> None:
    """In halves, so that the middle of 0 and 1 is a unit: the noise is then half as large."""
    share = visits.share(LONG)
    holds = when(LONG).then(1).otherwise(0)
    assert share == Mean(holds, 0, 1, unit="1/2", per=visits.unit)
    assert share.public_name == f"Share({LONG.text})"
    assert Mean(when(LONG).then(1).otherwise(2), 0, 1).public_name.startswith("Mean(when")
    value = share.estimate(share(visits))
    assert value == Count(LONG, per=visits.unit)(visits) / Count(per=visits.unit)(visits)
    assert visits.mean("hours", 0, 8).unit == 1
    noisy = np.array([200_000, 40_000], dtype=object)
    low, high = share.informed(visits).interval(noisy, DiscreteGaussian(10_000), Fraction(1, 20))
    assert 0.599 < low < 0.6 < high < 0.601  # truncation takes nothing from 0 and 1


@pytest.mark.parametrize("name", ["mean", "sum", "std", "variance"])
def test_swapped_bounds_are_named(visits: Table, name: str) -> None:
    with pytest.raises(ValueError, match="give the lower first"):
        getattr(visits, name)("paid", 100, 0)

"""What records add: against the statistic of one record, and the sums of some of them."""

from fractions import Fraction
from typing import Any

import attrs
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from mechanisms import (
    Count,
    Gaussian,
    GroupBy,
    Histogram,
    Laplace,
    Mean,
    Quantiles,
    Sum,
    Variance,
    column,
)
from mechanisms.tables.statistics.releases import Release
from queryable import Statistic
from queryable.data.rows import take
from queryable.statistics import IntegerStatistic

ROWS = 23
COLUMNS = {
    "age": np.arange(ROWS) * 7 % 60,
    "cost": np.arange(ROWS) * 1.5 - 9,
    "city": np.array(["a", "b", "c", "a"] * 6)[:ROWS],
}
LISTED = [
    {"age": int(a), "cost": None if a == 7 else float(c), "city": str(t)}
    for a, c, t in zip(*COLUMNS.values(), strict=True)
]
FORMS = {
    "dict": COLUMNS,
    "list": LISTED,
    "tuple": tuple(LISTED),
    "array": np.array(
        list(zip(*COLUMNS.values(), strict=True)),
        dtype=[("age", "i8"), ("cost", "f8"), ("city", "U1")],
    ),
    "pandas": pd.DataFrame(COLUMNS),
    "polars": pl.DataFrame(COLUMNS),
    "arrow": pa.table(COLUMNS),
}
OLD = column("age") >= 30
STATISTICS = (
    Count(),
    Count(OLD),
    Count(~OLD & column("city").is_in(["a", "b"])),
    Sum("age", 0, 40),
    Sum("cost", -5, 3, OLD),
    Sum("cost", -5, 3, unit="1/10"),
    Sum("age", 0, 2**40, unit="1/1000000"),
    Histogram("city", ["a", "c"]),
    Histogram("age", bins=[0, 20, 40], where=column("cost") > 0),
    GroupBy({"city": ["a", "b", "c"]}, Count(OLD)),
    GroupBy({"city": ["a", "b"]}, Sum("cost", -5, 3)),
    GroupBy({"city": ["b", "a"]}, Histogram("age", bins=[0, 20, 60])),
)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("statistic", STATISTICS, ids=lambda each: each.public_name)
def test_squares_and_sums(statistic: IntegerStatistic, form: str) -> None:
    """Of each record the square of the statistic of that record alone; the sums of some."""
    dataset = FORMS[form]
    added = statistic.contributions(dataset)
    alone = [np.ravel(statistic(take(dataset, [i]))).tolist() for i in range(ROWS)]
    assert added.squares.astype(object).tolist() == [
        sum(entry**2 for entry in each) for each in alone
    ]
    assert max(added.squares) <= statistic.l2**2
    for seed in range(4):
        active = np.random.default_rng(seed).random(ROWS) < 0.5
        kept = take(dataset, np.flatnonzero(active))
        assert np.array_equal(statistic(added.among(active)), statistic(kept))


def everyone(data: Any) -> Any:
    """A condition of the user's own."""
    return np.ones(len(data), dtype=bool)


@attrs.frozen
class Doubled(Count):
    """A subclass, which may compute something else."""

    def combined(self, totals: Any) -> Any:
        return 2 * totals


OTHERS = (
    Count(everyone),
    GroupBy({"city": ["a"]}, Count(everyone)),
    Mean("age", 0, 40),
    Variance("age", 0, 40),
    Quantiles("age", ["1/2"], [0, 20, 40]),
    Statistic(len, l1=1, l2=1),
    Doubled(),
    GroupBy({"city": ["a"]}, Doubled()),
)


@pytest.mark.parametrize("statistic", OTHERS, ids=lambda each: each.public_name)
def test_statistics_of_which_records_pay_the_whole_loss(statistic: Any) -> None:
    """Own functions and subclasses may look at all records; means have several sums."""
    if isinstance(statistic, IntegerStatistic):
        assert not statistic.by_record
        assert Gaussian(statistic, scale=3).per_record is None


@attrs.frozen(init=False)
class Quieter(Gaussian):
    """A subclass, which may add less noise."""


def test_who_knows_the_loss_of_a_record() -> None:
    gaussian = Gaussian(Count(), variance=50)
    for each in (gaussian, Release(gaussian)):
        assert each.per_record is not None
        assert each.per_record.loss_per_square == Fraction(1, 100)
    assert Release(Laplace(Count(), scale=50)).per_record is None
    assert Quieter(Count(), variance=50).per_record is None
    assert Laplace(Count(), scale=50).per_record is None
    with pytest.raises(TypeError, match="what a record adds"):
        Statistic(len, l1=1, l2=1).contributions([1])


def test_sums_of_another_request_are_refused() -> None:
    among = Count(OLD).contributions(COLUMNS).among(np.ones(ROWS, dtype=bool))
    with pytest.raises(TypeError, match="another request"):
        Count().value(among)

"""Privacy units, what one contributes, and how it is said."""

from fractions import Fraction
from itertools import product
from math import isqrt
from typing import Any

import attrs
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from composition import FiltCon
from mechanisms import (
    Count,
    ExponentialMechanism,
    Gaussian,
    GroupBy,
    Histogram,
    Laplace,
    Mean,
    Neighbours,
    PrivacyUnit,
    Quantile,
    Quantiles,
    Sum,
    Table,
    Variance,
    column,
)
from mechanisms.tables.requests.privacy_unit import contribution, root
from mechanisms.tables.statistics.releases import Release
from queryable import ZCDP, Queryable, Statistic
from queryable.data.rows import take
from queryable.optional import full_name, public_name
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
    among = Count(OLD).contributions(COLUMNS).among(np.ones(ROWS, dtype=bool))
    with pytest.raises(TypeError, match="another request"):
        Count().value(among)
    per = PrivacyUnit("id", max_rows=5, max_groups=1, max_rows_per_group=2)
    assert contribution(per).l1 == 5
    assert contribution(None, 3).l2_squared == 1


caps = st.one_of(st.none(), st.integers(1, 4))


@given(st.integers(1, 6), caps, caps, st.integers(1, 6))
def test_contributions_are_the_worst_there_are(
    rows: int, groups: int | None, each: int | None, keys: int
) -> None:
    """The norms are reached by some numbers of rows in so many groups, and exceeded by none."""
    per = PrivacyUnit("id", max_rows=rows, max_groups=groups, max_rows_per_group=each)
    allowed = [
        counts
        for counts in product(range((each or rows) + 1), repeat=keys)
        if sum(counts) <= rows and sum(map(bool, counts)) <= (groups or keys)
    ]
    worst = contribution(per, keys)
    assert worst.l1 == max(map(sum, allowed))
    assert worst.l2_squared == max(sum(count**2 for count in counts) for counts in allowed)
    assert worst.linf == max(map(max, allowed))


@given(st.integers(0, 10**30))
def test_roots_are_never_too_small(square: int) -> None:
    assert root(square) ** 2 >= square
    if isqrt(square) ** 2 == square:
        assert root(square) == isqrt(square)


def test_names_and_conditions_are_short() -> None:
    budget = FiltCon(ZCDP(1), d_in=Neighbours.SUBSTITUTE)
    assert budget == FiltCon(ZCDP(1), d_in=2)
    assert FiltCon(ZCDP(1), d_in=Neighbours.ADD_REMOVE) == FiltCon(ZCDP(1))
    chosen = ExponentialMechanism(Histogram("clinic", ["Graz", "Lyon"], per=PER), epsilon=1)
    asked = "ExponentialMechanism of Histogram(clinic), at most 4 rows per patient"
    assert public_name(chosen) == asked

    def young(data: Any) -> Any:
        return data["age"] < 30

    assert "young" in Count(young).asked
    # The tree keeps how many rows are counted; the ledger has the whole text.
    where = (column("clinic") == "Graz") & (column("age") >= 65) & (column("diagnosis") != "none")
    long = Gaussian(Count(where | where, per=PER), rho="1/100")
    assert len(public_name(long)) == 100
    assert public_name(long).startswith("Gaussian of Count where ")
    assert public_name(long).endswith("at most 4 rows per patient")
    table = Queryable(FiltCon(ZCDP(1)), {"clinic": ["Graz"], "age": [70], "diagnosis": ["none"]})
    asked = Gaussian(Count(where | where), rho="1/100")
    table.launch(asked)
    (row,) = table.ledger()
    assert (row.mechanism, row.asked) == (public_name(asked), full_name(asked))
    assert "diagnosis" in row.asked
    assert row.asked in str(table.ledger())
    assert row.mechanism in table.tree()
    assert len(Count(column("age").is_in(range(10**5))).asked) < 200
    rows = {f"c{i}": [1] for i in range(13)}
    assert repr(Table({"age": [1]})) == "<Table of age; each row is protected>"
    named = "c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11 and 1 more"
    shown = repr(Table(rows, privacy_unit="c0", max_rows=2))
    assert shown == f"<Table of {named}; at most 2 rows per c0>"


PER = PrivacyUnit("patient", max_rows=4)
FEW = PrivacyUnit("patient", max_rows=4, max_groups=2, max_rows_per_group=1)
PENSIONER = column("age") >= 65
KEYS = {"clinic": ["Graz", "Lyon", "Oslo"]}


@pytest.mark.parametrize(
    ("statistic", "asked"),
    [
        (Count(), "Count"),
        (Count(PENSIONER), "Count where age >= 65"),
        (Sum("cost", 0, 9, PENSIONER), "Sum(cost) where age >= 65"),
        (Count(per=PER), "Count, at most 4 rows per patient"),
        (
            Count(PENSIONER, per=PrivacyUnit("p", max_rows=1)),
            "Count where age >= 65, at most 1 row per p",
        ),
        (Mean("age", 0, 9, per=PER), "Mean(age), at most 4 rows per patient"),
        (Quantile("age", "1/2", [1, 2], per=FEW), "Quantile(age), at most 4 rows per patient"),
        (
            Histogram("clinic", ["Graz"], per=FEW),
            (
                "Histogram(clinic), at most 4 rows per patient, in at most 2 groups, "
                "at most 1 row in each group"
            ),
        ),
        (
            GroupBy(KEYS, Mean("age", 0, 9, PENSIONER, per=FEW)),
            (
                "Mean(age) by clinic where age >= 65, at most 4 rows per patient, "
                "in at most 2 groups, at most 1 row in each group"
            ),
        ),
    ],
)
def test_what_a_statistic_asks(statistic: Any, asked: str) -> None:
    assert statistic.asked == asked
    assert full_name(Gaussian(statistic, rho=1)) == f"Gaussian of {asked}"
    assert full_name(Laplace(statistic, epsilon=1)) == f"Laplace of {asked}"

"""What a statistic asks, in words: the rows that it is about, and how many of each unit."""

from typing import Any

import pytest

from composition import FiltCon
from mechanisms import (
    Count,
    ExponentialMechanism,
    Gaussian,
    GroupBy,
    Histogram,
    Laplace,
    Mean,
    PrivacyUnit,
    Quantile,
    Sum,
    Table,
    column,
)
from queryable import ZCDP, Queryable
from queryable.optional import full_name, public_name

PER = PrivacyUnit("patient", max_rows=4)
FEW = PrivacyUnit("patient", max_rows=4, max_groups=2, max_rows_per_group=1)
OLD = column("age") >= 65
KEYS = {"clinic": ["Graz", "Lyon", "Oslo"]}


@pytest.mark.parametrize(
    ("statistic", "asked"),
    [
        (Count(), "Count"),
        (Count(OLD), "Count where age >= 65"),
        (Sum("cost", 0, 9, OLD), "Sum(cost) where age >= 65"),
        (Count(per=PER), "Count, at most 4 rows per patient"),
        (
            Count(OLD, per=PrivacyUnit("p", max_rows=1)),
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
            GroupBy(KEYS, Mean("age", 0, 9, OLD, per=FEW)),
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


def test_a_choice_says_what_its_scores_ask() -> None:
    chosen = ExponentialMechanism(Histogram("clinic", ["Graz", "Lyon"], per=PER), epsilon=1)
    asked = "ExponentialMechanism of Histogram(clinic), at most 4 rows per patient"
    assert public_name(chosen) == asked


def test_a_function_is_named() -> None:
    def young(data: Any) -> Any:
        return data["age"] < 30

    assert "young" in Count(young).asked


def test_a_long_condition_is_shortened_in_the_middle() -> None:
    """The tree keeps how many rows are counted; the ledger has the whole text."""
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


def test_a_condition_with_many_constants_has_a_short_text() -> None:
    assert len(Count(column("age").is_in(range(10**5))).asked) < 200


def test_a_table_shows_its_columns_and_its_unit() -> None:
    rows = {f"c{i}": [1] for i in range(13)}
    assert repr(Table({"age": [1]})) == "<Table of age; each row is protected>"
    named = "c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11 and 1 more"
    shown = repr(Table(rows, privacy_unit="c0", max_rows=2))
    assert shown == f"<Table of {named}; at most 2 rows per c0>"

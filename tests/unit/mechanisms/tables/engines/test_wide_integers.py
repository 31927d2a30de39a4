"""Whole numbers of 128 bits on Ibis, which takes them for decimals of 38 digits."""

from typing import Any

import ibis
import pytest

from mechanisms import (
    Count,
    GroupBy,
    Histogram,
    Quantiles,
    Sum,
    Table,
    column,
)
from tests.engines import quietly

WIDE = column("n")
QUESTIONS: list[tuple[Any, list[int]]] = [
    (Count(WIDE == 7), [2]),
    (Count(WIDE >= -5), [3]),
    (Count(WIDE.is_in([7, -5])), [3]),
    (Count(WIDE.is_null()), [2]),
    (Count(WIDE.cast("integer") == 7), [2]),
    (Count(WIDE + 1 >= 3), [2]),
    (Histogram("n", [7, -5]), [2, 1]),
    (Histogram("n", bins=[-9, 0, 9]), [1, 2]),
    (GroupBy({"n": [7, 8]}, Count()), [2, 0]),
    (Quantiles("n", ["1/2"], [0, 7]), [1, 0, 0, 2, 0]),
    (Sum("n", -9, 9), [9]),
]


@pytest.fixture(params=["opened", "appended"])
def table(request: pytest.FixtureRequest) -> Any:
    """Four numbers and a missing one; the largest has 39 digits."""
    connection = ibis.duckdb.connect()
    for name in ("here", "later"):
        connection.raw_sql(f"CREATE TABLE {name} (n HUGEINT)")
    last = "here" if request.param == "opened" else "later"
    connection.raw_sql("INSERT INTO here VALUES (7), (-5), (NULL)")
    connection.raw_sql(f"INSERT INTO {last} VALUES (7), ({2**127 - 1})")
    with quietly():
        found = Table(connection.table("here"))
        return found if last == "here" else found.append(connection.table("later"))


def test_a_number_of_39_digits_fails_no_question(table: Any) -> None:
    """It is missing, whatever is asked."""
    with quietly():
        for statistic, expected in QUESTIONS:
            answer = statistic.value(table)
            assert [int(each) for each in getattr(answer, "flat", [answer])] == expected, statistic
        keys = [
            key
            for batch in table.found(table.discovered_keys("n").discovery)
            for key in batch.keys(batch.counts.nonzero()[0])
        ]
    assert keys == [(-5,), (7,)]

"""Later questions about the rows that count, beside SQL by hand on a table of these rows.

The table by hand has four rows a person, chosen as in `many_questions`. Ours are asked of a
Parquet file after one other question about the same columns: with the charge, with noise and, for
quantiles, with an estimate. A quantile is beside a count of as many cells. Each question has other
bounds, because equal questions are computed once.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import attrs
import numpy as np

from benchmarks.asked import opened, taken
from benchmarks.many_questions import CHOICES, counted, in_state, plain
from benchmarks.measure import Goal, Row
from benchmarks.visits import STATES, parquet_file
from mechanisms import Count, GroupBy, Laplace, Mean, Quantiles, Sum, column
from mechanisms.tables.quantiles.choices import PrivateQuantiles

CANDIDATES = 101


@attrs.frozen
class Question:
    """A question with a number in it, ours and by hand, and how much longer ours may take."""

    name: str
    ours: Callable[[int, Any], Any]
    sql: Callable[[int], str]
    times: float


def noisy(statistic: Any) -> Any:
    return Laplace(statistic, epsilon=1)


def quantile(name: str, grid: Any, per: Any) -> Any:
    return PrivateQuantiles(Quantiles(name, "1/2", grid, per=per), epsilon=1, confidence=None)


def clipped(name: str, most: int) -> str:
    return f"sum(least(greatest({name}, 0), {most}))"


QUESTIONS = (
    Question(
        "a count",
        lambda i, per: noisy(Count(column("hours") > i, per=per)),
        lambda i: f"SELECT count(*) FROM kept WHERE hours > {i}",
        2,
    ),
    Question(
        "a sum of floats in hundredths",
        lambda i, per: noisy(Sum("amount", 0, 100 + i, unit="0.01", per=per)),
        lambda i: f"SELECT {clipped('amount', 100 + i)} FROM kept",
        1.5,
    ),
    Question(
        "a sum of floats in 64ths",
        lambda i, per: noisy(Sum("amount", 0, 100 + i, unit="1/64", per=per)),
        lambda i: f"SELECT {clipped('amount', 100 + i)} FROM kept",
        1.5,
    ),
    Question(
        "a sum of integers",
        lambda i, per: noisy(Sum("hours", 0, 100 + i, per=per)),
        lambda i: f"SELECT {clipped('hours', 100 + i)} FROM kept",
        1.5,
    ),
    Question(
        "means in 50 groups by text",
        lambda i, per: noisy(
            GroupBy({"state": STATES}, Mean("amount", 0, 100 + i, unit="0.01", per=per))
        ),
        lambda i: (
            f"SELECT state, count(amount), {clipped('amount', 100 + i)} FROM kept GROUP BY state"
        ),
        1.5,
    ),
    Question(
        "means in 100 groups by an integer",
        lambda i, per: noisy(
            GroupBy({"hours": range(100)}, Mean("amount", 0, 100 + i, unit="0.01", per=per))
        ),
        lambda i: (
            f"SELECT hours, count(amount), {clipped('amount', 100 + i)} FROM kept GROUP BY hours"
        ),
        1.5,
    ),
    Question(
        f"a quantile of {CANDIDATES} floats",
        lambda i, per: quantile("amount", [i / 10 + j / 2 for j in range(CANDIDATES)], per),
        lambda i: f"SELECT floor(least(amount, 50) * 2 + {i}), count(*) FROM kept GROUP BY 1",
        3,
    ),
    Question(
        f"a quantile of {CANDIDATES} integers",
        lambda i, per: quantile("hours", range(-i, CANDIDATES - i), per),
        lambda i: f"SELECT hours + {i}, count(*) FROM kept GROUP BY 1",
        3,
    ),
    Question(
        f"a quantile of {CANDIDATES} at other distances",
        lambda i, per: quantile("amount", [i + j * j / 100 for j in range(CANDIDATES)], per),
        lambda i: f"SELECT floor(sqrt(abs(amount - {i})) * 10), count(*) FROM kept GROUP BY 1",
        3,
    ),
)


def by_hand(folder: Path, rows: int, rounds: int) -> Iterator[Row]:
    """Each question in turns with its SQL, after a first question about its columns."""
    file = parquet_file(folder, rows)
    connection = plain("parquet", file)
    connection.execute(f"CREATE TEMP TABLE kept AS {CHOICES['one window, ties kept']}")
    queryable, table = opened("parquet", str(file))
    with table:
        counted(queryable, table, in_state(9) & (column("amount") > 1))
        for question in QUESTIONS:
            ours, theirs = [], []
            for i in range(rounds + 1):
                launch, sql = question.ours(i, table.unit), question.sql(i)
                ours.append(taken(lambda launch=launch: queryable(launch)))
                theirs.append(taken(lambda sql=sql: connection.execute(sql).fetchall()))
            mine, hand = median(ours[1:]), median(theirs[1:])
            yield Row(
                "tables",
                f"{question.name}, later, {rows:,} rows",
                mine,
                peers={"by hand": hand},
                goals=(
                    Goal(
                        f"<= {question.times:g}x by hand ({mine / hand:.2f}x)",
                        mine <= question.times * hand,
                    ),
                ),
            )


def in_lists(cells: int, candidates: int, rounds: int) -> Iterator[Row]:
    """The counts of a quantile over a list, beside an array of the same cells."""
    array = np.random.default_rng(16).normal(50, 20, cells)
    given = {"an array": {"x": array}, "a list": {"x": array.tolist()}}
    asked = Quantiles("x", "1/2", [i / 10 for i in range(candidates)])
    times = {
        name: median(taken(lambda data=data: asked(data)) for _ in range(rounds))
        for name, data in given.items()
    }
    mine, theirs = times["a list"], times["an array"]
    yield Row(
        "tables",
        f"a quantile of {candidates:,} candidates, {cells:,} cells in a list",
        mine,
        peers={"an array": theirs},
        goals=(Goal(f"<= 3x an array ({mine / theirs:.2f}x)", mine <= 3 * theirs),),
    )

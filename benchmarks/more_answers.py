"""The time of what gets more answers from a budget: `Frugal`, `Best`, `Individual`.

Their savings are in `benchmarks.choosing` and `benchmarks.frugal`.
"""

from collections.abc import Iterator
from itertools import cycle
from statistics import median
from time import process_time

import numpy as np

from benchmarks.choosing import QUESTIONS, WITHIN, ranges
from benchmarks.measure import Row, seconds
from composition import FiltCon, Individual
from mechanisms import (
    Best,
    Count,
    Estimate,
    Frugal,
    Gaussian,
    Keys,
    Laplace,
    TruncatedNegativeBinomial,
    column,
)
from queryable import ZCDP, Queryable

EDGES, ROUNDS, RECORDS = list(range(0, 101, 10)), 5, 10**6
GROUP = "more answers"


def questions() -> Iterator[Row]:
    """A stream of counts through a frugal person, and one that is answered for nothing."""
    taken, asked = [], ranges(EDGES, [], 0)
    for _ in range(ROUNDS):
        root = Queryable(
            Frugal(axes=Keys.bins("age", EDGES)) @ FiltCon(ZCDP(10)), {"age": np.arange(100)}
        )
        began = process_time()
        for each in asked:
            root.ask(Estimate(each, WITHIN, fixed_in_advance=True))
        taken.append((process_time() - began) / QUESTIONS)
    yield Row(GROUP, f"Frugal: an estimate, the mean of {QUESTIONS} over 10 groups", median(taken))
    again = cycle(asked)
    free = seconds(
        {"ours": (lambda: root.ask(Estimate(next(again), WITHIN, fixed_in_advance=True)), 20)}
    )["ours"]
    yield Row(GROUP, "Frugal: an estimate from earlier answers", free)


def selections() -> Iterator[Row]:
    """A `Best` of ten runs on average, beside one of its runs."""
    law = TruncatedNegativeBinomial(1, "1/10")
    one = Laplace(Count(), epsilon="1/10")
    several = [Gaussian(Count(), variance=place) for place in range(100, 110)]
    bounded = seconds({"ours": (lambda: Best(several, "largest", law), 1)})["ours"]
    yield Row(GROUP, "Best: make it of 10 candidates, with its bound", bounded)
    best = Best(one, "largest", law)
    found = seconds(
        {
            "ours": (lambda: best.init([0]), 50),
            "one run": (lambda: one.init([0]), 50),
        }
    )
    yield Row(GROUP, "Best: 10 runs on average", found["ours"], peers={"one run": found["one run"]})


def accounts() -> Iterator[Row]:
    """A launch on many records, with an account for each and with one for all."""
    data = {"age": np.arange(RECORDS) % 100}
    launch = Gaussian(Count(column("age") >= 40), rho="1/1000000")
    each, whole = (Queryable(kind, data) for kind in (Individual(10**6), FiltCon(ZCDP(10**6))))
    found = seconds({"ours": (lambda: each(launch), 2), "FiltCon": (lambda: whole(launch), 2)})
    text = f"Individual: a count over {RECORDS:,} records"
    yield Row(GROUP, text, found["ours"], peers={"FiltCon": found["FiltCon"]})


def rows() -> Iterator[Row]:
    yield from questions()
    yield from selections()
    yield from accounts()

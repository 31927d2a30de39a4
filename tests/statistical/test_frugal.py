"""Intervals of a frugal person cover at their level, also if questions are chosen by answers.

The worst analyst knows the data. It asks for cells, looks at the noise, and then asks for the union
of the cells whose noise is positive: the question whose estimate is farthest off. False alarms: at
the stated level, each bound on a share of runs is exceeded with probability below 1e-6 (Hoeffding).
"""

from math import log, sqrt

import numpy as np
import pytest

from composition import FiltCon
from mechanisms import Count, Estimated, EstimateQuery, Frugal, Histogram, column
from queryable import ZCDP, Queryable, SeededCoins

CELLS = 6
DATA = {"cell": [each for each in range(CELLS) for _ in range(40)]}
CELL = column("cell")
LEVEL = 0.9


def stream(seed: int) -> tuple[bool, bool, bool]:
    """Whether three intervals cover: in advance; chosen by answers; the same without `anytime`."""
    root = Queryable(
        Frugal() @ FiltCon(ZCDP(100)), DATA, coins=SeededCoins(seed), allow_seeded=True
    )
    cells = root.ask(EstimateQuery(Histogram("cell", range(CELLS)), 20, LEVEL))
    above = np.flatnonzero(cells.value > 40).tolist() or [0]
    if len(above) == CELLS:
        above = above[1:]
    other = root.ask(EstimateQuery(Count(CELL.is_in([0, 2, 3])), 25, LEVEL))
    chosen = root.ask(EstimateQuery(Count(CELL.is_in(above)), 60, LEVEL, anytime=True))
    plain = root.ask(EstimateQuery(Count(CELL.is_in(above)), 1000, LEVEL))
    truth = 40 * len(above)
    return (
        covers(other, 120),
        covers(chosen, truth) and covers(cells, 40),
        covers(plain, truth, anytime=False),
    )


def covers(answer: Estimated, truth: int, **options: bool) -> bool:
    low, high = answer.interval(LEVEL, **options)
    if isinstance(low, np.ndarray):  # the first cell: a question that was fixed in advance
        low, high = low[0], high[0]
    return bool(low <= truth <= high)


def shares(runs: int, first: int) -> list[float]:
    return [float(each) for each in np.mean([stream(first + run) for run in range(runs)], axis=0)]


def check(runs: int, first: int) -> None:
    slack = sqrt(log(1e6) / (2 * runs))
    in_advance, chosen, careless = shares(runs, first)
    assert in_advance >= LEVEL - slack
    assert in_advance <= LEVEL + slack + 0.04  # the interval is not much wider than needed
    assert chosen >= LEVEL - 0.1 - slack  # two intervals, each of which may miss
    assert careless < LEVEL - slack  # so `anytime` is not idle


@pytest.mark.slow
def test_intervals_cover_in_800_streams() -> None:
    check(800, 0)


@pytest.mark.long
def test_intervals_cover_in_10000_streams_with_adaptive_questions() -> None:
    check(10_000, 10_000)

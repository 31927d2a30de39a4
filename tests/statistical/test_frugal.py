"""Intervals of a frugal person cover at their level, also if questions are chosen by answers.

The worst analyst knows the data. It asks for cells, looks at the noise, and then asks for the union
of the cells whose noise is positive, the question whose estimate is farthest off, and for the union
of the others. False alarms: at the stated level, each bound on a share of runs is exceeded with
probability below 1e-6 (Hoeffding), one of the six below 6e-6.
"""

from math import log, sqrt

import numpy as np
import pytest

from composition import FiltCon
from mechanisms import Count, Estimate, Estimated, Frugal, Histogram, column
from queryable import ZCDP, Queryable, SeededCoins

CELLS, ROWS = 6, 10
DATA = {"cell": [each for each in range(CELLS) for _ in range(ROWS)]}
CELL = column("cell")
LEVEL = 0.9


def stream(seed: int) -> tuple[bool, ...]:
    """Which intervals cover: two fixed in advance, two chosen by answers, and one that is wrong.

    The wrong one is that of the first chosen question without `anytime`.
    """
    root = Queryable(
        Frugal() @ FiltCon(ZCDP(100)), DATA, coins=SeededCoins(seed), allow_seeded=True
    )
    cells = root.ask(Estimate(Histogram("cell", range(CELLS)), 20, LEVEL))
    other = root.ask(Estimate(Count(CELL.is_in([0, 2, 3])), 25, LEVEL))
    above = np.flatnonzero(cells.value > ROWS).tolist() or [0]
    if len(above) == CELLS:
        above = above[1:]
    below = [each for each in range(CELLS) if each not in above]
    chosen, rest = (
        root.ask(Estimate(Count(CELL.is_in(each)), within, LEVEL, anytime=True))
        for each, within in ((above, 1000), (below, 60))  # answered for nothing, and refined
    )
    low, high = (end[0] for end in cells.interval(LEVEL))
    return (
        bool(low <= ROWS <= high),
        covers(other, 3 * ROWS),
        covers(chosen, ROWS * len(above)),
        covers(rest, ROWS * len(below)),
        covers(chosen, ROWS * len(above), anytime=False),
    )


def covers(answer: Estimated, truth: int, **options: bool) -> bool:
    low, high = answer.interval(LEVEL, **options)
    return bool(low <= truth <= high)


def check(runs: int, first: int) -> None:
    slack = sqrt(log(1e6) / (2 * runs))
    shares = np.mean([stream(first + run) for run in range(runs)], axis=0).tolist()
    cell, fixed, chosen, rest, careless = shares
    assert cell >= LEVEL - slack, shares
    assert fixed >= LEVEL - slack, shares
    assert chosen >= LEVEL - slack, shares
    assert rest >= LEVEL - slack, shares
    assert careless < LEVEL - slack, shares  # the wrong interval is detected
    # the intervals of questions fixed in advance are not much wider than needed
    assert max(cell, fixed) <= LEVEL + slack + 0.04, shares


@pytest.mark.slow
def test_intervals_cover_in_800_streams() -> None:
    check(800, 0)


@pytest.mark.long
def test_intervals_cover_in_10000_streams_with_adaptive_questions() -> None:
    check(10_000, 10_000)

"""Intervals of a synthetic person cover at their level in whole fits, also for chosen questions.

The worst analyst knows the data. After a fit it asks for the cells of each measured marginal whose
noise is positive, for the others, and for the cells of each marginal that was passed over of which
the model has too little. All of these intervals have to hold at once. Intervals that are too narrow
are rejected by the same check. False alarms: at the stated level, a bound on a share of runs is
exceeded with probability below 1e-6 (Hoeffding), one of the four below 4e-6.
"""

from functools import reduce
from itertools import combinations, product
from math import log, sqrt
from operator import and_, or_
from typing import Any

import numpy as np
import pytest

from composition import FiltCon
from mechanisms import Count, Fit, FromModel, Synthetic, column
from mechanisms.synthetic.fit_queries import Modelled
from queryable import ZCDP, Queryable, SeededCoins

RANDOM = np.random.default_rng(23)
A = RANDOM.integers(0, 3, 300)
DATA = {"a": A, "b": (A + (RANDOM.random(300) < 0.2)) % 3, "c": RANDOM.integers(0, 3, 300)}
NAMES = tuple(DATA)
PERSON = Synthetic({name: [0, 1] for name in NAMES}, rounds=2)  # 2 is in the cell of other rows
LEVEL = 0.9


def exact(names: tuple[str, ...]) -> np.ndarray:
    counts = np.zeros([3] * len(names), dtype=np.int64)
    np.add.at(counts, tuple(DATA[name] for name in names), 1)
    return counts


def cell(names: tuple[str, ...], place: tuple[int, ...]) -> Any:
    """The rows of a cell, as a predicate."""
    every = [column(name) for name in names]
    some = [c == i if i < 2 else ~c.is_in([0, 1]) for c, i in zip(every, place, strict=True)]
    return reduce(and_, some)


def asked(root: Queryable, names: tuple[str, ...], where: np.ndarray) -> tuple[Modelled, int]:
    """The model's count of some cells, and the true one."""
    inside = [cell(names, place) for place in product(range(3), repeat=len(names)) if where[place]]
    if not inside:
        inside = [cell(names, (0,) * len(names)) & cell(names, (1,) * len(names))]
    return root.ask(FromModel(Count(reduce(or_, inside)))), int(exact(names)[where].sum())


def covers(found: Modelled, truth: int, narrower: float = 1, **options: bool) -> bool:
    """Whether the interval has the truth, even if it were narrower."""
    low, high = found.interval(LEVEL, **options)  # type: ignore[misc]
    middle, half = (low + high) / 2, (high - low) / 2
    return bool(abs(truth - middle) <= narrower * half)


def cells_of(root: Queryable, names: tuple[str, ...]) -> np.ndarray:
    """The model's counts of all cells."""
    places = product(range(3), repeat=len(names))
    counts = [root.ask(FromModel(Count(cell(names, place)))).value for place in places]
    return np.array(counts).reshape([3] * len(names))


def fit(seed: int) -> tuple[bool, ...]:
    """Which intervals cover: two kinds that are right, and three that are too narrow."""
    root = Queryable(PERSON @ FiltCon(ZCDP(1)), DATA, coins=SeededCoins(seed), allow_seeded=True)
    measured = root.ask(Fit("1/50", rounds=2)).measured
    fixed = asked(root, ("a", "b"), np.arange(9).reshape(3, 3) == 4)
    near = []
    for each in measured:
        above = np.asarray(each.counts) > exact(each.columns)
        near += [asked(root, each.columns, above), asked(root, each.columns, ~above)]
    others = set(combinations(NAMES, 2)) - {each.columns for each in measured}
    far = [asked(root, pair, cells_of(root, pair) < exact(pair)) for pair in others]
    return (
        covers(*fixed, fixed_in_advance=True),
        all(covers(*each) for each in (*near, *far)),
        covers(*fixed, 0.4, fixed_in_advance=True),
        all(covers(*each, 0.4) for each in near),
        all(covers(*each, 0.02) for each in far),
    )


def check(runs: int, first: int) -> None:
    slack = sqrt(log(1e6) / (2 * runs))
    shares = np.mean([fit(first + run) for run in range(runs)], axis=0).tolist()
    fixed, chosen, *narrow = shares
    assert fixed >= LEVEL - slack, shares
    assert chosen >= LEVEL - slack, shares
    assert max(narrow) < LEVEL - slack, shares


@pytest.mark.slow
def test_intervals_cover_in_800_fits() -> None:
    check(800, 0)


@pytest.mark.long
def test_intervals_cover_in_6000_fits() -> None:
    """Enough to reject a coverage that is 5% too low."""
    check(6_000, 10_000)

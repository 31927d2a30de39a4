"""One trial: an analyst chooses items and refines their counts until the budget is used up.

Mechanisms, filters and their exact noise are those of the packages. An analyst sees only what the
handle shows: the answers and what has been spent.
"""

from abc import ABC, abstractmethod
from fractions import Fraction
from math import isqrt
from typing import Any

import numpy as np
from flint import arb

from benchmarks.figure2.settings import DELTA, Cell, Setting
from composition import ConComp, ExPost, FiltCon
from mechanisms import (
    BrownianNoiseReduction,
    Doubling,
    ExponentialMechanism,
    LaplaceNoiseReduction,
    Open,
    Refine,
    RelativeError,
    Until,
)
from queryable import ZCDP, CanAfford, PureDP, Queryable, QueryRefusedError, SeededCoins
from queryable.losses.conversions import largest_zcdp
from queryable.losses.numbers import round_down
from queryable.statistics import Statistic

FIRST = Fraction(1, 10**4)
"""The first precision 1/variance of every count, the paper's smallest epsilon squared."""
FIRST_EPSILON = Fraction(1, 100)
STEPS = 1000
GRID = 10**9
"""Steps are multiples of 1/GRID, rounded down, so that fractions stay short."""
PIECE = 64
"""Number of steps passed at a time; few counts need all of them."""


class Exhausted(Exception):  # noqa: N818 - it is no error
    """The budget has no room for one more count."""


class Analyst(ABC):
    """A method's way to spend the budget of a cell.

    Args:
        cell: the setting, the method and the accounting.
        counts: shape (items,), the data.
        coins: the coins of one trial.
    """

    def __init__(self, cell: Cell, counts: Any, coins: SeededCoins) -> None:
        self.setting = cell.setting
        self.condition = RelativeError(cell.setting.alpha)
        self.choosing: Queryable
        self.open(cell, counts, coins)

    @abstractmethod
    def open(self, cell: Cell, counts: Any, coins: SeededCoins) -> None:
        """Start a filter over the data, and set `choosing`, where choices are launched."""

    @abstractmethod
    def refined(self, count: Statistic) -> Any:
        """Return the noisy count when it meets the condition, or None if it never does.

        Raises:
            Exhausted: not even the first release is affordable.
        """

    def choice(self, left: list[int]) -> int:
        """Remove one of the remaining items, chosen by the exponential mechanism, and return it.

        Raises:
            Exhausted: a choice is not affordable.
        """
        items = np.array(left)
        root = isqrt(len(left) - 1) + 1
        scores = Statistic(
            lambda counts: counts[items],
            l1=len(left),
            l2=root,
            linf=1,
            shape=len(left),
            monotone="up",
        )
        mechanism = ExponentialMechanism(scores, self.setting.choice, monotone=True)
        try:
            return left.pop(self.choosing(mechanism))
        except QueryRefusedError:
            raise Exhausted from None


class Brownian(Analyst):
    """Noise reduction under one zCDP filter for everything (Rogers et al. 2023, Theorem 5)."""

    def open(self, cell: Cell, counts: Any, coins: SeededCoins) -> None:
        """One filter."""
        self.budget = rho(cell.setting.epsilon, cell.accounting)
        mechanism = BrownianNoiseReduction() @ FiltCon(ZCDP(self.budget))
        self.choosing = Queryable(mechanism, counts, coins=coins, allow_seeded=True)

    def refined(self, count: Statistic) -> Any:
        """Refine in 1,000 equal steps of precision, up to what remains of the budget."""
        precisions = steps(FIRST, 2 * (self.budget - self.choosing.privacy_loss().rho))
        estimate = self.choosing.ask(Open(count))
        for start in range(0, len(precisions), PIECE):
            variances = inverse(precisions[start : start + PIECE])
            stopped = estimate.ask(Until(self.condition, variances))
            if stopped.met:
                return stopped.value
        return None


class Doubled(Analyst):
    """Doubling under the same filter; each release is charged, at precisions 0.0001, 0.0002, ..."""

    def open(self, cell: Cell, counts: Any, coins: SeededCoins) -> None:
        """One filter."""
        mechanism = Doubling(1 / FIRST) @ FiltCon(ZCDP(rho(cell.setting.epsilon, cell.accounting)))
        self.choosing = Queryable(mechanism, counts, coins=coins, allow_seeded=True)

    def refined(self, count: Statistic) -> Any:
        """Refine until the filter refuses."""
        estimate = self.choosing.ask(Open(count))
        if not estimate.ask(CanAfford(Refine())):
            raise Exhausted
        try:
            stopped = estimate.ask(Until(self.condition))
        except QueryRefusedError:
            return None
        return stopped.value if stopped.met else None


class Laplacian(Analyst):
    """Noise reduction charged by its ex-post loss, beside a zCDP filter for choices (Theorem 2)."""

    def open(self, cell: Cell, counts: Any, coins: SeededCoins) -> None:
        """Start two filters over one dataset; their epsilons add up to the budget."""
        setting = cell.setting
        self.budget = setting.epsilon - setting.choices
        choosing = FiltCon(ZCDP(rho(setting.choices, cell.accounting)))
        both = ConComp([ExPost(PureDP(self.budget)), choosing])
        table = Queryable(both, counts, coins=coins, allow_seeded=True)
        self.refining, self.choosing = table.children[0], table.children[1]

    def refined(self, count: Statistic) -> Any:
        """Refine in 1,000 equal steps of epsilon, up to what remains of the budget."""
        epsilons = steps(FIRST_EPSILON, self.budget - self.refining.privacy_loss().epsilon)
        estimate = self.refining(LaplaceNoiseReduction(count, scales=inverse(epsilons)))
        stopped = estimate.ask(Until(self.condition))
        return stopped.value if stopped.met else None


ANALYSTS: dict[str, type[Analyst]] = {
    "brownian": Brownian,
    "doubling": Doubled,
    "laplace": Laplacian,
}


def steps(first: Fraction, last: Fraction) -> range:
    """Return 1,000 equally spaced numbers from the first to the last or a little below, times GRID.

    Raises:
        Exhausted: the last is below the first.
    """
    if not first <= last:
        raise Exhausted
    start, step = int(first * GRID), int((last - first) * GRID) // (STEPS - 1)
    return range(start, start + STEPS * step, step) if step else range(start, start + 1)


def inverse(numbers: range) -> list[Fraction]:
    """Return the inverses of numbers that are given as multiples of 1/GRID."""
    return [Fraction(GRID, each) for each in numbers]


def rho(epsilon: Fraction, accounting: str) -> Fraction:
    """Return the rho whose zCDP implies (epsilon, 1e-6)-DP, rounded down.

    "paper": rho + 2 sqrt(rho log 1/delta) = epsilon (Bun, Steinke 2016), half of 2.70603 at
    epsilon = 10. "tight": the conversion of Canonne, Kamath, Steinke 2020; half of 3.0786.
    """
    if accounting == "tight":
        return largest_zcdp(epsilon, DELTA)

    def root(e: arb, delta: arb) -> arb:
        log = -delta.log()
        return (e / ((log + e).sqrt() + log.sqrt())) ** 2

    return round_down(root, epsilon, DELTA)


def answers(cell: Cell, counts: Any, coins: SeededCoins) -> list[tuple[int, Any]]:
    """Return the items and noisy counts that the analyst of a cell returns, in order."""
    analyst, left, found = ANALYSTS[cell.method](cell, counts, coins), list(range(len(counts))), []
    try:
        while left:
            item = analyst.choice(left)
            scored = analyst.refined(Statistic(lambda data, i=item: int(data[i]), l1=1, l2=1))
            if scored is not None:
                found.append((item, scored))
    except Exhausted:
        pass
    return found


def near(noisy: Any, count: int, setting: Setting) -> bool:
    """Whether a noisy count is within the relative error of the true one; False if that is 0."""
    return abs(noisy - count) < setting.alpha * count


def trial(cell: Cell, number: int) -> tuple[int, int]:
    """Run one trial; return how many counts were returned, and how many of them are near."""
    counts = cell.setting.counts(number)
    found = answers(cell, counts, SeededCoins(cell.seed(number)))
    return len(found), sum(near(noisy, int(counts[item]), cell.setting) for item, noisy in found)

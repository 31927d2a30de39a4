"""The true loss of counts and responses that run together, and whether it is above a claim.

An `Atom` is a mechanism whose law on neighbours is known in closed form. The loss of several is the
sum of independent losses, so its law is a convolution. Chances below 1e-14 are left out, which only
makes a loss smaller: what is found to be above a claim is above it. Knows no rule and no account.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import lru_cache
from math import exp, inf, log
from typing import Any

import attrs
import numpy as np

from mechanisms import Count, Gaussian, Laplace, RandomizedResponse
from queryable import FDP, GDP, RDP, ZCDP, ApproxDP, ApproxZCDP, PureDP
from queryable.losses import Dominated, ExPostBound, RenyiCurve, TimeUniformBound

F = Fraction
Law = tuple[Any, Any]
"""Losses, rising, and their probabilities under the likelier data; inf for what reveals."""

_LEAST, _MOST = 1e-14, Fraction(10**300)
_ROUNDED = 1e-6  # of sums of losses, which are rounded to 8 digits
_SLACK = 1e-9  # of a float beside an exact claim
_DELTAS = (F(1, 10**9), F(1, 10**6), F(1, 1000), F(1, 10))
_ORDERS = (F(101, 100), F(2), F(3), F(8), F(64))


@attrs.frozen
class Atom:
    """A count with noise, or a response to one bit of the data.

    Args:
        variance: of a Gaussian count, or None.
        scale: of a Laplace count, or None.
        odds, delta: of a response.
    """

    variance: Fraction | None = None
    scale: Fraction | None = None
    odds: Fraction = F(3)
    delta: Fraction = F(0)

    def mechanism(self, bit: Callable[[Any], bool] = bool) -> Any:
        """It, as a mechanism; a response is to this bit of the data."""
        if self.variance is not None:
            return Gaussian(Count(), variance=self.variance)
        if self.scale is not None:
            return Laplace(Count(), scale=self.scale)
        return RandomizedResponse(bit, odds=self.odds, delta=self.delta)

    def law(self, moved: int) -> dict[float, float]:
        """The law of the loss, if a count moves by `moved`."""
        if self.variance is None and self.scale is None:
            likely, size = float(self.odds / (1 + self.odds)), log(self.odds)
            kept = float(1 - self.delta)
            found = Counter({size: kept * likely, inf: float(self.delta)})
            found[-size] += kept * (1 - likely)
            return found
        if self.variance is not None:
            variance = float(self.variance)
            reach = int(9 * variance**0.5) + 3
            values = np.arange(-reach, reach + 1)
            weights = np.exp(-(values.astype(float) ** 2) / (2 * variance))
            losses = (moved * moved - 2 * moved * values) / (2 * variance)
        else:
            scale = float(self.scale or 1)
            reach = int(40 * scale) + moved + 3
            values = np.arange(-reach, reach + 1)
            weights = np.exp(-abs(values) / scale)
            losses = (abs(values - moved) - abs(values)) / scale
        law: Counter[float] = Counter()
        for loss, weight in zip(losses, weights / weights.sum(), strict=True):
            law[round(float(loss), 9)] += float(weight)
        return law

    def renyi(self, order: Fraction, moved: int) -> float:
        """The Renyi divergence, in both directions the same; for whole orders a lower bound."""
        if self.delta:
            return inf
        if self.variance is not None:
            whole = max(int(order), 2) if order >= 2 else 0
            if whole:
                return whole * moved**2 / (2 * float(self.variance))
        alpha = float(order)
        terms = [(log(p) + (alpha - 1) * loss) for loss, p in self.law(moved).items() if p > 0]
        top = max(terms)
        return (top + log(sum(exp(each - top) for each in terms))) / (alpha - 1)


def together(atoms: Iterable[Atom], moved: int) -> Law:
    """The law of the sum of the losses of independent atoms."""
    return _together(frozenset(Counter(atoms).items()), moved)


@lru_cache(maxsize=1024)
def _together(counts: frozenset[tuple[Atom, int]], moved: int) -> Law:
    total: Law = np.zeros(1), np.ones(1)
    for atom, count in counts:
        law = atom.law(moved)
        one = np.array(list(law)), np.array(list(law.values()))
        power, left = (np.zeros(1), np.ones(1)), count
        while left:
            power = _both(power, one) if left % 2 else power
            left //= 2
            one = _both(one, one) if left else one
        total = _both(total, power)
    return total


def _both(one: Law, other: Law) -> Law:
    losses = np.round(np.add.outer(one[0], other[0]).ravel(), 8)
    chances = np.multiply.outer(one[1], other[1]).ravel()
    kept = chances > _LEAST
    found, places = np.unique(losses[kept], return_inverse=True)
    return found, np.bincount(places, chances[kept], len(found))


def delta_at(law: Law, epsilon: Fraction) -> float:
    """The hockey-stick divergence at e^epsilon, or a little less."""
    losses, chances = law
    at = _float(epsilon) + _ROUNDED
    over = losses > at
    return float((chances[over] * -np.expm1(at - losses[over])).sum())


def above(law: Law, epsilon: Fraction) -> float:
    """The probability that the loss is above epsilon."""
    losses, chances = law
    return float(chances[losses > _float(epsilon) + _ROUNDED].sum())


def exceeds(claim: Any, atoms: Iterable[Atom], moved: int = 1) -> str:
    """How the atoms together lose more than a claim or a report; empty if they are not seen to.

    Args:
        moved: by how many records the data differ.
    """
    listed = list(atoms)
    if not listed:
        return ""
    for what, true, claimed in _compared(claim, listed, moved):
        if not true <= claimed * (1 + _SLACK) + 1e-9:
            counts = ", ".join(f"{n} of {atom}" for atom, n in Counter(listed).items())
            return f"{what} is {true}, claimed {claimed} by {claim}: {counts}"
    return ""


def _compared(claim: Any, atoms: list[Atom], moved: int) -> Iterable[tuple[str, float, float]]:
    """What is compared: its name, its true value, and the largest that the claim allows."""

    def approximate(epsilon: Fraction, delta: Fraction) -> tuple[str, float, float]:
        law = together(atoms, moved)
        return f"delta at epsilon {_float(epsilon):.4g}", delta_at(law, epsilon), _float(delta)

    match claim:
        case PureDP(epsilon):
            yield approximate(epsilon, F(0))
            yield "epsilon", _pure(atoms, moved), _float(epsilon)
        case ApproxDP(epsilon, delta) | ExPostBound(epsilon, delta):
            yield approximate(epsilon, delta)
        case TimeUniformBound(epsilon, delta):
            law = together(atoms, moved)
            yield f"chance above {_float(epsilon):.4g}", above(law, epsilon), _float(delta)
        case ZCDP() | RDP() | RenyiCurve():
            for order, most in _renyi_of(claim):
                true = sum(each.renyi(order, moved) for each in atoms)
                yield f"Renyi at {order}", true, _float(most)
        case ApproxZCDP() | GDP() | Dominated() | FDP():
            least = F(0) if isinstance(claim, GDP | FDP) else claim.delta
            for more in _DELTAS:
                if least + more < 1:
                    converted: Any = claim.to(ApproxDP, delta=least + more)
                    yield approximate(converted.epsilon, converted.delta)
        case _:
            raise TypeError(claim)


def _renyi_of(claim: Any) -> Iterable[tuple[Fraction, Fraction]]:
    """Orders, and the divergence that is claimed at each."""
    match claim:
        case ZCDP(rho):
            return [(order, rho * order) for order in _ORDERS]
        case RDP(alpha, epsilon):
            return [(alpha, epsilon)]
    return list(zip(claim.orders, claim.epsilons, strict=True))


def _pure(atoms: list[Atom], moved: int) -> float:
    """The largest loss."""
    total = 0.0
    for atom in atoms:
        if atom.variance is not None or atom.delta:
            return inf
        total += log(atom.odds) if atom.scale is None else moved / _float(atom.scale)
    return total


def _float(value: Fraction) -> float:
    return float(min(value, _MOST))

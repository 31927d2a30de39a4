"""Translate a privacy claim into bounds on divergences that can be computed.

A theorem shows that the claim implies each bound. This module does not depend on mechanisms or
searches.

If the measure is defined by a single divergence, the only check is a bound on that divergence, and
the check is equivalent to the claim. For other measures the checks are points of the claim's
(epsilon, delta)-profile. The claim implies every point. One violated point refutes the claim. If
all points hold, the claim was verified at those points only.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from fractions import Fraction
from math import inf
from typing import Protocol

import attrs
from flint import arb

from queryable.audit.concentrated import GAP, concentration, supremum
from queryable.audit.divergences import (
    Bound,
    Law,
    conditioned,
    factor_above,
    hockey_stick,
    hockey_stick_below,
    renyi_divergence,
    renyi_divergence_below,
)
from queryable.audit.objectives import Divergence, HockeyStick, MaxDivergence, Renyi
from queryable.audit.worst_case import WorstCase
from queryable.losses import (
    FDP,
    GDP,
    RDP,
    ZCDP,
    ApproxDP,
    ApproxZCDP,
    Loss,
    PureDP,
    RenyiCurve,
    curves,
)
from queryable.losses.conversions import log_up
from queryable.losses.numbers import named, round_down, shown
from queryable.view import Adversary

DELTAS = tuple(Fraction(1, 10**power) for power in (1, 2, 4, 6, 8))
"""The deltas at which a smooth profile (one without corners) is checked."""

_SOME_ORDERS = tuple(1 + Fraction(2) ** power for power in range(-12, 6))
_MOST_CORNERS = 12
_LOWEST_SEARCHED = (Fraction(1, 2**24),)
_MOST_SEARCHES = 60


@attrs.frozen
class EnclosedDivergence:
    """Bounds on a divergence of two laws; `missed` is the mass that `above` leaves out."""

    below: Bound
    above: Bound
    missed: Fraction = Fraction(0)


@attrs.frozen
class HockeyStickBelow(HockeyStick):
    """The least delta at epsilon, rounded down, so that exceeding a claim refutes it."""

    def term(self, p: Fraction, q: Fraction) -> Fraction:
        """Return max(0, p - e^epsilon q), with e^epsilon rounded up."""
        factor = factor_above(self.epsilon)
        return p if q == 0 else Fraction(0) if p <= factor * q else p - Fraction(factor) * q


@attrs.frozen
class RenyiBelow(Renyi):
    """The Renyi divergence, rounded down."""

    def rounded(self, formula: Callable[..., arb], *arguments: Fraction) -> Fraction:
        """Evaluate the formula, rounded down."""
        return round_down(formula, *arguments)


class Searching(Protocol):
    """A search over adversaries, for one pair of datasets."""

    def worst(self, divergence: Divergence) -> WorstCase:
        """Return the largest value of a divergence and an adversary that reaches it."""

    def laws(self, adversary: Adversary) -> tuple[Law, Law]:
        """Return the laws of an adversary's view under x and under x'."""


@attrs.frozen
class Searched:
    """Bounds on the largest divergence over adversaries, and the adversary that reaches it."""

    below: Bound
    above: Bound
    found: WorstCase


class Check(ABC):
    """A bound on a divergence of the view under x from that under x'."""

    @property
    @abstractmethod
    def bound(self) -> Fraction:
        """The largest value of the divergence that the claim allows."""

    @abstractmethod
    def enclosed(self, p: Law, q: Law) -> EnclosedDivergence:
        """Return bounds on the divergence of p from q."""

    @abstractmethod
    def searched(self, search: Searching) -> Searched:
        """Return bounds on the divergence of the worst adversary's view."""

    def _largest(self, search: Searching, above: Divergence, below: Divergence) -> Searched:
        """Search for the maximum, rounded up; above the bound, search again, rounded down."""
        found = search.worst(above)
        if not found.value > self.bound:
            return Searched(found.value, found.value, found)
        proved = search.worst(below)
        return Searched(proved.value, found.value, proved)

    @abstractmethod
    def slack(self, delta: Fraction) -> Fraction:
        """Return how far `above` may exceed the bound if the claim holds and tails hide `delta`."""


@attrs.frozen
class DeltaAt(Check):
    """The least delta at epsilon is at most `bound`."""

    epsilon: Fraction
    bound: Fraction

    def enclosed(self, p: Law, q: Law) -> EnclosedDivergence:
        """Return bounds on the hockey-stick divergence; mass that was cut off counts as delta."""
        return EnclosedDivergence(
            hockey_stick_below(p, q, self.epsilon), hockey_stick(p, q, self.epsilon)
        )

    def searched(self, search: Searching) -> Searched:
        """Return bounds on the hockey-stick divergence of the worst adversary's view."""
        return self._largest(search, HockeyStick(self.epsilon), HockeyStickBelow(self.epsilon))

    def slack(self, delta: Fraction) -> Fraction:
        """Return `delta`: tails count as delta."""
        return delta

    def __str__(self) -> str:
        return f"delta at {named('epsilon', self.epsilon, 6)}"


@attrs.frozen
class RenyiAt(Check):
    """The Renyi divergence of order alpha is at most `bound`."""

    alpha: Fraction
    bound: Fraction

    def enclosed(self, p: Law, q: Law) -> EnclosedDivergence:
        """Return bounds on the Renyi divergence; `above` is conditioned on views not cut off."""
        kept, against, missed = conditioned(p, q)
        below = renyi_divergence_below(p, q, self.alpha)
        return EnclosedDivergence(below, renyi_divergence(kept, against, self.alpha), missed)

    def searched(self, search: Searching) -> Searched:
        """Return bounds on the Renyi divergence of the worst adversary's view."""
        return self._largest(search, Renyi(self.alpha), RenyiBelow(self.alpha))

    def slack(self, delta: Fraction) -> Fraction:
        """Return an allowance for the rounding of the logarithm."""
        return self.bound / 2**60 + Fraction(1, 2**80)

    def __str__(self) -> str:
        return f"Renyi divergence of order {shown(self.alpha)}"


@attrs.frozen
class Concentrated(Check):
    """At every order alpha > 1 the Renyi divergence is at most alpha * `bound`."""

    bound: Fraction

    def enclosed(self, p: Law, q: Law) -> EnclosedDivergence:
        """Return bounds on sup D_alpha/alpha; `above` is conditioned on views not cut off."""
        kept, against, missed = conditioned(p, q)
        found = concentration(kept, against, enough=self.bound)
        below = found.below
        if missed:  # near order 1 the tails may hide the whole divergence
            orders = (found.alpha, *_SOME_ORDERS)
            below = max(renyi_divergence_below(p, q, order) / order for order in orders)
        return EnclosedDivergence(below, found.above, missed)

    def searched(self, search: Searching) -> Searched:
        """Return bounds on the supremum over orders and adversaries.

        The worst adversary may differ between orders.
        """
        largest = search.worst(MaxDivergence())
        if largest.value == inf:
            return Searched(inf, inf, largest)
        found: dict[Fraction, WorstCase] = {}

        def above(alpha: Fraction) -> Bound:
            found[alpha] = search.worst(Renyi(alpha))
            return found[alpha].value

        def below(alpha: Fraction) -> Bound:
            return renyi_divergence_below(*search.laws(found[alpha].adversary), alpha)

        enclosed = supremum(
            above, below, Fraction(largest.value), self.bound, _LOWEST_SEARCHED, _MOST_SEARCHES
        )
        return Searched(enclosed.below, enclosed.above, found.get(enclosed.alpha, largest))

    def slack(self, delta: Fraction) -> Fraction:
        """Return an allowance for the gap between the bounds that `concentration` returns."""
        return self.bound * 2 * GAP + Fraction(1, 2**80)

    def __str__(self) -> str:
        return "rho, over all Renyi orders"


def checks_of(claim: Loss) -> Sequence[Check]:
    """Return the checks that a claim implies for two laws, or for every adversary's view."""
    match claim:
        case ZCDP(rho):
            return [Concentrated(rho)]
        case ApproxZCDP(rho, delta) if delta == 0:
            return [Concentrated(rho)]
        case RDP(alpha, epsilon):
            return [RenyiAt(alpha, epsilon)]
        case RenyiCurve(orders, epsilons):
            return [RenyiAt(*point) for point in zip(orders, epsilons, strict=True)]
    return points_of(claim)


def points_of(claim: Loss) -> Sequence[DeltaAt]:
    """Return points of the (epsilon, delta)-profile that the claim implies.

    Raises:
        ValueError: no theorem converts the claim to (epsilon, delta).
    """
    match claim:
        case PureDP(epsilon):
            return [DeltaAt(epsilon, Fraction(0))]
        case ApproxDP(epsilon, delta):
            return [DeltaAt(epsilon, delta)]
        case FDP():
            return _corners(claim)
        case GDP():
            at_zero = DeltaAt(Fraction(0), claim.delta(0))
            return [at_zero, *(_at(claim, delta) for delta in DELTAS)]
        case ApproxZCDP(_, delta):
            return [_at(claim, min(delta + each, Fraction(1))) for each in DELTAS]
    return [_at(claim, delta) for delta in DELTAS]


def _at(claim: Loss, delta: Fraction) -> DeltaAt:
    stated = claim.to(ApproxDP, delta)
    assert isinstance(stated, ApproxDP)
    return DeltaAt(stated.epsilon, stated.delta)


def _corners(claim: FDP) -> Sequence[DeltaAt]:
    """A trade-off curve is the maximum of its lines; each line is an (epsilon, delta) bound."""
    symmetric = claim.symmetric()
    ratios = [ratio for ratio, _ in curves.lines(symmetric.knots) if ratio >= 1]
    step = max(1, -(-len(ratios) // _MOST_CORNERS))
    epsilons = [log_up(ratio) for ratio in ratios[::step]] or [Fraction(0)]
    return [DeltaAt(epsilon, symmetric.delta(epsilon)) for epsilon in epsilons]

"""The boundaries of time-uniform odometers: from the variance so far to a bound on the loss.

The formulas are rounded up. `optimised_at` chooses parameters for an expected variance. V is twice
the sum of the rho_i of all launches, and every boundary contains the drift V/2. The proof, for
interleaved interactive children, is in `time_uniform`.
"""

from abc import abstractmethod
from fractions import Fraction
from math import log
from typing import Any, ClassVar, Self

import attrs
import flint
from flint import arb

from composition.rules.checks import odometers as checks
from composition.rules.checks.compare import Verdict
from composition.rules.odometers.chances import open_unit
from composition.rules.odometers.time_uniform import TimeUniform
from composition.rules.rogers import require_small
from queryable.losses import Parts
from queryable.losses.numbers import BeyondReachError, Number, natural, positive, round_up


def _target_epsilon(value: Any) -> Fraction:
    return positive(value, "target_epsilon")


def _gamma(value: Any) -> Fraction:
    return positive(value, "gamma")


def _v0(value: Any) -> Fraction:
    return positive(value, "v0")


def _x(value: Any) -> Fraction:
    return positive(value, "x")


def _n(value: Any) -> int:
    n = natural(value, "n")
    if not n >= 3:
        raise ValueError(f"n is {n}; it should be at least 3")
    return n


@attrs.frozen
class Boundary(TimeUniform):
    """Base of the odometers whose bound is a function of V = 2 * the sum of the rho_i."""

    in_balls: ClassVar[tuple[Any, str] | None] = None
    """The formula of `checks`, and the field with its parameter."""

    def pure_bound(self, parts: Parts) -> Fraction:
        """The boundary at V = 2*rho."""
        return self.boundary(2 * parts[0])

    def keeps(self, parts: Parts, room: Fraction) -> Verdict:
        """The formula of `checks`, in balls."""
        if self.in_balls is None:
            return None
        bound, name = self.in_balls
        return checks.bound_within(bound, 2 * parts[0], self.delta, getattr(self, name), room)

    @abstractmethod
    def boundary(self, variance: Fraction) -> Fraction:
        """The bound at a variance V above 0, rounded up."""


@attrs.frozen
class LinearOdometer(Boundary):
    """sqrt(2yL)/2 + sqrt(2L/y)*V/2 + V/2 with L = log(1/delta): the least line at V = y.

    At V = y it equals `target_epsilon`: y = (sqrt(2L + 2*target_epsilon) - sqrt(2L))^2. As a filter
    at `target_epsilon` it admits V up to y, as `Whitehouse2023` does.

    Privacy:
        Theorem: Whitehouse et al. 2023, Theorem 3 (filter odometer), whose y is misprinted with
            target_epsilon for 2*target_epsilon; interleaved by docs/theory.md.
    """

    in_balls = checks.line, "target_epsilon"
    target_epsilon: Fraction = attrs.field(converter=_target_epsilon)
    _start: Fraction = attrs.field(init=False, repr=False, eq=False)
    _slope: Fraction = attrs.field(init=False, repr=False, eq=False)

    def __attrs_post_init__(self) -> None:
        def deviation_and_root(delta: arb, target: arb) -> tuple[arb, arb]:
            deviation = (-2 * delta.log()).sqrt()
            return deviation, 2 * target / (deviation + (deviation**2 + 2 * target).sqrt())

        def start(delta: arb, target: arb) -> arb:
            deviation, root = deviation_and_root(delta, target)
            return deviation * root / 2

        def slope(delta: arb, target: arb) -> arb:
            deviation, root = deviation_and_root(delta, target)
            return deviation / root / 2 + arb(1) / 2

        object.__setattr__(self, "_start", round_up(start, self.delta, self.target_epsilon))
        object.__setattr__(self, "_slope", round_up(slope, self.delta, self.target_epsilon))

    @classmethod
    def optimised_at(cls, delta: Number, variance: Number, **shares: Any) -> Self:
        """The line that is least at this V; `shares` are `deltas` and `margin`."""
        least = round_up(
            lambda d, v: (-2 * v * d.log()).sqrt() + v / 2,
            open_unit(delta, "delta"),
            positive(variance, "variance"),
        )
        return cls(delta, least, **shares)

    def boundary(self, variance: Fraction) -> Fraction:
        """The line."""
        return self._start + self._slope * variance


@attrs.frozen
class MixtureOdometer(Boundary):
    """sqrt(2(V + gamma)*log(sqrt((V + gamma)/gamma)/delta)) + V/2: a normal mixture of lines.

    It bounds the loss on both sides, and is never below `OneSidedMixtureOdometer`. Privacy needs
    only the upper side.

    Privacy:
        Theorem: Whitehouse et al. 2023, Theorem 3; interleaved by docs/theory.md. Over Brownian
            noise reductions that were refined to variances t_i, V is the sum of l2^2/t_i, and this
            is Rogers et al. 2023, Theorem 4, with the drift that is missing there.
    """

    in_balls = checks.mixture, "gamma"
    gamma: Fraction = attrs.field(converter=_gamma)

    @classmethod
    def optimised_at(cls, delta: Number, variance: Number, **shares: Any) -> Self:
        """The mixture that is least at this V, with gamma in double precision."""
        chance = open_unit(delta, "delta")
        return cls(chance, _best_gamma(chance, positive(variance, "variance")), **shares)

    def boundary(self, variance: Fraction) -> Fraction:
        """The mixture's boundary."""

        def bound(v: arb, gamma: arb, delta: arb) -> arb:
            return (2 * (v + gamma) * _log_mixture(v, gamma, delta)).sqrt() + v / 2

        return round_up(bound, variance, self.gamma, self.delta)


@attrs.frozen
class OneSidedMixtureOdometer(Boundary):
    """s + V/2 with 2*sqrt(gamma/(V+gamma))*exp(s^2/(2(V+gamma)))*Phi(s/sqrt(V+gamma)) = 1/delta.

    A mixture of lines over positive slopes, with half-normal weights.

    Privacy:
        Theorem: Howard et al. 2021, Proposition 6, for the supermartingales of `time_uniform`.
    """

    gamma: Fraction = attrs.field(converter=_gamma)

    @classmethod
    def optimised_at(cls, delta: Number, variance: Number, **shares: Any) -> Self:
        """The mixture that is nearly least at this V: the two-sided gamma of 2*delta."""
        chance = open_unit(delta, "delta")
        both = min(2 * chance, (1 + chance) / 2)
        return cls(chance, _best_gamma(both, positive(variance, "variance")), **shares)

    def boundary(self, variance: Fraction) -> Fraction:
        """The mixture's boundary; its root s is enclosed rigorously."""

        def bound(v: arb, gamma: arb, delta: arb) -> arb:
            return (v + gamma).sqrt() * _half_normal_root(_log_mixture(v, gamma, delta)) + v / 2

        return round_up(bound, variance, self.gamma, self.delta)

    def keeps(self, parts: Parts, room: Fraction) -> Verdict:
        """The equation's left side, in place of its root."""
        return checks.one_sided_within(2 * parts[0], self.delta, self.gamma, room)


@attrs.frozen
class StitchedOdometer(Boundary):
    """1.7*sqrt(W(log log(2W/v0) + 0.72 log(5.2/delta))) + V/2, W = max(V, v0): stitched lines.

    It grows like sqrt(V log log V), which is the slowest possible rate. Below v0 the first line is
    a valid bound and lies below its value at v0, so the formula with W = v0 is valid there.

    Privacy:
        Theorem: Whitehouse et al. 2023, Theorem 3; Howard et al. 2021, Theorem 1; interleaved by
            docs/theory.md.
    """

    in_balls = checks.stitched, "v0"
    v0: Fraction = attrs.field(converter=_v0)

    @classmethod
    def optimised_at(cls, delta: Number, variance: Number, **shares: Any) -> Self:
        """The odometer whose first line starts at this V."""
        return cls(delta, variance, **shares)

    def boundary(self, variance: Fraction) -> Fraction:
        """The stitched boundary."""

        def bound(v: arb, w: arb, v0: arb, delta: arb) -> arb:
            iterated = (2 * w / v0).log().log() + arb(18) / 25 * (arb(26) / 5 / delta).log()
            return arb(17) / 10 * (w * iterated).sqrt() + v / 2

        return round_up(bound, variance, max(variance, self.v0), self.v0, self.delta)


@attrs.frozen
class _OfRogers(Boundary):
    """Base of the two odometers of Rogers et al. 2016, which need delta < 1/e."""

    def __attrs_post_init__(self) -> None:
        require_small(self.delta, type(self).__name__)


@attrs.frozen
class Rogers2016Odometer(_OfRogers):
    """For V in [1/n^2, 1]: sqrt(2V(log(110e) + 2 log(log(n)/delta))) + V/2.

    Elsewhere sqrt(2(1/n^2 + V)(1 + log(1 + n^2 V)/2) log(4 log2(n)/delta)) + V/2. It is for
    comparison. It is not monotone at 1/n^2. V and the drift are those of this module, which are
    smaller than in the paper.

    Privacy:
        Theorem: Rogers et al. 2016, Theorem 6.5; interleaved because it is never below
            `StitchedOdometer(delta/4, 1/n^2)` inside the range and
            `OneSidedMixtureOdometer(delta/4, 1/n^2)` outside (docs/theory.md).

    Args:
        n: the size of the data in the paper; here any public integer of at least 3.
    """

    n: int = attrs.field(converter=_n)

    def boundary(self, variance: Fraction) -> Fraction:
        """The first formula for V in [1/n^2, 1], the second elsewhere."""

        def inside(v: arb, n: arb, delta: arb) -> arb:
            constant = 1 + arb(110).log()
            return (2 * v * (constant + 2 * (n.log() / delta).log())).sqrt() + v / 2

        def outside(v: arb, n: arb, delta: arb) -> arb:
            spread = (1 / n**2 + v) * (1 + (1 + n**2 * v).log() / 2)
            return (2 * spread * (4 * n.log() / arb(2).log() / delta).log()).sqrt() + v / 2

        formula = inside if Fraction(1, self.n**2) <= variance <= 1 else outside
        return round_up(formula, variance, self.n, self.delta)

    def keeps(self, parts: Parts, room: Fraction) -> Verdict:
        """The two formulas, in balls."""
        v = 2 * parts[0]
        bound = checks.inside if Fraction(1, self.n**2) <= v <= 1 else checks.outside
        return checks.bound_within(bound, v, self.delta, self.n, room)


@attrs.frozen
class RogersLemma64Odometer(_OfRogers):
    """sqrt(2(V + x)(1 + log(V/x + 1)/2) log(2/delta)) + V/2, for comparison.

    Privacy:
        Theorem: Rogers et al. 2016, Lemma 6.4; interleaved because it is never below
            `MixtureOdometer(delta, x)`: (1 + a)b >= a + b for b = log(2/delta) >= 1.

    Args:
        x: the V near which the bound is good; any public number above 0.
    """

    in_balls = checks.around, "x"
    x: Fraction = attrs.field(converter=_x)

    @classmethod
    def optimised_at(cls, delta: Number, variance: Number, **shares: Any) -> Self:
        """The bound that is least at this V: x = 0.2853 V minimises (V + x)(1 + log(V/x + 1)/2)."""
        return cls(delta, positive(variance, "variance") * Fraction("0.2853"), **shares)

    def boundary(self, variance: Fraction) -> Fraction:
        """The lemma's formula."""

        def bound(v: arb, x: arb, delta: arb) -> arb:
            spread = (v + x) * (1 + (v / x + 1).log() / 2)
            return (2 * spread * (2 / delta).log()).sqrt() + v / 2

        return round_up(bound, variance, self.x, self.delta)


def _log_mixture(v: arb, gamma: arb, delta: arb) -> arb:
    """log(sqrt((V + gamma)/gamma)/delta)."""
    return (1 + v / gamma).log() / 2 - delta.log()


def _half_normal_root(level: arb) -> arb:
    """The u > 0 with u^2/2 + log(2*Phi(u)) = level, enclosed, for a level above 0.

    The left side rises from 0 and is convex on u >= 0, so Newton's iteration descends to the root
    from sqrt(2*level). It is then checked that the root lies in the returned interval.
    """

    def excess(u: arb) -> arb:
        return u * u / 2 + _twice_phi(u).log() - level

    middle = (2 * level).sqrt().mid()
    for _ in range(64):
        density = (2 / arb.pi()).sqrt() * (-middle * middle / 2).exp()
        step = (excess(middle) / (middle + density / _twice_phi(middle))).mid()
        middle = (middle - step).mid()
        if abs(step) < arb(2) ** (24 - flint.ctx.prec):
            break
    radius = (1 + middle) * arb(2) ** (32 - flint.ctx.prec)
    low, high = middle - radius, middle + radius
    if not (excess(low) < 0 and excess(high) > 0):
        raise BeyondReachError("parameters are too extreme: the root was not enclosed")
    return low.union(high)


def _twice_phi(u: arb) -> arb:
    return (-u / arb(2).sqrt()).erfc()


def _best_gamma(delta: Fraction, variance: Fraction) -> Fraction:
    """The gamma of the least two-sided mixture: V/(t - 1) with t = 1 + 2 log(1/delta) + log(t)."""
    level = 1 + 2 * (log(delta.denominator) - log(delta.numerator))
    t = level
    for _ in range(200):
        t = level + log(t)
    return variance / positive(t - 1, "t - 1")

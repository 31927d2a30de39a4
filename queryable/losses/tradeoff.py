"""f-differential privacy: losses that are whole trade-off curves (Dong, Roth, Su 2022).

A test that tells a dataset from a neighbour has two errors: false alarms (alpha) and misses. A
trade-off curve f bounds the probability of a miss from below, as a function of alpha. `FDP` is the
measure of such curves. Their geometry is in `curves`. A curve that cannot be exact is below the
true one, which is a weaker claim.
"""

from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import attrs
from flint import arb

from queryable.losses import conversions, curves
from queryable.losses.curves import FLOOR, Knots
from queryable.losses.loss import Loss, Measure, sealed
from queryable.losses.measures import GDP, ApproxDP, PureDP
from queryable.losses.numbers import (
    Number,
    exact,
    natural,
    probability,
    round_down,
    round_up,
    several,
)
from queryable.wording.quoting import quoted

KNOTS = 256
"""The largest number of knots in a computed curve."""

_LARGEST_EPSILON = Fraction(4096)  # beyond it, a side of a curve is practically vertical
_LEAST_MU = Fraction(1, 2**60)
_TAIL = 10  # Phi(-10) is far below FLOOR


def _knots(points: Any) -> Knots:
    given = several(points, "knots")
    if any(not isinstance(each, tuple | list) or len(each) != 2 for each in given):
        raise TypeError(f"knots is {quoted(given)}; it should be pairs (alpha, f(alpha))")
    pairs = [(exact(alpha, "alpha"), exact(f, "f(alpha)")) for alpha, f in given]
    return curves.checked(pairs)


def _share(value: Any) -> Fraction:
    return probability(value, "rounding")


def _quoted(knots: Knots) -> str:
    return repr(tuple((str(alpha), str(f)) for alpha, f in knots))


@sealed
@attrs.frozen(order=False)
class FDP(Loss):
    """f-differential privacy for a convex, piecewise-linear trade-off curve f.

    Every test of one dataset against a neighbour whose probability of a false alarm is alpha has a
    probability of a miss of at least f(alpha) (Dong, Roth, Su 2022; Haney et al. 2023, Definitions
    3.1 and 3.2).

    Args:
        knots: the corners (alpha, f(alpha)) from alpha = 0 to alpha = 1, exact numbers.
        rounding: a bound on the error from merging knots, as a share of delta. With FLOOR = 2**-50,
            delta(epsilon) - rounding*(delta(epsilon) + FLOOR) is at most the delta of the exact
            curve. Zero means exact; one means that the error is unknown.

    Raises:
        ValueError: the knots are not those of a trade-off curve. The message says why.
    """

    knots: Knots = attrs.field(converter=_knots, repr=_quoted)
    rounding: Fraction = attrs.field(
        default=Fraction(0),
        kw_only=True,
        eq=False,
        repr=lambda share: repr(str(share)),
        converter=_share,
    )

    @classmethod
    def of_approx(cls, epsilon: Number, delta: Number = 0) -> "FDP":
        """Return f_{epsilon, delta}, which is equivalent to (epsilon, delta)-DP.

        Wasserman, Zhou 2010.
        """
        return cls.of_profile([(epsilon, delta)])

    @classmethod
    def of_profile(cls, guarantees: Iterable[tuple[Number, Number]]) -> "FDP":
        """Return the largest f that holds for a mechanism with all of these (epsilon, delta)."""
        sides: list[curves.Line] = []
        for epsilon, delta in guarantees:
            sides += _sides(exact(epsilon, "epsilon"), probability(delta))
        return cls(curves.envelope(sides))

    @classmethod
    def of_gaussian(cls, mu: Number, knots: int = KNOTS) -> "FDP":
        """Return a curve below G_mu of at most `knots` knots, made of tangents of G_mu.

        The distance to G_mu is measured and stated in `rounding`.
        """
        mu, most = exact(mu, "mu"), natural(knots, "knots")
        if not most >= 4:
            raise ValueError(f"knots is {most}; it should be at least 4")
        return _tangents(mu, most) if mu > 0 else cls.of_approx(0)

    @classmethod
    def from_loss(cls, loss: Loss) -> "FDP | None":
        """Return the curve of (epsilon, delta)-DP or of Gaussian DP."""
        match loss:
            case PureDP(epsilon):
                return cls.of_approx(epsilon)
            case ApproxDP(epsilon, delta):
                return cls.of_approx(epsilon, delta)
            case GDP(mu):
                return cls.of_gaussian(mu)
        return None

    @property
    def measure(self) -> Measure:
        """This class."""
        return FDP

    def __call__(self, alpha: Number) -> Fraction:
        """Return f(alpha)."""
        return curves.value(self.knots, probability(alpha, "alpha"))

    def delta(self, epsilon: Number) -> Fraction:
        """Return the least delta, rounded up, of (epsilon, delta)-DP: 1 + f*(-e^epsilon)."""
        ratio = round_down(arb.exp, min(exact(epsilon, "epsilon"), _LARGEST_EPSILON))
        return curves.delta_at(self.knots, ratio)

    def implies(self, other: "FDP") -> bool:
        """Whether this curve is nowhere below the other."""
        return curves.below(other.knots, self.knots)

    def join(self, other: "FDP") -> "FDP":
        """Return the least loss that both imply: the convex hull of their minimum."""
        both = max(self.rounding, other.rounding)
        return FDP(curves.lowest(self.knots, other.knots), rounding=both)

    def symmetric(self) -> "FDP":
        """Return the maximum of f and its inverse.

        It is implied by f, because being neighbours is a symmetric relation. Dong et al. 2022,
        Proposition 2.4.
        """
        both = curves.highest(self.knots, curves.inverse(self.knots))
        return FDP(both, rounding=self.rounding)

    def compose(self, other: "FDP") -> "FDP":
        """Return the tensor product of the curves, for curves fixed in advance.

        Privacy:
            Theorem: Dong et al. 2022, Theorem 3.2; interleaved by Vadhan and Zhang 2023.
        """
        left, right = (_short(each.knots, each.rounding, 4 * KNOTS) for each in (self, other))
        return _short(curves.tensor(left.knots, right.knots), left.rounding + right.rounding)

    def zero(self) -> "FDP":
        """Return the curve f(alpha) = 1 - alpha of perfect privacy."""
        return FDP.of_approx(0)

    def _group(self, size: int) -> "FDP":
        """Return the curve 1 - (1 - f)^k, with 1 - f applied k = `size` times.

        Dong et al. 2022, Theorem 2.14.
        """
        if size == 1:
            return self
        half = self._group(size // 2)
        even = half._chained(half)
        return even._chained(self) if size % 2 else even

    def _chained(self, following: "FDP") -> "FDP":
        """Return a curve for x and x'', from this for x and x', and `following` for x' and x''."""
        # The absolute error of a curve is rounding*(1 + FLOOR). The slope multiplies the first one.
        steepest, _ = curves.lines(following.knots)[0]
        error = (self.rounding * steepest + following.rounding) * (1 + FLOOR)
        return _short(curves.chain(following.knots, self.knots), error / FLOOR)

    def _to(self, measure: Measure, delta: Fraction | None) -> Loss | None:
        if measure is ApproxDP:
            if delta is None:
                raise ValueError(f"{self} gives an (epsilon, delta) bound; say delta=...")
            return ApproxDP(self._epsilon(delta), delta)
        if self.knots[0][1] < 1:
            return None
        pure = PureDP(self._epsilon(Fraction(0)))
        return pure if measure is PureDP else pure.to(measure, delta)

    def _epsilon(self, delta: Fraction) -> Fraction:
        """Return the least epsilon with 1 - f(alpha) <= delta + e^epsilon*alpha at every knot."""
        (_, start), *rest = self.symmetric().knots
        if not 1 - start <= delta:
            raise ValueError(f"{self} is (epsilon, delta)-DP only for delta >= {1 - start}")
        ratios = ((1 - f - delta) / alpha for alpha, f in rest)
        return conversions.log_up(max(Fraction(1), *ratios))

    def __str__(self) -> str:
        return f"FDP({len(self.knots)} knots)"


def _sides(epsilon: Fraction, delta: Fraction) -> tuple[curves.Line, ...]:
    """Return the sides of f_{epsilon, delta}. Rounding e^epsilon up lowers both."""
    if epsilon > _LARGEST_EPSILON:
        return ()
    return curves.lines_of(round_up(arb.exp, epsilon), delta)


@lru_cache(maxsize=256)
def _tangents(mu: Fraction, most: int) -> FDP:
    """Return a curve of tangents of G_mu, from where delta is nearly 1 to where it is nearly 0."""
    stated = max(mu, _LEAST_MU)
    start, count = max(Fraction(0), stated / 2 - _TAIL), 4 * most
    step = (stated / 2 + _TAIL - start) / count
    sides: list[curves.Line] = []
    for each in range(count + 1):
        epsilon = stated * (start + step * each)
        if epsilon <= _LARGEST_EPSILON:
            sides += _sides(epsilon, conversions.gdp_delta(stated, epsilon))
    knots = curves.shortened(curves.lowered(curves.envelope(sides)), most)
    return FDP(knots, rounding=curves.rounding(knots, partial(_gaussian, mu)))


def _gaussian(mu: Fraction, alpha: Fraction) -> Fraction:
    """Return G_mu(alpha) = Phi(Phi^-1(1 - alpha) - mu), rounded up."""
    if alpha in (0, 1):
        return 1 - alpha

    def tradeoff(m: arb, a: arb) -> arb:
        return conversions.normal_below(arb(2).sqrt() * (2 * a).erfcinv() - m)

    return min(1 - alpha, round_up(tradeoff, mu, alpha))


def _short(knots: Knots, rounding: Fraction, most: int = KNOTS) -> FDP:
    """Return a curve with few and short knots, its error added to `rounding`."""
    kept = curves.shortened(knots, most)
    cost = curves.rounding(kept, partial(curves.value, knots)) if kept is not knots else 0
    return FDP(kept, rounding=min(Fraction(1), rounding + cost))

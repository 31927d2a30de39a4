"""f-differential privacy: losses that are whole trade-off curves (Dong, Roth, Su 2022).

Responsible for the measure `FDP`: its order, composition, groups and conversions, and for curves
made from other guarantees. The geometry is in `curves`. Wherever a curve cannot be exact it lies
below the true one, which is the weaker claim.
"""

from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import attrs
from flint import arb

from queryable.losses import conversions, curves
from queryable.losses.curves import FLOOR, Knots
from queryable.losses.measures import GDP, ApproxDP, Loss, Measure, PureDP, sealed
from queryable.losses.numbers import Number, exact, natural, probability, round_down, round_up

KNOTS = 256
"""The most knots that a computed curve keeps."""

_LARGEST_EPSILON = Fraction(4096)  # beyond, a side is as good as vertical
_LEAST_MU = Fraction(1, 2**60)
_TAIL = 10  # Phi(-10) is far below FLOOR


def _knots(points: Any) -> Knots:
    try:
        pairs = [(exact(alpha, "alpha"), exact(f, "f(alpha)")) for alpha, f in points]
    except TypeError as error:
        raise TypeError(f"knots should be pairs (alpha, f(alpha)) of numbers: {error}") from None
    return curves.checked(pairs)


def _share(value: Any) -> Fraction:
    return probability(value, "rounding")


def _quoted(knots: Knots) -> str:
    return repr(tuple((str(alpha), str(f)) for alpha, f in knots))


@sealed
@attrs.frozen(order=False)
class FDP(Loss):
    """f-differential privacy for a convex, piecewise-linear trade-off curve f.

    Testing one dataset against a neighbour with false alarms alpha misses with f(alpha) or more
    (Dong, Roth, Su 2022; Haney et al. 2023, Definitions 3.1 and 3.2).

    Args:
        knots: the corners (alpha, f(alpha)) from alpha = 0 to alpha = 1, exact numbers.
        rounding: of what share of its deltas this curve may be too pessimistic, because knots were
            merged: delta(epsilon) less rounding*(delta(epsilon) + FLOOR) is at most that of the
            exact curve, with FLOOR = 2**-50. Zero means exact; one means that nothing is known.

    Raises:
        ValueError: the knots are not those of a trade-off curve, and why.
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
        """f_{epsilon, delta}: all that (epsilon, delta)-DP says (Wasserman, Zhou 2010)."""
        return cls.of_profile([(epsilon, delta)])

    @classmethod
    def of_profile(cls, guarantees: Iterable[tuple[Number, Number]]) -> "FDP":
        """Of a mechanism that is (epsilon, delta)-DP for each of these pairs: the largest f."""
        sides: list[curves.Line] = []
        for epsilon, delta in guarantees:
            sides += _sides(exact(epsilon, "epsilon"), probability(delta))
        return cls(curves.envelope(sides))

    @classmethod
    def of_gaussian(cls, mu: Number, knots: int = KNOTS) -> "FDP":
        """A curve of at most this many knots below G_mu, made of tangents of it.

        How far below is measured, and stated in `rounding`.
        """
        mu, most = exact(mu, "mu"), natural(knots, "knots")
        if not most >= 4:
            raise ValueError(f"knots is {most}; it should be at least 4")
        return _tangents(mu, most) if mu > 0 else cls.of_approx(0)

    @classmethod
    def from_loss(cls, loss: Loss) -> "FDP | None":
        """The curve of (epsilon, delta)-DP or of Gaussian DP."""
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
        """FDP."""
        return FDP

    def __call__(self, alpha: Number) -> Fraction:
        """f(alpha)."""
        return curves.value(self.knots, probability(alpha, "alpha"))

    def delta(self, epsilon: Number) -> Fraction:
        """The least delta (from above) of (epsilon, delta)-DP: 1 + f*(-e^epsilon)."""
        ratio = round_down(arb.exp, min(exact(epsilon, "epsilon"), _LARGEST_EPSILON))
        return curves.delta_at(self.knots, ratio)

    def within(self, other: "FDP") -> bool:
        """This curve is nowhere below the other."""
        return curves.below(other.knots, self.knots)

    def join(self, other: "FDP") -> "FDP":
        """The least loss that both imply: the convex hull of the smaller curve."""
        both = max(self.rounding, other.rounding)
        return FDP(curves.lowest(self.knots, other.knots), rounding=both)

    def symmetric(self) -> "FDP":
        """The larger of f and its inverse, which holds too, because neighbours are mutual.

        Dong et al. 2022, Proposition 2.4.
        """
        both = curves.highest(self.knots, curves.inverse(self.knots))
        return FDP(both, rounding=self.rounding)

    def compose(self, other: "FDP") -> "FDP":
        """The tensor product of the curves, for curves fixed in advance.

        Privacy:
            Theorem: Dong et al. 2022, Theorem 3.2; interleaved by Vadhan and Zhang 2023.
        """
        left, right = (_short(each.knots, each.rounding, 4 * KNOTS) for each in (self, other))
        return _short(curves.tensor(left.knots, right.knots), left.rounding + right.rounding)

    def zero(self) -> "FDP":
        """f(alpha) = 1 - alpha."""
        return FDP.of_approx(0)

    def _group(self, size: int) -> "FDP":
        """1 - (1 - f) applied `size` times (Dong et al. 2022, Theorem 2.14)."""
        if size == 1:
            return self
        half = self._group(size // 2)
        even = half._and_on(half)
        return even._and_on(self) if size % 2 else even

    def _and_on(self, following: "FDP") -> "FDP":
        """From x to x' with this loss, and on to x'' with the following."""
        # In absolute terms curves err by rounding*(1 + FLOOR); the slope magnifies the first.
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
        """The least epsilon: no knot has more than 1 - f(alpha) = delta + e^epsilon*alpha."""
        (_, start), *rest = self.symmetric().knots
        if not 1 - start <= delta:
            raise ValueError(f"{self} is (epsilon, delta)-DP only for delta >= {1 - start}")
        ratios = ((1 - f - delta) / alpha for alpha, f in rest)
        return conversions.log_up(max(Fraction(1), *ratios))

    def __str__(self) -> str:
        return f"FDP({len(self.knots)} knots)"


def _sides(epsilon: Fraction, delta: Fraction) -> tuple[curves.Line, ...]:
    """The sides of f_{epsilon, delta}; with e^epsilon rounded up both are lower."""
    if epsilon > _LARGEST_EPSILON:
        return ()
    return curves.lines_of(round_up(arb.exp, epsilon), delta)


@lru_cache(maxsize=256)
def _tangents(mu: Fraction, most: int) -> FDP:
    """Tangents of G_mu at epsilons from where delta is nearly one to where it is nearly zero."""
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
    """G_mu(alpha) = Phi(Phi^-1(1 - alpha) - mu), from above."""
    if alpha in (0, 1):
        return 1 - alpha

    def tradeoff(m: arb, a: arb) -> arb:
        return conversions.normal_below(arb(2).sqrt() * (2 * a).erfcinv() - m)

    return min(1 - alpha, round_up(tradeoff, mu, alpha))


def _short(knots: Knots, rounding: Fraction, most: int = KNOTS) -> FDP:
    """A curve with few and short knots, and what shortening it has cost."""
    kept = curves.shortened(knots, most)
    cost = curves.rounding(kept, partial(curves.value, knots)) if kept is not knots else 0
    return FDP(kept, rounding=min(Fraction(1), rounding + cost))

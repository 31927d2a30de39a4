"""The least epsilon of losses that are fixed in advance, by the law of their sum on a grid.

It takes responses ((epsilon, delta)-DP), Gaussians (mu-GDP) and trade-off curves together, where
`optimal` takes responses alone. It is no rule for a filter, for the same reason.

Theory of operation: each loss stands for a pair of laws, and a pair for the law of its log ratio
under the likelier law, with a mass that is infinite. These are replaced by laws on the multiples of
a step, whose profile delta(r), r = e^epsilon, is the chord of the pair's own between two multiples,
so it is nowhere below (Doroshenko et al. 2022). Independent pairs add up: the laws are convolved,
as polynomials of a variable to the power of the loss. Tails too small to matter are cut: those of
the largest losses become infinite, and those of the least are moved up. All of it is in ball
arithmetic; floats only choose the step, and where to cut. Proof: docs/theory.md, fixed plans.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import ceil, cosh, floor, gcd, lcm, log, sqrt

import attrs
from flint import arb, arb_poly

from queryable.losses import FDP, GDP, ApproxDP, Loss, PureDP
from queryable.losses.conversions import gdp_to_approx, normal_below
from queryable.losses.numbers import ball, round_up, shown, sqrt_up

GRID = 2**13
"""About so many steps have all sums that matter."""

_CUT = 2.0**-50
"""A tail is cut at this share of delta."""

_LARGEST, _LEAST, _TINIEST = 2.0**9, 1e-9, 1e-300
_EXTREME = "the losses are too large or too small for a grid"
_WIDEST = 8  # times GRID: the most steps
_PER_ROOT = 230  # steps for the root of so many losses: what their splits add is a thousandth

Paired = tuple[tuple[Loss, int], ...]
"""Different losses, each with its number of occurrences."""


@attrs.frozen
class _Law:
    """Masses of the multiples first, first + 1, ... of the step, and of an infinite loss."""

    first: int
    masses: arb_poly
    infinite: arb


def least_epsilon(losses: Iterable[Loss], delta: Fraction) -> Fraction:
    """The least epsilon, rounded up, for which all the losses together are (epsilon, delta)-DP.

    Args:
        losses: PureDP, ApproxDP, GDP or FDP, fixed in advance.
        delta: above 0.

    Raises:
        ValueError: a loss of another measure, or one that is too large or too small for the grid.
    """
    paired = _paired(losses)
    alone, _ = paired[0] if len(paired) == 1 else (None, 0)
    if isinstance(alone, GDP):
        return gdp_to_approx(alone.mu, delta)
    try:
        return _least_epsilon(paired, delta)
    except OverflowError:
        raise ValueError(_EXTREME) from None


def _paired(losses: Iterable[Loss]) -> Paired:
    """The losses by kind; Gaussians are one, whose mu squared is the sum."""
    square, counted = Fraction(0), Counter[Loss]()
    for loss in losses:
        match loss:
            case GDP(mu):
                square += mu**2
            case PureDP() | ApproxDP() | FDP():
                counted[loss] += 1
            case _:
                raise ValueError(f"{loss} is no response, no Gaussian and no trade-off curve")
    gaussian = [(GDP(sqrt_up(square)), 1)] if square else []
    return (*counted.items(), *gaussian)


@lru_cache(maxsize=256)
def _least_epsilon(paired: Paired, delta: Fraction) -> Fraction:
    cut = float(delta) * _CUT
    if not cut > _TINIEST:
        raise ValueError(f"delta is {shown(delta)}, too small for a grid")
    pairs = [(_pair(loss, cut), count) for loss, count in paired]
    spread = sqrt(sum(pair.variance * count for pair, count in pairs))
    largest = max((pair.largest for pair, _ in pairs), default=0.0)
    if not (_LEAST < spread < _LARGEST and largest < _LARGEST):
        raise ValueError(_EXTREME)
    tails, many = 2 * sqrt(-2 * log(cut)), sum(count for _, count in pairs)
    steps = min(max(GRID, round(_PER_ROOT * sqrt(many))), _WIDEST * GRID)
    step = _step(max(tails * spread / steps, largest / (_WIDEST * GRID)), paired)

    def epsilon(d: arb) -> arb:
        return _solved(_product([_power(*each, step, cut) for each in pairs], cut), step, d)

    return max(Fraction(0), round_up(epsilon, delta))


def _step(widest: float, paired: Paired) -> Fraction:
    """A step of about so much at most, of which the responses' losses are multiples if possible."""
    counts = {loss.epsilon: n for loss, n in paired if isinstance(loss, PureDP | ApproxDP)}
    epsilons = [epsilon for epsilon in counts if epsilon]
    if not epsilons:
        return Fraction(widest)
    bottom = lcm(*(each.denominator for each in epsilons))
    unit = Fraction(gcd(*(int(each * bottom) for each in epsilons)), bottom)
    if unit * _WIDEST < widest:
        unit = max(epsilons, key=lambda epsilon: counts[epsilon])
    return unit / ceil(unit / Fraction(widest))


def _solved(law: _Law, step: Fraction, delta: arb) -> arb:
    """The least epsilon above 0 with a profile of at most delta, which is a maximum over sums."""
    room = delta - law.infinite
    if not room > 0:
        raise ValueError("delta is no more than the losses' own")
    ratio, likely, unlikely = arb(1), arb(0), arb(0)
    coefficients = law.masses.coeffs()
    for place in range(len(coefficients) - 1, max(-1, -law.first), -1):
        likely += coefficients[place]
        unlikely += coefficients[place] * (-ball(step * (law.first + place))).exp()
        if likely > room:
            ratio = ratio.max((likely - room) / unlikely)
    return ratio.log()


def _product(laws: Sequence[_Law], cut: float) -> _Law:
    """The law of the sum, by halves so that the factors have similar lengths."""
    if len(laws) == 1:
        return laws[0]
    middle = len(laws) // 2
    return _together(_product(laws[:middle], cut), _product(laws[middle:], cut), cut)


def _power(pair: "_Pair", count: int, step: Fraction, cut: float) -> _Law:
    """The law of the sum of so many."""
    if count == 1:
        return pair.law(step)
    half = _power(pair, count // 2, step, cut)
    even = _together(half, half, cut)
    return _together(even, pair.law(step), cut) if count % 2 else even


def _together(one: _Law, other: _Law, cut: float) -> _Law:
    infinite = 1 - (1 - one.infinite) * (1 - other.infinite)
    return _trimmed(one.first + other.first, one.masses * other.masses, infinite, cut)


def _trimmed(first: int, masses: arb_poly, infinite: arb, cut: float) -> _Law:
    """Cut both tails: the upper one becomes infinite, and the lower one is moved up to its end."""
    coefficients = masses.coeffs()
    low, high, below, above = 0, len(coefficients), arb(0), arb(0)
    while high - low > 1 and (above + coefficients[high - 1]) < cut:
        high -= 1
        above += coefficients[high]
    while high - low > 1 and (below + coefficients[low]) < cut:
        below += coefficients[low]
        low += 1
    kept = coefficients[low:high]
    kept[0] += below
    return _Law(first + low, arb_poly(kept), infinite + above)


def _pair(loss: Loss, cut: float) -> "_Pair":
    match loss:
        case GDP(mu):
            return _Gaussian(mu, sqrt(-2 * log(cut)))
        case FDP():
            return _Curve.of(loss.symmetric(), cut)
        case PureDP(epsilon):
            return _Response(epsilon, Fraction(0))
        case ApproxDP(epsilon, delta):
            return _Response(epsilon, delta)
    raise AssertionError(loss)


@attrs.frozen
class _Response:
    """Randomized response at epsilon, which reveals everything with probability delta."""

    epsilon: Fraction
    delta: Fraction

    @property
    def variance(self) -> float:
        return (float(self.epsilon) / cosh(min(float(self.epsilon) / 2, 300))) ** 2

    @property
    def largest(self) -> float:
        return float(min(self.epsilon, Fraction(10**9)))

    def law(self, step: Fraction) -> _Law:
        """Both losses are multiples of the step, or each is split between two of them."""
        likely, unlikely = 1 / (1 + (-ball(self.epsilon)).exp()), 1 / (1 + ball(self.epsilon).exp())
        good, found = 1 - ball(self.delta), defaultdict[int, arb](arb)
        for loss, p, q in ((self.epsilon, unlikely, likely), (-self.epsilon, likely, unlikely)):
            low, rest = divmod(loss, step)
            above = _upper(low, low + 1, step, p, q) if rest else arb(0)
            found[low] += good * (q - above)
            found[low + 1] += good * above
        return _law(found, self.delta)


@attrs.frozen
class _Gaussian:
    """N(0, 1) and N(mu, 1), looked at for so many standard deviations of the loss, which is mu."""

    mu: Fraction
    far: float

    @property
    def variance(self) -> float:
        return float(self.mu**2)

    @property
    def largest(self) -> float:
        return float(self.mu) * (float(self.mu) / 2 + self.far)

    def law(self, step: Fraction) -> _Law:
        """The chord of the profile between multiples; below the least of them that to (0, 1)."""
        mu = float(self.mu)
        low = floor((mu * mu / 2 - mu * self.far) / step)
        high = max(low + 1, ceil(self.largest / step))
        m, grown = ball(self.mu), ball(step).exp()
        profile = []
        for place in range(low, high + 1):
            epsilon = ball(step * place)
            above = normal_below(m / 2 - epsilon / m)
            profile.append(above - epsilon.exp() * normal_below(-m / 2 - epsilon / m))
        falls = [before - after for before, after in pairwise(profile)]
        inner = [grown * before - after for before, after in pairwise(falls)]
        ends = 1 - profile[0] - falls[0] / (grown - 1), grown * falls[-1] / (grown - 1)
        masses = [ends[0], *(each / (grown - 1) for each in inner), ends[1]]
        return _Law(low, arb_poly(masses), profile[-1])


@attrs.frozen
class _Curve:
    """A symmetric trade-off curve: each side is an outcome with probabilities p and q <= r*p."""

    sides: tuple[tuple[float, Fraction, Fraction], ...]
    """The loss, about, and p and q, the largest loss first."""
    infinite: Fraction

    @classmethod
    def of(cls, curve: FDP, cut: float) -> "_Curve":
        """The sides of a curve. As in `_trimmed`, both tails are cut."""
        knots = curve.knots
        sides = [(x - w, v - y) for (w, v), (x, y) in pairwise(knots) if v > y]
        infinite, moved = 1 - knots[0][1], Fraction(0)
        while len(sides) > 1 and infinite - (1 - knots[0][1]) + sides[0][1] < cut:
            infinite += sides.pop(0)[1]
        while len(sides) > 1 and moved + sides[-1][1] < cut:
            moved += sides.pop()[1]
        if sides:
            p, q = sides.pop()
            sides.append((p, q + moved))
        return cls(tuple((_log(q / p), p, q) for p, q in sides), infinite)

    @property
    def variance(self) -> float:
        mean = sum(float(q) * loss for loss, _, q in self.sides)
        return sum(float(q) * (loss - mean) ** 2 for loss, _, q in self.sides)

    @property
    def largest(self) -> float:
        return max((abs(loss) for loss, _, _ in self.sides), default=0.0)

    def law(self, step: Fraction) -> _Law:
        """Each q is split between two multiples around its loss, so that p stays as it is."""
        found = defaultdict[int, arb](arb)
        for loss, p, q in self.sides:
            low, high, above = _split(floor(loss / step), step, ball(p), ball(q))
            found[low] += ball(q) - above
            found[high] += above
        return _law(found, self.infinite)


def _law(found: Mapping[int, arb], infinite: Fraction) -> _Law:
    first = min(found, default=0)
    masses = [found.get(place, arb(0)) for place in range(first, max(found, default=0) + 1)]
    return _Law(first, arb_poly(masses), ball(infinite))


def _split(place: int, step: Fraction, p: arb, q: arb) -> tuple[int, int, arb]:
    """Two multiples with q/p surely between them, and the part of q that goes to the upper one."""
    low, high = place, place + 1
    while not p * ball(step * low).exp() <= q:
        low -= 1
    while not q <= p * ball(step * high).exp():
        high += 1
    return low, high, _upper(low, high, step, p, q)


def _upper(low: int, high: int, step: Fraction, p: arb, q: arb) -> arb:
    """The part of q that goes to the upper one of two multiples around its loss, log(q/p)."""
    return (q - p * ball(step * low).exp()) / -(ball(step * (low - high)).expm1())


def _log(ratio: Fraction) -> float:
    return log(ratio.numerator) - log(ratio.denominator)


_Pair = _Response | _Gaussian | _Curve

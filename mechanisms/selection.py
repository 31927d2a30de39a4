"""What private selection costs, from the curve of one run.

Responsible for the formulas (docs/theory.md, private selection). The mechanism that they are about
is in `mechanisms.best`.
"""

from collections.abc import Callable
from fractions import Fraction
from itertools import accumulate
from math import log

from flint import arb

from mechanisms.repetitions import Ending, Poisson, Repetitions
from queryable.losses import RenyiCurve
from queryable.losses.conversions import log_up
from queryable.losses.numbers import round_down, round_up

ORDERS = tuple(
    map(Fraction, (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 128, 256, 512, 1024, 2048, 4096))
)
"""The Renyi orders of a claim about candidates that are not pure. The large ones are for small
losses: at rho = 1/200,000 the conversion to epsilon would be twice as large without them."""

HELPERS = tuple(sorted({1 + Fraction(round(16 * 2 ** (s / 4)), 64) for s in range(57)} | {*ORDERS}))
"""Orders that are tried for the second order of the theorem: 5/4 to 4097."""

_WIDENINGS = tuple(Fraction(round(64 * 2 ** (s / 4)), 64) for s in (*range(-8, 25), 28, 32, 40, 48))
_NEAREST, _FARTHEST = Fraction(1, 2**20), 2**30

Curve = list[tuple[Fraction, Fraction]]
"""Orders, and bounds on the Renyi divergence of one run at them."""

Bound = Callable[[Fraction, Fraction], Fraction]
"""The bound on the best run at an order, given that of one run at this order."""


def bound_of(law: Repetitions, pure: Fraction | None, curve: Curve) -> Bound:
    """The Renyi divergence of the best run.

    It does not fall with the order, so a smaller bound at a larger order of the curve holds too.

    Args:
        pure: the epsilon of one run; None if it has none.
        curve: of one run, at those orders at which it has one: of `poisson_orders` if the law is
            `Poisson` and the run pure, else of `HELPERS`.

    Raises:
        ValueError: no theorem covers the law.
    """
    tried = curve
    if isinstance(law, Ending):
        one = _ending(law, pure, curve)
    elif isinstance(law, Poisson):
        one = _poisson(law, pure, curve)
        tried = [point for point in curve if pure is not None or point[0] in ORDERS]
    else:
        raise ValueError(f"no theorem covers repetitions of class {type(law).__name__}")
    known = {order: one(order, own) for order, own in tried}

    def bound(order: Fraction, own: Fraction) -> Fraction:
        here = known[order] if order in known else one(order, own)
        return min([here, *(found for above, found in known.items() if above > order)])

    return bound


def pure_of(law: Repetitions, pure: Fraction) -> Fraction:
    """The epsilon of the best run, if `pure` is that of one run.

    Raises:
        ValueError: no theorem covers the law.
    """
    if isinstance(law, Ending):
        return (1 + law.exponent) * pure
    if isinstance(law, Poisson):  # tanh(epsilon/2) bounds the total variation distance
        return pure + round_up(lambda m, e: m * (e / 2).tanh(), law.mu, pure)
    raise ValueError(f"no theorem covers repetitions of class {type(law).__name__}")


def poisson_orders(pure: Fraction) -> tuple[Fraction, ...]:
    """Orders at which a claim about Poisson repetitions of pure candidates is stated.

    Up to the order 1 + 1/(e^epsilon - 1) the best of many runs costs no delta, and from there on
    that grows fast. So this order, rounded down, and a few of those around it, are added to
    `ORDERS`. Those of up to four times the epsilon are for several records.
    """
    if not pure:
        return ORDERS
    start, *others = (_short(round_down(lambda e: 1 / e.expm1(), k * pure)) for k in (1, 2, 3, 4))
    if not _NEAREST <= start <= _FARTHEST:
        return ORDERS
    around = (*(start * each for each in _WIDENINGS), *(each for each in others if each > _NEAREST))
    return tuple(sorted({*ORDERS, *(1 + each for each in around)}))


def _short(number: Fraction) -> Fraction:
    """The number with about 12 binary digits, rounded down."""
    digits = number.numerator.bit_length() - number.denominator.bit_length()
    unit: Fraction = Fraction(2) ** (digits - 12)
    return number // unit * unit


def rho_of(curve: RenyiCurve, pure: Fraction) -> Fraction:
    """The least rho for which a curve and a pure bound imply zCDP (docs/theory.md).

    At an order between two of the curve's the bound at the larger one holds; above the last one
    the pure bound.
    """
    least = [*accumulate((pure, *reversed(curve.epsilons)), min)]
    orders = Fraction(1), *curve.orders
    return max(e / order for order, e in zip(orders, reversed(least), strict=True))


def _ending(law: Ending, pure: Fraction | None, curve: Curve) -> Bound:
    extra, runs = _extra(law, pure, curve), log_mean(law)
    return lambda order, own: own + extra + runs / (order - 1)


def log_mean(law: Repetitions) -> Fraction:
    """The logarithm of the expected number of runs, rounded up; at least 0."""
    return log_up(max(Fraction(1), law.mean))


def _extra(law: Ending, pure: Fraction | None, curve: Curve) -> Fraction:
    """`exponent` times the least of (1 - 1/b) e(b) + log(1/gamma) / b, over orders b.

    b = 1 leaves log(1/gamma), and b without bound leaves the epsilon of pure candidates.
    """
    runs = log_up(1 / law.gamma)
    found = [runs] if pure is None else [runs, pure]
    found += [(1 - 1 / order) * epsilon + runs / order for order, epsilon in curve]
    return law.exponent * min(found)


def _poisson(law: Poisson, pure: Fraction | None, curve: Curve) -> Bound:
    def bound(m: arb, e: arb, a: arb) -> arb:
        return (e + (m + (-m - e).exp()).log()) / (a - 1)

    def poisson(order: Fraction, own: Fraction) -> Fraction:
        moment = (order - 1) * (own + law.mu * _delta(order, pure, curve))
        return max(Fraction(0), round_up(bound, law.mu, moment, order))

    return poisson


def _delta(order: Fraction, pure: Fraction | None, curve: Curve) -> Fraction:
    """The least delta found with which one run is (log(order/(order-1)), delta)-DP.

    Of pure candidates it is that of randomized response; from a curve it is by Canonne, Kamath,
    Steinke 2020, Proposition 12.
    """
    factor = order / (order - 1)
    if pure is not None:
        delta = round_up(lambda e, r: (1 - r * (-e).exp()) / (1 + (-e).exp()), pure, factor)
        return max(Fraction(0), delta)
    if not curve:
        return Fraction(1)
    least = round_up(_log_delta, *min(curve, key=lambda point: _nearly(point, factor)), factor)
    return round_up(arb.exp, least) if least < 0 else Fraction(1)


def _nearly(point: tuple[Fraction, Fraction], factor: Fraction) -> float:
    """`_log_delta` in floats, to choose an order; each gives a bound."""
    a, epsilon = float(point[0]), float(min(point[1], Fraction(10**6)))
    return (a - 1) * (epsilon + log((1 - 1 / a) / float(factor))) - log(a)


def _log_delta(a: arb, epsilon: arb, factor: arb) -> arb:
    """Of the delta at log(factor) of a mechanism whose Renyi divergence of order a is epsilon."""
    return (a - 1) * (epsilon + ((1 - 1 / a) / factor).log()) - a.log()

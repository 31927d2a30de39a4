"""Optimal composition of (epsilon_i, delta_i)-DP with parameters fixed in advance.

The functions compute the least (epsilon, delta) that a list of declared parameters implies
(Kairouz, Oh, Viswanath 2017; Murtagh, Vadhan 2016). They are no rule for a filter: the bound fails
for parameters that depend on answers (docs/theory.md, what does not compose).

Theory of operation: the worst mechanisms are randomized responses that also reveal everything
with probability delta_i, so 1 - delta is (1 - delta*) times the product of (1 - delta_i), where
delta* belongs to the responses alone. Each of those contributes epsilon_i or -epsilon_i to the
loss. With A(s) and B(s) the probabilities, on either dataset, that the sum is s or more,

    delta*(epsilon) = max over s of A(s) - e^epsilon * B(s),

which can be solved for epsilon as well as for delta.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from math import ceil, comb, gcd, lcm, prod

from flint import arb, arb_poly

from queryable.losses import ApproxDP, Loss
from queryable.losses.numbers import Number, ball, exact, probability, round_up, several, shown
from queryable.wording.quoting import quoted

EXACT_SUMS = 2**12
"""Up to this many different sums are kept exactly."""

EXACT_STEPS = 2**16
"""Sums in up to this many steps of a common unit are kept exactly."""

GRID = 2**14
"""All other sums are rounded to a grid of about this many steps."""

Repeated = tuple[tuple[Fraction, int], ...]
"""Different values above zero, each with its number of occurrences."""


def optimal_delta(losses: Iterable[Loss], epsilon: Number) -> Fraction:
    """The least delta, rounded up, for which all the losses together are (epsilon, delta)-DP.

    It is exact up to this rounding if there are few different sums of epsilons (`EXACT_SUMS`), or
    the sums are multiples of a common unit (`EXACT_STEPS`). Otherwise each epsilon is replaced by
    a mixture of two neighbours on a grid of step h = 2*sum/`GRID`. The result is then at most the
    least delta at epsilon - k*h, for k losses. The error is of second order in h, in practice some
    thousandths.

    Args:
        losses: `ApproxDP` or `PureDP`, fixed in advance.
        epsilon: in nats.
    """
    epsilons, deltas = _declared(losses)
    at = exact(epsilon, "epsilon")

    def delta(e: arb) -> arb:
        star = arb(0)
        for loss, mass in _sums_above(epsilons, at):
            star += mass * (1 - (e - ball(loss)).exp())
        good = [(1 - ball(each)) ** count for each, count in deltas]
        return 1 - prod(good, start=1 - star)

    try:
        return max(Fraction(0), min(Fraction(1), round_up(delta, at)))
    except ArithmeticError:  # epsilons too large for the precision of the probabilities
        return Fraction(1)


def optimal_epsilon(losses: Iterable[Loss], delta: Number) -> Fraction:
    """The least epsilon, rounded up, for which all the losses together are (epsilon, delta)-DP.

    It is as exact as `optimal_delta`, and never above the sum of the epsilons.

    Raises:
        ValueError: delta is below 1 - product of (1 - delta_i); then no epsilon is enough.
    """
    epsilons, deltas = _declared(losses)
    return _least_epsilon(epsilons, deltas, probability(delta))


@lru_cache(maxsize=1024)
def _least_epsilon(epsilons: Repeated, deltas: Repeated, delta: Fraction) -> Fraction:
    good = prod(((1 - each) ** count for each, count in deltas), start=Fraction(1))
    if not 1 - good <= delta:
        raise ValueError(
            f"delta is {shown(delta)}; it should be at least 1 - product of (1 - delta_i), "
            f"{shown(1 - good)}"
        )
    if delta == 1:
        return Fraction(0)
    star = 1 - (1 - delta) / good

    def epsilon(d: arb) -> arb:
        ratio, likely, unlikely = arb(1), arb(0), arb(0)
        for loss, mass in _sums_above(epsilons, Fraction(0)):
            likely += mass
            unlikely += mass * (-ball(loss)).exp()
            ratio = ratio.max((likely - d) / unlikely)
        return ratio.log()

    total = _total(epsilons)
    try:
        return min(total, round_up(epsilon, star))
    except ArithmeticError:  # a delta too small for the precision of the probabilities
        return total


def _declared(losses: Iterable[Loss]) -> tuple[Repeated, Repeated]:
    """The epsilons and the deltas."""
    declared = []
    for loss in several(losses, "losses"):
        if not isinstance(loss, Loss):
            raise TypeError(f"{quoted(loss)} is no privacy loss; use ApproxDP(epsilon, delta)")
        stated = loss.to(ApproxDP)
        assert isinstance(stated, ApproxDP)
        declared.append(stated)
    return (
        _repeated(loss.epsilon for loss in declared),
        _repeated(loss.delta for loss in declared),
    )


def _repeated(values: Iterable[Fraction]) -> Repeated:
    return tuple(sorted(Counter(value for value in values if value > 0).items()))


def _total(epsilons: Repeated) -> Fraction:
    return sum((epsilon * count for epsilon, count in epsilons), Fraction(0))


def _sums_above(epsilons: Repeated, at: Fraction) -> list[tuple[Fraction, arb]]:
    """The sums above `at`, the largest first, and their probabilities under the likelier dataset.

    Call it inside a formula of `round_up`, so that the working precision is right.
    """
    total = _total(epsilons)
    if at >= total:
        return []
    doubled = [2 * epsilon for epsilon, _ in epsilons]
    bottom = lcm(*(each.denominator for each in doubled))
    unit = Fraction(gcd(*(int(each * bottom) for each in doubled)), bottom)
    if prod(count + 1 for _, count in epsilons) <= EXACT_SUMS:
        gains = _apart(epsilons)
    elif 2 * total <= unit * EXACT_STEPS:
        gains = _on_grid(epsilons, unit)
    else:
        gains = _on_grid(epsilons, 2 * total / GRID)
    return [(gain - total, mass) for gain, mass in gains if gain - total > at]


# A gain is the difference of a sum and the least sum. A response gains 2*epsilon_i or 0.


def _response(epsilon: Fraction) -> tuple[arb, arb]:
    """The probabilities of the true and the other answer."""
    return 1 / (1 + (-ball(epsilon)).exp()), 1 / (1 + ball(epsilon).exp())


def _apart(epsilons: Repeated) -> list[tuple[Fraction, arb]]:
    """The exact gains with their probabilities, the largest first."""
    gains = {Fraction(0): arb(1)}
    for epsilon, count in epsilons:
        p, q = _response(epsilon)
        binomial = [comb(count, n) * p**n * q ** (count - n) for n in range(count + 1)]
        grown: dict[Fraction, arb] = defaultdict(arb)
        for gain, mass in gains.items():
            for n, likely in enumerate(binomial):
                grown[gain + 2 * n * epsilon] += mass * likely
        gains = grown
    return sorted(gains.items(), key=lambda item: item[0], reverse=True)


def _on_grid(epsilons: Repeated, step: Fraction) -> list[tuple[Fraction, arb]]:
    """The gains on a grid, computed as powers of a polynomial's variable, the largest first.

    The probability of a gain between two steps is split between both, so that the probabilities
    on both datasets are kept. In r = e^epsilon this replaces the convex delta(r) by its chord,
    which is above it, so a less private mechanism is composed (Doroshenko et al. 2022). The chord
    is below delta at its left end, so no epsilon gets more delta than epsilon - step had.
    """
    responses = []
    for epsilon, count in epsilons:
        (p, q), steps = _response(epsilon), ceil(2 * epsilon / step)
        lower = p * ball(steps * step - 2 * epsilon).expm1() / ball(step).expm1()
        masses = [q, *[arb(0)] * steps]
        masses[steps - 1] += lower
        masses[steps] += p - lower
        responses.append(arb_poly(masses) ** count)
    coefficients = _product(responses).coeffs()
    return [(n * step, mass) for n, mass in reversed(list(enumerate(coefficients)))]


def _product(factors: Sequence[arb_poly]) -> arb_poly:
    """The product, computed by halves so that the factors have similar degrees."""
    if len(factors) == 1:
        return factors[0]
    middle = len(factors) // 2
    return _product(factors[:middle]) * _product(factors[middle:])

"""Divergences of two laws, exact or with bounds.

This module has one divergence for each way in which a privacy measure compares distributions. A law
maps a view to its probability, which is exact or enclosed in an interval. Mass that a law leaves
out (a tail that was cut off) counts against the mechanism, as if it revealed the dataset.

"From above" means rounded up: an upper bound on the divergence. "From below" means rounded down.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from math import inf
from typing import Any, TypeAlias

from flint import arb

from queryable.audit.views.enumeration import CUT
from queryable.losses.conversions import least, log_up
from queryable.losses.numbers import (
    Number,
    exact,
    positive,
    probability,
    round_down,
    round_up,
    several,
)
from queryable.randomness.intervals import Chance, Interval, high, low
from queryable.wording.quoting import quoted

Law: TypeAlias = Mapping[Any, Chance]
Bound: TypeAlias = Fraction | float
"""A rational, or infinity."""


_LARGEST_EPSILON = Fraction(4096)  # above it, e^epsilon exhausts the memory


@lru_cache(maxsize=256)
def factor_below(epsilon: Fraction) -> Fraction:
    """Return e^epsilon from below, precise enough that log_up of a rational round-trips."""
    return round_down(arb.exp, min(epsilon, _LARGEST_EPSILON), bits=176) if epsilon else Fraction(1)


@lru_cache(maxsize=256)
def factor_above(epsilon: Fraction) -> Bound:
    """Return e^epsilon from above; infinite if epsilon exceeds 4096."""
    if epsilon > _LARGEST_EPSILON:
        return inf
    return round_up(arb.exp, epsilon, bits=176) if epsilon else Fraction(1)


def cut_off(law: Law) -> Fraction:
    """Return the mass that was not enumerated."""
    return high(law.get(CUT, Fraction(0)))


def _seen(p: Law, q: Law) -> Iterator[tuple[Fraction, Fraction]]:
    """Yield each view's probability under p from above and under q from below."""
    for seen, chance in p.items():
        if seen is not CUT and high(chance) > 0:
            yield high(chance), low(q.get(seen, Fraction(0)))


def require_laws(*laws: Law) -> None:
    """Check that all arguments are laws: mappings from answers to probabilities.

    Raises:
        TypeError: an argument is not a law.
    """
    for law in laws:
        if not isinstance(law, Mapping):
            raise TypeError(f"law is {quoted(law)}; it should be a mapping, as from view_law")
        for chance in law.values():
            if not isinstance(chance, Interval | Fraction | int | float):
                raise TypeError(f"probability is {quoted(chance)}; it should be a Fraction")


def hockey_stick(p: Law, q: Law, epsilon: Number) -> Fraction:
    """Return the sum of max(0, p - e^epsilon q), the least delta at epsilon, from above."""
    require_laws(p, q)
    factor = factor_below(exact(epsilon, "epsilon"))
    excess = (above - factor * below for above, below in _seen(p, q))
    return min(Fraction(1), sum((part for part in excess if part > 0), cut_off(p)))


def least_epsilon(p: Law, q: Law, delta: Fraction) -> Bound:
    """Return the least epsilon, from above, at which (epsilon, delta) holds in this direction."""
    enough = probability(delta)
    if enough == 0:
        return max_divergence(p, q)
    if not hockey_stick(p, q, _LARGEST_EPSILON) <= enough:
        return inf
    return least(lambda epsilon: hockey_stick(p, q, epsilon) <= enough)


def best_event(p: Law, q: Law, epsilon: Fraction) -> list[Any]:
    """Return the views with a positive term in the hockey-stick divergence, largest first."""
    factor = factor_below(epsilon)
    gains = {seen: low(p[seen]) - factor * high(q.get(seen, _NO)) for seen in p if seen is not CUT}
    return sorted((seen for seen in gains if gains[seen] > 0), key=lambda seen: -gains[seen])


def conditioned(p: Law, q: Law) -> tuple[Law, Law, Fraction]:
    """Condition both laws on the views that are possible under both.

    Laws without a cut-off tail are returned unchanged. A bound of alpha*rho on the Renyi
    divergences of the conditioned laws is delta-approximate rho-zCDP of the laws themselves (Bun,
    Steinke 2016, Definition 8.1), where delta is the excluded mass.

    Returns:
        Both conditioned laws, and the larger of the two probabilities of the excluded views.
    """
    if not cut_off(p) > 0 and not cut_off(q) > 0:
        return p, q, Fraction(0)
    both = [
        seen for seen in p if seen is not CUT and low(p[seen]) > 0 and low(q.get(seen, _NO)) > 0
    ]
    left_out = max(1 - sum((low(law[seen]) for seen in both), _NO) for law in (p, q))
    return _given(p, both), _given(q, both), left_out


_NO = Fraction(0)


def _given(law: Law, kept: Sequence[Any]) -> Law:
    least = sum((low(law[seen]) for seen in kept), _NO)
    most = sum((high(law[seen]) for seen in kept), _NO)
    return {seen: Interval(low(law[seen]) / most, high(law[seen]) / least) for seen in kept}


def hockey_stick_below(p: Law, q: Law, epsilon: Number) -> Fraction:
    """Return the hockey-stick divergence from below, so that a value above a claim refutes it.

    Every event gives a lower bound. The event here consists of all views with a positive term. Mass
    of q that was cut off may lie in the event, so it is subtracted.
    """
    factor = factor_above(exact(epsilon, "epsilon"))
    missed = cut_off(q)
    excess = Fraction(0)
    for seen, chance in p.items():
        against = high(q.get(seen, Fraction(0)))
        if seen is not CUT and not (against > 0 and factor == inf):
            excess += max(Fraction(0), low(chance) - _product(factor, against))
    return max(Fraction(0), excess - _product(factor, missed))


def _product(factor: Bound, chance: Fraction) -> Fraction:
    if chance == 0:
        return chance
    # 2 exceeds every probability
    return Fraction(2) if factor == inf else Fraction(factor) * chance


def privacy_profile(p: Law, q: Law, epsilons: Iterable[Number]) -> list[tuple[Fraction, Fraction]]:
    """Return (epsilon, least delta from above) for each epsilon, over both directions."""
    points = [exact(epsilon, "epsilon") for epsilon in several(epsilons, "epsilons")]
    return [(e, max(hockey_stick(p, q, e), hockey_stick(q, p, e))) for e in points]


def max_divergence(p: Law, q: Law) -> Bound:
    """Return max log(p/q) from above: the least epsilon of pure DP in this direction."""
    require_laws(p, q)
    if cut_off(p) > 0 or any(not below > 0 for _, below in _seen(p, q)):
        return inf
    return log_up(max([Fraction(1), *(above / below for above, below in _seen(p, q))]))


def renyi_divergence(p: Law, q: Law, alpha: Number) -> Bound:
    """Return D_alpha(p || q) for alpha > 1, from above; infinite if q is 0 where p > 0.

    Haney et al. 2023, Definition 4.1.
    """
    require_laws(p, q)
    order = positive(alpha, "alpha")
    if not order > 1:
        raise ValueError(f"alpha should be above 1 (a Renyi order); it is {alpha}")
    pairs = list(_seen(p, q))
    if cut_off(p) > 0 or any(not below > 0 for _, below in pairs):
        return inf
    flat = [chance for pair in pairs for chance in pair]
    return max(Fraction(0), round_up(_divergence_of, order, *flat)) if flat else Fraction(0)


def renyi_divergence_below(p: Law, q: Law, alpha: Number) -> Bound:
    """Return D_alpha(p || q) from below. All terms are positive, so a subset is a lower bound."""
    order = positive(alpha, "alpha")
    missed = cut_off(q)
    kept = [seen for seen, chance in p.items() if seen is not CUT and low(chance) > 0]
    pairs = [(low(p[seen]), high(q.get(seen, Fraction(0))) + missed) for seen in kept]
    if any(against == 0 for _, against in pairs):
        return inf
    flat = [chance for pair in pairs for chance in pair]
    return max(Fraction(0), round_down(_divergence_of, order, *flat)) if flat else Fraction(0)


def _divergence_of(a: arb, *chances: arb) -> arb:
    terms = (x * (x / y) ** (a - 1) for x, y in zip(chances[::2], chances[1::2], strict=True))
    moment: arb = sum(terms, arb(0))
    return moment.log() / (a - 1)


def trade_off(p: Law, q: Law) -> list[tuple[Fraction, Fraction]]:
    """Return the knots (type I error, type II error) of the best tests of p against q, from below.

    By the Neyman-Pearson lemma, the best test rejects p for the views with the largest q/p. The
    curve is straight between knots. It is exact for exact laws and a lower bound for enclosed ones.
    """
    require_laws(p, q)
    kinds = (p.keys() | q.keys()) - {CUT}
    pairs = [(low(p.get(each, Fraction(0))), high(q.get(each, Fraction(0)))) for each in kinds]
    pairs.sort(key=lambda pair: pair[0] / pair[1] if pair[1] else inf)
    first, second = Fraction(0), 1 - cut_off(q)
    knots = [(first, max(Fraction(0), second))]
    for rejected, detected in pairs:
        first, second = first + rejected, second - detected
        knots.append((first, max(Fraction(0), second)))
    return knots

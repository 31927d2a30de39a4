"""Bounds of time-uniform odometers, as balls (docs/theory/proofs/time_uniform.md).

V is twice the sum of the launches' rho, and `log` is log(1/delta).
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial

from flint import arb

from composition.rules.checks.compare import Verdict, any_within, ball, within
from composition.rules.checks.curves import below
from queryable.losses import Parts


def line(v: arb, log: arb, target: arb) -> arb:
    """The line that is least where it is at the target."""
    y = ((2 * log + 2 * target).sqrt() - (2 * log).sqrt()) ** 2
    return (2 * y * log).sqrt() / 2 + (2 * log).sqrt() / (2 * y.sqrt()) * v + v / 2


def mixture(v: arb, log: arb, gamma: arb) -> arb:
    """A normal mixture of lines."""
    level = ((v + gamma) / gamma).sqrt().log() + log
    return (2 * (v + gamma) * level).sqrt() + v / 2


def stitched(v: arb, log: arb, v0: arb) -> arb:
    """Stitched lines."""
    w = v.max(v0)
    iterated = (2 * w / v0).log().log() + arb("0.72") * (arb("5.2").log() + log)
    return arb("1.7") * (w * iterated).sqrt() + v / 2


def around(v: arb, log: arb, x: arb) -> arb:
    """Rogers et al. 2016, Lemma 6.4."""
    spread = (v + x) * (1 + (v / x + 1).log() / 2)
    return (2 * spread * (arb(2).log() + log)).sqrt() + v / 2


def inside(v: arb, log: arb, n: arb) -> arb:
    """Rogers et al. 2016, Theorem 6.5, for V in [1/n^2, 1]."""
    return (2 * v * ((110 * arb(1).exp()).log() + 2 * (n.log().log() + log))).sqrt() + v / 2


def outside(v: arb, log: arb, n: arb) -> arb:
    """The same, elsewhere."""
    spread = (1 / n**2 + v) * (1 + (1 + n**2 * v).log() / 2)
    return (2 * spread * ((4 * n.log() / arb(2).log()).log() + log)).sqrt() + v / 2


def bound_within(
    bound: Callable[[arb, arb, arb], arb],
    variance: Fraction,
    delta: Fraction,
    parameter: Fraction | int,
    room: Fraction,
) -> Verdict:
    """Whether one of the bounds above is within a room above 0."""
    return within(
        lambda: bound(ball(variance), -ball(delta).log(), ball(Fraction(parameter))), room
    )


def one_sided_within(
    variance: Fraction, delta: Fraction, gamma: Fraction, room: Fraction
) -> Verdict:
    """Whether the left side of the mixture's equation, at s = room - V/2, is at least 1/delta."""
    s = room - variance / 2
    if s <= 0:
        return False

    def least_delta() -> arb:
        total, at = ball(variance + gamma), ball(s)
        grown = (at**2 / (2 * total)).exp() * below(at / total.sqrt())
        return 1 / (2 * (ball(gamma) / total).sqrt() * grown)

    return within(least_delta, delta)


def some_order_within(
    orders: Sequence[Fraction],
    weights: Sequence[Fraction],
    sums: Parts,
    delta: Fraction,
    room: Fraction,
) -> Verdict:
    """Whether the least bound over orders is within a room: it is if one of them is."""

    def at(order: Fraction, weight: Fraction, spent: Fraction) -> arb:
        return ball(spent) - (ball(delta) * ball(weight)).log() / ball(order - 1)

    each = zip(orders, weights, sums, strict=True)
    return any_within(within(partial(at, *numbers), room) for numbers in each)


def delta_within(
    delta: Fraction, deltas: Fraction | None, margin: Fraction | None, most: Fraction
) -> Verdict:
    """Whether delta + deltas/(1 - e^-margin) is at most a limit."""
    if deltas is None or margin is None:
        return delta <= most
    return within(lambda: ball(delta) + ball(deltas) / -(-ball(margin)).expm1(), most)


def stays_within(
    bounded: Callable[[Parts, Fraction], Verdict],
    amounts: Parts,
    deltas: Fraction | None,
    margin: Fraction | None,
    epsilon: Fraction,
) -> Verdict:
    """Whether a bound, and the margin once a launch has a delta, is at most epsilon.

    Args:
        bounded: whether the bound at some sums is within a room above 0.
        amounts: the sums, that of the deltas last if these have a share.
    """
    pure, used = (amounts, Fraction(0)) if deltas is None else (amounts[:-1], amounts[-1])
    if deltas is not None and not used <= deltas:
        return False
    room = epsilon - (margin if used and margin is not None else 0)
    if not any(pure):
        return room >= 0
    return bounded(pure, room) if room > 0 else False

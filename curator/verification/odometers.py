"""Bounds of time-uniform odometers, as balls (docs/theory/proofs/time_uniform.md).

V is twice the sum of the launches' rho. Each odometer is given as the JSON object of its tag.
"""

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from typing import Any

from flint import arb

from curator.verification.compare import Verdict, all_within, ball, within
from curator.verification.curves import below

Bound = Callable[[arb, arb, Mapping[str, Any]], arb]


def _linear(v: arb, log: arb, odometer: Mapping[str, Any]) -> arb:
    target = ball(Fraction(odometer["target_epsilon"]))
    y = ((2 * log + 2 * target).sqrt() - (2 * log).sqrt()) ** 2
    return (2 * y * log).sqrt() / 2 + (2 * log).sqrt() / (2 * y.sqrt()) * v + v / 2


def _mixture(v: arb, log: arb, odometer: Mapping[str, Any]) -> arb:
    gamma = ball(Fraction(odometer["gamma"]))
    level = ((v + gamma) / gamma).sqrt().log() + log
    return (2 * (v + gamma) * level).sqrt() + v / 2


def _stitched(v: arb, log: arb, odometer: Mapping[str, Any]) -> arb:
    v0 = ball(Fraction(odometer["v0"]))
    w = v.max(v0)
    iterated = (2 * w / v0).log().log() + arb("0.72") * (arb("5.2").log() + log)
    return arb("1.7") * (w * iterated).sqrt() + v / 2


def _lemma(v: arb, log: arb, odometer: Mapping[str, Any]) -> arb:
    x = ball(Fraction(odometer["x"]))
    spread = (v + x) * (1 + (v / x + 1).log() / 2)
    return (2 * spread * (arb(2).log() + log)).sqrt() + v / 2


def _theorem_inside(v: arb, log: arb, odometer: Mapping[str, Any]) -> arb:
    loglog = arb(odometer["n"]).log().log()
    return (2 * v * ((110 * arb(1).exp()).log() + 2 * (loglog + log))).sqrt() + v / 2


def _theorem_outside(v: arb, log: arb, odometer: Mapping[str, Any]) -> arb:
    n = arb(odometer["n"])
    spread = (1 / n**2 + v) * (1 + (1 + n**2 * v).log() / 2)
    return (2 * spread * ((4 * n.log() / arb(2).log()).log() + log)).sqrt() + v / 2


_BOUNDS: dict[str, Bound] = {
    "linear-odometer/1": _linear,
    "mixture-odometer/1": _mixture,
    "stitched-odometer/1": _stitched,
    "rogers-lemma-64-odometer/1": _lemma,
}


TAGS = frozenset({*_BOUNDS, "one-sided-mixture-odometer/1", "renyi-odometer/1"}) | {
    "rogers-2016-odometer/1"
}
"""All time-uniform odometers."""


def share_of_deltas(odometer: Mapping[str, Any]) -> Fraction | None:
    """The largest sum of the launches' deltas; None if they may have none."""
    return None if odometer.get("deltas") is None else Fraction(odometer["deltas"])


def delta_within(odometer: Mapping[str, Any], most: Fraction) -> Verdict:
    """Whether delta + deltas/(1 - e^-margin) is at most a limit."""
    delta, deltas = Fraction(odometer["delta"]), share_of_deltas(odometer)
    if deltas is None:
        return delta <= most
    margin = Fraction(odometer["margin"])
    return within(lambda: ball(delta) + ball(deltas) / -(-ball(margin)).expm1(), most)


def bound_within(
    odometer: Mapping[str, Any], parts: tuple[Fraction, ...], epsilon: Fraction
) -> Verdict:
    """Whether the bound after launches that sum to `parts` is at most epsilon.

    Raises:
        KeyError: an unknown odometer.
    """
    deltas = share_of_deltas(odometer)
    pure, used = (parts, Fraction(0)) if deltas is None else (parts[:-1], parts[-1])
    if deltas is not None and not used <= deltas:
        return False
    room = epsilon - (Fraction(odometer["margin"]) if used else 0)
    if not any(pure):
        return room >= 0
    if room <= 0:
        return False
    delta = Fraction(odometer["delta"])

    def log() -> arb:
        return -ball(delta).log()

    variance = 2 * pure[0]
    match odometer["@"]:
        case "renyi-odometer/1":
            return _renyi(odometer, pure, log, room, stated=deltas is None)
        case "one-sided-mixture-odometer/1":
            return _one_sided(variance, Fraction(odometer["gamma"]), delta, room)
        case "rogers-2016-odometer/1":
            is_inside = Fraction(1, int(odometer["n"]) ** 2) <= variance <= 1
            bound: Bound = _theorem_inside if is_inside else _theorem_outside
        case tag:
            bound = _BOUNDS[tag]
    return within(lambda: bound(ball(variance), log(), odometer), room)


def _renyi(
    odometer: Mapping[str, Any],
    pure: tuple[Fraction, ...],
    log: Callable[[], arb],
    room: Fraction,
    *,
    stated: bool,
) -> Verdict:
    """The least over orders: within if it is within at one of them."""
    orders = [Fraction(order) for order in odometer["orders"]]
    sums = pure if stated else tuple(order * pure[0] for order in orders)
    weights = odometer.get("weights") or [Fraction(1, len(orders))] * len(orders)

    def at(weight: Any, order: Fraction, spent: Fraction) -> arb:
        return ball(spent) + (log() - ball(Fraction(weight)).log()) / ball(order - 1)

    each = zip(weights, orders, sums, strict=True)
    told = [within(partial(at, *numbers), room) for numbers in each]
    opposite = all_within(None if one is None else not one for one in told)
    return None if opposite is None else not opposite


def _one_sided(variance: Fraction, gamma: Fraction, delta: Fraction, room: Fraction) -> Verdict:
    """Whether the left side of the mixture's equation, at s = room - V/2, is at least 1/delta."""
    s = room - variance / 2
    if s <= 0:
        return False

    def least_delta() -> arb:
        total, at = ball(variance + gamma), ball(s)
        grown = (at**2 / (2 * total)).exp() * below(at / total.sqrt())
        return 1 / (2 * (ball(gamma) / total).sqrt() * grown)

    return within(least_delta, delta)

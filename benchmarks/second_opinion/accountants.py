"""What dp-accounting and OpenDP compute for the draws of a charge. Runs in their environment.

Reads questions as JSON from standard input, one a line, and writes one answer a line. It imports
nothing of this project, so that no formula of ours is in an answer.

Every answer is a lower bound of what the draws lose, up to rounding of floats:

- PLD: dp-accounting's *optimistic* estimate, whose losses are rounded down to a grid, of one change
  of the data that the declared sensitivities permit, at delta + `SPARE`.
- RDP: dp-accounting's accountant. Its formula for Gaussian noise is exact for continuous noise. For
  discrete noise it is the known bound, and nothing smaller is claimed here.
- OpenDP: the privacy map of its own mechanism with the same noise.

Draws that an accountant does not know are left out, which only makes an answer smaller. They are
counted.
"""

import json
import math
import sys
from collections import Counter
from fractions import Fraction

import opendp.prelude as odp
from dp_accounting import (
    ComposedDpEvent,
    GaussianDpEvent,
    NeighboringRelation,
    RandomizedResponseDpEvent,
    SelfComposedDpEvent,
    dp_event,
)
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.rdp import RdpAccountant

odp.enable_features("contrib", "idealized-numerics", "honest-but-curious")

SPARE = 1e-11
"""More than what Fourier transforms and cut tails add to a delta."""
WIDEST = 30_000
"""Discrete noise of a larger scale, or moved by more, takes too long."""
MOST_ENTRIES = 10_000


def above(value):
    near = float(value)
    return near if Fraction(near) >= value else math.nextafter(near, math.inf)


def below(value):
    near = float(value)
    return near if Fraction(near) <= value else math.nextafter(near, -math.inf)


def number(text):
    return None if text is None else Fraction(text)


def moves(norms):
    """Integers by which one record may move the entries, largest first, as far as norms permit."""
    l1, linf = number(norms["l1"]), number(norms["linf"])
    squared, left = number(norms["l2"]) ** 2, norms["entries"]
    found = Counter()
    while left:
        size = min(math.floor(linf), math.floor(l1), math.isqrt(math.floor(squared)))
        if size < 1:
            break
        many = min(left, math.floor(l1 / size), math.floor(squared / size**2), MOST_ENTRIES)
        found[size] += many
        l1, squared, left = l1 - many * size, squared - many * size**2, left - many
        linf = min(linf, size - 1)
    return found


def response(draw):
    """The odds of a true answer, rounded down, and delta."""
    if draw["odds"] is not None:
        return below(number(draw["odds"])), float(number(draw["delta"]))
    odds = math.exp(float(number(draw["epsilon"]))) * (1 - 2**-50)
    return max(odds, 1.0), float(number(draw["delta"]))


def two_points(up, down, interval):
    """The distribution of losses between two laws, each a list of probabilities."""

    def logs(law):
        return {place: math.log(each) for place, each in enumerate(law) if each > 0}

    return pld.from_two_probability_mass_functions(
        logs(down), logs(up), False, interval, symmetric=False
    )


def choice_laws(draw, d_in):
    """The laws of a choice between two candidates; None if the case has no such choice."""
    size = number(draw["sensitivity"])
    if draw["times"] != 1 or draw["candidates"] < 2 or size.denominator != 1:
        return None
    moved = int(size) * d_in * (1 if draw["monotone"] else 2)
    rate = below(number(draw["rate"]))
    if draw["flips"]:  # equal scores, and then one that is ahead by all of it
        rest = math.exp(-rate * moved) / 2
        return [0.5, 0.5], [rest, 1 - rest]
    behind = math.ceil(3 / rate)  # chosen with a probability of about 1/20: the range is one-sided
    return tuple(
        [1 / (1 + math.exp(rate * gap)), 1 / (1 + math.exp(-rate * gap))]
        for gap in (behind, behind + moved)
    )


def losses(draw, d_in, interval):
    """The distributions of privacy loss of one draw, each with its number; None if unknown."""
    match draw["law"]:
        case "discrete gaussian":
            sigma, found = above(number(draw["variance"])) ** 0.5 * (1 + 2**-50), []
            for size, many in moves(draw["sensitivity"]).items():
                moved = size * d_in
                if sigma > WIDEST or moved > WIDEST:
                    return None
                one = pld.from_discrete_gaussian_mechanism(
                    sigma, moved, math.ceil(11.6 * sigma) + moved, False, interval
                )
                found.append((one, many * draw["times"]))
            return found
        case "discrete laplace":
            rate, found = below(1 / number(draw["scale"])), []
            for size, many in moves(draw["sensitivity"]).items():
                if size * d_in > WIDEST:
                    return None
                one = pld.from_discrete_laplace_mechanism(rate, size * d_in, False, interval)
                found.append((one, many * draw["times"]))
            return found
        case "randomized response":
            odds, delta = response(draw)
            true, false = (1 - delta) * odds / (1 + odds), (1 - delta) / (1 + odds)
            return [(two_points([true, false, delta, 0], [false, true, 0, delta], interval), 1)]
        case "choice by score":
            laws = choice_laws(draw, d_in)
            return None if laws is None else [(two_points(*laws, interval), 1)]
    return None


def grouped(question):
    """Each draw at its d_in, once, with how often it was drawn."""
    found = Counter((json.dumps(draw), d_in) for draw, d_in in question["draws"])
    return [(json.loads(draw), d_in, many) for (draw, d_in), many in found.items()]


def by_pld(question, asked):
    whole, interval, missing = None, asked["interval"], 0
    for draw, d_in, many in grouped(question):
        parts = losses(draw, d_in, interval)
        missing += parts is None
        for one, times in parts or ():
            composed = one if times * many == 1 else one.self_compose(times * many)
            whole = composed if whole is None else whole.compose(composed)
    if whole is None:
        return None
    deltas = [float(Fraction(each)) + SPARE for each in asked["deltas"]]
    return {"values": [whole.get_epsilon_for_delta(each) for each in deltas], "missing": missing}


def gaussian_or_response(draw, d_in):
    if draw["law"] == "discrete gaussian":
        moved = number(draw["sensitivity"]["l2"]) * d_in
        if not moved:
            return dp_event.NoOpDpEvent()
        one = GaussianDpEvent(math.sqrt(above(number(draw["variance"]) / moved**2)))
        return SelfComposedDpEvent(one, draw["times"])
    if draw["law"] == "randomized response" and number(draw["delta"]) == 0:
        odds, _ = response(draw)
        return RandomizedResponseDpEvent(2 / (1 + odds), 2)
    return None


def by_rdp(question, asked):
    events, missing = [], 0
    for draw, d_in, many in grouped(question):
        event = gaussian_or_response(draw, d_in)
        missing += event is None
        events += [] if event is None else [SelfComposedDpEvent(event, many)]
    if not events:
        return None
    orders = [float(Fraction(each)) for each in asked["orders"]]
    accountant = RdpAccountant(orders, NeighboringRelation.REPLACE_ONE)
    accountant.compose(ComposedDpEvent(events))
    return {"values": [float(each) for each in accountant._rdp], "missing": missing}


def has_bounded_range(draw, d_in):
    """Whether epsilon^2/8 is the least known zCDP bound: from about 8 on, the pure one is less."""
    epsilon = number(draw["rate"]) * number(draw["sensitivity"]) * (1 if draw["monotone"] else 2)
    return not draw["flips"] and epsilon * d_in < Fraction(79, 10)


def mechanism(draw, d_in, pure):
    """OpenDP's own mechanism with the same draws, its distance and how often it runs; or None."""
    vector = odp.vector_domain(odp.atom_domain(T=int))
    match draw["law"]:
        case "discrete gaussian" if not pure:
            scale = above(number(draw["variance"])) ** 0.5 * (1 + 2**-50)
            moved = below(number(draw["sensitivity"]["l2"]) * d_in)
            one = odp.m.make_gaussian(vector, odp.l2_distance(T=float), scale=scale)
            return one, moved, draw["times"]
        case "discrete laplace" if pure:
            moved = below(number(draw["sensitivity"]["l1"]) * d_in)
            scale = above(number(draw["scale"]))
            one = odp.m.make_laplace(vector, odp.l1_distance(T=float), scale=scale)
            return one, moved, draw["times"]
        case "randomized response" if pure and number(draw["delta"]) == 0:
            odds, _ = response(draw)
            return odp.m.make_randomized_response_bool(prob=odds / (1 + odds)), 1, 1
        case "choice by score" if pure or has_bounded_range(draw, d_in):
            size = number(draw["sensitivity"])
            scale = above(1 / number(draw["rate"]) / size)
            metric = odp.linf_distance(T=int, monotonic=draw["monotone"])
            measure = odp.max_divergence() if pure else odp.zero_concentrated_divergence()
            if draw["flips"] or draw["times"] == 1:
                one = odp.m.make_noisy_max(vector, metric, measure, scale=scale)
                return one, d_in, draw["times"]
            one = odp.m.make_noisy_top_k(vector, metric, measure, k=draw["times"], scale=scale)
            return one, d_in, 1
    return None


def by_opendp(question, asked):
    total, missing, known = 0.0, 0, False
    for draw, d_in, many in grouped(question):
        found = mechanism(draw, d_in, asked["measure"] == "PureDP")
        missing += found is None
        if found is not None:
            one, moved, times = found
            total += one.map(moved) * times * many
            known = True
    return {"values": [total], "missing": missing} if known else None


ACCOUNTANTS = {"PLD": by_pld, "RDP": by_rdp, "OpenDP": by_opendp}


def answered(question):
    return [ACCOUNTANTS[asked["by"]](question, asked) for asked in question["asked"]]


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(answered(json.loads(line))), flush=True)

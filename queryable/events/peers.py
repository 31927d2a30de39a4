"""A charge as an event of `dp_accounting`, the accountant library of Google's DP team.

Responsible for the choice of the event and for its parameters, which are rounded against the
analyst, so that an accountant never reports less than the charge's own law loses:

* discrete Gaussian noise is `GaussianDpEvent` at the mu of `discrete_gaussian_to_gdp`, which is a
  little above that of continuous noise of the same sigma;
* discrete Laplace noise on one integer is `DiscreteLaplaceDpEvent`;
* randomized response without a delta is `RandomizedResponseDpEvent`;
* whatever else has a bound in zCDP is `ZCDpEvent`: the least of the claim, the charge's loss and
  the composition of choices. Under ex-post accounting the loss of a launch is no bound, as its
  answers are charged later.
"""

from fractions import Fraction
from math import ceil, inf, nextafter
from typing import Any

from queryable.events.charge import Charge
from queryable.events.laws import (
    ChoiceEvent,
    Event,
    GaussianEvent,
    LaplaceEvent,
    ResponseEvent,
    Sensitivity,
)
from queryable.losses import ZCDP, ExPostBound, Loss
from queryable.losses.conversions import discrete_gaussian_to_gdp, pure_to_zcdp
from queryable.losses.numbers import round_down


def dp_event(charge: Charge) -> Any:
    """Return the event; None if there is none."""
    drawn = [_drawn(each, charge.d_in) for each in charge.draws or ()]
    found = [each for each in drawn if each is not None]
    if not found or len(found) < len(drawn):
        return _bound(charge)
    from dp_accounting import dp_event as theirs

    return found[0] if len(found) == 1 else theirs.ComposedDpEvent(found)


def _drawn(event: Event, d_in: int) -> Any:
    from dp_accounting import dp_event as theirs

    match event:
        case GaussianEvent(variance, moved, times) if moved.l2:
            mu = moved.l2 * d_in * discrete_gaussian_to_gdp(variance)
            one = theirs.GaussianDpEvent(below(1 / mu))
        case LaplaceEvent(scale, moved, times) if moved.l1 and _one_moves(moved, d_in):
            one = theirs.DiscreteLaplaceDpEvent(above(1 / scale), ceil(moved.l1 * d_in))
        case ResponseEvent(epsilon, odds, 0):
            return theirs.RandomizedResponseDpEvent(_noise(epsilon, odds), 2)
        case _:
            return None
    return one if times == 1 else theirs.SelfComposedDpEvent(one, times)


def _one_moves(moved: Sensitivity, d_in: int) -> bool:
    """Whether at most one integer moves."""
    return moved.entries == 1 or moved.l1 * d_in < 2


def _noise(epsilon: Fraction | None, odds: Fraction | None) -> float:
    """The probability that a bit is drawn anew: 2 / (1 + odds), rounded down."""
    if odds is not None:
        return below(2 / (1 + odds))
    assert epsilon is not None
    return below(round_down(lambda e: 2 / (1 + e.exp()), epsilon))


def choice_rho(event: ChoiceEvent, d_in: int) -> Fraction:
    """The zCDP loss of choices: that of their bounded range, except of permute-and-flip."""
    epsilon = event.epsilon * d_in
    pure = pure_to_zcdp(epsilon)
    return event.times * (pure if event.flips else min(pure, epsilon**2 / 8))


def _bound(charge: Charge) -> Any:
    from dp_accounting import dp_event as theirs

    found = []
    later = isinstance(charge.total, ExPostBound)  # then answers cost more than the launch
    for loss in (charge.claim,) if later else (charge.loss, charge.claim):
        try:
            converted = loss.to(ZCDP) if isinstance(loss, Loss) else None
        except ValueError:
            converted = None
        if isinstance(converted, ZCDP):
            found.append(converted.rho)
    choices = [each for each in charge.draws or () if isinstance(each, ChoiceEvent)]
    if choices and len(choices) == len(charge.draws or ()):
        found += [sum((choice_rho(each, charge.d_in) for each in choices), Fraction(0))]
    return theirs.ZCDpEvent(above(min(found))) if found else None


def above(value: Fraction) -> float:
    """The float at or next above a number."""
    near = float(value)
    return near if Fraction(near) >= value else nextafter(near, inf)


def below(value: Fraction) -> float:
    """The float at or next below a number."""
    near = float(value)
    return near if Fraction(near) <= value else nextafter(near, -inf)

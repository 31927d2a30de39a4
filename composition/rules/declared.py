"""Losses that are declared in advance: a measure for all of them, and the least epsilon.

Nothing here is valid for a filter. When all parameters are fixed before anything is answered, the
total may be converted at the order that is best for it. A filter must weight its orders in advance,
because its launches depend on answers.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from fractions import Fraction
from functools import cache, partial
from math import prod
from typing import Any

from composition.rules.optimal import optimal_epsilon
from composition.rules.pairs import least_epsilon
from queryable.effort import is_quick
from queryable.errors import PrivacyClaimError, QueryError, UnprovenCompositionError
from queryable.losses import (
    GDP,
    RDP,
    ZCDP,
    ApproxDP,
    ApproxZCDP,
    Dominated,
    Loss,
    Measure,
    PureDP,
)
from queryable.losses.numbers import shown
from queryable.losses.renyi import common_orders
from queryable.losses.tradeoff import FDP
from queryable.mechanism import InteractiveMechanism

_MOST_QUICK = 512
"""How many different sums of losses are computed for a query of an analyst."""

_HARDLY_MORE = 1 + Fraction(1, 2**12)

Statement = Callable[[Measure | None], Loss]
"""Gives one loss in a measure, or in its own measure for None."""


def common_measure(statements: Iterable[Statement]) -> Measure:
    """The measure of all losses, or the first one that all of them convert to, own ones first.

    Raises:
        PrivacyClaimError: there is no such measure, or a mechanism states no loss.
    """
    statements = tuple(statements)
    own = [state(None).measure for state in statements] or [PureDP]
    if all(measure == own[0] for measure in own):
        return own[0]
    measures = (PureDP, ApproxDP, GDP, ZCDP, ApproxZCDP, FDP, *_renyi(statements))
    for measure in sorted(measures, key=lambda each: each not in own):
        with suppress(ValueError):
            for state in statements:
                state(measure)
            return measure
    raise PrivacyClaimError(
        "no measure takes the losses of all these mechanisms; compose those of one measure"
    )


def maps_at(mechanisms: Iterable[InteractiveMechanism[Any]], d_in: int) -> tuple[Statement, ...]:
    """The losses of the mechanisms at `d_in` records."""
    return tuple(partial(mechanism.privacy_map, d_in) for mechanism in mechanisms)


def least_at(
    statements: Iterable[Statement],
    delta: Fraction,
    composed: Callable[[Measure], Loss],
    *,
    grid: bool,
) -> tuple[ApproxDP, Measure]:
    """The least epsilon at this delta, and the measure that the losses were composed in.

    `FDP` is among the measures: fixed trade-off curves compose by their product (Vadhan, Zhang
    2023).

    Args:
        statements: the losses.
        composed: gives all losses composed in a measure.
        grid: whether trade-off curves are composed, on a grid of losses.

    Raises:
        ValueError: no epsilon goes with `delta`.
        QueryError: the grid takes too long for a query of an analyst.
    """
    statements = tuple(statements)
    _require_few(statements)
    measures: list[Measure] = []
    if any(not isinstance(stated(None), PureDP | ApproxDP) for stated in statements):
        with suppress(PrivacyClaimError):
            measures.append(common_measure(statements))
        others = (GDP, ZCDP, ApproxZCDP, Dominated, *_renyi(statements))
        measures += [each for each in others if each not in measures]
    found: list[tuple[ApproxDP, Measure]] = []
    for measure in measures:
        with suppress(ValueError, PrivacyClaimError, UnprovenCompositionError):
            bound = composed(measure).to(ApproxDP, delta)
            assert isinstance(bound, ApproxDP)
            found.append((bound, measure))
    with suppress(ValueError, PrivacyClaimError):
        if grid and (pairs := _pairs(statements)):
            _require_time()
            found.append((ApproxDP(least_epsilon(pairs, delta), delta), FDP))
    try:
        losses = _shared(statements, delta)
        found.append((ApproxDP(optimal_epsilon(losses, delta), delta), ApproxDP))
    except ValueError:
        if not found:
            raise
    return min(found, key=lambda each: each[0].epsilon)


def _pairs(statements: Iterable[Statement]) -> list[Loss]:
    """The losses as responses, Gaussians and trade-off curves; none if there are only responses.

    Raises:
        ValueError: one of them has no trade-off curve.
    """
    pairs: list[Loss] = []
    response = cache(PureDP.to)
    for stated in statements:
        match stated(None):
            case Dominated(epsilon, mu, delta):
                pairs += [ApproxDP(epsilon, delta), GDP(mu)]
            case ApproxDP() | GDP() as own:
                pairs.append(own)
            case PureDP() as own:
                curve = stated(FDP)
                pairs.append(own if curve == response(own, FDP) else curve)
            case own:
                pairs.append(_gaussian(stated, own) or stated(FDP))
    return pairs if any(not isinstance(pair, PureDP | ApproxDP) for pair in pairs) else []


def _require_time() -> None:
    """Check that this is no query of an analyst. The claim must not depend on who asks.

    Raises:
        QueryError: it is one.
    """
    if is_quick():
        raise QueryError(
            "write ConComp(.., grid=False): its claim by a grid of trade-off curves takes too long "
            "for one message to this curator"
        )


def _gaussian(stated: Statement, own: Loss) -> GDP | None:
    """The loss in Gaussian DP, if that is hardly more than its own in zCDP."""
    if isinstance(own, ZCDP):
        with suppress(ValueError, PrivacyClaimError):
            loss = stated(GDP)
            if isinstance(loss, GDP) and loss.mu**2 <= 2 * own.rho * _HARDLY_MORE:
                return loss
    return None


def _renyi(statements: Iterable[Statement]) -> list[Measure]:
    """Renyi privacy at the orders of the curves, if some losses are curves."""
    orders = common_orders(stated(None) for stated in statements)
    return [RDP.at(*orders)] if orders else []


def _require_few(statements: tuple[Statement, ...]) -> None:
    """Check that optimal composition is little work, where it has to be.

    Raises:
        PrivacyClaimError: it is not.
    """
    if is_quick():
        sums = prod(count + 1 for count in Counter(stated(None) for stated in statements).values())
        if not sums <= _MOST_QUICK:
            raise PrivacyClaimError(
                f"with delta, losses with over {_MOST_QUICK} different sums are too much work; "
                "give the mechanisms equal losses, take fewer of them, or leave delta out"
            )


def _shared(statements: Iterable[Statement], delta: Fraction) -> list[Loss]:
    """Every loss as (epsilon_i, delta_i).

    A loss that can be stated at any delta gets an equal share of what the other deltas leave.
    """
    declared: list[Loss] = []
    free: list[Loss] = []
    for stated in statements:
        try:
            declared.append(stated(ApproxDP))
        except ValueError:
            free.append(stated(None))
    if not free:
        return declared
    taken = sum(map(_own_delta, (*declared, *free)), Fraction(0))
    if not taken < delta:
        raise ValueError(
            f"delta is {shown(delta)} and the mechanisms' own come to {shown(taken)}; it should be "
            f"larger: {free[0]} needs a part of it"
        )
    share = (delta - taken) / len(free)
    return declared + [loss.to(ApproxDP, _own_delta(loss) + share) for loss in free]


def _own_delta(loss: Loss) -> Fraction:
    return loss.delta if isinstance(loss, ApproxDP | ApproxZCDP) else Fraction(0)

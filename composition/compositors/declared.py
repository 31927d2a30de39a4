"""The least epsilon of losses that are declared in advance, at a given delta.

Responsible for choosing between two valid bounds. Nothing here is for a filter: with parameters
that are fixed before anything is answered, a conversion at the order that is best for the total is
a theorem about the whole, while the orders of a filter have to be weighted in advance.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from fractions import Fraction

from composition.compositors.fixed import Statement, common_measure
from composition.rules.optimal import optimal_epsilon
from queryable.errors import PrivacyClaimError, UnprovenCompositionError
from queryable.losses.measures import GDP, ZCDP, ApproxDP, ApproxZCDP, Loss, Measure, PureDP
from queryable.losses.numbers import shown


def least_at(
    statements: Iterable[Statement], delta: Fraction, composed: Callable[[Measure], Loss]
) -> tuple[ApproxDP, Measure]:
    """The bound at this delta, and the measure that it was composed in.

    Args:
        statements: each loss, as it can be stated in a measure.
        composed: all of them composed in a measure.

    Raises:
        ValueError: no epsilon goes with `delta`.
    """
    statements = tuple(statements)
    measures: list[Measure] = []
    if any(not isinstance(stated(None), PureDP | ApproxDP) for stated in statements):
        with suppress(PrivacyClaimError):
            measures.append(common_measure(statements))
        measures += [each for each in (GDP, ZCDP, ApproxZCDP) if each not in measures]
    found: list[tuple[ApproxDP, Measure]] = []
    for measure in measures:
        with suppress(ValueError, PrivacyClaimError, UnprovenCompositionError):
            bound = composed(measure).to(ApproxDP, delta)
            assert isinstance(bound, ApproxDP)
            found.append((bound, measure))
    try:
        losses = _shared(statements, delta)
        found.append((ApproxDP(optimal_epsilon(losses, delta), delta), ApproxDP))
    except ValueError:
        if not found:
            raise
    return min(found, key=lambda each: each[0].epsilon)


def _shared(statements: Iterable[Statement], delta: Fraction) -> list[Loss]:
    """Every loss as (epsilon_i, delta_i); those with a free delta share what the others leave."""
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

"""What is checked about a launch before any rule is asked: that it parses and that it is true.

Responsible for steps 1 to 3 of a launch (docs/theory.md, order of a launch). Touches no data.
"""

from typing import Any

import attrs

from composition import validity
from queryable.errors import PrivacyClaimError, QueryError
from queryable.losses import Loss, Measure, measure_name
from queryable.mechanism import InteractiveMechanism
from queryable.messages import Ask, Launch, Query
from queryable.numbers import natural
from queryable.statistics import Bit, IntegerStatistic

DEEPEST = 150


@attrs.frozen
class Claimed:
    """A mechanism as it will run, and the loss it is charged."""

    mechanism: InteractiveMechanism[Any]
    loss: Loss


def claimed(launch: Any, measure: Measure, d_in: int, *, interleaved: bool = True) -> Claimed:
    """Check a launch and freeze its claim: the map is evaluated here and never again for it.

    Raises:
        QueryError: not a launch of a mechanism.
        PrivacyClaimError: no map in `measure`, or `d_out` is below it.
        UnprovenCompositionError: no theorem covers the launch.
    """
    if not isinstance(launch, Launch):
        raise QueryError(f"expected a Launch, got {named(launch)}")
    mechanism = launch.mechanism
    if not isinstance(mechanism, InteractiveMechanism):
        raise QueryError(f"a launch takes an interactive mechanism, not {named(mechanism)}")
    if launch.d_out is not None:
        if not isinstance(launch.d_out, Loss):
            raise PrivacyClaimError(f"d_out should be a privacy loss, not {named(launch.d_out)}")
        mechanism = _within(mechanism, launch.d_out, d_in)
    loss = map_at(mechanism, d_in, measure)
    if launch.d_out is not None:
        d_out = _converted(launch.d_out, measure)
        if not loss <= d_out:
            raise PrivacyClaimError(
                f"d_out is {d_out}, below the privacy map: {loss} at {d_in}; leave d_out out to be "
                "charged the map, or give at least that"
            )
        loss = d_out
    if interleaved:
        validity.require_proof(mechanism, measure, d_in)
    return Claimed(mechanism, loss)


def _within(
    mechanism: InteractiveMechanism[Any], d_out: Loss, d_in: int
) -> InteractiveMechanism[Any]:
    try:
        return mechanism.within(d_out, d_in)
    except QueryError:
        raise
    except Exception as error:
        name = type(mechanism).__name__
        raise PrivacyClaimError(f"{name} does not run within {d_out}: {error}") from None


def map_at(mechanism: InteractiveMechanism[Any], d_in: int, measure: Measure | None) -> Loss:
    """The privacy map, with every way it can be wrong turned into a `PrivacyClaimError`."""
    name = type(mechanism).__name__
    try:
        loss = mechanism.privacy_map(d_in, measure)
    except QueryError:
        raise
    except Exception as error:
        wanted = "" if measure is None else f" in {measure_name(measure)}"
        hint = validity.hint(mechanism, d_in, measure)
        raise PrivacyClaimError(f"{name} states no loss{wanted}: {error}{hint}") from None
    if not isinstance(loss, Loss):
        raise PrivacyClaimError(f"the privacy map of {name} gave {named(loss)}, not a loss")
    if measure is not None and loss.measure != measure:
        raise PrivacyClaimError(
            f"the privacy map of {name} gave {loss}, asked for {measure_name(measure)}"
        )
    return loss


def _converted(d_out: Loss, measure: Measure) -> Loss:
    try:
        return d_out.to(measure)
    except ValueError as error:
        raise PrivacyClaimError(f"d_out: {error}") from None


def max_depth_field(value: Any) -> int:
    """How deep an `Ask` may be nested: as deep as Python's own stack surely takes."""
    depth = natural(value, "max_depth")
    if depth > DEEPEST:
        raise ValueError(f"max_depth is {depth}; it should be at most {DEEPEST}")
    return depth


def require_depth(query: Query, max_depth: int) -> None:
    """Refuse a query nested deeper than a public bound.

    Raises:
        QueryError: it is.
    """
    depth = 0
    while isinstance(query, Ask):
        query, depth = query.query, depth + 1
        if depth > max_depth:
            raise QueryError(f"the query is nested deeper than max_depth={max_depth}")


def named(value: object) -> str:
    """What an analyst sent, for an error message."""
    if isinstance(value, type):
        return f"the class {value.__name__}; make an instance of it"
    if isinstance(value, IntegerStatistic | Bit):
        return f"{type(value).__name__}, a function of the data; wrap it in one that adds noise"
    return type(value).__name__

"""What is checked about a launch before any rule is asked: that it parses and that it is true.

Responsible for steps 1 and 2 of a launch (docs/theory.md, order of a launch). Touches no data.
"""

from typing import Any, ClassVar

import attrs

from composition.proofs import hint
from queryable.errors import PrivacyClaimError, QueryError
from queryable.faults import called
from queryable.losses.measures import (
    AdditiveLoss,
    ApproxDP,
    Loss,
    Measure,
    PureDP,
    genuine,
    group_size,
    measure_name,
    stated_in,
)
from queryable.losses.numbers import natural
from queryable.mechanism import InteractiveMechanism
from queryable.messages import Ask, Launch, Query
from queryable.statistics import Bit, IntegerStatistic

DEEPEST = 150


@attrs.frozen
class Claimed:
    """A mechanism as it will run, and the loss it is charged: all of it, at its launch.

    The methods say what may differ: `Metered` is charged as it answers.
    """

    mechanism: InteractiveMechanism[Any]
    loss: Loss
    coined: bool = attrs.field(default=False, kw_only=True)
    """Whether it was declared to be (epsilon, delta)-DP, and its own loss converts to that."""

    fixed: ClassVar[bool] = True
    """Whether the charge stays what it was at the launch."""

    def understood(self, query: Query) -> Query:
        """The query as plain data.

        Raises:
            QueryError: the query is wrong.
        """
        return query

    def at_worst(self, query: Query) -> Any:
        """What the charge may become by one more query; the launch itself is `Opening()`."""
        return self.loss

    def settled(
        self, query: Query, answer: Any, worst: Any, *, alive: bool
    ) -> "tuple[Claimed, bool]":
        """The claim with its charge after a step, and whether the child goes on."""
        return self, alive

    def loss_at(self, unit: int, d_in: int) -> Any:
        """What a child that was charged at `unit` records loses at `d_in`."""
        return loss_at(self.mechanism, self.loss, unit, d_in)


def claimed(launch: Any, measure: Measure, d_in: int) -> Claimed:
    """Check a launch and freeze its claim: the map is evaluated here and never again for it.

    Raises:
        QueryError: not a launch of a mechanism.
        PrivacyClaimError: no map in `measure`, or `d_out` is below it.
    """
    if not isinstance(launch, Launch):
        raise QueryError(f"expected a Launch, got {named(launch)}")
    mechanism = launch.mechanism
    if not isinstance(mechanism, InteractiveMechanism):
        raise QueryError(f"a launch takes an interactive mechanism, not {named(mechanism)}")
    if launch.d_out is None:
        return Claimed(mechanism, map_at(mechanism, d_in, measure))
    d_out = _declared(launch.d_out)
    mechanism = _within(mechanism, d_out, d_in)
    loss = _converted(d_out, measure)
    own = _own_conversion(mechanism, d_out, d_in)
    if own is not None and own <= d_out:
        # An (epsilon, delta)-DP child, interactive or not: docs/theory.md, mixed children, (c).
        return Claimed(mechanism, loss, coined=True)
    _require_below(loss, mechanism, d_in, own)
    return Claimed(mechanism, loss)


def _declared(d_out: Any) -> Loss:
    """A d_out as a value of our own class, with parameters read once more.

    Raises:
        PrivacyClaimError: it is no loss, or of a class derived from one of ours.
    """
    if not isinstance(d_out, Loss) or not genuine(d_out):
        raise PrivacyClaimError(f"d_out should be a privacy loss, not {named(d_out)}")
    value: Any = d_out
    read_again: Loss = attrs.evolve(value) if attrs.has(type(value)) else value
    return read_again


def _own_conversion(mechanism: InteractiveMechanism[Any], d_out: Loss, d_in: int) -> Loss | None:
    """The mechanism's own loss as (epsilon, delta)-DP at the delta of d_out, if it is converted."""
    if not isinstance(d_out, ApproxDP) or d_out.delta == 0:
        return None
    own = map_at(mechanism, d_in, None)
    try:
        return None if isinstance(own, PureDP | ApproxDP) else own.to(ApproxDP, d_out.delta)
    except ValueError:
        return None


def _require_below(
    d_out: Loss, mechanism: InteractiveMechanism[Any], d_in: int, own: Loss | None
) -> None:
    """Check that the map in the measure of the composition is within d_out.

    Raises:
        PrivacyClaimError: it is not; or there is none, and neither is `own`, a conversion.
    """
    try:
        loss = map_at(mechanism, d_in, d_out.measure)
    except PrivacyClaimError:
        if own is None:
            raise
        loss = own
    if loss.measure != d_out.measure or not loss <= d_out:
        raise PrivacyClaimError(
            f"d_out is {d_out}, below the privacy map: {loss} at {d_in}; leave d_out out to be "
            "charged the map, or give at least that"
        )


def loss_at(mechanism: InteractiveMechanism[Any], charged: Loss, unit: int, d_in: int) -> Loss:
    """What a child that was charged at `unit` records loses at `d_in`.

    By its own map, or by the group bound of the charge where the map says nothing in its measure.
    """
    try:
        return map_at(mechanism, d_in, charged.measure)
    except PrivacyClaimError:
        try:
            return charged.group(group_size(d_in, unit))
        except ValueError:
            pass
        raise


_LARGEST = 2700  # bits: the square of 1e400, beyond which a number cannot be written either


def require_reportable(loss: Loss) -> None:
    """Check that a total with this loss in it can be worked out, where no budget bounds it.

    Raises:
        PrivacyClaimError: it cannot.
    """
    parts = loss.parts if isinstance(loss, AdditiveLoss) else ()
    lengths = (part.numerator.bit_length() - part.denominator.bit_length() for part in parts)
    if any(length > _LARGEST for length in lengths):
        raise PrivacyClaimError(f"{loss} is too large for a report; nothing is charged")


def _within(
    mechanism: InteractiveMechanism[Any], d_out: Loss, d_in: int
) -> InteractiveMechanism[Any]:
    try:
        return mechanism.as_filter(d_out, d_in)
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
        advice = hint(mechanism, d_in, measure)
        raise PrivacyClaimError(f"{name} states no loss{wanted}: {error}{advice}") from None
    if not isinstance(loss, Loss) or not genuine(loss):
        raise PrivacyClaimError(f"the privacy map of {name} gave {named(loss)}, not a loss")
    if measure is not None and not stated_in(loss, measure):
        raise PrivacyClaimError(
            f"the privacy map of {name} gave {loss}, asked for {measure_name(measure)}"
        )
    return loss


def _converted(d_out: Loss, measure: Measure) -> Loss:
    try:
        converted = d_out.to(measure)
    except ValueError as error:
        raise PrivacyClaimError(f"d_out: {error}") from None
    if not stated_in(converted, measure):
        raise PrivacyClaimError(f"d_out: {d_out} does not convert to {measure_name(measure)}")
    return converted


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
        return f"the class {called(value)}; make an instance of it"
    if isinstance(value, IntegerStatistic | Bit):
        return f"{called(type(value))}, a function of the data; wrap it in one that adds noise"
    return called(type(value))

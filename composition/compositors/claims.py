"""Steps 1 and 2 of a launch: parse it, and check the loss that it claims.

The order of a launch is in docs/theory.md. Nothing here touches data. Every way in which a
mechanism can misstate its loss becomes a `PrivacyClaimError`.
"""

from collections.abc import Callable
from typing import Any, ClassVar

import attrs

from composition.proofs import advice
from queryable.checks.fit import require_launchable
from queryable.errors import PrivacyClaimError, QueryError
from queryable.faults import called, named
from queryable.losses import AdditiveLoss, ApproxDP, Loss, Measure, group_size, measure_name
from queryable.losses.loss import genuine, stated_in
from queryable.mechanism import InteractiveMechanism
from queryable.messages import Launch, Query
from queryable.optional import as_filter
from queryable.postprocessing import PersonInTheMiddle
from queryable.statistics import Bit, IntegerStatistic
from queryable.streams.blocks import BlockLossQuery, BlocksQuery, LaunchOver


@attrs.define(unsafe_hash=True)  # never changed; to freeze it would take most of making it
class Claim:
    """One launch: the mechanism as it will run, and the loss that it is charged.

    The sum of all charges is the account. This class is charged once, at the launch; `ExPostClaim`
    is charged as it answers and overrides the methods.
    """

    mechanism: InteractiveMechanism[Any]
    loss: Loss
    coined: bool = attrs.field(default=False, kw_only=True)
    """Whether it is charged as the (epsilon, delta)-DP that its own loss converts to."""

    fixed: ClassVar[bool] = True
    """Whether the charge is final at the launch."""

    def understood(self, query: Query) -> Query:
        """The query as plain data.

        Raises:
            QueryError: the query is wrong.
        """
        return query

    def at_worst(self, query: Query) -> Any:
        """An upper bound on the charge after this query; the launch itself is `Opening()`."""
        return self.loss

    def settled(
        self, query: Query, answer: Any, worst: Any, *, alive: bool
    ) -> "tuple[Claim, bool]":
        """The claim with its charge after this answer, and whether the child stays alive."""
        return self, alive

    def lost(self, worst: Any) -> "Claim":
        """The claim if the launch fails."""
        return self

    def loss_at(self, unit: int, d_in: int) -> Any:
        """The loss at `d_in` records; the charge is stated for `unit` records."""
        return loss_at(self.mechanism, self.loss, unit, d_in)


def parsed(launch: Any) -> Launch:
    """The launch as a plain `Launch` whose attributes cannot change between two reads.

    Raises:
        QueryError: not a launch of an interactive mechanism.
    """
    if not isinstance(launch, Launch):
        raise QueryError(f"{correction(launch)}; expected a Launch")
    mechanism = launch.mechanism
    if not isinstance(mechanism, InteractiveMechanism):
        raise QueryError(f"{correction(mechanism)}, and a launch takes an interactive mechanism")
    return launch if type(launch) is Launch else Launch(mechanism, launch.d_out)


def claim_over(dataset: Any, launch: Launch, claim: Callable[[Launch], Claim]) -> Claim:
    """The claim of a launch over some data, checked against what is public about these.

    Every compositor that launches calls it, so that whatever it charges for is what the data
    protect, and what the claim is about.

    Args:
        claim: gives the claim of the launch, as `claim_of` does.

    Raises:
        QueryError: the mechanism does not fit the data, or protects less than these; or as `claim`.
    """
    require_launchable(dataset, launch.mechanism)
    found = claim(launch)
    if found.mechanism is not launch.mechanism:  # it runs as another one
        require_launchable(dataset, found.mechanism)
    return found


def claim_of(launch: Launch, measure: Measure, d_in: int) -> Claim:
    """The checked claim of a launch. The privacy map is evaluated here, once for the launch.

    Args:
        measure: the measure that the compositor charges in.
        d_in: the records that the compositor charges for.

    Raises:
        PrivacyClaimError: the mechanism states no loss in `measure`, or `d_out` is below it.
    """
    mechanism = launch.mechanism
    if launch.d_out is None:
        return Claim(mechanism, map_at(mechanism, d_in, measure))
    d_out = _declared(launch.d_out)
    mechanism = _run_within(mechanism, d_out, d_in)
    loss = _converted(d_out, measure)
    own = _own_conversion(mechanism, d_out, d_in)
    if own is not None and own <= d_out:
        # An (epsilon, delta)-DP child, interactive or not: docs/theory.md, mixed children, (c).
        return Claim(mechanism, loss, coined=True)
    _require_below(loss, mechanism, d_in, own)
    return Claim(mechanism, loss)


def _declared(d_out: Any) -> Loss:
    """A d_out with its parameters validated again.

    Raises:
        PrivacyClaimError: not a loss, or of a subclass of one of our losses.
    """
    if not isinstance(d_out, Loss) or not genuine(d_out):
        raise PrivacyClaimError(f"d_out should be a privacy loss, not {named(d_out)}")
    value: Any = d_out
    read_again: Loss = attrs.evolve(value) if attrs.has(type(value)) else value
    return read_again


def _own_conversion(mechanism: InteractiveMechanism[Any], d_out: Loss, d_in: int) -> Loss | None:
    """The mechanism's own loss converted to (epsilon, delta)-DP at the delta of d_out, or None."""
    if not isinstance(d_out, ApproxDP) or d_out.delta == 0:
        return None
    own = map_at(mechanism, d_in, None)
    try:
        return own.to(ApproxDP, d_out.delta)
    except ValueError:
        return None


def _require_below(
    d_out: Loss, mechanism: InteractiveMechanism[Any], d_in: int, own: Loss | None
) -> None:
    """Check that the privacy map, in the measure of `d_out`, is at most `d_out`.

    Raises:
        PrivacyClaimError: it is larger, or there is neither a map nor a conversion `own`.
    """
    try:
        loss = map_at(mechanism, d_in, d_out.measure)
    except PrivacyClaimError:
        if own is None:
            raise
        loss = own
    if loss.measure != d_out.measure or not loss <= d_out:
        raise PrivacyClaimError(
            f"d_out is {d_out}, below the privacy map: {loss} at d_in={d_in}; leave d_out out, or "
            "give at least that"
        )


def loss_at(mechanism: InteractiveMechanism[Any], charged: Loss, unit: int, d_in: int) -> Loss:
    """The loss of a child at `d_in` records, if it was charged `charged` at `unit` records.

    The mechanism's privacy map, or the group privacy bound of the charge if the map states no loss
    in that measure.
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
    """Check that a loss is small enough for the report of an odometer, which has no budget.

    Raises:
        PrivacyClaimError: a parameter is above about 1e800.
    """
    parts = loss.parts if isinstance(loss, AdditiveLoss) else ()
    lengths = (part.numerator.bit_length() - part.denominator.bit_length() for part in parts)
    if any(length > _LARGEST for length in lengths):
        raise PrivacyClaimError(f"{loss} is too large for a report; nothing is charged")


def _run_within(
    mechanism: InteractiveMechanism[Any], d_out: Loss, d_in: int
) -> InteractiveMechanism[Any]:
    try:
        return as_filter(mechanism, d_out, d_in)
    except QueryError:
        raise
    except Exception as error:
        name = type(mechanism).__name__
        raise PrivacyClaimError(f"{name} does not run within {d_out}: {error}") from None


def map_at(mechanism: InteractiveMechanism[Any], d_in: int, measure: Measure | None) -> Loss:
    """The privacy map at `d_in` records in a measure, or in the mechanism's own for None.

    Raises:
        PrivacyClaimError: the map raises, or gives something else than a loss in this measure.
    """
    try:
        loss = mechanism.privacy_map(d_in, measure)
    except QueryError:
        raise
    except Exception as error:
        raise PrivacyClaimError(_no_loss(mechanism, d_in, measure, error)) from None
    if type(loss) is measure and genuine(loss):
        return loss
    name = type(mechanism).__name__
    if not isinstance(loss, Loss) or not genuine(loss):
        raise PrivacyClaimError(f"the privacy map of {name} gave {named(loss)}, not a loss")
    if measure is not None and not stated_in(loss, measure):
        raise PrivacyClaimError(
            f"the privacy map of {name} gave {loss}, asked for {measure_name(measure)}"
        )
    return loss


def _no_loss(
    mechanism: InteractiveMechanism[Any], d_in: int, measure: Measure | None, error: Exception
) -> str:
    """What to use instead of a mechanism without a loss in `measure`, and why."""
    name = type(mechanism).__name__
    if measure is None:
        return f"{name} states no loss: {error}"
    instead = advice(mechanism, d_in, measure)
    if not instead:
        return f"{name} states no loss in {measure_name(measure)}: {error}"
    own = mechanism.privacy_map(d_in)
    return (
        f"{instead}: this compositor adds up losses of {measure_name(measure)}, and {name} has "
        f"{own}. Nothing is charged"
    )


def _converted(d_out: Loss, measure: Measure) -> Loss:
    try:
        converted = d_out.to(measure)
    except ValueError as error:
        raise PrivacyClaimError(f"d_out: {error}") from None
    if not stated_in(converted, measure):
        raise PrivacyClaimError(f"d_out: {d_out} does not convert to {measure_name(measure)}")
    return converted


def correction(value: object) -> str:
    """What to write instead of what an analyst sent to a compositor; contains no data."""
    name = called(value if isinstance(value, type) else type(value))
    if isinstance(value, type):
        return f"write {name}(..), with its arguments: {name} is a class"
    if isinstance(value, IntegerStatistic):
        return (
            f"add noise to the statistic, as in release({name}(..), loss=..) or "
            f"launch(Gaussian({name}(..), scale=..)): {name} alone is exact"
        )
    if isinstance(value, Bit):
        return f"write RandomizedResponse({name}(..), epsilon=..): {name} alone is exact"
    if isinstance(value, PersonInTheMiddle):
        return f"write {name}(..) @ FiltCon(budget): {name} alone is a postprocessor"
    if isinstance(value, InteractiveMechanism):
        return f"write Launch({name}(..)): {name} alone is not a message"
    if isinstance(value, LaunchOver | BlocksQuery | BlockLossQuery):
        return f"send {name} to a Blocks, such as launch(Blocks(FiltCon(budget)))"
    return f"launch a mechanism, such as Gaussian(Count(), scale=..): this is not one, but {name}"

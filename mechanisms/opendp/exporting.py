"""`to_opendp`: a mechanism of ours as a measurement of OpenDP.

Responsible for its privacy map, rounded up to floats, and for what an analyst there holds: the
answer of a measurement, or a queryable of OpenDP that asks ours.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import attrs

from mechanisms.opendp.distances import STATED, distance_of, is_ordered, theirs_of
from mechanisms.opendp.records import Atoms
from queryable.checks.fit import require_opening
from queryable.errors import PrivacyClaimError, UnprovenCompositionError
from queryable.faults import called
from queryable.handle import Queryable
from queryable.losses import ApproxZCDP, Loss
from queryable.losses.numbers import Number, probability
from queryable.mechanism import InteractiveMechanism, Measurement
from queryable.wording.quoting import quoted

_NO_COIN = (
    "give measure=ApproxDP and delta=..: approximate zCDP of an interactive mechanism is proven to "
    "interleave only if one coin at its start pays the delta (docs/theory.md, mixed children)"
)


def to_opendp(
    mechanism: InteractiveMechanism[Any],
    input_domain: Any,
    input_metric: Any,
    *,
    measure: type[Loss] | None = None,
    delta: Number | None = None,
    column: str | None = None,
    on_fault: Callable[[BaseException], object] | None = None,
) -> Any:
    """Return a mechanism as a user-defined measurement of OpenDP.

    A measurement of ours releases its answer there. Any other mechanism releases a queryable of
    OpenDP: what it is asked is sent to the mechanism, `None` asks for its opening answer, and its
    children are queryables too. OpenDP's features "contrib" and "honest-but-curious" have to be
    enabled: it takes our word for the map.

    Privacy:
        Claim: map(d_in) is the least float at or above the mechanism's privacy map at d_in, or
            above its loss at one record for a group of d_in.
        Theorem: docs/theory.md, measures and metrics of OpenDP.
        Assumes: the mechanism's claim is true.
        Checked by: tests/unit/mechanisms/opendp/test_with_opendp.py

    Args:
        input_domain: a vector_domain of an atom_domain; the data are a list of its values.
        input_metric: SymmetricDistance, with which the list is sorted, or InsertDeleteDistance.
        measure: `PureDP`, `ZCDP`, `ApproxDP` or `ApproxZCDP`; by default that of the mechanism, or
            the first of these to which a theorem converts its loss.
        delta: of the result, where the conversion to the measure has to choose one.
        column: the name of a column that gets the values; None if each record is a value.
        on_fault: the owner's callback for what the mechanism raises on data.

    Raises:
        UnprovenCompositionError: it is not proven that it interleaves in OpenDP.
        QueryError: it has no loss of its own, protects other units than records, or does not fit
            such data.
        TypeError, ValueError: OpenDP has no such measure or metric, or no theorem converts the
            loss.

    Examples: docs/opendp.md
    """
    from opendp.measurements import make_user_measurement

    if not isinstance(mechanism, InteractiveMechanism):
        raise TypeError(f"mechanism is {quoted(mechanism)}; it should be an InteractiveMechanism")
    form = DataForm(Atoms.of(input_domain, sized=True), column, is_ordered(input_metric))
    require_opening(form.data([]), mechanism)
    at = None if delta is None else probability(delta)
    losses = LossesAt(mechanism, _measure(mechanism, measure, at), at)
    losses(1)
    coined = isinstance(mechanism, Measurement) or mechanism.coin_at_launch
    if losses.measure is ApproxZCDP and not coined:
        raise UnprovenCompositionError(_NO_COIN)

    def released(values: list[Any]) -> Any:
        handle = Queryable(mechanism, form.data(values), on_fault=on_fault)
        return handle.opening if isinstance(mechanism, Measurement) else _asking(handle)

    return make_user_measurement(
        input_domain,
        input_metric,
        theirs_of(losses.measure),
        contained(released),
        contained(lambda d_in: distance_of(losses(d_in))),
    )


@attrs.frozen
class DataForm:
    """How a list of OpenDP becomes data here, one record for each value.

    Where its order is not part of the distance, the list is sorted: lists of the same values are
    then the same data.
    """

    atoms: Atoms
    column: str | None
    ordered: bool

    def data(self, values: list[Any]) -> Any:
        """The data of a list."""
        known = self.atoms.values(values, in_order=self.ordered)
        return known if self.column is None else {self.column: known}


@attrs.frozen
class LossesAt:
    """The losses of a mechanism in one measure."""

    mechanism: InteractiveMechanism[Any]
    measure: type[Loss]
    delta: Fraction | None

    def __call__(self, d_in: int) -> Loss:
        """The loss at `d_in` records.

        Raises:
            PrivacyClaimError: the mechanism states none there.
            ValueError: no theorem converts it, or bounds it for a group.
        """
        if d_in == 0:
            return self(1).zero()
        try:
            if self.delta is None:
                return self.mechanism.privacy_map(d_in, self.measure)
            return self.mechanism.privacy_map(d_in).to(self.measure, self.delta)
        except (PrivacyClaimError, ValueError):
            if d_in == 1:
                raise
        return self.mechanism.privacy_map(1).group(d_in).to(self.measure, self.delta)


def _measure(
    mechanism: InteractiveMechanism[Any], measure: type[Loss] | None, delta: Fraction | None
) -> type[Loss]:
    if measure is not None:
        if measure not in STATED:
            names = ", ".join(each.__name__ for each in STATED)
            raise TypeError(f"measure is {quoted(measure)}; it should be one of {names}")
        return measure
    own = mechanism.privacy_map(1)
    for kind in (type(own), *STATED) if type(own) in STATED else STATED:
        try:
            own.to(kind, delta if kind.takes_delta else None)
        except ValueError:
            continue
        return kind
    raise ValueError(
        f"give measure=ApproxDP and delta=..: OpenDP has no measure for {own}, and no theorem "
        "converts it without a delta"
    )


def contained(call: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function that OpenDP may call through C: it raises nothing but an `Exception`.

    OpenDP would go on without a value otherwise, which may end the process.
    """

    def run(argument: Any) -> Any:
        try:
            return call(argument)
        except Exception:
            raise
        except BaseException as error:
            name = called(type(error))
        raise RuntimeError(f"it was interrupted: {name}")

    return run


def _asking(handle: Queryable) -> Any:
    """A queryable of OpenDP that asks ours."""
    from opendp.core import new_queryable

    def asked(query: Any) -> Any:
        return _given(handle.opening if query is None else handle(query))

    return new_queryable(contained(asked))


def _given(answer: Any) -> Any:
    if isinstance(answer, tuple):
        return tuple(map(_given, answer))
    return _asking(answer) if isinstance(answer, Queryable) else answer

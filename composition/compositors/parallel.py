"""Parallel composition: one mechanism for each part of the data (Haney et al. 2023, sec. 5.2)."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from fractions import Fraction
from functools import partial, reduce
from itertools import chain, pairwise, product
from operator import getitem
from types import MappingProxyType
from typing import Any

import attrs

from composition.compositors.adaptive import AdaptiveComposition
from composition.compositors.claims import map_at
from composition.compositors.fixed import FixedComposition, FixedState
from composition.compositors.partition import Partition
from composition.proofs import ask, own_measure
from composition.rules import Basic
from composition.rules.declared import common_measure, maps_at
from composition.verdicts import Column, Way, has_coin, keeps_its_claim
from queryable.data.growing import snapshot
from queryable.data.later import Later
from queryable.effort import is_quick
from queryable.errors import PrivacyClaimError
from queryable.faults import in_dry_run, touching_data
from queryable.guarantees import Guarantee, documented
from queryable.losses import (
    FDP,
    AdditiveLoss,
    ExPostBound,
    Loss,
    Measure,
    Parts,
    PureDP,
    measure_name,
    zero_of,
)
from queryable.losses.loss import stated_in
from queryable.losses.numbers import natural, shown
from queryable.mechanism import InteractiveMechanism, nested
from queryable.messages import PrivacyLossQuery, Update
from queryable.quoting import an_instance, quoted
from queryable.randomness.coins import SYSTEM, ChildId
from queryable.streams import EventLevel

_MOST_RECORDS = 10_000  # privacy maps are evaluated at every number of records up to d_in
_MOST_QUICK = 2000
"""How many privacy maps are evaluated for a query of an analyst."""
_LARGEST_CONVOLUTION = 100
"""The largest d_in with an exact convolution of additive losses; the time grows with its square."""

_LARGEST_PRODUCT = 8
"""The same for trade-off curves, whose tensor products take longer."""


def _frozen(mechanisms: Mapping[ChildId, Any]) -> Mapping[ChildId, Any]:
    return MappingProxyType(dict(mechanisms))


@attrs.frozen
class Parallel(FixedComposition):
    """Mechanisms on disjoint parts of one dataset, all interleavable.

    Answers: Ask, PrivacyLossQuery. Children are named by their part; the opening is a tuple with
    each one's `Launched`. `privacy_loss` of a part is what that part has spent; of the whole it is
    the largest of these.

    Privacy:
        Claim: adding or removing one record changes one part, so at d_in=1 the loss is the
            largest of the parts' losses, in every measure. At d_in=d it is the supremum of the
            composed losses over all ways to spread d records over the parts. If losses are only
            partially ordered, it is the supremum of each coordinate, and for curves the lower
            convex hull.
        Theorem: Haney et al. 2023, section 5.2; docs/theory.md, parallel composition.
            If the data grow, every part that gets batches is pure, or its claim holds from every
            history on which the messages agreed; docs/theory.md, data that grow. Other parts keep
            the whole on the data that it was launched on.
        Assumes: the partition is a public function of a single record.
        Checked by: tests/audit/test_parallel.py
    Args:
        partition: assigns each record to a part.
        mechanisms: part name -> mechanism. Records of a part without a mechanism are not used.
    """

    neighbours = EventLevel()
    """One record is in one part. A unit may be in several, so units are not protected."""

    partition: Partition = attrs.field(validator=an_instance(Partition))
    mechanisms: Mapping[ChildId, InteractiveMechanism[Any]] = attrs.field(converter=_frozen)

    def __attrs_post_init__(self) -> None:
        proofs = []
        for name, mechanism in self.mechanisms.items():
            self.partition.require_part(name)
            if not isinstance(mechanism, InteractiveMechanism):
                raise TypeError(
                    f"part {quoted(name)} has {quoted(mechanism)}, not an interactive mechanism"
                )
            own = own_measure(mechanism)
            if own is not None:
                proofs.append(ask(Way.PARTS, own, Column.FIXED))
        nested(self.mechanisms.values())
        growing = [each for each in self.mechanisms.values() if each.continual]
        grows = bool(growing) and all(keeps_its_claim(each, 1) for each in growing)
        grows = grows and all(proof.grows for proof in proofs)
        object.__setattr__(self, "_grows", grows)

    @property
    def coin_at_launch(self) -> bool:  # type: ignore[override]
        """Whether every part's mechanism has one."""
        return all(has_coin(each, 1) for each in self.mechanisms.values())

    @property
    def divides_by(self) -> str | Callable[[Any], Any]:
        """The column, or the function of a record, that names the parts."""
        return self.partition.key

    def _lost(self, d_in: int, measure: Measure | None) -> Loss:
        """The supremum over all ways to spread `d_in` records over the parts."""
        if self._grows and d_in > 1 and measure is not PureDP:
            return self._lost_by_groups(d_in, measure)
        if natural(d_in, "d_in") > _MOST_RECORDS:
            raise PrivacyClaimError(
                f"d_in is {shown(Fraction(d_in))}; parallel parts are composed up to "
                f"d_in={_MOST_RECORDS}"
            )
        mechanisms = self.mechanisms.values()
        if is_quick() and not len(mechanisms) * d_in <= _MOST_QUICK:
            raise PrivacyClaimError(
                f"{len(mechanisms)} parts at d_in={d_in} are too much work; their product is "
                f"{_MOST_QUICK} at most"
            )
        composed = common_measure(maps_at(mechanisms, d_in)) if measure is None else measure
        ask(Way.PARTS, composed, Column.FIXED)
        if d_in > 1:  # several parts may differ, and then they are composed
            proof = ask(Basic(), composed, Column.FIXED)
            for each, k in product(mechanisms, range(1, d_in + 1)):
                proof.cover(each, k)
        if composed is FDP:
            stated = (
                tuple(_curve(self._map(each, k, FDP)) for k in range(d_in + 1))
                for each in mechanisms
            )
            return _worst_curve(Counter(stated), d_in)
        zero = _additive_zero(composed)
        curves = Counter(
            tuple(_parts(self._map(each, k, composed), composed) for k in range(d_in + 1))
            for each in mechanisms
        )
        coordinates = range(len(zero.parts))
        return zero.of_parts(tuple(_supremum(curves, c, d_in) for c in coordinates))

    def _map(self, mechanism: InteractiveMechanism[Any], d_in: int, measure: Measure) -> Loss:
        """A part's privacy map; if it gets batches, one that holds from every agreed history."""
        if self._grows and mechanism.continual and not mechanism.from_any_history:
            return mechanism.privacy_map(d_in, PureDP).to(measure)
        return mechanism.privacy_map(d_in, measure)

    def _lost_by_groups(self, d_in: int, measure: Measure | None) -> Loss:
        """The loss if the data grow, where an answer may tell which part to put a record into.

        If all parts are pure, it is pure and converts; otherwise it is the group bound of the loss
        at one record.
        """
        with suppress(ValueError, PrivacyClaimError):
            pure = self._lost(d_in, PureDP)
            return pure if measure is None else pure.to(measure)
        return self._lost(1, measure).group(d_in)

    def require_growing(self) -> None:
        """Check that a theorem covers data that grow.

        Raises:
            UnprovenCompositionError: none does.
        """
        for measure in dict.fromkeys(map(own_measure, self.mechanisms.values())):
            if measure is not None:
                proof = ask(Way.PARTS, measure, Column.FIXED)
                proof.require_growing(self.mechanisms.values())

    def _passed(self, message: Update) -> Mapping[ChildId, Update]:
        wanted = tuple(self.mechanisms)
        parts = touching_data(lambda: self.partition.split(message.records, wanted))
        return {name: Update(part, message.block) for name, part in parts.items()}

    def guarantee(self) -> Guarantee:
        """The guarantee, with the theorem of the table's cell."""
        measure = common_measure(maps_at(self.mechanisms.values(), 1))
        proof = ask(Way.PARTS, measure, Column.FIXED)
        theorem, growing = f"{proof.theorem}.", proof.growing_theorem
        return attrs.evolve(documented(type(self)), theorem=theorem, growing=growing)

    def _privacy_loss(self, state: FixedState, d_in: int) -> Loss:
        """At d_in=1 the largest loss that a part has spent so far; at others the privacy map."""
        if d_in != 1:
            return map_at(self, d_in, None)
        spent = [self._spent(state, name) for name in self.mechanisms]
        measure = common_measure(partial(_stated, loss) for loss in spent)
        return _join((loss.to(measure) for loss in spent), measure)

    def _spent(self, state: FixedState, name: ChildId) -> Loss:
        """What a part has spent, if it is a filter or an odometer; its privacy map otherwise.

        Only these answer `PrivacyLossQuery` without a change of their state. A postprocessor over
        one might launch a mechanism to answer, and the charge would be lost with the state.
        """
        child = state.children.get(name)
        if child is None or not isinstance(child.mechanism, AdaptiveComposition):
            return map_at(self.mechanisms[name], 1, None)
        query, dry = PrivacyLossQuery(1), in_dry_run()
        if dry is None:
            told: Any = child.mechanism.step(child.state, query)
        else:
            told = dry.asked(child.state, query, lambda: SYSTEM)
        spent = told[1]
        if isinstance(spent, ExPostBound):  # a realised cost is no loss
            return map_at(self.mechanisms[name], 1, None)
        if not isinstance(spent, Loss):
            raise PrivacyClaimError(
                f"part {quoted(name)} reports {spent}, which is no privacy loss"
            )
        return spent

    @property
    def _named(self) -> Mapping[ChildId, InteractiveMechanism[Any]]:
        return self.mechanisms

    def _shares(self, dataset: Any) -> Mapping[ChildId, Any]:
        """The parts, which are made when the first mechanism needs its own."""
        self.partition.require_rows(dataset)
        parts = Later(lambda: self.partition.split(snapshot(dataset), tuple(self.mechanisms)))
        return {name: Later(getitem, parts, name) for name in self.mechanisms}


def _additive_zero(measure: Measure) -> AdditiveLoss:
    zero = zero_of(measure)
    if not isinstance(zero, AdditiveLoss):
        raise ValueError(f"parallel composition is not stated in {measure_name(measure)}")
    return zero


def _parts(loss: Loss, measure: Measure) -> Parts:
    if not isinstance(loss, AdditiveLoss) or not stated_in(loss, measure):
        raise PrivacyClaimError(f"a part states {loss}, asked for {measure_name(measure)}")
    return loss.parts


def _stated(loss: Loss, measure: Measure | None) -> Loss:
    return loss if measure is None else loss.to(measure)


def _join(losses: Iterable[Loss], measure: Measure) -> Loss:
    if measure is FDP:
        return reduce(FDP.join, map(_curve, losses), FDP.of_approx(0))
    zero = _additive_zero(measure)
    columns = zip(zero.parts, *(_parts(loss, measure) for loss in losses), strict=True)
    return zero.of_parts(tuple(max(column) for column in columns))


def _supremum(curves: "Counter[tuple[Parts, ...]]", coordinate: int, d_in: int) -> Fraction:
    """The supremum of the summed losses over all d_1 + d_2 + ... <= d_in.

    If all curves are convex and start at 0, one part with all records attains it. Otherwise it is a
    max-plus convolution; of parts with equal curves only `d_in` need to be counted. Above
    `_LARGEST_CONVOLUTION` records the sum of every part's maximum is used as an upper bound.
    """
    columns = [([parts[coordinate] for parts in curve], n) for curve, n in curves.items()]
    if all(_convex(column) for column, _ in columns):
        return max((column[-1] for column, _ in columns), default=Fraction(0))
    if d_in > _LARGEST_CONVOLUTION:
        return sum((n * max(column) for column, n in columns), Fraction(0))
    best = [Fraction(0)] * (d_in + 1)
    for column, n in columns:
        for _ in range(min(n, d_in)):
            best = [
                max(best[records - k] + column[k] for k in range(records + 1))
                for records in range(d_in + 1)
            ]
    return best[d_in]


def _curve(loss: Loss) -> FDP:
    if type(loss) is not FDP:
        raise PrivacyClaimError(f"a part states {loss}, asked for FDP")
    return loss


def _worst_curve(curves: "Counter[tuple[FDP, ...]]", d_in: int) -> FDP:
    """The join of the composed curves over all ways to spread `d_in` records, or a curve below it.

    The same convolution with joins for maxima and tensor products for sums. A product with a join
    is below each product that it replaces. Above `_LARGEST_PRODUCT` records every part that may
    differ counts with the join of all curves.
    """
    nothing = FDP.of_approx(0)
    if d_in > _LARGEST_PRODUCT:
        most = reduce(FDP.join, chain.from_iterable(curves), nothing)
        return reduce(FDP.compose, [most] * min(sum(curves.values()), d_in), nothing)
    best = [nothing] * (d_in + 1)
    for column, n in curves.items():
        for _ in range(min(n, d_in)):
            best = [
                reduce(
                    FDP.join,
                    (_both(best[records - k], column[k]) for k in range(1, records + 1)),
                    best[records],
                )
                for records in range(d_in + 1)
            ]
    return best[d_in]


def _both(one: FDP, other: FDP) -> FDP:
    """The tensor product. A factor without any loss is left out, so that the curve stays exact."""
    if one == one.zero():
        return other
    return one if other == other.zero() else one.compose(other)


def _convex(column: list[Fraction]) -> bool:
    steps = [after - before for before, after in pairwise(column)]
    return column[0] == 0 and all(a <= b for a, b in pairwise(steps))

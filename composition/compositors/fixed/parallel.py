"""Parallel composition: one mechanism for each part of the data (Haney et al. 2023, sec. 5.2)."""

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from fractions import Fraction
from functools import partial
from itertools import product
from operator import getitem
from types import MappingProxyType
from typing import Any, NamedTuple

import attrs

from composition.compositors.adaptive import AdaptiveComposition
from composition.compositors.claims import map_at
from composition.compositors.fixed.base import FixedComposition
from composition.compositors.fixed.partition import Partition
from composition.compositors.fixed.spreading import (
    additive_zero,
    curve_of,
    join,
    parts_of,
    supremum,
    worst_curve,
)
from composition.proofs import ask, own_measure
from composition.rules import Basic
from composition.rules.declared import common_measure, maps_at
from composition.verdicts import CompositionKind, Way, has_coin, keeps_its_claim
from queryable.conversation import LOST, Data, Later, Live, Moved, Pass, Ready, Talk
from queryable.data.facts import Facts, base_of
from queryable.data.growing import snapshot
from queryable.effort import is_quick
from queryable.errors import PrivacyClaimError
from queryable.losses import (
    FDP,
    Loss,
    Measure,
    PureDP,
)
from queryable.losses.numbers import natural, shown
from queryable.mechanism import InteractiveMechanism, nested
from queryable.messages import CloseBlock, PrivacyLossQuery, Update
from queryable.randomness.coins import ChildId
from queryable.streams.levels import EventLevel
from queryable.wording.guarantees import Guarantee, documented
from queryable.wording.quoting import an_instance, quoted

_MOST_RECORDS = 10_000  # privacy maps are evaluated at every number of records up to d_in
_MOST_QUICK = 2000
"""How many privacy maps are evaluated for a query of an analyst."""


def _frozen(mechanisms: Mapping[ChildId, Any]) -> Mapping[ChildId, Any]:
    if not isinstance(mechanisms, Mapping):
        raise TypeError(
            f"mechanisms is {quoted(mechanisms)}; it should be a dict of a mechanism for each part"
        )
    return MappingProxyType(dict(mechanisms))


class Spent(NamedTuple):
    """The privacy maps of the parts; None for a part that is asked what it has spent so far."""

    losses: Mapping[ChildId, Loss | None]


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
                proofs.append(ask(Way.PARTS, own, CompositionKind.FIXED))
        nested(self.mechanisms.values())
        growing = [each for each in self.mechanisms.values() if each.growth is not None]
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
        ask(Way.PARTS, composed, CompositionKind.FIXED)
        if d_in > 1:  # several parts may differ, and then they are composed
            proof = ask(Basic(), composed, CompositionKind.FIXED)
            for each, k in product(mechanisms, range(1, d_in + 1)):
                proof.cover(each, k)
        if composed is FDP:
            stated = (
                tuple(curve_of(self._map(each, k, FDP)) for k in range(d_in + 1))
                for each in mechanisms
            )
            return worst_curve(Counter(stated), d_in)
        zero = additive_zero(composed)
        curves = Counter(
            tuple(parts_of(self._map(each, k, composed), composed) for k in range(d_in + 1))
            for each in mechanisms
        )
        coordinates = range(len(zero.parts))
        return zero.of_parts(tuple(supremum(curves, c, d_in) for c in coordinates))

    def _map(self, mechanism: InteractiveMechanism[Any], d_in: int, measure: Measure) -> Loss:
        """A part's privacy map; if it gets batches, one that holds from every agreed history."""
        growth = mechanism.growth if self._grows else None
        if growth is not None and not growth.from_any_history:
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
                proof = ask(Way.PARTS, measure, CompositionKind.FIXED)
                proof.require_growing(self.mechanisms.values())

    def guarantee(self) -> Guarantee:
        """The guarantee, with the theorem of the table's cell."""
        measure = common_measure(maps_at(self.mechanisms.values(), 1))
        proof = ask(Way.PARTS, measure, CompositionKind.FIXED)
        theorem, growing = f"{proof.theorem}.", proof.growing_theorem
        return attrs.evolve(documented(type(self)), theorem=theorem, growing=growing)

    @property
    def _named(self) -> Mapping[ChildId, InteractiveMechanism[Any]]:
        return self.mechanisms

    def open(self, data: Data) -> Talk:
        """Divide the data, then start every mechanism on its part.

        Nothing starts if the parts cannot be made.
        """
        self.partition.require_rows(data.facts)
        parts = self._parts(data.rows)
        ready: Moved | None = yield Ready("parts", parts)
        if ready is LOST:
            return LOST
        facts = Facts(base_of(data.facts), fed=data.facts.fed)  # a part of the rows is in no block
        shares = {name: Data(facts, Later(getitem, parts, name)) for name in self.mechanisms}
        return (yield from self._start(shares))

    def _parts(self, rows: Any) -> Later:
        wanted = tuple(self.mechanisms)
        return Later(lambda known: self.partition.split(snapshot(known), wanted), rows)

    def _grow(self, message: Update | CloseBlock, live: Live) -> Talk:
        """Pass the part of a batch to each mechanism that takes batches, in their order."""
        if isinstance(message, CloseBlock):
            return (yield from super()._grow(message, live))
        parts, block = self._parts(message.records), message.block
        yield Ready("parts", parts)
        names = self.mechanisms
        passed = {name: Update(Later(getitem, parts, name), block) for name in names}
        return (yield from self._pass_on(passed, live))

    def _privacy_loss(self, d_in: int, live: Live) -> Any:
        """At d_in=1 the largest loss that a part has spent so far; at others the privacy map.

        A part is asked if it is a filter or an odometer, and is in `Spent` with None. Only these
        answer `PrivacyLossQuery` without a change of their state; a postprocessor over one might
        launch a mechanism to answer. Other parts count with their privacy map.
        """
        if d_in != 1:
            return super()._privacy_loss(d_in, live)
        asked = {n for n in self.mechanisms if isinstance(live.get(n), AdaptiveComposition)}
        named = self.mechanisms.items()
        return Spent({n: None if n in asked else map_at(each, 1, None) for n, each in named})

    def converse(self, own: None, understood: Any, live: Live) -> Talk | Moved:
        """Also find the part that has spent most."""
        if type(understood) is Spent:
            return self._largest(understood.losses)
        return super().converse(own, understood, live)

    def _largest(self, losses: Mapping[ChildId, Loss | None]) -> Talk:
        asked = [name for name, loss in losses.items() if loss is None]
        told = yield [Pass(name, PrivacyLossQuery(1)) for name in asked]
        spent: dict[ChildId, Any] = dict(losses)
        for name, moved in zip(asked, told, strict=True):
            spent[name] = self._spent(name, moved)
        measure = common_measure(partial(_stated, loss) for loss in spent.values())
        return Moved(None, join((loss.to(measure) for loss in spent.values()), measure))

    def _spent(self, name: ChildId, moved: Moved | None) -> Loss:
        """The loss that a part reports; its privacy map if what it reports is no loss.

        A bound on what was realised is none.
        """
        report: Any = None if moved is LOST else moved.answer
        spent: Loss = report if isinstance(report, Loss) else map_at(self.mechanisms[name], 1, None)
        return spent


def _stated(loss: Loss, measure: Measure | None) -> Loss:
    return loss if measure is None else loss.to(measure)

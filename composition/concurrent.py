"""Concurrent composition of mechanisms fixed in advance (Haney et al. 2023, Algorithm 1)."""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

import attrs

from composition.fixed import FixedComposition, Statement, common_measure, maps_at
from composition.optimal import optimal_epsilon
from composition.proofs import Proof, ask, own_measure
from composition.rules import Basic
from composition.verdicts import Column, Way
from queryable.coins import ChildId
from queryable.guarantees import Guarantee, documented
from queryable.losses import ApproxDP, ApproxZCDP, Loss, Measure, total
from queryable.mechanism import InteractiveMechanism, nested
from queryable.numbers import probability, shown


def _mechanisms(values: Iterable[Any]) -> tuple[InteractiveMechanism[Any], ...]:
    mechanisms = tuple(values)
    for mechanism in mechanisms:
        if not isinstance(mechanism, InteractiveMechanism):
            raise TypeError(f"{mechanism!r} is not an interactive mechanism")
    return mechanisms


def _at_delta(statements: Iterable[Statement], delta: Fraction) -> list[Loss]:
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


@attrs.frozen
class ConComp(FixedComposition):
    """Concurrent composition of mechanisms that are all started at once.

    Haney et al. 2023, Definition 2.4.

    Answers: Ask, PrivacyLossQuery. The opening is a tuple with each one's `Launched`.

    Privacy:
        Claim: for every adversary, however it interleaves, loses at most the composition of the
            mechanisms' losses; with an odometer among them there is no claim.
        Theorem: the one that `composition.VALIDITY` names under "fixed, interleaved"; with `delta`
            Haney et al. 2023, Theorem 1.8; for `FDP` curves Vadhan and Zhang 2023.
        Checked by: tests/audit/test_concurrent.py, tests/unit/composition/test_optimal.py
    Args:
        mechanisms: what is composed, child 0 first.
        delta: if given, the loss is stated at this delta, as the optimal composition of the
            mechanisms' (epsilon_i, delta_i), where mechanisms whose own loss says nothing of a
            delta, such as zCDP, get equal shares of what the others leave of it; else losses of
            one measure add up, deltas included.
    """

    mechanisms: tuple[InteractiveMechanism[Any], ...] = attrs.field(converter=_mechanisms)
    delta: Fraction | None = attrs.field(
        kw_only=True, default=None, converter=attrs.converters.optional(probability)
    )

    coin_at_launch = True  # its mechanisms are checked one by one

    def __attrs_post_init__(self) -> None:
        nested(self.mechanisms)
        for mechanism in self.mechanisms:
            own = own_measure(mechanism)
            if own is not None:
                self._proof(own).cover(mechanism, 1)

    def privacy_map(self, d_in: int, measure: Measure | None = None) -> Loss:
        """The mechanisms' losses composed, in `measure` or the first that takes them all.

        Raises:
            ValueError: no theorem converts a loss, or no epsilon goes with `delta` at this `d_in`.
        """
        maps = maps_at(self.mechanisms, d_in)
        if self.delta is not None and measure in (None, ApproxDP):
            self._proof(ApproxDP)
            if d_in == 0:
                return total((), ApproxDP)
            losses = _at_delta(maps, self.delta)
            return ApproxDP(optimal_epsilon(losses, self.delta), self.delta)
        composed = common_measure(maps) if measure is None else measure
        proof = self._proof(composed)
        if d_in:
            for each in self.mechanisms:
                proof.cover(each, d_in)
        return total((stated(composed) for stated in maps), composed)

    def guarantee(self) -> Guarantee:
        """With the theorem for the measure that the losses are composed in."""
        optimal = self.delta is not None
        measure = ApproxDP if optimal else common_measure(maps_at(self.mechanisms, 1))
        return attrs.evolve(documented(type(self)), theorem=f"{self._proof(measure).theorem}.")

    def _proof(self, measure: Measure) -> Proof:
        """What the table of theorems says of the composition in a measure."""
        optimal = self.delta is not None and measure is ApproxDP
        return ask(Way.OPTIMAL if optimal else Basic(), measure, Column.FIXED)

    @property
    def _named(self) -> Mapping[ChildId, InteractiveMechanism[Any]]:
        return dict(enumerate(self.mechanisms))

    def _shares(self, dataset: Any) -> Mapping[ChildId, Any]:
        return dict.fromkeys(self._named, dataset)

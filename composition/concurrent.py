"""Concurrent composition of mechanisms fixed in advance (Haney et al. 2023, Algorithm 1)."""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

import attrs

from composition import validity
from composition.fixed import FixedComposition, Statement, common_measure, maps_at
from composition.optimal import optimal_epsilon
from composition.rules import Basic
from queryable.coins import ChildId
from queryable.guarantees import Guarantee, documented
from queryable.losses import ApproxDP, ApproxZCDP, Loss, Measure, total
from queryable.mechanism import InteractiveMechanism
from queryable.numbers import probability, shown
from queryable.tradeoff import FDP


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
        for mechanism in self.mechanisms:
            validity.require_proof_if_claimed(mechanism)

    def privacy_map(self, d_in: int, measure: Measure | None = None) -> Loss:
        """The mechanisms' losses composed, in `measure` or the first that takes them all.

        Raises:
            ValueError: no theorem converts a loss, or no epsilon goes with `delta` at this `d_in`.
        """
        maps = maps_at(self.mechanisms, d_in)
        if self.delta is not None and measure in (None, ApproxDP):
            if d_in == 0:
                return total((), ApproxDP)
            losses = _at_delta(maps, self.delta)
            return ApproxDP(optimal_epsilon(losses, self.delta), self.delta)
        composed = common_measure(maps) if measure is None else measure
        if d_in:
            for each in self.mechanisms:
                validity.require_proof(each, composed, d_in)
        return total((stated(composed) for stated in maps), composed)

    def guarantee(self) -> Guarantee:
        """With the theorem for the measure that the losses are composed in."""
        words = documented(type(self))
        if self.delta is not None:
            return attrs.evolve(words, theorem="Haney et al. 2023, Theorem 1.8.")
        measure = common_measure(maps_at(self.mechanisms, 1))
        rule = "tensor" if measure is FDP else Basic.__name__
        found = validity.theorem(measure, rule, "fixed")
        return words if found is None else attrs.evolve(words, theorem=f"{found}.")

    @property
    def _named(self) -> Mapping[ChildId, InteractiveMechanism[Any]]:
        return dict(enumerate(self.mechanisms))

    def _shares(self, dataset: Any) -> Mapping[ChildId, Any]:
        return dict.fromkeys(self._named, dataset)

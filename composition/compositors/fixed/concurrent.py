"""Concurrent composition of mechanisms fixed in advance (Haney et al. 2023, Algorithm 1)."""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import partial
from typing import Any

import attrs

from composition.compositors.fixed.base import FixedComposition
from composition.proofs import Proof, ask, own_measure
from composition.rules import Basic
from composition.rules.declared import Statement, common_measure, least_at, maps_at
from composition.verdicts import CompositionKind, Way
from queryable.effort import is_quick
from queryable.losses import ApproxDP, Loss, Measure, total
from queryable.losses.numbers import probability, several
from queryable.mechanism import InteractiveMechanism, nested
from queryable.randomness.coins import ChildId
from queryable.wording.guarantees import Guarantee, documented
from queryable.wording.quoting import an_instance, quoted


def _mechanisms(values: Iterable[Any]) -> tuple[InteractiveMechanism[Any], ...]:
    mechanisms = tuple(several(values, "mechanisms"))
    for mechanism in mechanisms:
        if not isinstance(mechanism, InteractiveMechanism):
            raise TypeError(f"{quoted(mechanism)} is not an interactive mechanism")
    return mechanisms


@attrs.frozen
class ConComp(FixedComposition):
    """Concurrent composition of mechanisms that are all started at once.

    Haney et al. 2023, Definition 2.4.

    Answers: Ask, PrivacyLossQuery. The opening is a tuple with each one's `Launched`.

    Privacy:
        Claim: for every adversary, however it interleaves, the loss is at most the composition of
            the mechanisms' losses. If one of them is an odometer there is no claim.
        Theorem: the one that `composition.VALIDITY` names under "fixed, interleaved"; with `delta`
            Haney et al. 2023, Theorem 1.8; for `FDP` curves Vadhan and Zhang 2023.
        Checked by: tests/audit/test_concurrent.py, tests/unit/composition/rules/test_pairs.py
    Args:
        mechanisms: the mechanisms, child 0 first.
        delta: if given, the loss is an (epsilon, delta) at this delta, the best of three bounds.
            One is the optimal composition of the mechanisms' (epsilon_i, delta_i); losses without
            a delta, such as zCDP, get equal shares of what the others leave of it. Another is the
            composition in a measure that takes all of them, converted once, at the order that is
            best for the total. The last is the product of their trade-off curves, if all have one:
            it is the least that these curves imply. Without `delta`, losses of one measure add up,
            deltas included.
        grid: whether the last bound is computed, on a grid of losses. It takes up to a second or
            two, so a curator refuses it to analysts: they give False.
    """

    mechanisms: tuple[InteractiveMechanism[Any], ...] = attrs.field(converter=_mechanisms)
    delta: Fraction | None = attrs.field(
        kw_only=True, default=None, converter=attrs.converters.optional(probability)
    )

    grid: bool = attrs.field(kw_only=True, default=True, validator=an_instance(bool))

    coin_at_launch = True  # its mechanisms are checked one by one

    def __attrs_post_init__(self) -> None:
        nested(self.mechanisms)
        proofs: dict[Measure, Proof] = {}
        for mechanism in self.mechanisms:
            own = own_measure(mechanism)
            if own is not None:
                proofs[own] = proof = proofs.get(own) or self._proof(own)
                proof.cover(mechanism, 1)
        grows = any(each.growth is not None for each in self.mechanisms)
        grows = grows and all(proof.grows for proof in proofs.values())
        object.__setattr__(self, "_grows", grows)

    def _lost(self, d_in: int, measure: Measure | None) -> Loss:
        """The composed loss in `measure`, or in the first measure that all losses convert to.

        Raises:
            ValueError: no theorem converts a loss, or no epsilon exists for `delta` at this `d_in`.
        """
        maps = maps_at(self.mechanisms, d_in)
        if self.delta is not None and measure in (None, ApproxDP):
            self._proof(ApproxDP)
            if d_in == 0:
                return total((), ApproxDP)
            return least_at(maps, self.delta, partial(self._composed, maps, d_in), grid=self.grid)[
                0
            ]
        return self._composed(maps, d_in, common_measure(maps) if measure is None else measure)

    def _composed(self, maps: Iterable[Statement], d_in: int, measure: Measure) -> Loss:
        proof = ask(Basic(), measure, CompositionKind.FIXED)
        if d_in:
            for each in self.mechanisms:
                proof.cover(each, d_in)
        return total((stated(measure) for stated in maps), measure)

    def guarantee(self) -> Guarantee:
        """The guarantee, with the theorem for the measure that the losses are composed in."""
        maps = maps_at(self.mechanisms, 1)
        if self.delta is None:
            measure = common_measure(maps)
        else:
            grid = self.grid and not is_quick()  # of words, which are no claim
            measure = least_at(maps, self.delta, partial(self._composed, maps, 1), grid=grid)[1]
        proof = self._proof(measure)
        theorem, growing = f"{proof.theorem}.", proof.growing_theorem
        return attrs.evolve(documented(type(self)), theorem=theorem, growing=growing)

    def _proof(self, measure: Measure) -> Proof:
        """The theorem that covers the composition in a measure."""
        optimal = self.delta is not None and measure is ApproxDP
        return ask(Way.OPTIMAL if optimal else Basic(), measure, CompositionKind.FIXED)

    @property
    def _named(self) -> Mapping[ChildId, InteractiveMechanism[Any]]:
        return dict(enumerate(self.mechanisms))

    def require_growing(self) -> None:
        """Check that a theorem covers data that grow, in every measure of the mechanisms.

        Raises:
            UnprovenCompositionError: none does.
        """
        for proof in self._proofs():
            proof.require_growing()

    def _proofs(self) -> list[Proof]:
        measures = dict.fromkeys(map(own_measure, self.mechanisms))
        return [self._proof(measure) for measure in measures if measure is not None]

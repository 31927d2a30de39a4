"""Concurrent composition of mechanisms fixed in advance (Haney et al. 2023, Algorithm 1)."""

from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from composition import validity
from composition.fixed import FixedComposition, common_measure, maps_at
from queryable.coins import ChildId
from queryable.losses import Loss, Measure, total
from queryable.mechanism import InteractiveMechanism


def _mechanisms(values: Iterable[Any]) -> tuple[InteractiveMechanism[Any], ...]:
    mechanisms = tuple(values)
    for mechanism in mechanisms:
        if not isinstance(mechanism, InteractiveMechanism):
            raise TypeError(f"{mechanism!r} is not an interactive mechanism")
    return mechanisms


@attrs.frozen
class ConComp(FixedComposition):
    """Concurrent composition of mechanisms that are all started at once.

    Answers: Ask, PrivacyLossQuery. The opening is a tuple with each one's `Launched`.

    Privacy:
        Claim: for every adversary, however it interleaves, loses at most the composition of the
            mechanisms' losses; with an odometer among them there is no claim.
        Theorem: the one that `composition.VALIDITY` names under "fixed, interleaved".
        Checked by: tests/audit/test_concurrent.py
    """

    mechanisms: tuple[InteractiveMechanism[Any], ...] = attrs.field(converter=_mechanisms)

    coin_at_launch = True  # its mechanisms are checked one by one

    def __attrs_post_init__(self) -> None:
        for mechanism in self.mechanisms:
            validity.require_proof_if_claimed(mechanism)

    def privacy_map(self, d_in: int, measure: Measure | None = None) -> Loss:
        """The mechanisms' losses composed, in `measure` or the first that takes them all."""
        maps = maps_at(self.mechanisms, d_in)
        composed = common_measure(maps) if measure is None else measure
        return total((stated(composed) for stated in maps), composed)

    @property
    def _named(self) -> Mapping[ChildId, InteractiveMechanism[Any]]:
        return dict(enumerate(self.mechanisms))

    def _shares(self, dataset: Any) -> Mapping[ChildId, Any]:
        return dict.fromkeys(self._named, dataset)

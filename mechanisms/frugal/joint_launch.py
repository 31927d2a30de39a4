"""Several Gaussian measurements as one launch: all of them are paid for, or none."""

from fractions import Fraction
from typing import Any

import attrs
import numpy as np

from mechanisms.frugal.combined import Combined
from mechanisms.gaussian import Gaussian
from queryable.answers.noisy import NoisyArray, NoisyInt
from queryable.effort import Effort
from queryable.events.laws import GaussianEvent
from queryable.losses import ZCDP
from queryable.mechanism import Measurement
from queryable.randomness.coins import Coins
from queryable.wording.quoting import quoted


def _parts(value: Any) -> tuple[Gaussian, ...]:
    parts = tuple(value) if isinstance(value, tuple | list) else ()
    if not parts or any(
        type(each) is not Gaussian or type(each.statistic) is not Combined for each in parts
    ):
        raise TypeError(
            f"parts is {quoted(value)}; it should be a list of Gaussian(Combined(..), ..)"
        )
    if len({each.statistic.request.per for each in parts}) > 1:
        raise ValueError("parts should bound the rows of one privacy unit in one way")
    return parts


@attrs.frozen
class GaussiansTogether(Measurement[tuple[NoisyInt | NoisyArray, ...]]):
    """Gaussian measurements of several combinations of counts. Answers a tuple.

    Privacy:
        Claim: the sum of the losses of the parts.
        Theorem: composition of zCDP (Bun, Steinke 2016, Lemma 1.7); the noise is independent.
        Assumes: the statistics' sensitivities.
        Checked by: tests/unit/mechanisms/frugal/test_purchases.py

    Args:
        parts: a `Gaussian` of a `Combined` each; all with one privacy unit.
    """

    parts: tuple[Gaussian, ...] = attrs.field(converter=_parts)

    def loss(self, d_in: int) -> ZCDP:
        """The sum."""
        return ZCDP(sum((each.loss(d_in).rho for each in self.parts), Fraction(0)))

    def has_number(self, of: str | int | None) -> bool:
        """No: every part answers an array."""
        return False

    def events(self) -> tuple[GaussianEvent, ...]:
        """The noise of each part."""
        return tuple(event for each in self.parts for event in each.events())

    def release(self, dataset: Any, coins: Coins) -> tuple[NoisyInt | NoisyArray, ...]:
        """The answer of each part."""
        return tuple(
            each.release(dataset, coins.spawn("part", place))
            for place, each in enumerate(self.parts)
        )

    @property
    def effort(self) -> Effort:
        """That of all parts, which are evaluated together."""
        parts = [each.effort for each in self.parts]
        return Effort(sum(e.steps for e in parts), sum(e.characters for e in parts))

    def imagined(self) -> tuple[Any, ...]:
        """An answer of its form: what a frugal person does next depends on no number of it."""
        shapes = [each.statistic.shape for each in self.parts]
        return tuple(0 if each is None else np.zeros(each, np.int64) for each in shapes)

    @property
    def public_name(self) -> str:
        """`Gaussians of` and the statistic of most columns."""
        statistics: list[Any] = [each.statistic for each in self.parts]
        widest = max(statistics, key=lambda each: len(each.request.columns))
        return f"Gaussians of {widest.public_name}"

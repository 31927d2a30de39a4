"""What a mechanism draws from: the laws that other accountants know, with their sensitivities.

Responsible for values that describe draws. All of them are for one record; the `d_in` of a charge
is beside them. Which mechanism draws what, the mechanism says itself: `events` in
`queryable.optional`.
"""

from fractions import Fraction
from math import prod
from typing import Any, ClassVar

import attrs

from queryable.losses.numbers import exact


@attrs.frozen
class Sensitivity:
    """How far one record moves an integer-valued statistic.

    Attributes:
        l1, l2, linf: bounds on the norms of the change.
        entries: how many integers the statistic has.
    """

    l1: Fraction
    l2: Fraction
    linf: Fraction
    entries: int

    @classmethod
    def of(cls, statistic: Any, records: int = 1) -> "Sensitivity":
        """What a statistic declares, times a number of records."""
        l1, l2, linf = (records * exact(getattr(statistic, it), it) for it in ("l1", "l2", "linf"))
        return cls(l1, l2, linf, prod(statistic.shape or ()))


@attrs.frozen
class GaussianEvent:
    """Independent discrete Gaussian noise on each integer.

    Attributes:
        variance: sigma^2, the parameter of the law.
        sensitivity: the sensitivity.
        times: how often that is done, each time with noise of its own.
    """

    law: ClassVar[str] = "discrete gaussian"

    variance: Fraction
    sensitivity: Sensitivity
    times: int = 1


@attrs.frozen
class LaplaceEvent:
    """Independent discrete Laplace noise on each integer.

    Attributes:
        scale: the probability of x is proportional to exp(-|x| / scale).
        sensitivity, times: as for `GaussianEvent`.
    """

    law: ClassVar[str] = "discrete laplace"

    scale: Fraction
    sensitivity: Sensitivity
    times: int = 1


@attrs.frozen
class ResponseEvent:
    """Randomized response: a bit is answered truthfully or not, or revealed.

    Any number of records flips the bit at most.

    Attributes:
        epsilon: the logarithm of the odds of a true answer; None if `odds` are given.
        odds: the odds themselves.
        delta: the probability with which a first coin reveals the bit.
    """

    law: ClassVar[str] = "randomized response"

    epsilon: Fraction | None
    odds: Fraction | None
    delta: Fraction


@attrs.frozen
class ChoiceEvent:
    """A candidate chosen by its score.

    Attributes:
        flips: permute-and-flip; otherwise the exponential mechanism.
        rate: a candidate that is behind by a score of s has exp(-rate * s) times the weight.
        sensitivity: how far one record moves one score.
        monotone: whether a record moves all scores in one direction.
        candidates: how many there are.
        times: how often a choice is made; each among those that are left.
    """

    law: ClassVar[str] = "choice by score"

    flips: bool
    rate: Fraction
    sensitivity: Fraction
    monotone: bool
    candidates: int
    times: int = 1

    @property
    def epsilon(self) -> Fraction:
        """The pure loss of one choice, at one record."""
        return self.rate * self.sensitivity * (1 if self.monotone else 2)


Event = GaussianEvent | LaplaceEvent | ResponseEvent | ChoiceEvent
LAWS: dict[str, type[Event]] = {
    each.law: each for each in (GaussianEvent, LaplaceEvent, ResponseEvent, ChoiceEvent)
}
"""By name in the JSON."""

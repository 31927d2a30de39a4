"""Choosing a candidate by its score: the exponential mechanism and its kin.

Responsible for what a choice costs. The exact samplers are in `mechanisms.sampling.choices`.
"""

from abc import abstractmethod
from fractions import Fraction
from typing import Any

import attrs
import numpy as np

from mechanisms.privacy_maps import with_zcdp
from mechanisms.sampling.choices import PermuteAndFlipLaw, Softmax
from queryable.losses import Loss, Measure, PureDP, total
from queryable.losses.numbers import exact, natural, positive
from queryable.mechanism import Measurement
from queryable.quoting import an_instance, quoted
from queryable.randomness.coins import Coins
from queryable.randomness.laws import Law
from queryable.statistics import IntegerStatistic


def _scores(value: Any) -> IntegerStatistic:
    if not isinstance(value, IntegerStatistic):
        raise TypeError(
            f"scores is {quoted(value)}; it should be an IntegerStatistic with one integer a "
            "candidate: Histogram, or Statistic(function, l1=..., l2=..., shape=...)"
        )
    shape = value.shape
    if shape is None or len(shape) != 1 or shape[0] < 1:
        raise ValueError(f"scores has shape {shape}; it should be (candidates,), at least one")
    return value


def _epsilon(value: Any) -> Fraction:
    return positive(value, "epsilon")


def _sensitivity(value: Any) -> Fraction:
    return positive(value, "sensitivity")


def _k(value: Any) -> int:
    return natural(value, "k")


@attrs.frozen
class _ChoiceByScore(Measurement):
    """What the mechanisms that choose by scores have in common."""

    scores: IntegerStatistic = attrs.field(converter=_scores)
    epsilon: Fraction = attrs.field(converter=_epsilon)
    sensitivity: Fraction = attrs.field(kw_only=True, converter=_sensitivity)
    monotone: bool = attrs.field(kw_only=True, default=False, validator=an_instance(bool))

    @sensitivity.default
    def _largest(self) -> int:
        """No entry moves by more than all together; by an integer, as scores are integers."""
        norms = ("l1", "l2", "linf") if hasattr(self.scores, "linf") else ("l1", "l2")
        return min(exact(getattr(self.scores, norm), norm) for norm in norms).__floor__()

    def __attrs_post_init__(self) -> None:
        """A statistic that knows better than its declaration is believed."""
        known = self._largest() if hasattr(self.scores, "linf") else self.sensitivity
        if not known <= self.sensitivity:
            raise ValueError(f"sensitivity is {self.sensitivity}; one score may move by {known}")
        if self.monotone and not getattr(self.scores, "may_be_monotone", True):
            name = type(self.scores).__name__
            raise ValueError(f"monotone is True, but scores of a {name} move both ways")

    def loss(self, d_in: int) -> PureDP:
        """d_in * epsilon."""
        return PureDP(d_in * self.epsilon)

    def _rate(self, epsilon: Fraction) -> Fraction:
        return epsilon / self.sensitivity / (1 if self.monotone else 2)


@attrs.frozen
class _SingleChoice(_ChoiceByScore):
    """Chooses one candidate."""

    @abstractmethod
    def _law(self, scores: Any, rate: Fraction) -> Law[int]:
        """How, given scores."""

    def release(self, dataset: Any, coins: Coins) -> int:
        """The index of a candidate."""
        return coins.draw(self._law(self.scores(dataset), self._rate(self.epsilon)))


@attrs.frozen
class ExponentialMechanism(_SingleChoice):
    """Chooses a candidate, the likelier the higher its score; answers its index.

    With probability proportional to exp(epsilon * score / (2 sensitivity)), or where the scores are
    monotone exp(epsilon * score / sensitivity).

    Privacy:
        Claim: PureDP(d_in * epsilon), and ZCDP((d_in * epsilon)^2 / 8): the range of the privacy
            loss over the candidates is at most d_in * epsilon.
        Theorem: McSherry, Talwar 2007; Durfee, Rogers 2019 (range); Cesar, Rogers 2021 (zCDP).
            Between neighbours the log-probability of a candidate moves by the rate times what its
            score moves, less a constant: scores that move either way by at most the sensitivity
            have a range of twice the rate times that, scores that all move one way of once. Both
            are epsilon. Ranges add up from neighbour to neighbour. For zCDP see docs/theory.md,
            bounded range.
        Assumes: the declared sensitivity, and that scores said to be monotone are.
        Checked by: tests/unit/mechanisms/test_exponential.py

    Args:
        scores: integers, shape (candidates,).
        epsilon: in nats, at d_in=1.
        sensitivity: how far any one score moves when a record is added or removed. By default the
            statistic's `linf` where it has one, as the library's own statistics have, and then less
            is refused; else what its l1 and l2 imply. Say less for a statistic of your own where
            one record may count for many candidates: the largest change is far below the sum.
        monotone: whether adding a record moves no score down, or none up. It doubles the rate.
            Refused for statistics that are known to move both ways.
    """

    def privacy_map(self, d_in: int, measure: Measure | None = None) -> Loss:
        """The loss at `d_in` records; in zCDP and RDP the better of two bounds."""
        converted = super().privacy_map(d_in, measure)
        return with_zcdp(converted, lambda: (d_in * self.epsilon) ** 2 / 8, measure)

    def _law(self, scores: Any, rate: Fraction) -> Softmax:
        return Softmax(scores, rate)


@attrs.frozen
class PermuteAndFlip(_SingleChoice):
    """Chooses a candidate, never worse on average than the exponential mechanism; its index.

    Candidates in random order; each is taken with probability exp(-rate * gap to the best score),
    until one is. The rate is that of `ExponentialMechanism`.

    Privacy:
        Claim: PureDP(d_in * epsilon). No bounded range is claimed, so zCDP is by conversion.
        Theorem: McKenna, Sheldon 2020; it is report-noisy-max with exponential noise (Ding et al.
            2021). Let the noise of the others be fixed, and r be the least noise with which i wins.
            Between neighbours r moves by at most 2 sensitivity; by the sensitivity alone where all
            scores move one way, up or down: the best other one and i's own move together. So the
            probability of i moves by a factor of at most e^epsilon.
        Assumes: as `ExponentialMechanism`.
        Checked by: tests/unit/mechanisms/test_exponential.py

    Args: as `ExponentialMechanism`.
    """

    def _law(self, scores: Any, rate: Fraction) -> PermuteAndFlipLaw:
        return PermuteAndFlipLaw(scores, rate)


@attrs.frozen
class TopK(_ChoiceByScore):
    """Chooses k different candidates, one after the other; answers their indices, in that order.

    Peeling: the exponential mechanism at epsilon / k, then again among those that are left.

    Privacy:
        Claim: PureDP(d_in * epsilon), and ZCDP((d_in * epsilon)^2 / (8 k)).
        Theorem: adaptive composition of k exponential mechanisms whose parameters are fixed in
            advance, as `queryable.losses.total` adds them up. Peeling: Durfee, Rogers 2019.
        Assumes: as `ExponentialMechanism`.
        Checked by: tests/unit/mechanisms/test_exponential.py

    The other arguments are those of `ExponentialMechanism`.

    Args:
        k: how many to choose, at most as many as there are candidates.
        epsilon: in nats, at d_in=1, for all of them together.
    """

    k: int = attrs.field(kw_only=True, converter=_k)

    @k.validator
    def _enough(self, attribute: object, k: int) -> None:
        candidates = (self.scores.shape or (0,))[0]
        if not 1 <= k <= candidates:
            raise ValueError(f"k is {k}; it should be between 1 and {candidates}, the candidates")

    def privacy_map(self, d_in: int, measure: Measure | None = None) -> Loss:
        """That of k exponential mechanisms together."""
        each = ExponentialMechanism(
            self.scores,
            self.epsilon / self.k,
            sensitivity=self.sensitivity,
            monotone=self.monotone,
        ).privacy_map(d_in, measure)
        return total([each] * self.k, each.measure)

    def release(self, dataset: Any, coins: Coins) -> tuple[int, ...]:
        """The indices, in the order they were chosen."""
        scores, rate = np.asarray(self.scores(dataset)), self._rate(self.epsilon / self.k)
        left, chosen = np.arange(len(scores)), []
        for _ in range(self.k):
            place = coins.draw(Softmax(scores[left], rate))
            chosen.append(int(left[place]))
            left = np.delete(left, place)
        return tuple(chosen)

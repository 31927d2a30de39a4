"""Mechanisms that choose a candidate by its score.

`ExponentialMechanism`, `PermuteAndFlip` and `TopK` state what a choice costs. The exact samplers
are in `mechanisms.sampling.choices`.
"""

from abc import abstractmethod
from fractions import Fraction
from math import prod
from typing import Any, ClassVar, TypeVar

import attrs
import numpy as np

from mechanisms.additive import is_entry
from mechanisms.privacy_maps import with_zcdp
from mechanisms.sampling.choices import PermuteAndFlipLaw, Softmax
from queryable.effort import Effort
from queryable.events.laws import ChoiceEvent
from queryable.losses import Loss, Measure, PureDP, total
from queryable.losses.fields import read_positive_epsilon
from queryable.losses.numbers import exact, natural, positive
from queryable.mechanism import Measurement
from queryable.randomness.coins import Coins
from queryable.randomness.laws import Law
from queryable.statistics import IntegerStatistic
from queryable.wording.quoting import an_instance, quoted


def _scores(value: Any) -> IntegerStatistic:
    if not isinstance(value, IntegerStatistic):
        raise TypeError(
            f"scores is {quoted(value)}; it should be an IntegerStatistic with one integer per "
            "candidate: Histogram, Quantile, or Statistic(function, l1=..., l2=..., shape=...)"
        )
    instead = getattr(value, "scores_instead", None)
    if instead is not None:
        raise TypeError(f"give {instead}: a {type(value).__name__} has no score per candidate")
    shape = value.shape
    if shape is None or len(shape) != 1 or shape[0] < 1:
        raise ValueError(
            f"scores has shape {shape}; it should be (n,) for n candidates, at least one"
        )
    return value


def _sensitivity(value: Any) -> Fraction:
    return positive(value, "sensitivity")


def _k(value: Any) -> int:
    return natural(value, "k")


Chosen = TypeVar("Chosen")


@attrs.frozen
class _ChoiceByScore(Measurement[Chosen]):
    """Fields and checks of the mechanisms that choose by scores."""

    scores: IntegerStatistic = attrs.field(converter=_scores)
    epsilon: Fraction = attrs.field(converter=read_positive_epsilon)
    sensitivity: Fraction = attrs.field(kw_only=True, converter=_sensitivity)
    monotone: bool = attrs.field(kw_only=True, default=False, validator=an_instance(bool))
    _flips: ClassVar[bool] = False

    @sensitivity.default
    def _largest(self) -> int:
        """What one score moves by at most; rounded down, because scores are integers."""
        norms = ("l1", "l2", "linf")
        return min(exact(getattr(self.scores, norm), norm) for norm in norms).__floor__()

    def __attrs_post_init__(self) -> None:
        """Check the given values against what the statistic itself declares."""
        known = self._largest()
        if not known <= self.sensitivity:
            raise ValueError(
                f"sensitivity is {self.sensitivity}; it should be at least {known}: one score may "
                f"move by {known}"
            )
        if self.monotone and self.scores.monotone is None:
            name = type(self.scores).__name__
            raise ValueError(
                f"monotone should be False: scores of this {name} may move both ways, or it does "
                'not say which way, as Statistic(.., monotone="up") does'
            )

    def loss(self, d_in: int) -> PureDP:
        """d_in * epsilon."""
        return PureDP(d_in * self.epsilon)

    @property
    def public_name(self) -> str:
        """The name of the class and what the scores are about."""
        return f"{type(self).__name__} of {self.scores.asked}"

    def has_number(self, of: str | int | None) -> bool:
        """Whether it is the index itself."""
        return of is None

    @property
    def effort(self) -> Effort:
        """A choice among all candidates."""
        return Effort(600 + self._candidates)

    def events(self) -> tuple[ChoiceEvent]:
        """The choice."""
        return (self._event(self._rate(self.epsilon), 1),)

    def _event(self, rate: Fraction, times: int) -> ChoiceEvent:
        many = self._candidates
        return ChoiceEvent(self._flips, rate, self.sensitivity, self.monotone, many, times)

    @property
    def _candidates(self) -> int:
        return prod(self.scores.shape or ())

    def _rate(self, epsilon: Fraction) -> Fraction:
        return epsilon / self.sensitivity / (1 if self.monotone else 2)


@attrs.frozen
class _SingleChoice(_ChoiceByScore[int]):
    """Chooses one candidate."""

    @abstractmethod
    def _law(self, scores: Any, rate: Fraction) -> Law[int]:
        """The law of the chosen index, given the scores."""

    def release(self, dataset: Any, coins: Coins) -> int:
        """The index of the chosen candidate."""
        return coins.draw(self._law(self.scores(dataset), self._rate(self.epsilon)))


@attrs.frozen
class ExponentialMechanism(_SingleChoice):
    """Chooses a candidate, with higher probability the higher its score. Answers its index, an int.

    The probability is proportional to exp(epsilon * score / (2 sensitivity)), and for monotone
    scores to exp(epsilon * score / sensitivity).

    Privacy:
        Claim: PureDP(d_in * epsilon), and ZCDP((d_in * epsilon)^2 / 8): the range of the privacy
            loss over the candidates is at most d_in * epsilon.
        Theorem: McSherry, Talwar 2007; Durfee, Rogers 2019 (range); Cesar, Rogers 2021 (zCDP).
            Between neighbours the log-probability of a candidate moves by the rate times the move
            of its score, minus a constant. Scores that move either way by at most the sensitivity
            have a range of 2 * rate * sensitivity; scores that all move in one direction have a
            range of rate * sensitivity. Both are epsilon. Ranges add up from neighbour to
            neighbour. For zCDP see docs/theory.md, bounded range.
        Assumes: the declared sensitivity, and that scores declared monotone are monotone.
        Checked by: tests/unit/mechanisms/test_exponential.py

    Args:
        scores: integers, shape (candidates,).
        epsilon: in nats, at d_in=1.
        sensitivity: how far any one score moves when a record is added or removed. The default is
            the statistic's `linf`; a smaller value is rejected. For a statistic of your own in
            which one record counts for many candidates, declare `linf` there: it is far below what
            l1 and l2 imply.
        monotone: whether adding a record moves no score down, or moves no score up. It doubles the
            rate. Rejected unless the statistic's own `monotone` says so.
    """

    def privacy_map(self, d_in: int, measure: Measure | None = None) -> Loss:
        """The loss at `d_in` records; in zCDP and RDP the smaller of two bounds."""
        converted = super().privacy_map(d_in, measure)
        return with_zcdp(converted, lambda: (d_in * self.epsilon) ** 2 / 8, measure)

    def _law(self, scores: Any, rate: Fraction) -> Softmax:
        return Softmax(scores, rate)


@attrs.frozen
class PermuteAndFlip(_SingleChoice):
    """Chooses a candidate that is on average at least as good as `ExponentialMechanism`'s.

    Answers its index, an int.

    The candidates are visited in random order. Each is taken with probability
    exp(-rate * gap to the best score), until one is taken. The rate is that of
    `ExponentialMechanism`.

    Privacy:
        Claim: PureDP(d_in * epsilon). No bounded range is claimed, so zCDP is by conversion.
        Theorem: McKenna, Sheldon 2020; it is report-noisy-max with exponential noise (Ding et al.
            2021). Fix the noise of the other candidates, and let r be the least noise with which i
            wins. Between neighbours r moves by at most 2 sensitivity; if all scores move in one
            direction, by at most the sensitivity, because the best other score and the score of i
            move together. So the probability of i changes by a factor of at most e^epsilon.
        Assumes: as `ExponentialMechanism`.
        Checked by: tests/unit/mechanisms/test_exponential.py

    Args: as `ExponentialMechanism`.
    """

    _flips: ClassVar[bool] = True

    def _law(self, scores: Any, rate: Fraction) -> PermuteAndFlipLaw:
        return PermuteAndFlipLaw(scores, rate)


@attrs.frozen
class TopK(_ChoiceByScore[tuple[int, ...]]):
    """Chooses k different candidates in turn. Answers their indices, a tuple in that order.

    Peeling: the exponential mechanism at epsilon / k, repeated among the candidates that are left.

    Privacy:
        Claim: PureDP(d_in * epsilon), and ZCDP((d_in * epsilon)^2 / (8 k)).
        Theorem: adaptive composition of k exponential mechanisms whose parameters are fixed in
            advance; `queryable.losses.total` adds up their losses. Peeling: Durfee, Rogers 2019.
        Assumes: as `ExponentialMechanism`.
        Checked by: tests/unit/mechanisms/test_exponential.py

    The other arguments are those of `ExponentialMechanism`.

    Args:
        k: how many to choose, at most the number of candidates.
        epsilon: in nats, at d_in=1, for all k choices together.
    """

    k: int = attrs.field(kw_only=True, converter=_k)

    @k.validator
    def _enough(self, attribute: object, k: int) -> None:
        candidates = (self.scores.shape or (0,))[0]
        if not 1 <= k <= candidates:
            raise ValueError(
                f"k is {quoted(k)}; it should be between 1 and {candidates}, the number of "
                "candidates"
            )

    def privacy_map(self, d_in: int, measure: Measure | None = None) -> Loss:
        """The sum of the losses of k exponential mechanisms."""
        each = ExponentialMechanism(
            self.scores,
            self.epsilon / self.k,
            sensitivity=self.sensitivity,
            monotone=self.monotone,
        ).privacy_map(d_in, measure)
        return total([each] * self.k, each.measure)

    def events(self) -> tuple[ChoiceEvent]:
        """As many choices."""
        return (self._event(self._rate_of_each, self.k),)

    @property
    def _rate_of_each(self) -> Fraction:
        return self._rate(self.epsilon / self.k)

    def has_number(self, of: str | int | None) -> bool:
        """Whether it is one of the indices."""
        return is_entry(of, (self.k,))

    @property
    def effort(self) -> Effort:
        """As many choices, each among all candidates."""
        each = 200 + self._candidates // 4
        return Effort(600 + self._candidates + self.k * each, 100 + 9 * self.k)

    def release(self, dataset: Any, coins: Coins) -> tuple[int, ...]:
        """The indices, in the order in which they were chosen."""
        scores, rate = np.asarray(self.scores(dataset)), self._rate_of_each
        left, chosen = np.arange(len(scores)), []
        for _ in range(self.k):
            place = coins.draw(Softmax(scores[left], rate))
            chosen.append(int(left[place]))
            left = np.delete(left, place)
        return tuple(chosen)

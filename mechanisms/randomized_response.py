"""Randomized response (Warner 1965), and the approximate version of Kairouz, Oh and Viswanath."""

from fractions import Fraction
from typing import Any

import attrs

from mechanisms.sampling.laws import TruthfulAnswer
from queryable.events.laws import ResponseEvent
from queryable.losses import ApproxDP, Loss, PureDP
from queryable.losses.conversions import log_up
from queryable.losses.fields import read_delta
from queryable.losses.numbers import exact, shown
from queryable.mechanism import Measurement
from queryable.randomness.coins import Coins
from queryable.randomness.laws import Bernoulli, Law
from queryable.statistics import Bit, IntegerStatistic
from queryable.wording.quoting import quoted


@attrs.frozen
class Revealed:
    """The bit without noise. It is answered with probability delta."""

    bit: bool


def _bit(value: Any) -> Bit:
    if isinstance(value, Bit):
        return value
    if isinstance(value, IntegerStatistic) or not callable(value):
        raise TypeError(
            f"bit is {quoted(value)}; it should be a Bit, or a function from the data to a bool"
        )
    return Bit(value)


def _epsilon(value: Any) -> Fraction | None:
    return None if value is None else exact(value, "epsilon")


def _odds(value: Any) -> Fraction | None:
    odds = None if value is None else exact(value, "odds")
    if odds is not None and not odds >= 1:
        raise ValueError(f"odds is {shown(odds)}; it should be at least 1, odds of a true answer")
    return odds


@attrs.frozen
class RandomizedResponse(Measurement["bool | Revealed"]):
    """A bit of the data, answered truthfully with probability e^epsilon / (1 + e^epsilon).

    Answers a bool. With `delta`, a first coin of that probability decides to answer
    `Revealed(bit)` instead. Every (epsilon, delta)-DP mechanism is a postprocessing of this one.

    Privacy:
        Claim: PureDP(epsilon), or ApproxDP(epsilon, delta); the same for every d_in >= 1, since any
            change of the data flips the bit at most.
        Theorem: Kairouz, Oh, Viswanath 2015, section 2.3; with odds, epsilon is their logarithm.
        Assumes: the bit is a function of the data alone.
        Checked by: tests/unit/mechanisms/test_randomized_response.py (exact laws)

    Args:
        bit: a `Bit`, or a function from the data to a bool.
        epsilon: in nats. Give exactly one of `epsilon` and `odds`.
        odds: of a truthful answer, at least 1. With odds 3 the answer is truthful with probability
            exactly 3/4, a rational number, so that tests can enumerate the law of the view. The
            claim is then ln 3, rounded up.
        delta: the probability of revealing the bit.
    """

    bit: Bit = attrs.field(converter=_bit)
    epsilon: Fraction | None = attrs.field(default=None, kw_only=True, converter=_epsilon)
    odds: Fraction | None = attrs.field(default=None, kw_only=True, converter=_odds)
    delta: Fraction = attrs.field(default=Fraction(0), kw_only=True, converter=read_delta)
    _truthful: Law[bool] = attrs.field(init=False, repr=False, eq=False)

    def __attrs_post_init__(self) -> None:
        if (self.epsilon is None) == (self.odds is None):
            raise ValueError(
                f"give exactly one of epsilon and odds; epsilon is {self.epsilon} and odds is "
                f"{self.odds}"
            )
        object.__setattr__(self, "_truthful", self._truth())

    def loss(self, d_in: int) -> Loss:
        """(epsilon, delta), for any number of records."""
        epsilon = self.epsilon if self.odds is None else log_up(self.odds)
        return ApproxDP(epsilon, self.delta) if self.delta else PureDP(epsilon)

    def has_number(self, of: str | int | None) -> bool:
        """Whether it is the bit, which no first coin reveals."""
        return of is None and not self.delta

    def events(self) -> tuple[ResponseEvent]:
        """The coins."""
        return (ResponseEvent(self.epsilon, self.odds, self.delta),)

    def release(self, dataset: Any, coins: Coins) -> bool | Revealed:
        """The bit, its negation, or with probability delta `Revealed(bit)`."""
        bit = self.bit(dataset)
        if self.delta and coins.draw(Bernoulli(self.delta)):
            return Revealed(bit)
        return bit if coins.draw(self._truthful) else not bit

    def _truth(self) -> Law[bool]:
        if self.odds is not None:
            return Bernoulli(self.odds / (1 + self.odds))
        return TruthfulAnswer(self.epsilon)

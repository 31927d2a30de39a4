"""How often a mechanism is repeated: laws of a random number of runs.

Responsible for exact draws and exact probabilities. What the repetitions cost is in
`mechanisms.selection`.
"""

from abc import abstractmethod
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import attrs
from flint import arb

from mechanisms.tables.requests.signed import signed
from queryable.losses.numbers import positive, probability, round_down, round_up, shown
from queryable.randomness.intervals import Chance, Interval
from queryable.randomness.laws import FairBits, Law

LARGEST_MEAN = 10_000
"""The largest expected number of runs."""

_LARGEST_ETA = 100
_LARGEST_GAMMA = 1 - Fraction(1, 10_000)
_MOST_VALUES = 20_000  # an audit cannot enumerate more


def _eta(value: Any) -> Fraction:
    eta = signed(value, "eta")
    if not -1 < eta <= _LARGEST_ETA:
        raise ValueError(f"eta is {shown(eta)}; it should be above -1 and at most {_LARGEST_ETA}")
    return eta


def _gamma(value: Any) -> Fraction:
    gamma = probability(value, "gamma")
    if not 0 < gamma <= _LARGEST_GAMMA:
        raise ValueError(
            f"gamma is {shown(gamma)}; it should be above 0 and at most {shown(_LARGEST_GAMMA)}"
        )
    return gamma


def _tau(value: Any) -> Fraction:
    return signed(value, "tau")


def _mu(value: Any) -> Fraction:
    mu = positive(value, "mu")
    if not mu <= LARGEST_MEAN:
        raise ValueError(f"mu is {shown(mu)}; it should be at most {LARGEST_MEAN}")
    return mu


class Repetitions(Law[int]):
    """The law of a number of runs, which a theorem about private selection covers."""

    @property
    @abstractmethod
    def mean(self) -> Fraction:
        """The expected number, rounded up."""


class Ending(Repetitions):
    """A law under which each run may be the last, with the probability `gamma`.

    With f(t) the mean of t^K, the slope f' varies by at most the factor r^`exponent`, where r is
    the largest factor by which 1 - (1-gamma) t varies.
    """

    gamma: Fraction

    def __attrs_post_init__(self) -> None:
        """Check the expected number of runs.

        Raises:
            ValueError: it is above 10,000.
        """
        if not self.mean <= LARGEST_MEAN:
            raise ValueError(
                f"gamma is {shown(self.gamma)}; it should be larger: more than {LARGEST_MEAN} runs "
                "would be expected"
            )

    @property
    @abstractmethod
    def exponent(self) -> Fraction:
        """How many times the loss of one run is added to it, if that is pure."""


@attrs.frozen
class Poisson(Repetitions):
    """The integers k >= 0, with probability proportional to mu^k / k!.

    At 0 nothing runs. (Papernot, Steinke 2022, Theorem 6.)

    Args:
        mu: the expected number, at most 10,000.
    """

    mu: Fraction = attrs.field(converter=_mu)

    @property
    def mean(self) -> Fraction:
        """The expected number."""
        return self.mu

    def sample(self, source: FairBits) -> int:
        """One draw: the sum of draws whose means are at most 1/2 and add up to mu."""
        parts = -((-2 * self.mu) // 1)
        share = self.mu / parts
        half = Fraction(1, 2)
        return sum(_walk(half, lambda k: 2 * share / (k + 1), 0, source) for _ in range(int(parts)))

    def truncated(self, tail: Fraction) -> tuple[tuple[tuple[int, Chance], ...], Fraction] | None:
        """The first values, until the bound on the probability of all others is within the tail."""
        none = Interval(*(way(lambda m: (-m).exp(), self.mu) for way in (round_down, round_up)))
        return _first_values(0, none, lambda k: self.mu / (k + 1), Fraction(0), tail)


@attrs.frozen
class TruncatedNegativeBinomial(Ending):
    """The integers k >= 1, with probability proportional to (1-gamma)^k prod (l+eta)/(l+1), 1<=l<k.

    At eta=1 it is the geometric law: repeat until a coin of probability gamma shows heads. At eta=0
    it is the logarithmic law, (1-gamma)^k / k. Towards eta=-1 most draws are 1, and few are large.
    (Papernot, Steinke 2022, Definition 1.)

    Args:
        eta: above -1 and at most 100. A smaller one costs less; a larger one makes few runs less
            likely.
        gamma: above 0 and at most 0.9999. The smaller, the more runs: 1/gamma on average at eta=1.
            At most 10,000 are expected.
    """

    eta: Fraction = attrs.field(converter=_eta)
    gamma: Fraction = attrs.field(converter=_gamma)

    @property
    def exponent(self) -> Fraction:
        """1 + eta."""
        return 1 + self.eta

    @property
    def mean(self) -> Fraction:
        """The expected number, rounded up; exact for the geometric law."""
        if self.eta == 1:
            return 1 / self.gamma
        if self.eta == 0:
            return round_up(lambda g: (1 / g - 1) / -g.log(), self.gamma)
        return round_up(
            lambda e, g: -e * (1 - g) / (g * (e * g.log()).expm1()), self.eta, self.gamma
        )

    def sample(self, source: FairBits) -> int:
        """One draw, from coins of rational probabilities.

        Up to eta=1 one walk gives it, after 1/gamma steps on average. For a negative eta that may
        be far more than the draw. So if gamma^-eta is at most 1/2, walks without a limit are made
        until one is as long as gamma admits. Above eta=1, the law without truncation is a sum of
        independent ones whose etas add up, and zero is drawn again.
        """
        if -self.eta * ((1 / self.gamma).__floor__().bit_length() - 1) >= 1:
            return _unlimited_walk(-self.eta, self.gamma, source)
        if self.eta <= 1:
            return _walk(self.gamma, _onwards(self.eta), 1, source)
        whole, rest = divmod(self.eta, 1)
        parts = [Fraction(1)] * whole + [rest] * (rest > 0)
        while True:
            drawn = sum(_walk(self.gamma, _onwards(part), 0, source) for part in parts)
            if drawn:
                return drawn

    def truncated(self, tail: Fraction) -> tuple[tuple[tuple[int, Chance], ...], Fraction] | None:
        """The first values, until the bound on the probability of all others is within the tail.

        The ratio of consecutive probabilities is monotone and tends to 1-gamma, so the larger of
        both bounds all later ratios.
        """
        rest = 1 - self.gamma
        onwards = _onwards(self.eta)
        return _first_values(1, self._first(), lambda k: rest * onwards(k), rest, tail)

    def _first(self) -> Interval:
        """The probability of 1."""

        def first(e: arb, g: arb) -> arb:
            return (1 - g) / -g.log() if self.eta == 0 else (1 - g) * e / (-e * g.log()).expm1()

        given = self.eta, self.gamma
        return Interval(round_down(first, *given), round_up(first, *given))


@attrs.frozen
class Threshold(Ending):
    """Runs until one reaches a number that is known to be good; after each other run it may end.

    If none has reached it, nothing but that is told. (Liu, Talwar 2019, selection with a known
    threshold, without a limit on the number of runs.)

    Args:
        tau: the number to reach: at least this if the largest is best, at most if the smallest is.
        gamma: the probability to end after a run that has not reached it; at least 1/10,000 and at
            most 0.9999. A run that reaches tau with probability p is found with probability
            p / (gamma + (1-gamma) p).
    """

    tau: Fraction = attrs.field(converter=_tau)
    gamma: Fraction = attrs.field(converter=_gamma)
    unreached: TruncatedNegativeBinomial = attrs.field(init=False, eq=False, repr=False)
    """The law of the number of runs if none reaches tau."""

    @unreached.default
    def _geometric(self) -> TruncatedNegativeBinomial:
        return TruncatedNegativeBinomial(1, self.gamma)

    @property
    def exponent(self) -> Fraction:
        """1."""
        return Fraction(1)

    @property
    def mean(self) -> Fraction:
        """The expected number if none reaches tau, which is the largest."""
        return self.unreached.mean

    def sample(self, source: FairBits) -> int:
        """One draw of the number of runs if none reaches tau."""
        return self.unreached.sample(source)

    def truncated(self, tail: Fraction) -> tuple[tuple[tuple[int, Chance], ...], Fraction] | None:
        """The first numbers of runs if none reaches tau."""
        return self.unreached.truncated(tail)


def _onwards(eta: Fraction) -> Callable[[int], Fraction]:
    return lambda k: (k + eta) / (k + 1)


def _walk(stop: Fraction, onwards: Callable[[int], Fraction], start: int, source: FairBits) -> int:
    """One draw of k >= start, proportional to prod_{start<=l<k} (1-stop) onwards(l).

    A walk stops at each k with probability `stop`, and otherwise goes on with probability
    onwards(k), which is at most 1, or starts again.
    """
    k = start
    while source.below(stop.denominator) >= stop.numerator:
        chance = onwards(k)
        k = k + 1 if source.below(chance.denominator) < chance.numerator else start
    return k


def _unlimited_walk(alpha: Fraction, stop: Fraction, source: FairBits) -> int:
    """One draw of k >= 1, proportional to (1-stop)^k (alpha/k) prod_{1<=l<k} (1 - alpha/l).

    A walk ends at k with probability alpha/k. One that is stopped before, at any k with probability
    `stop`, is made again.
    """
    while True:
        k = 1
        while source.below(stop.denominator) >= stop.numerator:
            chance = alpha / k
            if source.below(chance.denominator) < chance.numerator:
                return k
            k += 1


def _first_values(
    k: int, chance: Interval, ratio: Callable[[int], Fraction], limit: Fraction, tail: Fraction
) -> tuple[tuple[tuple[int, Chance], ...], Fraction] | None:
    """Values from k on, until all others have at most the probability `tail`; None if too many.

    Args:
        ratio: of the probabilities of k + 1 and k; monotone in k, with this limit.
    """
    kept: list[tuple[int, Chance]] = []
    while len(kept) < _MOST_VALUES:
        kept.append((k, chance))
        following = ratio(k)
        most = max(following, limit)
        if most < 1 and chance.high * most <= tail * (1 - most):
            return tuple(kept), tail
        chance, k = _shorter(chance * following), k + 1
    return None


def _shorter(chance: Interval) -> Interval:
    """The interval with ends that have 300 binary digits, so that products stay short."""
    low, high = chance.low * 2**300, chance.high * 2**300
    return Interval(Fraction(low.__floor__(), 2**300), Fraction(high.__ceil__(), 2**300))

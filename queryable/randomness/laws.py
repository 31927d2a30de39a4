"""Probability laws and the source of fair bits that they are sampled from.

A law turns fair bits into one exact sample, or lists its outcomes for an exact audit.
"""

from abc import ABC, abstractmethod
from fractions import Fraction
from operator import index
from typing import Any, ClassVar, Generic, TypeVar

import attrs
import numpy as np

from queryable.losses.numbers import at_least_one, probability
from queryable.randomness.intervals import Chance

T = TypeVar("T")


class FairBits(ABC):
    """A source of independent fair bits."""

    @abstractmethod
    def bits(self, count: int) -> int:
        """Return an integer uniform on [0, 2**count)."""

    def below(self, bound: int) -> int:
        """Return an integer uniform on [0, bound), by rejection, for a bound of any size."""
        if not index(bound) > 0:
            raise ValueError(f"bound is {bound}; it should be at least 1")
        count = (bound - 1).bit_length()
        while True:
            candidate = self.bits(count)
            if candidate < bound:
                return candidate

    def bytes(self, count: int) -> bytes:
        """Return `count` uniform bytes."""
        return self.bits(8 * count).to_bytes(count, "little")


class Law(ABC, Generic[T]):
    """A probability law that can be sampled exactly from fair bits."""

    drawn_ahead: ClassVar[bool] = False
    """Whether a batch of draws is much cheaper than single draws. Such a law must be hashable."""

    @abstractmethod
    def sample(self, source: FairBits) -> T:
        """Return one draw."""

    @property
    def gaussian_variance(self) -> Fraction | None:
        """v if the law is that of integers with weights exp(-x^2 / (2 v)), else None."""
        return None

    @property
    def laplace_scale(self) -> Fraction | None:
        """b if the law is that of integers with weights exp(-|x| / b), else None."""
        return None

    def sample_many(self, source: FairBits, count: int) -> np.ndarray[Any, Any]:
        """Return `count` independent draws: int64 if they fit, else Python integers."""
        draws = [self.sample(source) for _ in range(count)]
        try:
            return np.array(draws, dtype=np.int64)
        except OverflowError:
            return np.array(draws, dtype=object)

    def outcomes(self) -> tuple[tuple[T, Chance], ...] | None:
        """Return every value with its probability, or None if the support is infinite."""
        return None

    def truncated(self, tail: Fraction) -> tuple[tuple[tuple[T, Chance], ...], Fraction] | None:
        """Return the most likely values with their probabilities, and a bound on the rest.

        The bound, on the total probability of all other values, is at most `tail`. None if the law
        cannot be enumerated.
        """
        return None

    def beyond(self, magnitude: int) -> Fraction | None:
        """Return an upper bound on the probability that |X| > magnitude, or None if none is known.

        `queryable.checks.scales` computes the half-widths of intervals from it.
        """
        return None


def _probability(value: Any) -> Fraction:
    return probability(value, "probability")


def _bound(value: Any) -> int:
    return at_least_one(value, "bound")


@attrs.frozen
class Bernoulli(Law[bool]):
    """True with an exact rational probability."""

    probability: Fraction = attrs.field(converter=_probability)

    def sample(self, source: FairBits) -> bool:
        """Return one draw."""
        return source.below(self.probability.denominator) < self.probability.numerator

    def outcomes(self) -> tuple[tuple[bool, Fraction], ...]:
        """Return the values of positive probability."""
        both = ((True, self.probability), (False, 1 - self.probability))
        return tuple((value, chance) for value, chance in both if chance)


@attrs.frozen
class UniformBelow(Law[int]):
    """The uniform law on the integers 0, ..., bound - 1."""

    bound: int = attrs.field(converter=_bound)

    def sample(self, source: FairBits) -> int:
        """Return one draw."""
        return source.below(self.bound)

    def outcomes(self) -> tuple[tuple[int, Fraction], ...]:
        """Return the integers 0, ..., bound - 1, each with probability 1/bound."""
        return tuple((value, Fraction(1, self.bound)) for value in range(self.bound))

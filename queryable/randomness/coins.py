"""Coins: where randomness comes from. An argument of every step, never part of a state.

Responsible for fair bits and for handing each child coins of its own. Knows no mechanism: a draw
names a `Law`, and the law turns fair bits into a sample, or lists its outcomes to an audit.

`spawn(child, message)` gives the coins for the message-th message to a child. What a child draws
depends on its path and on how often it was spoken to, never on its siblings, so that seeded
interleavings replay whatever their order.
"""

from abc import ABC, abstractmethod
from fractions import Fraction
from hashlib import shake_256
from operator import index
from typing import Any, ClassVar, Generic, Protocol, TypeVar, overload

import attrs
import numpy as np

from queryable.losses.numbers import natural, probability
from queryable.randomness.entropy import random_bytes, random_word
from queryable.randomness.intervals import Chance
from queryable.randomness.pools import Pools

T = TypeVar("T")
Shape = int | tuple[int, ...]
ChildId = int | str


class FairBits(ABC):
    """A source of independent fair bits."""

    @abstractmethod
    def bits(self, count: int) -> int:
        """An integer uniform on [0, 2**count)."""

    def below(self, bound: int) -> int:
        """An integer uniform on [0, bound), for a bound of any size."""
        if not index(bound) > 0:
            raise ValueError(f"bound is {bound}; it should be at least 1")
        count = (bound - 1).bit_length()
        while True:
            candidate = self.bits(count)
            if candidate < bound:
                return candidate

    def bytes(self, count: int) -> bytes:
        """`count` uniform bytes."""
        return self.bits(8 * count).to_bytes(count, "little")


class Law(ABC, Generic[T]):
    """A probability law that can be sampled exactly from fair bits."""

    drawn_ahead: ClassVar[bool] = False
    """Whether many draws together are much cheaper than one by one. Such a law can be hashed."""

    @abstractmethod
    def sample(self, source: FairBits) -> T:
        """One draw."""

    def sample_many(self, source: FairBits, count: int) -> np.ndarray[Any, Any]:
        """`count` independent draws: int64 where they fit, else an array of Python integers."""
        draws = [self.sample(source) for _ in range(count)]
        try:
            return np.array(draws, dtype=np.int64)
        except OverflowError:
            return np.array(draws, dtype=object)

    def outcomes(self) -> tuple[tuple[T, Chance], ...] | None:
        """Every value with its probability, or None when the support is infinite."""
        return None

    def truncated(self, tail: Fraction) -> tuple[tuple[tuple[T, Chance], ...], Fraction] | None:
        """The likeliest values with their probabilities, and a bound on the mass of the others.

        The bound is at most `tail`. None where the law cannot be enumerated at all.
        """
        return None

    def beyond(self, magnitude: int) -> Fraction | None:
        """At least the probability that |X| > magnitude; None where nothing is known about it.

        For laws of noise: `queryable.accuracy` turns it into half-widths.
        """
        return None


class Coins(Protocol):
    """What `init` and `step` are given."""

    @overload
    def draw(self, law: Law[T]) -> T: ...
    @overload
    def draw(self, law: Law[T], size: Shape) -> np.ndarray[Any, Any]: ...
    def draw(self, law: Law[T], size: Shape | None = None) -> T | np.ndarray[Any, Any]:
        """One draw of `law`, or an array of independent draws of shape `size`."""

    def spawn(self, child: ChildId, message: int) -> "Coins":
        """The coins for the message-th message to a child."""


class _DrawingCoins(FairBits):
    @overload
    def draw(self, law: Law[T]) -> T: ...
    @overload
    def draw(self, law: Law[T], size: Shape) -> np.ndarray[Any, Any]: ...
    def draw(self, law: Law[T], size: Shape | None = None) -> T | np.ndarray[Any, Any]:
        """One draw of `law`, or an array of independent draws of shape `size`."""
        if size is None:
            return law.sample(self)
        return law.sample_many(self, int(np.prod(size, dtype=object))).reshape(size)


class SystemCoins(_DrawingCoins):
    """Unpredictable coins: OpenSSL's generator, which the operating system seeds.

    Forks and threads never repeat a bit. Of a law that is drawn often and one by one, some values
    are drawn ahead of time and kept in memory.
    """

    def __init__(self) -> None:
        self._pools = Pools()

    def bits(self, count: int) -> int:
        """An integer uniform on [0, 2**count)."""
        if count <= 64:
            return random_word() >> (64 - count)
        size = (count + 7) // 8
        return int.from_bytes(random_bytes(size), "little") >> (8 * size - count)

    def bytes(self, count: int) -> bytes:
        """`count` uniform bytes."""
        return random_bytes(count)

    @overload
    def draw(self, law: Law[T]) -> T: ...
    @overload
    def draw(self, law: Law[T], size: Shape) -> np.ndarray[Any, Any]: ...
    def draw(self, law: Law[T], size: Shape | None = None) -> T | np.ndarray[Any, Any]:
        """One draw of `law`, or an array of independent draws of shape `size`."""
        if size is not None:
            return super().draw(law, size)
        if law.drawn_ahead:
            drawn: T = self._pools.draw(law, self)
            return drawn
        return law.sample(self)

    def spawn(self, child: ChildId, message: int) -> "SystemCoins":
        """Itself: its bits never repeat."""
        return self

    def __repr__(self) -> str:
        return "SystemCoins()"


class SeededCoins(_DrawingCoins):
    """Replayable coins for tests and audits: whoever knows the seed knows the noise.

    Args:
        seed: any integer; equal seeds give equal coins.
    """

    _BLOCK = 512  # bytes expanded at a time

    def __init__(self, seed: int) -> None:
        self._start(index(seed), (), 0)

    def _start(self, seed: int, path: tuple[ChildId, ...], message: int) -> None:
        self._seed, self._path, self._message = seed, path, message
        self._key = repr((seed, path, message)).encode()
        self._blocks, self._pool, self._left = 0, 0, 0
        self._strings = 0

    def bits(self, count: int) -> int:
        """An integer uniform on [0, 2**count)."""
        while self._left < count:
            block = shake_256(self._key + b"/%d" % self._blocks).digest(self._BLOCK)
            self._pool |= int.from_bytes(block, "little") << self._left
            self._left += 8 * self._BLOCK
            self._blocks += 1
        taken = self._pool & ((1 << count) - 1)
        self._pool >>= count
        self._left -= count
        return taken

    def bytes(self, count: int) -> bytes:
        """`count` uniform bytes, of a stream that `bits` does not draw from."""
        self._strings += 1
        return shake_256(self._key + b"/bytes/%d" % self._strings).digest(count)

    def spawn(self, child: ChildId, message: int) -> "SeededCoins":
        """Coins that depend on the seed, the child's path and its message count alone."""
        spawned = SeededCoins.__new__(SeededCoins)
        spawned._start(self._seed, (*self._path, child), message)
        return spawned

    def __repr__(self) -> str:
        return f"SeededCoins({self._seed}, path={self._path}, message={self._message})"


def _probability(value: Any) -> Fraction:
    return probability(value, "probability")


def _bound(value: Any) -> int:
    bound = natural(value, "bound")
    if bound == 0:
        raise ValueError("bound is 0; it should be at least 1")
    return bound


@attrs.frozen
class Bernoulli(Law[bool]):
    """True with an exact rational probability."""

    probability: Fraction = attrs.field(converter=_probability)

    def sample(self, source: FairBits) -> bool:
        """One draw."""
        return source.below(self.probability.denominator) < self.probability.numerator

    def outcomes(self) -> tuple[tuple[bool, Fraction], ...]:
        """Both values that can occur."""
        both = ((True, self.probability), (False, 1 - self.probability))
        return tuple((value, chance) for value, chance in both if chance)


@attrs.frozen
class UniformBelow(Law[int]):
    """Uniform on the integers 0, ..., bound - 1."""

    bound: int = attrs.field(converter=_bound)

    def sample(self, source: FairBits) -> int:
        """One draw."""
        return source.below(self.bound)

    def outcomes(self) -> tuple[tuple[int, Fraction], ...]:
        """Every integer below the bound."""
        return tuple((value, Fraction(1, self.bound)) for value in range(self.bound))


SYSTEM = SystemCoins()
"""The default coins."""

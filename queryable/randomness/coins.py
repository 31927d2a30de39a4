"""Coins: the source of all randomness. They are an argument of every step, never part of a state.

A draw names a `Law`, which turns fair bits into a sample.

`spawn(child, message)` returns the coins for the message-th message to a child. A child's draws
depend on its path and on the number of messages it has received. They do not depend on its
siblings, so a seeded run replays whatever the order of the interleaved messages.
"""

from hashlib import shake_256
from typing import Any, Protocol, TypeVar, overload

import numpy as np

from queryable.randomness.entropy import random_bytes, random_word
from queryable.randomness.laws import FairBits, Law
from queryable.randomness.pools import Pools
from queryable.wording.quoting import quoted

T = TypeVar("T")
Shape = int | tuple[int, ...]
ChildId = int | str


class Coins(Protocol):
    """The source of randomness that `init` and `step` take."""

    @overload
    def draw(self, law: Law[T]) -> T: ...
    @overload
    def draw(self, law: Law[T], size: Shape) -> np.ndarray[Any, Any]: ...
    def draw(self, law: Law[T], size: Shape | None = None) -> T | np.ndarray[Any, Any]:
        """Return one draw of `law`, or an array of independent draws of shape `size`."""

    def spawn(self, child: ChildId, message: int) -> "Coins":
        """Return the coins for the message-th message to a child."""


class _DrawingCoins(FairBits):
    @overload
    def draw(self, law: Law[T]) -> T: ...
    @overload
    def draw(self, law: Law[T], size: Shape) -> np.ndarray[Any, Any]: ...
    def draw(self, law: Law[T], size: Shape | None = None) -> T | np.ndarray[Any, Any]:
        """Return one draw of `law`, or an array of independent draws of shape `size`."""
        if size is None:
            return law.sample(self)
        return law.sample_many(self, int(np.prod(size, dtype=object))).reshape(size)


class SystemCoins(_DrawingCoins):
    """Unpredictable coins: OpenSSL's generator, which the operating system seeds.

    No two threads or forked processes get the same bits. For a law that is often drawn singly, a
    batch of values is drawn ahead and kept in memory.
    """

    def __init__(self) -> None:
        self._pools = Pools()

    def bits(self, count: int) -> int:
        """Return an integer uniform on [0, 2**count)."""
        if count <= 64:
            return random_word() >> (64 - count)
        size = (count + 7) // 8
        return int.from_bytes(random_bytes(size), "little") >> (8 * size - count)

    def bytes(self, count: int) -> bytes:
        """Return `count` uniform bytes."""
        return random_bytes(count)

    @overload
    def draw(self, law: Law[T]) -> T: ...
    @overload
    def draw(self, law: Law[T], size: Shape) -> np.ndarray[Any, Any]: ...
    def draw(self, law: Law[T], size: Shape | None = None) -> T | np.ndarray[Any, Any]:
        """Return one draw of `law`, or an array of independent draws of shape `size`."""
        if size is not None:
            return super().draw(law, size)
        if law.drawn_ahead:
            drawn: T = self._pools.draw(law, self)
            return drawn
        return law.sample(self)

    def spawn(self, child: ChildId, message: int) -> "SystemCoins":
        """Return these coins themselves: their bits never repeat."""
        return self

    def __repr__(self) -> str:
        return "SystemCoins()"


class StreamCoins(_DrawingCoins):
    """Coins whose bits are a function of a byte string: streams of SHAKE256."""

    __slots__ = ("_blocks", "_key", "_left", "_pool", "_strings")

    _BLOCK = 512  # bytes expanded at a time

    def _stream(self, key: bytes) -> None:
        self._key = key
        self._blocks, self._pool, self._left = 0, 0, 0
        self._strings = 0

    def bits(self, count: int) -> int:
        """Return an integer uniform on [0, 2**count)."""
        while self._left < count:
            self._expand()
        taken = self._pool & ((1 << count) - 1)
        self._pool >>= count
        self._left -= count
        return taken

    def _expand(self) -> None:
        """Add a block of the stream to the pool."""
        block = shake_256(self._key + b"/%d" % self._blocks).digest(self._BLOCK)
        self._pool |= int.from_bytes(block, "little") << self._left
        self._left += 8 * self._BLOCK
        self._blocks += 1

    def bytes(self, count: int) -> bytes:
        """Return `count` uniform bytes, from a stream separate from that of `bits`."""
        self._strings += 1
        return shake_256(self._key + b"/bytes/%d" % self._strings).digest(count)


def _seed(value: object) -> int:
    if not isinstance(value, int | np.integer) or not int(value).bit_length() < _LONGEST_SEED:
        raise TypeError(
            f"seed is {quoted(value)}; it should be an integer below 2**{_LONGEST_SEED}"
        )
    return int(value)


_LONGEST_SEED = 10_000


class SeededCoins(StreamCoins):
    """Replayable coins for tests and audits. Anybody who knows the seed can compute the noise.

    Args:
        seed: any integer; equal seeds give equal coins.
    """

    __slots__ = ("_message", "_path", "_seed")

    def __init__(self, seed: int) -> None:
        self._start(_seed(seed), (), 0)

    def _start(self, seed: int, path: tuple[ChildId, ...], message: int) -> None:
        self._seed, self._path, self._message = seed, path, message
        self._stream(repr((seed, path, message)).encode())

    def spawn(self, child: ChildId, message: int) -> "SeededCoins":
        """Return coins that depend only on the seed, the child's path and its message count."""
        spawned = SeededCoins.__new__(SeededCoins)
        spawned._start(self._seed, (*self._path, child), message)
        return spawned

    def __repr__(self) -> str:
        return f"SeededCoins({self._seed}, path={self._path}, message={self._message})"


SYSTEM = SystemCoins()
"""The default coins: unpredictable."""

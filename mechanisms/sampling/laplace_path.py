"""Discrete Laplace noise at several scales, each coarser noise computed from the finer.

The joint law is exact, made from fair bits without floats.

Theory of operation: for scales t > u let D(t) = D(u) + I, where I is independent of D(u). I is 0
with probability (sinh(1/2t)/sinh(1/2u))^2, and otherwise discrete Laplace of scale t. If D(u) is
discrete Laplace of scale u, then D(t) is discrete Laplace of scale t: with c = 4 sinh(1/2t)^2 its
generating function is c/(c + 2 - z - 1/z). So the finest noise is drawn first, and the coarser
noise is built up from it. The noise is unchanged from scale u up to t with probability
(sinh(1/2t)/sinh(1/2u))^2, whatever scales lie between. One uniform number therefore decides at
which scale it changes next.
"""

from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any

import attrs
import numpy as np
from flint import arb

from mechanisms.sampling.integers import added
from mechanisms.sampling.laws import DiscreteLaplace
from queryable.losses.numbers import ball, enclosed
from queryable.randomness.coins import Coins
from queryable.randomness.intervals import Chance, Interval
from queryable.randomness.laws import FairBits, Law

_WORD = 64


@attrs.frozen
class CoarsestUnchanged(Law[int]):
    """The index of the coarsest scale at which the noise equals that of the last, finest scale.

    At most i with probability (sinh(1/2t_i)/sinh(1/2t))^2, for the last scale t.
    """

    scales: tuple[Fraction, ...]

    def sample(self, source: FairBits) -> int:
        """One draw."""
        return self._below(source.bits(_WORD), source)

    def _below(self, drawn: int, source: FairBits) -> int:
        """The draw whose uniform number begins with these 64 bits; more bits are drawn if needed.

        The chances rise with the index, so a binary search finds the first one above the number.
        """
        bits, first, last = _WORD, 0, len(self.scales) - 1
        while first < last:
            middle = (first + last) // 2
            low, high = self._enclosed(middle, bits)
            if drawn + 1 <= low:
                last = middle
            elif drawn >= high:
                first = middle + 1
            else:
                drawn, bits = (drawn << _WORD) | source.bits(_WORD), bits + _WORD
        return first

    def sample_many(self, source: FairBits, count: int) -> np.ndarray[Any, Any]:
        """`count` independent draws. 64 bits decide almost every one."""
        words = np.frombuffer(source.bytes(count * _WORD // 8), dtype="<u8")
        edges = [self._enclosed(index, _WORD) for index in range(len(self.scales) - 1)]
        # Enclosures may overlap. The chances rise, so a lower bound on one holds for all later
        # ones, and an upper bound on one holds for all earlier ones.
        lows = np.maximum.accumulate(np.array([max(low, 0) for low, _ in edges], dtype=np.uint64))
        tops = list(accumulate((high for _, high in reversed(edges)), min))[::-1]
        highs = np.array([top for top in tops if top < 1 << _WORD], dtype=np.uint64)
        draws = np.searchsorted(lows, words, side="right")
        for place in np.flatnonzero(np.searchsorted(highs, words, side="right") != draws):
            draws[place] = self._below(int(words[place]), source)
        return draws.astype(np.int64)

    def outcomes(self) -> tuple[tuple[int, Chance], ...]:
        """Every index, with intervals that enclose the irrational chances."""
        unit = Fraction(1, 1 << 2 * _WORD)
        ends = [self._enclosed(index, 2 * _WORD) for index in range(len(self.scales) - 1)]
        ends = [(0, 0), *ends, (1 << 2 * _WORD, 1 << 2 * _WORD)]
        return tuple(
            (index, Interval(max(0, here[0] - before[1]) * unit, (here[1] - before[0]) * unit))
            for index, (before, here) in enumerate(pairwise(ends))
        )

    def _enclosed(self, index: int, bits: int) -> tuple[int, int]:
        coarse, fine = 1 / self.scales[index], 1 / self.scales[-1]

        def chance() -> arb:
            ratio = (-ball(coarse)).expm1() / (-ball(fine)).expm1()
            return ball(coarse - fine).exp() * ratio**2

        return enclosed(chance, bits)


def laplace_path(
    scales: tuple[Fraction, ...], shape: tuple[int, ...] | None, coins: Coins
) -> tuple[Any, ...]:
    """Noise at each of falling scales: ints, or arrays with independent coordinates."""
    if shape is None:
        return _single(scales, coins)
    noise = np.asarray(coins.draw(DiscreteLaplace(scales[-1]), shape))
    path = [noise]
    for coarse, fine in reversed(list(pairwise(scales))):
        moves = np.asarray(coins.draw(CoarsestUnchanged((coarse, fine)), shape)) == 1
        jumps = np.asarray(coins.draw(DiscreteLaplace(coarse), int(moves.sum())))
        steps = np.zeros(shape, dtype=jumps.dtype)
        steps[moves] = jumps
        noise = added(noise, steps)
        path.append(noise)
    return tuple(reversed(path))


def _single(scales: tuple[Fraction, ...], coins: Coins) -> tuple[int, ...]:
    noise, path, end = coins.draw(DiscreteLaplace(scales[-1])), [0] * len(scales), len(scales)
    while True:
        start = coins.draw(CoarsestUnchanged(scales[:end]))
        path[start:end] = [noise] * (end - start)
        if start == 0:
            return tuple(path)
        end = start
        noise += coins.draw(DiscreteLaplace(scales[end - 1]))

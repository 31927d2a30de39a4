"""Exact integer noise, many draws at once: rejection sampling under a curve cut into blocks.

It draws integers x with probabilities proportional to a falling curve f(|x|), exactly, with
integers alone.

Theory of operation. Magnitudes are cut into blocks of `width` integers. A uniform 64-bit ticket
names a block and a height j in it; a uniform offset names a place in the block; a fair bit is the
sign, and minus zero is rejected. Then x is kept if j + V < C f(|x|), for a large integer C and V
uniform on [0, 1). So P(x) is proportional to f(|x|) for every C. Three shortcuts make this fast,
and all are exact:

* A ticket below the minimum of C f in its block is always kept (sure). Sure tickets are laid out
  first, so that 16 of the ticket's bits and one look-up in a table decide most draws.
* Other tickets are compared with the chord of C f over the block, which is within
  width^2 max|f''| / 8 of C f. The margin is this distance plus the rounding of the comparison.
* A ticket within the margin, about one draw in 10,000, is decided by a coin of probability
  C f(|x|) - j: bits of V are drawn until they and an enclosure of C f at their precision decide.

The tail begins where f falls below 2^-20. It has tickets of its own, and is drawn one by one from a
geometric distribution above it, corrected by a coin. For a curve so narrow that blocks would be
single integers, the table holds both signs instead. docs/noise.md has the proofs.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import accumulate
from typing import Any, TypeAlias

import numpy as np
from flint import arb

from mechanisms.sampling.cks import geometric
from queryable.losses.numbers import ball, enclosed
from queryable.randomness.laws import FairBits

Array: TypeAlias = np.ndarray[Any, Any]

LARGEST_SPREAD = 1 << 50
"""The widest curve that `Tickets` supports: its blocks are 64-bit integers."""

_BLOCKS = 64  # blocks per spread, at least
_EDGE = 128  # fraction bits of f at the edges of blocks
_TAIL = 20  # the tail begins where f is below 2**-_TAIL
_HEIGHT, _OFFSET = 33, 20  # bits of heights and offsets in comparisons with the chord
_WORD = 64
_CHUNK = 1 << 15  # draws at a time, so that they fit in the processor's cache
_UNDECIDED = np.iinfo(np.int16).min


class Curve(ABC):
    """A positive function f of the magnitudes 0, 1, 2, ..., log-concave and falling, f(0) = 1."""

    @property
    @abstractmethod
    def spread(self) -> int:
        """About how many integers it takes f to fall by a factor e; it sets the width of blocks."""

    @abstractmethod
    def height(self, magnitude: int) -> arb:
        """An enclosure of f at flint's working precision."""

    @property
    @abstractmethod
    def bend(self) -> Fraction:
        """An upper bound on max|f''|, f as a function of a real number."""

    @abstractmethod
    def fall(self, magnitude: int) -> Fraction:
        """log f(magnitude) - log f(magnitude + 1), exactly."""


def coin(chance: Callable[[], arb], source: FairBits) -> bool:
    """True with an exact probability, given by enclosures at flint's working precision.

    Bits of a uniform V are drawn until the enclosure decides whether V is below the chance. A
    chance below 0 is never true, one above 1 always.
    """
    bits, drawn = 64, source.bits(64)
    while True:
        low, high = enclosed(chance, bits)
        if drawn + 1 <= low:
            return True
        if drawn >= high:
            return False
        drawn, bits = (drawn << 64) | source.bits(64), bits + 64


class Tickets:
    """The tickets of one curve, laid out.

    Attributes:
        block: the number of each block; its magnitudes, or with `two_sided` its single value, begin
            at that number times `width`.
        least, most: integers below and above C f in each block.
        peak: the integer C. shift: heights are compared in units of 2**shift.
        chord, drop, margin: in those units, the start of the chord of C f over each block, how far
            it falls, and the distance to it within which a comparison is undecided.

    Args:
        curve: the curve to draw under.
        bits: of a block's width; by default chosen from the curve.
        ticket: the number of bits of a ticket. cell: how many of them index the table.
    """

    def __init__(
        self, curve: Curve, *, bits: int | None = None, ticket: int = 64, cell: int = 16
    ) -> None:
        self.curve = curve
        self.bits = max(0, (curve.spread // _BLOCKS).bit_length() - 1) if bits is None else bits
        self.width = 1 << self.bits
        self.two_sided = self.bits == 0
        self.ticket, self.cell = ticket, cell
        edges = self._edges()
        self.blocks = len(edges) - 1
        self.tail_start = self.blocks << self.bits
        low, high = self._enclose_blocks(edges)
        self._weigh(low, high)
        self._lay_out()
        self._draw_chords(edges)

    def _edges(self) -> list[tuple[int, int]]:
        """Enclosures of f at the edges of blocks, down to the start of the tail."""
        edges: list[tuple[int, int]] = []
        while not edges or edges[-1][1] >> (_EDGE - _TAIL):
            edges.append(enclosed(partial(self.curve.height, len(edges) << self.bits), _EDGE))
        assert len(edges) < -_UNDECIDED
        return edges

    def _enclose_blocks(self, edges: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
        if self.two_sided:
            values = range(1 - self.blocks, self.blocks)
            least, most = values, values
        else:
            values = range(self.blocks)
            least, most = range(1, self.blocks + 1), values
        self.block = np.array(values, dtype=np.int64)
        return [edges[abs(each)][0] for each in least], [edges[abs(each)][1] for each in most]

    def _weigh(self, low: list[int], high: list[int]) -> None:
        """Choose C as large as the tickets allow."""
        _, tail = enclosed(self._tail_weight, _EDGE)
        spare = len(high) + 2
        self.peak = (((1 << self.ticket) - spare) << _EDGE) // (sum(high) + tail)
        self.least = [self.peak * each >> _EDGE for each in low]
        self.most = [-(-self.peak * each >> _EDGE) for each in high]
        self.tail = -(-self.peak * tail >> _EDGE)

    def _tail_weight(self) -> arb:
        """An upper bound on the sum of f over the tail, in blocks; over both tails if two-sided."""
        whole = self.curve.height(self.tail_start) / (1 - self._ratio())
        return whole * (2 if self.two_sided else 1) / self.width

    def _ratio(self) -> arb:
        """f at the tail's second integer over f at its first; later f falls at least as fast."""
        return self.curve.height(self.tail_start + 1) / self.curve.height(self.tail_start)

    def _lay_out(self) -> None:
        """Lay out whole cells of sure tickets, then the other tickets, then those to retry."""
        self._low_bits = self.ticket - self.cell
        cells = [each >> self._low_bits for each in self.least]
        if not self.two_sided:
            cells[0] = 0  # minus zero has to be rejected, which the fast path does not do
        self.table = np.full(1 << self.cell, _UNDECIDED, dtype=np.int16)
        self.table[: sum(cells)] = np.repeat(self.block, cells)
        rest = [each - (of << self._low_bits) for each, of in zip(self.least, cells, strict=True)]
        unsure = [most - least for most, least in zip(self.most, self.least, strict=True)]
        sizes = [*rest, *unsure, self.tail]
        starts = list(accumulate(sizes, initial=sum(cells) << self._low_bits))
        assert starts[-1] < 1 << self.ticket
        self._starts = np.array(starts, dtype=np.uint64)
        self._least = np.array(self.least, dtype=np.uint64)

    def _draw_chords(self, edges: list[tuple[int, int]]) -> None:
        """Compute chords and margins; with single integers, every comparison is undecided."""
        self.shift = max(0, self.peak.bit_length() - _HEIGHT)
        if self.two_sided:
            none = np.zeros(len(self.block), dtype=np.int64)
            self.chord, self.drop, self.margin = none, none, none + (1 << 62)
            return
        at_edge = [self.peak * low >> (_EDGE + self.shift) for low, _ in edges]
        self.chord = np.array(at_edge[:-1], dtype=np.int64)
        self.drop = self.chord - np.array(at_edge[1:], dtype=np.int64)
        bend = self.width**2 * self.curve.bend * self.peak / (8 << self.shift)
        self.margin = (self.drop >> _OFFSET) + (bend.__ceil__() + 4)

    def draw(self, source: FairBits, count: int) -> Array:
        """`count` independent draws: int64, or Python integers where one does not fit."""
        values = np.empty(count, dtype=np.int64)
        where, cells, places = [], [], []
        for start in range(0, count, _CHUNK):
            chunk = values[start : start + _CHUNK]
            cell = self._uniform(source, chunk.size, self.cell)
            block = self.table.take(cell)
            undecided = np.flatnonzero(block == _UNDECIDED)
            where.append(undecided + start)
            cells.append(cell[undecided])
            if self.two_sided:
                chunk[:] = block
                places.append(np.zeros(undecided.size, dtype=np.int64))
            else:
                place = self._uniform(source, chunk.size, self.bits + 1)
                places.append(place[undecided])
                chunk[:] = self._placed(block, place)
        index = np.concatenate(where or [np.empty(0, dtype=np.int64)])
        if not index.size:
            return values
        settled, kept = self._settle(source, np.concatenate(cells), np.concatenate(places))
        values = _put(values, index[kept], settled[kept])
        again = index[~kept]
        return _put(values, again, self.draw(source, again.size)) if again.size else values

    def _uniform(self, source: FairBits, count: int, bits: int) -> Array:
        """Integers uniform on [0, 2**bits); as int64 if bits is between 33 and 63."""
        size = next(each for each in (16, 32, _WORD) if bits <= each)
        words = np.frombuffer(source.bytes(count * size // 8), dtype=f"<u{size // 8}")
        if bits < size:
            words = words >> (size - bits)
        return words.astype(np.int64) if bits < size == _WORD else words

    def _placed(self, block: Array, place: Array) -> Array:
        """The values at places of blocks; a place is an offset followed by a sign bit."""
        magnitude = (block.astype(np.int64) << self.bits) + (place >> 1)
        sign = -(place & 1).astype(np.int64)
        return (magnitude ^ sign) - sign

    def _settle(self, source: FairBits, cell: Array, place: Array) -> tuple[Array, Array]:
        """The draws that the table did not decide: their values, and whether they are kept."""
        below = self._uniform(source, cell.size, self._low_bits).astype(np.uint64)
        ticket = (cell.astype(np.uint64) << np.uint64(self._low_bits)) | below
        found = np.searchsorted(self._starts, ticket, side="right") - 1
        entries = len(self.block)
        entry = np.where(found < 2 * entries, found % entries, 0)
        if self.two_sided:
            values, offset, minus_zero = self.block[entry], place, np.zeros(1, dtype=np.bool_)
        else:
            values, offset = self._placed(self.block[entry], place), place >> 1
            minus_zero = (values == 0) & (place & 1 == 1)
        kept = found < entries
        unsure = np.flatnonzero((found >= entries) & (found < 2 * entries))
        block = entry[unsure]
        height = ticket[unsure] - self._starts[found[unsure]] + self._least[block]
        kept[unsure] = self._below_curve(source, block, height, offset[unsure])
        kept &= ~minus_zero
        for each in np.flatnonzero(found == 2 * entries):
            tail = self._draw_tail(source)
            if tail is not None:
                negative = source.bits(1) if self.two_sided else int(place[each]) & 1
                values = _put(values, each, -tail if negative else tail)
                kept[each] = True
        return values, kept

    def _below_curve(
        self, source: FairBits, block: Array, height: Array, offset: Array
    ) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Whether height + V < C f at these offsets of blocks; height a 64-bit integer."""
        below, above = self._compared(block, height, offset)
        for each in np.flatnonzero(~(below | above)):
            magnitude = abs((int(self.block[block[each]]) << self.bits) + int(offset[each]))
            below[each] = coin(partial(self._left, magnitude, int(height[each])), source)
        return below

    def _left(self, magnitude: int, height: int) -> arb:
        return self.peak * self.curve.height(magnitude) - height

    def _compared(self, block: Array, height: Array, offset: Array) -> tuple[Array, Array]:
        """Whether height + V is below C f for every V, and whether it is not for any V."""
        unit = (height >> np.uint64(self.shift)).astype(np.int64)
        finer = _OFFSET - self.bits
        part = offset.astype(np.int64)
        part = part << finer if finer >= 0 else part >> -finer
        chord = self.chord[block] - (self.drop[block] * part >> _OFFSET)
        margin = self.margin[block]
        return unit + 1 <= chord - margin, unit >= chord + margin

    def _draw_tail(self, source: FairBits) -> int | None:
        """A magnitude of the tail, or None if the proposal is rejected.

        `start + more` is proposed with probability (1 - r) r^more. Its target probability is C f,
        times the number of signs, out of `tail` tickets that each count for `width` integers.
        """
        fall = self.curve.fall(self.tail_start)
        more = geometric(fall.denominator, fall.numerator, source)
        worth = self.peak * (2 if self.two_sided else 1)

        def chance() -> arb:
            ratio = self._ratio()
            proposed = (1 - ratio) * (-more * ball(fall)).exp()
            wanted = worth * self.curve.height(self.tail_start + more)
            return wanted / (proposed * self.tail * self.width)

        return self.tail_start + more if coin(chance, source) else None


def _put(values: Array, where: Any, drawn: Any) -> Array:
    """The values with some replaced; Python integers if a new one does not fit in int64."""
    if values.dtype != object and not _fits(drawn):
        values = values.astype(object)
    values[where] = drawn
    return values


def _fits(drawn: Any) -> bool:
    if isinstance(drawn, int):
        return -(1 << 63) <= drawn < 1 << 63
    return bool(drawn.dtype != object)

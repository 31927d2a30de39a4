"""Exact integer noise in bulk: rejection under a curve cut into blocks, with integer weights.

Responsible for drawing many integers x with probabilities proportional to a falling curve f(|x|).
Integers alone, and exact. Knows no mechanism.

Theory of operation. Magnitudes are cut into blocks of `width` integers. A 64-bit ticket, uniform,
names a block and a height j in it; an offset, uniform, names a place in the block; a fair bit is
the sign, and minus zero is rejected. Then x is kept iff j + V < C f(|x|), for a large integer C
and V uniform on [0, 1): so P(x) is proportional to f(|x|) whatever C is. Three things make this
fast, and none makes it approximate:

* A ticket below the least of C f in its block is sure. Sure tickets are laid out first, so that 16
  of the ticket's bits and one look-up in a table decide most draws.
* Others are compared with the chord of C f over the block, which is within width^2 max|f''| / 8 of
  C f: that and the rounding of the comparison are its margin.
* What the margin leaves open, about one draw in 10,000, is decided by a coin of probability
  C f(|x|) - j: bits of V are drawn until they and an enclosure of C f at their precision decide.

Where f falls below 2^-20 the tail begins. It has tickets of its own, and is drawn one by one: under
a geometric curve, kept by a coin. A curve so narrow that blocks would be single integers has both
signs in the table instead. docs/noise.md has the proofs.
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
"""Curves wider than this are not for `Tickets`: its blocks are 64-bit integers."""

_BLOCKS = 64  # blocks per spread, at least
_EDGE = 128  # fraction bits of f at the edges of blocks
_TAIL = 20  # the tail begins where f is below 2**-_TAIL
_HEIGHT, _OFFSET = 33, 20  # bits of a height, and of an offset, in the comparison with the chord
_WORD = 64
_CHUNK = 1 << 15  # draws at a time, few enough for the processor's cache
_UNDECIDED = np.iinfo(np.int16).min


class Curve(ABC):
    """A positive function f of the magnitudes 0, 1, 2, ..., log-concave and falling, f(0) = 1."""

    @property
    @abstractmethod
    def spread(self) -> int:
        """About how many integers it takes f to fall by e: how fine to cut."""

    @abstractmethod
    def height(self, magnitude: int) -> arb:
        """An enclosure of f at flint's working precision."""

    @property
    @abstractmethod
    def bend(self) -> Fraction:
        """At least max|f''|, f taken as a function of a real number."""

    @abstractmethod
    def fall(self, magnitude: int) -> Fraction:
        """log f(magnitude) - log f(magnitude + 1), exactly."""


def coin(chance: Callable[[], arb], source: FairBits) -> bool:
    """True with a probability that is enclosed at flint's working precision; exact.

    Bits of a uniform V are drawn until the enclosure decides whether V is below it. A chance
    below 0 is never true, one above 1 always.
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
        block: the number of each block; its magnitudes, or with `two_sided` its one value, begin
            at that times `width`.
        least, most: of C f in each block, as integers below and above it.
        peak: the integer C. shift: heights are compared in units of 2**shift.
        chord, drop, margin: where the chord of C f over each block starts, how far it falls, and
            how near to it a comparison is left open, in those units.

    Args:
        curve: what to draw under.
        bits: of a block's width; by default as fits the curve.
        ticket: bits of a ticket. cell: of them, those that the table decides by.
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
        """Enclosures of f where blocks meet, down to where the tail begins."""
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
        """At least the sum of f over the tail, in blocks; both tails where blocks are two-sided."""
        whole = self.curve.height(self.tail_start) / (1 - self._ratio())
        return whole * (2 if self.two_sided else 1) / self.width

    def _ratio(self) -> arb:
        """How f falls from the first integer of the tail to the second; later it falls faster."""
        return self.curve.height(self.tail_start + 1) / self.curve.height(self.tail_start)

    def _lay_out(self) -> None:
        """Whole cells of sure tickets, then the rest of them, unsure ones, the tail's, retries."""
        self._low_bits = self.ticket - self.cell
        cells = [each >> self._low_bits for each in self.least]
        if not self.two_sided:
            cells[0] = 0  # where minus zero is met: not for the fast path
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
        """Single integers have no chord: their margin leaves every comparison open."""
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
        """Integers uniform on [0, 2**bits); fewer than 64 bits add to int64."""
        size = next(each for each in (16, 32, _WORD) if bits <= each)
        words = np.frombuffer(source.bytes(count * size // 8), dtype=f"<u{size // 8}")
        if bits < size:
            words = words >> (size - bits)
        return words.astype(np.int64) if bits < size == _WORD else words

    def _placed(self, block: Array, place: Array) -> Array:
        """The values at places of blocks: a place is an offset, and below it a bit for the sign."""
        magnitude = (block.astype(np.int64) << self.bits) + (place >> 1)
        sign = -(place & 1).astype(np.int64)
        return (magnitude ^ sign) - sign

    def _settle(self, source: FairBits, cell: Array, place: Array) -> tuple[Array, Array]:
        """What the table did not decide: values, and which of them are kept."""
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
        """Where height + V is surely below C f, and where surely not, whatever V is."""
        unit = (height >> np.uint64(self.shift)).astype(np.int64)
        finer = _OFFSET - self.bits
        part = offset.astype(np.int64)
        part = part << finer if finer >= 0 else part >> -finer
        chord = self.chord[block] - (self.drop[block] * part >> _OFFSET)
        margin = self.margin[block]
        return unit + 1 <= chord - margin, unit >= chord + margin

    def _draw_tail(self, source: FairBits) -> int | None:
        """A magnitude of the tail, or None where the proposal is rejected.

        `start + more` is proposed with probability (1 - r) r^more, and must come out with C f of
        it, times the signs, among `tail` tickets that are each worth `width` integers.
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
    """The values with some replaced, as Python integers if one of these does not fit."""
    if values.dtype != object and not _fits(drawn):
        values = values.astype(object)
    values[where] = drawn
    return values


def _fits(drawn: Any) -> bool:
    if isinstance(drawn, int):
        return -(1 << 63) <= drawn < 1 << 63
    return bool(drawn.dtype != object)

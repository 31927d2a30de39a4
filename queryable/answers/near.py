"""Estimates near their values without noise, and intervals of what is computed from several.

Responsible for sums and quotients of estimates that the same noisy integers may enter: `by["m"] -
by["w"]`, a share of two counts. An estimate is its value without noise, plus noisy integers' noise
with weights, and a rest. So a sum of such has weights that add up: docs/theory/proofs/
weighted_noise.md. Reads no data.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import inf
from typing import Any

import attrs
import numpy as np

from queryable.answers.half_widths import half_width
from queryable.answers.weighted_noise import weighted_half_width
from queryable.randomness.laws import Law

FOR_RANGES = Fraction(1, 25)
"""The share of the missed probability that is for ranges, and not for noise in one direction."""


@attrs.frozen(eq=False)
class Part:
    """What the noise of one release moves an estimate by.

    Attributes:
        source: the released integers; the same object has the same noise.
        law: that of the noise of each of them, which is independent.
        places: which of them, shape (..., k), counted along all dimensions.
        low, high: the ends of the weight of each, which is no random number.
    """

    source: Any
    law: Law[int]
    places: Any
    low: Any
    high: Any


@attrs.frozen(eq=False)
class Near:
    """Estimates and where they are without noise.

    With the probability for which it was made, each is `low` to `high` less the noise of `parts`,
    but for at most `rest`, and is from `least` to `most`.
    """

    low: Any
    high: Any
    parts: tuple[Part, ...]
    rest: Any
    least: Any
    most: Any

    def times(self, factor: Fraction) -> "Near":
        """A multiple."""
        parts = [
            attrs.evolve(each, low=ends[0], high=ends[1])
            for each in self.parts
            for ends in [scaled(each.low, each.high, factor)]
        ]
        rest = scaled(self.rest, self.rest, abs(factor))[1]
        ends = scaled(self.low, self.high, factor), scaled(self.least, self.most, factor)
        return Near(*ends[0], tuple(parts), rest, *ends[1])

    def plus(self, other: "Near") -> "Near":
        """The sum."""
        return Near(
            _down(self.low + other.low),
            _up(self.high + other.high),
            self.parts + other.parts,
            _up(self.rest + other.rest),
            _down(self.least + other.least),
            _up(self.most + other.most),
        )

    def at(self, place: Any) -> "Near":
        """Some of the estimates, by an index of numpy."""
        shape = np.shape(self.low)

        def chosen(values: Any, more: int = 0) -> Any:
            last = np.shape(values)[np.ndim(values) - more :]
            return np.broadcast_to(values, (*shape, *last))[place]

        parts = (
            attrs.evolve(
                each,
                places=chosen(each.places, 1),
                low=chosen(each.low, 1),
                high=chosen(each.high, 1),
            )
            for each in self.parts
        )
        ends = map(chosen, (self.rest, self.least, self.most))
        return Near(chosen(self.low), chosen(self.high), tuple(parts), *ends)

    def summed(self, along: tuple[int, ...]) -> "Near":
        """The sums along some dimensions."""
        shape, count = np.shape(self.low), np.size(self.low)
        last = tuple(range(-len(along), 0))

        def sides(values: Any) -> Any:
            return np.moveaxis(np.broadcast_to(values, shape), along, last)

        def moved(values: Any) -> Any:
            many = values.shape[-1]
            wide = np.broadcast_to(values, (*shape, many))
            kept = np.moveaxis(wide, along, tuple(each - 1 for each in last))
            return kept.reshape((*kept.shape[: len(shape) - len(along)], -1))

        parts = []
        for each in self.parts:
            places, low, high = map(moved, (each.places, each.low, each.high))
            ordered = np.sort(places, axis=-1)
            if (ordered[..., 1:] == ordered[..., :-1]).any():
                low, high = _merged([id(each.source)] * places.shape[-1], places, low, high)
            parts.append(attrs.evolve(each, places=places, low=low, high=high))
        # a sum of floats is off by at most as many roundings of the sum of their sizes
        low, high, rest, least, most = (
            sides(end).sum(axis=last)
            for end in (self.low, self.high, self.rest, self.least, self.most)
        )
        sizes = [abs(sides(end)).sum(axis=last) for end in (self.low, self.high, self.rest)]
        far = [each * count * 2.0**-51 for each in sizes]
        return Near(low - far[0], high + far[1], tuple(parts), rest + far[2], least, most)

    def interval(self, missed: Fraction, *, joint: bool) -> tuple[Any, Any]:
        """The ends of an interval for each, which holds but for the probability `missed`.

        Args:
            joint: as for `far_of`.
        """
        far = _up(far_of(self.parts, np.shape(self.low), missed, joint=joint) + self.rest)
        low, high = _down(self.low - far), _up(self.high + far)
        low, high = np.fmax(low, self.least), np.fmin(high, self.most)
        return np.minimum(low, self.most), np.maximum(high, self.least)


def far_of(parts: Sequence[Part], shape: tuple[int, ...], missed: Fraction, *, joint: bool) -> Any:
    """How far the noise of parts moves each of some estimates, but for the probability `missed`.

    Args:
        joint: whether all noise has a joint law, because all questions and scales were fixed before
            the first answer. Otherwise each release has an equal part of what is missed.
    """
    sources = dict.fromkeys(id(each.source) for each in parts)
    if not joint and len(sources) > 1:
        groups = ([each for each in parts if id(each.source) == source] for source in sources)
        each = missed / len(sources)
        return _up(sum(far_of(group, shape, each, joint=True) for group in groups)) * _ENOUGH
    if not parts:
        return np.zeros(shape)
    laws = [each.law for each in parts for _ in range(each.places.shape[-1])]
    places, low, high = (
        np.concatenate(
            [
                np.broadcast_to(getattr(each, name), (*shape, each.places.shape[-1]))
                for each in parts
            ],
            axis=-1,
        )
        for name in ("places", "low", "high")
    )
    keys = [id(each.source) for each in parts for _ in range(each.places.shape[-1])]
    if len({id(each.source) for each in parts}) < len(parts):
        low, high = _merged(keys, places, low, high)
    return weighted_half_width(laws, np.maximum(abs(low), abs(high)), missed)


def _merged(keys: list[int], places: Any, low: Any, high: Any) -> tuple[Any, Any]:
    """The weights of the same noise added up, in the place of the first; the others are 0."""
    low, high = low.copy(), high.copy()
    for index in np.ndindex(places.shape[:-1]):
        first: dict[tuple[int, int], int] = {}
        for j, key in enumerate(keys):
            at = first.setdefault((key, int(places[(*index, j)])), j)
            if at != j:
                low[(*index, at)] = _down(low[(*index, at)] + low[(*index, j)])
                high[(*index, at)] = _up(high[(*index, at)] + high[(*index, j)])
                low[(*index, j)] = high[(*index, j)] = 0
    return low, high


def quotient_interval(top: Near, bottom: Near, missed: Fraction, *, joint: bool) -> tuple[Any, Any]:
    """The ends of all q for which top - q bottom is within what noise makes of 0 (Fieller 1954).

    Infinite where the bottom is not clearly above 0.

    Args:
        joint: as for `far_of`.
    """
    shape = np.broadcast_shapes(np.shape(top.low), np.shape(bottom.low))
    count = sum(each.places.shape[-1] for each in (*top.parts, *bottom.parts))
    each = missed / (3 * max(count, 1) ** 2)  # at most as many releases, of three kinds of laws
    tops, bottoms = _widest(top, shape, each), _widest(bottom, shape, each)
    size = np.maximum(abs(top.low), abs(top.high)) + tops
    clear = bottom.low - bottoms
    with np.errstate(all="ignore"):
        start = np.where(clear > 0, _up(_up(size) / _down(clear)), inf)
    low, high = -start, start
    for _ in range(_ROUNDS):
        sure = np.isfinite(low) & np.isfinite(high)
        ends = np.where(sure, low, 0), np.where(sure, high, 0)
        below = tuple(_between(each, *ends) for each in bottom.parts)
        reach = np.maximum(abs(ends[0]), abs(ends[1]))
        far = far_of((*top.parts, *below), shape, missed, joint=joint)
        far = _up(far + _up(top.rest + _up(reach * bottom.rest)))
        corners = _quotients(_down(top.low - far), _up(top.high + far), bottom)
        low = np.where(sure, np.maximum(low, corners[0]), -inf)
        high = np.where(sure, np.minimum(high, corners[1]), inf)
    return low, high


_ROUNDS = 4
_ENOUGH = 1 + 2.0**-40


def _quotients(low: Any, high: Any, bottom: Near) -> tuple[Any, Any]:
    with np.errstate(all="ignore"):
        ends = [each / one for each in (low, high) for one in (bottom.low, bottom.high)]
    return _down(np.minimum.reduce(ends)), _up(np.maximum.reduce(ends))


def _between(part: Part, low: Any, high: Any) -> Part:
    """-q times a part, for all q between."""
    low, high = np.asarray(low)[..., None], np.asarray(high)[..., None]
    ends = [-q * end for q in (low, high) for end in (part.low, part.high)]
    return attrs.evolve(part, low=_down(np.minimum.reduce(ends)), high=_up(np.maximum.reduce(ends)))


def _widest(near: Near, shape: tuple[int, ...], missed: Fraction) -> Any:
    """How far noise moves an estimate at most, but for `missed` for each draw.

    It is linear in the weights. No other bound here is larger: they share a missed probability
    among the releases, three kinds of laws at most, and the draws.
    """
    total = np.zeros(shape) + near.rest
    for each in near.parts:
        width = float(half_width(each.law, 1 - missed)) * (1 + 2.0**-40)
        sizes = np.maximum(abs(each.low), abs(each.high)).sum(axis=-1)
        total = total + sizes * width * (1 + 2.0**-40)
    return _up(total)


def scaled(low: Any, high: Any, factor: Fraction) -> tuple[Any, Any]:
    """The ends of a multiple, rounded outward."""
    near = float(factor)
    ends = [np.asarray(low) * near, np.asarray(high) * near]
    if near < 0:
        ends.reverse()
    exact = Fraction(near) == factor and abs(near) == 1
    return (ends[0], ends[1]) if exact else (_down(_down(ends[0])), _up(_up(ends[1])))


def _down(value: Any) -> Any:
    return np.nextafter(value, -inf)


def _up(value: Any) -> Any:
    return np.nextafter(value, inf)

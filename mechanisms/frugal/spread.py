"""How far an estimate may be from the truth. Proofs are in docs/theory/proofs/frugal.md."""

from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any

import attrs
from flint import arb

from mechanisms.frugal.ledgers import Weights
from queryable.losses.numbers import at_least_one, exact, natural, round_up, shortened
from queryable.wording.quoting import an_instance, quoted

FRESH = Fraction(9, 10)
"""The share of what may be missed that goes to the first answer of a question, from new noise; the
rest goes to all answers from earlier noise together (docs/theory/proofs/frugal.md, both kinds)."""
MOST_ROWS = 10**10
"""Intervals hold for data of at most so many rows. It bounds the effect of rounding weights."""
LEAST_VARIANCE = 64
"""The least variance of a release; noise on the integers is then nearly as continuous noise."""
_SMOOTHED = 4  # the variance of the Gaussian that is added to show that
_MOVED = Fraction(1, 10**30)  # and the distance in total variation, of each coordinate
_BITS = 32  # of the numbers that each entry of an answer has in a ledger


def _variance(value: Any) -> Fraction:
    return exact(value, "variance")


def _square(value: Any) -> Fraction:
    return exact(value, "square")


def _coordinates(value: Any) -> int:
    return natural(value, "coordinates")


def _offset(value: Any) -> Fraction:
    return exact(value, "offset")


def _mixed(value: Any) -> Fraction:
    return exact(value, "mixed")


def _dimensions(value: Any) -> tuple[tuple[Fraction, int, int], ...]:
    return tuple(
        (exact(ratio, "a ratio"), natural(size, "a size"), at_least_one(number, "a number"))
        for ratio, size, number in _rows(value, 3)
    )


def _rows(value: Any, length: int) -> list[tuple[Any, ...]]:
    rows: list[Any] = list(value) if type(value) is tuple else [None]
    if not all(type(row) is tuple and len(row) == length for row in rows):
        raise TypeError(f"{quoted(value)} should be a tuple of tuples of {length}")
    return rows


def _entries(value: Any) -> tuple[tuple[Fraction, Fraction, Fraction, Fraction, int], ...]:
    return tuple(
        (_variance(a), _square(b), _offset(c), _mixed(d), natural(place, "a place"))
        for a, b, c, d, place in _rows(value, 5)
    )


def _sources(value: Any) -> tuple[tuple[int, tuple[tuple[Fraction, int, int], ...], bool], ...]:
    rows = _rows(value, 3)
    if not all(type(fresh) is bool for *_, fresh in rows):
        raise TypeError(f"sources is {quoted(value)}; the last of each should be True or False")
    return tuple((_coordinates(many), _dimensions(of), fresh) for many, of, fresh in rows)


@attrs.frozen
class Spread:
    """What the half-width of an interval is computed from. All of it is public.

    Attributes:
        variance: of the estimate's noise; as `square`, `offset` and `mixed` an upper bound that is
            too large by 2^-31 of it at most.
        square: the squared norm of all weights.
        coordinates: the number of noisy integers that have a weight.
        offset: an upper bound on the bias that rounded weights cause.
        mixed: the sum over ledgers of the squared norm of the weights, times (p + p0) / p^2.
        dimensions: for each ledger p / p0, the number of its combinations, and its number.
        fresh: whether all the noise was drawn after the question was asked, for the first time.
    """

    variance: Fraction = attrs.field(converter=_variance)
    square: Fraction = attrs.field(converter=_square)
    coordinates: int = attrs.field(converter=_coordinates)
    offset: Fraction = attrs.field(converter=_offset)
    mixed: Fraction = attrs.field(converter=_mixed)
    dimensions: tuple[tuple[Fraction, int, int], ...] = attrs.field(converter=_dimensions)
    fresh: bool = attrs.field(default=False, validator=an_instance(bool))

    def half_width(self, missed: Fraction, *, fixed_in_advance: bool) -> Fraction:
        """The noise of any answer to a question is beyond its half-width with at most `missed`.

        With `fixed_in_advance` it is the noise of this answer by itself, if all questions, their
        accuracies and their number were fixed before the first answer.
        """
        if fixed_in_advance:
            return self.in_advance(missed)
        return self.in_advance(FRESH * missed) if self.fresh else self.always((1 - FRESH) * missed)

    def in_advance(self, missed: Fraction) -> Fraction:
        """For weights that do not depend on the noise."""
        if not self.variance:
            return self.offset
        return _in_advance(self.variance, self.square, self.coordinates, missed) + self.offset

    def always(self, missed: Fraction) -> Fraction:
        """For all weights at all times at once, whatever they depend on."""
        if not self.variance:
            return self.offset
        return _at_all_times(self.mixed, self.dimensions, missed) + self.offset


def spread_of(weighted: Iterable[tuple[int, Weights]], offset: Fraction, *, fresh: bool) -> Spread:
    """The spread of an estimate.

    Args:
        weighted: the weights, with the number of their ledger.
    """
    variance = square = mixed = Fraction(0)
    coordinates, dimensions = 0, []
    for number, each in weighted:
        ledger, norm = each.ledger, each.square
        precision, first = ledger.precision, 1 / ledger.releases[0][0]
        variance += norm / precision
        # a mean of n releases: the squared norm of its weights is at most the norm
        square += norm
        mixed += norm * (precision + first) / precision**2
        coordinates += ledger.size * len(ledger.releases)
        dimensions.append((precision / first, ledger.size, number))
    bounds = (shortened(each, _BITS, up=True) for each in (variance, square, offset, mixed))
    variance, square, offset, mixed = bounds
    return Spread(variance, square, coordinates, offset, mixed, tuple(dimensions), fresh)


@attrs.frozen
class Spreads:
    """The spreads of an answer's entries. What several have in common is written once.

    Attributes:
        entries: of each the variance, `square`, `offset`, `mixed`, and its place in `sources`.
        sources: `coordinates`, `dimensions` and `fresh` of spreads.
    """

    entries: tuple[tuple[Fraction, Fraction, Fraction, Fraction, int], ...] = attrs.field(
        converter=_entries
    )
    sources: tuple[tuple[int, tuple[tuple[Fraction, int, int], ...], bool], ...] = attrs.field(
        converter=_sources
    )

    def __attrs_post_init__(self) -> None:
        if not all(place < len(self.sources) for *_, place in self.entries):
            raise ValueError(f"an entry should name one of the {len(self.sources)} sources")

    @classmethod
    def of(cls, spreads: Iterable[Spread]) -> "Spreads":
        """The spreads of entries."""
        entries, places = [], dict[Any, int]()
        for each in spreads:
            source = each.coordinates, each.dimensions, each.fresh
            place = places.setdefault(source, len(places))
            entries.append((each.variance, each.square, each.offset, each.mixed, place))
        return cls(tuple(entries), tuple(places))

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, number: int) -> Spread:
        variance, square, offset, mixed, place = self.entries[number]
        coordinates, dimensions, fresh = self.sources[place]
        return Spread(variance, square, coordinates, offset, mixed, dimensions, fresh)

    def __iter__(self) -> Iterator[Spread]:
        return (self[number] for number in range(len(self)))


@lru_cache(maxsize=4096)
def _in_advance(
    variance: Fraction, square: Fraction, coordinates: int, missed: Fraction
) -> Fraction:
    """The smaller of Chernoff's bound and the continuous Gaussian's, moved to the integers."""

    def chernoff(v: arb, m: arb) -> arb:
        return (2 * v * (2 / m).log()).sqrt()

    def smoothed(v: arb, s: arb, n: arb, m: arb) -> arb:
        moved = n * _MOVED.numerator / _MOVED.denominator
        tiny = m / 1000
        far = (2 * (v + _SMOOTHED * s)).sqrt() * (m - 2 * tiny - moved).erfcinv()
        return far + (2 * _SMOOTHED * s * (2 / tiny).log()).sqrt()

    bounds = [round_up(chernoff, variance, missed)]
    if missed > Fraction(1, 10**20):
        bounds.append(round_up(smoothed, variance, square, Fraction(coordinates), missed))
    return min(bounds)


@lru_cache(maxsize=4096)
def _at_all_times(
    mixed: Fraction, dimensions: tuple[tuple[Fraction, int, int], ...], missed: Fraction
) -> Fraction:
    """sqrt(mixed (2 log(1/missed) + sum of d log(1 + p/p0) + 4 log(number) + 2 log 4)))."""

    def radius(m: arb, v: arb) -> arb:
        total = 2 * (4 / m).log()
        for ratio, size, number in dimensions:
            total += size * (1 + arb(ratio.numerator) / arb(ratio.denominator)).log()
            total += 4 * arb(number).log()
        return (v * total).sqrt()

    return round_up(radius, missed, mixed)

"""Sums of products of several columns, as one vector of integers.

The vector has the number of rows, the sum of each column, and sums of products of two columns.
Every column is centred and scaled to about the same integer range, so that one noise scale serves
all entries. A row with a missing cell in any of the columns adds nothing.
"""

from abc import abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any, TypeAlias

import attrs
import numpy as np

from mechanisms.tables.expressions.lattice import Lattice
from mechanisms.tables.expressions.operands import Operand, operand_name, operand_of
from mechanisms.tables.expressions.predicates import Where
from mechanisms.tables.requests.privacy_unit import PrivacyUnit
from mechanisms.tables.requests.request import Request, Term
from mechanisms.tables.requests.signed import signed
from mechanisms.tables.statistics.aggregates import Aggregate
from mechanisms.tables.statistics.ranges import Range
from mechanisms.tables.statistics.ratios import Centred, Sums
from queryable.data.cells import Array
from queryable.losses.numbers import shown
from queryable.randomness.laws import Law
from queryable.wording.quoting import quoted

Bounds: TypeAlias = tuple[tuple[str, Fraction, Fraction], ...]

_FINE = 20
"""A column's range has 2^19 to 2^21 units, so truncation moves a number by little."""

RADIUS = 2**28
"""The largest absolute value of a scaled number; far above 2^21, so that scaling loses little."""

MOST_COLUMNS = 10
_LARGEST = Fraction(10) ** 75


@attrs.frozen
class Scaled:
    """A column as integers from -RADIUS to RADIUS: its units minus `center`, times `factor`.

    Attributes:
        column: the column; its name is `name`.
        lattice: clips a number and divides it by a power of two, which is exact for floats too.
    """

    column: Operand
    lattice: Lattice

    @classmethod
    def of(cls, column: Operand, lower: Fraction, upper: Fraction) -> "Scaled":
        """The column, with a unit that is fine for its bounds."""
        top, bottom = (upper - lower).as_integer_ratio()
        power = top.bit_length() - bottom.bit_length() - _FINE if top else 0
        return cls(column, Lattice(lower, upper, Fraction(2) ** power))

    @property
    def name(self) -> str:
        """The column's public name."""
        return operand_name(self.column)

    @property
    def center(self) -> int:
        """The middle of the bounds, in units."""
        return (self.lattice.low + self.lattice.high) // 2

    @property
    def factor(self) -> int:
        """What a distance to the middle is multiplied by."""
        ends = self.lattice.high - self.center, self.center - self.lattice.low
        return RADIUS // max(*ends, 1)

    @property
    def scale(self) -> Fraction:
        """What RADIUS stands for."""
        return Fraction(RADIUS, self.factor) * self.lattice.unit

    @property
    def middle(self) -> Fraction:
        """What 0 stands for."""
        return self.center * self.lattice.unit if self.half else self.lattice.lower

    @property
    def half(self) -> Fraction:
        """Half the distance of the bounds."""
        return (self.lattice.upper - self.lattice.lower) / 2

    @property
    def truncated(self) -> Fraction:
        """The most that truncation moves a number, as a share of RADIUS."""
        return Fraction(self.factor, RADIUS) if self.half else Fraction(0)

    def term(self, power: int) -> Term:
        """The distance to the middle in units, to this power."""
        return Term(self.column, self.lattice, self.center, power)


def bounds_of(value: Any) -> Bounds:
    """Read bounds by column.

    Raises:
        TypeError, ValueError: they are not like {"age": (0, 100)}.
    """
    if isinstance(value, Mapping):
        value = tuple(
            (operand_name(operand_of(column)), *_ends(column, ends))
            for column, ends in value.items()
        )
    if not isinstance(value, tuple) or not all(
        isinstance(each, tuple) and len(each) == 3 for each in value
    ):
        raise TypeError(f'bounds is {quoted(value)}; it should be like {{"age": (0, 100)}}')
    read = tuple(
        (str(name), signed(lower, "lower"), signed(upper, "upper")) for name, lower, upper in value
    )
    for name, lower, upper in read:
        if not lower <= upper:
            raise ValueError(
                f"the bounds of {name!r} are {shown(lower)} and {shown(upper)}; give the lower one "
                "first"
            )
        if max(abs(lower), abs(upper)) > _LARGEST or 0 < upper - lower < 1 / _LARGEST:
            raise ValueError(f"the bounds of {name!r} are too wide or too narrow for floats")
    return read


def _ends(column: Any, ends: Any) -> tuple[Any, Any]:
    if isinstance(ends, str | bytes) or not hasattr(ends, "__len__") or len(ends) != 2:
        raise TypeError(
            f"the bounds of {quoted(column)} are {quoted(ends)}; they should be two numbers, such "
            "as (0, 100)"
        )
    lower, upper = ends
    return lower, upper


@attrs.frozen
class Products(Aggregate):
    """The base: rows, sums and sums of products of some columns.

    Entries of the vector, each between -RADIUS^2 and RADIUS^2 for one row, with z_j the scaled
    number in column j: RADIUS^2; RADIUS z_j; then z_i z_j, or for a square 2 z_j^2 - RADIUS^2.
    """

    step = None

    @property
    def scaled(self) -> tuple[Scaled, ...]:
        """The columns."""
        known = {name: ends for name, *ends in self.bounds_by_column}
        return tuple(Scaled.of(column, *known[operand_name(column)]) for column in self.operands)

    @property
    @abstractmethod
    def operands(self) -> tuple[Operand, ...]:
        """The columns as they were given."""

    @property
    @abstractmethod
    def bounds_by_column(self) -> Bounds:
        """The bounds of each column."""

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """Of which columns products are added up."""
        return tuple(combinations_with_replacement(range(len(self.operands)), 2))

    def __attrs_post_init__(self) -> None:
        """Check that every column has bounds and is there once."""
        names = [operand_name(each) for each in self.operands]
        if len(set(names)) < len(names) or not 2 <= len(names) <= MOST_COLUMNS:
            raise ValueError(
                f"give different columns, {MOST_COLUMNS} at most; they are {quoted(names)}"
            )
        bounded = [name for name, *_ in self.bounds_by_column]
        if sorted(bounded) != sorted(names):
            raise ValueError(
                f"give bounds for exactly the columns {names}: bounds={{{names[0]!r}: (0, 100), "
                f"...}}; they are for {bounded}"
            )

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """One entry for the rows, one per column and one per pair."""
        return (1 + len(self.operands) + len(self.pairs),)

    @property
    def coordinates(self) -> int:  # type: ignore[override]
        """All entries."""
        return self.shape[0]

    @property
    def largest(self) -> tuple[int, ...]:
        """The square of RADIUS, for all entries."""
        return (RADIUS**2,) * self.coordinates

    def asking(self, where: Where | None, per: PrivacyUnit | None) -> Request:
        """The number of rows, the sum of each column, and the sums of products."""
        columns = self.scaled
        powers = [[0] * len(columns)]
        powers += [[int(j == i) for j in range(len(columns))] for i in range(len(columns))]
        powers += [[(j == a) + (j == b) for j in range(len(columns))] for a, b in self.pairs]
        terms = []
        for each in powers:
            first, *others = (
                column.term(power) for column, power in zip(columns, each, strict=True)
            )
            terms.append(attrs.evolve(first, times=tuple(others)))
        return Request(tuple(terms), where, per=per)

    def combined(self, totals: Array) -> Array:
        """The vector."""
        factors = [column.factor for column in self.scaled]
        rows = totals[..., 0] * RADIUS**2
        entries = [rows]
        entries += [totals[..., 1 + j] * (RADIUS * factor) for j, factor in enumerate(factors)]
        for place, (i, j) in enumerate(self.pairs, 1 + len(factors)):
            product = totals[..., place] * (factors[i] * factors[j])
            entries.append(2 * product - rows if i == j else product)
        return np.stack([np.asarray(each, object) for each in entries], -1)

    def means(self, noisy: Any) -> tuple[Array, dict[Any, Array]]:
        """The number of rows, and by column and pair the noisy means of scaled numbers, in RADIUS.

        NaN where the number of rows is not positive.
        """
        values = np.moveaxis(np.asarray(noisy, dtype=float), -1, 0) / float(RADIUS) ** 2
        rows = np.where(values[0] > 0, values[0], np.nan)
        means: dict[Any, Array] = {j: values[1 + j] / rows for j in range(len(self.operands))}
        for place, (i, j) in enumerate(self.pairs, 1 + len(self.operands)):
            ratio = values[place] / rows
            means[i, j] = (ratio + 1) / 2 if i == j else ratio
        return rows, means

    def sums(self, noisy: Array, law: Law[int]) -> Sums:
        """The released sums, in RADIUS.

        Truncation moves a number, which is then from -1 to 1, by at most t; so it moves a product
        of two by at most t + t' + t t'.
        """
        moved = [column.truncated for column in self.scaled]
        each = [Fraction(0), *moved]
        for i, j in self.pairs:
            by = moved[i] + moved[j] + moved[i] * moved[j]
            each.append(by * (2 if i == j else 1))
        return Sums(noisy, law, RADIUS**2, tuple(each))

    @property
    def wholes(self) -> list[Range]:
        """The ranges of the scaled numbers, in RADIUS, and so of their means."""
        ends = (1 + each.truncated for each in self.scaled)
        return [Range.between(-end, end) for end in ends]

    def centred(self, noisy: Array, law: Law[int], missed: Fraction) -> Centred:
        """The released sums by distances to the means; `missed` is that of each mean."""
        return Centred.of(self.sums(noisy, law), self.pairs, self.wholes, missed)

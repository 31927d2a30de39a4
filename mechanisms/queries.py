"""Counts, sums and histograms of arrays and data frames, as integer statistics.

Responsible for sensitivities that hold for whatever the data are: a record adds an integer within
public bounds that depends on that record alone, and integers are added exactly. Knows no noise.

A dataset is a structured array, a mapping of columns, or a pandas or polars frame; a count needs
only a length. A record is a row.
"""

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import attrs
import numpy as np

from mechanisms.columns import Scalar, Where, column_name, scalars, selected, where_field
from mechanisms.lattice import Lattice
from mechanisms.signed import signed
from queryable.numbers import positive, shown
from queryable.statistics import IntegerStatistic
from queryable.tables import Array, cells, count_records


@attrs.frozen
class Count(IntegerStatistic):
    """How many records there are, or how many satisfy `where`.

    Args:
        where: a predicate such as `column("age") >= 30`, or a function from the data to one
            boolean per record that decides about each record by that record alone.
    """

    where: Where | None = attrs.field(default=None, converter=where_field)

    l1 = Fraction(1)
    l2 = Fraction(1)
    shape = None

    def value(self, dataset: Any) -> int:
        """The count."""
        if self.where is None:
            return count_records(dataset)
        return int(np.count_nonzero(selected(self.where, dataset)))


def _lower(value: Any) -> Fraction:
    return signed(value, "lower")


def _upper(value: Any) -> Fraction:
    return signed(value, "upper")


def _unit(value: Any) -> Fraction:
    return positive(value, "unit")


@attrs.frozen
class Sum(IntegerStatistic):
    """The sum of a column, in whole `unit`s.

    Each record's number is clipped to [lower, upper], divided by `unit` and truncated toward
    zero; these integers are added exactly. A record adds 0 where its cell is missing or, in a
    column of objects, no number: 0 is within the sensitivity even if `lower` is above it.

    Args:
        column: its name, or `column(name)`.
        lower, upper: public bounds; never taken from the data.
        where: which records to add up, as for `Count`.
        unit: public lattice step, a positive rational: with unit="0.01" an answer of 1234 means
            12.34. Integers at unit 1, and floats at powers of two, are added at numpy speed.
    """

    column: str = attrs.field(converter=column_name)
    lower: Fraction = attrs.field(converter=_lower)
    upper: Fraction = attrs.field(converter=_upper)
    where: Where | None = attrs.field(default=None, converter=where_field)
    unit: Fraction = attrs.field(default=Fraction(1), kw_only=True, converter=_unit)
    l1: Fraction = attrs.field(init=False, repr=False)
    l2: Fraction = attrs.field(init=False, repr=False)

    shape = None

    @upper.validator
    def _ordered(self, attribute: object, upper: Fraction) -> None:
        if not self.lower <= upper:
            raise ValueError(
                f"lower is {shown(self.lower)}, above upper, {shown(upper)}; it should be below"
            )

    @l1.default
    def _sensitivity(self) -> Fraction:
        return Fraction(self._lattice().largest)

    @l2.default
    def _same(self) -> Fraction:
        return self.l1

    def _lattice(self) -> Lattice:
        return Lattice(self.lower, self.upper, self.unit)

    def value(self, dataset: Any) -> int:
        """The sum of the units."""
        present, values = cells(dataset, self.column)
        chosen = selected(self.where, dataset)
        return self._lattice().total(values[chosen[present]])


def _categories(values: Any) -> tuple[Scalar, ...]:
    categories = scalars(values, "categories")
    if not categories:
        raise ValueError("categories is empty; it should name at least one")
    if len(set(categories)) < len(categories):
        raise ValueError(f"categories is {categories!r}; they should differ from each other")
    return categories


@attrs.frozen
class Histogram(IntegerStatistic):
    """How many records are in each of some public categories.

    A record whose cell is missing or in no category is not counted. Each is counted once at most:
    a cell is looked up by its exact Python value.

    Args:
        column: its name, or `column(name)`.
        categories: public and different from each other; the answer is in their order.
    """

    column: str = attrs.field(converter=column_name)
    categories: tuple[Scalar, ...] = attrs.field(converter=_categories)

    l1 = Fraction(1)
    l2 = Fraction(1)

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """One count per category."""
        return (len(self.categories),)

    def value(self, dataset: Any) -> Array:
        """The counts."""
        position = {category: index for index, category in enumerate(self.categories)}
        counts = np.zeros(len(self.categories), dtype=np.int64)
        for cell, times in _tally(cells(dataset, self.column).values):
            index = _lookup(position, cell)
            if index is not None:
                counts[index] += times
        return counts


def _tally(values: Array) -> Iterable[tuple[Any, int]]:
    """Python values, each with a number of records; the same value may come again."""
    if values.dtype == object:
        return ((cell, 1) for cell in values)
    if values.dtype.kind == "M":  # nanoseconds have no Python counterpart
        values = values.astype(np.dtype("M8[D]") if _are_dates(values) else np.dtype("M8[us]"))
    kinds, counts = np.unique(values, return_counts=True)
    return zip(kinds.tolist(), counts.tolist(), strict=True)


def _are_dates(values: Array) -> bool:
    return np.datetime_data(values.dtype)[0] in ("Y", "M", "W", "D")


def _lookup(position: dict[Scalar, int], cell: Any) -> int | None:
    try:
        return position.get(cell)
    except Exception:  # it has no hash
        return None

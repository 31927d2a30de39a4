"""`Count`, `Sum` and `Histogram` of tables, arrays and data frames, as integer statistics.

Their sensitivities hold for all data: a record adds an integer within public bounds that depends on
that record alone, and integers are added exactly.

A dataset is a `Table`, a structured array, a mapping of columns, a list of records, or a pandas,
polars or Arrow frame. A record is a row, or with `per` all rows of one privacy unit of a table.
"""

from fractions import Fraction
from typing import Any

import attrs

from mechanisms.tables.expressions.lattice import Lattice
from mechanisms.tables.expressions.operands import Operand, operand_name, operand_of
from mechanisms.tables.expressions.predicates import Where, where_field
from mechanisms.tables.expressions.scalars import Scalar, alike
from mechanisms.tables.requests.keys import categories_of, edges_of
from mechanisms.tables.requests.privacy_unit import PrivacyUnit
from mechanisms.tables.requests.request import Bins, Categories, Groups, Request, Term
from mechanisms.tables.requests.signed import signed
from mechanisms.tables.statistics.aggregates import Aggregate, per_field, sums
from queryable.data.cells import Array
from queryable.losses.numbers import positive, shown
from queryable.statistics import Monotone


@sums
@attrs.frozen
class Count(Aggregate):
    """The number of records, or of those that satisfy `where`.

    Args:
        where: a predicate such as `column("age") >= 30`. Except for tables, it may also be a
            function from the data to one boolean per record that decides about each record by that
            record alone. An entry that is not True itself, such as a null, counts as false.
        per: the privacy unit whose rows are counted up to a bound, such as `table.unit`; None if
            each row is a unit.
    """

    where: Where | None = attrs.field(default=None, converter=where_field)
    per: PrivacyUnit | None = attrs.field(default=None, kw_only=True, converter=per_field)

    shape = None
    largest = (1,)
    monotone = "up"

    @property
    def public_name(self) -> str:
        """What is counted: rows, or units if `where` is about a value of each."""
        return "Count" if self.request.units is None else "Count of units"

    @property
    def request(self) -> Request:
        """The number of rows."""
        return Request((Term(),), self.where, per=self.per)

    def combined(self, totals: Array) -> Array:
        """The count."""
        return totals


def _lower(value: Any) -> Fraction:
    return signed(value, "lower")


def _upper(value: Any) -> Fraction:
    return signed(value, "upper")


def _unit(value: Any) -> Fraction:
    return positive(value, "unit")


@attrs.frozen
class ColumnStatistic(Aggregate):
    """The base of statistics of one column within public bounds.

    Args:
        column: its name, or `column(name)`.
        lower, upper: public bounds; never taken from the data.
        where: which records, as for `Count`.
        unit: public lattice step, a positive rational: with unit="0.01" 1234 means 12.34. Integers
            at unit 1, and floats at powers of two, are added at numpy speed.
        per: the privacy unit, as for `Count`.
    """

    column: Operand = attrs.field(converter=operand_of)
    lower: Fraction = attrs.field(converter=_lower)
    upper: Fraction = attrs.field(converter=_upper)
    where: Where | None = attrs.field(default=None, converter=where_field)
    unit: Fraction = attrs.field(default=Fraction(1), kw_only=True, converter=_unit)
    per: PrivacyUnit | None = attrs.field(default=None, kw_only=True, converter=per_field)

    @upper.validator
    def _ordered(self, attribute: object, upper: Fraction) -> None:
        if not self.lower <= upper:
            raise ValueError(
                f"lower is {shown(self.lower)}; it should be at most upper, {shown(upper)}"
            )

    @property
    def lattice(self) -> Lattice:
        """The bounds and the unit that a record's number is clipped to and divided by."""
        return Lattice(self.lower, self.upper, self.unit)

    @property
    def public_name(self) -> str:
        """The statistic's class and column: `Sum(column)`."""
        return f"{type(self).__name__}({operand_name(self.column)})"


@sums
@attrs.frozen
class Sum(ColumnStatistic):
    """The sum of a column, in whole `unit`s.

    Each record's number is clipped to [lower, upper], divided by `unit` and truncated toward zero;
    these integers are added exactly. A record adds 0 if its cell is missing or, in a column of
    objects, holds no number: 0 is within the sensitivity even if `lower` is above it.

    The arguments are those of `ColumnStatistic`.
    """

    shape = None

    @property
    def step(self) -> Fraction:  # type: ignore[override]
        """The unit: the estimate is the sum itself. It is about truncated numbers."""
        return self.unit

    @property
    def largest(self) -> tuple[int, ...]:
        """The larger absolute value of the bounds, in units."""
        return (self.lattice.largest,)

    @property
    def monotone(self) -> Monotone | None:  # type: ignore[override]
        """Up if no number is below 0, down if none is above 0."""
        return "up" if self.lattice.low >= 0 else "down" if self.lattice.high <= 0 else None

    @property
    def request(self) -> Request:
        """The sum of the units."""
        return Request((Term(self.column, self.lattice, power=1),), self.where, per=self.per)

    def combined(self, totals: Array) -> Array:
        """The sum."""
        return totals


def _categories(values: Any) -> tuple[Scalar, ...] | None:
    return None if values is None else categories_of(values)


def _bins(values: Any) -> tuple[Scalar, ...] | None:
    return None if values is None else edges_of(values)


@sums
@attrs.frozen
class Histogram(Aggregate):
    """The number of records in each of some public categories or intervals.

    With `categories` a record is counted if its cell equals one of them: text, whole numbers, dates
    or truth values. A column of other numbers, or of times, needs `bins`: hardly any cell equals a
    number exactly. With `bins=[0, 10, 20]` the records from 0 up to, but without, 10, and those
    from 10 up to, but without, 20 are counted. Cells below the first edge, from the last edge on,
    missing, or in no category are counted nowhere. Each record is counted at most once.

    Args:
        column: its name, or `column(name)`.
        categories: public and different from each other; the answer is in their order.
        where: which records, as for `Count`.
        bins: the edges of the intervals, public and ascending: numbers, dates or times. Give either
            bins or categories.
        per: the privacy unit, as for `Count`. Its bounds on groups apply to the categories.
    """

    column: Operand = attrs.field(converter=operand_of)
    categories: tuple[Scalar, ...] | None = attrs.field(
        default=None, converter=_categories, eq=alike
    )
    where: Where | None = attrs.field(default=None, converter=where_field)
    bins: tuple[Scalar, ...] | None = attrs.field(
        default=None, kw_only=True, converter=_bins, eq=alike
    )
    per: PrivacyUnit | None = attrs.field(default=None, kw_only=True, converter=per_field)

    largest = (1,)
    monotone = "up"

    def __attrs_post_init__(self) -> None:
        """Check that it has either categories or bins.

        Raises:
            TypeError: it has both, or none.
        """
        if (self.categories is None) == (self.bins is None):
            raise TypeError(
                "give either bins=[0, 10, 20], the edges of intervals, or categories=[..], the "
                "values that cells equal"
            )

    @property
    def groups(self) -> Groups:
        """The categories or the intervals."""
        if self.categories is not None:
            return Categories(self.column, self.categories)
        assert self.bins is not None
        return Bins(self.column, tuple((">=", edge) for edge in self.bins))

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """One count per category or interval."""
        return (len(self.categories) if self.categories else len(self.bins or ()) - 1,)

    @property
    def public_name(self) -> str:
        """`Histogram(column)`."""
        return f"Histogram({operand_name(self.column)})"

    @property
    def request(self) -> Request:
        """The number of rows, by category or interval."""
        return Request((Term(),), self.where, (self.groups,), self.per)

    def combined(self, totals: Array) -> Array:
        """The counts."""
        return totals

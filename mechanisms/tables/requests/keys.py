"""Public keys of groups: values of a column, years, months, weeks, intervals, combinations.

Keys are public: they are written down, or taken from a public table. Nothing here reads the data.
"""

from collections.abc import Iterable, Mapping
from datetime import date, datetime
from fractions import Fraction
from itertools import pairwise
from typing import Any

import attrs
import numpy as np

from mechanisms.tables.expressions.column_types import constant
from mechanisms.tables.expressions.columns import Column
from mechanisms.tables.expressions.operands import (
    Expressed,
    ExpressionPart,
    Operand,
    column_name,
    operand_of,
)
from mechanisms.tables.expressions.scalars import Scalar, alike, scalars
from mechanisms.tables.requests.arrays import as_python
from mechanisms.tables.requests.request import Bins, Categories, Combinations, Groups, Tabular
from mechanisms.tables.requests.signed import signed
from queryable.answers.released import Released
from queryable.checks.datasets import is_private
from queryable.data.cells import cells
from queryable.data.keys import keys_of
from queryable.losses.numbers import at_least_one, shown
from queryable.wording.quoting import quoted


def categories_of(values: Any) -> tuple[Scalar, ...]:
    """Check public categories.

    Raises:
        TypeError, ValueError: there are none, two are equal, or one is no scalar.
    """
    if isinstance(values, ReleasedKeys):
        raise TypeError(
            "give keys that were found as they are, group_by(found); where values are wanted, "
            "write [key for [key] in found.axes[0].values]"
        )
    categories = scalars(values, "categories")
    if not categories:
        raise ValueError("categories is empty; it should name at least one")
    if len(set(keys_of(categories))) < len(categories):
        raise ValueError(f"categories is {quoted(categories)}; they should differ from each other")
    return categories


def edges_of(values: Any) -> tuple[Scalar, ...]:
    """Check the edges of intervals: at least two numbers, dates, times or durations, ascending.

    Raises:
        TypeError, ValueError: they are not.
    """
    edges = scalars(values, "bins")
    constants = [constant(edge) for edge in edges]
    of_kinds = {each.family for each in constants}
    if any(isinstance(edge, bool) for edge in edges):
        of_kinds.add("boolean")
    if not of_kinds <= {"number", "moment", "instant", "duration"} or len(of_kinds) > 1:
        raise TypeError(
            f"bins is {quoted(edges)}; it should be the edges of intervals: numbers, dates, or "
            "times. For values that cells equal, write categories="
        )
    places = [each.value for each in constants]
    if not len(edges) > 1 or not all(a < b for a, b in pairwise(places)):
        raise ValueError(
            f"bins is {quoted(edges)}; it should be at least two edges in ascending order, such as "
            "[0, 10, 20] for the intervals from 0 up to 10 and from 10 up to 20"
        )
    return edges


def equal_edges(bins: Any, lower: Any, upper: Any) -> Any:
    """The edges of intervals, where `bins` may be their number in a public range.

    An edge is a whole number, or the float that is nearest to it. Without a range, `bins` itself.

    Raises:
        TypeError, ValueError: a number without a range, or a range without a number.
    """
    number = is_whole(bins)
    if (lower is None, upper is None) != (not number, not number):
        raise TypeError(
            f"bins is {quoted(bins)}, lower is {quoted(lower)} and upper is {quoted(upper)}; give "
            "either edges, bins=[0, 18, 65], or a number of intervals in a public range, bins=10, "
            "lower=0, upper=100"
        )
    if not number:
        return bins
    count, low, high = at_least_one(bins, "bins"), signed(lower, "lower"), signed(upper, "upper")
    if not low < high or not count <= _MOST_BINS:
        raise ValueError(
            f"bins is {shown(Fraction(count))}, lower is {shown(low)} and upper is {shown(high)}; "
            f"lower should be below upper, and bins at most {_MOST_BINS}"
        )
    try:
        return [edge(low + (high - low) * place / count) for place in range(count + 1)]
    except OverflowError:
        raise ValueError(
            f"lower is {shown(low)} and upper is {shown(high)}; their size should be below 1e308"
        ) from None


def edge(place: Fraction) -> int | float:
    """A whole number, or the float that is nearest."""
    return int(place) if place.denominator == 1 else float(place)


_MOST_BINS = 10**5


def is_whole(value: Any) -> bool:
    """Whether it is a whole number, such as a number of intervals; a bool is none."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def intervals(column: Any, edges: Any) -> Bins:
    """The groups of half-open intervals between edges; what is outside is in no group."""
    steps = tuple((">=", edge) for edge in edges_of(edges))
    return Bins(column, steps)


@attrs.frozen
class Keys(Categories):
    """Public keys of a group-by: the values of a column that make a group each.

    `table.group_by(Keys("state", ["CA", "NY"]), Keys.months("day", "2024-01", "2024-12"))` makes
    2 x 12 groups. A row whose cell equals no key is in no group.

    Args:
        column: its name, or an expression such as `column("day").truncate("month")`.
        values: public, and different from each other; groups are in their order.
    """

    values: tuple[Scalar, ...] = attrs.field(converter=categories_of, eq=alike)

    @staticmethod
    def years(column: Any, first: Any, last: Any) -> Categories:
        """Calendar years, from the first to the last, both included.

        Args:
            column: a column of dates or times.
            first, last: such as 2023 or "2023", or any date in the year.
        """
        start, end = _ordered(_year(first, "first"), _year(last, "last"), first)
        return Categories(Column(operand_of(column)).year(), range(start, end + 1))

    @staticmethod
    def months(column: Any, first: Any, last: Any) -> Categories:
        """Calendar months, from the first to the last, both included.

        Args:
            column: a column of dates or times.
            first, last: such as "2024-01", or any date in the month.
        """
        start, end = _ordered(_month(first, "first"), _month(last, "last"), first)
        count = range(start, end + 1)
        days = tuple(date(month // 12, month % 12 + 1, 1) for month in count)
        return Categories(Column(operand_of(column)).truncate("month"), days)

    @staticmethod
    def days(column: Any, first: Any, last: Any) -> Categories:
        """Calendar days, from the first to the last, both included.

        Args:
            column: a column of dates or times.
            first, last: such as "2024-01-31", or a date.
        """
        start, end = _ordered(_day(first, "first"), _day(last, "last"), first)
        days = tuple(map(date.fromordinal, range(start, end + 1)))
        return Categories(Column(operand_of(column)).truncate("day"), days)

    @staticmethod
    def weeks(column: Any, first: Any, last: Any) -> Categories:
        """Weeks from Monday to Sunday, from the first to the last, both included.

        Each key is the Monday.

        Args:
            column: a column of dates or times.
            first, last: any date in the week, such as "2024-02-29".
        """
        start, end = _ordered(_monday(first, "first"), _monday(last, "last"), first)
        days = tuple(map(date.fromordinal, range(start, end + 1, 7)))
        return Categories(Column(operand_of(column)).truncate("week"), days)

    @staticmethod
    def bins(column: Any, edges: Any, lower: Any = None, upper: Any = None) -> Bins:
        """Half-open intervals of numbers, dates or times: [0, 10, 20] makes [0, 10) and [10, 20).

        Args:
            column: as for `Keys`.
            edges: public, in ascending order. A row outside them is in no group. Or the number of
                intervals of equal width.
            lower, upper: the public range that a number of intervals divides.
        """
        return intervals(column, equal_edges(edges, lower, upper))

    @staticmethod
    def of(public: Any, *names: str) -> Groups:
        """The combinations of values that occur in a public table, in order of their occurrence.

        The columns of the private table have the same names. Rows with a missing cell are left out.

        Args:
            public: a frame, an array, a dict of columns or a list of records. Every value in it
                becomes known to the analyst.
            names: the columns.
        """
        if isinstance(public, Tabular) or is_private(public):
            raise TypeError(
                "give a public table: the keys are shown to the analyst, and these data are private"
            )
        plain = isinstance(public, Mapping | list | tuple | np.ndarray)
        if not plain and not hasattr(public, "columns"):
            raise TypeError(f"public is {quoted(public)}; it should be a frame, or like a dict")
        if not names:
            raise TypeError('name the columns of the keys: Keys.of(table, "state", "sex")')
        columns = [_public_values(public, column_name(name)) for name in names]
        rows = dict.fromkeys(row for row in zip(*columns, strict=True) if None not in row)
        return combinations(names, rows)


def combinations(names: Iterable[Any], rows: Iterable[tuple[Any, ...]]) -> Groups:
    """The groups of some combinations of values of several columns.

    Raises:
        TypeError, ValueError: there are none, or a value is no scalar.
    """
    kept = list(rows)
    if not kept:
        raise ValueError("the public table has no row without a missing cell in these columns")
    parts = tuple(
        Categories(name, categories_of(dict.fromkeys(values)))
        for name, values in zip(names, zip(*kept, strict=True), strict=True)
    )
    if len(parts) == 1:
        return parts[0]
    index = [{value: i for i, value in enumerate(part.values)} for part in parts]
    places = [tuple(known[v] for known, v in zip(index, row, strict=True)) for row in kept]
    return Combinations(parts, tuple(dict.fromkeys(places)))


def _public_values(table: Any, name: str) -> list[Any]:
    try:
        present, values = cells(table, name)
    except (LookupError, TypeError):
        raise KeyError(f"the public table has no column {quoted(name)}, or is no table") from None
    given = iter(as_python(values))
    return [next(given) if there else None for there in present.tolist()]


def _ordered(start: int, end: int, first: Any) -> tuple[int, int]:
    if not start <= end:
        raise ValueError(f"first is {quoted(first)}; it should not be after last")
    if not end - start < _MOST_DATES:
        raise ValueError(f"first is {quoted(first)}; it should be nearer to last")
    return start, end


_MOST_DATES = 366 * 10**3


def _date(value: Any, name: str, written: str, what: str, length: int) -> date:
    """A date, or the text of one; of a longer text the first `length` characters count."""
    found = value
    if isinstance(value, str):
        try:
            found = datetime.strptime(value[:length], written)  # noqa: DTZ007 (a day has no zone)
        except ValueError:
            found = None
    if not isinstance(found, date):
        raise TypeError(f"{name} is {quoted(value)}; it should be {what}")
    return found


def _year(value: Any, name: str) -> int:
    if is_whole(value) and 1 <= value <= 9999:
        return int(value)
    return _date(value, name, "%Y", "a year such as 2024", 4).year


def _month(value: Any, name: str) -> int:
    """The months since the year 0."""
    month = _date(value, name, "%Y-%m", 'a month such as "2024-01"', 7)
    return month.year * 12 + month.month - 1


def _day(value: Any, name: str) -> int:
    """The number of a day."""
    return _date(value, name, "%Y-%m-%d", 'a date such as "2024-02-29"', 10).toordinal()


def _monday(value: Any, name: str) -> int:
    """The number of the day on which the week begins."""
    day = _day(value, name)
    return day - (day - 1) % 7


@attrs.frozen(eq=False, repr=False)
class ReleasedKeys(Released):
    """Keys that were found in the data and released, each with its noisy count.

    The keys are public from then on: `table.group_by(found)` makes them groups.

    Attributes:
        columns: what the keys are cells of.
    """

    columns: tuple[Operand, ...] = attrs.field(default=(), kw_only=True)

    @property
    def keys(self) -> Groups:
        """The keys as groups, in ascending order.

        Raises:
            ValueError: no key was released.
        """
        [axis] = self.axes
        if not axis.values:
            raise ValueError("no key was released: no noisy count reached the threshold")
        return combinations(self.columns, axis.values)

    def _left_out(self, shown: int) -> list[str]:
        none = ["no key: no noisy count reached the threshold"]
        return super()._left_out(shown) if self.axes[0].values else none


def groups_of(value: Any) -> tuple[Groups, ...]:
    """Check the keys of a group-by: mappings of columns to values, pairs of both, and `Keys`.

    Raises:
        TypeError, ValueError: it is none of these, or has no key.
    """
    given = value if isinstance(value, tuple | list) and not _is_pair(value) else [value]
    if len(given) == 1 and isinstance(given[0], list):  # group_by([..]) means group_by(..)
        [given] = given
    groups = tuple(one for each in given for one in _groups(each))
    if not groups:
        raise TypeError(f'by is {quoted(value)}; it should be like {{"state": ["CA", "NY"]}}')
    return groups


def _is_pair(given: Any) -> bool:
    """Whether it is a column, by its name or computed, and the values of it that make groups."""
    paired = isinstance(given, tuple) and len(given) == 2 and not isinstance(given[1], str)
    return paired and isinstance(given[0], str | Expressed | ExpressionPart)


def _groups(given: Any) -> Iterable[Groups]:
    match given:
        case (column_, values) if _is_pair(given):
            yield Categories(column_, categories_of(values))
        case Mapping():
            for name, values in given.items():
                yield Categories(name, categories_of(values))
        case ReleasedKeys():
            yield given.keys
        case Categories(column_, values):
            checked = categories_of(values)
            yield given if type(given) is Categories else Categories(column_, checked)
        case Bins(column_, steps, bounded=True):
            yield intervals(column_, [edge for _, edge in steps])
        case Combinations(parts, places):
            names = [part.column for part in parts]
            tables = [part.values for part in parts]
            rows = ([v[i] for v, i in zip(tables, place, strict=True)] for place in places)
            yield combinations(names, map(tuple, rows))
        case _:
            raise TypeError(
                f'a key is {quoted(given)}; keys should be like {{"state": ["CA", "NY"]}}, '
                '(column("day").weekday(), range(7)), Keys.months("day", "2024-01", "2024-12") or '
                'Keys.bins("age", [0, 18, 65]). If you '
                "cannot list them, first release(visits.discovered_keys(..), loss=..), where "
                "visits is the Table, and give its answer"
            )

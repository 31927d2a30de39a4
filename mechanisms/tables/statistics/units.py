"""`CountUnits` and `UnitSizes`: privacy units counted, and their numbers of rows.

A unit is counted once, however many rows it has, so all rows of a unit are looked at: `max_rows`
does not apply. Both are about one value of each unit, its number of rows (`PerUnit`).
"""

from collections.abc import Iterable
from fractions import Fraction
from itertools import pairwise
from math import inf
from typing import Any

import attrs
import numpy as np

from mechanisms.tables.expressions.operands import PerUnit, per_units
from mechanisms.tables.expressions.predicates import Where, where_field
from mechanisms.tables.requests.privacy_unit import PrivacyUnit
from mechanisms.tables.requests.request import Bins, Request, Term
from mechanisms.tables.statistics.aggregates import Aggregate, sums
from queryable.answers.estimates import Axis, Bin
from queryable.answers.evidence import Evidence
from queryable.answers.released import Released
from queryable.answers.values import Value
from queryable.data.cells import Array
from queryable.losses.numbers import natural, several
from queryable.wording.quoting import quoted


def _per(value: Any) -> PrivacyUnit:
    if type(value) is not PrivacyUnit:
        raise TypeError(
            "give per=visits.unit, where visits is a Table(.., privacy_unit=..): per is "
            f"{quoted(value)}, and without a privacy unit there are only rows to count"
        )
    return value


def _of_rows(value: Any) -> Where | None:
    where = where_field(value)
    if next(per_units(where), None) is not None:
        raise TypeError(
            "give a condition on rows: for one on units write visits.count(condition), as in "
            'visits.count(visits.per_unit("count") > 1)'
        )
    return where


def _rows(most: int, where: Where | None) -> PerUnit:
    """The number of a unit's rows, or that many."""
    return PerUnit("count", None, Fraction(0), Fraction(most), where=where)


@sums
@attrs.frozen
class CountUnits(Aggregate):
    """The number of privacy units, such as persons, with at least one row that satisfies `where`.

    All rows of a unit are looked at, not only the `max_rows` that other statistics count. A unit is
    counted or not, so the sensitivity is 1: `CountUnits(column("item") == "book", per=table.unit)`
    is how many people bought a book. In a `GroupBy` a unit is counted once in each group in which
    it has such a row, in at most `per.groups` groups.

    Privacy:
        Claim: adding or removing a unit moves the count by at most 1; in groups, at most `groups`
            counts by 1 each, with `groups` the smaller of `per.groups` and how many groups there
            are.
        Theorem: docs/tables/units.md, contribution bounding, values of units.
        Checked by: tests/unit/mechanisms/tables/test_table_sensitivity.py

    Args:
        where: which rows, as for `Count`; by default all.
        per: the privacy unit that is counted, `table.unit`.
    """

    where: Where | None = attrs.field(default=None, converter=_of_rows)
    per: PrivacyUnit = attrs.field(kw_only=True, converter=_per)

    shape = None
    largest = (1,)
    monotone = "up"

    @property
    def public_name(self) -> str:
        """What is counted."""
        return f"Count of distinct {self.per.column}"

    @property
    def request(self) -> Request:
        """The number of units with at least one row."""
        return Request((Term(_rows(1, self.where)),), per=self.per)

    def combined(self, totals: Array) -> Array:
        """The count."""
        return totals


def _limits(values: Any) -> tuple[int, ...]:
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise TypeError(f"limits is {quoted(values)}; it should be a list of whole numbers")
    limits = tuple(natural(each, "a limit") for each in several(values, "limits"))
    if not limits or limits[0] < 1 or not all(a < b for a, b in pairwise(limits)):
        raise ValueError(
            f"limits is {quoted(limits)}; it should be ascending whole numbers from 1, such as "
            "[1, 5, 20]"
        )
    if not limits[-1] < 2**62:
        raise ValueError("limits has a number that is too large; it should be below 2**62")
    return limits


@attrs.frozen
class Share(Evidence):
    """The share of the units from one entry of released sizes on.

    The share grows with the numbers of these units, and falls with those of the others. So its ends
    are at the ends of intervals that hold for all numbers at once.
    """

    sizes: Released
    place: int

    @property
    def most(self) -> Fraction | None:  # type: ignore[override]
        """As for the sizes."""
        return self.sizes.evidence.most

    def interval(self, confidence: Fraction, *, simultaneous: bool) -> tuple[Value, Value]:
        """The range of the share, rounded outward."""
        low, high = self.sizes.interval(confidence, simultaneous=True)
        low, high = (np.maximum(np.asarray(each, dtype=float), 0) for each in (low, high))
        least = _share(low, high, self.place, 0.0)
        most = _share(high, low, self.place, 1.0)
        outward = np.nextafter(np.nextafter(least, -1), -1), np.nextafter(np.nextafter(most, 2), 2)
        ends = np.maximum(outward[0], 0), np.minimum(outward[1], 1)
        return (ends[0], ends[1]) if ends[0].ndim else (float(ends[0]), float(ends[1]))


def _share(over: Array, others: Array, place: int, empty: float) -> Array:
    """What is over in all, with `empty` where there is nothing."""
    some = over[..., place:].sum(-1)
    whole = some + others[..., :place].sum(-1)
    return np.asarray(np.where(whole > 0, some / np.where(whole > 0, whole, 1), empty))


class ReleasedSizes(Released):
    """Released numbers of units by their number of rows."""

    def share_over(self, limit: int) -> Released:
        """The share of the units that have more than `limit` rows, with an interval.

        Args:
            limit: one of the limits that were asked for.

        Raises:
            ValueError: it is another number.
        """
        starts = [each.low - 1 for (each,) in self.axes[-1].values]
        if limit not in starts:
            raise ValueError(f"limit is {quoted(limit)}; it should be one of {starts[1:]}")
        place = starts.index(limit)
        counts = np.maximum(np.asarray(self.estimate, dtype=float), 0)
        share = _share(counts, counts, place, np.nan)
        return Released(
            share if share.ndim else float(share),
            self.axes[:-1],
            f"Share with more than {limit} rows, of {self.title}",
            evidence=Share(self, place),
        )


@sums
@attrs.frozen
class UnitSizes(Aggregate):
    """How many privacy units have how many rows: what one chooses `max_rows` by.

    With the limits [1, 5, 20] four numbers: of the units with 1 row, 2 to 5 rows, 6 to 20 rows,
    and more than 20. A unit without a row that satisfies `where` is not counted. All rows of a unit
    are looked at, not only `max_rows`. A released answer has `share_over(20)`.

    Privacy:
        Claim: adding or removing a unit moves one number by 1; in groups, as for `CountUnits`.
        Theorem: docs/tables/units.md, contribution bounding, values of units.
        Checked by: tests/unit/mechanisms/tables/test_table_sensitivity.py

    Args:
        limits: ascending whole numbers from 1: candidates for `max_rows`.
        where: which rows, as for `Count`; by default all.
        per: the privacy unit that is counted, `table.unit`.
    """

    limits: tuple[int, ...] = attrs.field(converter=_limits)
    where: Where | None = attrs.field(default=None, converter=_of_rows)
    per: PrivacyUnit = attrs.field(kw_only=True, converter=_per)

    largest = (1,)
    monotone = "up"
    answers = ReleasedSizes

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """One number per limit, and one for the units beyond the last."""
        return (len(self.limits) + 1,)

    @property
    def public_name(self) -> str:
        """What is counted."""
        return f"Count of distinct {self.per.column} by number of rows"

    @property
    def request(self) -> Request:
        """The number of units by their number of rows."""
        more = tuple((">", limit) for limit in self.limits)
        rows = _rows(self.limits[-1] + 1, self.where)
        return Request((Term(),), by=(Bins(rows, more, bounded=False),), per=self.per)

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The intervals of numbers of rows."""
        ends = (1, *(limit + 1 for limit in self.limits), inf)
        return (Axis(("number of rows",), tuple((Bin(*each),) for each in pairwise(ends))),)

    def combined(self, totals: Array) -> Array:
        """The numbers of units."""
        return totals

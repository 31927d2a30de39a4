"""Privacy units: whose presence is protected, and how much of one a statistic counts.

Responsible for the public description of a unit and for what its bounds do to sensitivities.
Knows no data and no engine.
"""

from enum import IntEnum
from fractions import Fraction
from typing import Any

import attrs

from mechanisms.tables.predicates import column_name
from queryable.losses.numbers import natural, shown, sqrt_up


class Neighbours(IntEnum):
    """Which datasets are neighbours, as the `d_in` of a budget: `FiltCon(budget, d_in=...)`.

    Both count privacy units: rows, or persons of a table with a `privacy_unit`.
    """

    ADD_REMOVE = 1
    """One unit more or less; the default everywhere."""
    SUBSTITUTE = 2
    """One unit is another: one less and one more."""


def _limit(value: Any, name: str) -> int:
    """A bound as a plain int: it is written into statements.

    Raises:
        ValueError, TypeError: no integer that engines number rows with.
    """
    limit = natural(value, name)
    if not 1 <= limit < 2**63:
        raise ValueError(
            f"{name} is {shown(Fraction(limit))}; it should be at least 1, below 2**63"
        )
    return limit


def _max_rows(value: Any) -> int:
    return _limit(value, "max_rows")


def _max_groups(value: Any) -> int | None:
    return None if value is None else _limit(value, "max_groups")


def _per_group(value: Any) -> int | None:
    return None if value is None else _limit(value, "max_rows_per_group")


@attrs.frozen
class PrivacyUnit:
    """All rows of one person, or whoever else a column names, and how many of them count.

    Public, and part of a statistic's claim: `Count(per=PrivacyUnit("person_id", max_rows=3))` moves
    by at most 3 when a person is added or removed, because at most 3 of their rows are counted.
    Which rows those are depends on the person's own rows and on the table's public seed alone.

    Args:
        column: names the unit, as `person_id`. A row without one (null, NaN) belongs to nobody and
            is never counted.
        max_rows: how many rows of a unit are counted. They are chosen before any `where`.
        max_groups: in how many groups of a `GroupBy` or a `Histogram` the unit is counted at most.
        max_rows_per_group: how many of its rows are counted in one such group.
    """

    column: str = attrs.field(converter=column_name)
    max_rows: int = attrs.field(kw_only=True, converter=_max_rows)
    max_groups: int | None = attrs.field(kw_only=True, default=None, converter=_max_groups)
    max_rows_per_group: int | None = attrs.field(kw_only=True, default=None, converter=_per_group)

    @property
    def groups(self) -> int:
        """The most groups that a unit is counted in."""
        return min(self.max_groups or self.max_rows, self.max_rows)

    @property
    def rows_per_group(self) -> int:
        """The most rows of a unit that are counted in one group."""
        return min(self.max_rows_per_group or self.max_rows, self.max_rows)


@attrs.frozen
class Contribution:
    """What a unit adds at most, in rows: the norms of its number of rows in each group."""

    l1: int
    l2_squared: int


def contribution(per: PrivacyUnit | None, *, grouped: bool) -> Contribution:
    """The most that one unit contributes; one row where the unit is the row.

    With at most m rows in all, g groups and k rows a group, the L2 norm is largest when as many
    groups as possible hold k rows each: the squared norm is convex, so it is largest at a vertex.
    """
    if per is None:
        return Contribution(1, 1)
    if not grouped:
        return Contribution(per.max_rows, per.max_rows**2)
    most, groups, each = per.max_rows, per.groups, per.rows_per_group
    full = min(groups, most // each)
    rest = most - full * each if full < groups else 0
    return Contribution(full * each + rest, full * each**2 + rest**2)


def root(square: int) -> Fraction:
    """A rational at or above the square root."""
    return sqrt_up(Fraction(square))

"""Privacy units: whose presence is protected, and how much of one unit a statistic counts.

`PrivacyUnit` is public. `contribution` computes what its bounds mean for sensitivities.
"""

from enum import IntEnum
from fractions import Fraction
from typing import Any

import attrs

from mechanisms.tables.expressions.operands import column_name
from queryable.losses.numbers import natural, shown, sqrt_up
from queryable.wording.quoting import an_instance


class Neighbours(IntEnum):
    """Which datasets are neighbours, as the `d_in` of a budget: `FiltCon(budget, d_in=...)`.

    Both count privacy units: rows, or persons of a table with a `privacy_unit`.
    """

    ADD_REMOVE = 1
    """One unit more or one less; the default everywhere."""
    SUBSTITUTE = 2
    """One unit is replaced by another: one less and one more."""


def _limit(value: Any, name: str) -> int:
    """Read a bound as a plain int, because it is written into SQL statements.

    Raises:
        ValueError, TypeError: it is not an integer that engines number rows with.
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
    """All rows of one person, or of another unit that a column names, and how many are counted.

    Public, and part of a statistic's claim: `Count(per=PrivacyUnit("person_id", max_rows=3))` moves
    by at most 3 when a person is added or removed, because at most 3 of their rows are counted. A
    patient with 10,000 rows contributes 3. Which rows are counted depends on the person's own rows
    and on the table's public seed alone.

    Args:
        column: the column that names the unit, such as `person_id`. A row without a value (null,
            NaN) belongs to no unit and is never counted.
        max_rows: how many rows of a unit are counted. They are chosen before any `where`.
        max_groups: in how many groups of a `GroupBy` or a `Histogram` a unit is counted at most.
        max_rows_per_group: how many of its rows are counted in one such group.
        joined: whether each row of a table before a join is the unit, and `max_rows` is how many
            joined rows it becomes at most. Then `column` is a word for it, and no column.
    """

    column: str = attrs.field(converter=column_name)
    max_rows: int = attrs.field(kw_only=True, converter=_max_rows)
    max_groups: int | None = attrs.field(kw_only=True, default=None, converter=_max_groups)
    max_rows_per_group: int | None = attrs.field(kw_only=True, default=None, converter=_per_group)
    joined: bool = attrs.field(kw_only=True, default=False, validator=an_instance(bool))

    def __attrs_post_init__(self) -> None:
        """Reject bounds that no engine keeps.

        Raises:
            ValueError: there are bounds on the groups of a row.
        """
        if self.joined and (self.max_groups, self.max_rows_per_group) != (None, None):
            raise ValueError("leave max_groups and max_rows_per_group out: the unit is one row")

    @property
    def groups(self) -> int:
        """The largest number of groups in which a unit is counted."""
        return min(self.max_groups or self.max_rows, self.max_rows)

    @property
    def rows_per_group(self) -> int:
        """The largest number of a unit's rows that are counted in one group."""
        return min(self.max_rows_per_group or self.max_rows, self.max_rows)


@attrs.frozen
class Contribution:
    """What one unit adds at most: norms of what is counted of it in each group."""

    l1: int
    l2_squared: int
    linf: int


def contribution(per: PrivacyUnit | None, groups: int | None = None) -> Contribution:
    """The largest number of rows that one unit contributes; one row if each row is a unit.

    With at most m rows in total, g groups and k rows per group, the L2 norm is largest when as many
    groups as possible hold k rows each: the squared norm is convex, so its maximum is at a vertex.

    Args:
        groups: how many groups there are; None if rows are not grouped.
    """
    if per is None:
        return Contribution(1, 1, 1)
    if groups is None:
        return Contribution(per.max_rows, per.max_rows**2, per.max_rows)
    most, each, groups = per.max_rows, per.rows_per_group, min(per.groups, groups)
    full = min(groups, most // each)
    rest = most - full * each if full < groups else 0
    return Contribution(full * each + rest, full * each**2 + rest**2, each)


def root(square: int) -> Fraction:
    """A rational number at or above the square root."""
    return sqrt_up(Fraction(square))

"""Statistics made of totals: integers that rows add, in public groups.

Responsible for their sensitivities, from what one row adds at most and how many rows of a privacy
unit count, and for evaluating them on a table's engine or on arrays. Knows no particular statistic.
"""

from abc import abstractmethod
from fractions import Fraction
from typing import Any

import attrs
import numpy as np

from mechanisms.tables.arrays import totals_of_arrays
from mechanisms.tables.privacy_unit import PrivacyUnit, contribution, root
from mechanisms.tables.request import Request, Tabular
from queryable.data.rows import Array
from queryable.quoting import quoted
from queryable.statistics import IntegerStatistic


def per_field(value: Any) -> PrivacyUnit | None:
    """Check a `per`.

    Raises:
        TypeError: neither None nor a privacy unit; a subclass might say other bounds each time.
    """
    if value is not None and type(value) is not PrivacyUnit:
        raise TypeError(
            f"per is {quoted(value)}; it should be a PrivacyUnit, such as a table's unit"
        )
    return value


@attrs.frozen
class Aggregate(IntegerStatistic):
    """A statistic whose value is made of `Request`.

    A subclass says which terms it adds up and at most how much of each a row adds. What is made of
    the totals is linear in them, with the coefficients that `largest` has been stated for.

    Privacy:
        Claim: adding or removing a privacy unit moves the value by at most `l1` and `l2` in these
            norms: the rows of one unit that count, times what a row adds.
        Theorem: docs/tables.md, contribution bounding.
        Checked by: tests/unit/mechanisms/tables/test_table_sensitivity.py
    """

    groupable = True
    """Whether the rows of a group decide about the group's entries alone."""

    @property
    def may_be_monotone(self) -> bool:
        """Whether what a row adds is of one sign in all entries, whatever the row."""
        return False

    @property
    @abstractmethod
    def request(self) -> Request:
        """What it asks of a table: public, and the same whatever the table holds."""

    @property
    @abstractmethod
    def largest(self) -> tuple[int, ...]:
        """The most that a row adds to each coordinate of its group, in absolute value."""

    @abstractmethod
    def combined(self, totals: Array) -> Array:
        """The value made of totals, shape (*groups, terms); the last axis becomes coordinates."""

    @property
    def l1(self) -> Fraction:  # type: ignore[override]
        """Of rows that count, times what a row adds."""
        rows = contribution(self.request.per, grouped=bool(self.request.by))
        return Fraction(rows.l1 * sum(self.largest))

    @property
    def l2(self) -> Fraction:  # type: ignore[override]
        """The same in the L2 norm."""
        rows = contribution(self.request.per, grouped=bool(self.request.by))
        return root(rows.l2_squared * sum(each**2 for each in self.largest))

    @property
    def linf(self) -> Fraction:
        """The most that one entry moves: the rows of a unit that count in a group, each at most."""
        request = self.request
        if request.per is None:
            rows = 1
        else:
            rows = request.per.rows_per_group if request.by else request.per.max_rows
        return Fraction(rows * max(self.largest))

    def totals(self, dataset: Any) -> Array:
        """What is added up, exactly: Python integers of the request's shape."""
        if isinstance(dataset, Tabular):
            return dataset.totals(self.request)
        return totals_of_arrays(dataset, self.request)

    def value(self, dataset: Any) -> Any:
        """The exact value: an int, or an array of `shape`, int64 where every entry fits."""
        value = self.combined(self.totals(dataset))
        if self.shape is None:
            return int(value.item())
        try:
            return value.reshape(self.shape).astype(np.int64)
        except OverflowError:
            return value.reshape(self.shape)

"""The base of the statistics of tables: sums over rows, in public groups.

`Aggregate` computes sensitivities from what one row adds at most and from how many rows of a
privacy unit are counted. It evaluates a statistic on a table's engine or on arrays.
"""

from abc import abstractmethod
from fractions import Fraction
from typing import Any, Self, TypeVar

import attrs
import numpy as np

from mechanisms.tables.engines.arrays import require_fitting
from mechanisms.tables.requests.arrays import needs_table, totals_of_arrays
from mechanisms.tables.requests.contributions import added_by_rows
from mechanisms.tables.requests.privacy_unit import PrivacyUnit, root
from mechanisms.tables.requests.remembered import key_of
from mechanisms.tables.requests.request import Request, Tabular
from mechanisms.tables.requests.wording import in_full
from mechanisms.tables.statistics.releases import Estimable
from queryable.answers.estimates import Axis
from queryable.data.cells import Array
from queryable.streams.contributions import Contributions
from queryable.wording.quoting import quoted


def per_field(value: Any) -> PrivacyUnit | None:
    """Check a `per`.

    Raises:
        TypeError: it is neither None nor exactly a `PrivacyUnit`; the bounds of a subclass could
            change from call to call.
    """
    if value is not None and type(value) is not PrivacyUnit:
        raise TypeError(
            f"give per=visits.unit, where visits is the Table: per is {quoted(value)}; it should "
            "be a PrivacyUnit"
        )
    return value


_SUMS: set[type] = set()
"""The classes whose value is the one sum of each group itself."""

Summed = TypeVar("Summed", bound="type[Aggregate]")


def sums(kind: Summed) -> Summed:
    """Register a class whose value is the one sum of each group itself, of the class alone."""
    _SUMS.add(kind)
    return kind


def _is_sum(statistic: Any) -> bool:
    """Whether it is of such a class, and so is each statistic that it puts into groups.

    A class that derives from one may compute another value from the same sums, whatever it states.
    """
    while type(statistic) in _SUMS:
        inner = getattr(statistic, "statistic", None)
        if inner is None:
            return True
        statistic = inner
    return False


@attrs.frozen
class Aggregate(Estimable):
    """A statistic that is computed from the sums of a `Request`.

    A subclass defines the terms, and a bound on what a row adds to each. The value must be linear
    in the sums, with coefficients that `largest` accounts for.

    Privacy:
        Claim: adding or removing a privacy unit moves the value by at most `l1` and `l2` in these
            norms: the number of a unit's rows that are counted, times what a row adds.
        Theorem: docs/tables/units.md, contribution bounding.
        Checked by: tests/unit/mechanisms/tables/test_table_sensitivity.py
    """

    checks_all = True  # the request has all that it asks

    groupable = True
    """Whether an entry of a group depends on the rows of that group alone."""

    batches_add_up = True
    """Whether it is of all rows what it is of batches of them, added up."""

    @property
    @abstractmethod
    def request(self) -> Request:
        """The sums that it asks of a table: public, and independent of the data."""

    @property
    @abstractmethod
    def largest(self) -> tuple[int, ...]:
        """The largest absolute value that a row adds to each coordinate of its group."""

    @abstractmethod
    def combined(self, totals: Array) -> Array:
        """The value from totals of shape (*groups, terms); the last axis becomes coordinates."""

    @property
    def l1(self) -> Fraction:  # type: ignore[override]
        """What is counted of a unit, times what a row adds, in the L1 norm."""
        return Fraction(self.request.contribution.l1 * sum(self.largest))

    @property
    def l2(self) -> Fraction:  # type: ignore[override]
        """The same in the L2 norm."""
        squares = sum(each**2 for each in self.largest)
        return root(self.request.contribution.l2_squared * squares)

    @property
    def linf(self) -> Fraction:
        """The most that one entry moves: a unit's contribution to a group, times a row's most."""
        return Fraction(self.request.contribution.linf * max(self.largest))

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The labels of each dimension of its estimate: the groups, and intervals of numbers."""
        return self.request.axes

    @property
    def asked(self) -> str:
        """The name with the rows that it is about: `Count where age >= 65, at most 4 rows ...`."""
        return in_full(self.public_name, self.request)

    def check(self, dataset: Any) -> None:
        """Check that it fits the public names and types of columns of data in memory.

        Raises:
            KeyError, TypeError, ValueError: it does not fit.
        """
        request = self.request
        if request.per is not None:
            raise TypeError(needs_table(request.per))
        require_fitting(dataset, request)

    @property
    def by_record(self) -> bool:
        """Whether it is a sum in each group, of predicates and columns without own functions."""
        return _is_sum(self) and key_of(self.request) is not None

    @property
    def adds_up(self) -> bool:  # type: ignore[override]
        """Whether it is a sum in each group, and counts rows: a unit may be in several groups."""
        return _is_sum(self) and self.request.units is None

    def of_rows(self) -> Self:
        """The same statistic without its privacy unit: each row is one.

        Raises:
            TypeError: it counts units.
        """
        if self.request.units is not None:
            raise TypeError(
                f"give a statistic of rows, such as visits.count(): {self.public_name} is of "
                "units, whose rows may come in several batches"
            )
        statistic: Any = self
        rows: Self = attrs.evolve(statistic, per=None)
        return rows

    def contributions(self, dataset: Any) -> Contributions:
        """What each record adds.

        Raises:
            TypeError: it is no such sum.
        """
        if not _is_sum(self):
            return super().contributions(dataset)
        if isinstance(dataset, Tabular):
            return dataset.contributions(self.request)
        return added_by_rows(dataset, self.request)

    def totals(self, dataset: Any) -> Array:
        """The exact sums: Python integers of the request's shape."""
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

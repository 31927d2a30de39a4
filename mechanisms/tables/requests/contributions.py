"""What each record adds to the sums of a request, and the sums over some of the records.

For statistics whose value is one sum in each group, such as counts: a record is in at most one
group, so the square of what it adds is the norm's square.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from math import prod
from typing import Any

import attrs
import numpy as np

from mechanisms.tables.requests.arrays import added_by, needs_table, rows_in_groups, step_of
from mechanisms.tables.requests.request import Request, Tabular, Term
from queryable.data.cells import Array, Mask
from queryable.streams.contributions import Contributions

_SMALL = 2**31
"""The squares of smaller integers fit into 64 bits."""


@attrs.frozen(eq=False)
class Among(Tabular):
    """The active records of a data set, for one request.

    Attributes:
        request: the request that it answers.
        active: which records are active.
        sums: gives the sums over active records.
        step_of: gives the step of a column's numbers.
    """

    request: Request
    active: Mask = attrs.field(repr=False)
    sums: Callable[[Mask], Array] = attrs.field(repr=False)
    step_of: Callable[[str], Fraction | None] = attrs.field(repr=False)

    def totals(self, request: Request) -> Array:
        """The sums over active records."""
        if request != self.request:
            raise TypeError("these are the sums of another request")
        return self.sums(self.active)

    def step(self, column: str) -> Fraction | None:
        """As of the data."""
        return self.step_of(column)


@attrs.frozen(eq=False)
class AddedByRows(Contributions):
    """What each row of data in memory adds.

    Attributes:
        dataset: the data.
        request: a request with one term, without a privacy unit.
        squares: of each row the square of what it adds.
        added: of each row what it adds: integers, 0 where it is not counted. None: 1 if `counted`.
        counted: which rows are counted.
        groups: of each row the number of its group.
    """

    dataset: Any = attrs.field(repr=False)
    request: Request
    squares: Array = attrs.field(repr=False)
    added: Array | None = attrs.field(repr=False)
    counted: Mask = attrs.field(repr=False)
    groups: Array = attrs.field(repr=False)

    def among(self, active: Mask) -> "Tabular":
        """A data set that answers this request from active rows alone."""
        return Among(self.request, active, self._sums, partial(step_of, self.dataset))

    def _sums(self, active: Mask) -> Array:
        [term], shape = self.request.terms, self.request.shape
        rows = self.counted & active
        sums = sums_among(self.groups, rows, self.added, term.largest, prod(shape))
        return sums.astype(object).reshape(shape)


def added_by_rows(dataset: Any, request: Request) -> AddedByRows:
    """What each row adds to the sums of a request.

    Raises:
        TypeError: the request bounds the contribution of a privacy unit.
    """
    if request.per is not None:
        raise TypeError(needs_table(request.per))
    [term] = request.terms
    counted, groups = rows_in_groups(dataset, request)
    if term.column is None:
        return AddedByRows(dataset, request, counted, None, counted, groups)
    added = _integers(dataset, term) * counted
    return AddedByRows(dataset, request, added * added, added, counted, groups)


def _integers(dataset: Any, term: Term) -> Array:
    """What each row adds, of a type that also holds the squares."""
    return added_by(dataset, term).astype(np.int64 if term.largest < _SMALL else object)


def sums_among(groups: Array, rows: Mask, added: Array | None, largest: int, count: int) -> Array:
    """The exact sum of each of `count` groups, over some rows.

    Args:
        groups: of each row the number of its group.
        rows: which rows are added up.
        added: of each row what it adds: integers of at most `largest` in absolute value. None: 1.
    """
    if added is None:
        if count == 1:  # without a copy of the groups
            return np.array([np.count_nonzero(rows)])
        return sums_by_group(groups[rows], None, count)
    added = added[rows]
    if not largest * max(len(added), 1) < 2**63:
        added = added.astype(object)
    return sums_by_group(groups[rows], added, count)


def sums_by_group(groups: Array, added: Array | None, count: int) -> Array:
    """The sum of each of `count` groups, over rows of these groups that add so much; None: 1."""
    if added is None:
        return np.bincount(groups, minlength=count)
    if count == 1:
        return np.array([added.sum()], dtype=added.dtype)
    sums = np.zeros(count, dtype=added.dtype)
    np.add.at(sums, groups, added)
    return sums

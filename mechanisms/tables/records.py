"""The records of a table, rows or privacy units, and what each adds to the sums of a request.

The engine bounds and adds up the rows of each record, as it does for all of them together.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import prod
from typing import Any

import attrs
import numpy as np

from mechanisms.tables.engines.protocol import Choice
from mechanisms.tables.requests.contributions import Among, sums_among, sums_by_group
from mechanisms.tables.requests.request import Request, Tabular, placed_sums
from queryable.data.cells import Array, Mask
from queryable.streams.contributions import Contributions, Records


@attrs.frozen(eq=False)
class TableRecords(Records, Tabular):
    """The records of a table.

    Args:
        recorded: the engine's copy of the rows, with numbers of records.
        choice: the order of a unit's rows.
        taken: gives the table of some of the engine's rows.
        step_of: gives the step of a column's numbers.
    """

    recorded: Any = attrs.field(repr=False)
    choice: Choice
    taken: Callable[[Any], Any] = attrs.field(repr=False)
    step_of: Callable[[str], Fraction | None] = attrs.field(repr=False)

    @property
    def count(self) -> int:  # type: ignore[override]
        """How many there are."""
        count: int = self.recorded.count
        return count

    @property
    def readable(self) -> "TableRecords":
        """Itself."""
        return self

    def among(self, active: Mask) -> Any:
        """A table of the active records' rows, with the same privacy unit."""
        return self.taken(self.recorded.copied.part(np.flatnonzero(active).tolist()))

    def contributions(self, request: Request) -> "AddedByRecords":
        """What each record adds to the sums of a request with one term."""
        [term], rows = request.terms, self.recorded.rows
        found = rows.columns_of(rows.plan(request, self.choice))
        dimensions = len(request.parts)
        counts = term.column is None
        if isinstance(found, list):  # some are longer than 64 bits, or there are no rows
            table = np.array(found, dtype=object).reshape(-1, dimensions + 2 - counts)
            found = tuple(table.T)
        record = found[dimensions].astype(np.int64, copy=False)
        places = [each.astype(np.int64) for each in found[:dimensions]]
        groups = _Groups.of(request, places, len(record))
        fits = request.contribution.l2_squared * term.largest**2 < 2**63
        kind = np.dtype(np.int64 if fits else object)
        added = None if counts else found[-1].astype(kind, copy=False)
        if request.per is None:
            squares = _of_rows(self.count, record, added)
        else:
            squares = _of_units(self.count, record, groups, added, kind)
        return AddedByRecords(self, request, squares, record, groups, added)

    def totals(self, request: Request) -> Array:
        """The sums over all records."""
        everyone = np.ones(self.count, dtype=bool)
        return self.contributions(request).among(everyone).totals(request)

    def step(self, column: str) -> Fraction | None:
        """As of the table."""
        return self.step_of(column)


@attrs.frozen(eq=False)
class AddedByRecords(Contributions):
    """What records add: an entry for each row that counts.

    Attributes:
        records: the records.
        request: a request with one term.
        squares: of each record.
        record: of each entry the number of its record.
        groups: of each entry its group.
        added: of each entry what it adds. None: 1.
    """

    records: TableRecords
    request: Request
    squares: Array = attrs.field(repr=False)
    record: Array = attrs.field(repr=False)
    groups: "_Groups" = attrs.field(repr=False)
    added: Array | None = attrs.field(repr=False)

    def among(self, active: Mask) -> Tabular:
        """A data set that answers this request from active records alone."""
        return Among(self.request, active, self._sums, self.records.step)

    def _sums(self, active: Mask) -> Array:
        [term], groups = self.request.terms, self.groups
        rows = active[self.record]
        sums = sums_among(groups.group, rows, self.added, term.largest, groups.count)
        there = np.flatnonzero(sums)
        placed = np.column_stack([groups.places(there), sums[there].astype(object)])
        return placed_sums(self.request, placed)


_FEW = 10**6


@attrs.frozen(eq=False)
class _Groups:
    """The groups of entries, as numbers.

    Attributes:
        group: of each entry the number of its group.
        count: how many numbers there are.
        sizes: of the dimensions that make up a number.
        labels: the places of each group, if groups were numbered as they occur.
    """

    group: Array
    count: int
    sizes: tuple[int, ...]
    labels: Array | None = None

    @classmethod
    def of(cls, request: Request, places: Sequence[Array], entries: int) -> "_Groups":
        """The groups of so many entries, at these places of each dimension."""
        sizes = tuple(part.size for part in request.parts)
        if not prod(sizes) < _FEW:
            labels, group = np.unique(np.column_stack(places), axis=0, return_inverse=True)
            return cls(group.reshape(-1), len(labels), sizes, labels)
        group = np.zeros(entries, dtype=np.int64)
        for size, place in zip(sizes, places, strict=True):
            group = group * size + place
        return cls(group, prod(sizes), sizes)

    def places(self, groups: Array) -> Array:
        """The indices of groups in each dimension."""
        if self.labels is not None:
            return self.labels[groups]
        if not self.sizes:
            return np.zeros((len(groups), 0), dtype=np.int64)
        return np.column_stack(np.unravel_index(groups, self.sizes))


def _of_rows(count: int, record: Array, added: Array | None) -> Array:
    """The square of what each record adds, if it has one entry at most."""
    squares = np.zeros(count, dtype=bool if added is None else added.dtype)
    squares[record] = True if added is None else added * added
    return squares


def _of_units(
    count: int, record: Array, groups: _Groups, added: Array | None, kind: "np.dtype[Any]"
) -> Array:
    """The sum over groups of the squares of what each record adds to them.

    Args:
        kind: of the squares.
    """
    if groups.count == 1:
        sums = sums_by_group(record, added, count).astype(kind)
        return np.asarray(sums * sums)
    places = record * groups.count + groups.group
    if added is None:
        places.sort()
    else:
        order = np.argsort(places)
        places, added = places[order], added[order]
    starts = np.flatnonzero(np.diff(places, prepend=-1))
    if added is None:
        sums = np.diff(starts, append=len(places)).astype(kind)
    else:
        sums = np.add.reduceat(added, starts) if len(starts) else added
    squares = np.zeros(count, dtype=kind)
    np.add.at(squares, places[starts] // groups.count, sums * sums)
    return squares

"""The public cells into which columns are cut, and questions as sets of cells. Reads no data.

Each column is cut into atoms: its public values or intervals, and one atom for all other rows, such
as those with a missing cell. So every row is in exactly one cell of every set of columns.
"""

from collections.abc import Iterable
from functools import reduce
from math import prod
from typing import Any

import attrs
import numpy as np

from mechanisms.frugal.asking import cells_of
from mechanisms.frugal.axes import MOST_ATOMS, Atom, AxisVersion, axis_of, key_of
from mechanisms.tables.expressions.predicates import And, Not, Or, Predicate
from mechanisms.tables.requests.keys import groups_of
from mechanisms.tables.requests.privacy_unit import PrivacyUnit
from mechanisms.tables.requests.request import Bins, Categories, Groups
from mechanisms.tables.statistics.counts import Count, Histogram
from mechanisms.tables.statistics.group_by import GroupBy
from queryable.data.cells import Array
from queryable.effort import take
from queryable.errors import QueryError
from queryable.wording.quoting import quoted

MOST_CELLS = 1 << 20
"""The largest number of cells of the columns of one question."""

MOST_COLUMNS = 200
"""The largest number of columns of a model."""

_CELLS_A_STEP = 500

Columns = tuple[int, ...]
"""Places of columns, in ascending order."""


@attrs.frozen
class Region:
    """Rows: those in some cells of some columns.

    Attributes:
        columns: the columns that it depends on.
        inside: for each cell of these columns whether its rows are in the region.
    """

    columns: Columns
    inside: Array


@attrs.frozen
class AskedRegions:
    """A count in one or several regions: those of the groups, within one region.

    Attributes:
        columns: of all regions together.
        within: the region that all entries are in.
        groups: for each dimension of the answer its columns, and for each of its groups and each
            cell of these columns, whether the cell is in the group.
        shape: of the answer; None for one count.
    """

    columns: Columns
    within: Region
    groups: tuple[tuple[Columns, Array], ...]
    shape: tuple[int, ...] | None

    def counted(self, marginal: Array, columns: Columns) -> Array:
        """The answer from the counts of the cells of some columns, which have all of its own."""
        letters = {each: place for place, each in enumerate(columns)}
        first = len(letters)
        operands: list[Any] = [marginal, list(letters.values())]
        operands += [self.within.inside.astype(float), [letters[c] for c in self.within.columns]]
        for place, (own, inside) in enumerate(self.groups):
            operands += [inside.astype(float), [first + place, *(letters[c] for c in own)]]
        ends = [first + place for place in range(len(self.groups))]
        return np.asarray(np.einsum(*operands, ends, optimize="greedy"))


@attrs.frozen(eq=False)
class Domain:
    """The columns in the order in which they were given, with their atoms."""

    axes: tuple[AxisVersion, ...]
    names: tuple[str, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of atoms of each column."""
        return tuple(len(axis.atoms) for axis in self.axes)

    def shape(self, columns: Iterable[int]) -> tuple[int, ...]:
        """The number of atoms of some columns."""
        return tuple(len(self.axes[each].atoms) for each in columns)

    def counts(self, columns: Columns, per: PrivacyUnit | None) -> GroupBy:
        """The statistic that counts the rows of each cell of some columns."""
        return GroupBy(tuple(self.axes[each].groups for each in columns), Count(per=per))

    def labels(self, column: int) -> list[Any]:
        """A value of each atom that satisfies the same predicates; None where there is none."""
        return [_label(self.axes[column], atom) for atom in self.axes[column].atoms]

    def asked(self, statistic: Any, per: PrivacyUnit | None) -> AskedRegions:
        """Read a question.

        Raises:
            QueryError: it is no count of rows of whole cells, or is about too many cells.
        """
        by: tuple[Groups, ...] = ()
        grouped, shape = statistic, None
        if type(statistic) is GroupBy:
            by, grouped, shape = statistic.by, statistic.statistic, statistic.shape
        if type(grouped) is Histogram:
            by, shape = (*by, grouped.groups), statistic.shape
        if type(grouped) not in (Count, Histogram):
            raise QueryError(
                "ask the model a Count or a Histogram, or a GroupBy of one, such as "
                f"Count(column('age') >= 65); not {type(statistic).__name__}"
            )
        if grouped.per != per:
            raise QueryError(
                "ask for counts of the privacy unit that the model is of: per is "
                f"{quoted(grouped.per)}; it should be {quoted(per)}"
            )
        within = self._selected(grouped.where)
        groups = tuple(map(self._grouped, by))
        every = {each for own, _ in groups for each in own} | set(within.columns)
        columns = tuple(sorted(every))
        cells = prod(self.shape(columns)) * prod(len(inside) for _, inside in groups)
        if not cells <= MOST_CELLS:
            raise QueryError(
                f"ask for fewer columns or groups: {cells} cells have to be added up, and "
                f"{MOST_CELLS} is the most"
            )
        return AskedRegions(columns, within, groups, shape)

    def _selected(self, where: Any) -> Region:
        if where is None:
            return Region((), np.ones((), dtype=bool))
        if not isinstance(where, Predicate):
            raise QueryError(
                "write where as a predicate, such as column('age') >= 65, not as a function"
            )
        return self.region(where)

    def _grouped(self, groups: Groups) -> tuple[Columns, Array]:
        regions = [self.region(reduce(And, cell)) for cell in cells_of(groups)]
        columns = tuple(sorted({each for region in regions for each in region.columns}))
        return columns, np.array([self._widened(region, columns) for region in regions])

    def region(self, where: Predicate) -> Region:
        """The cells whose rows satisfy a predicate.

        Raises:
            QueryError: it does not hold in whole cells of the columns.
        """
        key = key_of(where)
        for place, axis in enumerate(self.axes):
            if key == axis.key:
                if not axis.decides(where):
                    raise QueryError(
                        f"{quoted(where.text)} divides a group of {self.names[place]}: ask about "
                        "its public keys and the ends of its intervals"
                    )
                return Region((place,), np.array(axis.members([where])))
        match where:
            case Not(inner):
                region = self.region(inner)
                return Region(region.columns, ~region.inside)
            case And(left, right) | Or(left, right):
                one, other = self.region(left), self.region(right)
                columns = tuple(sorted({*one.columns, *other.columns}))
                wide, both = self._widened(one, columns), self._widened(other, columns)
                if not take(wide.size // _CELLS_A_STEP):
                    raise QueryError(
                        "ask about fewer columns, or with fewer conditions, in one message: these "
                        "take too long for a curator that others ask too"
                    )
                return Region(columns, wide & both if isinstance(where, And) else wide | both)
        raise QueryError(
            f"{quoted(where.text)} is about no column of the model; they are "
            f"{', '.join(self.names)}. Compare one with constants of its own type, by ==, <, <=, "
            ">, >= or is_in"
        )

    def _widened(self, region: Region, columns: Columns) -> Array:
        shape = self.shape(columns)
        if not prod(shape) <= MOST_CELLS:
            raise QueryError(
                f"ask for fewer columns at once: {prod(shape)} cells are more than {MOST_CELLS}"
            )
        own = [n if c in region.columns else 1 for c, n in zip(columns, shape, strict=True)]
        return np.broadcast_to(region.inside.reshape(own), shape)


def domain_of(groups: tuple[Groups, ...]) -> Domain:
    """The cells of public keys and intervals.

    Raises:
        TypeError, ValueError: they do not cut single columns, each once.
    """
    axes, names = [], []
    for each in groups:
        cells = list(cells_of(each))
        _require_few(len(cells), each.names[0])
        predicates = [predicate for cell in cells for predicate in cell]
        keys = {key_of(predicate) for predicate in predicates}
        if not isinstance(each, Categories | Bins) or len(keys) != 1 or None in keys:
            raise TypeError(
                f"columns: {', '.join(each.names)} should be one column, with keys of one type: "
                "numbers, texts, dates or times"
            )
        axis = axis_of(keys.pop() or ("", ""), None, predicates)
        _require_few(len(axis.atoms), each.names[0])
        axes.append(axis)
        names.append(each.names[0])
    if len(set(names)) < len(names):
        raise ValueError(f"columns are {quoted(tuple(names))}; name each once")
    return Domain(tuple(axes), tuple(names))


def _require_few(groups: int, name: str) -> None:
    if not groups <= MOST_ATOMS:
        raise ValueError(f"columns: {name} has {groups} groups; give at most {MOST_ATOMS}")


def columns_field(value: Any) -> tuple[Groups, ...]:
    """Check the columns of a model: public keys and intervals, as for a `GroupBy`.

    Raises:
        TypeError, ValueError: they are not.
    """
    groups = groups_of(value)
    if not len(groups) <= MOST_COLUMNS:
        raise ValueError(f"columns: {len(groups)} columns; give at most {MOST_COLUMNS}")
    domain_of(groups)
    return groups


def _label(axis: AxisVersion, atom: Atom) -> Any:
    if not atom.between:
        return dict(axis.values).get(atom.value)
    inner = atom.low is not None and atom.high is not None
    return dict(axis.places)[atom.low] if inner and atom.low else None

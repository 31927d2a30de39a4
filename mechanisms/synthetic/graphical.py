"""A graphical model: a law of rows that is a product of functions of few columns. Reads no data.

Counts and rows are computed by summing out one column after the other.
"""

from collections.abc import Sequence
from math import prod

import attrs
import numpy as np

from mechanisms.synthetic.domain import Columns
from mechanisms.synthetic.workload import elimination
from queryable.data.cells import Array
from queryable.randomness.coins import Coins
from queryable.randomness.laws import FairBits, Law

GRID = 1 << 6
"""Counts of a model are rounded to multiples of 1 / GRID."""
MOST_ROWS = 1 << 40
"""The largest number of rows of a model."""

Factor = tuple[Columns, Array]
"""Logarithms by cell of some columns."""


@attrs.frozen(eq=False)
class Inside:
    """Some columns among those of a clique.

    Attributes:
        clique: the place of the clique.
        shape: of a table of these columns, with 1 for each other column of the clique.
        others: the axes of the other columns.
    """

    clique: int
    shape: tuple[int, ...]
    others: tuple[int, ...]


@attrs.frozen(eq=False)
class Clique:
    """A table: of a column and its neighbours at the time when it is summed out.

    Attributes:
        column: that column.
        columns: all columns of the table.
        shape: of the table.
        axis: of the column.
        near: the neighbours inside the clique of that one of them which is summed out next; None
            if there are none.
    """

    column: int
    columns: Columns
    shape: tuple[int, ...]
    axis: int
    near: Inside | None


@attrs.frozen(eq=False)
class CliqueOrder:
    """The cliques of some sets of columns in the order in which columns are summed out."""

    cliques: tuple[Clique, ...]
    sets: tuple[Inside, ...]

    def laws(self, factors: Sequence[Array]) -> list[Array]:
        """For each clique the law of its column given the neighbours.

        Args:
            factors: of each set the logarithms; rows have the law of the product.
        """
        tables = [np.zeros(each.shape) for each in self.cliques]
        for own, logs in zip(self.sets, factors, strict=True):
            tables[own.clique] += logs.reshape(own.shape)
        for clique, table in zip(self.cliques, tables, strict=True):
            most = table.max(axis=clique.axis, keepdims=True)
            np.exp(np.subtract(table, most, out=table), out=table)
            total = table.sum(axis=clique.axis, keepdims=True)
            np.divide(table, total, out=table)
            if clique.near is not None:
                tables[clique.near.clique] += (np.log(total) + most).reshape(clique.near.shape)
        return tables

    def shares(self, factors: Sequence[Array]) -> list[Array]:
        """For each set the law of its columns."""
        tables = self.laws(factors)
        for clique, table in zip(reversed(self.cliques), reversed(tables), strict=True):
            if clique.near is not None:
                near = tables[clique.near.clique].sum(axis=clique.near.others)
                np.multiply(table, np.expand_dims(near, clique.axis), out=table)
        return [tables[own.clique].sum(axis=own.others) for own in self.sets]


def tree_of(sets: Sequence[Columns], sizes: tuple[int, ...]) -> CliqueOrder:
    """The tree of sets of columns; its tables have `cells_of_model` cells."""
    steps = elimination(sets, sizes)
    places = {column: place for place, (column, _) in enumerate(steps)}
    every = [tuple(sorted((column, *near))) for column, near in steps]

    def inside(columns: Columns) -> Inside:
        # the first of them that is summed out has all others as neighbours
        clique = min((places[each] for each in columns), default=0)
        shape = tuple(sizes[each] if each in columns else 1 for each in every[clique])
        others = (axis for axis, each in enumerate(every[clique]) if each not in columns)
        return Inside(clique, shape, tuple(others))

    cliques = (
        Clique(
            column=column,
            columns=columns,
            shape=tuple(sizes[each] for each in columns),
            axis=columns.index(column),
            near=inside(near) if near else None,
        )
        for (column, near), columns in zip(steps, every, strict=True)
    )
    return CliqueOrder(tuple(cliques), tuple(map(inside, sets)))


@attrs.frozen(eq=False)
class Model:
    """A model of the rows.

    Attributes:
        sizes: the number of atoms of each column.
        factors: the law is the product of their exponentials, up to a constant.
        total: the number of rows.
    """

    sizes: tuple[int, ...]
    factors: tuple[Factor, ...]
    total: float

    def marginal(self, columns: Columns) -> Array:
        """The expected number of rows in each cell of some columns, on the grid.

        It needs tables of `cells_of_model` of these columns and those of the factors.
        """
        own = (columns, np.zeros([self.sizes[each] for each in columns]))
        sets, factors = zip(*self.factors, own, strict=True)
        counts: Array = np.rint(tree_of(sets, self.sizes).shares(factors)[-1] * self.total * GRID)
        return counts / GRID

    def sampled(self, rows: int, coins: Coins) -> Array:
        """Rows as atoms' places, shape (rows, columns).

        Each column is drawn given those that it depends on. Rows that are alike in these get its
        values as evenly as possible, in random order.
        """
        sets, factors = zip(*self.factors, strict=True)
        tree = tree_of(sets, self.sizes)
        laws = tree.laws(factors)
        drawn = np.zeros((rows, len(self.sizes)), dtype=np.int64)
        bits = coins.draw(Uniform48(), (len(laws), 2, rows))
        for clique, law, (order, fine) in zip(
            reversed(tree.cliques), reversed(laws), bits, strict=True
        ):
            shares = np.moveaxis(law, clique.axis, -1).reshape(-1, clique.shape[clique.axis])
            parents = np.zeros(rows, dtype=np.int64)
            for each in clique.columns:
                if each != clique.column:
                    parents = parents * self.sizes[each] + drawn[:, each]
            drawn[:, clique.column] = _evenly(shares, parents, order, fine)
        return drawn


def _evenly(shares: Array, parents: Array, order: Array, fine: Array) -> Array:
    """A value for each row, by the shares of its parents' cell; `order`, `fine` are uniform."""
    counts = np.bincount(parents, minlength=len(shares))
    places = np.lexsort((order, parents))
    ranks = np.empty(len(parents), dtype=np.int64)
    ranks[places] = np.arange(len(parents)) - np.repeat(np.cumsum(counts) - counts, counts)
    levels = (ranks + fine / float(Uniform48.BOUND)) / counts[parents]
    ends = np.cumsum(shares, axis=1)
    ends /= ends[:, -1:]
    found = np.zeros(len(parents), dtype=np.int64)
    for value in range(shares.shape[1] - 1):  # the last end is 1
        found += levels >= ends[parents, value]
    return found


@attrs.frozen
class Uniform48(Law[int]):
    """Uniform on the integers below 2**48, many at once."""

    BOUND = 1 << 48

    def sample(self, source: FairBits) -> int:
        """One draw."""
        return source.bits(48)

    def sample_many(self, source: FairBits, count: int) -> Array:
        """Independent draws."""
        drawn: Array = np.frombuffer(source.bytes(8 * count), dtype="<u8")
        return np.asarray(drawn // 2**16, dtype=np.int64)


def uniform(sizes: tuple[int, ...], total: float) -> Model:
    """The model that knows only the number of rows."""
    return Model(sizes, tuple(((c,), np.zeros(n)) for c, n in enumerate(sizes)), total)


def on_grid(marginal: Array) -> Array:
    """Counts of a model as integers, in units of 1 / GRID."""
    return np.asarray(np.rint(marginal * GRID), dtype=np.int64)


def size_of(columns: Columns, sizes: tuple[int, ...]) -> int:
    """The number of cells of some columns."""
    return prod(sizes[each] for each in columns)

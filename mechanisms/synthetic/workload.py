"""Which marginals may be measured, and how much each matters. Reads no data.

The candidates are all sets of columns that are in a set of the workload, as in McKenna et al. 2022.
A candidate weighs the number of columns that it has in common with each set, times its weight.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from math import prod
from typing import Any

import attrs

from mechanisms.synthetic.domain import Columns
from queryable.losses.numbers import at_least_one
from queryable.wording.quoting import quoted

MOST_CANDIDATES = 10_000
_HEAVIEST = 1_000

Workload = tuple[tuple[tuple[str, ...], int], ...]
"""Sets of names of columns, with a weight each."""


@attrs.frozen
class CandidateMarginal:
    """A marginal that may be measured."""

    columns: Columns
    weight: int


def workload_field(value: Any) -> Workload | None:
    """Check a workload: sets of columns, or weights by set.

    Raises:
        TypeError, ValueError: it is neither.
    """
    if value is None:
        return None
    if isinstance(value, tuple) and all(_is_weighted(each) for each in value):
        value = dict(value)
    weighted = value if isinstance(value, Mapping) else dict.fromkeys(_listed(value), 1)
    found: dict[tuple[str, ...], int] = {}
    for names, weight in weighted.items():
        each = tuple(_listed(names))
        if (
            not each
            or any(not isinstance(name, str) for name in each)
            or len(set(each)) < len(each)
        ):
            raise TypeError(
                f"workload has {quoted(names)}; it should be different names of columns, such as "
                '("age", "sex")'
            )
        found[each] = at_least_one(weight, "a weight in workload", _HEAVIEST)
    if not found:
        raise ValueError("workload is empty; leave it out for all pairs of columns")
    return tuple(found.items())


def _is_weighted(each: Any) -> bool:
    return isinstance(each, tuple) and len(each) == 2 and isinstance(each[0], tuple)


def _listed(value: Any) -> tuple[Any, ...]:
    if not isinstance(value, tuple | list):
        raise TypeError(
            f"workload has {quoted(value)}; it should be a list of sets of columns, such as "
            '[("age", "sex"), ("age", "state")], or a dict with their weights'
        )
    return tuple(tuple(each) if isinstance(each, list) else each for each in value)


def candidates_of(
    workload: Workload | None, names: tuple[str, ...]
) -> tuple[CandidateMarginal, ...]:
    """The candidates, in an order that depends on the workload and the columns alone.

    Raises:
        ValueError: there are too many, or a name is none of the columns.
    """
    everything = range(len(names))
    pairs = combinations(everything, min(2, len(names)))
    sets = [(frozenset(each), 1) for each in pairs] if workload is None else []
    for given, weight in workload or ():
        unknown = set(given) - set(names)
        if unknown:
            raise ValueError(
                f"workload names {quoted(min(unknown))}; the columns are {', '.join(names)}"
            )
        sets.append((frozenset(map(names.index, given)), weight))
    found: dict[Columns, None] = {}
    for columns, _ in sets:
        for each in _subsets(columns):
            found[each] = None
            if not len(found) <= MOST_CANDIDATES:
                raise ValueError(
                    "give smaller sets of columns in workload: they have more than "
                    f"{MOST_CANDIDATES} subsets"
                )
    weights = [0] * len(names)  # of a set: how many columns of the workload's sets are in it
    for columns, weight in sets:
        for column in columns:
            weights[column] += weight
    return tuple(
        CandidateMarginal(each, sum(weights[column] for column in each))
        for each in sorted(found, key=lambda each: (len(each), each))
    )


def _subsets(columns: Iterable[int]) -> Iterator[Columns]:
    every = sorted(columns)
    for size in range(1, len(every) + 1):
        yield from combinations(every, size)


def elimination(sets: Iterable[Columns], sizes: tuple[int, ...]) -> list[tuple[int, Columns]]:
    """The columns in the order in which they are summed out, each with its neighbours then.

    The next one is that of the smallest table, the first of equals.
    """
    near: list[set[int]] = [set() for _ in sizes]
    for each in sets:
        for column in each:
            near[column].update(each)
    for column, others in enumerate(near):
        others.discard(column)
    cells = {column: _cells(column, near, sizes) for column in range(len(sizes))}
    found = []
    while cells:
        following = min(cells, key=cells.__getitem__)
        del cells[following]
        neighbours = near[following]
        found.append((following, tuple(sorted(neighbours))))
        for column in neighbours:
            near[column] |= neighbours
            near[column] -= {column, following}
            cells[column] = _cells(column, near, sizes)
    return found


def _cells(column: int, near: list[set[int]], sizes: tuple[int, ...]) -> int:
    return sizes[column] * prod(sizes[each] for each in near[column])


def cells_of_model(sets: Iterable[Columns], sizes: tuple[int, ...]) -> int:
    """The number of cells of the tables in which a model of some marginals is computed."""
    return sum(
        prod(sizes[c] for c in (column, *neighbours))
        for column, neighbours in elimination(sets, sizes)
    )

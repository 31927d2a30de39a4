"""The children of one node of a tree, most of which are made when they are read.

A million launches of measurements in one filter take no more memory and time in a tree than one: a
`Run` stores only how many there are and how to make each.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Generic, TypeVar, overload

import attrs

N = TypeVar("N")


@attrs.frozen(eq=False)
class Run(Generic[N]):
    """Measurements that were launched one after another and have answered.

    Args:
        places: one index for each node.
        make: returns the node at an index.
        kind: returns the kind of the node at an index. Nodes of one kind run equal mechanisms.
    """

    places: range
    make: Callable[[int], N]
    kind: Callable[[int], object]

    def __len__(self) -> int:
        return len(self.places)


class Siblings(Sequence[N]):
    """A sequence of nodes in the order of their launches."""

    def __init__(self, pieces: "Iterable[N | Run[N]]" = ()) -> None:
        self._pieces: list[N | Run[N]] = []
        self._ends: list[int] = []
        for piece in pieces:
            self.append(piece)

    def append(self, piece: "N | Run[N]") -> None:
        """Add a node or a run."""
        self._ends.append(len(self) + (len(piece) if isinstance(piece, Run) else 1))
        self._pieces.append(piece)

    def made(self) -> Iterator[N]:
        """Return the nodes outside runs: those that take queries, and those that failed."""
        return (piece for piece in self._pieces if not isinstance(piece, Run))

    def pieces(self) -> "Iterator[N | Run[N]]":
        """Return nodes and runs, in order."""
        return iter(self._pieces)

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    @overload
    def __getitem__(self, index: int) -> N: ...
    @overload
    def __getitem__(self, index: slice) -> "Siblings[N]": ...
    def __getitem__(self, index: int | slice) -> "N | Siblings[N]":
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step != 1:
                raise ValueError("slice siblings with a step of 1")
            return self._between(start, stop)
        place = range(len(self))[index]
        at = bisect_right(self._ends, place)
        piece = self._pieces[at]
        if not isinstance(piece, Run):
            return piece
        return piece.make(piece.places[place - self._ends[at]])  # counts from its end

    def _between(self, start: int, stop: int) -> "Siblings[N]":
        """The nodes from one place to another; only runs at the two ends are cut."""
        found = Siblings[N]()
        if not start < stop:
            return found
        first, last = bisect_right(self._ends, start), bisect_left(self._ends, stop)
        found._pieces = self._pieces[first : last + 1]
        found._ends = [end - start for end in self._ends[first:last]] + [stop - start]
        for at in {first, last}:
            piece = self._pieces[at]
            if isinstance(piece, Run):
                begin = self._ends[at] - len(piece)
                places = piece.places[max(start - begin, 0) : stop - begin]
                found._pieces[at - first] = Run(places, piece.make, piece.kind)
        return found

    def __iter__(self) -> Iterator[N]:
        for piece in self._pieces:
            if isinstance(piece, Run):
                yield from map(piece.make, piece.places)
            else:
                yield piece


def counted(nodes: Siblings[N]) -> Iterator[tuple[N, int]]:
    """Return nodes with counts: 1 for a node outside runs; one node for each kind in a run."""
    for piece in nodes.pieces():
        if not isinstance(piece, Run):
            yield piece, 1
            continue
        for _, alike in groupby(piece.places, piece.kind):
            first, *others = alike
            yield piece.make(first), 1 + len(others)


def tallied(nodes: "Iterable[N]", status: Callable[[N], str], answered: str) -> Counter[str]:
    """Count nodes by status. Nodes of runs count as `answered` and are not made."""
    counts: Counter[str] = Counter()
    in_runs = 0
    for piece in nodes.pieces() if isinstance(nodes, Siblings) else nodes:
        if not isinstance(piece, Run):
            counts[status(piece)] += 1
            continue
        if not in_runs:
            counts[answered] += 0  # counts are in the order in which they first occur
        in_runs += len(piece.places)
    if in_runs:
        counts[answered] += in_runs
    return counts

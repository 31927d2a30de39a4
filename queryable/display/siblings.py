"""The children of one node of a tree, most of them made when they are looked at.

Responsible for a million launches of measurements in one filter taking no more room and time in a
tree than one. Knows no log: a run says how many there are and makes each.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Generic, TypeVar, overload

import attrs

N = TypeVar("N")


@attrs.frozen(eq=False)
class Run(Generic[N]):
    """Measurements that were launched one after another; all have answered.

    Args:
        places: what `make` and `kind` take, one a node.
        kind: nodes of one kind run equal mechanisms; kinds compare by identity.
    """

    places: range
    make: Callable[[int], N]
    kind: Callable[[int], object]

    def __len__(self) -> int:
        return len(self.places)


class Siblings(Sequence[N]):
    """Nodes in the order of their launches."""

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
        """The nodes that are in no run: those that can be asked, and those that failed."""
        return (piece for piece in self._pieces if not isinstance(piece, Run))

    def pieces(self) -> "Iterator[N | Run[N]]":
        """Nodes and runs, in order."""
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
                raise ValueError("siblings are cut without a step")
            return Siblings(self._cut(start, stop))
        place = range(len(self))[index]
        at = bisect_right(self._ends, place)
        piece = self._pieces[at]
        if not isinstance(piece, Run):
            return piece
        return piece.make(piece.places[place - self._ends[at]])  # counted from its end

    def _cut(self, start: int, stop: int) -> "Iterator[N | Run[N]]":
        at = bisect_right(self._ends, start)
        while start < stop:
            piece, end = self._pieces[at], self._ends[at]
            if isinstance(piece, Run):
                begin = end - len(piece)
                upto = min(stop, end)
                yield Run(piece.places[start - begin : upto - begin], piece.make, piece.kind)
            else:
                yield piece
            start, at = end, at + 1

    def __iter__(self) -> Iterator[N]:
        for piece in self._pieces:
            if isinstance(piece, Run):
                yield from map(piece.make, piece.places)
            else:
                yield piece


def counted(nodes: Siblings[N]) -> Iterator[tuple[N, int]]:
    """The nodes, each with how many there are like it; of those in a run one a kind."""
    for piece in nodes.pieces():
        if not isinstance(piece, Run):
            yield piece, 1
            continue
        for _, alike in groupby(piece.places, piece.kind):
            first, *others = alike
            yield piece.make(first), 1 + len(others)


def tallied(nodes: "Iterable[N]", status: Callable[[N], str], answered: str) -> Counter[str]:
    """How many nodes have which status; those of runs have answered, and are not made for it."""
    counts: Counter[str] = Counter()
    for piece in nodes.pieces() if isinstance(nodes, Siblings) else nodes:
        if isinstance(piece, Run):
            counts[answered] += len(piece)
        else:
            counts[status(piece)] += 1
    return counts

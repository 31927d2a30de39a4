"""The children of one node of a tree, most of which are made when they are read.

A hundred thousand launches in one filter take no more time in a tree than a few: a `SiblingRun`
stores only where they are and how to make each. Displays count most of them, and make the first and
last.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Generic, Protocol, TypeVar, overload

import attrs

N = TypeVar("N")


class Source(Protocol[N]):
    """What nodes are made from, each of which has a place.

    Attributes:
        nodes: those that are made, and that later launches or answers have changed.
    """

    nodes: dict[int, N]

    def make(self, place: int) -> N:
        """The node at a place, which is in none of `nodes`."""

    def takers(self, places: Sequence[int]) -> Iterable[int]:
        """The places of the nodes that take queries."""

    def kinds(self, places: Sequence[int]) -> Iterable[tuple[N, int]]:
        """A node of each kind, and how many there are; those of one kind run equal mechanisms."""

    def statuses(self, places: Sequence[int]) -> Counter[str]:
        """How many nodes of each status there are, in the order in which they first occur."""


@attrs.frozen(eq=False)
class SiblingRun(Generic[N]):
    """Mechanisms that were launched one after another.

    Args:
        places: where they are, in ascending order.
        source: makes their nodes.
    """

    places: Sequence[int]
    source: Source[N]

    def __len__(self) -> int:
        return len(self.places)

    def at(self, place: int) -> N:
        """The node at a place."""
        made = self.source.nodes.get(place)
        return self.source.make(place) if made is None else made

    def made(self) -> Iterator[N]:
        """Those of its nodes that are made already."""
        made = self.source.nodes
        if made and len(self.places):
            first, last = self.places[0], self.places[-1]
            return (node for place, node in made.items() if first <= place <= last)
        return iter(())


class Siblings(Sequence[N]):
    """A sequence of nodes in the order of their launches."""

    def __init__(self, pieces: "Iterable[N | SiblingRun[N]]" = ()) -> None:
        self._pieces: list[N | SiblingRun[N]] = []
        self._ends: list[int] = []
        for piece in pieces:
            self.append(piece)

    def append(self, piece: "N | SiblingRun[N]") -> None:
        """Add a node or a run."""
        self._ends.append(len(self) + (len(piece) if isinstance(piece, SiblingRun) else 1))
        self._pieces.append(piece)

    def grown(self) -> None:
        """Count the last run again, which has got further places."""
        last = self._pieces[-1]
        assert isinstance(last, SiblingRun)
        self._ends[-1] = len(last) + (self._ends[-2] if len(self._ends) > 1 else 0)

    def made(self) -> Iterator[N]:
        """Return the nodes that are made: those outside runs, and those that were changed."""
        for piece in self._pieces:
            if isinstance(piece, SiblingRun):
                yield from piece.made()
            else:
                yield piece

    def takers(self) -> Iterator[N]:
        """Return the nodes outside runs, and those in runs that take queries."""
        for piece in self._pieces:
            if isinstance(piece, SiblingRun):
                yield from map(piece.at, piece.source.takers(piece.places))
            else:
                yield piece

    def pieces(self) -> "Iterator[N | SiblingRun[N]]":
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
        if not isinstance(piece, SiblingRun):
            return piece
        return piece.at(piece.places[place - self._ends[at]])  # counts from its end

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
            if isinstance(piece, SiblingRun):
                begin = self._ends[at] - len(piece)
                places = piece.places[max(start - begin, 0) : stop - begin]
                found._pieces[at - first] = SiblingRun(places, piece.source)
        return found

    def __iter__(self) -> Iterator[N]:
        for piece in self._pieces:
            if isinstance(piece, SiblingRun):
                yield from map(piece.at, piece.places)
            else:
                yield piece


def counted(nodes: Siblings[N]) -> Iterator[tuple[N, int]]:
    """Return nodes with counts: 1 for a node outside runs; one node for each kind in a run."""
    for piece in nodes.pieces():
        if isinstance(piece, SiblingRun):
            yield from piece.source.kinds(piece.places)
        else:
            yield piece, 1


def tallied(nodes: "Iterable[N]", status: Callable[[N], str]) -> Counter[str]:
    """Count nodes by status, in the order in which these first occur."""
    counts: Counter[str] = Counter()
    for piece in nodes.pieces() if isinstance(nodes, Siblings) else nodes:
        if isinstance(piece, SiblingRun):
            counts.update(piece.source.statuses(piece.places))
        else:
            counts[status(piece)] += 1
    return counts

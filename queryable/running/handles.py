"""The handles of one tree by path, held weakly.

Responsible for two promises at once: a child has one handle as long as somebody holds it, and a
tree whose handles are all dropped frees its data at that moment. Handles refer to the root, so the
root must not refer to handles. It keeps what a handle is made of, the child's opening answer, and
makes the handle again when it is asked for.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

from queryable.messages import Answer
from queryable.randomness.coins import ChildId

Path = tuple[ChildId, ...]
H = TypeVar("H")


class Handles(Generic[H]):
    """What is known of the children of one tree."""

    def __init__(self) -> None:
        self._openings: dict[Path, dict[ChildId, Answer]] = {}
        self._alive: WeakValueDictionary[Path, H] = WeakValueDictionary()

    def find(self, path: Path, opening: Answer) -> H | None:
        """The handle that somebody holds of the child at `path` with this very opening."""
        known = self.openings(path[:-1])
        if path[-1] in known and known[path[-1]] is opening:
            return self._alive.get(path)
        return None

    def add(self, path: Path, opening: Answer, handle: H) -> None:
        """Note a child, and its handle for as long as somebody holds it."""
        self._openings.setdefault(path[:-1], {})[path[-1]] = opening
        self._alive[path] = handle

    def openings(self, path: Path) -> Mapping[ChildId, Answer]:
        """The children at a path by id, and how they opened."""
        return self._openings.get(path, {})


class Children(Mapping[ChildId, H]):
    """The children of one handle by id; a handle is looked up or made when it is read."""

    def __init__(
        self, openings: Mapping[ChildId, Answer], handle: Callable[[ChildId, Answer], H]
    ) -> None:
        self._openings = openings
        self._handle = handle

    def __getitem__(self, child: ChildId) -> H:
        return self._handle(child, self._openings[child])

    def __iter__(self) -> Iterator[ChildId]:
        return iter(tuple(self._openings))

    def __len__(self) -> int:
        return len(self._openings)

    def __repr__(self) -> str:
        return repr(dict(self))

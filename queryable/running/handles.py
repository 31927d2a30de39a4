"""The handles of one tree by path, held weakly.

Responsible for two properties. A child has one handle for as long as a caller holds it, and the
data are freed as soon as a caller holds no handle of the tree. Handles refer to the root, so the
root holds only weak references to handles. It keeps each child's opening answer, from which the
handle is made again on request.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

from queryable.messages import Answer, Launched
from queryable.randomness.coins import ChildId
from queryable.wording.quoting import quoted

Path = tuple[ChildId, ...]
H = TypeVar("H")


class Handles(Generic[H]):
    """The opening answers of the children of one tree, and their handles in use."""

    def __init__(self) -> None:
        self._openings: dict[Path, dict[ChildId, Answer]] = {}
        self._alive: WeakValueDictionary[Path, H] = WeakValueDictionary()

    def find(self, path: Path, opening: Answer) -> H | None:
        """The handle in use of the child at `path`, if it has this very opening object."""
        known = self._openings.get(path[:-1], {})
        if path[-1] in known and known[path[-1]] is opening:
            return self._alive.get(path)
        return None

    def add(self, path: Path, opening: Answer, handle: H) -> None:
        """Add a child, and its handle for as long as a caller holds it."""
        self._openings.setdefault(path[:-1], {})[path[-1]] = opening
        self._alive[path] = handle

    def register(self, path: Path, answer: Answer) -> None:
        """Add the children that an answer launched, with no handle, such as after a restart."""
        if isinstance(answer, tuple):
            for each in answer:
                if isinstance(each, Launched):
                    self.register(path, each)
        elif isinstance(answer, Launched) and answer.child is not None:
            self._openings.setdefault(path, {})[answer.child] = answer.answer
            self.register((*path, answer.child), answer.answer)

    def openings(self, path: Path) -> Mapping[ChildId, Answer]:
        """The opening answers of the children at a path, by id."""
        return self._openings.get(path, {})


class Children(Mapping[ChildId, H]):
    """The children of one handle by id; a child's handle is found or made when it is read."""

    def __init__(
        self, openings: Mapping[ChildId, Answer], handle: Callable[[ChildId, Answer], H]
    ) -> None:
        self._openings = openings
        self._handle = handle

    def __getitem__(self, child: ChildId) -> H:
        if not isinstance(child, int | str) or child not in self._openings:
            known = ", ".join(map(repr, [*self._openings][:5])) or "there are none yet"
            raise KeyError(f"there is no child {quoted(child)}; children by id: {known}")
        return self._handle(child, self._openings[child])

    def __iter__(self) -> Iterator[ChildId]:
        return iter(tuple(self._openings))

    def __len__(self) -> int:
        return len(self._openings)

    def __repr__(self) -> str:
        return repr(dict(self))

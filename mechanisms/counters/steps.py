"""A sequence that only grows, as a value: states that follow from each other share one list."""

from collections.abc import Iterable, Iterator
from typing import Any, Self, final


@final
class Steps:
    """The first `count` entries of a list that may go on. It never changes."""

    __slots__ = ("_entries", "count")

    def __init__(self, entries: Iterable[Any] = ()) -> None:
        self._entries = list(entries)
        self.count = len(self._entries)

    def after(self, entry: Any) -> "Steps":
        """The sequence with one more entry."""
        entries, count = self._entries, self.count
        if len(entries) == count:
            entries.append(entry)
        if len(entries) <= count or entries[count] is not entry:  # another one went on from here
            entries = [*entries[:count], entry]
        return self._first(entries, count + 1)

    @classmethod
    def _first(cls, entries: list[Any], count: int) -> Self:
        steps = cls.__new__(cls)
        steps._entries, steps.count = entries, count
        return steps

    def part(self, start: int, end: int) -> list[Any]:
        """The entries from `start` up to, but without, `end`, which is at most `count`."""
        return self._entries[start : min(end, self.count)]

    def tolist(self) -> list[Any]:
        """The entries, arrays as lists."""
        return [each.tolist() if hasattr(each, "tolist") else each for each in self]

    def __getitem__(self, place: int) -> Any:
        """One entry, counted from 0."""
        return self._entries[range(self.count)[place]]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._entries[: self.count])

    def __len__(self) -> int:
        return self.count

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Steps) and self.tolist() == other.tolist()

    def __hash__(self) -> int:
        try:
            return hash(tuple(self))
        except TypeError:  # arrays have no hash
            return hash(("Steps", self.count))

    def __repr__(self) -> str:
        return "Steps(..)"

    def __reduce__(self) -> tuple[Any, ...]:
        return Steps, (self._entries[: self.count],)

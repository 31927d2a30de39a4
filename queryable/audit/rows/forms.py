"""`Form`: one form of data, as a sequence of records that can be left out and added.

Knows no library and no choice of records. A form keeps the class, the columns and the types of the
data that it was made of, and never changes them.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, TypeAlias

import attrs

from queryable.data.keys import key_of

Name: TypeAlias = Hashable
"""The name of a column; None for the cells of a list or an array without columns."""


@attrs.frozen
class AddedRecord:
    """A record that is added: a copy of another one with some other cells.

    Args:
        base: the place of the record that is copied; None if there is none.
        cells: the other cells by column; of a record that copies none, all cells.
        place: before which of the records that stay it is put; None for behind all.
    """

    base: int | None
    cells: Mapping[Name, Any] = attrs.field(factory=dict)
    place: int | None = None

    @property
    def key(self) -> Hashable:
        """The same for records that are equal, wherever they are put."""
        cells = ((name, type(cell), str(cell)) for name, cell in self.cells.items())
        return self.base, tuple(cells)


def repeated(added: Sequence[AddedRecord]) -> list[tuple[AddedRecord, int]]:
    """The different records, each with how often it is added."""
    times = Counter(each.key for each in added)
    return [(each, times[each.key]) for each in {each.key: each for each in added}.values()]


class Form(ABC):
    """The records of a data set.

    Attributes:
        count: how many there are.
        names: the columns whose cells can be replaced.
        unit: the column of the privacy unit that the data set itself states; None if there is none.
        heavy: more records than a unit counts with; None if nothing bounds them.
        most: how many neighbours are made of it, if each takes long; further ones are made of
            `quicker`.
    """

    count: int
    names: tuple[Name, ...]
    unit: Name | None = None
    heavy: int | None = None
    most: int | None = None

    def values(self, name: Name) -> Sequence[Any]:
        """The cells of a column as Python values; a column is read once."""
        read: dict[Name, Sequence[Any]] = self.__dict__.setdefault("_read", {})
        if name not in read:
            read[name] = self.read(name)
        return read[name]

    @abstractmethod
    def read(self, name: Name) -> Sequence[Any]:
        """The cells of a column as Python values, with None for a missing one."""

    @abstractmethod
    def admits(self, name: Name, cell: Any) -> bool:
        """Whether a column can hold this cell as it is, without another type."""

    @abstractmethod
    def edited(self, removed: Sequence[int], added: Sequence[AddedRecord]) -> Any:
        """The data set without some of its records and with others, in the same form."""

    def quicker(self) -> "Form":
        """Another form of the same records, of which neighbours take less long."""
        return self

    def discard(self, data: Any) -> None:  # noqa: B027 (most leave nothing behind)
        """Delete what `edited` has written for this result, if it is a file."""


class InMemory(Form):
    """Records in memory: parts of them can be taken, made and joined."""

    data: Any

    @abstractmethod
    def taken(self, data: Any, places: Sequence[int]) -> Any:
        """The records at these places, in the same form."""

    @abstractmethod
    def made(self, added: AddedRecord) -> Any:
        """One record, as a data set of the same form."""

    @abstractmethod
    def joined(self, parts: Sequence[Any]) -> Any:
        """The records of several data sets of the same form, which is not empty."""

    def edited(self, removed: Sequence[int], added: Sequence[AddedRecord]) -> Any:
        """The data set without some of its records and with others."""
        left_out = set(removed)
        kept = [place for place in range(self.count) if place not in left_out]
        data = self.taken(self.data, kept)
        if not added:
            return data
        data = self.joined([data, *map(self.made, added)])
        if all(each.place is None for each in added):
            return data
        order = list(range(len(kept)))
        for number, each in enumerate(added, start=len(kept)):
            order.insert(len(order) if each.place is None else each.place, number)
        return self.taken(data, order)


def same_cell(one: Any, other: Any) -> bool:
    """Whether two cells are equal, or both missing. Never runs code of a cell's own class."""
    keys = key_of(one), key_of(other)
    return keys[0] == keys[1] and (keys[0] is not None or is_missing(one) == is_missing(other))


def is_missing(cell: Any) -> bool:
    """Whether a cell is None, NaN or a library's own missing value."""
    if cell is None:
        return True
    kind = type(cell).__name__
    if kind in ("NAType", "NaTType", "MaskedConstant"):
        return True
    if kind in ("float", "float16", "float32", "float64", "longdouble", "Decimal"):
        return bool(cell != cell)  # noqa: PLR0124 (NaN)
    return kind in ("datetime64", "timedelta64") and str(cell) == "NaT"

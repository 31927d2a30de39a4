"""Which records are left out and added: first where claims tend to break, then at random.

A `Change` is one unit that is removed or added: a record, or all records of a privacy unit. Reasons
take turns, so that a few changes already have several reasons. Knows no form of data.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count, cycle, islice
from typing import Any

import attrs

from queryable.audit.rows.extremes import EXTREMES, around, told_apart
from queryable.audit.rows.forms import AddedRecord, Form, Name, is_missing
from queryable.audit.rows.units import heaviest, new_units, owners, units_of
from queryable.data.keys import Key, key_of
from queryable.randomness.coins import Coins
from queryable.randomness.laws import UniformBelow

_MOST_ADDED = 1000
_MOST_DIFFERENT = 20
"""How many different records a unit has that is added."""


@attrs.frozen
class Change:
    """A unit that is removed, or one that is added.

    Args:
        removed: the places of its records.
        added: its records.
        name: of a privacy unit that is added.
    """

    reason: str
    removed: tuple[int, ...] = ()
    added: tuple[AddedRecord, ...] = ()
    name: Key | None = None

    def collides(self, other: "Change") -> bool:
        """Whether both are about one unit, so that together they are no two changes."""
        if self.removed and self.removed == other.removed:
            return True
        return self.name is not None and self.name == other.name


@attrs.frozen
class Looked:
    """What the choice looks at.

    Args:
        unit: the column of the privacy unit; None if each record is one.
        columns: those whose cells are changed.
        constants: bounds and other constants of the analysis, whose neighbourhood is tried.
        elsewhere: cells of units that have records in other data; these are left alone.
    """

    form: Form
    unit: Name | None
    columns: Sequence[Name]
    constants: Sequence[Any]
    elsewhere: Sequence[Any] = ()


def changes(looked: Looked, coins: Coins) -> Iterator[Change]:
    """Changes without end, the promising ones first; none if nothing can be changed."""
    chosen = _Chosen(looked, coins)
    yield from _in_turns(chosen.themes())
    while chosen.may_change:
        yield from chosen.removed_at_random()
        yield from chosen.added_at_random()


class _Chosen:
    """The choice."""

    def __init__(self, looked: Looked, coins: Coins) -> None:
        form, unit, elsewhere = looked.form, looked.unit, looked.elsewhere
        self.form, self.unit, self._coins = form, unit, coins
        self.units = units_of(form, unit, elsewhere)
        self.owner = owners(self.units)
        self._names = [] if unit is None else list(islice(new_units(form, unit, elsewhere), 32))
        self._turn = count()
        self.columns = [name for name in looked.columns if unit is None or name != unit]
        constants = told_apart(around(looked.constants))
        self.constants = {name: self._admitted(name, constants) for name in self.columns}
        self.extremes = {name: self._admitted(name, EXTREMES) for name in self.columns}
        bound = 2 * form.heavy if form.heavy is not None else heaviest(self.units)
        self.many = min(bound + 1, _MOST_ADDED)

    @property
    def may_change(self) -> bool:
        """Whether there is anything to remove or to add."""
        can_add = any(self.extremes.values()) and (self.unit is None or bool(self._names))
        return bool(self.units) or can_add

    def _admitted(self, name: Name, cells: Sequence[Any]) -> list[Any]:
        return told_apart(cell for cell in cells if self.form.admits(name, cell))

    def below(self, number: int) -> int:
        """A random number below another."""
        return int(self._coins.draw(UniformBelow(number)))

    def themes(self) -> list[Iterator[Change]]:
        """Groups of changes, each for its own reasons."""
        found = [self._ends(), self._weights()]
        for name in self.columns:
            where = "" if name is None else f" {name}"
            found.append(self._removed_by(name, where))
            found.append(
                self._added_cells(name, self.constants[name], f"a record at a constant:{where} ")
            )
            found.append(
                self._added_cells(
                    name, self.extremes[name], f"a record with an extreme cell:{where} "
                )
            )
        return [*found, self._copies(), self._all_cells()]

    def removed(self, number: int, reason: str) -> Change:
        """A unit is removed."""
        return Change(f"without {reason}", removed=tuple(self.units[number]))

    def removed_with(self, place: int, reason: str) -> Iterator[Change]:
        """A record is removed, with its unit if there is a privacy unit."""
        if place in self.owner:
            whose = "" if self.unit is None else "the unit of "
            yield self.removed(self.owner[place], f"{whose}{reason}")

    def added(self, reason: str, rows: Sequence[AddedRecord]) -> Iterator[Change]:
        """A unit with these records is added; with a privacy unit, under a new name."""
        if self.unit is None:
            yield from (Change(f"with {reason}", added=(row,)) for row in rows[:1])
            return
        if not self._names:
            return
        name = self._names[next(self._turn) % len(self._names)]
        named = (attrs.evolve(row, cells={**row.cells, self.unit: name}) for row in rows)
        many = f"{len(rows)} times " if len(rows) > 1 else ""
        yield Change(f"with a new unit of {many}{reason}", (), tuple(named), key_of(name))

    def _ends(self) -> Iterator[Change]:
        if self.units:
            yield from self.removed_with(0, "the first record")
            yield from self.removed_with(self.form.count - 1, "the last record")

    def _weights(self) -> Iterator[Change]:
        if self.unit is None or not self.units:
            return
        order = sorted(range(len(self.units)), key=lambda number: -len(self.units[number]))
        for number in order[:4]:
            yield self.removed(number, f"a heavy unit of {len(self.units[number])} records")
        yield self.removed(order[-1], f"a light unit of {len(self.units[order[-1]])} records")

    def _removed_by(self, name: Name, where: str) -> Iterator[Change]:
        """Records with a remarkable cell in this column are removed."""
        for words, place in _remarkable(self.form.values(name), self.constants[name]):
            yield from self.removed_with(place, f"a record with {words}{where}")

    def _added_cells(self, name: Name, cells: Sequence[Any], words: str) -> Iterator[Change]:
        """Copies of records are added, with one other cell each: one copy, and as many as hurt."""
        for turn, cell in enumerate(cells):
            base = self._base()
            row = AddedRecord(base, self._whole(base) | {name: cell}, self._place(turn))
            times = 1 if self.unit is None or turn % 2 else self.many
            yield from self.added(f"{words}{shown(cell)}", [row] * times)

    def _copies(self) -> Iterator[Change]:
        if not self.form.count:
            return
        for base in (0, self.form.count - 1, self.below(self.form.count)):
            yield from self.added("a copy of a record", [AddedRecord(base)])
            yield from self.added("copies of a record", [AddedRecord(base)] * self.many)

    def _all_cells(self) -> Iterator[Change]:
        """Records are added all of whose cells are extreme."""
        most = max(map(len, self.extremes.values()), default=0)
        for turn in range(most):
            cells = {
                name: cells[turn % len(cells)] for name, cells in self.extremes.items() if cells
            }
            base = self._base()
            row = AddedRecord(base, self._whole(base) | cells, self._place(turn))
            yield from self.added("a record of extreme cells", [row])

    def _base(self) -> int | None:
        """A random record to copy."""
        return self.below(self.form.count) if self.form.count else None

    def _whole(self, base: int | None) -> dict[Name, Any]:
        """All cells of a record that copies none."""
        if base is not None:
            return {}
        return {name: cells[0] for name, cells in self.extremes.items() if cells}

    def _place(self, turn: int) -> int | None:
        """Behind all records, in front of them, or between."""
        most = max(self.form.count, 1)
        return (None, 0, self.below(most))[turn % 3]

    def removed_at_random(self) -> Iterator[Change]:
        """Any unit is removed."""
        if self.units:
            what = "record" if self.unit is None else "unit"
            yield self.removed(self.below(len(self.units)), f"a random {what}")

    def added_at_random(self) -> Iterator[Change]:
        """A unit is added: copies of random records with some cells from elsewhere."""
        times = 1 if self.unit is None else 1 + self.below(self.many)
        rows = [self._random_row() for _ in range(min(times, _MOST_DIFFERENT))]
        yield from self.added("random records", [*islice(cycle(rows), times)])

    def _random_row(self) -> AddedRecord:
        base = self._base()
        cells = self._whole(base)
        for name in self.columns:
            given = (self.extremes[name], self.constants[name], None)[self.below(3)]
            if given and self.below(2):
                cells[name] = given[self.below(len(given))]
        return AddedRecord(base, cells, self._place(self.below(3)))


def _in_turns(groups: list[Iterator[Change]]) -> Iterator[Change]:
    """One change of each group, then the next of each, until all are used up."""
    while groups:
        left = []
        for group in groups:
            change = next(group, None)
            if change is not None:
                yield change
                left.append(group)
        groups = left


def _remarkable(cells: Sequence[Any], constants: Sequence[Any]) -> Iterator[tuple[str, int]]:
    """Cells that stand out among those of their column, in words and by their places."""
    keys = [key_of(cell) for cell in cells]
    numbers = [
        (cell, place)
        for place, cell in enumerate(cells)
        if isinstance(cell, int | float) and not is_missing(cell)
    ]
    if numbers:
        yield "the largest", max(numbers)[1]
        yield "the smallest", min(numbers)[1]
        yield "the nearest to 0", min(numbers, key=lambda each: abs(each[0]))[1]
    often = Counter(key for key in keys if key is not None)
    by_rule: list[tuple[str, Callable[[Key | None], bool]]] = [
        ("a missing", lambda key: key is None),
        ("a rare", lambda key: often[key] == 1),
        ("the rarest", partial(_is, min(often, key=often.__getitem__, default=None))),
        ("the most frequent", partial(_is, max(often, key=often.__getitem__, default=None))),
        ("an infinite", lambda key: key in (float("inf"), float("-inf"))),
        ("an empty", lambda key: key in ("", b"")),
    ]
    by_rule += [("a constant as", partial(_is, key_of(each))) for each in constants]
    for words, wanted in by_rule:
        place = next((at for at, key in enumerate(keys) if wanted(key)), None)
        if place is not None:
            yield words, place


def _is(one: Key | None, other: Key | None) -> bool:
    return one is not None and one == other


def shown(cell: Any) -> str:
    """A cell as the owner reads it, in short."""
    text = repr(cell)
    return text if len(text) <= 40 else f"{text[:37]}..."

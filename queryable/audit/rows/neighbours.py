"""`neighbours_of`: data sets that differ from a data set in few units, in the form that it has."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

import attrs

from queryable.audit.rows.choosing import Change, Looked, changes, shown
from queryable.audit.rows.forms import AddedRecord, Form, Name
from queryable.audit.rows.of_data import form_of_data
from queryable.losses.numbers import natural
from queryable.randomness.coins import SeededCoins

_MOST_REPETITIONS = 200
_LONGEST = 300


@attrs.frozen
class Neighbour:
    """A data set that differs from another one in at most `d_in` units. It is private.

    Args:
        data: in the form of the original.
        removed, added: how many records were left out and added.
        reason: why these were chosen.
        difference: the records that differ, in short.
    """

    data: Any = attrs.field(repr=False)
    removed: int
    added: int
    reason: str
    difference: str = attrs.field(repr=False)


def neighbours_of(
    data: Any,
    number: int,
    *,
    d_in: int = 1,
    unit: Name | None = None,
    columns: Sequence[Name] = (),
    constants: Sequence[Any] = (),
    beside: Sequence[Any] = (),
    seed: int = 0,
) -> Iterator[Neighbour]:
    """Neighbours of a data set, chosen where claims tend to break, then at random.

    The original is not changed. A neighbour differs in `d_in` units that are removed or added: of
    records, or of all records of a privacy unit. Those that are added are copies of records with
    other cells: missing, infinite, very large, texts with quotation marks, next to a constant.

    Of data that grow, this is about the data that they began with, or about one batch: give the
    batch, and the other data as `beside`; then feed the neighbour in its place. A neighbour of a
    batch that is a file is there until the next one is asked for.

    Args:
        data: a list, an array, a dict of columns, a frame or a `Table`, or a form of one.
        number: how many neighbours. There are fewer if the data have fewer.
        d_in: in how many units they differ.
        unit: the column of the privacy unit. By default that of the table; otherwise each record is
            a unit.
        columns: those whose cells are changed; by default all.
        constants: bounds, keys and thresholds of the analysis.
        beside: what a batch is fed to, and other batches. A table among all these data says how
            files are read, and a privacy unit that has records there is left alone.
        seed: of the random choices. Equal seeds give equal neighbours.

    Raises:
        TypeError: the records of these data are not known.
        ValueError: there is no such column.

    Examples:
        >>> from queryable.audit.rows import neighbours_of
        >>> for each in neighbours_of([31, 47, 62], 3, constants=[50]):
        ...     print(each.data, "|", each.reason)
        [47, 62] | without the first record
        [31, 47] | without a record with the largest
        [31, 47, 62, 50] | with a record at a constant: 50
    """
    number, d_in, seed = (
        natural(value, name) for value, name in ((number, "number"), (d_in, "d_in"), (seed, "seed"))
    )
    form = form_of_data(data, beside)
    unit = form.unit if unit is None else unit
    for name in (*columns, *(() if unit is None else (unit,))):
        if name not in form.names:
            raise ValueError(f"there is no column {name!r}; there are: {_listed(form.names)}")
    others = [] if unit is None else [form_of_data(each, (data, *beside)) for each in beside]
    elsewhere = [cell for each in others for cell in each.values(unit)]

    def chosen(form: Form, number: int, seed: int) -> Iterator[Neighbour]:
        names = [name for name in columns or form.names if name in form.names]
        looked = Looked(form, unit, names, constants, elsewhere)
        found = _distinct(changes(looked, SeededCoins(seed)), d_in)
        return _made(form, islice(found, number))

    return _in_two(form, number, seed, chosen)


def _in_two(
    form: Form, number: int, seed: int, chosen: Callable[[Form, int, int], Iterator[Neighbour]]
) -> Iterator[Neighbour]:
    """Neighbours of a form, and further ones of its quicker form."""
    first = number if form.most is None else min(number, form.most)
    yield from chosen(form, first, seed)
    if first < number:
        yield from chosen(form.quicker(), number - first, seed + 1)


def _made(form: Form, found: Iterator[list[Change]]) -> Iterator[Neighbour]:
    for several in found:
        removed = [place for each in several for place in each.removed]
        added = [row for each in several for row in each.added]
        data = form.edited(removed, added)
        yield Neighbour(
            data,
            *(len(removed), len(added)),
            "; ".join(each.reason for each in several),
            _difference(form, removed, added),
        )
        form.discard(data)


def _distinct(found: Iterator[Change], d_in: int) -> Iterator[list[Change]]:
    """Groups of as many changes, none of which is twice the same."""
    seen: set[Any] = set()
    repetitions = 0
    while d_in and repetitions < _MOST_REPETITIONS:
        group: list[Change] = []
        for change in islice(found, _MOST_REPETITIONS + d_in):
            if not any(map(change.collides, group)):
                group.append(change)
            if len(group) == d_in:
                break
        else:
            return
        mark = tuple(sorted(repr((each.removed, each.added)) for each in group))
        repetitions += 1
        if mark not in seen:
            seen.add(mark)
            repetitions = 0
            yield group


def _difference(form: Form, removed: Sequence[int], added: Sequence[AddedRecord]) -> str:
    """The records that differ, in short."""
    said = [f"- {_record(form, AddedRecord(place))}" for place in removed]
    said += [f"+ {_record(form, row)}" for row in added]
    lines = [
        f"{text} ({times} times)" if times > 1 else text for text, times in Counter(said).items()
    ]
    text = "; ".join(lines)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _record(form: Form, row: AddedRecord) -> str:
    """A record, with its cells by column."""
    cells = {}
    for name in form.names:
        known = None if row.base is None else form.values(name)[row.base]
        cells[name] = row.cells.get(name, known)
    if set(cells) == {None}:
        return shown(cells[None])
    return ", ".join(f"{name}={shown(cell)}" for name, cell in cells.items()) or "a record"


def _listed(names: Sequence[Name]) -> str:
    return ", ".join(map(repr, names)) or "none"

"""Whose records are whose: the units of a data set, each with the places of its records.

A record without a unit's cell belongs to nobody. Two cells that might be read as one unit, such as
the texts "1" and "1.0", are left alone: no unit is chosen that might be only a part of one.
"""

import unicodedata
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

from queryable.audit.rows.extremes import EXTREMES
from queryable.audit.rows.forms import Form, Name
from queryable.data.keys import key_of


def units_of(form: Form, unit: Name | None, elsewhere: Sequence[Any] = ()) -> list[list[int]]:
    """The places of each unit's records; without a unit each record is one.

    Args:
        elsewhere: cells of units that have records in other data; these are left out.
    """
    if unit is None:
        return [[place] for place in range(form.count)]
    by_key: dict[Hashable, list[int]] = {}
    for place, cell in enumerate(form.values(unit)):
        if (key := key_of(cell)) is not None:
            by_key.setdefault(key, []).append(place)
    alike: dict[Hashable, int] = dict.fromkeys(map(likeness, map(key_of, elsewhere)), 1)
    for key in by_key:
        alike[likeness(key)] = alike.get(likeness(key), 0) + 1
    return [places for key, places in by_key.items() if alike[likeness(key)] == 1]


def likeness(key: Hashable) -> Hashable:
    """The same for cells that somebody may take for one: texts that differ in case or spaces."""
    if not isinstance(key, str):
        return key
    text = unicodedata.normalize("NFKC", key).strip().casefold()
    try:
        return key_of(float(text))
    except ValueError:
        return text


def new_units(form: Form, unit: Name, elsewhere: Sequence[Any] = ()) -> Iterator[Any]:
    """Cells that name units which are not in the data, nor elsewhere, strange ones among them."""
    there = [*form.values(unit), *elsewhere]
    taken = {likeness(key_of(cell)) for cell in there}
    numbers = (cell for cell in there if type(cell) in (int, float))
    largest = max((cell for cell in numbers if abs(cell) < 2**30), default=0)
    plain: list[Any] = [int(largest) + step for step in range(1, 9)]
    for cell in (*plain, *(f"new {number}" for number in range(8)), *EXTREMES):
        key = likeness(key_of(cell))
        if key is None or key == "" or key in taken or not form.admits(unit, cell):
            continue
        taken.add(key)
        yield cell


def heaviest(units: Sequence[Sequence[int]]) -> int:
    """How many records the heaviest unit has."""
    return max(map(len, units), default=0)


def owners(units: Sequence[Sequence[int]]) -> Mapping[int, int]:
    """Which unit a record belongs to, by its place."""
    return {place: number for number, places in enumerate(units) for place in places}

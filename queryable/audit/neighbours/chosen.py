"""What of an analysis decides which neighbours are tried: its constants, and the units of streams.

Claims tend to break at rows with cells like the constants of the questions. Streams differ in all
records of a privacy unit, over all batches; of data that do not grow, `queryable.audit.rows` knows
the units.
"""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import attrs
import numpy as np

from queryable.audit.neighbours.findings import Example
from queryable.audit.neighbours.recording import Recording
from queryable.audit.rows.of_data import form_of_data
from queryable.data.keys import Key, key_of
from queryable.messages import Launch
from queryable.streams.blocks import LaunchOver
from queryable.streams.levels import BlockLevel, UserLevel


def unit_column(recording: Recording) -> str | None:
    """The column that names the units of streams; None if records are protected."""
    for each in _mechanisms(recording):
        level = getattr(each, "neighbours", None)
        if isinstance(level, UserLevel | BlockLevel):
            return level.column
    return None


def _mechanisms(recording: Recording) -> Iterator[Any]:
    yield recording.course.mechanism
    for held in recording.held:
        if isinstance(held.message.query, Launch | LaunchOver):
            yield held.message.query.mechanism
        yield from (leaf.mechanism for leaf in held.leaves)


def without_units(
    parts: Sequence[tuple[int, Any]], column: str
) -> Iterator[tuple[Example, Mapping[int, Any]]]:
    """Streams without the records of one unit, those with most records first.

    Args:
        parts: the data of the start and of each batch, with the places of their messages.

    Yields:
        what differs, and the data that differ by their places.
    """
    everything = [data for _, data in parts]
    forms = {place: form_of_data(data, everything) for place, data in parts}
    rows: dict[Key, dict[int, list[int]]] = {}
    for place, form in forms.items():
        if column not in form.names:
            continue
        for row, cell in enumerate(form.values(column)):
            key = key_of(cell)
            if key is not None:
                rows.setdefault(key, {}).setdefault(place, []).append(row)
    sizes = {key: sum(map(len, found.values())) for key, found in rows.items()}
    for key in sorted(rows, key=lambda each: -sizes[each]):
        left = {place: forms[place].edited(gone, ()) for place, gone in rows[key].items()}
        difference = f"- {sizes[key]} records with {column}={key!r}"
        yield Example(sizes[key], 0, "without a unit", difference), left


_MOST = 200
_DEEPEST = 12


def wishes(recording: Recording) -> tuple[Any, ...]:
    """Numbers and texts that the statistics of an analysis compare cells with."""
    found: dict[Any, Any] = {}
    for held in recording.held:
        for leaf in held.leaves:
            for reading in leaf.readings:
                for each in _constants(reading.what, _DEEPEST):
                    found.setdefault((type(each), each), each)
                    if len(found) >= _MOST:
                        return tuple(found.values())
    return tuple(found.values())


def _constants(value: Any, depth: int) -> Iterator[Any]:
    if isinstance(value, int | float | str | Fraction) and not isinstance(value, bool):
        yield value
    elif isinstance(value, np.ndarray) or not depth:
        return
    elif isinstance(value, tuple | list | frozenset):
        for each in value:
            yield from _constants(each, depth - 1)
    elif isinstance(value, Mapping):
        yield from _constants(tuple(value.values()), depth - 1)
    elif attrs.has(type(value)):
        for field in attrs.fields(type(value)):
            yield from _constants(getattr(value, field.name, None), depth - 1)

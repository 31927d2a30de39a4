"""Streams of batches that differ in a privacy unit: all records of it are left out of all batches.

Responsible for which units there are. Of data that do not grow, `queryable.audit.rows` knows them.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

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

"""Constants of the questions of an analysis: claims tend to break at rows with such cells."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import attrs
import numpy as np

from queryable.audit.neighbours.recording import Recording

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

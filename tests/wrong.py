"""Tables of wrong parameters: a call, its error, a part of the message, and what it is given."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

EITHER = (TypeError, ValueError)
Row = tuple[
    Callable[[Any], object], type[Exception] | tuple[type[Exception], ...], str, Sequence[Any]
]


def starred(call: Callable[..., object], *first: Any) -> Callable[[Any], object]:
    """The call, given a list of further arguments."""
    return lambda given: call(*first, *given)


def named(call: Callable[..., object], *first: Any, **fixed: Any) -> Callable[[Any], object]:
    """The call, given a dictionary of further arguments."""
    return lambda given: call(*first, **fixed | given)


def each(rows: Iterable[Row]) -> list[Any]:
    """One case for each value of each row."""
    return [
        pytest.param(call, value, error, says, id=f"{row}.{place} {says}")
        for row, (call, error, says, values) in enumerate(rows)
        for place, value in enumerate(values)
    ]

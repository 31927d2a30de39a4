"""Tables of wrong parameters: rows of a call, its error and a part of the message.

`rows` is for calls of many kinds, `each` for many values of the same call.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import pytest

EITHER = (TypeError, ValueError)
Row = tuple[
    Callable[[Any], object], type[Exception] | tuple[type[Exception], ...], str, Sequence[Any]
]

Call = Callable[..., Any]
CallRow = tuple[Any, str | None, Call] | tuple[Any, str | None, Call, Sequence[Any]]


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


def rows(*table: CallRow) -> list[Any]:
    """A parameter set for each value of each row; a row without values is called as it is."""
    return [*_each(table)]


def _each(table: Sequence[CallRow]) -> Iterator[Any]:
    for number, (error, words, call, *given) in enumerate(table):
        calls = [partial(call, value) for value in given[0]] if given else [call]
        for place, each in enumerate(calls):
            yield pytest.param(error, words, each, id=f"{number}-{place} {words}")

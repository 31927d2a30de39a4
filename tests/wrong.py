"""Tables of wrong parameters: an error, a part of its message, a call, and what it is given."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import pytest

EITHER = (TypeError, ValueError)
Call = Callable[..., Any]
Row = tuple[Any, str | None, Call] | tuple[Any, str | None, Call, Sequence[Any]]


def starred(call: Call, *first: Any) -> Call:
    """The call, given a list of further arguments."""
    return lambda given: call(*first, *given)


def named(call: Call, *first: Any, **fixed: Any) -> Call:
    """The call, given a dictionary of further arguments."""
    return lambda given: call(*first, **fixed | given)


def rows(*table: Row) -> list[Any]:
    """A parameter set for each value of each row; a row without values is called as it is."""
    return [*_each(table)]


def _each(table: Sequence[Row]) -> Iterator[Any]:
    for number, (error, words, call, *given) in enumerate(table):
        calls = [partial(call, value) for value in given[0]] if given else [call]
        for place, each in enumerate(calls):
            yield pytest.param(error, words, each, id=f"{number}-{place} {words}")

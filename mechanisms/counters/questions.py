"""What counters are asked: how much arrived, up to some step or in the last steps."""

from typing import Any

import attrs

from queryable.errors import QueryError, UnknownQueryError
from queryable.losses.numbers import natural
from queryable.messages import Query


@attrs.frozen
class Total:
    """Ask a counter for the sum over all batches so far, or over the first `at` of them."""

    at: Any = None


@attrs.frozen
class Window:
    """Ask a counter for the sum over the `last` batches."""

    last: Any


@attrs.frozen
class Span:
    """Batches start + 1 to end; `now` if the question was about the present."""

    start: int
    end: int
    now: bool


def span_of(query: Query, time: int, past: int | None, name: str) -> Span:
    """The batches that a question is about.

    Args:
        time: the number of batches so far. past: how many steps back questions may reach.
        name: of the counter's class.

    Raises:
        QueryError: it is no question of a counter, or reaches too far.
    """
    match question(query, name):
        case Total(at=None):
            return Span(0, time, now=True)
        case Total(at=at):
            return Span(0, _step(at, "at", time, past), now=False)
        case Window(last=last):
            start = _step(last, "last", time, None)
            if past is not None and not start <= past:
                raise QueryError(
                    f"last is {start}; it should be at most {past}, the steps that {name} keeps: "
                    f"launch it with past={start}"
                )
            return Span(time - start, time, now=True)


def question(query: Query, name: str) -> Total | Window:
    """A question of a counter, itself.

    Raises:
        UnknownQueryError: it is none.
    """
    if isinstance(query, Total | Window):
        return query
    raise UnknownQueryError(f"ask {name} Total or Window, not {type(query).__name__}")


def _step(value: Any, name: str, time: int, past: int | None) -> int:
    try:
        step = natural(value, name)
    except (TypeError, ValueError) as error:
        raise QueryError(str(error)) from None
    if not step <= time:
        raise QueryError(f"{name} is {step}; it should be at most {time}, the batches so far")
    if past is not None and not time - step <= past:
        raise QueryError(
            f"{name} is {step}; it should be at least {time - past}: launch the counter with a "
            "larger `past`, and it keeps more of the past"
        )
    return step

"""Leaves: the only lines of the kernel that read data."""

from typing import Any

from queryable.conversation.outcomes import with_records
from queryable.conversation.steps import LOST, Moved, Pass, Start
from queryable.data.later import Later, made
from queryable.faults import interrupted
from queryable.messages import Update
from queryable.randomness.coins import Coins


def read(step: Any, mechanism: Any, state: Any, coins: Coins) -> Any:
    """Run a leaf, and return what came of it or what it raised: the only place that reads data."""
    try:
        if type(step) is Start:
            after, answer = mechanism.init(made(state), coins)
        elif type(step) is Pass:
            query = step.query
            if type(query) is Update:
                query = with_records(query)
            after, answer = mechanism.step(state, query, coins)
        else:
            made(state)
            after = answer = None
        return Moved(after, answer), None
    except BaseException as raised:
        return LOST, raised


def paid_for(state: Later) -> tuple[Any, Exception | None]:
    """The state of a leaf that a log knows the answers of, or why it cannot be made.

    Raises:
        KeyboardInterrupt: or another interrupt. Nothing new was read for it.
    """
    spoilt = None
    try:
        return made(state), None
    except Exception as raised:
        spoilt = raised
    if interrupted():
        raise KeyboardInterrupt
    return None, spoilt


def bare(error: Any) -> Any:
    """An error without traceback, cause and context, which may show data."""
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)

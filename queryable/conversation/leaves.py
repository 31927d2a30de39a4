"""Leaves: the only lines of the kernel that read data."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from queryable.conversation.steps import LOST, Moved, Pass, Start, with_records
from queryable.data.ahead import read_ahead
from queryable.data.growing import Grown, growable
from queryable.data.later import Later, made
from queryable.faults import interrupted
from queryable.messages import AskMany, Query, Update, entries_of
from queryable.randomness.coins import Coins
from queryable.recalling import GivenUp, Unplayed
from queryable.statistics import IntegerStatistic


def read(step: Any, mechanism: Any, state: Any, coins: Coins) -> Any:
    """Run a leaf, and return what came of it or what it raised: the only place that reads data."""
    try:
        if type(step) is Start:
            rows = made(state)
            if mechanism.continual:
                rows = growable(rows)
            elif type(rows) is Grown:
                rows = rows.whole
            after, answer = mechanism.init(rows, coins)
        elif type(step) is Pass:
            query = step.query
            if type(query) is Update:
                query = with_records(query)
            after, answer = mechanism.step(state, query, coins)
        else:
            with np.errstate(all="ignore"):  # numpy's warnings would say something about the data
                made(state)
            after = answer = None
        return tuple.__new__(Moved, (after, answer, ())), None
    except BaseException as raised:
        return LOST, raised


LATE = frozenset({Later, Unplayed})
"""What stands for a state that a log knows the answers of."""


def paid_for(state: Any, given_up: GivenUp) -> tuple[Any, Exception | None]:
    """The state of a child that a log knows the answers of, or why it cannot be made.

    Raises:
        KeyboardInterrupt: or another interrupt. Nothing new was read for it.
    """
    spoilt = None
    try:
        if type(state) is Unplayed:
            return state.played(_ahead, given_up), None
        return made(state), None
    except Exception as raised:
        spoilt = raised
    if interrupted():
        raise KeyboardInterrupt
    return None, spoilt


def _ahead(dataset: Any, queries: Sequence[Query]) -> None:
    """Let the data read at once for the statistics among queries that are run again."""
    entries = (entries_of(each) if isinstance(each, AskMany) else (each,) for each in queries)
    found = [each for several in entries for each in several]
    read_ahead(dataset, [each for each in found if isinstance(each, IntegerStatistic)])


def bare(error: Any) -> Any:
    """An error without traceback, cause and context, which may show data."""
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)

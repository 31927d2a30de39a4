"""How much a query runs and writes: limits for queries of analysts.

Mechanisms state their `effort`, which depends on public parameters. A `Best` runs its candidates a
random number of times, and a candidate may be an analysis with further ones in it. What is expected
of a query is computed from the query alone, so a refusal depends on nothing else.
"""

from fractions import Fraction
from math import ceil, prod
from typing import Any

import attrs

from mechanisms import Best, Scripted
from queryable.effort import Effort, take, write
from queryable.errors import QueryError
from queryable.losses.numbers import shown
from queryable.mechanism import InteractiveMechanism, Measurement
from queryable.messages import entries_of, is_many
from queryable.optional import effort
from queryable.statistics import IntegerStatistic

MOST_RUNS = 5_000
"""The largest expected number of runs of one message."""

_UNUSUAL = 3
"""A draw of the number of runs is above so many times its mean in one of 20 cases."""

_CHECKED = 20
"""To check the claim of a `Best` takes as long as so many runs of each candidate."""


@attrs.frozen
class MessageLimits:
    """What one message of an analyst may take; an owner may allow more.

    Attributes:
        steps: of about a microsecond.
        growth: how many times its own bytes a message may add to the ledger.
        per_hour: how many questions an analyst may ask within an hour; None for any number.
    """

    steps: int = 2_000_000
    growth: int = 100
    per_hour: int | None = None


@attrs.frozen
class Expected:
    """What a query is expected to take.

    Attributes:
        runs: of measurements. The check of a candidate counts as some runs.
        steps: of these runs.
        characters: of all answers.
    """

    runs: Fraction
    steps: Fraction
    characters: int


def require_short(length: int, query: Any, allowed: MessageLimits) -> None:
    """Check that a query is expected to run few mechanisms, and to answer little.

    What it is expected to take is taken from the message's steps and characters.

    Args:
        length: of the message, in bytes.

    Raises:
        QueryError: it takes more than is allowed.
    """
    found = expected(query)
    if not found.runs <= MOST_RUNS:
        raise QueryError(
            f"this would run about {shown(found.runs)} mechanisms; {MOST_RUNS} is the most for a "
            "message to a curator. Take fewer repetitions or fewer queries in an analysis, or send "
            "several messages"
        )
    if not (found.steps <= allowed.steps and take(ceil(found.steps))):
        raise QueryError(
            f"this takes about {shown(found.steps)} steps; {allowed.steps} is the most for a "
            "message to this curator. Ask for fewer groups, less noise (below 10**12 it is drawn "
            "faster), fewer choices or fewer repetitions, or send several messages"
        )
    if not (found.characters <= allowed.growth * length and write(found.characters)):
        raise QueryError(
            f"its answers have about {found.characters} characters; {allowed.growth} times those "
            f"of the message, which are {length}, are the most for a message to this curator. "
            "Ask for fewer groups, or with less noise; the owner can allow more (growth)"
        )


def expected(query: Any) -> Expected:
    """What a query is expected to take, with all that it holds.

    The candidates of a `Best` run as often as its repetitions say, all together, and one of their
    answers is told.
    """
    waiting, runs, steps, characters = [(query, Fraction(1))], Fraction(0), Fraction(0), 0
    while waiting:
        value, times = waiting.pop()
        often = times if times == 1 else _UNUSUAL * times
        if isinstance(value, InteractiveMechanism):
            takes = effort(value)
            steps += often * takes.steps
            characters += takes.characters
            runs += times if isinstance(value, Measurement) else 0
        elif isinstance(value, IntegerStatistic):
            count = prod(value.shape or ())
            steps += often * (count // 2)
        if type(value) is Best:
            steps += _CHECKED * len(value.base) * Effort().steps
            runs += _CHECKED * len(value.base)
            times *= value.repeats
        waiting += [(each, times) for each in _parts(value)]
    return Expected(runs, steps, characters)


def questions(query: Any) -> int:
    """How many questions a query has, with all that it holds.

    A list of queries has as many as are in it, also that of an analysis, whose view has the answers
    to all of them; it is one at least.
    """
    waiting, count = [query], 1
    while waiting:
        value = waiting.pop()
        if is_many(value):
            count += len(entries_of(value)) - 1
        elif isinstance(value, Scripted):
            count += max(len(value.asks()[1]) - 1, 0)
        waiting += _parts(value)
    return count


def _parts(value: Any) -> list[Any]:
    """What a value of the codec has in it."""
    if isinstance(value, tuple | list):
        return [*value]
    if attrs.has(type(value)):
        return [getattr(value, field.name) for field in attrs.fields(type(value)) if field.init]
    return [*value.values()] if hasattr(value, "values") and hasattr(value, "keys") else []

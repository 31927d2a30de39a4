"""How many mechanisms a query runs: a limit for queries of analysts.

A `Best` runs its candidates a random number of times, and a candidate may be an analysis with
further ones in it. The limit is on the number that is expected, so it depends on the query alone.
"""

from fractions import Fraction
from typing import Any

import attrs

from mechanisms import Best
from mechanisms.repetitions import Ending
from queryable.errors import QueryError
from queryable.losses.numbers import shown
from queryable.mechanism import Measurement

MOST_RUNS = 5_000
"""The largest expected number of runs of one message."""

_CHECKED = 20
"""To check the claim of a `Best` takes as long as so many runs of each candidate."""

_BEST = '"@":"best/'


def require_short(text: str, query: Any) -> None:
    """Check that few mechanisms are expected to run.

    Args:
        text: of the query, as it was sent.

    Raises:
        QueryError: there are too many.
    """
    if _BEST not in text:
        return
    runs = expected_runs(query)
    if not runs <= MOST_RUNS:
        raise QueryError(
            f"this would run about {shown(runs)} mechanisms; {MOST_RUNS} is the most for a message "
            "to a curator. Take fewer repetitions or fewer queries in an analysis, or send several "
            "messages"
        )


def expected_runs(query: Any) -> Fraction:
    """How many measurements a query runs on average, at most.

    The candidates of a `Best` run as often as its repetitions say, all together. The check of a
    candidate counts as some runs.
    """
    waiting, found = [(query, Fraction(1))], Fraction(0)
    while waiting:
        value, times = waiting.pop()
        if isinstance(value, Measurement):
            found += times
        if type(value) is Best:
            found += _CHECKED * len(value.base)
            times *= _repeated(value) / len(value.base)
        waiting += [(each, times) for each in _parts(value)]
    return found


def _repeated(best: Best) -> Fraction:
    """How often a candidate runs on average; where draws vary much, as often as many do."""
    law = best.repetitions
    return max(law.mean, 1 / law.gamma) if isinstance(law, Ending) else law.mean


def _parts(value: Any) -> list[Any]:
    """What a value of the codec has in it."""
    if isinstance(value, tuple | list):
        return [*value]
    if attrs.has(type(value)):
        return [getattr(value, field.name) for field in attrs.fields(type(value)) if field.init]
    return [*value.values()] if hasattr(value, "values") and hasattr(value, "keys") else []

"""What an entry of a log tells a display about the mechanisms of a tree, and which are polls.

So most entries need not be read: their exchanges are made, or decoded, only when they are shown.
"""

from enum import Enum
from functools import lru_cache
from typing import Any

from queryable.answers.noisy import Paid, Remarked
from queryable.losses import Loss, Report
from queryable.messages import (
    CanAfford,
    Failed,
    Halted,
    Launched,
    MeasureQuery,
    PrivacyLossQuery,
    Refused,
    RemainingQuery,
    Stated,
)
from queryable.streams.blocks import BlockLossQuery, BlocksQuery
from queryable.view import Exchange


class Tells(Enum):
    """What an entry tells about the mechanisms of a tree."""

    MEASURED = "a launch of a measurement was charged, and has answered"
    STARTED = "a launch of a child was charged, and its opening answer is None"
    REFUSED = "a launch was refused"
    NOTHING = "a question was answered, and that is all"
    EXCHANGE = "what its exchange says"


_TELLING = (Failed, Halted, Launched, Paid, Refused, Remarked, Report)


@lru_cache(maxsize=256)
def tells(answer: type) -> bool:
    """Whether an answer of this class may tell more about a mechanism than that it answered."""
    return issubclass(answer, _TELLING)


_POLLS: tuple[tuple[type, Any], ...] = (
    (CanAfford, bool),
    (PrivacyLossQuery, Report),
    (BlockLossQuery, Report),
    (MeasureQuery, Stated),
    (RemainingQuery, Loss),
    (BlocksQuery, tuple),
)
"""The queries that only read, with what they are answered."""


def is_poll(exchange: Exchange) -> bool:
    """Whether an exchange that changed no state is a poll."""
    query, answer = exchange.query, exchange.answer
    return any(isinstance(query, asked) and isinstance(answer, told) for asked, told in _POLLS)

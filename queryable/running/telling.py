"""What an entry of a log tells a display about the mechanisms of a tree.

So most entries need not be read: their exchanges are made, or decoded, only when they are shown.
"""

from enum import Enum
from functools import lru_cache

from queryable.answers.noisy import Paid, Remarked
from queryable.losses import Report
from queryable.messages import Failed, Halted, Launched, Refused


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

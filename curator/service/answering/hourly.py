"""How many questions an analyst may ask within an hour, as the owner says.

It depends on times and on the number of questions alone. A curator that starts again counts anew.
"""

import time
from collections import deque
from collections.abc import Callable

from queryable.errors import QueryError
from queryable.messages import (
    CanAfford,
    LaunchMany,
    MeasureQuery,
    PrivacyLossQuery,
    Query,
    RemainingQuery,
    is_many,
)
from queryable.running.handles import Path

HOUR = 3600.0
POLLS = (CanAfford, MeasureQuery, PrivacyLossQuery, RemainingQuery)
"""What says what there is, and is no question to the data."""


def _entries(query: Query) -> int:
    """How many questions a message has."""
    if not is_many(query):
        return 1
    given = query.launches if isinstance(query, LaunchMany) else query.queries
    return max(len(given), 1)


class HourlyLimit:
    """The questions of each analyst within the last hour.

    Args:
        most: how many there may be; None for any number.
        now: the time in seconds, which does not go back.
    """

    def __init__(self, most: int | None, now: Callable[[], float] = time.monotonic) -> None:
        self._most, self._now = most, now
        self._times: dict[Path, deque[float]] = {}

    def require(self, token: Path, query: Query, repeated: int = 0) -> None:
        """Count a question.

        Args:
            repeated: how many questions of the message have an old answer, under their names.

        Raises:
            QueryError: there were as many within the last hour; this one is not counted.
        """
        if self._most is None or not token or isinstance(query, POLLS):
            return
        count = _entries(query) - repeated
        now, times = self._now(), self._times.setdefault(token, deque())
        while times and times[0] <= now - HOUR:
            times.popleft()
        if count == 0:
            return
        if not len(times) + count <= self._most:
            wait = int((times[0] + HOUR - now) / 60) + 1 if times else 60
            raise QueryError(
                f"the owner allows {self._most} questions an hour, and {len(times)} were asked; "
                f"nothing was read or charged. Try again in {wait} minutes"
            )
        times.extend([now] * count)

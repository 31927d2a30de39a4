"""How many questions an analyst may ask within an hour, as the owner says.

It depends on times and on the number of questions alone. A curator that starts again counts anew.
"""

import time
from collections import deque
from collections.abc import Callable, Collection

from curator.service.answering.lengths import questions
from queryable.errors import QueryError
from queryable.messages import (
    CanAfford,
    MeasureQuery,
    PrivacyLossQuery,
    Query,
    RemainingQuery,
    entries_of,
    is_many,
)
from queryable.running.handles import Path

HOUR = 3600.0
POLLS = (CanAfford, MeasureQuery, PrivacyLossQuery, RemainingQuery)
"""What says what there is, and is no question to the data."""


class HourlyLimit:
    """The questions of each analyst within the last hour.

    Args:
        most: how many there may be; None for any number.
        now: the time in seconds, which does not go back.
    """

    def __init__(self, most: int | None, now: Callable[[], float] = time.monotonic) -> None:
        self._most, self._now = most, now
        self._times: dict[Path, deque[float]] = {}

    def require(self, token: Path, query: Query, repeated: Collection[int] = ()) -> None:
        """Count the questions of a message, also those of an analysis in it.

        Args:
            repeated: the places of the launches that have an old answer, under their names.

        Raises:
            QueryError: there were as many within the last hour, and this one is not counted; or a
                list of the message is empty.
        """
        if self._most is None or not token or isinstance(query, POLLS):
            return
        asked = entries_of(query) if is_many(query) else (query,)
        count = sum(questions(each) for at, each in enumerate(asked) if at not in repeated)
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

"""`GrowingTree`: the tree of a root for a page, which is made further at each look.

Responsible for bounding the time of a look. To make the tree of a million messages takes seconds,
and more if many of them have to be read from a ledger. So each look goes on for a stated processor
time, from where the one before it ended, and what is new since then is all that a later look has to
do.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

import attrs

from queryable.display.history import TreeHistory
from queryable.running.log import Log
from queryable.running.telling import is_poll
from queryable.view import Exchange

SECONDS = 0.03
"""The processor time of a look, beside its last message."""

Piece: TypeAlias = range | tuple[int, Exchange]


@attrs.frozen
class Fresh:
    """What has been said since an earlier look.

    Attributes:
        pieces: it, as `History.add` takes it, of `log`.
        names: the names of launches.
        until: where the next look begins: numbers of entries and of polls.
    """

    pieces: Iterator[Piece]
    log: Log
    names: Mapping[int, str]
    until: tuple[int, int]


class GrowingTree:
    """A tree, and how far it has been made.

    Args:
        fresh: what is new since some entries and polls.

    Attributes:
        history: the tree.
        whole: whether nothing was left to do at the last look.
        read: how many exchanges it has; polls are not counted.
    """

    def __init__(
        self, mechanism: Any, opening: Any, fresh: Callable[[tuple[int, int]], Fresh]
    ) -> None:
        self.history = TreeHistory(mechanism, opening, (), {})
        self.whole, self.read = False, 0
        self._fresh, self._now = fresh, fresh((0, 0))

    def look(
        self, seconds: float = SECONDS, clock: Callable[[], float] = time.thread_time
    ) -> TreeHistory:
        """Go on, and return the tree as far as it has been made."""
        end = clock() + seconds
        while True:
            now = self._now
            for piece in now.pieces:
                self.history.add(piece, now.log, now.names)
                after = (
                    piece.stop if isinstance(piece, range) else self.read + 1 - is_poll(piece[1])
                )
                self.read = max(self.read, after)
                if not clock() < end:
                    self.whole = False
                    return self.history
            self._now = self._fresh(now.until)
            if self._now.until == now.until:
                self.whole = True
                return self.history

"""Which exchanges of a log are at or below a path, and what of them may be seen from there.

Responsible for the numbers that a token sees: exchange 1, 2, ... at or below its path. Entries of a
log never change, so an index only grows. Also for which names a message may have.
"""

from array import array
from collections.abc import Iterator, Sequence
from typing import TypeAlias

import attrs

from queryable.errors import QueryError
from queryable.messages import Launch, LaunchMany, Query, entries_of
from queryable.running.handles import Path
from queryable.running.log import Log
from queryable.running.names import checked_names
from queryable.streams.blocks import LaunchOver
from queryable.view import Exchange


class Places:
    """The numbers of a log's entries by the first ids of their paths."""

    def __init__(self, log: Log) -> None:
        self._log, self._scanned = log, 0
        self._below: dict[int, dict[Path, array[int]]] = {}

    def at(self, path: Path, count: int) -> "range | array[int]":
        """The numbers of the entries at or below a path, among the first `count` entries."""
        if not path:
            return range(count)
        depth = len(path)
        if depth not in self._below:
            self._below[depth] = {}
            self._scan(depth, 0, self._scanned)
        if count > self._scanned:
            for each in self._below:
                self._scan(each, self._scanned, count)
            self._scanned = count
        return self._below[depth].get(path, _NOWHERE)

    def _scan(self, depth: int, start: int, stop: int) -> None:
        below = self._below[depth]
        for index in range(start, stop):
            path = self._log.path(index)
            if len(path) >= depth:
                below.setdefault(path[:depth], array("q")).append(index)


Entry: TypeAlias = tuple[Path, bytes, str | None]
"""The path, the text of the query and the name of an exchange."""

_NOWHERE: "array[int]" = array("q")


def seen_from(path: Path, exchange: Exchange) -> Exchange:
    """An exchange as a token sees it that is bound to a path at or above the exchange's.

    Its path starts there, and it has the receipts of compositors that are there or below.
    """
    depth = len(path)
    if not depth:
        return exchange
    longest = len(exchange.path) - depth
    receipts = tuple(each for each in exchange.receipts if each.nested < longest)
    return attrs.evolve(exchange, path=exchange.path[depth:], receipts=receipts)


def matched(
    asked: Sequence[Entry],
    kept: Sequence[Entry],
) -> Iterator[int | None]:
    """For each entry of a message, which of the kept exchanges is its own; None if none is.

    Entries that are not kept are polls, and launches that were made before under their name. Kept
    ones have the order of the entries.

    Args:
        asked, kept: path, text of the query and name of each.
    """
    at = 0
    for each in asked:
        if at < len(kept) and each == kept[at]:
            yield at
            at += 1
        else:
            yield None


def require_names(query: Query, names: tuple[str | None, ...]) -> None:
    """Check that names belong to launches.

    Raises:
        QueryError: there are not as many as launches, or one is empty.
    """
    if isinstance(query, LaunchMany):
        count = len(entries_of(query))
    elif isinstance(query, Launch | LaunchOver):
        count = 1
    else:
        raise QueryError("only launches have names; nothing is charged")
    checked_names(names, count)

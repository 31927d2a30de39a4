"""A long analysis on a ledger, for measurements: `python -m benchmarks.durable_log FILE MESSAGES`.

Of 100 messages, 58 launch a measurement under one of the nested filters, 36 ask a sparse vector, 3
are refused and 3 have a name. Each is about a statistic of its own. Events are stored five thousand
at a time, so that writing them takes minutes and not hours.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import curator
from composition import FiltCon
from curator.ledgers import Event, SQLiteLedger
from mechanisms import Count, Gaussian, Laplace, SparseVector, Sum, column
from queryable import ZCDP, PureDP, Queryable, QueryRefusedError

KEY = bytes(range(32))
DATA = {"age": list(range(100)), "hours": [each % 60 for each in range(100)]}
ROOT = FiltCon(ZCDP(10**6))
_TOGETHER = 5000
_TEAMS, _GROUPS, _SEARCHES = 4, 2, 20


class Buffered:
    """A ledger that stores many events at a time. A crash would lose the last ones."""

    def __init__(self, ledger: SQLiteLedger) -> None:
        self._ledger = ledger
        self._waiting: dict[str, list[Event]] = {}
        self.lease, self.renew, self.release = ledger.lease, ledger.renew, ledger.release
        self.roots, self.check = ledger.roots, ledger.check

    def append(self, root: str, events: Sequence[Event]) -> None:
        """Store them later."""
        waiting = self._waiting.setdefault(root, [])
        waiting += events
        if len(waiting) >= _TOGETHER:
            self.flush()

    def flush(self) -> None:
        """Store what waits."""
        for root, waiting in self._waiting.items():
            self._ledger.append(root, waiting)
            waiting.clear()

    def read(self, root: str, after: int = 0) -> Iterator[Event]:
        """The events that are stored."""
        return self._ledger.read(root, after)

    def close(self) -> None:
        """Store what waits, and close the file."""
        self.flush()
        self._ledger.close()


def statistic(place: int) -> Count:
    """A statistic that no other place has."""
    return Count((column("age") >= place % 101) & (column("hours") < place // 101))


def measurement(place: int) -> Any:
    """A measurement of a statistic that no other place has."""
    match place % 4:
        case 0:
            return Laplace(statistic(place), epsilon="1/100")
        case 1:
            return Gaussian(Sum("hours", 0, 1 + place), rho="1/1000")
        case _:
            return Gaussian(statistic(place), rho="1/200")


def analyse(table: Queryable, messages: int) -> None:
    """Send about as many messages."""
    teams = [table.launch(FiltCon(ZCDP(10**4))) for _ in range(_TEAMS)]
    teams += [team.launch(FiltCon(ZCDP(10**3))) for team in teams for _ in range(_GROUPS)]
    small = table.launch(FiltCon(ZCDP("1/10000")))
    searches = []
    for place in range(_SEARCHES):
        under = (table, *teams)[place % (1 + _TEAMS)]
        searches.append(under.launch(SparseVector(10**9, epsilon="1/10", cutoff=10)))
    for place in range(messages):
        under = (table, *teams)[place * 7 % (1 + len(teams))]
        match place * 37 % 100:
            case kind if kind < 58:
                under.launch(measurement(place))
            case kind if kind < 94:
                searches[place * 11 % _SEARCHES].ask(statistic(place))
            case kind if kind < 97:
                with suppress(QueryRefusedError):
                    small.launch(measurement(place), PureDP(3) if place % 2 else None)
            case _:
                under.launch(measurement(place), name=f"question {place}")


def write(path: str, messages: int, name: str = "long") -> None:
    """Write the ledger of such an analysis."""
    ledger = Buffered(SQLiteLedger(path))
    table = curator.open(ledger, ROOT, DATA, name=name, key=KEY)
    analyse(table, messages)
    ledger.flush()
    curator.release(table)
    ledger.close()


if __name__ == "__main__":
    write(sys.argv[1], int(sys.argv[2]))

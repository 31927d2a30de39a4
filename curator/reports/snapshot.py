"""`LedgerSnapshot`: the events of all roots, read once and checked, as a ledger in memory.

Responsible for heads, accounts and analysts of a report that come from the same events, also if a
curator appends meanwhile. Reading takes no lease and writes nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NoReturn

import attrs

from curator.access import ROOT as ACCESS
from curator.ledgers import Event, Ledger, LedgerError, chained


@attrs.frozen
class LedgerSnapshot:
    """A ledger that takes no events.

    Attributes:
        events: the events of each root, in order.
    """

    events: Mapping[str, Sequence[Event]]

    @classmethod
    def of(cls, ledger: Ledger) -> "LedgerSnapshot":
        """What a ledger holds now.

        The access is read first: a grant is launched before it is stored there, so every grant that
        is found has its launch in the data set's events.

        Raises:
            BrokenChainError: an event is not what was appended.
        """
        roots = sorted(ledger.roots(), key=lambda root: root != ACCESS)
        return cls({root: tuple(chained(ledger.read(root))) for root in roots})

    def heads(self) -> dict[str, dict[str, int | str]]:
        """Number and hash of the last event of each root."""
        return {
            root: {"event": events[-1].seq, "hash": events[-1].hash}
            for root, events in self.events.items()
        }

    def number_of(self, head: str) -> tuple[str, int] | None:
        """The root and the number of the event that has a hash; None if none has."""
        for root, events in self.events.items():
            for event in events:
                if event.hash == head:
                    return root, event.seq
        return None

    def read(self, root: str, after: int = 0) -> Iterator[Event]:
        """The events of a root; see `Ledger.read`."""
        return iter(self.events.get(root, ())[after:])

    def roots(self) -> tuple[str, ...]:
        """The names of the roots, sorted."""
        return tuple(sorted(self.events))

    def check(self) -> None:
        """The events were checked when they were read."""

    def close(self) -> None:
        """There is nothing to close."""

    def append(self, root: str, events: Sequence[Event]) -> NoReturn:
        """Refuse.

        Raises:
            LedgerError: always.
        """
        raise LedgerError("this is a copy of a ledger, which takes no events")

    def lease(self, root: str, holder: str, ttl: float) -> NoReturn:
        """Refuse.

        Raises:
            LedgerError: always.
        """
        self.append(root, ())

    def renew(self, root: str, epoch: int, ttl: float) -> NoReturn:
        """Refuse.

        Raises:
            LedgerError: always.
        """
        self.append(root, ())

    def release(self, root: str, epoch: int) -> None:
        """There is no lease."""

"""`Heads`: the last events of a log that clients have seen, so that old copies are noticed."""

from curator.logs.journal import LedgerJournal
from curator.wire import Head, RolledBackError

_MOST = 4096


class Heads:
    """The heads of one root.

    Attributes:
        last: the last one.
    """

    def __init__(self, journal: LedgerJournal) -> None:
        self._journal = journal
        self._hashes: dict[int, str] = {}
        self.last = self.go_on()

    def go_on(self) -> Head:
        """Take the last event as the head."""
        event = self._journal.head
        assert event is not None
        if event.seq not in self._hashes:
            self._hashes[event.seq] = event.hash
            if len(self._hashes) > _MOST:
                del self._hashes[next(iter(self._hashes))]
        self.last = Head(event.seq, event.hash)
        return self.last

    def require(self, seen: Head | None) -> None:
        """Check that what a client has seen is in this ledger.

        Raises:
            RolledBackError: it is not.
        """
        if seen is None or seen == self.last:
            return
        known = self._hashes.get(seen.seq)
        if known is None and 0 < seen.seq <= self.last.seq:
            journal = self._journal
            event = next(iter(journal.ledger.read(journal.root, seen.seq - 1)), None)
            known = None if event is None else event.hash
        if known != seen.hash:
            raise RolledBackError(
                "the curator's ledger does not have what this client has seen; an old copy of it "
                "was restored, or it is another one. Tell its owner"
            )

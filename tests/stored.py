"""A ledger in memory that can crash at any append, and the tests' codec with failing mechanisms."""

from collections.abc import Iterator, Sequence
from typing import Any

from curator.codec import Entry
from curator.identities import root_id
from curator.ledgers import Event
from curator.ledgers.ledger import admit
from curator.logs.story import story_of
from queryable.messages import without_receipts
from queryable.randomness.sealed import SealedCoins
from queryable.running.telling import is_poll
from tests.encoded import TESTED
from tests.strategies import Faulty

KEY = bytes(range(32))
_FAULTY: list[Faulty] = []


def _place(faulty: Faulty) -> tuple[int]:
    if not any(each is faulty for each in _FAULTY):
        _FAULTY.append(faulty)
    return (next(place for place, each in enumerate(_FAULTY) if each is faulty),)


STORED = TESTED.joined(
    [Entry("tests.faulty/1", (Faulty,), {"place": int}, _place, lambda place: _FAULTY[place])]
)
"""The codec of the tests, with mechanisms that fail."""


class Crash(BaseException):
    """The process ends here."""


class MemoryLedger:
    """A ledger in memory.

    Attributes:
        crash_at: the number of the append that crashes, counted from 0; None for none.
        stored: whether that append is stored before the crash.
        crash: what is raised.
        appends: how many there were.
    """

    def __init__(self, crash_at: int | None = None, *, stored: bool = True) -> None:
        self.events: dict[str, list[Event]] = {}
        self.epochs: dict[str, int] = {}
        self.crash_at, self.stored, self.appends = crash_at, stored, 0
        self.crash: BaseException = Crash()

    def append(self, root: str, events: Sequence[Event]) -> None:
        crashes = self.appends == self.crash_at
        self.appends += 1
        if crashes and not self.stored:
            raise self.crash
        kept = self.events.setdefault(root, [])
        admit(root, events, (kept[-1].seq, kept[-1].hash) if kept else (0, ""), self.epochs[root])
        kept += events
        if crashes:
            raise self.crash

    def read(self, root: str, after: int = 0) -> Iterator[Event]:
        return iter(self.events.get(root, [])[after:])

    def lease(self, root: str, holder: str, ttl: float) -> int:
        self.epochs[root] = self.epochs.get(root, 0) + 1
        return self.epochs[root]

    def renew(self, root: str, epoch: int, ttl: float) -> None:
        """Leases last."""

    def release(self, root: str, epoch: int) -> None:
        """Nobody else wants it."""

    def roots(self) -> tuple[str, ...]:
        return tuple(self.events)

    def close(self) -> None:
        """Nothing is open."""

    def copy(self, count: int | None = None) -> "MemoryLedger":
        """A copy with the first events of each root, which crashes nowhere."""
        copy = MemoryLedger()
        copy.events = {root: events[:count] for root, events in self.events.items()}
        copy.epochs = {**self.epochs}
        return copy


def ledger_of(events: Sequence[Event], root: str = "a") -> MemoryLedger:
    """A ledger of one root with these events."""
    ledger = MemoryLedger()
    if events:
        ledger.events[root], ledger.epochs[root] = [*events], events[-1].epoch
    return ledger


class Noted(MemoryLedger):
    """A ledger that nobody leases."""

    def append(self, root: str, events: Sequence[Event]) -> None:
        """Nothing is kept."""


def opening_of(ledger: Any, name: str) -> dict[str, Any]:
    """The first event of a root on a ledger."""
    opened = story_of(ledger.read(name)).opened
    assert opened is not None
    return opened


def view_of(handle: Any, codec: Any = STORED) -> list[bytes]:
    """The view as texts, without polls, which no ledger keeps."""
    kept = [each for each in handle.view if not is_poll(each)]
    return [codec.encode((each.path, each.query, without_receipts(each.answer))) for each in kept]


def coins_of(ledger: Any, name: str, codec: Any = STORED) -> SealedCoins:
    """The coins of a root on a ledger, for a queryable in memory."""
    return SealedCoins(KEY, root_id(name, opening_of(ledger, name)), canonical=codec.encode)

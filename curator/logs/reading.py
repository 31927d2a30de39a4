"""`MessageReader`: messages of a root that are read from its ledger when somebody looks at them.

Responsible for what an opened root does not keep in memory: the exchanges of its view, the claims
of measurements, and the messages that an interactive child got before the restart. A message is
named by the number of its first event, its *place*. An entry of several launches or questions has a
place of its own, see `entry_of`. Events are read a few at a time, and by the thousand where one
follows the other; each is checked against the one before it.
"""

import os
from collections.abc import Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from composition.compositors.adaptive import AdaptiveComposition
from composition.compositors.claims import Claim, claim_of
from curator.codec import Codec
from curator.ledgers import Event, Ledger, LedgerError, chained, ledger_of
from curator.logs.story import body_of, charges_of, message_of, past_of
from queryable.conversation.recalling import Place, UnitMessage
from queryable.errors import HandleError
from queryable.losses import Loss
from queryable.messages import Launch, addressed
from queryable.randomness.sealed import SealedCoins
from queryable.running.handles import Path as Where
from queryable.running.journal import Told
from queryable.view import Exchange

_FEW, _PAGE = 3, 1000  # events that are read at once, if they follow on those before
_EVENTS = 2**36  # more than a root has; so that a place with an entry is one number of 64 bits
Location = Ledger | str | os.PathLike[str]


class MessageReader:
    """Reads messages of one root.

    Args:
        spare: where the ledger is, if it may be closed before the last look.
        coins: those of the root, at any history.
    """

    def __init__(
        self, ledger: Ledger, spare: Location, root: str, coins: SealedCoins, codec: Codec
    ) -> None:
        self._ledger, self._spare = ledger, _absolute(spare)
        self._root, self._coins, self._codec = root, coins, codec
        self._page: Sequence[Event] = ()
        self._told: tuple[int, Told] = 0, ()
        self._process = os.getpid()

    def exchange(self, place: int) -> Exchange:
        """The exchange of a message, or of an entry, with its receipt."""
        entry, number = divmod(place, _EVENTS)
        last, told = self._told
        if last != number:
            told = past_of(*self._bodies(number), self._coins, self._codec).receipted()
            self._told = number, told
        return told[entry]

    def claim(self, compositor: AdaptiveComposition, place: int) -> Claim:
        """The claim of a launch of a compositor."""
        launch, loss = self._charged(place)
        if launch.d_out is None:
            return Claim(launch.mechanism, loss)
        again = claim_of(launch, loss.measure, compositor.d_in)
        return Claim(launch.mechanism, loss, coined=again.coined)

    def kind(self, place: int) -> object:
        """What launches of equal mechanisms with equal charges have in common."""
        if self._told[0] != place % _EVENTS:
            asked, answered = self._bodies(place % _EVENTS)
            if type(answered.get("effect")) is str:  # it is no message of several launches
                return asked["query"], charges_of(asked, answered)[0]["charged"]
        return tuple(str(self._codec.encode(each), "ascii") for each in self._charged(place))

    def _charged(self, place: int) -> tuple[Launch, Loss]:
        """A launch, and its charge."""
        if self._told[0] != place % _EVENTS:
            asked, answered = self._bodies(place % _EVENTS)
            launch = self._codec.decode(asked["query"])
            if isinstance(launch, Launch):
                charged = charges_of(asked, answered)[0]["charged"]
                return launch, self._codec.decode(charged)
        exchange = self.exchange(place)  # which keeps the other entries of the message, too
        launch, receipt = exchange.query, exchange.answer.receipt
        assert isinstance(launch, Launch)
        return launch, receipt.charged

    def asked(self, unit: Where, place: Place) -> UnitMessage:
        """A message to the child at a path.

        Args:
            place: that of the message, then the number of messages that each child on the way had
                before it, the outermost first.
        """
        asked, answered = self._bodies(place[0])
        message = message_of(asked, self._coins, self._codec)
        query = addressed(message.path[len(unit) :], message.query)
        toss = partial(coins_at, message.coins, unit, place)
        return UnitMessage(query, toss, self._codec.decode(answered["answer"]))

    def _bodies(self, place: int) -> tuple[dict[str, Any], dict[str, Any]]:
        asked = self._event(place)
        body = body_of(asked)
        return body, body if asked.kind == "exchange" else body_of(self._event(place + 1))

    def _event(self, place: int) -> Event:
        page = self._page
        if not page or not page[0].seq <= place <= page[-1].seq:
            if os.getpid() != self._process:
                raise HandleError("this queryable belongs to another process; open it there")
            follows = page and page[-1].seq < place <= page[-1].seq + len(page)
            page = self._page = self._read(place, min(4 * len(page), _PAGE) if follows else _FEW)
        return page[place - page[0].seq]

    def _read(self, place: int, count: int) -> Sequence[Event]:
        """A page of at most so many events that starts at this place."""
        try:
            page = self._read_in(self._ledger, place, count)
        except LedgerError:
            if self._spare is None:
                raise
            ledger = ledger_of(self._spare)
            try:
                page = self._read_in(ledger, place, count)
            finally:
                ledger.close()
        if not page:
            raise LedgerError(f"root {self._root!r} has no event {place}")
        return page

    def _read_in(self, ledger: Ledger, place: int, count: int) -> Sequence[Event]:
        events = islice(ledger.read(self._root, place - 2), count + 1)
        return tuple(chained(events, next(events, None)))


def entry_of(place: int, entry: int) -> int:
    """The place of an entry of several launches or questions in a message; 0 is the first one."""
    return place + entry * _EVENTS


def coins_at(coins: SealedCoins, path: Where, place: Place) -> SealedCoins:
    """The coins of a message at the child at a path.

    Args:
        coins: those of the message.
        place: as for `Reader.asked`.
    """
    coins = coins.spawn("root", 1)
    for child, count in zip(path, place[1:], strict=True):
        coins = coins.spawn(child, count)
    return coins


def _absolute(place: Location) -> str | None:
    """The path or URL of a ledger; None for a ledger that was given open."""
    if not isinstance(place, str | os.PathLike):
        return None
    return place if isinstance(place, str) and "://" in place else str(Path(place).resolve())

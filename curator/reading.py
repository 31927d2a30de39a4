"""`Reader`: messages of a root that are read from its ledger when somebody looks at them.

Responsible for what an opened root does not keep in memory: the exchanges of its view, the claims
of measurements, and the messages that an interactive child got before the restart. A message is
named by the number of its first event, its *place*. Events are read a thousand at a time, and each
is checked against the one before it.
"""

import json
import os
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from composition.compositors.claims import Claim
from curator.codec import Codec
from curator.ledgers import Event, Ledger, LedgerError, chained, ledger_of
from curator.story import message_of, past_of
from queryable.errors import HandleError
from queryable.losses import Loss
from queryable.messages import Launch, addressed
from queryable.randomness.sealed import SealedCoins
from queryable.recalling import Asked, Place
from queryable.running.handles import Path as Where
from queryable.view import Exchange

_PAGE = 1000
Location = Ledger | str | os.PathLike[str]


class Reader:
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
        self._process = os.getpid()

    def exchange(self, place: int) -> Exchange:
        """The exchange of a message, with its receipt."""
        (exchange,) = past_of(*self._bodies(place), self._coins, self._codec).receipted()
        return exchange

    def claim(self, place: int) -> Claim:
        """The claim of a measurement's launch."""
        asked, _ = self._bodies(place)
        launch = self._codec.decode(asked["query"])
        loss = self._codec.decode(asked["charges"][0]["charged"])
        assert isinstance(launch, Launch)
        assert isinstance(loss, Loss)
        return Claim(launch.mechanism, loss)

    def kind(self, place: int) -> object:
        """What launches of equal mechanisms with equal charges have in common."""
        asked, _ = self._bodies(place)
        return asked["query"], asked["charges"][0]["charged"]

    def asked(self, unit: Where, place: Place) -> Asked:
        """A message to the child at a path.

        Args:
            place: that of the message, then the number of messages that each child on the way had
                before it, the outermost first.
        """
        number, *counts = place
        asked, answered = self._bodies(number)
        message = message_of(asked, self._coins, self._codec)

        def toss() -> SealedCoins:
            coins = message.coins.spawn("root", 1)
            for child, count in zip(unit, counts, strict=True):
                coins = coins.spawn(child, count)
            return coins

        query = addressed(message.path[len(unit) :], message.query)
        return Asked(query, toss, self._codec.decode(answered["answer"]))

    def _bodies(self, place: int) -> tuple[dict[str, Any], dict[str, Any]]:
        asked = self._event(place)
        body = json.loads(asked.body)
        return body, body if asked.kind == "exchange" else json.loads(self._event(place + 1).body)

    def _event(self, place: int) -> Event:
        page = self._page
        if not page or not page[0].seq <= place <= page[-1].seq:
            if os.getpid() != self._process:
                raise HandleError("this queryable belongs to another process; open it there")
            page = self._page = self._read(place)
        return page[place - page[0].seq]

    def _read(self, place: int) -> Sequence[Event]:
        """A page of events that starts at this place."""
        try:
            page = self._read_in(self._ledger, place)
        except LedgerError:
            if self._spare is None:
                raise
            ledger = ledger_of(self._spare)
            try:
                page = self._read_in(ledger, place)
            finally:
                ledger.close()
        if not page:
            raise LedgerError(f"root {self._root!r} has no event {place}")
        return page

    def _read_in(self, ledger: Ledger, place: int) -> Sequence[Event]:
        events = islice(ledger.read(self._root, place - 2), _PAGE)
        return tuple(chained(events, next(events, None)))


def _absolute(place: Location) -> str | None:
    """The path or URL of a ledger; None for a ledger that was given open."""
    if not isinstance(place, str | os.PathLike):
        return None
    return place if isinstance(place, str) and "://" in place else str(Path(place).resolve())

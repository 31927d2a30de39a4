"""Look at a root on a ledger, without its data and without its key.

Responsible for roots that take no more messages, such as one that was closed, and for owners who
only want to look. Nothing is written, no lease is taken, and another process may be writing.
"""

import json
import os
from collections.abc import Mapping
from typing import Any

from curator.access import ROOT as ACCESS
from curator.access import access_of
from curator.arguments import name_of, require_codec, require_file
from curator.codec import CODEC, Codec
from curator.ledgers import Ledger, LedgerError, chained, ledger_of
from curator.logs.batches import Absent, Batches
from curator.logs.reading import MessageReader
from curator.logs.requests import Requests
from curator.logs.skimming import Skim
from curator.logs.story import Telling, message_of, same_by
from queryable.checks.protection import RECORD, Protected
from queryable.conversation.recalling import Recall
from queryable.errors import HandleError
from queryable.handle import Queryable
from queryable.messages import READS, Answer, Query
from queryable.randomness.coins import ChildId
from queryable.randomness.sealed import SealedCoins
from queryable.running.folding import give_up
from queryable.running.handles import Path as Where
from queryable.running.journal import Message, Told
from queryable.running.root import MemoryRoot

Place = Ledger | str | os.PathLike[str]
_ONLY_A_VIEW = "this is a view of a ledger: for further messages, open the root with curator.open"


def view(ledger: Place, name: str, *, codec: Codec = CODEC) -> Queryable:
    """Look at a root: a `Queryable` whose view, tree, ledger and privacy loss are those of the log.

    It takes no messages but `privacy_loss` and `can_afford`. A message that has no answer yet is
    shown as failed, with its charge. The root may be closed or sealed, or open in another process;
    what is appended later is not seen.

    Args:
        ledger: a ledger, or the path of its file.
        name: the root's name in the ledger.
        codec: as for `open`.

    Raises:
        LedgerError: there is no such root, or it has no opening answer yet.

    Examples:
        >>> import tempfile
        >>> import curator
        >>> from composition import FiltCon
        >>> from mechanisms import Count, Gaussian
        >>> from queryable import ZCDP
        >>> folder, data = tempfile.TemporaryDirectory(), {"age": [31, 47, 62]}
        >>> ledger = f"{folder.name}/visits.db"
        >>> table = curator.open(ledger, FiltCon(ZCDP("1/10")), data, name="visits")
        >>> noisy = table(Gaussian(Count(), rho="1/50"))
        >>> said = curator.close(ledger, "visits")
        >>> curator.view(ledger, "visits").privacy_loss()
        ZCDP(rho='1/50')
        >>> folder.cleanup()
    """
    require_codec(codec)
    name = name_of(name)
    if isinstance(ledger, str | os.PathLike) and "://" not in str(ledger):
        require_file(ledger)
    place = ledger_of(ledger)
    try:
        telling = Telling(chained(place.read(name)))
        if telling.opened is None:
            raise LedgerError(f"there is no root {name!r}; there are: {', '.join(place.roots())}")
        root = _shown(name, telling, place, ledger, codec)
    finally:
        if place is not ledger:
            place.close()
    return Queryable._over(root)


class _Shown(MemoryRoot):
    """A root that answers only what follows from its log."""

    def tell(self, path: Where, query: Query, names: tuple[str | None, ...] = ()) -> Answer:
        """Answer a poll.

        Raises:
            HandleError: it is another message.
        """
        if not isinstance(query, READS):
            raise HandleError(_ONLY_A_VIEW)
        return super().tell(path, query, names)


class _Unwritten:
    """The journal of a view: it refuses every message that would read data."""

    def __init__(self, requests: Requests, people: Mapping[ChildId, str]) -> None:
        self._requests, self._people = requests, people

    def require_ready(self) -> None:
        """Polls may be asked."""

    def require_unanswered(self, message: Message) -> None:
        """Nothing is ever answered."""

    def intend(self, message: Message, told: Told) -> None:
        """Refuse.

        Raises:
            HandleError: always.
        """
        raise HandleError(_ONLY_A_VIEW)

    def check(self, told: Told) -> None:
        """Nothing is ever written."""

    def answer(self, message: Message, told: Told, before: Any, after: Any) -> None:
        """Refuse.

        Raises:
            HandleError: always.
        """
        raise HandleError(_ONLY_A_VIEW)

    def settled(self, message: Message, before: Any, after: Any) -> None:
        """Nothing is kept."""

    def batch(self, message: Query) -> bytes:
        """Refuse.

        Raises:
            HandleError: always.
        """
        raise HandleError(_ONLY_A_VIEW)

    def grow(self, coins: SealedCoins, *, dead: bool) -> None:
        """No batch comes so far."""

    def grown(self) -> None:
        """No batch comes so far."""

    def void(self) -> None:
        """Nothing was written."""

    def time_of(self, entry: int) -> int | None:
        """The second in which the message of an entry came; None if it is unknown."""
        return self._requests.time_of(entry)

    def people(self) -> Mapping[ChildId, str]:
        """Who had which grant."""
        return self._people


def _shown(name: str, telling: Telling, place: Ledger, ledger: Place, codec: Codec) -> MemoryRoot:
    """The root that a log tells of, without data."""
    opened = telling.opened
    assert opened is not None
    mechanism = codec.decode(opened["mechanism"])
    opening = None if telling.opening is None else codec.decode(telling.opening)
    if telling.opening is None and not Recall.holds(mechanism):
        raise LedgerError(f"root {name!r} was not opened to the end: it has no answers")
    coins = SealedCoins(bytes(32), name, canonical=codec.encode)  # nothing is drawn
    protects = Protected(*opened["protects"]) if "protects" in opened else RECORD
    known = Recall.of_opening(opening, same_by(codec))
    absent = Absent(protects, str(opened["fingerprint"].get("columns", "")))
    root = _Shown(mechanism, absent, coins, None, protects, opening=known)
    root.handles.register((), root.opening)
    reader = MessageReader(place, ledger, name, coins, codec)
    skim = Skim(root, reader, coins, codec, Batches(codec))
    skim.fold(telling.messages())
    if telling.pending is not None and telling.pending.kind == "intent":
        body = json.loads(telling.pending.body)
        give_up(root, message_of(body, coins, codec))
        skim.requests.add(None, root.entries - skim.requests.entries, body.get("on"))
    root.journal = _Unwritten(skim.requests, access_of(place.read(ACCESS)).holders(name))
    return root

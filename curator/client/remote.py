"""`RemoteRoot`: the root of a tree that runs in a curator.

Responsible for sending messages and for the log of what came back. Does no accounting: a handle
does over it what it does over a root in this process.

Theory of operation. A message gets a request key, under which it is sent until there is a reply. If
none comes in time, or an interrupt arrives, the key is kept: the same message on this root is sent
under it again, and is answered once. A reply states which exchanges are its own by their numbers.
If other processes of the same analyst have sent messages before it, theirs are fetched first.
"""

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

from curator.client.mirror import Mirror
from curator.client.persons import Persons
from curator.client.sizes import require_short_names, require_small
from curator.client.transport import Transport
from curator.codec import Codec
from curator.wire import (
    QUERY_ERROR,
    Head,
    MessageReply,
    Page,
    RolledBackError,
    RootDescription,
    ShownExchange,
    Tell,
    WireError,
)
from queryable import errors
from queryable.errors import (
    CodecError,
    HandleError,
    QueryError,
    ReentrantQueryError,
    UnknownChildError,
)
from queryable.faults import named
from queryable.messages import Answer, Query
from queryable.randomness.coins import ChildId
from queryable.randomness.entropy import random_bytes
from queryable.running.handles import Handles, Path
from queryable.running.log import Record
from queryable.running.names import marked
from queryable.view import Exchange

_KEPT = 1000
_ROLLED_BACK = (
    "the curator's ledger does not have what this client has seen: an old copy of it was restored. "
    "Tell its owner; this handle sends nothing more"
)


def target_of(root: str) -> str:
    """Where a root is at its curator."""
    return f"/v1/roots/{quote(root, safe='')}"


class RemoteRoot:
    """The root of a tree in a curator: a `queryable.running.roots.Root`.

    Args:
        root: its id in addresses.
        codec: writes queries and reads answers.
        on_fault: called with exceptions of persons that run here; None for nobody.
        layout: the columns of the data with their types, in words.
        outline: makes statistics of the data; None if their description is not known.

    Attributes:
        people: nobody: a token does not see who has what.
    """

    people: Mapping[ChildId, str] = MappingProxyType({})

    def __init__(
        self,
        transport: Transport,
        root: str,
        codec: Codec,
        on_fault: Callable[[BaseException], object] | None = None,
        layout: str = "",
        outline: Any = None,
    ) -> None:
        self.layout, self.outline = layout, outline
        self._transport, self._codec = transport, codec
        self._target = target_of(root)
        described = RootDescription.read(transport.get(self._target))
        self.mechanism = self._decoded(described.mechanism)
        self.opening = self._decoded(described.opening)
        self.protects = described.protects
        transport.expect(described.deadline)
        self._head = described.head
        self.handles: Handles[Any] = _Handles(self)
        self._mirror = Mirror(self.opening, self.handles)
        self._persons = Persons(self._tell, self._writable, on_fault)
        self._keys: dict[tuple[Path, str, tuple[str | None, ...]], str] = {}
        self._lock = threading.RLock()  # taken once; it knows its owner, whatever is interrupted
        self._process = os.getpid()
        self._rolled_back = False

    def tell(self, path: Path, query: Query, names: tuple[str | None, ...] = ()) -> Answer:
        """Send a query to the mechanism at `path`, and return the answer; see `Root.tell`.

        Raises:
            QueryError: the query is wrong, or holds what has no text; nothing has changed.
            UnavailableError: the curator did not answer in time. The same message may be sent
                again.
        """
        self._require_here()
        if self._lock._is_owned():  # type: ignore[attr-defined]
            raise ReentrantQueryError("a queryable cannot be asked while it answers")
        with self._lock:
            return self._persons.tell(tuple(map(_id, path)), query, names)

    def _tell(self, path: Path, query: Query, names: tuple[str | None, ...]) -> Answer:
        if self._rolled_back:
            raise RolledBackError(_ROLLED_BACK)
        text = str(self._codec.encode(query), "ascii")
        require_small(query, text, self._codec)
        taken = marked(query, names) if names else ()
        sent = (path, text, names)
        if names:
            require_short_names(Tell(path, text, names, "0" * 32, self._head).written())
        key = self._keys.get(sent)
        if key is None:
            key = self._keys[sent] = random_bytes(16).hex()
            if len(self._keys) > _KEPT:  # as many were given up
                del self._keys[next(iter(self._keys))]
        body = Tell(path, text, names, key, self._head).written()
        told = MessageReply.read(self._posted(body))
        self._require_later(told.head)
        outcome = told.outcome
        if outcome.kind == QUERY_ERROR:
            self._keys.pop(sent, None)
            raise _error(outcome.type, outcome.text)
        answer = self._decoded(outcome.answer)
        receipts = tuple(map(self._decoded, outcome.receipts))
        start = told.seq - told.new
        self._fetch(start)
        answer = self._mirror.told(path, query, taken, answer, receipts, start, told.new)
        self._keys.pop(sent, None)
        return answer

    def _decoded(self, text: str | None) -> Any:
        """A value of the curator's.

        Raises:
            WireError: it cannot be read here.
        """
        try:
            return self._codec.decode(text)
        except CodecError as error:
            raise WireError(
                f"the curator's reply has a value that this library cannot read: {error}. Use a "
                "version of queryable like the curator's"
            ) from None

    def _writable(self, value: Any) -> bool:
        try:
            self._codec.encode(value)
        except CodecError:
            return False
        return True

    def _posted(self, body: bytes) -> bytes:
        try:
            return self._transport.post(f"{self._target}/tell", body)
        except RolledBackError:
            self._rolled_back = True
            raise

    def _require_later(self, head: Head) -> None:
        """Check that the curator's ledger has all that this client has seen.

        Raises:
            RolledBackError: it does not.
        """
        seen = self._head
        if head.seq < seen.seq or (head.seq == seen.seq and head.hash != seen.hash):
            self._rolled_back = True
            raise RolledBackError(_ROLLED_BACK)
        self._head = head

    def _fetch(self, count: int) -> None:
        """Read exchanges that this client does not know, until it knows `count` at least."""
        while self._mirror.count < count:
            before = self._mirror.count
            self._read(self._page(before))
            if self._mirror.count == before:
                raise WireError("the curator says that there are exchanges, and shows none")

    def _page(self, after: int) -> Page:
        page = Page.read(self._transport.get(f"{self._target}/view?after={after}"))
        self._require_later(page.head)
        if page.seq < after:
            self._rolled_back = True
            raise RolledBackError(_ROLLED_BACK)
        return page

    def _read(self, page: Page) -> None:
        for each in page.exchanges:
            self._mirror.fetched(self._exchange(each), each.name)

    def _exchange(self, shown: ShownExchange) -> Exchange:
        decode = self._decoded
        receipts = tuple(map(decode, shown.receipts))
        return Exchange(shown.path, decode(shown.query), decode(shown.answer), receipts=receipts)

    def refresh(self) -> None:
        """Read what other processes of the same analyst have sent since."""
        self._require_here()
        if self._lock._is_owned():  # type: ignore[attr-defined]
            return  # a message is under way in this thread
        if self._lock.acquire(blocking=False):  # otherwise, what is known is shown
            try:
                more = True
                while more:
                    page = self._page(self._mirror.count)
                    self._read(page)
                    more = self._mirror.count < page.seq and page.exchanges != ()
            finally:
                self._lock.release()

    def time_of(self, entry: int) -> int | None:
        """Not known: views do not have times."""
        return None

    def exchanges(self) -> Iterator[Exchange]:
        """The exchanges that are kept, in order."""
        return (exchange for _, exchange in self.record()[0].numbered())

    def record(self) -> tuple[Record, Mapping[int, str]]:
        """The log as of now, and the names of launches by the number of their exchange."""
        self.refresh()
        return self._mirror.record()

    def _require_here(self) -> None:
        if os.getpid() != self._process:
            raise HandleError("this queryable belongs to another process; it does not survive fork")


class _Handles(Handles[Any]):
    """The handles of a remote tree: whoever asks for children gets those of the curator."""

    def __init__(self, root: RemoteRoot) -> None:
        super().__init__()
        self._root = root

    def openings(self, path: Path) -> Mapping[Any, Answer]:
        """The opening answers of the children at a path, after reading what is new."""
        self._root.refresh()
        return super().openings(path)


def _id(identity: Any) -> int | str:
    """The id of a child as a plain int or string, whose methods are nobody's own.

    Raises:
        UnknownChildError: it is neither.
    """
    if isinstance(identity, bool) or not isinstance(identity, int | str):
        raise UnknownChildError(f"a child's id is an int or a name, not {named(identity)}")
    return int.__index__(identity) if isinstance(identity, int) else str.__str__(identity)


def _error(kind: str | None, text: str | None) -> QueryError:
    """The error of a wrong query: the class of that name, or `QueryError` if it is unknown."""
    found = getattr(errors, kind or "", QueryError)
    if not (isinstance(found, type) and issubclass(found, QueryError)):
        found = QueryError
    return found(text)

"""`LocalService`: answers messages in the process that has the data.

Responsible for everything between a body and a root: decoding with narrow limits, request keys, the
path of the token, and what of an answer may be seen from there. Knows no network and no token.

Theory of operation. One message is told at a time. A root settles what becomes of a message, also
if an exception interrupts it, and an entry of its log tells. So a reply is made from the log, and a
retry finds the same entries by its key. An exception that is nobody's error is reported to the
owner and never told: if the journal goes on, nothing was charged and the query is called wrong;
otherwise the root has to be opened again, which settles the message, and the client tries again.
"""

import threading
from collections.abc import Callable
from contextlib import suppress

import attrs

from curator.codec import CODEC, Codec, queries_of
from curator.ledgers import LedgerError, LedgerFullError
from curator.logs.batch_files import BatchFolder
from curator.logs.journal import LedgerJournal
from curator.logs.requests import Answered, RequestKey
from curator.service.answering.feeding import Feeder, WrongOrderError
from curator.service.answering.heads import Heads
from curator.service.answering.hourly import HourlyLimit
from curator.service.answering.lengths import MessageLimits, require_short
from curator.service.answering.places import matched, require_names
from curator.service.answering.reading import Kept, RootReader
from curator.service.services import HTTPReply
from curator.wire import (
    ANSWER,
    FAILED,
    HALTED,
    QUERY_ERROR,
    REFUSED,
    AccessError,
    CuratorError,
    MessageOutcome,
    MessageReply,
    Page,
    RequestKeyError,
    RolledBackError,
    RootDescription,
    Tell,
    UnavailableError,
    WireError,
    error_body,
)
from curator.wire.texts import dumped, require_json
from mechanisms.tables.requests.remembered import asked_by
from queryable import errors
from queryable.effort import within_effort
from queryable.errors import (
    CodecError,
    HandleError,
    QueryError,
    UnknownChildError,
)
from queryable.handle import Queryable
from queryable.messages import (
    Answer,
    Failed,
    Halted,
    Query,
    Refused,
    is_many,
    unnested,
)
from queryable.running.handles import Path
from queryable.running.many import exchanges_of
from queryable.running.root import MemoryRoot

_STATUSES = {
    WireError: 400,
    AccessError: 404,
    RequestKeyError: 409,
    RolledBackError: 409,
    CuratorError: 500,
    UnavailableError: 503,
    WrongOrderError: 409,
}
_KINDS = {Refused: REFUSED, Failed: FAILED, Halted: HALTED}
_UNAVAILABLE = "the curator opens this data set again; try again"
_FULL = "the curator's ledger has no room; nothing was read or charged. Tell its owner"
_OURS = (
    "this query cannot be answered, because of an error in the curator, which its owner has been "
    "told; nothing was read, and nothing has changed"
)
_NOT_FED = "the curator could not take this; its log says why, and `curator status` what there is"
_UNWRITTEN = "the curator could not write its reply; its owner has been told"


@attrs.frozen
class _Sent:
    """A message that was read.

    Attributes:
        token: the path of the token.
        path: where the query goes, from the root.
        text: that of the query; None if it was sent within others.
    """

    token: Path
    path: Path
    query: Query
    names: tuple[str | None, ...]
    text: str | None


class LocalService:
    """Answers the messages to a root on a ledger: a `Service`.

    Args:
        handle: what `curator.open` returned. Nobody else may send it messages.
        codec: the codec with which it was opened.
        tick, deadline: told to clients; seconds, or None.
        on_fault: called with exceptions that are nobody's error.
        batches: the folder with the files of batches, if the data grow.
        allowed: what one message of an analyst may take.

    Attributes:
        feeder: takes what the data's owner feeds.
        broken: whether the root has to be opened again; messages are then answered with 503.
    """

    def __init__(
        self,
        handle: Queryable,
        *,
        codec: Codec = CODEC,
        tick: float | None = None,
        deadline: float | None = None,
        on_fault: Callable[[BaseException], object] | None = None,
        batches: BatchFolder | None = None,
        allowed: MessageLimits = MessageLimits(),  # noqa: B008 (it is frozen)
    ) -> None:
        root = handle._root
        journal = getattr(root, "journal", None)
        if not isinstance(root, MemoryRoot) or not isinstance(journal, LedgerJournal):
            raise TypeError("serve a handle that curator.open gave; this one has no ledger")
        self._root, self._journal, self._codec = root, journal, codec
        self._queries = queries_of(codec)
        self._owners = queries_of(codec)  # remembers what would take an analyst too long
        self._tick, self._deadline, self._on_fault = tick, deadline, on_fault
        self._allowed, self._hourly = allowed, HourlyLimit(allowed.per_hour)
        self._lock = threading.Lock()
        self._reader = RootReader(root, codec, journal.requests.time_of)
        self.feeder = Feeder(root, journal, self._owners, batches)
        self.broken = False
        self._heads = Heads(journal)

    @property
    def lost(self) -> bool:
        """Whether another curator was found to have the lease."""
        return self._journal.lost

    # What a server asks

    def tell(self, path: Path, body: bytes, deadline: float | None = None) -> HTTPReply:
        """Send a message; see `Service.tell`."""
        allowed = self._allowed
        with (
            within_effort(
                bool(path), allowed.steps, allowed.growth * len(body)
            ),  # an owner may take it
            asked_by(path),
        ):
            return self._replied(lambda: self._tell(path, body))

    def feed(self, body: bytes) -> HTTPReply:
        """Take what the data's owner feeds; see `Service.feed`."""
        return self._replied(lambda: self._feed(body))

    def describe(self, path: Path) -> HTTPReply:
        """Describe the mechanism at a path; see `Service.describe`."""
        return self._replied(lambda: self._describe(path))

    def view(self, path: Path, after: int) -> HTTPReply:
        """Show some exchanges; see `Service.view`."""
        return self._replied(lambda: self._view(path, after))

    def page(self, path: Path, after: int | None = None) -> HTTPReply:
        """Show what a page for people has; see `Service.page`."""
        return self._replied(lambda: self._reader.page(path, after).encode())

    def status(self) -> HTTPReply:
        """Say how the root is; see `Service.status`."""
        return self._replied(self._status)

    def _replied(self, run: Callable[[], bytes]) -> HTTPReply:
        try:
            return HTTPReply(200, run())
        except tuple(_STATUSES) as error:
            return HTTPReply(_STATUSES[type(error)], error_body(error))
        except (HandleError, LedgerError) as error:
            self._report(error)
            self.broken = self.broken or isinstance(error, HandleError)
            return HTTPReply(503, error_body(UnavailableError(_UNAVAILABLE)))
        except Exception as fault:  # an error of ours; its text may be about anything
            self._report(fault)
            return HTTPReply(500, error_body(CuratorError(_UNWRITTEN)))

    def _report(self, fault: BaseException) -> None:
        if self._on_fault is not None:
            try:
                self._on_fault(fault)
            except Exception:  # the analyst is answered, whatever the owner's callback does
                return

    # Messages

    def _tell(self, token: Path, body: bytes) -> bytes:
        message = Tell.read(body)
        path = (*token, *message.path)
        request = RequestKey(message.key, message.digest(path))
        with self._lock:
            if self.broken:
                raise UnavailableError(_UNAVAILABLE)
            self._heads.require(message.seen)
            known = self._journal.requests.find(request.key)
            if known is not None and known.body != request.body:
                raise RequestKeyError(
                    "this request key was used for another message; draw a new one at random for "
                    "each message"
                )
            try:
                sent = self._read(token, path, message, body)
                if known is not None:
                    return self._asked(sent, known)
                self._hourly.require(token, sent.query, self._repeated(sent))
            except QueryError as error:
                return self._wrong(token, error)
            return self._ask(sent, request)

    def _read(self, token: Path, path: Path, message: Tell, body: bytes) -> _Sent:
        """Read the query.

        Raises:
            QueryError: it is not one of the schema.
            WireError: it is not JSON.
        """
        try:
            codec = self._queries if token else self._owners
            value, text = codec.read(message.query)
            asked, query = unnested(value)
        except CodecError:
            require_json(message.query)
            raise
        if token:
            require_short(len(body), query, self._allowed)
        if any(type(child) not in (int, str) for child in asked):
            raise UnknownChildError("a child has an integer or a text as its id")
        if message.names:
            require_names(query, message.names)
        return _Sent(token, (*path, *asked), query, message.names, None if asked else text)

    def _repeated(self, sent: _Sent) -> set[int]:
        """The places of the launches that were answered before, under their names."""
        found = set()
        for place, name in enumerate(sent.names):
            with suppress(KeyError):
                if name:
                    self._root.answer_under(sent.path, name)
                    found.add(place)
        return found

    def _ask(self, sent: _Sent, request: RequestKey) -> bytes:
        """Send a message to the root."""
        first = self._root.entries
        self._journal.request = request
        self._journal.written.send(sent.query, sent.text)
        try:
            answer = self._root.tell(sent.path, sent.query, sent.names)
        except QueryError as error:
            return self._wrong(sent.token, error)
        except Exception as fault:
            known = self._excused(fault, request)
            if known is None:
                return self._wrong(sent.token, QueryError(_OURS))
            return self._asked(sent, known)
        finally:
            self._journal.request = None
            self._journal.written.send(None, None)
            if self._journal.pending is None:  # nothing is under way
                self._heads.go_on()
        kept = self._reader.entries(sent.token, first, self._root.entries)
        return self._written(sent.token, first, kept, answer)

    def _excused(self, fault: Exception, request: RequestKey) -> Answered | None:
        """The answer to a message that raised what is not its error; None if nothing has changed.

        Raises:
            UnavailableError: it is settled when the root is opened again.
        """
        entries = self._settle(fault)
        known = self._journal.requests.find(request.key)
        if known is not None and known.first + known.count <= entries:
            return known
        self._require_stored(fault)
        return None

    def _settle(self, fault: Exception) -> int:
        """Report what a message raised, and go on; the number of entries of the log.

        Raises:
            UnavailableError: the root has to be opened again.
        """
        self._report(fault)
        try:
            entries = self._root.entries  # settles the message
            self._journal.require_ready()
        except (HandleError, LedgerError):
            self.broken = True
            raise UnavailableError(_UNAVAILABLE) from None
        return entries

    @staticmethod
    def _require_stored(fault: Exception) -> None:
        """Tell a client to try again, if the ledger did not take the message."""
        if isinstance(fault, LedgerError):
            full = isinstance(fault, LedgerFullError)
            raise UnavailableError(_FULL if full else _UNAVAILABLE) from None

    def _asked(self, sent: _Sent, known: Answered) -> bytes:
        """The reply to a message that was answered before."""
        kept = self._reader.entries(sent.token, known.first, known.first + known.count)
        answer = self._again(sent, kept) if is_many(sent.query) else kept[0][0].answer
        return self._written(sent.token, known.first, kept, answer)

    def _again(self, sent: _Sent, kept: list[Kept]) -> Answer:
        """The answers to several entries: kept ones, old ones by name; polls are asked again."""
        names, answers = sent.names, list[Answer]()
        entries = exchanges_of(sent.path, sent.query, None)
        for place, at in enumerate(self._places(sent, kept)):
            name = names[place] if names else None
            if at is not None:
                answers.append(kept[at][0].answer)
            elif name is not None and name in names[:place]:
                answers.append(answers[names.index(name)])
            elif name is not None:
                answers.append(self._root.answer_under(sent.path, name))
            else:
                answers.append(self._root.tell(entries[place].path, entries[place].query))
        return tuple(answers)

    def _places(self, sent: _Sent, kept: list[Kept]) -> list[int | None]:
        """For each entry of a message, which of the kept exchanges is its own."""
        entries = exchanges_of(sent.path[len(sent.token) :], sent.query, None)
        if len(entries) == len(kept):
            return [*range(len(kept))]
        names = sent.names or (None,) * len(entries)
        encode = self._codec.encode
        asked, there = (
            [(each.path, encode(each.query), name) for each, name in pairs]
            for pairs in (zip(entries, names, strict=True), kept)
        )
        return [*matched(asked, there)]

    def _feed(self, body: bytes) -> bytes:
        with self._lock:
            if self.broken:
                raise UnavailableError(_UNAVAILABLE)
            try:
                return self.feeder.take(body)
            except (WrongOrderError, WireError):
                raise
            except Exception as fault:
                self._settle(fault)
                self._require_stored(fault)
                raise CuratorError(_NOT_FED) from None
            finally:
                self._heads.go_on()

    # Replies

    def _written(self, token: Path, first: int, kept: list[Kept], answer: Answer) -> bytes:
        """A reply.

        Args:
            first: the number of entries of the whole log before the message.
            kept: those of its own, the last of which has the receipts of asked children.
        """
        try:
            text = self._reader.answer_text(answer)
        except CodecError as error:
            if kept:
                raise
            return self._wrong(token, error)  # a report has more digits than a text may
        receipts = tuple(map(self._reader.text, kept[-1][0].receipts)) if kept else ()
        outcome = MessageOutcome(_KINDS.get(type(answer), ANSWER), text, receipts=receipts)
        seq = self._reader.seq(token, first + len(kept))
        return MessageReply(seq, len(kept), self._heads.last, outcome).written()

    def _wrong(self, token: Path, error: QueryError) -> bytes:
        kind = next(each for each in type(error).__mro__ if each.__module__ == errors.__name__)
        outcome = MessageOutcome(QUERY_ERROR, type=kind.__name__, text=str(error))
        seq = self._reader.seq(token, self._root.entries)
        return MessageReply(seq, 0, self._heads.last, outcome).written()

    # What is read

    def _describe(self, token: Path) -> bytes:
        reader = self._reader
        mechanism, opening = reader.described(token)
        seq, protects = len(reader.numbers(token)), self._root.protects
        return RootDescription(
            mechanism, opening, protects, seq, self._heads.last, self._tick, self._deadline
        ).written()

    def _view(self, token: Path, after: int) -> bytes:
        shown, seq = self._reader.shown(token, after)
        return Page(shown, seq, self._heads.last).written()

    def _status(self) -> bytes:
        node = self._reader.tree()
        status = {
            "root": self._journal.root,
            "mechanism": node.mechanism,
            "spent": None if node.spent is None else str(node.spent),
            "share": None if node.share is None else float(node.share),
            "messages": self._root.entries,
            "head": {"seq": self._heads.last.seq, "hash": self._heads.last.hash},
            "broken": self.broken,
        }
        return dumped(status).encode()

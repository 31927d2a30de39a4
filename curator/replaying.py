"""`replay`: the whole analysis of a root again, from its log, with the key and the data.

Responsible for comparing every answer and every charge with the log, bit for bit. Needs no lease
and writes nothing, so it may run beside the curator.

Theory of operation: coins come from the key and the history, so the same messages on the same data
have the same answers. Each message is sent to a root in memory, whose journal writes what a curator
would write; that text is compared with the log. A message that failed may have been interrupted, or
have ended its process. It is not run again, and leaves what the log says. If other entries of one
message were answered, it is run to compare these, and then leaves what the log says.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import attrs

from curator.arguments import name_of, require_codec
from curator.codec import CODEC, Codec
from curator.fingerprints import differences
from curator.identities import Place, described, is_key, root_id, secret_of
from curator.keys import Key
from curator.ledgers import Event, LedgerError, chained, ledger_of
from curator.logs.batches import Batches, Marks, Updates
from curator.logs.journal import LedgerJournal
from curator.logs.story import message_of, past_of, same_by, story_of
from mechanisms import Table
from queryable.checks.datasets import protected, protects
from queryable.conversation.recalling import Recall
from queryable.errors import CodecError, InteractiveError, QueryError
from queryable.handle import Queryable
from queryable.mechanism import InteractiveMechanism
from queryable.messages import Answer, Failed, Halted, Refused, without_receipts
from queryable.randomness.sealed import SealedCoins
from queryable.running.folding import fold, fold_update
from queryable.running.journal import Message
from queryable.running.root import MemoryRoot

_UNREAD = (Failed, Refused, Halted)  # answers for which nothing was read, or that tell nothing
_FED = "fed"  # in the body of a message of the data's owner
_SHORT = {"fingerprint": "data", "answer": "answer", "charges": "charge and account"}


@attrs.frozen
class Difference:
    """Where an analysis that is run again differs from its log for the first time.

    Attributes:
        event: the number of the event that has the message; 1 for the opening.
        path: the queryable that was asked.
        what: "answer", "charges", "mechanism", "fingerprint" of the data, or "history": the
            message, or one before it, is not the one that was asked.
        logged, found: that part in the log, and now. Answers are as private as the view.
    """

    event: int
    path: tuple[Any, ...]
    what: str
    logged: str
    found: str

    def __str__(self) -> str:
        where = f"event {self.event}, path {[*self.path]}: the {_SHORT.get(self.what, self.what)}"
        if self.what == "fingerprint":
            parts = differences(json.loads(self.logged), json.loads(self.found))
            return f"{where} are others: {parts}"
        return f"{where} was {_brief(self.logged)}, and is {_brief(self.found)}"


@attrs.frozen
class Replayed:
    """What a replay has found.

    Attributes:
        root: the root's name.
        messages: the number of messages that have the answers and charges of the log.
        failed: the number of those that the log says have failed; they were not run again.
        unanswered: whether the last message has no answer in the log.
        difference: the first difference; None if there is none.
        batches: the number of batches that were fed again.
        head: the hash of the last event that was read.
    """

    root: str
    messages: int
    failed: int
    unanswered: bool
    difference: Difference | None
    batches: int = 0
    head: str = ""

    def __str__(self) -> str:
        one = self.messages == 1
        text = f"{self.root}: {self.messages} message{' has' if one else 's have'} the answer"
        text += f"{'' if one else 's'} and charges of the log"
        if self.failed:
            text += f"; {self.failed} of them failed and were not run again"
        if self.batches:
            text += f"; {self.batches} batch{'' if self.batches == 1 else 'es'} fed again"
        if self.difference is not None:
            text += f"; then {self.difference}"
        return text + ("; the last message has no answer yet" if self.unanswered else "")


def replay(
    ledger: Place,
    mechanism: InteractiveMechanism[Any],
    dataset: Any,
    *,
    name: str,
    updates: Updates = (),
    key: Key | None = None,
    codec: Codec = CODEC,
) -> Replayed:
    """Run the whole analysis of a root again, and compare each answer and charge with the log.

    Reads all the data that the analysis has read. Writes nothing to the ledger, and needs no lease.

    Args:
        ledger, mechanism, dataset, name, updates, key, codec: as for `curator.open`.

    Raises:
        LedgerError: there is no such root, its events do not make sense or have a tag that the
            codec does not read, the key is another, or a batch is missing or another one.

    Examples:
        >>> import tempfile
        >>> import curator
        >>> from composition import FiltCon
        >>> from mechanisms import Count, Gaussian
        >>> from queryable import ZCDP
        >>> folder, data = tempfile.TemporaryDirectory(), {"age": [31, 47, 62]}
        >>> ledger, mechanism = f"{folder.name}/visits.db", FiltCon(ZCDP("1/10"))
        >>> table = curator.open(ledger, mechanism, data, name="visits")
        >>> noisy = table(Gaussian(Count(), rho="1/50"))
        >>> print(curator.replay(ledger, mechanism, data, name="visits"))
        visits: 1 message has the answer and charges of the log
        >>> folder.cleanup()
    """
    return recalled(
        ledger, mechanism, dataset, name=name, updates=updates, key=key, codec=codec, keep=False
    )[0]


def recalled(
    ledger: Place,
    mechanism: InteractiveMechanism[Any],
    dataset: Any,
    *,
    name: str,
    updates: Updates = (),
    key: Key | None = None,
    codec: Codec = CODEC,
    keep: bool = True,
) -> tuple[Replayed, Queryable | None]:
    """What a replay has found, and the analysis in memory; None if it differs from its log.

    The analysis is the owner's. Nothing that it is asked reaches the ledger.

    Args:
        keep: whether it keeps its batches, for `queryable.audit.on_neighbours`.

    Raises:
        LedgerError: as `replay`.
    """
    require_codec(codec)
    name, place = name_of(name), ledger_of(ledger)
    try:
        events = list(chained(place.read(name)))
    finally:
        if place is not ledger:
            place.close()
    story = story_of(events)
    if story.opened is None:
        raise LedgerError(f"there is no root {name!r} in {place!r}")
    try:
        secret = secret_of(key, ledger, new=False)
    except FileNotFoundError:
        if story.closed:
            raise LedgerError(f"root {name!r} is closed, and its key is not there") from None
        raise
    if not is_key(story.opened, secret):
        raise LedgerError(f"root {name!r} was opened with another key; give that one")
    given = protected(dataset)
    if isinstance(given, Table):
        given = given.with_seed(int(story.opened["seed"]))
    head = events[-1].hash
    replayed = Replayed(name, 0, 0, story.pending is not None, None, head=head)
    now = described(mechanism, given, secret, codec)
    if (difference := _first(1, (), story.opened, now, ("mechanism", "fingerprint"))) is not None:
        return attrs.evolve(replayed, difference=difference), None
    if story.opening is None:
        return replayed, None
    coins = SealedCoins(secret, root_id(name, story.opened), canonical=codec.encode)
    marks = Marks(secret, story.opened["salt"])
    batches = Batches(codec, marks, updates), Batches(codec, marks)
    try:
        again = _Replay(mechanism, given, coins, codec, story.opening, batches)
        if keep:
            from queryable.audit import keep_batches

            keep_batches(again.analysis)
        found = again.of(events, replayed)
        return found, again.analysis if found.difference is None else None
    except CodecError as error:
        raise LedgerError(
            f"root {name!r} has a value that is not read here: {error}. Give the codec= of the "
            "site whose mechanisms it has, or replay it with the version of the packages that "
            "wrote it; nothing is wrong with the ledger"
        ) from None


class _Replay:
    """A root in memory that is told the messages of a log."""

    def __init__(
        self,
        mechanism: InteractiveMechanism[Any],
        dataset: Any,
        coins: SealedCoins,
        codec: Codec,
        opening: str,
        batches: tuple[Batches, Batches],
    ) -> None:
        self._given, self._fed = batches  # by the owner, and to the root in memory
        self._coins, self._codec, self._logged = coins, codec, opening
        logged = codec.decode(opening)
        failed = Recall.of_opening(logged, same_by(codec)) if isinstance(logged, Failed) else None
        protection = protects(dataset)
        self._root = MemoryRoot(mechanism, dataset, coins, None, protection, opening=failed)
        opened = codec.encode(without_receipts(self._root.opening))
        self._opening, self._history = str(opened, "ascii"), coins.answered_with(opened)
        self._notes: Any = _Notes()

    @property
    def analysis(self) -> Queryable:
        """The root as its owner's queryable."""
        return Queryable._over(self._root)

    def of(self, events: Sequence[Event], replayed: Replayed) -> Replayed:
        """The report, after all messages or up to the first difference."""
        opening = {"answer": self._logged}, {"answer": self._opening}
        if (difference := _first(1, (), *opening, ("answer",))) is not None:
            return attrs.evolve(replayed, difference=difference)
        self._root.journal = LedgerJournal(
            self._notes, replayed.root, 1, self._codec, batches=self._fed
        )
        messages, failed, difference = 0, 0, None
        for number, asked, answered in _messages(events):
            fed = _FED in asked
            try:
                if fed:
                    lost, difference = False, self._grows_otherwise(number, asked)
                else:
                    lost, difference = self._differs(number, asked, answered)
            except (ValueError, TypeError, KeyError, IndexError) as error:
                raise LedgerError(
                    f"root {replayed.root!r}: event {number} is not what a curator writes"
                ) from error
            if difference is not None:
                break
            messages, failed = messages + (not fed), failed + lost
        else:
            self._given.require_all()
        batches = self._fed.course.batches
        return attrs.evolve(
            replayed, messages=messages, failed=failed, difference=difference, batches=batches
        )

    def _grows_otherwise(self, number: int, fed: dict[str, Any]) -> Difference | None:
        """How a message of the data's owner differs from the log now."""
        now = self._history.asked_with(f"[[],{fed['query']}]".encode())
        self._history = now.answered_with(fed["answer"].encode())
        found = {"history": now.history.hex()}
        if (difference := _first(number, (), fed, found, ("history",))) is not None:
            return difference
        message = self._given.again(fed["query"], fed.get("id"))
        if "retired" in fed:
            self._fed.course.take(fed["query"])
            fold_update(self._root, message, now, dead=True)
            return None
        self._notes.events.clear()
        try:
            self._root.feed(message)
        except InteractiveError as error:
            return Difference(number, (), "answer", fed["answer"], type(error).__name__)
        ((_, found, _),) = _messages(self._notes.events)
        return _first(number, (), fed, found, ("history", "query"))

    def _differs(
        self, number: int, asked: dict[str, Any], answered: dict[str, Any]
    ) -> tuple[bool, Difference | None]:
        """Whether a message failed in the log, and how it differs from the log now."""
        message = message_of(asked, self._coins, self._codec)
        logged, path = _whole(asked, answered), message.path
        now = self._history.asked(path, message.query)
        self._history = now.answered_with(answered["answer"].encode())
        failed = _has_failed(self._codec.decode(answered["answer"]))
        found = {"history": now.history.hex()}
        difference = _first(number, path, logged, found, ("history",))
        if difference is not None:
            return failed, difference
        if failed:
            difference = self._of_the_others(number, message, logged)
            fold(self._root, [past_of(asked, answered, self._coins, self._codec)])
            return True, difference
        self._notes.events.clear()
        try:
            self._root.tell(path, message.query, message.names)
        except QueryError as error:
            raised = type(error).__name__
            return False, Difference(number, path, "answer", logged["answer"], raised)
        for _, *pair in _messages(self._notes.events):
            found = _whole(*pair)
        return False, _first(number, path, logged, found, ("answer", "retired", "charges"))

    def _of_the_others(
        self, number: int, message: Message, logged: dict[str, Any]
    ) -> Difference | None:
        """Compare the entries that were answered where another entry of one message failed."""
        before = self._codec.decode(logged["answer"])
        if not isinstance(before, tuple) or all(isinstance(each, _UNREAD) for each in before):
            return None
        self._notes.events.clear()
        moment = self._root.settled()
        self._root.tell(message.path, message.query, message.names)
        self._root.resume(moment)
        for _, asked, answered in _messages(self._notes.events):
            now = self._codec.decode(_whole(asked, answered)["answer"])
            for one, other in zip(before, now, strict=True):
                texts = [str(self._codec.encode(each), "ascii") for each in (one, other)]
                if not isinstance(one, Failed) and texts[0] != texts[1]:
                    return Difference(number, message.path, "answer", *texts)
        return None


class _Notes:
    """A ledger that keeps what a journal writes until it is read."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def append(self, root: str, events: Sequence[Event]) -> None:
        """Keep the events."""
        self.events += events

    def renew(self, root: str, epoch: int, ttl: float) -> None:
        """There is no other writer."""


def _messages(events: Iterable[Event]) -> Iterator[tuple[int, dict[str, Any], dict[str, Any]]]:
    """The messages that are part of the history, each with the number of its event."""
    waiting = None
    for event in events:
        if event.kind == "intent":
            waiting = event
        elif event.kind == "exchange":
            body = json.loads(event.body)
            yield event.seq, body, body
        elif event.kind == "update":
            body = json.loads(event.body) | {_FED: True}
            yield event.seq, body, body
        elif event.kind == "answer" and waiting is not None:
            asked, waiting, answered = json.loads(waiting.body), None, json.loads(event.body)
            if not answered.get("void"):
                yield event.seq, asked, answered


def _whole(asked: dict[str, Any], answered: dict[str, Any]) -> dict[str, Any]:
    """A message and its answer, with the charges that stand at last."""
    return {"charges": [], "retired": None} | asked | answered


def _first(
    number: int,
    path: tuple[Any, ...],
    logged: dict[str, Any],
    found: dict[str, Any],
    parts: Iterable[str],
) -> Difference | None:
    """The first of these parts that differs."""
    for part in parts:
        before, now = logged.get(part), found.get(part)
        if before != now:
            return Difference(number, path, part, _text(before), _text(now))
    return None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def _brief(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:197]}..."


def _has_failed(answer: Answer) -> bool:
    return any(
        isinstance(each, Failed) for each in (answer if isinstance(answer, tuple) else (answer,))
    )

"""Making states again from a log of messages and answers, without reading data before it is needed.

Responsible for two values. A `Recall` is the logged answer of one message. It stands in for the
leaves (`queryable.conversation.standing`), so that compositors do everything but run children: a
child's answer is the logged one. An `Unplayed` is the state of a child whose messages are known but
have not been run again. It is run when the child is next asked; each answer is then compared with
the logged one.

A compositor that is `recallable` is made again with its true state, so accounts and ids are real.
Everything else is one unit, with all that is in it, whose state is `Unplayed`.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple, Protocol

from queryable.conversation.standing import Standing
from queryable.conversation.steps import LOST, Moved, Pass, Start, with_records
from queryable.data.growing import launched_on
from queryable.effort import within_effort
from queryable.mechanism import InteractiveMechanism, Measurement
from queryable.messages import OWNERS, Answer, Failed, Launched, Query
from queryable.randomness.coins import Coins

Toss = Callable[[], Coins]
"""Gives the coins of a message, fresh each time."""

Same = Callable[[Answer, Answer], bool]
"""Whether two answers are the same."""


class DifferentAnswerError(Exception):
    """A mechanism answers otherwise than its log says: the data, or the code, are not the same."""


class UnitMessage(NamedTuple):
    """A message to a unit: the query, its coins, and the logged answer."""

    query: Query
    coins: Toss
    answer: Answer


Ahead = Callable[[Any, Sequence[Query]], None]
"""Is told the data and the next queries, which have been paid for."""

_TOGETHER = 64
"""Queries for which the data may read at once."""


class Kept(Protocol):
    """May have the state of a unit after some of its messages, so that only later ones are run."""

    def find(
        self, data: Any, count: int, message: Callable[[int], UnitMessage]
    ) -> tuple[int, Any] | None:
        """How many of `count` messages a state has, and the state; None if there is none."""

    def note(self, count: int, message: UnitMessage, state: Any) -> None:
        """A message was run again; `count` are now."""


Place = tuple[int, ...]
"""Where a log has a message."""


_NOTICE: ContextVar[Callable[[], object] | None] = ContextVar("notice", default=None)


@contextmanager
def noticing(notice: Callable[[], object]) -> Iterator[None]:
    """Call a function, while the block runs, before each message that is run again."""
    token = _NOTICE.set(notice)
    try:
        yield
    finally:
        _NOTICE.reset(token)


_RECALLING: ContextVar[bool] = ContextVar("recalling", default=False)


def recalling() -> bool:
    """Whether messages are made again, or tried in a dry run: they were checked before."""
    return _RECALLING.get()


@contextmanager
def making_again() -> Iterator[None]:
    """Say, while the block runs, that messages were checked before."""
    token = _RECALLING.set(True)
    try:
        yield
    finally:
        _RECALLING.reset(token)


class Unplayed:
    """The state of a mechanism of which the messages and answers so far are known.

    States of one mechanism share a list of messages, of which each has the first `count`.

    Args:
        mechanism: what runs.
        dataset: what it runs on: `Data` for a compositor, and otherwise its rows.
        coins: give those of its `init`.
        opening: its logged opening answer.
        same: compares an answer with the logged one.
    """

    def __init__(
        self,
        mechanism: InteractiveMechanism[Any],
        dataset: Any,
        coins: Toss,
        opening: Answer,
        same: Same,
    ) -> None:
        self._mechanism, self._dataset, self._coins = mechanism, dataset, coins
        self._opening, self._same = opening, same
        self._messages: list[UnitMessage | Place] = []
        self._read: Callable[[Place], UnitMessage] | None = None
        self._kept: Kept | None = None
        self._count = 0
        self._played: tuple[Any] | None = None

    def asked(self, query: Query, coins: Toss, answer: Answer) -> "Unplayed":
        """The state after one more message."""
        return self._after([UnitMessage(query, coins, answer)])

    def logged(
        self,
        places: Sequence[Place],
        read: Callable[[Place], UnitMessage],
        kept: Kept | None = None,
    ) -> "Unplayed":
        """The state after further messages, which are read from a log when they are run again."""
        after = self._after(places)
        after._read, after._kept = read, kept
        return after

    def _after(self, messages: Sequence[UnitMessage | Place]) -> "Unplayed":
        after = Unplayed(self._mechanism, self._dataset, self._coins, self._opening, self._same)
        known = self._messages
        after._messages = known if len(known) == self._count else known[: self._count]
        after._messages += messages
        after._count, after._read = self._count + len(messages), self._read
        after._kept = self._kept
        return after

    def played(self, ahead: Ahead | None = None) -> Any:
        """The true state: runs everything again once, and reads the data.

        A message that failed, because it was interrupted or memory ran out, need not fail again. A
        mechanism that runs others is then told that what it ran has failed.

        Args:
            ahead: lets the data read for several queries at once.

        Raises:
            DifferentAnswerError: an answer is not the logged one.
        """
        if self._played is None:
            with within_effort(
                False
            ):  # these were admitted, perhaps for somebody who may take the time
                self._played = (self._run(ahead),)
        return self._played[0]

    def stands_for(self, state: Any) -> bool:
        """Whether a state is the true one, as it was played."""
        return self._played is not None and self._played[0] is state

    def _run(self, ahead: Ahead | None) -> Any:
        notice = _NOTICE.get()
        converses = self._mechanism.converses
        data = self._dataset
        if not converses:
            data = launched_on(data, grows=self._mechanism.growth is not None)
        kept = self._kept
        found = kept and kept.find(data, self._count, self._message)
        if found:
            first, state = found
        else:
            first = 0
            state, answer = self._mechanism.init(data, self._coins())
            self._compare(0, answer, self._opening)
        for start in range(first, self._count, _TOGETHER):
            stop = min(start + _TOGETHER, self._count)
            asked = [self._asked(each) for each in self._messages[start:stop]]
            if ahead is not None and not converses:
                ahead(data, [each.query for each in asked])
            for place, message in enumerate(asked, start + 1):
                query, coins, logged = message
                if notice is not None:
                    notice()
                before = state
                if not converses:
                    query = with_records(query)
                state, answer = self._mechanism.step(before, query, coins())
                if self._failed(answer, logged):
                    lost: Any = self._mechanism
                    state, answer = lost.given_up(before, query, coins())
                self._compare(place, answer, logged)
                if kept is not None:
                    kept.note(place, message, state)
        return state

    def _message(self, number: int) -> UnitMessage:
        return self._asked(self._messages[number - 1])

    def _asked(self, message: UnitMessage | Place) -> UnitMessage:
        if isinstance(message, UnitMessage):
            return message
        assert self._read is not None
        return self._read(message)

    def _failed(self, answer: Answer, logged: Answer) -> bool:
        """Whether the message failed, and what it ran does not fail again."""
        failed = self._mechanism.converses and isinstance(logged, Failed)
        return failed and not isinstance(answer, Failed)

    def _compare(self, place: int, answer: Answer, logged: Answer) -> None:
        if not self._same(answer, logged):
            raise DifferentAnswerError(
                f"{type(self._mechanism).__name__} answers message {place} otherwise than the log "
                "says: the data, or the code, are not the same; it is retired"
            )

    def __repr__(self) -> str:
        return f"Unplayed({type(self._mechanism).__name__}, messages={self._count})"


class Recall(Standing):
    """The logged answer of the message that is made again.

    Args:
        answer: without receipts; a tuple for `LaunchMany` and `AskMany`.
        same: compares an answer with the logged one.
        retired: how many `Ask`s deep the child was that this message retired; None if none was.
        lost: whether everything that would read data is given up, after it failed twice.
    """

    def __init__(
        self, answer: Answer, same: Same, retired: int | None = None, *, lost: bool = False
    ) -> None:
        self._answer, self._same, self._lost = answer, same, lost
        self._retired = retired
        self._started = _started(answer)

    @classmethod
    def of_opening(cls, opening: Answer, same: Same) -> "Recall":
        """The logged opening answer of a root."""
        failed = isinstance(opening, Failed)
        return cls(opening if failed else Launched(None, opening), same)

    @staticmethod
    def holds(mechanism: InteractiveMechanism[Any]) -> bool:
        """Whether its conversations are held; others are units."""
        return mechanism.converses and mechanism.recallable  # type: ignore[attr-defined]

    def starts(self, mechanism: InteractiveMechanism[Any]) -> bool:
        """Whether the log has it among what was launched."""
        return not self._lost and isinstance(next(self._started, None), Launched)

    def retires(self, depth: int) -> bool:
        """Whether this message retired the child that is asked, so many `Ask`s deep."""
        return self._retired == depth

    def came(
        self, step: Any, mechanism: InteractiveMechanism[Any], held: Any, coins: Toss
    ) -> Moved | None:
        """What came of a unit, or of a value that was made."""
        if type(step) is Start:
            return self.started(mechanism, held, coins)
        if type(step) is not Pass:
            return LOST if self._lost else Moved(None, None)
        answer = None if issubclass(type(step.query), OWNERS) else self._answer
        if self._lost:
            return LOST
        assert type(held) is Unplayed
        return Moved(held.asked(step.query, coins, answer), answer)

    def started(
        self, mechanism: InteractiveMechanism[Any], dataset: Any, coins: Toss
    ) -> Moved | None:
        """The state and the opening of a unit that was launched; `LOST` if it failed."""
        told = None if self._lost else next(self._started, None)
        if not isinstance(told, Launched):
            return LOST
        if isinstance(mechanism, Measurement):
            return Moved(None, told.answer)
        unplayed = Unplayed(mechanism, dataset, coins, told.answer, self._same)
        return Moved(unplayed, told.answer)


def _started(answer: Answer) -> Iterator[Answer]:
    """The answers of launches that were run, in order."""
    answers = answer if isinstance(answer, tuple) else (answer,)
    return (each for each in answers if isinstance(each, Launched | Failed))

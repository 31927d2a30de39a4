"""Making states again from a log, without reading data where that is not needed.

Responsible for two values. A `Recall` is the logged answer of one message. While it is set in the
scope of a message, compositors do everything but run children: a child's answer is the logged one.
An `Unplayed` is the state of a child whose messages are known but have not been run again. It is
run when the child is next asked; each answer is then compared with the logged one.

A filter or an odometer is made again with its true state, so accounts and ids are real. Everything
else is one unit, with all that is in it, whose state is `Unplayed`.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, NamedTuple, Protocol

from queryable.effort import quickly
from queryable.mechanism import InteractiveMechanism, Measurement, launched_on
from queryable.messages import Answer, Failed, Launched, Query, plain
from queryable.randomness.coins import Coins

Moved = tuple[Any, Answer]

Toss = Callable[[], Coins]
"""Gives the coins of a message, fresh each time."""

Same = Callable[[Answer, Answer], bool]
"""Whether two answers are the same."""


class DifferentAnswerError(Exception):
    """A mechanism answers otherwise than its log says: the data, or the code, are not the same."""


class Asked(NamedTuple):
    """A message to a unit: the query, its coins, and the logged answer."""

    query: Query
    coins: Toss
    answer: Answer


Ahead = Callable[[Any, Sequence[Query]], None]
"""Is told the data and the next queries, which have been paid for."""

_TOGETHER = 64
"""Queries for which the data may read at once."""

GivenUp = Callable[[Callable[[], Moved]], Moved]
"""Runs a step in which no child runs: whatever would read data has failed."""


class Kept(Protocol):
    """May have the state of a unit after some of its messages, so that only later ones are run."""

    def find(
        self, data: Any, count: int, message: Callable[[int], Asked]
    ) -> tuple[int, Any] | None:
        """How many of `count` messages a state has, and the state; None if there is none."""

    def note(self, count: int, message: Asked, state: Any) -> None:
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


class Unplayed:
    """The state of a mechanism of which the messages and answers so far are known.

    States of one mechanism share a list of messages, of which each has the first `count`.

    Args:
        mechanism: what runs.
        dataset: its data.
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
        self._messages: list[Asked | Place] = []
        self._read: Callable[[Place], Asked] | None = None
        self._kept: Kept | None = None
        self._count = 0
        self._played: tuple[Any] | None = None

    def asked(self, query: Query, coins: Toss, answer: Answer) -> "Unplayed":
        """The state after one more message."""
        return self._after([Asked(query, coins, answer)])

    def logged(
        self,
        places: Sequence[Place],
        read: Callable[[Place], Asked],
        kept: Kept | None = None,
    ) -> "Unplayed":
        """The state after further messages, which are read from a log when they are run again."""
        after = self._after(places)
        after._read, after._kept = read, kept
        return after

    def _after(self, messages: Sequence[Asked | Place]) -> "Unplayed":
        after = Unplayed(self._mechanism, self._dataset, self._coins, self._opening, self._same)
        known = self._messages
        after._messages = known if len(known) == self._count else known[: self._count]
        after._messages += messages
        after._count, after._read = self._count + len(messages), self._read
        after._kept = self._kept
        return after

    def played(self, ahead: Ahead | None = None, given_up: GivenUp | None = None) -> Any:
        """The true state: runs everything again once, and reads the data.

        A message that failed, because it was interrupted or memory ran out, need not fail again. A
        mechanism that runs others is then told that what it ran has failed.

        Args:
            ahead: lets the data read for several queries at once.
            given_up: runs a step of which all children fail.

        Raises:
            DifferentAnswerError: an answer is not the logged one.
        """
        if self._played is None:
            with quickly(False):  # these were admitted, perhaps for somebody who may take the time
                self._played = (self._run(ahead, given_up),)
        return self._played[0]

    def _run(self, ahead: Ahead | None, given_up: GivenUp | None) -> Any:
        notice = _NOTICE.get()
        data = launched_on(self._mechanism, self._dataset)
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
            if ahead is not None:
                ahead(data, [each.query for each in asked])
            for place, message in enumerate(asked, start + 1):
                query, coins, logged = message
                if notice is not None:
                    notice()
                step = partial(self._mechanism.step, state, query)
                moved = step(coins())
                if given_up is not None and self._failed(moved[1], logged):
                    moved = given_up(partial(step, coins()))
                state, answer = moved
                self._compare(place, answer, logged)
                if kept is not None:
                    kept.note(place, message, state)
        return state

    def _message(self, number: int) -> Asked:
        return self._asked(self._messages[number - 1])

    def _asked(self, message: Asked | Place) -> Asked:
        if isinstance(message, Asked):
            return message
        assert self._read is not None
        return self._read(message)

    def _failed(self, answer: Answer, logged: Answer) -> bool:
        """Whether the message failed, and what it ran does not fail again."""
        failed = self._mechanism.composes and isinstance(plain(logged), Failed)
        return failed and not isinstance(plain(answer), Failed)

    def _compare(self, place: int, answer: Answer, logged: Answer) -> None:
        if not self._same(plain(answer), plain(logged)):
            raise DifferentAnswerError(
                f"{type(self._mechanism).__name__} answers message {place} otherwise than the log "
                "says: the data, or the code, are not the same; it is retired"
            )

    def __repr__(self) -> str:
        return f"Unplayed({type(self._mechanism).__name__}, messages={self._count})"


class Recall:
    """The logged answer of the message that is made again.

    Args:
        answer: without wrapped receipts; a tuple for `LaunchMany` and `AskMany`.
        same: compares an answer with the logged one.
        retired: how many `Ask`s deep the child was that this message retired; None if none was.
        lost: whether everything that would read data is given up, after it failed twice.
    """

    dry = False
    """Whether nothing was logged, and the recall stands for every child (`queryable.dry_runs`)."""

    def __init__(
        self, answer: Answer, same: Same, retired: int | None = None, *, lost: bool = False
    ) -> None:
        self._answer, self._same, self._lost = answer, same, lost
        self._retired, self._depth = retired, 0
        self._started = _started(answer)

    def started(self, mechanism: InteractiveMechanism[Any], dataset: Any, coins: Toss) -> Any:
        """The state and the opening of a child that was launched; None if it failed."""
        told = None if self._lost else next(self._started, None)
        if not isinstance(told, Launched):
            return None
        return self._unit(mechanism, dataset, coins, told.answer)

    def begun(
        self, mechanism: InteractiveMechanism[Any], dataset: Any, coins: Toss
    ) -> Moved | None:
        """The state and the opening of a root mechanism; None if it failed."""
        if isinstance(self._answer, Failed):
            return None
        return self._unit(mechanism, dataset, coins, self._answer)

    def _unit(
        self, mechanism: InteractiveMechanism[Any], dataset: Any, coins: Toss, opening: Answer
    ) -> Moved:
        if isinstance(mechanism, Measurement):
            return None, opening
        if mechanism.recallable:
            return mechanism.init(dataset, coins())
        return Unplayed(mechanism, dataset, coins, opening, self._same), opening

    def retires(self) -> bool:
        """Whether this message retired the child that is asked now. Called once for each child."""
        self._depth += 1
        return self._retired == self._depth

    def asked(self, state: Unplayed, query: Query, coins: Toss) -> Moved | None:
        """The state and the answer of a unit; None if it failed."""
        if self._lost:
            return None
        return state.asked(query, coins, self._answer), self._answer


def _started(answer: Answer) -> Iterator[Answer]:
    """The answers of launches that were run, in order."""
    answers = answer if isinstance(answer, tuple) else (answer,)
    return (each for each in answers if isinstance(each, Launched | Failed))

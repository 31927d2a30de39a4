"""The one mutable thing of a running tree: its present moment, behind a lock.

Responsible for folding `step` over an opaque state, for the log, and for what stands when a message
fails. Knows no handle, no compositor and no accounting.

Theory of operation: one `Root` owns everything that changes. A query at path (0, 2) travels as
`Ask(0, Ask(2, query))`, so every parent sees it and may refuse. State, log and names change
together, by one assignment. Faults are told to the curator and exceptions raised after that.
"""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import attrs
import numpy as np
from immutables import Map

from queryable.coins import Coins
from queryable.errors import HandleError, QueryError, ReentrantQueryError
from queryable.faults import collecting, raise_interrupt
from queryable.handles import Handles, Path
from queryable.history import History
from queryable.mechanism import InteractiveMechanism, advance, begin
from queryable.messages import Answer, Ask, Halted, Launched, Query, Refused
from queryable.sameness import difference, mark
from queryable.view import Exchange, exchange


@attrs.frozen
class _Named:
    """The mark of a launch that was given a name, and its answer."""

    mark: Any
    answer: Answer

    def recalled(self, name: str, taken: Any) -> Answer:
        """The answer, for a launch with the same mark."""
        where = difference(self.mark, taken)
        if not where:
            return self.answer
        raise QueryError(
            f"{name!r} was launched here before with another mechanism (they differ in {where}), "
            "and nothing has been charged. Take another name for a new question; for the old "
            "answer launch what was launched then. Column expressions compare by what they say, "
            "functions by their code and by the variables that they read, and a class that is "
            "defined again is another class"
        )


@attrs.frozen
class _Moment:
    """What a commit replaces as a whole: the state, how much of the log counts, and the names.

    Attributes:
        names: what launches were called, by their place in the log.
        named: the launches that were given a name, by path and name.
    """

    state: Any
    exchanges: int = 0
    names: "Map[int, str]" = Map()
    named: "Map[tuple[Path, str], _Named]" = Map()


class Root:
    """State, log and lock of one running tree."""

    def __init__(
        self,
        mechanism: InteractiveMechanism[Any],
        dataset: Any,
        coins: Coins,
        on_fault: Callable[[BaseException], object] | None,
    ) -> None:
        self.mechanism = mechanism
        self.coins = coins
        self.on_fault = on_fault
        self.log: list[Exchange] = []
        self.handles: Handles[Any] = Handles()
        self._messages = 0
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._holder: int | None = None
        with self._exclusively(), collecting() as faults:
            state, answer = begin(mechanism, dataset, coins)
            self.opening = _read_only(answer)
            self._now = _Moment(state)
        self._tell_curator(faults)

    @contextmanager
    def _exclusively(self) -> Iterator[None]:
        if os.getpid() != self._process:
            raise HandleError("this queryable belongs to another process; it does not survive fork")
        if self._holder == threading.get_ident():
            raise ReentrantQueryError("a queryable cannot be asked while it answers")
        with self._lock:
            self._holder = threading.get_ident()
            try:
                yield
            finally:
                self._holder = None

    def tell(self, path: Path, query: Query, name: str | None = None) -> Answer:
        """Send a query to the mechanism at `path`, commit the new state, return the answer.

        A launch of a name that has been launched there is not sent: its answer is the old one.
        """
        taken = None if name is None else _marked(query)
        message = query
        for child in reversed(path):
            message = Ask(child, message)
        wrong: QueryError | None = None
        answer: Answer = None
        with self._exclusively(), collecting() as faults:
            if name is not None and (path, name) in self._now.named:
                return self._now.named[path, name].recalled(name, taken)
            self._messages += 1
            try:
                state, answer = advance(
                    self.mechanism, self._now.state, message, self.coins, self._messages
                )
            except QueryError as error:
                wrong = error
            else:
                answer = _read_only(answer)
                named = None if name is None else (name, _Named(taken, answer))
                self._commit(state, exchange(message, answer), named)
        self._tell_curator(faults)
        if wrong is not None:
            wrong.__cause__ = wrong.__context__ = None
            try:
                raise wrong.with_traceback(None)
            finally:
                del wrong  # its traceback has this frame, which would keep the data alive
        return answer

    def _commit(self, state: Any, exchange: Exchange, name: tuple[str, _Named] | None) -> None:
        """Put the new state in place together with its exchange and name, by one assignment.

        Until then the exchange is beyond the part of the log that counts.
        """
        now = self._now
        names, named = now.names, now.named
        if name is not None:
            names = names.set(now.exchanges, name[0])
            if not isinstance(exchange.answer, Refused | Halted):
                named = named.set((exchange.path, name[0]), name[1])
        del self.log[now.exchanges :]  # what an interrupted commit has left
        self.log.append(exchange)
        self._now = _Moment(state, now.exchanges + 1, names, named)

    def exchanges(self) -> list[Exchange]:
        """What has been asked and answered, in order."""
        return self.log[: self._now.exchanges]

    def history(self) -> History:
        """What has happened, read off the log."""
        now = self._now
        return History(self.mechanism, self.opening, self.log[: now.exchanges], now.names)

    def _tell_curator(self, faults: list[BaseException]) -> None:
        if self.on_fault is not None:
            _told(self.on_fault, faults)
        raise_interrupt(faults)


def _marked(query: Query) -> Any:
    """The mark of a launch; whatever a user's values raise is about their own mechanism."""
    try:
        return mark(query)
    except Exception:
        wrong = QueryError(
            "this mechanism cannot be told apart from others, so it cannot have a name: something "
            "in it does not let itself be read, or is nested too deeply"
        )
    try:
        raise wrong
    finally:
        del wrong  # its traceback has this frame


def _told(on_fault: Callable[[BaseException], object], faults: list[BaseException]) -> None:
    for fault in list(faults):
        try:
            on_fault(fault)
        except BaseException as error:  # its text, too, would be about the data
            faults.append(error)


def _read_only(answer: Answer) -> Answer:
    if isinstance(answer, np.ndarray):
        answer.flags.writeable = False
    elif isinstance(answer, Launched):
        _read_only(answer.answer)
    elif isinstance(answer, tuple):
        for entry in answer:
            _read_only(entry)
    return answer

"""The root of a running tree: the only mutable object, behind a lock.

Responsible for folding `step` over an opaque state, for the log, and for the state that stands when
a message fails. Does no accounting.

Theory of operation: a `Root` owns everything that changes. A query at path (0, 2) is sent as
`Ask(0, Ask(2, query))`, so every parent sees it and may refuse. State, log and names are replaced
together, by one assignment. After that, faults are reported to the curator and exceptions are
raised. Several launches or queries in one message are an exchange each.

An interrupt may arrive between any two instructions, also inside an exception handler. Therefore
correctness depends on no handler. While a message runs, the root holds its `_Flight`, which has the
state before the message. If the message does not return, the next access settles it: it computes
the state that stands from the flight.
"""

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextvars import copy_context
from typing import Any

import attrs
import numpy as np
from immutables import Map

from queryable.datasets import Protected
from queryable.errors import HandleError, ReentrantQueryError
from queryable.faults import (
    Scope,
    advance_with_receipts,
    alive,
    begin,
    enter,
    is_interrupt,
    raise_interrupt,
    what_stands,
)
from queryable.mechanism import InteractiveMechanism
from queryable.messages import (
    Answer,
    Halted,
    Launched,
    LaunchMany,
    Query,
    Refused,
    addressed,
    is_many,
)
from queryable.randomness.coins import Coins
from queryable.running.handles import Handles, Path
from queryable.running.log import Log, Record, is_poll
from queryable.running.names import KnownNames, Named, Names, firsts, marked, recalled
from queryable.running.together import exchanges_of
from queryable.view import Exchange


@attrs.frozen
class _Moment:
    """The values that a commit replaces together.

    Attributes:
        state: of the root mechanism.
        exchanges, polls: how many entries and polls of the log are valid.
        names: the names of launches by the number of their exchange.
        named: the named launches by path and name.
    """

    state: Any
    exchanges: int = 0
    polls: int = 0
    names: "Map[int, str]" = Map()
    named: KnownNames = Map()


@attrs.frozen
class _Flight:
    """A running message: the moment before it, and the scope that tells what stands after it."""

    before: _Moment
    scope: Scope
    path: Path
    query: Query
    names: Names


class Root:
    """State, log and lock of one running tree."""

    def __init__(
        self,
        mechanism: InteractiveMechanism[Any],
        dataset: Any,
        coins: Coins,
        on_fault: Callable[[BaseException], object] | None,
        protects: Protected,
    ) -> None:
        self.mechanism = mechanism
        self.coins = coins
        self.on_fault = on_fault
        self.protects = protects
        self.log = Log()
        self.handles: Handles[Any] = Handles()
        self._messages = 0
        self._process = os.getpid()
        self._lock = threading.RLock()  # taken once; it knows its owner, whatever is interrupted
        self._busy = threading.Lock()
        self._now: _Moment | _Flight
        scope = Scope()
        copy_context().run(self._begin, dataset, scope)
        self._tell_curator(scope.faults)

    def _begin(self, dataset: Any, scope: Scope) -> None:
        enter(scope)
        state, answer = begin(self.mechanism, dataset, self.coins)
        self.opening = _read_only(answer)
        self._now = _Moment(state)

    def tell(self, path: Path, query: Query, names: tuple[str | None, ...] = ()) -> Answer:
        """Send a query to the mechanism at `path`, commit the new state, and return the answer.

        A launch whose name was used at this path is not sent; the old answer is returned. The
        answer to `LaunchMany` and `AskMany` is a tuple with an answer for each entry.

        Args:
            names: the name of the launch, or of each of several; () if none has a name.
        """
        taken = marked(query, names) if names else ()
        if os.getpid() != self._process:
            raise HandleError("this queryable belongs to another process; it does not survive fork")
        if self._lock._is_owned():  # type: ignore[attr-defined]
            raise ReentrantQueryError("a queryable cannot be asked while it answers")
        scope = Scope()
        raised: BaseException | None = None
        answer: Answer = None
        with self._lock, self._busy:
            try:
                if taken:
                    answer = self._recall(path, query, taken, scope)
                else:
                    # In a context of its own, which is left however the call ends.
                    answer = copy_context().run(self._advance, path, query, (), scope)
            except BaseException as error:
                raised = error
            self._settled()
        if raised is not None and is_interrupt(raised):
            scope.faults.append(raised)
            raised = None
        self._tell_curator(scope.faults)
        if raised is not None:
            raised.__cause__ = raised.__context__ = None
            try:
                raise raised.with_traceback(None)
            finally:
                del raised  # its traceback has this frame, which would keep the data alive
        return answer

    def _recall(self, path: Path, query: Query, names: Names, scope: Scope) -> Answer:
        """Send only what was not answered before under its name; return all answers."""
        answers, new = recalled(self._settled().named, path, names)
        if type(query) is not LaunchMany:
            if not new:
                return answers[0]
            return copy_context().run(self._advance, path, query, names, scope)
        if new:
            left = LaunchMany(tuple(query.launches[place] for place in new))
            taken = tuple(names[place] for place in new)
            told = copy_context().run(self._advance, path, left, taken, scope)
            answers |= zip(new, told, strict=True)
        return tuple(answers[first] for first in firsts(names))

    def _advance(self, path: Path, query: Query, names: Names, scope: Scope) -> Answer:
        message = addressed(path, query) if path else query
        before = self._settled()
        self._messages += 1
        enter(scope)
        self._now = _Flight(before, scope, path, query, names)
        state, answer = advance_with_receipts(
            self.mechanism, before.state, message, self.coins, self._messages
        )
        told = exchanges_of(path, query, answer)
        answer = _read_only(
            tuple(each.answer for each in told) if is_many(query) else told[0].answer
        )
        self._commit(before, state, told, names)
        return answer

    def _commit(
        self, now: _Moment, state: Any, told: tuple[Exchange, ...], names: Names
    ) -> _Moment:
        """Put the new state in place with its exchanges and their names, by one assignment.

        Until that assignment, the exchanges are beyond the valid part of the log.
        """
        count, polls, called, named = now.exchanges, now.polls, now.names, now.named
        for place, exchange in enumerate(told):
            if names and (name := names[place]) is not None:
                called = called.set(count + polls, name[0])
                if not isinstance(exchange.answer, Refused | Halted):
                    named = named.set((exchange.path, name[0]), Named(name[1], exchange.answer))
            if state is now.state and is_poll(exchange):
                self.log.add_poll(exchange, count, polls)
                polls += 1
            else:
                self.log.add(exchange, count, polls)
                count += 1
        moment = _Moment(state, count, polls, called, named)
        self._now = moment
        return moment

    def _settled(self) -> _Moment:
        """The present moment, after settling a message that did not return. Needs the lock."""
        now = self._now
        if isinstance(now, _Moment):
            return now
        before, lost = now.before, now.scope.lost
        if lost is None:
            self._now = before
            return before
        state, answer = alive(what_stands(lost))
        return self._commit(before, state, exchanges_of(now.path, now.query, answer), now.names)

    def _present(self) -> _Moment:
        """The moment to read from: while a message runs, the one before it."""
        now = self._now
        if isinstance(now, _Moment):
            return now
        if self._busy.locked():
            return now.before
        with self._lock:
            return self._settled()

    def exchanges(self) -> Iterator[Exchange]:
        """The exchanges that are kept, in order."""
        return (exchange for _, exchange in self.record()[0].numbered())

    def record(self) -> tuple[Record, Mapping[int, str]]:
        """The log as of now, and the names of launches by the number of their exchange."""
        now = self._present()
        return self.log.record(now.exchanges, now.polls), now.names

    def _tell_curator(self, faults: list[BaseException]) -> None:
        if self.on_fault is not None:
            _report(self.on_fault, faults)
        raise_interrupt(faults)


def _report(on_fault: Callable[[BaseException], object], faults: list[BaseException]) -> None:
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

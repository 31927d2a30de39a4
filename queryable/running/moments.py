"""Moments: what a root is between two messages, and how it comes from one to the next.

Responsible for all that a running tree has: state, log and names. They are replaced together, by
one assignment. Does not know how a message is run, or who is told of faults.

Theory of operation: while a message runs, a `Flight` stands in place of the moment. It has the
moment before, and the run that tells what stands. If the message does not return, the next access
settles it: it computes the state that stands from the flight.
"""

import threading
from collections.abc import Iterator, Mapping
from typing import Any, final

import attrs
import numpy as np
from immutables import Map

from queryable.conversation import LOST, Moved, Run
from queryable.conversation.stepping import receipts_of, state_left
from queryable.data.frozen import read_only
from queryable.mechanism import InteractiveMechanism
from queryable.messages import (
    MANY,
    Answer,
    Halted,
    Launched,
    PrivacyLossQuery,
    Query,
    Refused,
    is_many,
    without_receipts,
)
from queryable.randomness.coins import ChildId, Coins
from queryable.randomness.sealed import SealedCoins
from queryable.running.blocks import Named as Blocks
from queryable.running.handles import Path
from queryable.running.journal import Journal, Message
from queryable.running.log import Log, Record
from queryable.running.many import exchanges_of
from queryable.running.names import KnownNames, Named, Names
from queryable.running.telling import is_poll
from queryable.view import Exchange


@final
@attrs.define(eq=False)  # never changed; to freeze it would take most of the time of making it
class Moment:
    """The values that a commit replaces together.

    Attributes:
        state: of the root mechanism.
        coins: those of the next message, if they depend on the history.
        exchanges, polls: how many entries and polls of the log are valid.
        names: the names of launches by the number of their exchange.
        named: the named launches by path and name.
        blocks: the blocks of data that grow, if nothing else keeps them.
    """

    state: Any
    coins: Coins
    exchanges: int = 0
    polls: int = 0
    names: "Map[int, str]" = Map()
    named: KnownNames = Map()
    blocks: Blocks = Map()


@attrs.define(eq=False)  # never changed, as `Moment`
class Flight:
    """A running message: the moment before it, and the run that tells what stands after it."""

    before: Moment
    run: Run
    path: Path
    query: Query
    names: Names
    coins: Coins

    @property
    def message(self) -> Message:
        """The message, for a journal."""
        assert isinstance(self.coins, SealedCoins)
        names = tuple(None if each is None else each[0] for each in self.names)
        return Message(self.path, self.query, names, self.coins)

    def exchanges(self, answer: Answer) -> tuple[Exchange, ...]:
        """The exchanges of the message."""
        return exchanges_of(self.path, self.query, answer, receipts_of(self.run))


class Moments:
    """The present moment of a running tree, its log, and its journal if it has one.

    Attributes:
        given: the data that it was started on, for checks of their owner.
        batches: how many messages of the data's owner have come.
        fed: these messages, each with the number of exchanges before it; None unless they are kept.
    """

    mechanism: InteractiveMechanism[Any]
    given: Any
    _now: Moment | Flight

    def __init__(self) -> None:
        self.log = Log()
        self.batches = 0
        self.fed: list[tuple[int, Query]] | None = None
        self.journal: Journal | None = None
        self._reports: dict[Path, tuple[Any, Exchange]] = {}
        """What `PrivacyLossQuery` was answered at a path, in the state that it is told for."""
        self._lock = threading.RLock()  # taken once; it knows its owner, whatever is interrupted
        self._busy = threading.Lock()

    def commit(self, flight: Flight, moved: Moved | None) -> Answer:
        """Put the new state in place with its exchanges and their names, by one assignment.

        Until that assignment, the exchanges are beyond the valid part of the log.
        """
        now, (state, answer) = flight.before, state_left(moved)
        told = flight.exchanges(answer)
        coins = now.coins
        if type(coins) is SealedCoins:  # there is a journal with these only
            poll = state is now.state and all(map(is_poll, told))
            if not poll:
                state, told, coins = self._answered(flight, state, told)
            if self.journal is not None:
                if poll:
                    self.journal.void()
                else:
                    self.journal.answer(flight.message, told, now.state, state)
                    answer = self.put(flight, state, told, coins)
                    self.journal.settled(flight.message, now.state, state)
                    return answer
        return self.put(flight, state, told, coins)

    def put(self, flight: Flight, state: Any, told: tuple[Exchange, ...], coins: Coins) -> Answer:
        """Put the new state and the exchanges in place."""
        now, names, query = flight.before, flight.names, flight.query
        many = type(query) in MANY
        if state is not now.state:
            self._reports = {}
        elif not many and is_poll(told[0]):
            told_of_state = type(query) is PrivacyLossQuery and query.d_in is None
            if told_of_state and self.mechanism.converses and self.journal is None:
                self._reports[flight.path] = state, told[0]
            return self._polled(now, told[0])
        count, polls, called, named = now.exchanges, now.polls, now.names, now.named
        answer = as_read_only(answer_to(query, told) if many else told[0].answer)
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
        self._now = Moment(state, coins, count, polls, called, named, now.blocks)
        return answer

    def _polled(self, now: Moment, told: Exchange) -> Answer:
        """Put a poll in place, which changes nothing else."""
        count, polls = now.exchanges, now.polls
        self.log.add_poll(told, count, polls)
        self._now = Moment(now.state, now.coins, count, polls + 1, now.names, now.named, now.blocks)
        return told.answer

    def grew(
        self, before: Moment, message: Query, state: Any, coins: Coins, blocks: Blocks
    ) -> None:
        """Put the state after a message of the data's owner in place."""
        now = before
        self._now = Moment(state, coins, now.exchanges, now.polls, now.names, now.named, blocks)
        self.batches += 1
        if self.fed is not None:
            self.fed.append((now.exchanges + now.polls, message))

    def _answered(
        self, flight: Flight, state: Any, told: tuple[Exchange, ...]
    ) -> tuple[Any, tuple[Exchange, ...], Coins]:
        """The state and the exchanges with the coins after them.

        An answer that cannot be written is withheld: what read the data has failed.

        Raises:
            QueryError: an answer that no data were read for cannot be written.
        """
        coins, run = flight.coins, flight.run
        assert isinstance(coins, SealedCoins)
        stands: list[Any] = [run.withheld, lambda: LOST] if run.has_read else []
        while True:
            try:
                if self.journal is not None:
                    self.journal.check(told)
                return state, told, coins.answered(without_receipts(answer_to(flight.query, told)))
            except Exception as fault:
                if not stands:
                    raise
                run.faults.append(fault)
            state, answer = state_left(stands.pop(0)())
            told = flight.exchanges(answer)

    def resume(self, moment: Moment) -> None:
        """Go on from another moment, which a log has led to; no message runs."""
        self._now = moment

    def settled(self) -> Moment:
        """The present moment, after settling a message that did not return. Needs the lock."""
        now = self._now
        if type(now) is Moment:
            return now
        if self.journal is not None:
            self.journal.require_unanswered(now.message)
        stands = now.run.standing()
        if stands is None:
            self._now = now.before
            return now.before
        self.commit(now, stands[0])
        settled = self._now
        assert isinstance(settled, Moment)
        return settled

    def _present(self) -> Moment:
        """The moment to read from: while a message runs, the one before it."""
        now = self._now
        if isinstance(now, Moment):
            return now
        if self._busy.locked():
            return now.before
        with self._lock:
            return self.settled()

    @property
    def state(self) -> Any:
        """The state of what the root runs: a `Node`, or `Dead`."""
        return self._present().state

    @property
    def people(self) -> Mapping[ChildId, str]:
        """Who has which child of the root; nobody is known without a journal."""
        return {} if self.journal is None else self.journal.people()

    def time_of(self, entry: int) -> int | None:
        """The second, since 1970, in which the message of an entry came; None if it is unknown."""
        return None if self.journal is None else self.journal.time_of(entry)

    def exchanges(self) -> Iterator[Exchange]:
        """The exchanges that are kept, in order."""
        return (exchange for _, exchange in self.record()[0].numbered())

    @property
    def entries(self) -> int:
        """How many entries of the log are valid."""
        return self._present().exchanges

    @property
    def names(self) -> Mapping[int, str]:
        """The names of launches by the number of their exchange."""
        return self._present().names

    def answer_under(self, path: Path, name: str) -> Answer:
        """The answer to the launch that was made under a name at a path."""
        return self._present().named[path, name].answer

    def record(self) -> tuple[Record, Mapping[int, str]]:
        """The log as of now, and the names of launches by the number of their exchange."""
        now = self._present()
        return self.log.record(now.exchanges, now.polls), now.names


def answer_to(query: Query, told: tuple[Exchange, ...]) -> Answer:
    """The answer to a message with these exchanges."""
    return tuple(each.answer for each in told) if is_many(query) else told[0].answer


def as_read_only(answer: Answer) -> Answer:
    """An answer the arrays of which cannot be changed."""
    if answer is None or type(answer) in (bool, int, float):
        return answer
    if isinstance(answer, np.ndarray):
        read_only(answer)
    elif isinstance(answer, Launched):
        if answer.answer is not None:
            as_read_only(answer.answer)
    elif isinstance(answer, tuple):
        for entry in answer:
            as_read_only(entry)
    return answer

"""The log of a remote root, as far as this client knows it.

Responsible for the exchanges in the order that they have in the curator, for names and children.
The log has the exchanges that the curator keeps, and this client's own polls. So views, trees and
ledgers are made here, by the code that makes them in process.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import attrs
from immutables import Map

from curator.wire import WireError
from queryable.messages import (
    Answer,
    Halted,
    Launch,
    Launched,
    LaunchMany,
    Query,
    Refused,
    is_many,
)
from queryable.receipts import Receipt
from queryable.running.handles import Handles, Path
from queryable.running.log import Log, Record
from queryable.running.many import exchanges_of
from queryable.running.names import KnownNames, Named, Names, firsts, marked, recalled
from queryable.running.telling import is_poll
from queryable.view import Exchange, Receipts

_OTHERWISE = "the curator's reply does not fit its earlier ones: it is not of this protocol"


@attrs.frozen
class _Moment:
    """What an assignment replaces at once.

    Attributes:
        count, polls: how many entries and polls of the log are valid.
        called: the names of launches by the number of their exchange.
        named: the named launches by path and name.
    """

    count: int = 0
    polls: int = 0
    called: "Map[int, str]" = Map()
    named: KnownNames = Map()


class Mirror:
    """The known exchanges of a remote root. Its owner sees to it that one thread writes.

    Args:
        opening: the opening answer of the root mechanism.
        handles: get the children that are launched.
    """

    def __init__(self, opening: Answer, handles: Handles[Any]) -> None:
        self._log = Log()
        self._now = _Moment()
        self._handles = handles
        handles.register((), opening)

    @property
    def count(self) -> int:
        """The number of exchanges of the curator that are known."""
        return self._now.count

    def record(self) -> tuple[Record, Mapping[int, str]]:
        """The log as of now, and the names of launches."""
        now = self._now
        return self._log.record(now.count, now.polls), now.called

    def fetched(self, exchange: Exchange, name: str | None) -> None:
        """Add an exchange that was read from the curator."""
        exchange = _shared(exchange)
        names: Names = () if name is None else marked(exchange.query, (name,))
        self._put((exchange,), names, still=False)
        self._handles.register(exchange.path, exchange.answer)

    def told(
        self,
        path: Path,
        query: Query,
        names: Names,
        answer: Answer,
        receipts: Receipts,
        start: int,
        new: int,
    ) -> Answer:
        """Add the exchanges of this client's own message, and return its answer.

        Args:
            answer: what the curator answered.
            receipts: of compositors on the way.
            start: how many exchanges were before it.
            new: how many are its own.

        Raises:
            WireError: the reply does not fit.
        """
        many = is_many(query)
        if many and (
            type(answer) is not tuple or len(answer) != len(exchanges_of((), query, None))
        ):
            raise WireError(_OTHERWISE)
        known = start < self.count
        if names:
            fresh = None if known else new
            return self._launched(path, query, names, answer, receipts, fresh, many=many)
        told = tuple(map(_shared, exchanges_of(path, query, answer, receipts)))
        if known:
            told = self._known(told, start, new)
        elif self._put(told, (), still=new < len(told)) != new:
            raise WireError(_OTHERWISE)
        return tuple(each.answer for each in told) if many else told[0].answer

    def _known(self, told: tuple[Exchange, ...], start: int, new: int) -> tuple[Exchange, ...]:
        """The exchanges of a message that was sent again, as the log has them."""
        logged = [self._log.exchange(place) for place in range(start, min(start + new, self.count))]
        if len(logged) != len(told):
            return told
        return tuple(
            old if isinstance(old.answer, Launched) and old.answer.child is not None else each
            for each, old in zip(told, logged, strict=True)
        )

    def _launched(
        self,
        path: Path,
        query: Query,
        names: Names,
        answer: Answer,
        receipts: Receipts,
        new: int | None,
        *,
        many: bool,
    ) -> Answer:
        """Add launches with names, but for those that were made before.

        Args:
            new: how many were not; None if they are in the log already.
        """
        given = answer if many else (answer,)
        launches = query.launches if isinstance(query, LaunchMany) else (query,)
        answers, left = recalled(self._now.named, path, names)
        answers |= {place: given[place] for place in left}
        if new is not None:
            if len(left) != new:
                raise WireError(_OTHERWISE)
            told = [_shared(Exchange(path, launches[at], given[at])) for at in left]
            if told:
                told[-1] = attrs.evolve(told[-1], receipts=receipts)
            self._put(told, tuple(names[at] for at in left), still=False)
            answers |= {at: each.answer for at, each in zip(left, told, strict=True)}
        found = tuple(answers[first] for first in firsts(names))
        return found if many else found[0]

    def _put(self, told: Sequence[Exchange], names: Names, *, still: bool) -> int:
        """Add exchanges; return how many are no polls.

        Args:
            still: whether those that are polls by their query and answer are polls.
        """
        now = self._now
        count, polls, called, named = now.count, now.polls, now.called, now.named
        for place, exchange in enumerate(told):
            if names and (given := names[place]) is not None:
                name, taken = given
                called = called.set(count + polls, name)
                if not isinstance(exchange.answer, Refused | Halted):
                    named = named.set((exchange.path, name), Named(taken, exchange.answer))
            if still and is_poll(exchange):
                self._log.add_poll(exchange, count, polls)
                polls += 1
            else:
                self._log.add(exchange, count, polls)
                count += 1
        self._now = _Moment(count, polls, called, named)
        return count - now.count


def _shared(exchange: Exchange) -> Exchange:
    """A launch whose receipt has the mechanism that was sent, if it is an equal one.

    Logs and trees tell launches of one mechanism by identity, as they are in process.
    """
    launch, receipt = exchange.query, getattr(exchange.answer, "receipt", None)
    if type(launch) is not Launch or type(receipt) is not Receipt:
        return exchange
    if receipt.mechanism is launch.mechanism or not _same(receipt.mechanism, launch.mechanism):
        return exchange
    receipt = attrs.evolve(receipt, mechanism=launch.mechanism, d_out=launch.d_out)
    return attrs.evolve(exchange, answer=attrs.evolve(exchange.answer, receipt=receipt))


def _same(one: Any, other: Any) -> bool:
    try:
        return type(one) is type(other) and bool(one == other)
    except Exception:  # arrays do not say whether they are equal
        return False

"""Making a running tree again from a log: messages and answers are folded over its state.

Responsible for holding the conversations of compositors again with the logged answers, and for
checking that they lead to these. No data are read. Does not know where the log is kept.
"""

import operator
from collections.abc import Iterable
from contextlib import suppress
from contextvars import copy_context
from typing import Any

import attrs

from queryable.conversation import LOST
from queryable.conversation.recalling import Recall, making_again
from queryable.conversation.stepping import DEAD, state_left
from queryable.errors import HandleError, QueryError
from queryable.faults import enter
from queryable.messages import Answer, Launched, Query
from queryable.randomness.sealed import SealedCoins
from queryable.running.journal import Message, Past
from queryable.running.many import exchanges_of
from queryable.running.moments import Flight, answer_to
from queryable.running.root import MemoryRoot
from queryable.view import Exchange


def fold(root: MemoryRoot, pasts: Iterable[Past]) -> None:
    """Make state, log and names again from messages and answers, in order.

    Raises:
        HandleError: a message does not lead to its answer: the code is not the same.
    """
    copy_context().run(_fold, root, pasts)


def fold_update(root: MemoryRoot, message: Query, coins: SealedCoins, *, dead: bool) -> None:
    """Make the state again after a message of the data's owner; children run it when next asked.

    Args:
        coins: those of the message.
        dead: whether the root mechanism failed then.

    Raises:
        HandleError: the message does not fit: the code is not the same.
    """

    def run() -> None:
        enter([])
        now, state = root.settled(), DEAD
        if not dead and now.state is not DEAD:
            growing = root.growth(message, coins, Recall(None, operator.eq))
            try:
                with making_again():
                    state, _ = state_left(growing())
            except QueryError as error:
                raise other_versions() from error
        root.resume(attrs.evolve(now, state=state, coins=coins.answered(None)))

    copy_context().run(run)


def tell_again(root: MemoryRoot, message: Message) -> None:
    """Send a message that was intended and not answered, with the coins of then.

    The journal gets the answer. A message that was wrong is wrong again.
    """
    with suppress(QueryError):
        answer = root.tell(message.path, message.query, message.names)
        for told in exchanges_of(message.path, message.query, answer):
            root.handles.register(told.path, told.answer)


def give_up(root: MemoryRoot, message: Message) -> None:
    """Let a message that was intended and not answered fail; its charge is kept."""

    def run() -> None:
        flight = root.flight(message, Recall(None, operator.eq, lost=True))
        root.commit(flight, _made_again(flight))

    copy_context().run(run)


def _fold(root: MemoryRoot, pasts: Iterable[Past]) -> None:
    past = None
    for past in pasts:
        flight = root.flight(past.message, past.recall)
        state, answer = flight.before.state, past.answer
        if past.dead:
            state, answer = state_left(LOST)
        elif past.recall is not None:
            try:
                state, answer = state_left(_made_again(flight))
            except QueryError as error:
                raise other_versions() from error
        told = flight.exchanges(answer)
        if _receipts(told) < past.charges:
            told = tuple(map(_with_receipt, told, past.receipted()))
        _require_same(answer_to(flight.query, told), past.answer)
        root.put(flight, state, told, flight.before.coins)
        for exchange in told:
            root.handles.register(exchange.path, exchange.answer)
    if past is not None:
        coins = past.message.coins.answered(past.answer)
        root.resume(attrs.evolve(root.settled(), coins=coins))


def _made_again(flight: Flight) -> Any:
    if flight.before.state is DEAD:
        return LOST
    enter([])
    with making_again():
        return flight.run()


def _receipts(told: tuple[Exchange, ...]) -> int:
    """The number of receipts."""
    return sum(
        len(each.receipts) + (getattr(each.answer, "receipt", None) is not None) for each in told
    )


def _with_receipt(told: Exchange, logged: Exchange) -> Exchange:
    receipts = max(told.receipts, logged.receipts, key=len)
    answer = told.answer
    if getattr(answer, "receipt", None) is None:
        answer = logged.answer
    return Exchange(told.path, told.query, answer, receipts=receipts)


def _require_same(answer: Answer, logged: Answer) -> None:
    """Check what a compositor decided against the journal.

    Raises:
        HandleError: it decided otherwise.
    """
    if isinstance(answer, tuple) and isinstance(logged, tuple) and len(answer) == len(logged):
        for one, other in zip(answer, logged, strict=True):
            _require_same(one, other)
    elif type(answer) is not type(logged) or _child(answer) != _child(logged):
        raise other_versions()


def other_versions() -> HandleError:
    """The error of a log that does not make sense for this code."""
    return HandleError(
        "the ledger has another answer than these versions of the packages give: open it with "
        "the versions that wrote it"
    )


def _child(answer: Answer) -> Any:
    return answer.child if isinstance(answer, Launched) else None

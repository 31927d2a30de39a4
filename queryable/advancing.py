"""The steps of a root mechanism, inside the boundary around code that may touch data.

`begin` starts a mechanism, and `advance` gives it one message. They decide which state stands if it
fails: see `faults`. Does no accounting, and does not know who asks.
"""

from typing import Any

import attrs

from queryable.errors import MechanismFault, QueryError
from queryable.faults import (
    called,
    contained_init,
    contained_step,
    contained_update,
    current_scope,
    is_interrupt,
    played,
    recalling,
    report,
    what_stands,
)
from queryable.mechanism import InteractiveMechanism
from queryable.messages import Answer, Failed, Query, plain
from queryable.randomness.coins import Coins
from queryable.recalling import Unplayed


@attrs.frozen
class Dead:
    """The state of a root mechanism that failed: every answer is `Failed()`."""


def begin(mechanism: InteractiveMechanism[Any], dataset: Any, coins: Coins) -> tuple[Any, Answer]:
    """Start a root mechanism; the coins of its n-th message are `coins.spawn("root", n)`."""
    recall = recalling()
    if recall is not None:
        return alive(recall.begun(mechanism, dataset, lambda: coins.spawn("root", 0)))
    return alive(contained_init(lambda: mechanism.init(dataset, coins.spawn("root", 0))))


def alive(moved: Any) -> tuple[Any, Answer]:
    """A root's result; `Dead` and `Failed()` in place of None."""
    return (Dead(), Failed()) if moved is None else moved


def advance(
    mechanism: InteractiveMechanism[Any], state: Any, query: Query, coins: Coins, message: int
) -> tuple[Any, Answer]:
    """One step of a root mechanism, contained.

    Raises:
        QueryError: the query is wrong; the old state stands.
        KeyboardInterrupt: or another interrupt, before any data were touched; the old state stands.
    """
    state, answer = advance_with_receipts(mechanism, state, query, coins, message)
    return state, plain(answer)


def advance_with_receipts(
    mechanism: InteractiveMechanism[Any], state: Any, query: Query, coins: Coins, message: int
) -> tuple[Any, Answer]:
    """As `advance`, but the answer may be wrapped in `Answered`."""
    if type(state) is Dead:
        return state, Failed()
    scope = current_scope()
    if scope is not None:
        scope.start()
        if scope.recall is not None and not mechanism.recallable:
            return alive(scope.recall.asked(state, query, lambda: coins.spawn("root", message)))
    try:
        now = state
        if type(state) is Unplayed:
            found = played(state)
            if found is None:
                return alive(None)
            now = found[0]
        moved = contained_step(
            lambda: mechanism.step(now, query, coins.spawn("root", message)),
            alive,
            composes=mechanism.composes,
        )
        if moved is not None and moved[0] is now:
            return state, moved[1]
        return alive(moved)
    except BaseException as raised:
        fault = raised
    try:
        if scope is not None and scope.lost is not None:
            report(fault)
            return alive(what_stands(scope.lost))
        if scope is not None and scope.unkept is not None:
            raise scope.unkept  # a person in the middle may have met it as a `MechanismFault`
        if isinstance(fault, QueryError) or is_interrupt(fault):
            raise fault
        raise QueryError(
            f"this query cannot be worked out ({called(type(fault))}); nothing was read, and "
            "nothing has changed"
        )
    finally:
        del fault  # its traceback has this frame


def advance_with_update(
    mechanism: InteractiveMechanism[Any], state: Any, query: Query, coins: Coins, message: int
) -> Any:
    """The state of a root mechanism after a message of the data's owner, contained.

    The old state stands until the caller puts this one in place.

    Raises:
        QueryError: the message is wrong.
        MechanismFault: the mechanism has failed before.
        KeyboardInterrupt: or another interrupt.
    """
    if isinstance(state, Dead):
        raise MechanismFault
    if type(state) is Unplayed:
        return state.asked(query, lambda: coins.spawn("root", message), None)
    try:
        moved = contained_update(
            lambda: mechanism.step(state, query, coins.spawn("root", message)),
            composes=mechanism.composes,
        )
    except QueryError:
        raise
    except Exception as error:
        kind = type(error)
    else:
        return alive(moved)[0]
    raise QueryError(f"this batch cannot be taken ({called(kind)}); nothing has changed")

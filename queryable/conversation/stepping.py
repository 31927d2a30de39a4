"""The steps of a mechanism at a root, with what is raised where data are read contained.

`begin` starts a mechanism, and `advance` gives it one message. Does no accounting, and does not
know who asks.
"""

from typing import Any

import attrs

from queryable.conversation import LOST, Data, Moved, Pass, Run, Start, leaves
from queryable.errors import QueryError
from queryable.faults import report
from queryable.mechanism import InteractiveMechanism
from queryable.messages import Answer, Failed, Query
from queryable.randomness.coins import Coins
from queryable.wording.quoting import quoted


@attrs.frozen
class Dead:
    """The state of a root mechanism that failed: every answer is `Failed()`."""


DEAD = Dead()
ROOT = "root"


def state_left(moved: Moved | None) -> tuple[Any, Answer]:
    """A root's state and answer; `Dead` and `Failed()` if the mechanism is lost."""
    return (DEAD, Failed()) if moved is LOST else (moved.state, moved.answer)


def begin(mechanism: InteractiveMechanism[Any], dataset: Any, coins: Coins) -> tuple[Any, Answer]:
    """Start a root mechanism; the coins of its n-th message are `coins.spawn("root", n)`."""
    if not isinstance(mechanism, InteractiveMechanism):
        raise TypeError(f"mechanism is {quoted(mechanism)}; it should be an InteractiveMechanism")
    coins = spawned(coins, 0)
    if mechanism.converses:
        return _reported(Run(mechanism, Data.of(dataset), coins))[:2]
    return _read(Start(ROOT, mechanism), mechanism, dataset, coins)


def advance(
    mechanism: InteractiveMechanism[Any], state: Any, query: Query, coins: Coins, number: int
) -> tuple[Any, Answer]:
    """One step of a root mechanism.

    Raises:
        QueryError: the query is wrong; the old state stands.
        KeyboardInterrupt: or another interrupt, between leaves.
    """
    return advance_with_receipts(mechanism, state, query, coins, number)[:2]


def advance_with_receipts(
    mechanism: InteractiveMechanism[Any], state: Any, query: Query, coins: Coins, number: int
) -> tuple[Any, Answer, tuple[Any, ...]]:
    """As `advance`, with the receipts of compositors on the way, outermost first."""
    if state is DEAD:
        return DEAD, Failed(), ()
    coins = spawned(coins, number)
    if mechanism.converses:
        return _reported(Run(mechanism, query, coins, state))
    return *_read(Pass(ROOT, query), mechanism, state, coins), ()


def _reported(run: Run) -> tuple[Any, Answer, tuple[Any, ...]]:
    try:
        state, answer = state_left(run())
    finally:
        for fault in run.faults:
            report(fault)
    return state, answer, receipts_of(run)


def _read(
    step: Start | Pass, mechanism: InteractiveMechanism[Any], state: Any, coins: Coins
) -> tuple[Any, Answer]:
    moved, fault = leaves.read(step, mechanism, state, coins)
    try:
        if isinstance(fault, QueryError) and type(step) is Pass:
            raise leaves.without_context(fault)
        if fault is not None:
            report(fault)
        return state_left(moved)
    finally:
        del fault  # its traceback has this frame


def spawned(coins: Coins, number: int) -> Coins:
    """The coins of the n-th message to a root.

    Raises:
        TypeError: they are no coins.
    """
    if not hasattr(coins, "spawn"):
        raise TypeError(f"coins are {quoted(coins)}; they should be Coins, such as SYSTEM")
    return coins.spawn(ROOT, number)


def receipts_of(run: Run) -> tuple[Any, ...]:
    """The receipts of compositors on the way, outermost first."""
    return tuple(receipt for _, receipt in reversed(run.receipts))

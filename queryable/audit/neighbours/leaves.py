"""Leaves: what a step that read the data has read, drawn and answered; and runs that note it.

The runner is the one that answers analysts: only its leaves are looked at (`Executor.reading`).
"""

from collections.abc import Callable
from contextvars import copy_context
from typing import Any

import attrs

from queryable.audit.neighbours.courses import Recalled, Told
from queryable.audit.neighbours.readings import Reading, in_short
from queryable.audit.neighbours.tapes import Draw
from queryable.audit.views.keys import hashable
from queryable.conversation import LOST, Data, Moved, Run, Start, leaves
from queryable.conversation.frames import Frame, ids
from queryable.conversation.stepping import DEAD, receipts_of, state_left
from queryable.data.growing import batch_of, form_of
from queryable.data.watching import Watcher, watching
from queryable.errors import QueryError
from queryable.faults import enter, raise_interrupt
from queryable.mechanism import Measurement
from queryable.messages import Answer, Update, without_receipts
from queryable.randomness.coins import ChildId, Coins

Path = tuple[ChildId, ...]


@attrs.frozen(eq=False)
class Leaf:
    """A step that read the data.

    Attributes:
        path: the ids from the root to the mechanism.
        state: what it was held with: its state; for a `Start` the records.
        coins: those of the step.
        outcome: a `Moved`, or `LOST`; `raised` says why.
    """

    path: Path
    step: Any
    mechanism: Any
    state: Any = attrs.field(repr=False)
    coins: Coins = attrs.field(repr=False)
    readings: tuple[Reading, ...] = attrs.field(repr=False)
    draws: tuple[Draw, ...] = attrs.field(repr=False)
    outcome: Any = attrs.field(repr=False)
    raised: BaseException | None = None

    @property
    def measures(self) -> bool:
        """Whether it is the release of a measurement."""
        return isinstance(self.step, Start) and isinstance(self.mechanism, Measurement)


@attrs.frozen(eq=False)
class Held:
    """A message that was held.

    Attributes:
        state: of the root, after it.
        wrong: the text of its `QueryError`; None if it was right.
    """

    message: Told
    coins: Coins
    leaves: tuple[Leaf, ...]
    state: Any
    answer: Answer
    receipts: tuple[Any, ...]
    wrong: str | None = None


Observe = Callable[[Path, Any, Any, Any, Coins], tuple[Any, BaseException | None]]
"""Runs a leaf: its path, the step, the mechanism, what it is held with, and its coins."""


class ObservedRun(Run):
    """A run whose leaves are run by an observer."""

    __slots__ = ("observe",)

    observe: Observe

    def reading(self, frame: Frame, step: Any, mechanism: Any, state: Any, coins: Coins) -> Any:
        """Let the observer run a leaf."""
        return self.observe((*ids(frame.path), step.identity), step, mechanism, state, coins)


def hold(
    course: Recalled, message: Told, dataset: Any, state: Any, coins: Coins, observe: Observe
) -> Held:
    """Hold the conversation about a message on a data set. The result has no leaves.

    Args:
        state: of the root before it; None at the start.

    Raises:
        KeyboardInterrupt: or another interrupt.
    """
    if state is DEAD:
        return Held(message, coins, (), DEAD, state_left(LOST)[1], ())
    faults: list[BaseException] = []
    wrong, left, receipts = None, (state, None), ()

    def run() -> None:
        nonlocal wrong, left, receipts
        enter(faults)
        try:
            query: Any = message.query
            if query is None:
                query = Data.of(dataset)
            elif isinstance(query, Update):
                query = Update(batch_of(form_of(dataset), query.records), query.block)
            held = ObservedRun(course.runs, query, coins, state, way=message.path)
            held.faults, held.observe = faults, observe
            left = state_left(held())
            receipts = receipts_of(held)
        except QueryError as error:
            wrong = str(error)

    copy_context().run(run)
    raise_interrupt([each for each in faults if not isinstance(each, Exception)])
    return Held(message, coins, (), left[0], without_receipts(left[1]), receipts, wrong)


def run_leaf(
    step: Any, mechanism: Any, state: Any, coins: Any, watcher: Watcher
) -> tuple[Any, BaseException | None]:
    """Run a leaf, watched."""
    with watching(watcher):
        outcome: tuple[Moved | None, BaseException | None] = leaves.read(
            step, mechanism, state, coins
        )
    return outcome


def same_answer(one: Answer, other: Answer) -> bool:
    """Whether two answers are the same for whoever sees them."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if type(one) in (bool, int, str, float):
        return bool(one == other)
    try:
        return bool(hashable(one) == hashable(other))
    except Exception:
        return repr(one) == repr(other)


def same_outcome(one: Any, other: Any) -> bool:
    """Whether two outcomes of a leaf are the same for the conversation that asked for it."""
    if one is LOST or other is LOST:
        return one is other
    return same_answer(one.answer, other.answer)


def what_came(outcome: Any, raised: BaseException | None) -> str:
    """An outcome in words, for the owner."""
    if outcome is not LOST:
        return "it answers"
    if isinstance(raised, QueryError):
        return f"it is refused, {in_short(raised)}"
    return f"it fails, {in_short(raised)}" if raised is not None else "it fails"

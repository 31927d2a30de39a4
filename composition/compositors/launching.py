"""The order of a launch: check all, charge all in order, then run all (docs/theory/launch.md).

Responsible for the order, which stands here alone. A compositor says what is checked and what is
charged. A `Launch` is the case of one. A `LaunchMany` is the sequence of launches of an adversary
that chose all of them without looking at the answers in between: every launch has the charge, the
refusal, the id and the coins that it would have on its own. What is gained is that the data may
read ahead for all of them at once. Nothing reads data before it is charged.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import attrs

from composition.compositors.children import NO_CHILDREN, Children, start_child
from composition.compositors.claims import Claim
from queryable.data.growing import snapshot
from queryable.data.later import Data
from queryable.datasets import read_ahead, statistics_of
from queryable.effort import is_quick, require_short_receipts
from queryable.errors import UnknownQueryError
from queryable.faults import contained_init, interrupted, recalling
from queryable.mechanism import Measurement
from queryable.messages import (
    Answer,
    Failed,
    Launch,
    Launched,
    LaunchMany,
    LaunchOver,
    Query,
    entries_of,
    entry,
)
from queryable.randomness.coins import Coins
from queryable.statistics import IntegerStatistic


@attrs.define(eq=False)
class Order:
    """A launch that was checked, and what it claims."""

    launch: Launch | LaunchOver
    claim: Claim


@attrs.define(eq=False)
class Due:
    """A launch that is charged, and has yet to run.

    Attributes:
        order: the `Order` that was charged.
        identity, number: the child's id and its message, which select its coins.
        charged: the charge at most.
        failed: its answer until it has run.
        before: the compositor's state before the charge.
        data: what it runs on.
        place: its place among the launches of the message.
    """

    order: Any
    identity: Any
    charged: Any
    failed: Failed
    before: Any = attrs.field(repr=False)
    number: int = 0
    data: Any = attrs.field(default=None, repr=False)
    place: int = 0


class Launching(ABC):
    """Base of compositors that launch what they are sent."""

    interleaves: ClassVar[bool] = True
    """Whether children may be interleaved. If not, a launch retires all earlier children."""

    @abstractmethod
    def _checked(self, state: Any, query: Any) -> Any:
        """Steps 1 to 3: the `Order`. Parse it, check the claim, then that a theorem covers it.

        Raises:
            QueryError: it is wrong.
        """

    @abstractmethod
    def _charged(self, state: Any, order: Any) -> tuple[Any, Due | Answer]:
        """Steps 4 and 5: the state in which the launch is charged and has failed, and a `Due`.

        Or the state and the answer of a launch that is not admitted.
        """

    def _give_data(self, state: Any, due: Sequence[Any]) -> None:
        """Set what each of these launches runs on."""
        for each in due:
            each.data = state.dataset

    def _ran(self, state: Any, due: Any, children: Children, answer: Answer) -> tuple[Any, Answer]:
        """The state and the answer after a launch has run, or has failed."""
        if isinstance(answer, Launched):
            answer = Launched(answer.child, answer.answer, receipt=due.failed.receipt)
        else:
            answer = due.failed
        return state.among(children), answer

    def _can_afford(self, state: Any, query: Any) -> bool:
        """A dry run: steps 1 to 5 of a launch, on a state that is thrown away."""
        return isinstance(self._charged(state, self._checked(state, query))[1], Due)

    def _launch(self, state: Any, query: Query, coins: Coins) -> tuple[Any, Answer]:
        """All steps of a launch, or of each launch of a `LaunchMany`."""
        alone = not isinstance(query, LaunchMany)
        orders = [self._checked(state, query)] if alone else self._all_checked(state, query)
        answers: list[Answer] = []
        due: list[Due] = []
        for order in orders:
            state, decided = self._charged(state, order)
            if isinstance(decided, Due):
                decided.place = len(answers)
                due.append(decided)
                decided = decided.failed
            answers.append(decided)
        if due:
            if is_quick() and recalling() is None:
                require_short_receipts(answers)
            state = self._run(state, due, answers, coins, alone=alone)
        return state, answers[0] if alone else tuple(answers)

    def _all_checked(self, state: Any, query: LaunchMany) -> Sequence[Order]:
        """Steps 1 to 3 of several launches.

        Raises:
            QueryError: an entry is wrong; the error says which.
            UnknownQueryError: they are to be sent one by one.
        """
        orders: list[Order] = []
        for place, each in enumerate(entries_of(query)):
            with entry(place):
                orders.append(self._checked(state, each))
        if not all(order.claim.fixed for order in orders):
            raise UnknownQueryError(
                "launch one after the other: a mechanism here is charged as it answers, so whether "
                "the next one fits depends on an answer"
            )
        if any(order.claim.mechanism.retires_others for order in orders):
            raise UnknownQueryError("launch a mechanism that retires the others alone")
        return orders

    def _run(
        self, state: Any, due: Sequence[Due], answers: list[Answer], coins: Coins, *, alone: bool
    ) -> Any:
        """Step 6, which puts the answers in place. After an interrupt, what has not run failed."""
        self._give_data(state, due)
        if len(due) > 1 and recalling() is None:
            failed = state, tuple(answers)
            if contained_init(lambda: _read_for(due), lambda _: failed) is None:
                return state
        for each in due:
            state, answers[each.place] = self._started(state, each, answers, coins, alone=alone)
            if answers[each.place] is each.failed and interrupted():
                break
        return state

    def _started(
        self, state: Any, due: Due, answers: Sequence[Answer], coins: Coins, *, alone: bool
    ) -> tuple[Any, Answer]:
        def lost(children: Children, answer: Answer) -> tuple[Any, Answer]:
            moved, told = self._ran(state, due, children, answer)
            return moved, told if alone else (*answers[:place], told, *answers[place + 1 :])

        place, mechanism = due.place, due.order.claim.mechanism
        living = state.children if self.interleaves else NO_CHILDREN
        started = start_child(
            living, due.identity, mechanism, due.charged, due.data, coins, lost, due.number
        )
        return self._ran(state, due, *started)


def _read_for(due: Sequence[Due]) -> tuple[None, None]:
    """Read ahead what measurements ask for: each data set once, with all their statistics."""
    found: dict[int, tuple[Any, list[IntegerStatistic]]] = {}
    for each in due:
        mechanism = each.order.claim.mechanism
        if isinstance(mechanism, Measurement):
            _, wanted = found.setdefault(id(each.data), (each.data, []))
            wanted += [it for it in statistics_of(mechanism) if isinstance(it, IntegerStatistic)]
    for data, wanted in found.values():
        read_ahead(snapshot(data) if type(data) is Data else data, wanted)
    return None, None

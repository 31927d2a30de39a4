"""The order of a launch: check all, charge all in order, then run all (docs/theory/launch.md).

Responsible for the order, which stands here alone. A compositor says what is checked and what is
charged. A `Launch` is the case of one. A `LaunchMany` is the sequence of launches of an adversary
that chose all of them without looking at the answers in between: every launch has the charge, the
refusal, the id and the coins that it would have on its own. What is gained is that the data may
read ahead for all of them at once. Nothing reads data before it is charged: the conversation yields
what is to be run once everything is charged.
"""

from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from typing import Any, ClassVar, NamedTuple

import attrs

from composition.compositors.claims import Claim
from queryable.checks.held import statistics_of
from queryable.conversation import LOST, Drop, Later, Moved, Ready, Start
from queryable.data.ahead import read_ahead
from queryable.data.facts import Data
from queryable.data.growing import snapshot
from queryable.effort import LEFT, require_short_receipts
from queryable.errors import UnknownQueryError
from queryable.mechanism import Measurement
from queryable.messages import (
    Answer,
    Failed,
    Launch,
    Launched,
    LaunchMany,
    Query,
    entries_of,
    entry,
)
from queryable.randomness.coins import ChildId
from queryable.statistics import IntegerStatistic
from queryable.streams.blocks import LaunchOver


@attrs.define(eq=False)  # never changed
class Order:
    """A launch that was checked, and what it claims."""

    launch: Launch | LaunchOver
    claim: Claim


class Orders(NamedTuple):
    """The checked launches of a message; `alone` if it is one `Launch`."""

    orders: Sequence[Any]
    alone: bool


@attrs.define(eq=False)
class Due:
    """A launch that is charged, and has yet to run.

    Attributes:
        order: the `Order` that was charged.
        identity, number: the child's id and its message, which select its coins.
        charged: the charge at most.
        failed: its answer until it has run.
        before: the compositor's own state before the charge.
        data: what it runs on.
        place: its place among the launches of the message.
    """

    order: Any
    identity: ChildId
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
    def _checked(self, own: Any, query: Any) -> Any:
        """Steps 1 to 3: the `Order`. Parse it, check the claim, then that a theorem covers it.

        Raises:
            QueryError: it is wrong.
        """

    @abstractmethod
    def _charged(self, own: Any, order: Any) -> tuple[Any, Due | Answer]:
        """Steps 4 and 5: the own state in which the launch is charged and has failed, and a `Due`.

        Or the own state and the answer of a launch that is not admitted.
        """

    def _give_data(self, own: Any, due: Sequence[Any]) -> None:
        """Set what each of these launches runs on."""
        for each in due:
            each.data = own.data

    def _ran(self, own: Any, due: Any, moved: Moved | None) -> tuple[Any, Answer]:
        """The own state and the answer after a launch has run, or has failed.

        If it answers `due.failed` although the launch has run, the child is retired.
        """
        if moved is LOST:
            return own, due.failed
        once = isinstance(due.order.claim.mechanism, Measurement)
        child = None if once else due.identity
        return own, Launched(child, moved.answer, receipt=due.failed.receipt)

    def _can_afford(self, own: Any, query: Any) -> bool:
        """A dry run: steps 1 to 5 of a launch, on a state that is thrown away."""
        return isinstance(self._charged(own, self._checked(own, query))[1], Due)

    def _ordered(self, own: Any, query: Query) -> Orders:
        """Steps 1 to 3 of a launch, or of each launch of a `LaunchMany`.

        Raises:
            QueryError: one is wrong; of several, the error says which.
            UnknownQueryError: they are to be sent one by one.
        """
        if not isinstance(query, LaunchMany):
            return Orders((self._checked(own, query),), alone=True)
        orders: list[Order] = []
        for place, each in enumerate(entries_of(query)):
            with entry(place):
                orders.append(self._checked(own, each))
        if not all(order.claim.fixed for order in orders):
            raise UnknownQueryError(
                "launch one after the other: a mechanism here is charged as it answers, so whether "
                "the next one fits depends on an answer"
            )
        if any(order.claim.mechanism.retires_others for order in orders):
            raise UnknownQueryError("launch a mechanism that retires the others alone")
        return Orders(orders, alone=False)

    def _launch(self, own: Any, ordered: Orders) -> Generator[Any, Any, Moved]:
        """Steps 4 to 6: ask the rule and charge, in order; then run."""
        answers: list[Answer] = []
        due: list[Due] = []
        for order in ordered.orders:
            own, decided = self._charged(own, order)
            if isinstance(decided, Due):
                decided.place = len(answers)
                due.append(decided)
                decided = decided.failed
            answers.append(decided)
        if LEFT.get() is not None:
            require_short_receipts(answers)  # also refusals state losses
        if due:
            if due[0].data is None:
                self._give_data(own, due)
            ends = not self.interleaves or due[0].order.claim.mechanism.retires_others
            first = [Drop()] if ends else []
            ready: Any = True
            if len(due) > 1:
                *_, ready = yield [*first, Ready(due[0].identity, Later(_read_for, *_wanted(due)))]
            if ready is not LOST:
                steps: list[Any] = []
                for each in due:
                    steps += first
                    mechanism = each.order.claim.mechanism
                    steps.append(Start(each.identity, mechanism, each.data, each.number))
                told = yield steps
                if first:
                    told = told[1::2]
                for each, moved in zip(due, told, strict=True):
                    own, answer = self._ran(own, each, moved)
                    answers[each.place] = answer
                    if moved is not LOST and answer is each.failed:
                        yield Drop((each.identity,))
        return Moved(own, answers[0] if ordered.alone else tuple(answers))


def _wanted(due: Sequence[Due]) -> list[Any]:
    """The rows of each data set, and the statistics that measurements ask it for, in turn."""
    found: dict[int, tuple[Data, list[IntegerStatistic]]] = {}
    for each in due:
        mechanism = each.order.claim.mechanism
        if isinstance(mechanism, Measurement):
            _, wanted = found.setdefault(id(each.data.rows), (each.data, []))
            wanted += [it for it in statistics_of(mechanism) if isinstance(it, IntegerStatistic)]
    return [it for data, wanted in found.values() for it in (data.rows, wanted)]


def _read_for(*wanted: Any) -> None:
    """Read ahead what measurements ask for: each data set once, with all their statistics."""
    for rows, statistics in zip(wanted[::2], wanted[1::2], strict=True):
        read_ahead(snapshot(rows), statistics)

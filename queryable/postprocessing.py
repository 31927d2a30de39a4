"""Interactive postprocessing: a person in the middle (Haney et al. 2023, Definition 2.15).

Responsible for Algorithm 7. A person in the middle passes messages between an analyst and a
mechanism. It may keep a state and toss coins. It never sees the data, so it has no privacy cost.
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Generic, TypeVar

import attrs

from queryable.conversation import (
    LOST,
    Compositor,
    Data,
    Live,
    Moved,
    Pass,
    Say,
    Start,
    Talk,
)
from queryable.effort import Effort, require_short, require_short_reading
from queryable.errors import QueryError
from queryable.losses import Loss, Measure
from queryable.losses.numbers import at_least_one
from queryable.mechanism import InteractiveMechanism, Measurement, nested
from queryable.messages import OWNERS, READS, Launch, Query, unnested
from queryable.optional import (
    as_filter,
    effort,
    empty_account,
    guarantee,
    public_name,
    require_growing,
    same_records,
)
from queryable.randomness.coins import Coins
from queryable.receipts import RunningTotal
from queryable.streams.levels import Growth, Neighbours
from queryable.wording.guarantees import Guarantee, documented
from queryable.wording.quoting import an_instance

PersonState = TypeVar("PersonState")


@attrs.frozen
class FromAnalyst:
    """A message to the person: the analyst's query, the paper's v = Q."""

    query: Any


@attrs.frozen
class FromMechanism:
    """A message to the person: the mechanism's answer, the paper's v = A."""

    answer: Any


@attrs.frozen
class ToMechanism:
    """A message of the person: a query to the mechanism, the paper's v' = Q."""

    query: Any


@attrs.frozen
class ToAnalyst:
    """A message of the person: the answer to the analyst, the paper's v' = A."""

    answer: Any


class PersonInTheMiddle(ABC, Generic[PersonState]):
    """A randomised postprocessing of a whole interaction (Haney et al. 2023, Definition 2.15).

    The first message is `FromMechanism(opening)` with the mechanism's opening answer. The person's
    first `ToAnalyst` is the opening answer of the postprocessed mechanism.
    """

    continual = True
    """Whether the data may grow under it. A person that combines answers about one data set, such
    as several estimates of one number, sets this to False: its mechanism then keeps the data."""

    states_costs = False
    """Whether all that it launches for an answer is the `cost` of that answer, a `Paid`, for one
    record, and the mechanism answers everything else itself. A tree then shows what was spent."""

    @abstractmethod
    def init(self) -> PersonState:
        """The person's first state."""

    @abstractmethod
    def step(
        self, state: PersonState, message: FromAnalyst | FromMechanism, coins: Coins
    ) -> tuple[PersonState, ToMechanism | ToAnalyst]:
        """Receive one message and return the next one.

        Raises:
            QueryError: the analyst's query is wrong. Raise it only before the mechanism is asked.
        """

    @property
    def effort(self) -> Effort:
        """What its start takes. Public."""
        return Effort()

    def __matmul__(self, mechanism: InteractiveMechanism[Any]) -> "Postprocessed[PersonState]":
        """`person @ mechanism` is `Postprocessed(mechanism, person)`."""
        if not isinstance(mechanism, InteractiveMechanism):
            return NotImplemented
        return Postprocessed(mechanism, self)


MECHANISM, PERSON = "mechanism", "person"
"""The ids of both, as children of a `Postprocessed`."""


def _max_rounds(value: Any) -> int:
    return at_least_one(value, "max_rounds")


@attrs.frozen
class Postprocessed(Compositor, Generic[PersonState]):
    """A mechanism seen through a person in the middle: the paper's P o M.

    Haney et al. 2023, Definition 2.16, Algorithm 7.

    Privacy:
        Claim: loses no more than the mechanism, in every measure, for every adversary.
        Theorem: Haney et al. 2023, Theorem 2.17.
        Assumes: the postprocessor never sees the data.
        Checked by: tests/unit/queryable/test_postprocessing.py
    Args:
        max_rounds: the number of exchanges with the mechanism after which the person must have
            answered; otherwise it has failed.
    """

    mechanism: InteractiveMechanism[Any] = attrs.field(validator=an_instance(InteractiveMechanism))
    person: PersonInTheMiddle[PersonState] = attrs.field(validator=an_instance(PersonInTheMiddle))
    max_rounds: int = attrs.field(default=10_000, converter=_max_rounds)

    def __attrs_post_init__(self) -> None:
        """Check that they fit each other.

        Raises:
            ValueError: the person combines answers that are about different records, or they are
                nested too deeply.
        """
        nested([self.mechanism])
        if not self.person.continual and not same_records(self.mechanism):
            name = type(self.person).__name__
            raise ValueError(
                f"{name} combines answers about the same records, and each launch of "
                f"{public_name(self.mechanism)} may leave out others; launch {name}(..) @ "
                "FiltCon(budget) in it"
            )

    @property
    def same_records(self) -> bool:
        """The mechanism's `same_records`."""
        return same_records(self.mechanism)

    @property
    def height(self) -> int:
        """The mechanism's height plus 1."""
        return nested([self.mechanism])

    @property
    def reports_loss(self) -> bool:  # type: ignore[override]
        """The mechanism's `reports_loss`."""
        return self.mechanism.reports_loss

    @property
    def coin_at_launch(self) -> bool:  # type: ignore[override]
        """The mechanism's `coin_at_launch`."""
        return self.mechanism.coin_at_launch

    @property
    def growth(self) -> Growth | None:  # type: ignore[override]
        """The mechanism's, if the person is continual. The person never sees batches."""
        return self.mechanism.growth if self.person.continual else None

    def require_growing(self) -> None:
        """Check that the data may grow under both.

        Raises:
            QueryError: they may not.
        """
        require_growing(self.mechanism)
        if not self.person.continual:
            name = type(self.person).__name__
            raise QueryError(f"{name} combines answers about one data set; nothing has changed")

    neighbours: ClassVar[Neighbours | None] = None  # as its mechanism

    @property
    def public_name(self) -> str:
        """`Person @ Mechanism`."""
        return f"{type(self.person).__name__} @ {public_name(self.mechanism)}"

    @property
    def effort(self) -> Effort:
        """The person's, to start it."""
        return self.person.effort

    def account_below(self) -> RunningTotal | None:
        """The empty account of the mechanism, if answers state all that is charged to it."""
        stated = self.person.states_costs and getattr(self.mechanism, "d_in", None) == 1
        return empty_account(self.mechanism) if stated else None

    def privacy_map(self, d_in: int, measure: Measure | None = None) -> Loss:
        """The mechanism's privacy map."""
        return self.mechanism.privacy_map(d_in, measure)

    def guarantee(self) -> Guarantee:
        """The person's guarantee, with the theorem and the assumptions of the mechanism added."""
        own, inner = documented(type(self)), guarantee(self.mechanism)
        person = documented(type(self.person))
        name = public_name(self.mechanism)
        assumes = " ".join(filter(None, (own.assumes, person.assumes, f"{name}: {inner.assumes}")))
        return Guarantee(
            person.summary or own.summary,
            person.claim or own.claim,
            f"{person.theorem or own.theorem} {name}: {inner.theorem}",
            assumes,
            inner.growing,
        )

    def as_filter(self, d_out: Loss, d_in: int) -> "Postprocessed[PersonState]":
        """The person over the mechanism's `as_filter`."""
        return attrs.evolve(self, mechanism=as_filter(self.mechanism, d_out, d_in))

    def open(self, data: Data) -> Talk:
        """Start both; the person translates the mechanism's opening answer."""
        opened: Moved | None = yield Start(MECHANISM, self.mechanism, data)
        if opened is LOST:
            return LOST
        yield Start(PERSON, self.person)
        return (yield from self._speak(FromMechanism(opened.answer)))

    def understood(self, own: None, query: Query, live: Live) -> Query:  # type: ignore[override]
        """The query; a message of the data's owner if the data may grow."""
        if isinstance(query, OWNERS):
            self.require_growing()
        return query

    def converse(self, own: None, understood: Query, live: Live) -> Talk:
        """Let the person answer; it may ask the mechanism up to `max_rounds` times.

        A message of the data's owner goes to the mechanism, and the person does not learn of it.
        """
        if isinstance(understood, OWNERS):
            return self._grow(understood)
        return self._speak(FromAnalyst(understood))

    def _grow(self, message: Query) -> Talk:
        grown: Moved | None = yield Pass(MECHANISM, message)
        return LOST if grown is LOST else Moved(None, None)

    def _speak(self, message: FromAnalyst | FromMechanism) -> Talk:
        for _ in range(self.max_rounds + isinstance(message, FromAnalyst)):
            said: Moved | None = yield Say(PERSON, message)
            if said is LOST:
                return LOST
            reply = said.answer
            if isinstance(reply, ToAnalyst):
                return Moved(None, reply.answer)
            if not isinstance(reply, ToMechanism):
                raise TypeError(
                    f"a person answers ToMechanism or ToAnalyst, not {type(reply).__name__}"
                )
            own = isinstance(message, FromAnalyst) and reply.query is message.query
            if isinstance(message, FromAnalyst) and not own:
                _require_short(reply.query)  # her own is counted where it is read
            if isinstance(self.mechanism, Measurement):
                self.mechanism.understood(reply.query)  # it has answered, and is no child
            told: Moved | None = yield Pass(MECHANISM, reply.query)
            if told is LOST:
                return LOST
            if own and isinstance(unnested(reply.query)[1], READS):
                require_short_reading(told.answer)  # a log keeps what persons answer
            message = FromMechanism(told.answer)
        return LOST


def _require_short(query: Query) -> None:
    """Take what a launch takes that a person thought of, before it is charged.

    Raises:
        QueryError: that is too much.
    """
    mechanism = query.mechanism if isinstance(query, Launch) else None
    if isinstance(mechanism, InteractiveMechanism):
        require_short(effort(mechanism))

"""Interactive postprocessing: a person in the middle (Haney et al. 2023, Definition 2.15).

Responsible for Algorithm 7. A person passes messages between an analyst and a mechanism, may keep
a state and toss coins, and never sees the data, which is why it costs nothing.
"""

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

import attrs

from queryable.errors import MechanismFault
from queryable.faults import followed, touching_data
from queryable.guarantees import Guarantee, documented
from queryable.losses import Loss, Measure
from queryable.mechanism import InteractiveMechanism, nested
from queryable.messages import Answer, Query, plain
from queryable.optional import guarantee, public_name
from queryable.quoting import an_instance
from queryable.randomness.coins import SYSTEM, Coins

PersonState = TypeVar("PersonState")


@attrs.frozen
class FromAnalyst:
    """The analyst asks the person: the paper's v = Q on the way in."""

    query: Any


@attrs.frozen
class FromMechanism:
    """The mechanism answers the person: the paper's v = A on the way in."""

    answer: Any


@attrs.frozen
class ToMechanism:
    """The person asks the mechanism: the paper's v' = Q."""

    query: Any


@attrs.frozen
class ToAnalyst:
    """The person answers the analyst: the paper's v' = A."""

    answer: Any


class PersonInTheMiddle(ABC, Generic[PersonState]):
    """A randomised postprocessing of a whole interaction (Haney et al. 2023, Definition 2.15).

    The first message is `FromMechanism(opening)`, the mechanism's opening answer; `ToAnalyst` of
    it becomes the opening of the postprocessed mechanism.
    """

    @abstractmethod
    def init(self) -> PersonState:
        """The person's first state."""

    @abstractmethod
    def step(
        self, state: PersonState, message: FromAnalyst | FromMechanism, coins: Coins
    ) -> tuple[PersonState, ToMechanism | ToAnalyst]:
        """Hear one message, say one.

        Raises:
            QueryError: the analyst's query is wrong; only before anything was asked for it.
        """

    def __matmul__(self, mechanism: InteractiveMechanism[Any]) -> "Postprocessed[PersonState]":
        """`person @ mechanism` is `Postprocessed(mechanism, person)`."""
        if not isinstance(mechanism, InteractiveMechanism):
            return NotImplemented
        return Postprocessed(mechanism, self)


@attrs.frozen
class PostprocessedState(Generic[PersonState]):
    """Both states, and how often each party has been spoken to (for their coins)."""

    mechanism: Any = attrs.field(repr=False)
    person: PersonState = attrs.field(repr=False)
    asked: int = 0
    heard: int = 0


@attrs.frozen
class Postprocessed(InteractiveMechanism[PostprocessedState[PersonState]]):
    """A mechanism seen through a person in the middle: the paper's P o M.

    Haney et al. 2023, Definition 2.16, Algorithm 7.

    Privacy:
        Claim: loses no more than the mechanism, in every measure, for every adversary.
        Theorem: Haney et al. 2023, Theorem 2.17.
        Assumes: the postprocessor never sees the data.
        Checked by: tests/unit/queryable/test_postprocessing.py
    Args:
        max_rounds: how many exchanges a person may have with the mechanism before it must answer;
            one that goes on is taken for failed.
    """

    mechanism: InteractiveMechanism[Any] = attrs.field(validator=an_instance(InteractiveMechanism))
    person: PersonInTheMiddle[PersonState] = attrs.field(validator=an_instance(PersonInTheMiddle))
    max_rounds: int = attrs.field(
        default=10_000, validator=[an_instance(int), attrs.validators.ge(1)]
    )

    def __attrs_post_init__(self) -> None:
        nested([self.mechanism])

    @property
    def height(self) -> int:
        """One more than the mechanism's."""
        return nested([self.mechanism])

    @property
    def reports_loss(self) -> bool:  # type: ignore[override]
        """As the mechanism does."""
        return self.mechanism.reports_loss

    @property
    def composes(self) -> bool:  # type: ignore[override]
        """As the mechanism does: the person sees no data."""
        return self.mechanism.composes

    @property
    def coin_at_launch(self) -> bool:  # type: ignore[override]
        """As the mechanism has."""
        return self.mechanism.coin_at_launch

    @property
    def public_name(self) -> str:
        """`Person @ Mechanism`."""
        return f"{type(self.person).__name__} @ {public_name(self.mechanism)}"

    def privacy_map(self, d_in: int, measure: Measure | None = None) -> Loss:
        """The mechanism's own."""
        return self.mechanism.privacy_map(d_in, measure)

    def guarantee(self) -> Guarantee:
        """The person's or one's own words, on top of what the mechanism rests on."""
        own, inner = documented(type(self)), guarantee(self.mechanism)
        person = documented(type(self.person))
        name = public_name(self.mechanism)
        assumes = " ".join(filter(None, (own.assumes, person.assumes, f"{name}: {inner.assumes}")))
        return Guarantee(
            person.summary or own.summary,
            person.claim or own.claim,
            f"{person.theorem or own.theorem} {name}: {inner.theorem}",
            assumes,
        )

    def as_filter(self, d_out: Loss, d_in: int) -> "Postprocessed[PersonState]":
        """The person over the mechanism's `as_filter`."""
        return attrs.evolve(self, mechanism=self.mechanism.as_filter(d_out, d_in))

    def init(
        self, dataset: Any, coins: Coins = SYSTEM
    ) -> tuple[PostprocessedState[PersonState], Answer]:
        """Start both; the person turns the mechanism's opening into the analyst's."""
        inner, opening = self.mechanism.init(dataset, coins.spawn("mechanism", 0))
        state = PostprocessedState(inner, self.person.init(), asked=1)
        return self._converse(state, FromMechanism(opening), coins)

    def step(
        self, state: PostprocessedState[PersonState], query: Query, coins: Coins = SYSTEM
    ) -> tuple[PostprocessedState[PersonState], Answer]:
        """Let the person answer, by way of the mechanism as often as it likes."""
        state, reply = self._hear(state, FromAnalyst(query), coins)
        if isinstance(reply, ToAnalyst):
            return state, reply.answer
        state, answer = self._ask(state, reply, coins)
        # From here on the mechanism has moved. An error now cannot mean "nothing has changed",
        # and its text may hold an answer that is not paid for once the new state is dropped.
        return touching_data(lambda: self._converse(state, FromMechanism(answer), coins))

    def _converse(
        self, state: PostprocessedState[PersonState], message: FromMechanism, coins: Coins
    ) -> tuple[PostprocessedState[PersonState], Answer]:
        for _ in range(self.max_rounds):
            state, reply = self._hear(state, message, coins)
            if isinstance(reply, ToAnalyst):
                return state, reply.answer
            state, answer = self._ask(state, reply, coins)
            message = FromMechanism(answer)
        raise MechanismFault

    def _hear(
        self,
        state: PostprocessedState[PersonState],
        message: FromAnalyst | FromMechanism,
        coins: Coins,
    ) -> tuple[PostprocessedState[PersonState], ToMechanism | ToAnalyst]:
        person, reply = self.person.step(state.person, message, coins.spawn("person", state.heard))
        if not isinstance(reply, ToMechanism | ToAnalyst):
            raise TypeError(
                f"a person answers ToMechanism or ToAnalyst, not {type(reply).__name__}"
            )
        return PostprocessedState(state.mechanism, person, state.asked, state.heard + 1), reply

    def _ask(
        self, state: PostprocessedState[PersonState], reply: ToMechanism, coins: Coins
    ) -> tuple[PostprocessedState[PersonState], Answer]:
        with followed(_gone):
            inner, answer = self.mechanism.step(
                state.mechanism, reply.query, coins.spawn("mechanism", state.asked)
            )
        return PostprocessedState(inner, state.person, state.asked + 1, state.heard), plain(answer)


def _gone(moved: Any) -> None:
    """What stands of a person that was interrupted in a conversation: it is lost with its child."""

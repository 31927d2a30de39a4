"""The base of the mechanisms that release one statistic with less and less noise, ex post.

Responsible for the schedule, the queries, and the expense as a function of the last release. A
subclass draws the noise, makes the estimates, and knows what a level of its schedule costs. All
noise is drawn at the launch, and the data are read at the first release.
"""

from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Sequence
from fractions import Fraction
from operator import neg
from typing import Any, ClassVar, Self

import attrs

from mechanisms.refinement.estimate import Refined, Undecided, stopped, undecided
from mechanisms.refinement.refine_queries import Latest, Refine, Until, holds, target_of
from mechanisms.refinement.stopping import schedule_of
from queryable.effort import Effort, require_short
from queryable.errors import QueryError, UnknownQueryError
from queryable.ex_post import Expense, ExPostMechanism, Opening
from queryable.losses.numbers import shown
from queryable.messages import Answer, Query, Refused
from queryable.randomness.coins import SYSTEM, Coins
from queryable.statistics import IntegerStatistic


@attrs.frozen
class ReductionState:
    """How many levels of the schedule are released or passed; noise and data are private.

    The dataset is kept until the first release, which replaces it by the statistic's value.
    `value_dependent`: whether the place in the schedule depends on values, as after `Until`.
    `latest`: the last release, which is public.
    """

    passed: int
    noise: tuple[Any, ...] = attrs.field(repr=False)
    dataset: Any = attrs.field(repr=False)
    value: Any = attrs.field(default=None, repr=False)
    value_dependent: bool = False
    latest: Refined | None = attrs.field(default=None, repr=False)


class NoiseReduction(ExPostMechanism[ReductionState]):
    """One statistic at the levels of a falling schedule; a level is a scale or a variance."""

    level_name: ClassVar[str]
    statistic: IntegerStatistic

    @property
    @abstractmethod
    def levels(self) -> tuple[Fraction, ...]:
        """The schedule."""

    @property
    @abstractmethod
    def drawn(self) -> Effort:
        """What one release takes."""

    @abstractmethod
    def variance_at(self, level: Fraction) -> Fraction:
        """The variance that an estimate at a level states; it falls with the level."""

    @property
    @abstractmethod
    def size(self) -> Fraction:
        """The sensitivity of the statistic by which it is charged."""

    @abstractmethod
    def spent(self, level: Fraction, moved: Fraction) -> Fraction:
        """The expense once the last release is at a level, in nats.

        Args:
            moved: by how much the statistic may differ, the size times the records that differ.
        """

    @abstractmethod
    def noise(self, coins: Coins) -> tuple[Any, ...]:
        """The noise of all levels."""

    @abstractmethod
    def estimated(self, state: ReductionState, place: int, *, value_dependent: bool) -> Refined:
        """The release at a place of the schedule that is not passed."""

    def expense(self) -> "ReductionExpense":
        """The realised loss before any release: zero."""
        return ReductionExpense(self, self.size)

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[ReductionState, None]:
        """Draw all noise. There is no first answer, and the data are not read."""
        return ReductionState(0, self.noise(coins), dataset), None

    def step(
        self, state: ReductionState, query: Query, coins: Coins = SYSTEM
    ) -> tuple[ReductionState, Answer]:
        """Release the statistic at a later level, or answer the last release again.

        Raises:
            QueryError: the query is none of these, or its level is not a later one of the schedule.
            MechanismFault: the statistic failed.
        """
        places = self.places(query, state.passed)
        if not places:
            return state, _used_up(self.level_name)
        require_short(self.drawn, len(places))
        if state.passed == 0:
            value = self.statistic(state.dataset)
            state = ReductionState(0, state.noise, None, value)
        if isinstance(query, Until):
            return self._stop(state, query.condition, places)
        follows = isinstance(query, Latest) or query.to is None
        return self._at(state, places[0], value_dependent=state.value_dependent and follows)

    def _at(
        self, state: ReductionState, place: int, *, value_dependent: bool
    ) -> tuple[ReductionState, Refined]:
        """The release at a place of the schedule, which may be the last one again."""
        if place < state.passed and state.latest is not None:
            return state, state.latest
        estimate = self.estimated(state, place, value_dependent=value_dependent)
        after = attrs.evolve(
            state, passed=place + 1, value_dependent=value_dependent, latest=estimate
        )
        return after, estimate

    def _stop(
        self, state: ReductionState, condition: Any, places: Sequence[int]
    ) -> tuple[ReductionState, Answer]:
        after = state
        for place in places:
            after, estimate = self._at(after, place, value_dependent=True)
            try:
                met = holds(condition, estimate)
            except QueryError as error:
                if place < state.passed:  # nothing was released for it
                    raise
                return after, undecided(error, estimate)
            if met:
                break
        return after, stopped(estimate, met=met)

    def understood(self, query: Query) -> Query:
        """The query with its levels as fractions."""
        match query:
            case Refine(to=to):
                return Refine(None if to is None else target_of(to, f"the {self.level_name}"))
            case Until(condition=condition, schedule=levels):
                read = None if levels is None else schedule_of(levels, f"{self.level_name}s")
                return Until(condition, read)
            case Latest():
                return Latest()
        raise self._unknown(query)

    def places(self, query: Query, passed: int) -> Sequence[int]:
        """The places of the schedule that a query may lead to; empty at its end.

        Raises:
            QueryError: the query can lead to none.
        """
        match query:
            case Refine(to=None):
                return range(passed, min(passed + 1, len(self.levels)))
            case Refine(to=to):
                return (self._place(to, passed),)
            case Until():
                return self._until(query, passed)
            case Latest():
                if passed == 0:
                    raise QueryError("ask Refine() first: nothing has been released yet")
                return (passed - 1,)
        raise self._unknown(query)

    def _until(self, query: Until, passed: int) -> Sequence[int]:
        if not callable(query.condition):
            raise QueryError(
                f"condition is {type(query.condition).__name__}; it should be a function from a "
                "Refined to a bool"
            )
        if query.schedule is None:
            return range(max(passed - 1, 0), len(self.levels))
        wanted = schedule_of(query.schedule, f"{self.level_name}s")
        here = self.levels[passed - 1] if passed else wanted[0] + 1
        finer = tuple(self._place(level, passed) for level in wanted if level < here)
        if not finer:
            raise QueryError(
                f"give a {self.level_name} of the schedule below the last release's, {shown(here)}"
            )
        return (passed - 1, *finer) if passed else finer

    def _place(self, to: Any, passed: int) -> int:
        name = self.level_name
        level = target_of(to, f"the {name}")
        place = bisect_left(self.levels, -level, key=neg)
        if place == len(self.levels) or self.levels[place] != level:
            raise QueryError(f"{name} {shown(level)} is not in the schedule")
        if place < passed:
            last = shown(self.levels[passed - 1])
            raise QueryError(f"{name} {shown(level)} is not finer than the last release, at {last}")
        return place

    def _unknown(self, query: Query) -> UnknownQueryError:
        return UnknownQueryError(
            f"ask {type(self).__name__} Refine, Until or Latest, not {type(query).__name__}"
        )


@attrs.frozen
class ReductionExpense(Expense):
    """The loss of the last release.

    `size`: as the statistic declared it at the launch.
    """

    mechanism: NoiseReduction
    size: Fraction
    passed: int = 0

    def epsilon(self, d_in: int) -> Fraction:
        """What the level of the last release costs."""
        if self.passed == 0:
            return Fraction(0)
        return self.mechanism.spent(self.mechanism.levels[self.passed - 1], self.size * d_in)

    def at_worst(self, query: Query, d_in: int) -> Fraction:
        """The loss at the finest level that the query may lead to."""
        return self._reaching(query).epsilon(d_in)

    def after(self, query: Query, answer: Answer) -> Self:
        """The loss at the answer's level, or at the query's finest if the answer has none."""
        told = answer.estimate if isinstance(answer, Undecided) else answer
        if not isinstance(told, Refined):
            return self._reaching(query)
        levels, variance_at = self.mechanism.levels, self.mechanism.variance_at
        place = bisect_left(levels, -told.variance, key=lambda level: -variance_at(level))
        return attrs.evolve(self, passed=min(place + 1, len(levels)))

    def _reaching(self, query: Query) -> Self:
        if isinstance(query, Opening):
            return self
        places = self.mechanism.places(query, self.passed)
        return attrs.evolve(self, passed=places[-1] + 1) if places else self


def _used_up(level_name: str) -> Refused:
    return Refused(f"the schedule is used up; its finest {level_name} has been released")

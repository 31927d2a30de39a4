"""Laplace noise reduction: one statistic at falling scales; only the last scale is paid for."""

from bisect import bisect_left
from collections.abc import Sequence
from fractions import Fraction
from operator import neg
from typing import Any, Self

import attrs
import numpy as np

from mechanisms.additive import drawing, integer_statistic
from mechanisms.laplace import Laplace
from mechanisms.refinement.estimate import Refined, Undecided, stopped, undecided
from mechanisms.refinement.messages import Latest, Refine, Until, holds, target_of
from mechanisms.refinement.stopping import in_order, schedule_of
from mechanisms.refinement.tails import Reach, ReleaseTails
from mechanisms.sampling.integers import added
from mechanisms.sampling.laplace_path import laplace_path
from mechanisms.sampling.laws import DiscreteLaplace
from queryable.answers.noisy import NoisyInt, noisy_array
from queryable.data.frozen import read_only
from queryable.effort import Effort, require_short
from queryable.errors import QueryError, UnknownQueryError
from queryable.ex_post import Expense, ExPostMechanism, Opening
from queryable.losses import Loss, Measure
from queryable.losses.numbers import shown
from queryable.messages import Answer, Query, Refused
from queryable.randomness.coins import SYSTEM, Coins
from queryable.statistics import IntegerStatistic

USED_UP = Refused("the schedule is used up; its finest scale has been released")


@attrs.frozen
class LaplaceReductionState:
    """How many scales of the schedule are released or passed; noise and data are private.

    The dataset is kept until the first release, which replaces it by the statistic's value.
    `value_dependent`: whether the place in the schedule depends on values, as after `Until`.
    """

    passed: int
    noise: tuple[Any, ...] = attrs.field(repr=False)
    dataset: Any = attrs.field(repr=False)
    value: Any = attrs.field(default=None, repr=False)
    value_dependent: bool = False

    def at(self, place: int, *, value_dependent: bool) -> "LaplaceReductionState":
        """The state after the release at a place of the schedule."""
        return attrs.evolve(self, passed=place + 1, value_dependent=value_dependent)


@attrs.frozen(init=False)
class LaplaceNoiseReduction(ExPostMechanism[LaplaceReductionState]):
    """An integer statistic with Laplace noise at falling scales, each release finer than the last.

    Answers `Refine()` with the statistic at the next scale of the schedule, `Refine(scale)` at a
    later one. `Until(condition)` releases the first scale, from the current one on, at which the
    condition holds for the noisy statistic, or else the last scale. If the condition raises, it
    answers `Undecided`, and the scale at which it raised is released. `Until(condition, scales)`
    tries some scales of the schedule. `Latest()` answers the last release again. The answers are
    `Refined`s: `value` is an int, or a read-only integer array if the statistic has a shape, and
    `variance` is 2 scale^2, a little above the variance of the noise. A value that no condition
    stopped at is a `NoisyInt` or `NoisyArray`, as of `Laplace`. After the finest scale has been
    released, the answer is `Refused`.

    Privacy:
        Claim: PureDP(l1 * d_in / scale) for the scale of the last release, ex post (the realised
            loss); in advance the claim of `Laplace` at the schedule's last scale.
        Theorem: Koufogiannis, Han, Pappas 2017; Ligett et al. 2017; on the integers docs/theory.md,
            the discrete Laplace process: all earlier answers are a postprocessing of the last
            release, which is a `Laplace` answer of that scale. A condition may therefore be
            evaluated on coarser noise.
        Assumes: the statistic's declared `l1`.
        Checked by: tests/unit/mechanisms/refinement/test_laplace_reduction.py

    Args:
        statistic: integer-valued, with declared sensitivities. It is evaluated at the first
            release, the first query that costs anything.
        scales: the schedule of the noise: public, positive and falling. Give exactly one of
            `scales` and `epsilons`.
        epsilons: the loss after each release, at d_in=1: rising; the scales are l1 / epsilon.
    """

    statistic: IntegerStatistic
    scales: tuple[Fraction, ...]

    def __init__(self, statistic: Any, *, scales: Any = None, epsilons: Any = None) -> None:
        checked = integer_statistic(statistic)
        self.__attrs_init__(checked, _schedule(checked.l1, scales, epsilons))

    def privacy_map(self, d_in: int, measure: Measure | None = None) -> Loss:
        """The loss of one `Laplace` answer at the last scale."""
        return Laplace(self.statistic, scale=self.scales[-1]).privacy_map(d_in, measure)

    @property
    def effort(self) -> Effort:
        """Noise for each coordinate at each scale."""
        finest = max(self.scales, key=lambda each: each.denominator * each.numerator)
        each = drawing(self.statistic, finest, int(finest))
        return Effort(len(self.scales) * (100 + each.steps))

    def expense(self) -> "LaplaceExpense":
        """The realised loss before any release: zero."""
        return LaplaceExpense(self, self.statistic.l1)

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[LaplaceReductionState, None]:
        """Draw all noise. There is no first answer, and the data are not read."""
        noise = laplace_path(self.scales, self.statistic.shape, coins)
        return LaplaceReductionState(0, noise, dataset), None

    def step(
        self, state: LaplaceReductionState, query: Query, coins: Coins = SYSTEM
    ) -> tuple[LaplaceReductionState, Answer]:
        """Release the statistic at a later scale, or answer the last release again.

        Raises:
            QueryError: the query is none of these, or its scale is not a later one of the schedule.
            MechanismFault: the statistic failed.
        """
        places = self.places(query, state.passed)
        if not places:
            return state, USED_UP
        require_short(drawing(self.statistic, self.scales[-1], int(self.scales[0])), len(places))
        if state.passed == 0:
            value = self.statistic(state.dataset)
            state = LaplaceReductionState(0, state.noise, None, value)
        if isinstance(query, Until):
            return self._stop(state, query.condition, places)
        follows = isinstance(query, Latest) or query.to is None
        after = state.at(places[0], value_dependent=state.value_dependent and follows)
        return after, self._estimate(after)

    def _stop(
        self, state: LaplaceReductionState, condition: Any, places: Sequence[int]
    ) -> tuple[LaplaceReductionState, Answer]:
        for place in places:
            after = state.at(place, value_dependent=state.value_dependent or place >= state.passed)
            estimate = self._estimate(after)
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
        """The query with its scales as fractions."""
        match query:
            case Refine(to=to):
                return Refine(None if to is None else target_of(to, "the scale"))
            case Until(condition=condition, schedule=scales):
                return Until(condition, None if scales is None else schedule_of(scales, "scales"))
            case Latest():
                return Latest()
        raise _unknown(query)

    def places(self, query: Query, passed: int) -> Sequence[int]:
        """The places of the schedule that a query may lead to; empty at its end.

        Raises:
            QueryError: the query can lead to none.
        """
        match query:
            case Refine(to=None):
                return range(passed, min(passed + 1, len(self.scales)))
            case Refine(to=to):
                return (self._place(to, passed),)
            case Until():
                return self._until(query, passed)
            case Latest():
                if passed == 0:
                    raise QueryError("ask Refine() first: nothing has been released yet")
                return (passed - 1,)
        raise _unknown(query)

    def _until(self, query: Until, passed: int) -> Sequence[int]:
        if not callable(query.condition):
            raise QueryError(
                f"condition is {type(query.condition).__name__}; it should be a function from an "
                "Refined to a bool"
            )
        if query.schedule is None:
            return range(max(passed - 1, 0), len(self.scales))
        wanted = schedule_of(query.schedule, "scales")
        here = self.scales[passed - 1] if passed else wanted[0] + 1
        finer = tuple(self._place(scale, passed) for scale in wanted if scale < here)
        if not finer:
            raise QueryError(
                f"give a scale of the schedule below the last release's, {shown(here)}"
            )
        return (passed - 1, *finer) if passed else finer

    def _place(self, to: Any, passed: int) -> int:
        scale = target_of(to, "the scale")
        place = bisect_left(self.scales, -scale, key=neg)
        if place == len(self.scales) or self.scales[place] != scale:
            raise QueryError(f"scale {shown(scale)} is not in the schedule")
        if place < passed:
            last = shown(self.scales[passed - 1])
            raise QueryError(f"scale {shown(scale)} is not finer than the last release, at {last}")
        return place

    def _estimate(self, state: LaplaceReductionState) -> Refined:
        place = state.passed - 1
        scale, noise = self.scales[place], state.noise[place]
        law = DiscreteLaplace(scale)
        value: Any
        if self.statistic.shape is None:
            value = NoisyInt(state.value + noise, law)
        else:
            value = noisy_array(added(np.asarray(state.value), noise), law)
        if state.value_dependent:  # given where it stopped, its noise has another law
            value = _plain(value)
        reach = Reach(ReleaseTails(law, place + 1), value_dependent=state.value_dependent)
        return Refined(value, variance_at(scale), reach=reach)


@attrs.frozen
class LaplaceExpense(Expense):
    """The loss of the last release."""

    mechanism: LaplaceNoiseReduction
    l1: Fraction
    passed: int = 0

    def epsilon(self, d_in: int) -> Fraction:
        """l1 * d_in / scale."""
        if self.passed == 0:
            return Fraction(0)
        return self.l1 * d_in / self.mechanism.scales[self.passed - 1]

    def at_worst(self, query: Query, d_in: int) -> Fraction:
        """The loss at the finest scale that the query may lead to."""
        return self._reaching(query).epsilon(d_in)

    def after(self, query: Query, answer: Answer) -> Self:
        """The loss at the answer's scale, or at the query's finest if the answer has none."""
        told = answer.estimate if isinstance(answer, Undecided) else answer
        if not isinstance(told, Refined):
            return self._reaching(query)
        scales = self.mechanism.scales
        place = bisect_left(scales, -told.variance, key=lambda scale: -variance_at(scale))
        return attrs.evolve(self, passed=min(place + 1, len(scales)))

    def _reaching(self, query: Query) -> Self:
        if isinstance(query, Opening):
            return self
        places = self.mechanism.places(query, self.passed)
        return attrs.evolve(self, passed=places[-1] + 1) if places else self


def variance_at(scale: Fraction) -> Fraction:
    """2 scale^2, the variance of continuous Laplace noise; on the integers 1/(2 sinh(1/2t)^2)."""
    return 2 * scale**2


def _plain(value: Any) -> Any:
    return read_only(np.asarray(value)) if isinstance(value, np.ndarray) else int(value)


def _unknown(query: Query) -> UnknownQueryError:
    return UnknownQueryError(
        f"ask LaplaceNoiseReduction Refine, Until or Latest, not {type(query).__name__}"
    )


def _schedule(l1: Fraction, scales: Any, epsilons: Any) -> tuple[Fraction, ...]:
    if (scales is None) == (epsilons is None):
        raise ValueError("give exactly one of scales and epsilons")
    if scales is not None:
        return in_order(scales, "scales")
    if not l1 > 0:
        raise ValueError("give scales; the statistic's l1 is 0, so epsilons imply none")
    return tuple(l1 / epsilon for epsilon in in_order(epsilons, "epsilons", rising=True))

"""Estimates that an analyst opens, refines and comes back to: what persons who refine share.

Responsible for the messages and for carrying a refinement through to its answer. Every refinement
is a launch of a measurement through the mechanism below, which pays for it or refuses; every other
message passes through unchanged, so estimates interleave with whatever the mechanism composes.
Knows no noise: what to launch, and what an answer means, is for the subclass to say.

An estimate is a child of the person: `Open` answers `Launched("estimate 0", None)`, so the handle
mints a queryable, and `Ask("estimate 0", Refine(100))` stops here.
"""

from abc import abstractmethod
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import attrs
from immutables import Map

from mechanisms.refinement.estimate import PAID, Estimate, is_picked, picked, stopped, undecided
from mechanisms.refinement.messages import Latest, Open, Refine, Until, holds, target_of
from mechanisms.refinement.stopping import Schedule, schedule_of
from queryable.errors import QueryError, RetiredChildError, UnknownQueryError
from queryable.losses import Loss
from queryable.losses.numbers import positive, shown
from queryable.mechanism import Measurement
from queryable.messages import (
    Answer,
    Ask,
    CanAfford,
    Failed,
    Launch,
    Launched,
    PrivacyLossQuery,
    Refused,
    records,
)
from queryable.postprocessing import (
    FromAnalyst,
    FromMechanism,
    PersonInTheMiddle,
    ToAnalyst,
    ToMechanism,
)
from queryable.randomness.coins import Coins
from queryable.statistics import IntegerStatistic


@attrs.frozen
class Held:
    """An open estimate: what it is of, and how far it is. All of it is public.

    `level`: the last target, a variance unless the subclass means something else. `behind`: how
    many entries of the schedule are not finer.
    """

    statistic: IntegerStatistic
    schedule: Schedule
    level: Fraction | None = None
    estimate: Estimate | None = None
    behind: int = 0

    def at(self, level: Fraction | None, estimate: Estimate | None) -> "Held":
        """The same statistic, estimated as finely as that."""
        behind = self.behind
        while level is not None and behind < len(self.schedule) and self.schedule[behind] >= level:
            behind += 1
        return Held(self.statistic, self.schedule, level, estimate, behind)


@attrs.frozen
class UnderWay:
    """What the person is waiting to hear about: an estimate, its next target and those after it.

    `by_value`: whether the targets depend on values of the estimate. `trial`: the mechanism was
    asked whether it can afford this measurement, which reaches the last target in one.
    """

    name: str
    held: Held
    targets: Schedule
    place: int = 0
    condition: Callable[[Estimate], Any] | None = None
    trial: Measurement | None = None
    by_value: bool = False


@attrs.frozen
class Estimates:
    """Every estimate ever opened, None where it has failed, and what is under way."""

    held: "Map[str, Held | None]" = Map()
    under_way: UnderWay | None = None


Reply = tuple[Estimates, ToMechanism | ToAnalyst]


class Estimating(PersonInTheMiddle[Estimates]):
    """Base of the persons that refine estimates.

    Answers: Open; and to an estimate: Refine, Until, Latest, PrivacyLossQuery,
    CanAfford(Refine(...)). Everything else passes through unchanged, both ways. As the filter below
    is not known here, PrivacyLossQuery is about one record unless it says another d_in.
    """

    @abstractmethod
    def _opened(self, query: Open) -> Held:
        """A new estimate.

        Raises:
            QueryError: not of such a statistic, or not by such a schedule.
        """

    @abstractmethod
    def _measurement(self, held: Held, target: Fraction) -> Measurement:
        """What to launch to reach the target.

        Raises:
            QueryError: the target is not finer than the estimate.
        """

    @abstractmethod
    def _combined(self, held: Held, target: Fraction, measured: Any) -> Estimate:
        """The estimate after that measurement."""

    @abstractmethod
    def _loss(self, held: Held, d_in: int) -> Loss:
        """What the estimate has cost so far."""

    def _whole(self, held: Held, targets: Schedule) -> Measurement | None:
        """One measurement that costs as much as all these targets, if there is one."""
        return None

    @abstractmethod
    def _affordable(self, refusal: Refused, under_way: UnderWay) -> str:
        """What remains affordable after a refusal, in words; empty where that is not known."""

    def _target(self, held: Held, query: Refine) -> Fraction:
        """The target of a query."""
        if query.to is not None:
            return target_of(query.to)
        require_more(held)
        return held.schedule[held.behind]

    def _targets(self, held: Held, query: Until) -> Schedule:
        """The targets of a query, at least one."""
        if query.schedule is not None:
            held = Held(held.statistic, schedule_of(query.schedule)).at(held.level, held.estimate)
        require_more(held)
        return held.schedule[held.behind :]

    def init(self) -> Estimates:
        """Nothing is open."""
        return Estimates()

    def step(self, state: Estimates, message: FromAnalyst | FromMechanism, coins: Coins) -> Reply:
        """Open, refine, or pass on."""
        match message:
            case FromMechanism(answer):
                if state.under_way is None:
                    return state, ToAnalyst(answer)
                return self._heard(state, state.under_way, answer)
            case FromAnalyst(Open() as query):
                name = f"estimate {len(state.held)}"
                opened = state.held.set(name, self._opened(query))
                return Estimates(opened), ToAnalyst(Launched(name, None))
            case FromAnalyst(Ask(child=str() as name, query=query)) if name in state.held:
                held = state.held[name]
                if held is None:
                    raise RetiredChildError(f"{name} has failed and answers no more")
                return self._asked(state, name, held, query)
        return state, ToMechanism(message.query)

    def _asked(self, state: Estimates, name: str, held: Held, query: Any) -> Reply:
        match query:
            case Refine(to=to):
                targets = (self._target(held, query),)
                follows = to is None and is_picked(held.estimate)
                return self._launch(state, UnderWay(name, held, targets, by_value=follows))
            case Until():
                return self._asked_until(state, name, held, query)
            case Latest():
                if held.estimate is None:
                    raise QueryError(f"{name} has not been refined yet: there is nothing to tell")
                return state, ToAnalyst(held.estimate)
            case PrivacyLossQuery(d_in):
                return state, ToAnalyst(self._loss(held, records(d_in, 1)))
            case CanAfford(Refine() as refine):
                trial = self._measurement(held, self._target(held, refine))
                return state, ToMechanism(CanAfford(Launch(trial)))
        raise UnknownQueryError(
            "an estimate answers Refine, Until, Latest, PrivacyLossQuery and CanAfford(Refine()), "
            f"not {type(query).__name__}"
        )

    def _asked_until(self, state: Estimates, name: str, held: Held, query: Until) -> Reply:
        if not callable(query.condition):
            raise QueryError(
                f"condition is {type(query.condition).__name__}; it should be a function of an "
                "Estimate, such as RelativeError('1/10')"
            )
        targets = self._targets(held, query)
        if held.estimate is not None and holds(query.condition, held.estimate):
            return state, ToAnalyst(stopped(held.estimate, met=True))
        under_way = UnderWay(name, held, targets, 0, query.condition, by_value=True)
        whole = self._whole(held, targets)
        if whole is None:
            return self._launch(state, under_way)
        trying = attrs.evolve(under_way, trial=whole)
        return Estimates(state.held, trying), ToMechanism(CanAfford(Launch(whole)))

    def _launch(self, state: Estimates, under_way: UnderWay) -> Reply:
        target = under_way.targets[under_way.place]
        measurement = self._measurement(under_way.held, target)
        return Estimates(state.held, under_way), ToMechanism(Launch(measurement))

    def _heard(self, state: Estimates, under_way: UnderWay, answer: Answer) -> Reply:
        if under_way.trial is not None:
            if answer is True:
                return self._launch(state, attrs.evolve(under_way, trial=None))
            last = under_way.targets[-1:]  # the mechanism has refused it, and says why when asked
            asking = attrs.evolve(under_way, trial=None, targets=last)
            return Estimates(state.held, asking), ToMechanism(Launch(under_way.trial))
        match answer:
            case Launched(child=None, answer=measured):
                return self._measured(state, under_way, measured)
            case Failed():
                failed = state.held.set(under_way.name, None)
                return Estimates(failed), ToAnalyst(answer)
            case Refused():
                return Estimates(state.held), ToAnalyst(self._explained(answer, under_way))
        return Estimates(state.held), ToAnalyst(answer)

    def _explained(self, refusal: Refused, under_way: UnderWay) -> Refused:
        affordable = self._affordable(refusal, under_way)
        if not affordable and under_way.place == 0:
            return refusal
        happened = PAID if under_way.place else "nothing was read or charged"
        instead = f"{happened}; {affordable}" if affordable else happened
        return attrs.evolve(refusal, instead=instead)

    def _measured(self, state: Estimates, under_way: UnderWay, measured: Any) -> Reply:
        target = under_way.targets[under_way.place]
        estimate = self._combined(under_way.held, target, measured)
        if under_way.by_value:
            estimate = picked(estimate)
        held = under_way.held.at(target, estimate)
        then = Estimates(state.held.set(under_way.name, held))
        if under_way.condition is None:
            return then, ToAnalyst(estimate)
        try:
            met = holds(under_way.condition, estimate)
        except QueryError as error:  # what was paid for is kept, so this is no wrong query
            return then, ToAnalyst(undecided(error, estimate))
        place = under_way.place + 1
        if met or place == len(under_way.targets):
            return then, ToAnalyst(stopped(estimate, met=met))
        name, targets, condition = under_way.name, under_way.targets, under_way.condition
        return self._launch(then, UnderWay(name, held, targets, place, condition, by_value=True))


def refinable(value: Any) -> IntegerStatistic:
    """Check that a statistic has a sensitivity to reduce noise for.

    Raises:
        QueryError: it has none.
    """
    if not isinstance(value, IntegerStatistic):
        raise QueryError(
            "an estimate is of an IntegerStatistic with declared sensitivities, not of "
            f"{type(value).__name__}"
        )
    for name in ("l1", "l2"):
        try:
            positive(getattr(value, name), name)
        except Exception as error:
            raise QueryError(
                f"the statistic has no sensitivity to reduce noise for: {error}"
            ) from None
    return value


def require_more(held: Held) -> None:
    """Check that the schedule has an entry that is finer than the estimate.

    Raises:
        QueryError: it has none.
    """
    if not held.schedule:
        raise QueryError(
            "the estimate has no schedule of variances; open it with one, such as "
            "Open(statistic, even_schedule(10_000, 100)), or say how far to go, as Refine(100)"
        )
    if held.level is not None and held.behind == len(held.schedule):
        raise QueryError(
            f"the schedule ends at {shown(held.schedule[-1])}, and the estimate is at "
            f"{shown(held.level)}: not finer"
        )

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

from mechanisms.refinement.estimate import (
    PAID,
    Estimate,
    is_value_dependent,
    stopped,
    undecided,
    value_dependent,
)
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
class OpenEstimate:
    """An open estimate: what it is of, and how far it is. All of it is public.

    `level`: the last target, a variance unless the subclass means something else. `passed`: how
    many entries of the schedule are not finer.
    """

    statistic: IntegerStatistic
    schedule: Schedule
    level: Fraction | None = None
    estimate: Estimate | None = None
    passed: int = 0

    def at(self, level: Fraction | None, estimate: Estimate | None) -> "OpenEstimate":
        """The same statistic, estimated as finely as that."""
        passed = self.passed
        while level is not None and passed < len(self.schedule) and self.schedule[passed] >= level:
            passed += 1
        return OpenEstimate(self.statistic, self.schedule, level, estimate, passed)


@attrs.frozen
class Pending:
    """What the person is waiting to hear about: an estimate, its next target and those after it.

    `value_dependent`: whether the targets depend on values of the estimate. `trial`: it was
    asked whether it can afford this measurement, which reaches the last target in one.
    """

    name: str
    opened: OpenEstimate
    targets: Schedule
    place: int = 0
    condition: Callable[[Estimate], Any] | None = None
    trial: Measurement | None = None
    value_dependent: bool = False


@attrs.frozen
class Estimates:
    """Every estimate ever opened, None where it has failed, and what is under way."""

    estimates: "Map[str, OpenEstimate | None]" = Map()
    pending: Pending | None = None


Reply = tuple[Estimates, ToMechanism | ToAnalyst]


class Estimating(PersonInTheMiddle[Estimates]):
    """Base of the persons that refine estimates.

    Answers: Open; and to an estimate: Refine, Until, Latest, PrivacyLossQuery,
    CanAfford(Refine(...)). Everything else passes through unchanged, both ways. As the filter below
    is not known here, PrivacyLossQuery is about one record unless it says another d_in.
    """

    @abstractmethod
    def _open(self, query: Open) -> OpenEstimate:
        """A new estimate.

        Raises:
            QueryError: not of such a statistic, or not by such a schedule.
        """

    @abstractmethod
    def _measurement(self, opened: OpenEstimate, target: Fraction) -> Measurement:
        """What to launch to reach the target.

        Raises:
            QueryError: the target is not finer than the estimate.
        """

    @abstractmethod
    def _combined(self, opened: OpenEstimate, target: Fraction, measured: Any) -> Estimate:
        """The estimate after that measurement."""

    @abstractmethod
    def _loss(self, opened: OpenEstimate, d_in: int) -> Loss:
        """What the estimate has cost so far."""

    def _whole(self, opened: OpenEstimate, targets: Schedule) -> Measurement | None:
        """One measurement that costs as much as all these targets, if there is one."""
        return None

    @abstractmethod
    def _affordable(self, refusal: Refused, pending: Pending) -> str:
        """What remains affordable after a refusal, in words; empty where that is not known."""

    def _target(self, opened: OpenEstimate, query: Refine) -> Fraction:
        """The target of a query."""
        if query.to is not None:
            return target_of(query.to)
        require_more(opened)
        return opened.schedule[opened.passed]

    def _targets(self, opened: OpenEstimate, query: Until) -> Schedule:
        """The targets of a query, at least one."""
        if query.schedule is not None:
            opened = OpenEstimate(opened.statistic, schedule_of(query.schedule)).at(
                opened.level, opened.estimate
            )
        require_more(opened)
        return opened.schedule[opened.passed :]

    def init(self) -> Estimates:
        """Nothing is open."""
        return Estimates()

    def step(self, state: Estimates, message: FromAnalyst | FromMechanism, coins: Coins) -> Reply:
        """Open, refine, or pass on."""
        match message:
            case FromMechanism(answer):
                if state.pending is None:
                    return state, ToAnalyst(answer)
                return self._on_answer(state, state.pending, answer)
            case FromAnalyst(Open() as query):
                name = f"estimate {len(state.estimates)}"
                estimates = state.estimates.set(name, self._open(query))
                return Estimates(estimates), ToAnalyst(Launched(name, None))
            case FromAnalyst(Ask(child=str() as name, query=query)) if name in state.estimates:
                opened = state.estimates[name]
                if opened is None:
                    raise RetiredChildError(f"{name} has failed and answers no more")
                return self._on_query(state, name, opened, query)
        return state, ToMechanism(message.query)

    def _on_query(self, state: Estimates, name: str, opened: OpenEstimate, query: Any) -> Reply:
        match query:
            case Refine(to=to):
                targets = (self._target(opened, query),)
                follows = to is None and is_value_dependent(opened.estimate)
                return self._launch(state, Pending(name, opened, targets, value_dependent=follows))
            case Until():
                return self._on_until(state, name, opened, query)
            case Latest():
                if opened.estimate is None:
                    raise QueryError(f"{name} has not been refined yet: there is nothing to tell")
                return state, ToAnalyst(opened.estimate)
            case PrivacyLossQuery(d_in):
                return state, ToAnalyst(self._loss(opened, records(d_in, 1)))
            case CanAfford(Refine() as refine):
                trial = self._measurement(opened, self._target(opened, refine))
                return state, ToMechanism(CanAfford(Launch(trial)))
        raise UnknownQueryError(
            "an estimate answers Refine, Until, Latest, PrivacyLossQuery and CanAfford(Refine()), "
            f"not {type(query).__name__}"
        )

    def _on_until(self, state: Estimates, name: str, opened: OpenEstimate, query: Until) -> Reply:
        if not callable(query.condition):
            raise QueryError(
                f"condition is {type(query.condition).__name__}; it should be a function of an "
                "Estimate, such as RelativeError('1/10')"
            )
        targets = self._targets(opened, query)
        if opened.estimate is not None and holds(query.condition, opened.estimate):
            return state, ToAnalyst(stopped(opened.estimate, met=True))
        pending = Pending(name, opened, targets, 0, query.condition, value_dependent=True)
        whole = self._whole(opened, targets)
        if whole is None:
            return self._launch(state, pending)
        trying = attrs.evolve(pending, trial=whole)
        return Estimates(state.estimates, trying), ToMechanism(CanAfford(Launch(whole)))

    def _launch(self, state: Estimates, pending: Pending) -> Reply:
        target = pending.targets[pending.place]
        measurement = self._measurement(pending.opened, target)
        return Estimates(state.estimates, pending), ToMechanism(Launch(measurement))

    def _on_answer(self, state: Estimates, pending: Pending, answer: Answer) -> Reply:
        if pending.trial is not None:
            if answer is True:
                return self._launch(state, attrs.evolve(pending, trial=None))
            last = pending.targets[-1:]  # the mechanism has refused it, and says why when asked
            asking = attrs.evolve(pending, trial=None, targets=last)
            return Estimates(state.estimates, asking), ToMechanism(Launch(pending.trial))
        match answer:
            case Launched(child=None, answer=measured):
                return self._measured(state, pending, measured)
            case Failed():
                failed = state.estimates.set(pending.name, None)
                return Estimates(failed), ToAnalyst(answer)
            case Refused():
                return Estimates(state.estimates), ToAnalyst(self._explained(answer, pending))
        return Estimates(state.estimates), ToAnalyst(answer)

    def _explained(self, refusal: Refused, pending: Pending) -> Refused:
        affordable = self._affordable(refusal, pending)
        if not affordable and pending.place == 0:
            return refusal
        happened = PAID if pending.place else "nothing was read or charged"
        instead = f"{happened}; {affordable}" if affordable else happened
        return attrs.evolve(refusal, instead=instead)

    def _measured(self, state: Estimates, pending: Pending, measured: Any) -> Reply:
        target = pending.targets[pending.place]
        estimate = self._combined(pending.opened, target, measured)
        if pending.value_dependent:
            estimate = value_dependent(estimate)
        opened = pending.opened.at(target, estimate)
        then = Estimates(state.estimates.set(pending.name, opened))
        if pending.condition is None:
            return then, ToAnalyst(estimate)
        try:
            met = holds(pending.condition, estimate)
        except QueryError as error:  # what was paid for is kept, so this is no wrong query
            return then, ToAnalyst(undecided(error, estimate))
        place = pending.place + 1
        if met or place == len(pending.targets):
            return then, ToAnalyst(stopped(estimate, met=met))
        name, targets, condition = pending.name, pending.targets, pending.condition
        return self._launch(
            then, Pending(name, opened, targets, place, condition, value_dependent=True)
        )


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


def require_more(opened: OpenEstimate) -> None:
    """Check that the schedule has an entry that is finer than the estimate.

    Raises:
        QueryError: it has none.
    """
    if not opened.schedule:
        raise QueryError(
            "the estimate has no schedule of variances; open it with one, such as "
            "Open(statistic, even_schedule(10_000, 100)), or say how far to go, as Refine(100)"
        )
    if opened.level is not None and opened.passed == len(opened.schedule):
        raise QueryError(
            f"the schedule ends at {shown(opened.schedule[-1])}, and the estimate is at "
            f"{shown(opened.level)}: not finer"
        )

"""The base of the postprocessors that refine estimates.

`Estimating` is a person in the middle (Haney et al. 2023): it stands between the analyst and a
compositor. It launches a measurement for every refinement, and the compositor pays for it or
refuses. Every other message passes through unchanged, so estimates interleave with everything
that the compositor composes. A subclass chooses the measurement and combines its answer with the
estimate.

An estimate is a child of the postprocessor: `Open` answers `Launched("estimate 0", None)`, for
which the handle makes a queryable, and `Ask("estimate 0", Refine(100))` is answered here.
"""

from abc import abstractmethod
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import attrs
from immutables import Map

from mechanisms.refinement.estimate import (
    PAID,
    Refined,
    is_value_dependent,
    stopped,
    undecided,
    value_dependent,
)
from mechanisms.refinement.refine_queries import Latest, Open, Refine, Until, holds, target_of
from mechanisms.refinement.stopping import Schedule, schedule_of
from queryable.effort import require_short
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
    d_in_of,
)
from queryable.optional import effort
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
    """An open estimate: its statistic, and how far it has been refined. All fields are public.

    `level`: the last target; a variance unless the subclass defines another measure. `passed`: how
    many entries of the schedule are not finer than `level`.
    """

    statistic: IntegerStatistic
    schedule: Schedule
    level: Fraction | None = None
    estimate: Refined | None = None
    passed: int = 0

    def at(self, level: Fraction | None, estimate: Refined | None) -> "OpenEstimate":
        """The same statistic, refined to `level`."""
        passed = self.passed
        while level is not None and passed < len(self.schedule) and self.schedule[passed] >= level:
            passed += 1
        return OpenEstimate(self.statistic, self.schedule, level, estimate, passed)


@attrs.frozen
class PendingRefinement:
    """The refinement that waits for the mechanism's answer: an estimate and its targets in order.

    `place`: the index of the current target. `value_dependent`: whether the targets depend on
    values of the estimate. `trial`: a measurement that reaches the last target at once; the
    mechanism was asked whether it can afford it.
    """

    name: str
    opened: OpenEstimate
    targets: Schedule
    place: int = 0
    condition: Callable[[Refined], Any] | None = None
    trial: Measurement[Any] | None = None
    value_dependent: bool = False


@attrs.frozen
class Estimates:
    """Every estimate ever opened, None for one that failed, and the pending refinement."""

    estimates: "Map[str, OpenEstimate | None]" = Map()
    pending: PendingRefinement | None = None


Reply = tuple[Estimates, ToMechanism | ToAnalyst]


class Estimating(PersonInTheMiddle[Estimates]):
    """Base of the postprocessors that refine estimates.

    Answers: Open; and to an estimate: Refine, Until, Latest, PrivacyLossQuery,
    CanAfford(Refine(...)). Everything else passes through unchanged in both directions. The filter
    below is not known here, so PrivacyLossQuery is about one record unless it gives another d_in.
    """

    continual = False  # it combines answers about one data set

    @abstractmethod
    def _open(self, query: Open) -> OpenEstimate:
        """Make a new estimate.

        Raises:
            QueryError: the statistic or the schedule does not fit.
        """

    @abstractmethod
    def _measurement(self, opened: OpenEstimate, target: Fraction) -> Measurement[Any]:
        """The measurement to launch to reach the target.

        Raises:
            QueryError: the target is not finer than the estimate.
        """

    @abstractmethod
    def _combined(self, opened: OpenEstimate, target: Fraction, measured: Any) -> Refined:
        """The estimate after that measurement."""

    @abstractmethod
    def _loss(self, opened: OpenEstimate, d_in: int) -> Loss:
        """The loss of the estimate so far."""

    def _whole(self, opened: OpenEstimate, targets: Schedule) -> Measurement[Any] | None:
        """One measurement that costs as much as all these targets, or None if there is none."""
        return None

    @abstractmethod
    def _affordable(self, refusal: Refused, pending: PendingRefinement) -> str:
        """What remains affordable after a refusal, as text; empty if that is not known."""

    def _target(self, opened: OpenEstimate, query: Refine) -> Fraction:
        """The target of a `Refine`."""
        if query.to is not None:
            return target_of(query.to)
        require_more(opened)
        return opened.schedule[opened.passed]

    def _targets(self, opened: OpenEstimate, query: Until) -> Schedule:
        """The targets of an `Until`, at least one."""
        if query.schedule is not None:
            opened = OpenEstimate(opened.statistic, schedule_of(query.schedule)).at(
                opened.level, opened.estimate
            )
        require_more(opened)
        return opened.schedule[opened.passed :]

    def init(self) -> Estimates:
        """A state without estimates."""
        return Estimates()

    def step(self, state: Estimates, message: FromAnalyst | FromMechanism, coins: Coins) -> Reply:
        """Open or refine an estimate, or pass the message on."""
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
                    raise RetiredChildError(f"open another estimate: {name} has failed")
                return self._on_query(state, name, opened, query)
        return state, ToMechanism(message.query)

    def _on_query(self, state: Estimates, name: str, opened: OpenEstimate, query: Any) -> Reply:
        match query:
            case Refine(to=to):
                targets = (self._target(opened, query),)
                follows = to is None and is_value_dependent(opened.estimate)
                return self._launch(
                    state, PendingRefinement(name, opened, targets, value_dependent=follows)
                )
            case Until():
                return self._on_until(state, name, opened, query)
            case Latest():
                if opened.estimate is None:
                    raise QueryError(f"ask Refine(...) first: {name} has not been refined yet")
                return state, ToAnalyst(opened.estimate)
            case PrivacyLossQuery(d_in):
                return state, ToAnalyst(self._loss(opened, d_in_of(d_in, 1)))
            case CanAfford(Refine() as refine):
                trial = self._measurement(opened, self._target(opened, refine))
                return state, ToMechanism(CanAfford(Launch(trial)))
        raise UnknownQueryError(
            "ask an estimate Refine, Until, Latest, PrivacyLossQuery or CanAfford(Refine()), "
            f"not {type(query).__name__}"
        )

    def _on_until(self, state: Estimates, name: str, opened: OpenEstimate, query: Until) -> Reply:
        if not callable(query.condition):
            raise QueryError(
                "write Until(RelativeError('1/10')), or give a function from a Refined to a "
                f"bool: condition is {type(query.condition).__name__}"
            )
        targets = self._targets(opened, query)
        require_short(effort(self._measurement(opened, targets[-1])), len(targets))
        if opened.estimate is not None and holds(query.condition, opened.estimate):
            return state, ToAnalyst(stopped(opened.estimate, met=True))
        pending = PendingRefinement(name, opened, targets, 0, query.condition, value_dependent=True)
        whole = self._whole(opened, targets)
        if whole is None:
            return self._launch(state, pending)
        trying = attrs.evolve(pending, trial=whole)
        return Estimates(state.estimates, trying), ToMechanism(CanAfford(Launch(whole)))

    def _launch(self, state: Estimates, pending: PendingRefinement) -> Reply:
        target = pending.targets[pending.place]
        measurement = self._measurement(pending.opened, target)
        return Estimates(state.estimates, pending), ToMechanism(Launch(measurement))

    def _on_answer(self, state: Estimates, pending: PendingRefinement, answer: Answer) -> Reply:
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

    def _explained(self, refusal: Refused, pending: PendingRefinement) -> Refused:
        affordable = self._affordable(refusal, pending)
        if not affordable and pending.place == 0:
            return refusal
        happened = PAID if pending.place else "nothing was read or charged"
        instead = f"{happened}; {affordable}" if affordable else happened
        return attrs.evolve(refusal, instead=instead)

    def _measured(self, state: Estimates, pending: PendingRefinement, measured: Any) -> Reply:
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
        except QueryError as error:  # the estimate is paid for and kept, so the state has changed
            return then, ToAnalyst(undecided(error, estimate))
        place = pending.place + 1
        if met or place == len(pending.targets):
            return then, ToAnalyst(stopped(estimate, met=met))
        name, targets, condition = pending.name, pending.targets, pending.condition
        return self._launch(
            then, PendingRefinement(name, opened, targets, place, condition, value_dependent=True)
        )


def refinable(value: Any) -> IntegerStatistic:
    """Check that a statistic has positive sensitivities, and return it.

    Raises:
        QueryError: it has not.
    """
    if not isinstance(value, IntegerStatistic):
        raise QueryError(
            "open an estimate of an IntegerStatistic with declared sensitivities, such as Count(); "
            f"not of {type(value).__name__}"
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
            "give a target, as in Refine(100), or open the estimate with a schedule, as in "
            "Open(statistic, even_schedule(10_000, 100)); it has no schedule of variances"
        )
    if opened.level is not None and opened.passed == len(opened.schedule):
        raise QueryError(
            f"give a finer target: the schedule ends at {shown(opened.schedule[-1])}, and the "
            f"estimate is at {shown(opened.level)}"
        )

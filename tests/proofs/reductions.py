"""The persons in the middle of the paper's proofs (Haney et al. 2023, Algorithms 11 to 15).

A person in the middle is a postprocessor: it exchanges messages with a mechanism and an analyst and
never sees the data. Each person here turns one compositor into another with the same law of the
view. The tests compare the laws exactly.

Where these algorithms differ from the printed ones, docs/theory.md gives the reasons. A person
receives the mechanism's opening first and forwards it. Algorithm 12 renumbers children, wraps every
later launch for the second child, and reports amounts of the whole budget in refusals.
"""

from fractions import Fraction
from typing import Any

import attrs
from immutables import Map

from composition.compositors.claims import Claim, claim_of, map_at, parsed
from composition.compositors.filters import FiltCon
from composition.rules import Accumulator, RunningAccount
from queryable.errors import UnknownQueryError
from queryable.faults import report
from queryable.losses import RDP, ZCDP, AdditiveLoss, Loss, RenyiOrder
from queryable.losses.numbers import positive
from queryable.mechanism import InteractiveMechanism, Measurement
from queryable.messages import (
    Answer,
    Ask,
    CanAfford,
    Failed,
    Launch,
    Launched,
    PrivacyLossQuery,
    Query,
    Refused,
    d_in_of,
)
from queryable.postprocessing import (
    FromAnalyst,
    FromMechanism,
    PersonInTheMiddle,
    Postprocessed,
    ToAnalyst,
    ToMechanism,
)
from queryable.randomness.coins import Coins
from queryable.wording.quoting import an_instance

Message = FromAnalyst | FromMechanism
Reply = ToMechanism | ToAnalyst


@attrs.frozen
class LocalPerson:
    """A person that another person runs, and its state."""

    person: PersonInTheMiddle[Any]
    state: Any = attrs.field(repr=False)
    received: int = 0

    def receive(self, message: Message, coins: Coins) -> tuple["LocalPerson", Answer]:
        """Return the person's answer; raises if it asks its mechanism, which has already finished.

        Raises:
            UnknownQueryError: the person sends a query to the mechanism.
        """
        state, reply = self.person.step(self.state, message, coins)
        if isinstance(reply, ToMechanism):
            raise UnknownQueryError("a measurement answers once, when it is launched")
        return LocalPerson(self.person, state, self.received + 1), reply.answer


@attrs.frozen
class Simulated:
    """The simulated persons by child id, the number of launches, and the launch in progress."""

    persons: "Map[int, LocalPerson]"
    launched: int = 0
    launching: bool = False
    pending: PersonInTheMiddle[Any] | None = None


@attrs.frozen
class NoninteractiveLaunches(PersonInTheMiddle[Simulated]):
    """Algorithm 11: `Filt`, which takes measurements only, becomes `FiltCon`.

    An interactive child must be a person over a measurement, such as
    `person @ RandomizedResponse(...)`. Only the measurement is launched; its person runs here. By
    Theorem 3.3 every interactive mechanism has this form on a pair of datasets; for randomized
    response the form is explicit. A child's own `privacy_loss` is not simulated: the filter answers
    it from the child's claim.
    """

    def init(self) -> Simulated:
        """Start without persons."""
        return Simulated(Map())

    def step(self, state: Simulated, message: Message, coins: Coins) -> tuple[Simulated, Reply]:
        """Launch the measurements of children, and answer asks by the simulated persons."""
        match message:
            case FromAnalyst(Launch(Postprocessed(Measurement() as base, person), d_out)):
                waiting = attrs.evolve(state, launching=True, pending=person)
                return waiting, ToMechanism(Launch(base, d_out))
            case FromAnalyst(Ask(int() as child, query)) if _among(child, state.persons):
                return self._asked(state, child, query, coins)
            case FromAnalyst(query):
                return attrs.evolve(state, launching=isinstance(query, Launch)), ToMechanism(query)
            case FromMechanism(answer):
                return self._answered(state, answer, coins)

    def _asked(
        self, state: Simulated, child: int, query: Query, coins: Coins
    ) -> tuple[Simulated, Reply]:
        local = state.persons[child]
        person, answer = local.receive(FromAnalyst(query), coins.spawn(child, local.received))
        return attrs.evolve(state, persons=state.persons.set(child, person)), ToAnalyst(answer)

    def _answered(self, state: Simulated, answer: Answer, coins: Coins) -> tuple[Simulated, Reply]:
        if not (state.launching and isinstance(answer, Launched | Failed)):
            return attrs.evolve(state, launching=False, pending=None), ToAnalyst(answer)
        child, persons, pending = state.launched, state.persons, state.pending
        if isinstance(answer, Launched) and pending is not None:
            released = FromMechanism(answer.answer)
            try:
                local = LocalPerson(pending, pending.init())
                local, opening = local.receive(released, coins.spawn(child, 0))
            except Exception as fault:
                report(fault)
                return Simulated(persons, child + 1), ToAnalyst(Failed())
            persons, answer = persons.set(child, local), Launched(child, opening)
        return Simulated(persons, child + 1), ToAnalyst(answer)


def _among(child: Any, ids: Any) -> bool:
    return not isinstance(child, bool) and child in ids


@attrs.frozen
class Inducting:
    """The state of `InductionStep`.

    `first` is the claim of the first mechanism once it is launched. `answer` is that mechanism's
    answer while the second slot is being started. `expected` names the query in progress: "first",
    "rest", "launch", "loss" or "other". `reported` is the first mechanism's loss at the d_in of the
    report in progress.
    """

    first: Claim | None = None
    answer: Answer = None
    expected: str = "other"
    reported: Loss | None = None


@attrs.frozen
class InductionStep(PersonInTheMiddle[Inducting]):
    """Algorithm 12: a filter for two mechanisms becomes a filter for `most`.

    The first launch goes to the first slot. The second slot holds a filter for `most - 1`
    mechanisms with the remaining budget, and receives all later launches.

    Args:
        budget: the filter's budget, an additive loss.
        most: K, the largest number of launches, at least 1.
        d_in: the distance between datasets that the budget is about.
    """

    budget: AdditiveLoss = attrs.field(validator=an_instance(AdditiveLoss))
    most: int = attrs.field(validator=[an_instance(int), attrs.validators.ge(1)])
    d_in: int = 1

    def init(self) -> Inducting:
        """Start without launches."""
        return Inducting()

    def rest(self, left: AdditiveLoss) -> InteractiveMechanism[Any]:
        """Return the filter for `most - 1` mechanisms, which receives the later launches."""
        return FiltCon(left, d_in=self.d_in, max_mechanisms=self.most - 1)

    def step(self, state: Inducting, message: Message, coins: Coins) -> tuple[Inducting, Reply]:
        """Route a query to its slot, and an answer back to the analyst."""
        match message:
            case FromAnalyst(query):
                return self._asked(state, query)
            case FromMechanism(answer):
                return self._answered(state, answer)

    def _asked(self, state: Inducting, query: Query) -> tuple[Inducting, Reply]:
        first = state.first
        match query:
            case Launch() if first is None:
                claim = claim_of(parsed(query), self.budget.measure, self.d_in)
                return Inducting(claim, expected="first"), ToMechanism(query)
            case Launch():
                return Inducting(first, expected="launch"), ToMechanism(Ask(1, query))
            case CanAfford() if first is not None:
                return Inducting(first), ToMechanism(Ask(1, query))
            case PrivacyLossQuery(d_in) if first is not None:
                lost = self._lost(first, d_in_of(d_in, self.d_in))
                return Inducting(first, None, "loss", lost), ToMechanism(Ask(1, query))
            case Ask(int() as child, inner) if not isinstance(child, bool) and child >= 1:
                return Inducting(first), ToMechanism(Ask(1, Ask(child - 1, inner)))
        return Inducting(first), ToMechanism(query)

    def _answered(self, state: Inducting, answer: Answer) -> tuple[Inducting, Reply]:
        first = state.first
        match state.expected, answer:
            case "first", Launched() | Failed():
                assert first is not None
                launch = Launch(self.rest(self._left(first.loss)))
                return Inducting(first, answer, "rest"), ToMechanism(launch)
            case "first", _:
                return Inducting(), ToAnalyst(answer)
            case "rest", _:
                return Inducting(first), ToAnalyst(state.answer)
            case "launch", Launched(int() as child, opening):
                return Inducting(first), ToAnalyst(Launched(child + 1, opening))
            case "launch", Refused(reason, requested, AdditiveLoss() as spent, remaining):
                assert first is not None
                whole = Refused(reason, requested, first.loss + spent, remaining)
                return Inducting(first), ToAnalyst(whole)
            case "loss", AdditiveLoss():
                assert state.reported is not None
                return Inducting(first), ToAnalyst(state.reported + answer)
        return Inducting(first), ToAnalyst(answer)

    def _lost(self, first: Claim, d_in: int) -> Loss:
        if d_in == self.d_in:
            return first.loss
        return map_at(first.mechanism, d_in, self.budget.measure)

    def _left(self, first: Loss) -> AdditiveLoss:
        assert isinstance(first, AdditiveLoss)
        pairs = zip(self.budget.parts, first.parts, strict=True)
        return self.budget.room(tuple(most - spent for most, spent in pairs))


def _order(value: Any) -> RenyiOrder:
    return RenyiOrder(RDP(positive(value, "alpha"), Fraction(0)).alpha)


@attrs.frozen
class AtOrder(PersonInTheMiddle[None]):
    """Algorithm 13: an (alpha, rho*alpha)-RDP filter becomes a rho-zCDP filter.

    A launch of a rho_i-zCDP mechanism is forwarded as (alpha, rho_i*alpha)-RDP. Losses in answers
    are divided by alpha. Reports are supported at the filter's own d_in only: at another d_in the
    children's maps are evaluated again at order alpha, and may be below rho_i*alpha.
    """

    order: RenyiOrder = attrs.field(converter=_order)
    d_in: int = 1

    def init(self) -> None:
        """Return None; this person has no state."""

    def step(self, state: None, message: Message, coins: Coins) -> tuple[None, Reply]:
        """Translate losses from zCDP to RDP in queries, and back in answers."""
        match message:
            case FromAnalyst(query):
                return None, ToMechanism(self._translated(query))
            case FromMechanism(Refused(reason, requested, spent, remaining)):
                back = (self._back(loss) for loss in (requested, spent, remaining))
                return None, ToAnalyst(Refused(reason, *back))
            case FromMechanism(answer):
                return None, ToAnalyst(self._back(answer))

    def _translated(self, query: Query) -> Query:
        match query:
            case Launch():
                loss = claim_of(parsed(query), ZCDP, self.d_in).loss
                return Launch(query.mechanism, loss.to(self.order))
            case CanAfford(Launch() as launch):
                return CanAfford(self._translated(launch))
            case PrivacyLossQuery(d_in) | Ask(_, PrivacyLossQuery(d_in)):
                if d_in_of(d_in, self.d_in) != self.d_in:
                    raise UnknownQueryError(f"losses are reported at d_in={self.d_in} only")
        return query

    def _back(self, answer: Answer) -> Answer:
        if isinstance(answer, RDP) and answer.alpha == self.order.alpha:
            return ZCDP(answer.epsilon / answer.alpha)
        return answer


@attrs.frozen
class Counting:
    """The account, and the loss of the launch in progress."""

    running: RunningAccount
    pending: Loss | None = None


@attrs.frozen
class WithPrivacyLoss(PersonInTheMiddle[Counting]):
    """Algorithm 14: a filter becomes an odometer that stops where the filter does.

    It adds the losses of launched mechanisms with the accumulator and answers `PrivacyLossQuery`
    with the total.
    """

    accumulator: Accumulator
    d_in: int = 1

    def init(self) -> Counting:
        """Start without launches."""
        return Counting(self.accumulator.open())

    def step(self, state: Counting, message: Message, coins: Coins) -> tuple[Counting, Reply]:
        """Add the losses of launches, and answer reports."""
        match message:
            case FromAnalyst(PrivacyLossQuery(None)):
                return state, ToAnalyst(state.running.total())
            case FromAnalyst(Launch() as launch):
                loss = claim_of(parsed(launch), self.accumulator.measure, self.d_in).loss
                return Counting(state.running, loss), ToMechanism(launch)
            case FromAnalyst(query):
                return Counting(state.running), ToMechanism(query)
            case FromMechanism(answer):
                started = isinstance(answer, Launched | Failed) and state.pending is not None
                account = state.running.add(state.pending) if started else state.running
                return Counting(account), ToAnalyst(answer)


@attrs.frozen
class WithoutPrivacyLoss(PersonInTheMiddle[None]):
    """Algorithm 15: an odometer becomes a filter that rejects `privacy_loss`."""

    def init(self) -> None:
        """Return None; this person has no state."""

    def step(self, state: None, message: Message, coins: Coins) -> tuple[None, Reply]:
        """Reject `PrivacyLossQuery` and forward all other messages."""
        match message:
            case FromAnalyst(PrivacyLossQuery()):
                raise UnknownQueryError("invalid query")
            case FromAnalyst(query):
                return None, ToMechanism(query)
            case FromMechanism(answer):
                return None, ToAnalyst(answer)

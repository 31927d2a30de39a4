"""Compositors as conversations, beside those that run their children themselves.

Each takes what it checks, charges, refuses and reports from the compositor that it stands for, its
`real` one, so that only the running differs. `tests.laws.test_conversation_oracle` compares them.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from operator import getitem
from typing import Any, NamedTuple

import attrs

from composition import Individual, Parallel
from composition.compositors import individual, parallel
from composition.compositors.adaptive import AdaptiveComposition
from composition.compositors.children import require_depth, require_live
from composition.compositors.claims import Claim, correction, loss_at, map_at
from composition.compositors.logged import Claims
from composition.compositors.state import NO_CLAIMS, Charged
from composition.rules.declared import common_measure
from queryable import (
    SYSTEM,
    ZCDP,
    Ask,
    CanAfford,
    CloseBlock,
    Coins,
    Failed,
    FromAnalyst,
    FromMechanism,
    InteractiveMechanism,
    Launch,
    Launched,
    LaunchMany,
    Loss,
    PersonInTheMiddle,
    PrivacyLossQuery,
    QueryError,
    ToAnalyst,
    ToMechanism,
    UnknownQueryError,
    Update,
)
from queryable.conversation import (
    LOST,
    Compositor,
    Data,
    Drop,
    Later,
    Live,
    Moved,
    Pass,
    Ready,
    Run,
    Say,
    Start,
    Talk,
)
from queryable.data.growing import growable, grown, snapshot
from queryable.datasets import read_ahead, statistics_of
from queryable.ex_post import Opening
from queryable.faults import is_interrupt
from queryable.mechanism import Measurement
from queryable.messages import OWNERS, MeasureQuery, Stated, d_in_of, entries_of, entry
from queryable.receipts import AskReceipt, Receipt
from queryable.statistics import IntegerStatistic

OPENING = Opening()


@attrs.frozen
class Composition(Charged):
    """The own state of a `Filter`."""

    data: Data = attrs.field(repr=False)
    account: Any
    claims: Claims = NO_CLAIMS
    halted: str | None = None

    @property
    def dataset(self) -> Any:
        """What is public about the data."""
        return self.data.facts


class Asked(NamedTuple):
    """A query to a live child, and the most that it may cost if it is charged as it answers."""

    child: int
    query: Any
    claim: Claim
    worst: Any


class Report(NamedTuple):
    """Something that is answered at once."""

    answer: Any


class Launches(NamedTuple):
    """Checked launches, of which the message has one or several."""

    alone: bool
    checked: Sequence[tuple[Launch, Claim, Any]]


@attrs.frozen
class Filter(Compositor):
    """An adaptive composition: `FiltCon`, `FiltSeq`, `OdomCon`, `ExPost` and their kin."""

    real: AdaptiveComposition

    reports_loss = True

    @property
    def continual(self) -> bool:  # type: ignore[override]
        """As the real one."""
        return self.real.continual

    @property
    def coin_at_launch(self) -> bool:  # type: ignore[override]
        """As the real one."""
        return self.real.coin_at_launch

    def loss(self, d_in: int) -> Loss:
        """As the real one."""
        return self.real.loss(d_in)

    def open(self, data: Data) -> Moved:
        """An empty account."""
        return Moved(Composition(data, self.real._opened()), None)

    def understood(self, own: Composition, query: Any, live: Live) -> Any:  # type: ignore[override]
        """Parse, claim and validity; what the account says is for the conversation."""
        real = self.real
        if isinstance(query, PrivacyLossQuery):
            return Report(real._privacy_loss(own, query.d_in))  # type: ignore[arg-type]
        if isinstance(query, MeasureQuery):
            return Report(Stated(real.proof.measure, real.d_in))
        if own.halted is not None:
            return Report(self._halted(own, query))
        match query:
            case Ask(child, inner):
                require_depth(query, real.max_depth)
                return self._asked(own, child, inner, live)
            case Launch():
                return Launches(True, (self._checked(own, query),))
            case CanAfford(launch):
                return Report(self._can_afford(own, launch))
            case LaunchMany() if real._launches_plainly:
                return Launches(False, self._several(own, query))
            case Update() | CloseBlock():
                real.require_growing()
                return query
        raise UnknownQueryError(
            f"{correction(query)}, and {type(real).__name__} answers Launch, LaunchMany, Ask, "
            "PrivacyLossQuery, CanAfford and MeasureQuery"
        )

    def _halted(self, own: Composition, query: Any) -> Any:
        state: Any = own
        if isinstance(query, OWNERS):
            return None
        if isinstance(query, LaunchMany):
            return tuple(self.real._still_halted(state, each) for each in entries_of(query))
        return False if isinstance(query, CanAfford) else self.real._still_halted(state, query)

    def _asked(self, own: Composition, child: Any, query: Any, live: Live) -> Any:
        if type(child) is not int or child not in live:
            child = require_live(live, child, own.launched)  # type: ignore[arg-type]
        claim = own.claims[child]
        reports = claim.mechanism.reports_loss
        if isinstance(query, PrivacyLossQuery) and not reports:
            at, unit = d_in_of(query.d_in, self.real.d_in), self.real.d_in
            if not claim.fixed:
                return Report(claim.realised(at))  # type: ignore[attr-defined]
            same = at == unit
            return Report(claim.loss if same else loss_at(claim.mechanism, claim.loss, unit, at))
        if claim.fixed:
            return Asked(child, query, claim, None)
        asked = claim.understood(query)
        return Asked(child, asked, claim, claim.at_worst(asked))

    def _checked(self, own: Composition, query: Any) -> tuple[Launch, Claim, Any]:
        order = self.real._checked(own, query)  # type: ignore[arg-type]
        return order.launch, order.claim, order.claim.at_worst(OPENING)

    def _can_afford(self, own: Composition, query: Any) -> bool:
        _, _, worst = self._checked(own, query)
        return self.real._launch_refused(own, own.account.add(worst), worst) is None  # type: ignore[arg-type]

    def _several(self, own: Composition, query: LaunchMany) -> list[tuple[Launch, Claim, Any]]:
        checked = []
        for place, each in enumerate(entries_of(query)):
            with entry(place):
                checked.append(self._checked(own, each))
        if not all(claim.fixed for _, claim, _ in checked):
            raise UnknownQueryError(
                "launch one after the other: a mechanism here is charged as it answers, so whether "
                "the next one fits depends on an answer"
            )
        if any(claim.mechanism.retires_others for _, claim, _ in checked):
            raise UnknownQueryError("launch a mechanism that retires the others alone")
        return checked

    def converse(self, own: Composition, understood: Any, live: Live) -> Talk | Moved:
        """Rule, charge, run."""
        match understood:
            case Report(answer):
                return Moved(own, answer)
            case Asked(child, query, claim, _) if claim.fixed:
                return self._ask(own, child, query)
            case Asked():
                return self._ask_ex_post(own, understood)
            case Launches():
                return self._launch(own, understood)
        return self._grow(own, understood, live)

    def _ask(self, own: Composition, child: int, query: Any) -> Talk:
        moved = yield Pass(child, query)
        return Moved(own, Failed() if moved is LOST else moved.answer)

    def _ask_ex_post(self, own: Composition, asked: Asked) -> Talk:
        child, query, claim, worst = asked
        state: Any = own
        refusal = self.real._ask_refused(state, claim, worst)
        if refusal is not None:
            return Moved(*self.real._declined(state, refusal))
        moved = yield Pass(child, query)
        answer = None if moved is LOST else moved.answer
        settled, alive = claim.settled(query, answer, worst, alive=moved is not LOST)
        if not alive:
            yield Drop((child,))
            answer = Failed()
        account = own.account.moved(claim.loss, settled.loss)
        realised = settled.realised(self.real.d_in)  # type: ignore[attr-defined]
        depth = 0
        while isinstance(query, Ask):
            query, depth = query.query, depth + 1
        receipt = AskReceipt(child, depth, realised, account)
        claims = own.claims.set(child, settled)
        return Moved(attrs.evolve(own, account=account, claims=claims), answer, (receipt,))

    def _launch(self, own: Composition, launches: Launches) -> Talk:
        """The order of a launch, of one or several: ask the rule and charge in order, then run."""
        real, answers = self.real, list[Any]()
        due: list[tuple[int, Start, Claim, Any, Any]] = []
        for launch, claim, worst in launches.checked:
            state: Any = own
            if own.halted is not None:
                answers.append(real._still_halted(state, launch))
                continue
            account = own.account.add(worst)
            refusal = real._launch_refused(state, account, worst)
            if refusal is not None:
                receipt = Receipt(claim.mechanism, launch.d_out, real.d_in, worst, own.account)
                own, answer = real._declined(state, attrs.evolve(refusal, receipt=receipt))  # type: ignore[assignment]
                answers.append(answer)
                continue
            identity, shared = len(own.claims), own.shared(claim)
            start = Start(identity, claim.mechanism, self._data_for(own, claim.mechanism))
            due.append((len(answers), start, shared, worst, (launch, own.account)))
            receipt = Receipt(claim.mechanism, launch.d_out, real.d_in, worst, account)
            answers.append(Failed(receipt=receipt))
            own = attrs.evolve(own, account=account, claims=own.claims.set(identity, shared))
        if due:
            alone = not real.interleaves or due[0][2].mechanism.retires_others
            retiring = [Drop()] if alone else []
            if len(due) > 1:
                ready = yield [*retiring, Ready("ahead", self._ahead(due))]
                if ready[-1] is LOST:
                    return Moved(own, tuple(answers))
            several = [step for each in due for step in (*retiring, each[1])]
            outcomes = list(zip(several, (yield several), strict=True))
            started = [moved for step, moved in outcomes if type(step) is Start]
            for (place, start, claim, worst, about), moved in zip(due, started, strict=True):
                alive = moved is not LOST
                opening = moved.answer if alive else None
                paid, alive = claim.settled(OPENING, opening, worst, alive=alive)
                receipt = answers[place].receipt
                if not paid.fixed:
                    launch, before = about
                    account = before.add(paid.loss)
                    claims = own.claims.set(start.identity, paid)  # type: ignore[arg-type]
                    own = attrs.evolve(own, account=account, claims=claims)
                    receipt = Receipt(paid.mechanism, launch.d_out, real.d_in, paid.loss, account)
                    answers[place] = Failed(receipt=receipt)
                    if not alive:
                        yield Drop((start.identity,))
                if alive:
                    kind = None if isinstance(start.mechanism, Measurement) else start.identity
                    answers[place] = Launched(kind, opening, receipt=receipt)
        return Moved(own, answers[0] if launches.alone else tuple(answers))

    def _data_for(self, own: Composition, mechanism: InteractiveMechanism[Any]) -> Data:
        fitting = growable if mechanism.continual else snapshot
        return Data(own.data.facts, Later(fitting, own.data.rows))

    def _ahead(self, due: Sequence[Any]) -> Later:
        """What measurements ask for is read in one scan, which is part of what was paid for."""
        mechanisms = [start.mechanism for _, start, *_ in due]
        wanted = [
            each
            for mechanism in mechanisms
            if isinstance(mechanism, Measurement)
            for each in statistics_of(mechanism)
            if isinstance(each, IntegerStatistic)
        ]
        return Later(lambda rows: read_ahead(rows, wanted), due[0][1].data.rows)

    def _grow(self, own: Composition, message: Any, live: Live) -> Talk:
        if isinstance(message, Update):
            rows = Later(grown, own.data.rows, message.records, message.block)
            yield Ready("data", rows)
            own = attrs.evolve(own, data=Data(own.data.facts, rows))
        streams = [each for each in sorted(live) if live[each].continual]  # type: ignore[type-var]
        yield [Pass(each, message) for each in streams]
        return Moved(own, None)


@attrs.frozen
class Through(Compositor):
    """A mechanism seen through a person in the middle: Haney et al. 2023, Algorithm 7."""

    mechanism: InteractiveMechanism[Any]
    person: PersonInTheMiddle[Any]
    max_rounds: int = 10_000

    @property
    def reports_loss(self) -> bool:  # type: ignore[override]
        """The mechanism's."""
        return self.mechanism.reports_loss

    @property
    def continual(self) -> bool:  # type: ignore[override]
        """The mechanism's."""
        return self.mechanism.continual and self.person.continual

    @property
    def coin_at_launch(self) -> bool:  # type: ignore[override]
        """The mechanism's."""
        return self.mechanism.coin_at_launch

    def loss(self, d_in: int) -> Loss:
        """The mechanism's."""
        return self.mechanism.privacy_map(d_in)

    def open(self, data: Data) -> Talk:
        """Start both; the person translates the mechanism's opening answer."""
        moved = yield Start("mechanism", self.mechanism, data)
        if moved is LOST:
            return LOST
        yield Start("person", self.person)
        return (yield from self._rounds(FromMechanism(moved.answer), self.max_rounds))

    def converse(self, own: Any, understood: Any, live: Live) -> Talk:
        """Let the person answer; a batch goes to the mechanism alone."""
        if isinstance(understood, OWNERS):
            return self._grow(understood)
        return self._rounds(FromAnalyst(understood), self.max_rounds + 1)

    def _grow(self, message: Any) -> Talk:
        moved = yield Pass("mechanism", message)
        return LOST if moved is LOST else Moved(None, None)

    def _rounds(self, message: Any, rounds: int) -> Talk:
        for _ in range(rounds):
            said = yield Say("person", message)
            if said is LOST:
                return LOST
            reply = said.answer
            if isinstance(reply, ToAnalyst):
                return Moved(None, reply.answer)
            if not isinstance(reply, ToMechanism):
                raise TypeError("a person answers ToMechanism or ToAnalyst")
            moved = yield Pass("mechanism", reply.query)
            if moved is LOST:
                return LOST
            message = FromMechanism(moved.answer)
        return LOST


@attrs.frozen
class Split(Compositor):
    """Parallel composition: a mechanism for each part of the data."""

    real: Parallel
    mechanisms: Mapping[Any, InteractiveMechanism[Any]] = attrs.field(eq=False)

    reports_loss = True

    @property
    def continual(self) -> bool:  # type: ignore[override]
        """As the real one."""
        return self.real.continual

    def loss(self, d_in: int) -> Loss:
        """As the real one."""
        return self.real.privacy_map(d_in)

    def open(self, data: Data) -> Talk:
        """Start every mechanism on its part."""
        names = tuple(self.mechanisms)
        parts = Later(lambda rows: self.real.partition.split(snapshot(rows), names), data.rows)
        if (yield Ready("parts", parts)) is LOST:
            return LOST
        moved = yield [
            Start(name, each, Data(data.facts, Later(getitem, parts, name)))
            for name, each in self.mechanisms.items()
        ]
        return Moved(None, tuple(map(self._opened, names, moved)))

    def _opened(self, name: Any, moved: Any) -> Any:
        if moved is LOST:
            return Failed()
        once = isinstance(self.mechanisms[name], Measurement)
        return Launched(None if once else name, moved.answer)

    def understood(self, own: Any, query: Any, live: Live) -> Any:  # type: ignore[override]
        """Check the query."""
        match query:
            case Ask(child, inner):
                child = require_live(live, child, self.mechanisms.get)  # type: ignore[arg-type]
                reports = self.mechanisms[child].reports_loss
                if isinstance(inner, PrivacyLossQuery) and not reports:
                    return Report(map_at(self.mechanisms[child], d_in_of(inner.d_in, 1), None))
                return Asked(child, inner, None, None)  # type: ignore[arg-type]
            case PrivacyLossQuery(d_in):
                at = d_in_of(d_in, 1)
                return None if at == 1 else Report(map_at(self.real, at, None))
            case Update() | CloseBlock() if self.continual:
                return query
        raise UnknownQueryError("a parallel composition answers Ask and PrivacyLossQuery")

    def converse(self, own: Any, understood: Any, live: Live) -> Talk | Moved:
        """Pass the query, or the parts of a batch."""
        if type(understood) is Report:
            return Moved(own, understood.answer)
        if type(understood) is Asked:
            return self._ask(understood.child, understood.query)
        return self._spent(live) if understood is None else self._grow(understood, live)

    def _spent(self, live: Live) -> Talk:
        """The largest loss that a part has spent: a filter says it, without any change."""
        asked = [each for each in self.mechanisms if isinstance(live.get(each), Filter)]
        told = yield [Pass(each, PrivacyLossQuery(1)) for each in asked]
        spent = dict(zip(asked, (each.answer for each in told), strict=True))
        rest = self.mechanisms.items()
        losses = [spent[n] if n in spent else map_at(each, 1, None) for n, each in rest]
        measure = common_measure(partial(parallel._stated, loss) for loss in losses)
        return Moved(None, parallel._join((loss.to(measure) for loss in losses), measure))

    def _ask(self, child: Any, query: Any) -> Talk:
        moved = yield Pass(child, query)
        return Moved(None, Failed() if moved is LOST else moved.answer)

    def _grow(self, message: Any, live: Live) -> Talk:
        names = tuple(self.mechanisms)
        told = dict.fromkeys(names, message)
        if isinstance(message, Update):
            parts = Later(lambda rows: self.real.partition.split(rows, names), message.records)
            yield Ready("parts", parts)
            told = {n: Update(Later(getitem, parts, n), message.block) for n in names}
        yield [Pass(n, told[n]) for n in names if n in live and live[n].continual]
        return Moved(None, None)


@attrs.frozen
class Books:
    """The own state of a `Private`: who has paid what is a `Later`."""

    facts: Any = attrs.field(repr=False)
    private: Later = attrs.field(repr=False)
    mechanisms: Any

    @property
    def dataset(self) -> Any:
        """What is public about the data."""
        return self.facts


@attrs.frozen
class Private(Compositor):
    """A filter in which each record has an account of its own; the accounts are never looked at."""

    real: Individual

    reports_loss = True
    continual = True

    def loss(self, d_in: int) -> Loss:
        """As the real one."""
        return self.real.loss(d_in)

    def open(self, data: Data) -> Moved:
        """No account is opened yet, and nothing is read."""
        state = Later(individual.Books, data.rows)
        return Moved(Books(data.facts, state, individual.IndividualState(None).mechanisms), None)

    def understood(self, own: Books, query: Any, live: Live) -> Any:  # type: ignore[override]
        """Check the query, by what is public."""
        state: Any = own
        match query:
            case Ask(child, inner):
                child = require_live(live, child, own.mechanisms.get)  # type: ignore[arg-type]
                mechanism = live[child]
                if isinstance(inner, PrivacyLossQuery) and not mechanism.reports_loss:
                    return Report(map_at(mechanism, d_in_of(inner.d_in, 1), ZCDP))
                return Asked(child, inner, None, None)  # type: ignore[arg-type]
            case Launch():
                priced = self.real._priced(state, query)
                if not priced.least <= 1:
                    raise QueryError("give more noise")
                return (query.d_out, priced)
            case PrivacyLossQuery(d_in):
                spent = self.real.privacy_map(d_in_of(d_in, 1))
                return Report(spent if own.mechanisms else spent.zero())
            case CanAfford(launch):
                return Report(self.real._priced(state, launch).least <= 1)
            case MeasureQuery():
                return Report(Stated(ZCDP, 1))
            case Update() | CloseBlock():
                return query
        raise UnknownQueryError("Individual answers Launch, Ask and PrivacyLossQuery")

    def converse(self, own: Books, understood: Any, live: Live) -> Talk | Moved:
        """Charge what nobody sees, and run on whoever can pay."""
        if type(understood) is Report:
            return Moved(own, understood.answer)
        if type(understood) is Asked:
            return self._ask(own, understood)
        if type(understood) is tuple:
            return self._launch(own, *understood)
        return self._grow(own, understood)

    def _ask(self, own: Books, asked: Asked) -> Talk:
        moved = yield Pass(asked.child, asked.query)
        return Moved(own, individual._named(Failed() if moved is LOST else moved.answer))

    def _launch(self, own: Books, d_out: Any, priced: Any) -> Talk:
        mechanism, identity = priced.claim.mechanism, len(own.mechanisms)
        both = Later(lambda state: individual._paid(state, priced), own.private)
        mechanisms = own.mechanisms.set(identity, mechanism)
        if mechanism.retires_others:
            yield Drop()
        moved = yield Start(identity, mechanism, Data(own.facts, Later(getitem, both, 1)))
        loss, account = priced.claim.loss, self.real.account(launched=True)
        receipt = Receipt(mechanism, d_out, 1, loss, account)
        if moved is LOST:
            owing = Later(lambda state: _owing(state, priced.whole), own.private)
            return Moved(Books(own.facts, owing, mechanisms), Failed(receipt=receipt))
        kind = None if isinstance(mechanism, Measurement) else identity
        answer = Launched(kind, individual._named(moved.answer), receipt=receipt)
        return Moved(Books(own.facts, Later(getitem, both, 0), mechanisms), answer)

    def _grow(self, own: Books, message: Any) -> Talk:
        if isinstance(message, CloseBlock):
            return Moved(own, None)
        private = Later(_arrived, own.private, message.records, message.block)
        yield Ready("data", private)
        return Moved(attrs.evolve(own, private=private), None)


def _owing(state: Any, whole: Any) -> Any:
    return attrs.evolve(state, owed=min(state.owed + whole, 1))


def _arrived(state: Any, records: Any, block: Any) -> Any:
    return attrs.evolve(state, dataset=grown(state.dataset, records, block), arrived=True)


class Root:
    """A root that keeps what a log has to: states, answers, and what came of the leaves.

    Attributes:
        intents: what was told to stand before the first leaf of each message.
        told: for each message, what came of its leaves.
    """

    def __init__(self, mechanism: Compositor, data: Any, coins: Coins = SYSTEM) -> None:
        self.mechanism, self.coins, self.messages = mechanism, coins, 0
        self.faults: list[BaseException] = []
        self.intents: list[Any] = []
        self.run = Run(mechanism, Data.of(data), coins.spawn("root", 0))
        self.moved = self.run()
        self.told = [self.run.log()]
        self.interrupted = self.run.stopped

    @property
    def state(self) -> Any:
        """The state; None if the mechanism is lost."""
        return None if self.moved is LOST else self.moved.state

    def begun(self, query: Any, **options: Any) -> Run:
        """The next message."""
        self.messages += 1
        coins = self.coins.spawn("root", self.messages)
        return Run(self.mechanism, query, coins, self.state, **options)

    def tell(self, query: Any) -> Any:
        """Send a query. An interrupt that leaves the run settles what stands, and is raised."""
        if self.moved is LOST:
            return Failed()
        self.run = run = self.begun(query, before=self.intents.append)
        old = self.moved
        try:
            self.moved = run()
        except BaseException as error:
            standing = run.standing()
            self.moved = old if standing is None else standing[0]
            if not is_interrupt(error) or standing is None:
                raise
            self.told.append(run.log())
            raise
        finally:
            self.faults += run.faults
        self.interrupted = run.stopped
        self.told.append(run.log())
        return Failed() if self.moved is LOST else self.moved.answer

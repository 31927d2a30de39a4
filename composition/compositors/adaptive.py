"""Adaptive concurrent composition: what filters and odometers share.

Responsible for Algorithms 3 and 6 of Haney et al. 2023 up to the point where they differ: what
happens to a launch that the account does not permit. Nothing touches data before it is charged:
`_launch` reads top to bottom as parse, claim, validity, rule, charge, run.
"""

from abc import abstractmethod
from fractions import Fraction
from typing import Any, ClassVar

import attrs
from immutables import Map

from composition.compositors import children as kin
from composition.compositors.children import Children
from composition.compositors.launching import (
    Claimed,
    claimed,
    max_depth_field,
    named,
    require_depth,
)
from composition.compositors.metering import ExPostAccount
from composition.proofs import Proof, ask
from composition.rules import Accumulator, Rule, Tally
from composition.verdicts import Column, Way
from queryable.datasets import require_answerable
from queryable.errors import QueryError, UnknownChildError, UnknownQueryError
from queryable.ex_post import Opening
from queryable.guarantees import Guarantee, documented
from queryable.losses.measures import Loss, Measure
from queryable.losses.numbers import natural
from queryable.losses.reports import Report
from queryable.mechanism import InteractiveMechanism, Measurement
from queryable.messages import (
    Answer,
    Answered,
    Ask,
    CanAfford,
    Failed,
    Halted,
    Launch,
    Launched,
    PrivacyLossQuery,
    Query,
    Refused,
    plain,
    records,
)
from queryable.randomness.coins import SYSTEM, Coins
from queryable.receipts import AskReceipt, Receipt

_NO_MORE = (
    "nothing was read or charged. No launch beyond max_mechanisms is taken, whatever the budget; "
    "what was launched goes on answering"
)
_COARSER = (
    "nothing was read or charged. Ask for a step that costs at most what remains on top of what "
    "this child has cost, such as a coarser release; CanAfford(Ask(child, query)) tells in advance"
)
_OPENING = Opening()
_ZERO = Fraction(0)
NO_CLAIMS: "Map[int, Claimed]" = Map()


@attrs.frozen
class CompositionState:
    """The data, what was charged, every claim ever charged, and the interactive children."""

    dataset: Any = attrs.field(repr=False)
    account: Tally
    claims: "Map[int, Claimed]" = NO_CLAIMS
    children: Children = kin.NONE
    halted: str | None = None


def d_in_field(value: Any) -> int:
    """The records a budget is stated for: a count, at least one."""
    d_in = natural(value, "d_in")
    if d_in == 0:
        raise ValueError("d_in is 0; it should be at least 1")
    return d_in


def _max_mechanisms(value: Any) -> int | None:
    return None if value is None else natural(value, "max_mechanisms")


@attrs.frozen
class AdaptiveComposition(InteractiveMechanism[CompositionState]):
    """Base of filters and odometers."""

    composes = True
    reports_loss = True
    noninteractive: ClassVar[bool] = False
    """Whether interactive children are refused."""
    interleaves: ClassVar[bool] = True
    """Whether children may be interleaved; else a launch retires the earlier ones."""

    d_in: int = attrs.field(kw_only=True, default=1, converter=d_in_field)
    max_mechanisms: int | None = attrs.field(kw_only=True, default=None, converter=_max_mechanisms)
    max_depth: int = attrs.field(kw_only=True, default=100, converter=max_depth_field)
    proof: Proof = attrs.field(init=False, repr=False, eq=False)
    """What the table of theorems says of it; without one there is no compositor."""

    def __attrs_post_init__(self) -> None:
        alone = self.noninteractive or not self.interleaves
        column = Column.SEQUENTIAL if alone else Column.ADAPTIVE
        object.__setattr__(self, "proof", ask(self._composes_by, self.child_measure, column))

    @property
    def coin_at_launch(self) -> bool:  # type: ignore[override]
        """Interleaved children are checked one by one; sequential ones may have no coin.

        That a composition has a coin if its children do is proven for the rules of the table.
        """
        return self.interleaves and not self.proof.vouched

    @property
    @abstractmethod
    def child_measure(self) -> Measure:
        """The measure that launches state their loss in."""

    @abstractmethod
    def _opened(self) -> Tally:
        """The empty account."""

    def _exceeds(self, account: Tally, candidate: Tally, requested: Loss) -> Refused | None:
        """Why the candidate may not replace the account."""
        return None

    def _declined(
        self, state: CompositionState, refusal: Refused
    ) -> tuple[CompositionState, Answer]:
        """What becomes of a launch that is not permitted."""
        return state, refusal

    def _still_halted(self, state: CompositionState, query: Query) -> Halted:
        """The answer to everything after a halt; a launch is not looked at any more."""
        if not isinstance(query, Launch):
            return Halted(str(state.halted))
        receipt = Receipt(query.mechanism, None, self.d_in, None, state.account)
        return Halted(str(state.halted), receipt=receipt)

    @property
    @abstractmethod
    def _composes_by(self) -> Rule | Accumulator | Way:
        """What the table of theorems is asked about."""

    def guarantee(self) -> Guarantee:
        """The docstring's, with the theorem of the cell that admits its launches."""
        return attrs.evolve(documented(type(self)), theorem=f"{self.proof.theorem}.")

    def account(self) -> Tally | None:
        """The empty account; None of a subclass that launches or asks in its own way.

        What such a class charges need not be in its answers.
        """
        kind = type(self)
        if (kind._launch, kind._ask) != (AdaptiveComposition._launch, AdaptiveComposition._ask):
            return None
        return self._opened()

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[CompositionState, Answer]:
        """Nothing has been launched; says nothing."""
        return CompositionState(dataset, self._opened()), None

    def step(
        self, state: CompositionState, query: Query, coins: Coins = SYSTEM
    ) -> tuple[CompositionState, Answer]:
        """Answer `Ask`, `Launch`, `PrivacyLossQuery` and `CanAfford`."""
        if isinstance(query, PrivacyLossQuery):
            return state, self._privacy_loss(state, query.d_in)
        if state.halted is not None:
            return state, False if isinstance(query, CanAfford) else self._still_halted(
                state, query
            )
        match query:
            case Ask(child, inner):
                require_depth(query, self.max_depth)
                return self._ask(state, child, inner, coins)
            case Launch():
                require_answerable(state.dataset, query.mechanism)
                return self._launch(state, query, coins)
            case CanAfford(launch):
                return state, self._can_afford(state, launch)
        raise UnknownQueryError(
            f"{type(self).__name__} answers Launch, Ask, PrivacyLossQuery and CanAfford, "
            f"not {named(query)}"
        )

    def _ask(
        self, state: CompositionState, child: Any, query: Query, coins: Coins
    ) -> tuple[CompositionState, Answer]:
        claim = self._live(state, child)
        if not claim.fixed:
            return self._ask_metered(state, child, claim, query, coins)

        def after(children: Children, answer: Answer) -> tuple[CompositionState, Answer]:
            if children is state.children:
                return state, answer
            return CompositionState(state.dataset, state.account, state.claims, children), answer

        return after(*kin.ask(state.children, child, query, self.d_in, coins, after))

    def _ask_metered(
        self, state: CompositionState, child: int, claim: Any, query: Query, coins: Coins
    ) -> tuple[CompositionState, Answer]:
        """Ask a child whose answer changes what it is charged."""
        if isinstance(query, PrivacyLossQuery) and not claim.mechanism.reports_loss:
            return state, claim.realised(records(query.d_in, self.d_in))
        asked = claim.understood(query)
        worst = claim.at_worst(asked)
        refusal = self._ask_refused(state, claim, worst)
        if refusal is not None:
            return self._declined(state, refusal)

        def after(children: Children, answer: Answer) -> tuple[CompositionState, Answer]:
            settled, alive = claim.settled(asked, plain(answer), worst, alive=child in children)
            if not alive:
                children, answer = state.children.delete(child), Failed()
            account = _metered(state.account).moved(claim.loss, settled.loss)
            receipt = AskReceipt(child, _nested(asked), settled.realised(self.d_in), account)
            claims = state.claims.set(child, settled)
            moved = CompositionState(state.dataset, account, claims, children)
            return moved, Answered(answer, receipt=receipt)

        return after(*kin.ask(state.children, child, asked, self.d_in, coins, after))

    def _ask_refused(self, state: CompositionState, claim: Any, worst: Any) -> Refused | None:
        """Why a child may not be asked what may take its charge to `worst`."""
        if claim.fixed:
            return None
        candidate = _metered(state.account).moved(claim.loss, worst)
        if candidate.within:
            return None
        more = max(worst.parts[0] - claim.loss.parts[0], _ZERO)
        requested = worst.of_parts((more, *(_ZERO for _ in worst.parts[1:])))
        refusal = self._exceeds(state.account, candidate, requested)
        return None if refusal is None else attrs.evolve(refusal, instead=_COARSER)

    def _live(self, state: CompositionState, child: Any) -> Claimed:
        """The claim of a live child.

        Raises:
            QueryError: there is no such child.
        """
        kin.require_live(state.children, child, lambda identity: _launched(state, identity))
        if type(child) is not int:  # what is derived from int may be one id here and another there
            raise UnknownChildError(f"a child's id is an int, not {type(child).__name__}")
        return state.claims[child]

    def claimed(self, launch: Any) -> Claimed:
        """A launch, checked: what would run and what it would be charged. Touches no data.

        Raises:
            QueryError: it is none that the compositor takes.
        """
        claim = claimed(launch, self.proof.measure, self.d_in)
        self.proof.cover(claim.mechanism, self.d_in, coined=claim.coined)
        if self.noninteractive and not isinstance(claim.mechanism, Measurement):
            raise QueryError(
                f"{type(self).__name__} composes noninteractive mechanisms, and "
                f"{type(claim.mechanism).__name__} is interactive"
            )
        return claim

    def _launch(
        self, state: CompositionState, launch: Launch, coins: Coins
    ) -> tuple[CompositionState, Answer]:
        claim = self.claimed(launch)
        worst = claim.at_worst(_OPENING)
        account = state.account.add(worst)
        refusal = self._launch_refused(state, account, worst)
        if refusal is not None:
            receipt = Receipt(claim.mechanism, launch.d_out, self.d_in, worst, state.account)
            return self._declined(state, attrs.evolve(refusal, receipt=receipt))
        identity = len(state.claims)
        claim = _shared(state.claims.get(identity - 1), claim)
        living = state.children if self.interleaves else kin.NONE

        def after(children: Children, answer: Answer) -> tuple[CompositionState, Answer]:
            opened = isinstance(answer, Launched)
            opening = answer.answer if opened else None
            paid, alive = claim.settled(_OPENING, opening, worst, alive=opened)
            charged = account if paid.fixed else state.account.add(paid.loss)
            receipt = Receipt(paid.mechanism, launch.d_out, self.d_in, paid.loss, charged)
            if alive:
                answer = Launched(answer.child, opening, receipt=receipt)
            else:
                children, answer = living, Failed(receipt=receipt)
            claims = state.claims.set(identity, paid)
            return CompositionState(state.dataset, charged, claims, children), answer

        return after(
            *kin.start(living, identity, claim.mechanism, worst, state.dataset, coins, after)
        )

    def _launch_refused(
        self, state: CompositionState, candidate: Tally, worst: Loss
    ) -> Refused | None:
        """Why a launch may not go ahead that may cost `worst`, and lead to this account."""
        if self.max_mechanisms is not None and len(state.claims) >= self.max_mechanisms:
            return Refused("at mechanism count limit", instead=_NO_MORE)
        return self._exceeds(state.account, candidate, worst)

    def _can_afford(self, state: CompositionState, launch: Any) -> bool:
        worst = self.claimed(launch).at_worst(_OPENING)
        return self._launch_refused(state, state.account.add(worst), worst) is None

    def _privacy_loss(self, state: CompositionState, d_in: Any) -> Report:
        at = records(d_in, self.d_in)
        if at == self.d_in:
            return state.account.total()
        if at == 0:
            return state.account.total().zero()
        account = self._opened()
        for claim in state.claims.values():
            account = account.add(claim.loss_at(self.d_in, at))
        return self._report_at(account, at)

    def _report_at(self, account: Any, d_in: int) -> Report:
        """The report for data that differ in other than the budget's records."""
        total: Report = account.total()
        return total


def _shared(last: Claimed | None, claim: Claimed) -> Claimed:
    """The last claim where it is the same, so that many launches of one mechanism keep one."""
    if (
        last is not None
        and last.mechanism is claim.mechanism
        and last.fixed is claim.fixed is True
        and last.coined is claim.coined
        and type(last.loss) is type(claim.loss)
        and last.loss == claim.loss
    ):
        return last
    return claim


def _metered(account: Any) -> ExPostAccount:
    assert isinstance(account, ExPostAccount)
    return account


def _nested(query: Query) -> int:
    """How many `Ask`s a query consists of."""
    count = 0
    while isinstance(query, Ask):
        query, count = query.query, count + 1
    return count


def _launched(state: CompositionState, identity: Any) -> InteractiveMechanism[Any] | None:
    claim = state.claims.get(identity)
    return None if claim is None else claim.mechanism

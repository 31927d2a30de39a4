"""Ex-post accounting: a filter that charges what its children have realised, in whatever order.

Responsible for the sum, and for checking before every step what it may come to at worst. Nothing is
refunded: what was not realised was never charged. Knows no mechanism.
"""

from fractions import Fraction
from typing import Any

import attrs

from composition import children as kin
from composition.adaptive import CompositionState
from composition.children import Children
from composition.filters import FiltCon
from composition.launching import Claimed, loss_at, require_depth
from composition.metering import Metered
from composition.rules import Basic, Rule, Sum
from composition.rules.additive import AdditiveAccount
from composition.verdicts import Way
from queryable.books import Books
from queryable.coins import Coins
from queryable.errors import UnknownChildError
from queryable.ex_post import ExPostMechanism, Opening
from queryable.losses import AdditiveLoss, ApproxDP, PureDP, add_parts
from queryable.messages import (
    Answer,
    Ask,
    Failed,
    Launch,
    Launched,
    PrivacyLossQuery,
    Query,
    Refused,
    records,
)
from queryable.reports import ExPostBound

_ZERO = Fraction(0)
_COARSER = (
    "nothing was read or charged. Ask for a step that costs at most what remains on top of what "
    "this child has cost, such as a coarser release; CanAfford(Ask(child, query)) tells in advance"
)


@attrs.frozen
class ExPost(FiltCon):
    """Concurrent composition under a budget that is charged what children realise.

    Answers: Launch, Ask, PrivacyLossQuery, and CanAfford of a Launch or an Ask. A launch or an ask
    that might not fit is `Refused`, state unchanged and live children unharmed.

    An `ExPostMechanism`, such as `LaplaceNoiseReduction`, is charged what its answers have cost so
    far. Before each step the worst that the step may cost is checked against the budget; who stops
    early has the rest left. Everything else, interactive or not, is charged its (epsilon, delta) in
    full at its launch, and so is an ex-post mechanism launched with a `d_out`. A child that fails
    has cost what the failed step might have.

    `privacy_loss` reports the realised total, an `ExPostBound`; `privacy_map` the budget.

    Privacy:
        Claim: for data that differ in `d_in` records the interaction loses at most `budget`, for
            every adversary, however it interleaves queries and launches.
        Theorem: docs/theory.md, ex-post accounting interleaves; where nothing interleaves, Rogers
            et al. 2023, Lemma B.2.
        Assumes: the launched privacy maps and expenses are sound; refusals depend on the view only.
        Checked by: tests/audit/test_ex_post.py
    Args:
        budget: `PureDP`, or `ApproxDP`, which children with a delta need.
        d_in, max_mechanisms, on_exceed, max_depth: as in `FiltCon`.
    """

    budget: PureDP | ApproxDP = attrs.field()
    rule: Rule = attrs.field(init=False, repr=False, factory=Basic)

    @property
    def _composes_by(self) -> Way:
        return Way.REALISED

    @budget.validator
    def _adds_up(self, attribute: object, budget: object) -> None:
        if type(budget) not in (PureDP, ApproxDP):
            raise ValueError(f"budget is {budget}; it should be a PureDP or an ApproxDP")

    def books(self) -> Books:
        """Nothing is charged yet."""
        from composition.ex_post_books import ExPostBooks  # which takes its steps from here

        opened = self._opened()
        assert isinstance(opened, AdditiveAccount)
        return ExPostBooks(self, opened)

    def _launch(
        self, state: CompositionState, launch: Launch, coins: Coins
    ) -> tuple[CompositionState, Answer]:
        entry, worst = self.entry(launch)
        refusal = self._launch_refused(state, worst)
        if refusal is not None:
            return self._declined(state, refusal)
        identity = len(state.claims)

        def after(children: Children, answer: Answer) -> tuple[CompositionState, Answer]:
            paid = entry
            if isinstance(entry, Metered):
                opening = answer.answer if isinstance(answer, Launched) else None
                alive = isinstance(answer, Launched)
                paid, alive = entry.settled(Opening(), opening, worst, alive=alive)
                if not alive:
                    children, answer = state.children, Failed()
            account = state.account.add(paid.loss)
            claims = state.claims.set(identity, paid)
            return CompositionState(state.dataset, account, claims, children), answer

        return after(
            *kin.start(
                state.children, identity, entry.mechanism, worst, state.dataset, coins, after
            )
        )

    def _ask(
        self, state: CompositionState, child: Any, query: Query, coins: Coins
    ) -> tuple[CompositionState, Answer]:
        entry = self._metered(state, child)
        if entry is None:
            return super()._ask(state, child, query, coins)
        if isinstance(query, PrivacyLossQuery) and not entry.mechanism.reports_loss:
            return state, bound(_realised(entry, self.d_in, records(query.d_in, self.d_in)))
        asked = entry.understood(query)
        worst = entry.at_worst(asked)
        refusal = self._ask_refused(state, entry, worst)
        if refusal is not None:
            return self._declined(state, refusal)

        def after(children: Children, answer: Answer) -> tuple[CompositionState, Answer]:
            settled, alive = entry.settled(asked, answer, worst, alive=child in children)
            if not alive:
                children, answer = state.children.delete(child), Failed()
            account = moved(_account(state), entry.loss, settled.loss)
            claims = state.claims.set(child, settled)
            return CompositionState(state.dataset, account, claims, children), answer

        return after(*kin.ask(state.children, child, asked, self.d_in, coins, after))

    def _can_afford(self, state: CompositionState, launch: Any) -> bool:
        if not isinstance(launch, Ask):
            return self._launch_refused(state, self.entry(launch)[1]) is None
        require_depth(launch, self.max_depth)
        entry = self._metered(state, launch.child)
        if entry is None:  # it was paid for at its launch
            return True
        return self._ask_refused(state, entry, entry.at_worst(launch.query)) is None

    def entry(self, launch: Any) -> tuple[Claimed, AdditiveLoss]:
        """What is launched, and what that may cost at worst."""
        metered = isinstance(launch, Launch) and isinstance(launch.mechanism, ExPostMechanism)
        if not metered or launch.d_out is not None:
            claim = self.claimed(launch)
            assert isinstance(claim.loss, AdditiveLoss)
            return claim, claim.loss
        self.proof.cover(launch.mechanism, self.d_in)
        entry = Metered.of(launch.mechanism, self.budget.zero(), self.d_in)
        return entry, entry.at_worst(Opening())

    def _metered(self, state: CompositionState, child: Any) -> Metered | None:
        """The entry of a live ex-post child.

        Raises:
            QueryError: there is no such child.
        """
        if type(child) is not int:  # what is derived from int may be one id here and another there
            raise UnknownChildError(f"a child's id is an int, not {type(child).__name__}")
        kin.require_live(state.children, child, lambda identity: _launched(state, identity))
        entry = state.claims[child]
        return entry if isinstance(entry, Metered) else None

    def _launch_refused(self, state: CompositionState, worst: AdditiveLoss) -> Refused | None:
        if self.max_mechanisms is not None and len(state.claims) >= self.max_mechanisms:
            return Refused("at mechanism count limit")
        return self._exceeds(state.account, state.account.add(worst), worst)

    def _ask_refused(
        self, state: CompositionState, entry: Metered, worst: AdditiveLoss
    ) -> Refused | None:
        candidate = moved(_account(state), entry.loss, worst)
        if candidate.within:
            return None
        more = max(worst.parts[0] - entry.loss.parts[0], _ZERO)
        requested = worst.of_parts((more, *(_ZERO for _ in worst.parts[1:])))
        refusal = self._exceeds(state.account, candidate, requested)
        return None if refusal is None else attrs.evolve(refusal, instead=_COARSER)

    def _privacy_loss(self, state: CompositionState, d_in: Any) -> ExPostBound:
        at = records(d_in, self.d_in)
        if at == self.d_in:
            return bound(_account(state).sum.parts)
        realised = [_realised(claim, self.d_in, at) for claim in state.claims.values()]
        epsilons, deltas = zip((_ZERO, _ZERO), *realised, strict=True)
        return bound((sum(epsilons, _ZERO), sum(deltas, _ZERO)))


def _account(state: CompositionState) -> AdditiveAccount:
    assert isinstance(state.account, AdditiveAccount)
    return state.account


def _launched(state: CompositionState, identity: Any) -> Any:
    entry = state.claims.get(identity)
    return None if entry is None else entry.mechanism


def moved(account: AdditiveAccount, before: AdditiveLoss, after: AdditiveLoss) -> AdditiveAccount:
    """The account once one child's charge has changed."""
    change = tuple(new - old for old, new in zip(before.parts, after.parts, strict=True))
    total = Sum(account.sum.zero, add_parts(account.sum.parts, change))
    return AdditiveAccount(total, account.budget, account.most)


def _realised(entry: Claimed, unit: int, d_in: int) -> tuple[Fraction, Fraction]:
    """(epsilon, delta) of one child so far, for data that differ in some number of records."""
    if isinstance(entry, Metered):
        return entry.realised(d_in)
    loss = loss_at(entry.mechanism, entry.loss.to(ApproxDP), unit, d_in)
    assert isinstance(loss, ApproxDP)
    return loss.epsilon, loss.delta


def bound(parts: tuple[Fraction, ...]) -> ExPostBound:
    """The report of an account: its epsilon, and what its deltas sum to."""
    return ExPostBound(parts[0], min(sum(parts[1:], _ZERO), Fraction(1)))

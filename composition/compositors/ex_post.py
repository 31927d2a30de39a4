"""Ex-post accounting: a filter that charges children what their answers have cost.

The steps are those of every filter (`adaptive`). This file says which children are charged as they
answer. Before a step, its worst case is checked against the budget; after it, the realised cost is
charged. There are no refunds, because unrealised cost is never charged.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import attrs

from composition.compositors.children import left_for_a_launch
from composition.compositors.claims import Claim, claim_of
from composition.compositors.ex_post_claims import OPENING, ExPostAccount, ExPostClaim
from composition.compositors.filters import FiltCon
from composition.compositors.launching import Order
from composition.compositors.pool import PooledAccount, pool_share
from composition.compositors.state import CompositionState
from composition.proofs import ask, own_measure
from composition.rules import Basic, Rule
from composition.rules.additive import AdditiveAccount
from composition.verdicts import Way
from queryable.conversation import LOST, Drop, Live, Moved, Pass, Reported, Talk
from queryable.ex_post import ExPostMechanism
from queryable.losses import ZCDP, ApproxDP, PureDP
from queryable.losses.lines import slopes_within
from queryable.losses.numbers import at_least_one, probability
from queryable.messages import (
    Answer,
    Ask,
    Failed,
    Launch,
    MeasureQuery,
    PrivacyLossQuery,
    Query,
    Refused,
    RemainingQuery,
    Stated,
    d_in_of,
)
from queryable.receipts import AskReceipt, Receipt
from queryable.wording.guarantees import Guarantee
from queryable.wording.quoting import quoted

_COARSER = (
    "nothing was read or charged. Ask for a step that costs at most what remains on top of what "
    "this child has cost, such as a coarser release; CanAfford(Ask(child, query)) tells in advance"
)
_POOL = "docs/theory.md, zCDP ex post"
_ZERO = Fraction(0)
_MOST_LINES = 16


def _slack(value: Any) -> Fraction | None:
    return None if value is None else probability(value, "slack") or None


def _lines(value: Any) -> int:
    return at_least_one(value, "lines", _MOST_LINES)


class Charging(NamedTuple):
    """A query to a child that is charged as it answers, and the most that the charge may become."""

    child: int
    query: Query
    claim: Any
    worst: Any


@attrs.define(eq=False)  # never changed
class ExPostOrder(Order):
    """A launch that is charged as it answers, and the most that its opening may cost."""

    worst: Any


@attrs.frozen(repr=False)
class ExPost(FiltCon):
    """Concurrent composition under a budget that is charged what children realise.

    Answers: Launch, Ask, PrivacyLossQuery, RemainingQuery, MeasureQuery, and CanAfford of a Launch
    or an Ask. A launch or an ask that might not fit is `Refused`; the state does not change and
    live children go on answering.

    An `ExPostMechanism` (`LaplaceNoiseReduction`, `GaussianNoiseReduction`, `FirstGood`) is charged
    what its answers have cost so far. Before each step the worst case of the step is checked
    against the budget. An analyst who stops a child early keeps the rest of the budget. Every other
    mechanism is charged its (epsilon, delta) in full at its launch, and so is an ex-post mechanism
    launched with a `d_out`. A child that fails is charged the worst case of the failed step.

    With a `slack`, children whose own loss is a `ZCDP`, or that are launched with such a `d_out`,
    are admitted too, as `Gaussian`s and the launches of `BrownianNoiseReduction`. They are the
    pool, which is charged as one child: the delta `slack` at its first launch, and an epsilon that
    depends on the sum of their rho so far, by one or several lines. MeasureQuery and RemainingQuery
    are then about the pool, so that `release` adds Gaussian noise.

    `privacy_loss` reports the realised total, an `ExPostBound`; `privacy_map` the budget.

    Privacy:
        Claim: for data that differ in `d_in` records the interaction loses at most `budget`, for
            every adversary, however it interleaves queries and launches.
        Theorem: docs/theory.md, ex-post accounting interleaves; where nothing interleaves, Rogers
            et al. 2023, Lemma B.2.
        Assumes: the launched privacy maps and expenses are sound; refusals depend on the view only.
        Checked by: tests/audit/test_ex_post.py, tests/audit/test_pool.py
    Args:
        budget: `PureDP`, or `ApproxDP`, which children with a delta need.
        slack: the delta of the pool, at most the budget's; None or 0 if there is no pool.
        lines: how many lines bound the epsilon of the pool. One admits the largest rho. A pool by k
            lines costs about epsilon/2^k at first and not epsilon/2, but each line has only a share
            of the slack, so the largest rho is smaller, by about 6% for two and 11% for four.
        d_in, max_mechanisms, on_exceed, max_depth: as in `FiltCon`.

    Examples:
        >>> from mechanisms import BrownianNoiseReduction, Count, Laplace, Open, Refine
        >>> from queryable import ApproxDP, Queryable
        >>> filtered = ExPost(ApproxDP(1, "1e-6"), slack="5e-7", lines=2)
        >>> table = Queryable(BrownianNoiseReduction() @ filtered, {"age": [31, 47, 62] * 100})
        >>> old = table(Open(Count(), [10_000, 1_000, 100]))
        >>> first, second, noisy = old(Refine()), old(Refine()), table(Laplace(Count(), scale=9))
        >>> print(table.privacy_loss())
        ExPostBound(loss <= ≈0.37 for these answers, except with probability 5e-07)
    """

    budget: PureDP | ApproxDP = attrs.field()
    slack: Fraction | None = attrs.field(kw_only=True, default=None, converter=_slack)
    lines: int = attrs.field(kw_only=True, default=1, converter=_lines)
    rule: Rule = attrs.field(init=False, repr=False, factory=Basic)

    @property
    def _composes_by(self) -> Way:
        return Way.REALISED

    @budget.validator
    def _adds_up(self, attribute: object, budget: object) -> None:
        if type(budget) not in (PureDP, ApproxDP):
            raise ValueError(f"budget is {quoted(budget)}; it should be a PureDP or an ApproxDP")

    @slack.validator
    def _is_of_the_budget(self, attribute: object, slack: Fraction | None) -> None:
        if slack is not None:
            pool_share(slack, self.budget)

    def _opened(self) -> ExPostAccount:
        empty = super()._opened()
        assert isinstance(empty, AdditiveAccount)
        terms = empty.sum, empty.budget, empty.most
        if self.slack is None:
            return ExPostAccount(*terms)
        slopes = slopes_within(self.budget.epsilon, self.slack, self.lines)
        return PooledAccount(*terms, self.slack, slopes)

    def guarantee(self) -> Guarantee:
        """Also the theorem about the pool, if there is one."""
        stated = super().guarantee()
        if self.slack is None:
            return stated
        return attrs.evolve(stated, theorem=f"{stated.theorem} The pool: {_POOL}.")

    def _pools(self, launch: Launch) -> bool:
        """Whether a launch is charged with the pool."""
        if self.slack is None:
            return False
        if launch.d_out is not None:
            return isinstance(launch.d_out, ZCDP)
        mechanism = launch.mechanism
        return not isinstance(mechanism, ExPostMechanism) and own_measure(mechanism) is ZCDP

    def _require_proven(self, claim: Claim) -> None:
        super()._require_proven(claim)
        if isinstance(claim.loss, ZCDP):
            ask(Way.REALISED, ZCDP, self.proof.column).cover(claim.mechanism, self.d_in)

    def _claim(self, launch: Launch) -> Claim:
        if self._pools(launch):
            return claim_of(launch, ZCDP, self.d_in)
        if launch.d_out is not None or not isinstance(launch.mechanism, ExPostMechanism):
            return super()._claim(launch)
        return ExPostClaim.of(launch.mechanism, self.budget.zero(), self.d_in)

    def _is_as_here(self, names: Sequence[str]) -> bool:
        kind = type(self)
        return all(getattr(kind, name) is getattr(ExPost, name) for name in names)

    def _affordable(self, own: CompositionState, query: Any, live: Live) -> bool:
        if not isinstance(query, Ask):
            return super()._affordable(own, query, live)
        claim: Any = own.claims[self._child(own, query, live)]
        worst = claim.at_worst(claim.understood(query.query))
        return claim.fixed or self._ask_refused(own, claim, worst) is None

    def _order(self, launch: Launch, claim: Any) -> Order:
        if claim.fixed:
            return super()._order(launch, claim)
        return ExPostOrder(launch, claim, claim.at_worst(OPENING))

    def _step(self, claim: Any, child: int, query: Query) -> Any:
        if claim.fixed:
            return super()._step(claim, child, query)
        if isinstance(query, PrivacyLossQuery) and not claim.mechanism.reports_loss:
            return Reported(claim.realised(d_in_of(query.d_in, self.d_in)))
        query = claim.understood(query)
        return Charging(child, query, claim, claim.at_worst(query))

    def understood(self, own: CompositionState, query: Query, live: Live) -> Any:  # type: ignore[override]
        """With a pool, what launches state and what is left for one is a rho."""
        if self.slack is not None and isinstance(query, MeasureQuery):
            return Reported(Stated(ZCDP, self.d_in))
        if self.slack is not None and isinstance(query, RemainingQuery):
            return Reported(left_for_a_launch(own, query.blocks, self.max_mechanisms, ZCDP(0)))
        return super().understood(own, query, live)

    def converse(self, own: CompositionState, understood: Any, live: Live) -> Talk | Moved:
        """Also ask a child that is charged as it answers."""
        if type(understood) is Charging:
            return self._ask(own, understood)
        return super().converse(own, understood, live)

    def _ask(self, own: CompositionState, asked: Charging) -> Talk:
        """Ask a child that is charged as it answers: check the worst case, ask, then charge."""
        child, query, claim, worst = asked
        refusal = self._ask_refused(own, claim, worst)
        if refusal is not None:
            return Moved(*self._declined(own, refusal))
        moved = yield Pass(child, query)
        answer = Failed() if moved is LOST else moved.answer
        settled, alive = claim.settled(query, answer, worst, alive=moved is not LOST)
        if not alive:
            yield Drop((child,))
            answer = Failed()
        account = _account(own).moved(claim.loss, settled.loss)
        receipt = AskReceipt(child, _nested(query), settled.realised(self.d_in), account)
        claims = own.claims.set(child, settled)
        own = CompositionState(own.data, account, claims, streams=own.streams)
        return Moved(own, answer, (receipt,))

    def _ask_refused(self, own: CompositionState, claim: Any, worst: Any) -> Refused | None:
        """The refusal, if a child's charge may not rise to `worst`; None if it may."""
        candidate = _account(own).moved(claim.loss, worst)
        if candidate.within:
            return None
        more = max(worst.parts[0] - claim.loss.parts[0], _ZERO)
        requested = worst.of_parts((more, *(_ZERO for _ in worst.parts[1:])))
        refusal = self._exceeds(own.account, candidate, requested)
        return None if refusal is None else attrs.evolve(refusal, instead=_COARSER)

    def _ran(
        self, own: CompositionState, due: Any, moved: Moved | None
    ) -> tuple[CompositionState, Answer]:
        own, answer = super()._ran(own, due, moved)
        claim = due.order.claim
        if moved is LOST or claim.fixed:
            return own, answer
        paid, alive = claim.settled(OPENING, moved.answer, due.charged, alive=True)
        if not alive:
            return own, due.failed
        account = due.before.account.add(paid.loss)
        claims = own.claims.set(due.identity, paid)
        receipt = Receipt(paid.mechanism, due.order.launch.d_out, self.d_in, paid.loss, account)
        own = CompositionState(own.data, account, claims, streams=own.streams)
        return own, attrs.evolve(answer, receipt=receipt)


def _account(own: CompositionState) -> ExPostAccount:
    assert isinstance(own.account, ExPostAccount)
    return own.account


def _nested(query: Query) -> int:
    """The number of nested `Ask`s in a query."""
    count = 0
    while isinstance(query, Ask):
        query, count = query.query, count + 1
    return count

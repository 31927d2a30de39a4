"""Ex-post accounting: a filter that charges children what their answers have cost.

The steps are those of every filter (`adaptive`). This file says which children are charged as they
answer. Before a step, its worst case is checked against the budget; after it, the realised cost is
charged. There are no refunds, because unrealised cost is never charged.
"""

from typing import Any

import attrs

from composition.compositors.children import require_depth
from composition.compositors.claims import Claim
from composition.compositors.ex_post_claims import ExPostAccount, ExPostClaim
from composition.compositors.filters import FiltCon
from composition.compositors.state import CompositionState
from composition.rules import Basic, Rule
from composition.rules.additive import AdditiveAccount
from composition.verdicts import Way
from queryable.conversation import Live
from queryable.ex_post import ExPostMechanism
from queryable.losses import ApproxDP, PureDP
from queryable.messages import Ask, Launch
from queryable.quoting import quoted


@attrs.frozen(repr=False)
class ExPost(FiltCon):
    """Concurrent composition under a budget that is charged what children realise.

    Answers: Launch, Ask, PrivacyLossQuery, MeasureQuery, and CanAfford of a Launch or an Ask. A
    launch or an ask that might not fit is `Refused`; the state does not change and live children go
    on answering.

    An `ExPostMechanism`, such as `LaplaceNoiseReduction`, is charged what its answers have cost so
    far. Before each step the worst case of the step is checked against the budget. An analyst who
    stops a child early keeps the rest of the budget. Every other mechanism is charged its
    (epsilon, delta) in full at its launch, and so is an ex-post mechanism launched with a `d_out`.
    A child that fails is charged the worst case of the failed step.

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
            raise ValueError(f"budget is {quoted(budget)}; it should be a PureDP or an ApproxDP")

    def _opened(self) -> ExPostAccount:
        empty = super()._opened()
        assert isinstance(empty, AdditiveAccount)
        return ExPostAccount(empty.sum, empty.budget, empty.most)

    def _claim(self, launch: Launch) -> Claim:
        if launch.d_out is not None or not isinstance(launch.mechanism, ExPostMechanism):
            return super()._claim(launch)
        return ExPostClaim.of(launch.mechanism, self.budget.zero(), self.d_in)

    def _affordable(self, own: CompositionState, query: Any, live: Live) -> bool:
        if not isinstance(query, Ask):
            return super()._affordable(own, query, live)
        require_depth(query, self.max_depth)
        child = query.child
        if type(child) is not int or child not in live:
            self._require_live(own, child, live)
        claim = own.claims[child]
        worst = claim.at_worst(claim.understood(query.query))
        return claim.fixed or self._ask_refused(own, claim, worst) is None

"""Privacy filters: compositors with a budget (Haney et al. 2023, Algorithm 3)."""

from fractions import Fraction
from typing import Any

import attrs

from composition.compositors.adaptive import AdaptiveComposition
from composition.compositors.state import CompositionState
from composition.proofs import require_known
from composition.rules import Account, Basic, Rule
from composition.verdicts import Way
from queryable.losses import (
    GDP,
    ZCDP,
    AdditiveLoss,
    ApproxDP,
    ApproxZCDP,
    Loss,
    Measure,
    PureDP,
    Report,
    conversions,
    group_size,
)
from queryable.losses.loss import genuine
from queryable.losses.numbers import shown_below
from queryable.messages import Answer, Halted, Refused
from queryable.wording.quoting import an_instance, one_of, quoted


@attrs.frozen(repr=False)
class FiltCon(AdaptiveComposition):
    """Concurrent composition of interactive mechanisms under a budget.

    Haney et al. 2023, Definition 2.7.

    Answers: Launch, Ask, PrivacyLossQuery, RemainingQuery, CanAfford, MeasureQuery. A launch that
    does not fit is `Refused`; the state does not change and live children go on answering.

    Privacy:
        Claim: for data that differ in `d_in` records, rows or privacy units of a table, the
            interaction loses at most `budget`, for every adversary, however it interleaves queries
            and launches.
        Theorem: the one that `composition.VALIDITY` names for the measure and the rule.
        Assumes: the launched privacy maps are sound; refusals depend on the view only.
        Checked by: tests/audit/test_every_compositor.py
    Args:
        budget: an upper bound on the total loss.
        rule: decides whether a launch fits; by default losses add up.
        d_in: the records that the budget is stated for.
        max_mechanisms: the largest number of launches, K in the paper.
        on_exceed: "refuse", or "halt" for the paper's Halt: after it only `PrivacyLossQuery` is
            answered.
        max_depth: how deep an `Ask` may be nested.

    Examples:
        >>> from mechanisms import Count, Gaussian
        >>> from queryable import ZCDP, Queryable
        >>> table = Queryable(FiltCon(ZCDP("1/10")), {"age": [31, 47, 62]})
        >>> table.can_afford(Gaussian(Count(), rho="1/5"))
        False
        >>> team = table(FiltCon(ZCDP("1/20")))  # a budget within the budget
        >>> noisy = team(Gaussian(Count(), rho="1/50"))
        >>> team.privacy_loss(), table.privacy_loss()
        (ZCDP(rho='1/50'), ZCDP(rho='1/20'))
    """

    budget: Loss = attrs.field()
    rule: Rule = attrs.field(factory=Basic, validator=an_instance(Rule))
    on_exceed: str = attrs.field(kw_only=True, default="refuse", validator=one_of("refuse", "halt"))
    _empty: Account = attrs.field(init=False, repr=False, eq=False)

    @budget.validator
    def _is_loss(self, attribute: object, budget: object) -> None:
        if not isinstance(budget, Loss) or not genuine(budget):
            raise TypeError(
                "give a budget such as ZCDP('1/10'), or write composition.budget(epsilon=1, "
                f"delta='1e-6'): budget is {quoted(budget)}, not a loss"
            )

    def __attrs_post_init__(self) -> None:
        require_known(self.budget)
        super().__attrs_post_init__()
        object.__setattr__(self, "_empty", self.rule.open(self.budget))

    @property
    def child_measure(self) -> Measure:
        """The measure that the rule takes under this budget."""
        return self.rule.child_measure(self.budget)

    @property
    def _composes_by(self) -> Rule | Way:
        return self.rule

    def loss(self, d_in: int) -> Loss:
        """The budget up to the filter's `d_in`; the group privacy bound of the budget above it."""
        return self.budget.group(group_size(d_in, self.d_in))

    def _report_at(self, account: Any, d_in: int) -> Report:
        """The total at another `d_in`, or the group bound of the budget if that is needed.

        Some rules report the whole budget, whatever they admitted. At another `d_in` the children
        may lose more than such a rule admits, and then its report would be too small.
        """
        total: Report = account.total()
        capped = isinstance(total, type(self.budget)) and total <= self.budget
        return self.privacy_map(d_in) if capped and not account.within else total

    def _opened(self) -> Account:
        return self._empty

    def _exceeds(self, account: Any, candidate: Any, requested: Any) -> Refused | None:
        if candidate.within:
            return None
        remaining = account.left_for(requested)
        reason = "insufficient budget" + _as_the_budget(account) + account.hint(requested)
        if _by_a_hair(requested, remaining):
            reason += "; it is short by less than 1e-9, so a sum of floats may be to blame"
        return Refused(reason, requested, account.spent(), remaining, _instead(remaining))

    def _declined(self, own: CompositionState, refusal: Refused) -> tuple[CompositionState, Answer]:
        if self.on_exceed == "refuse":
            return own, refusal
        halted = Halted(refusal.reason, receipt=refusal.receipt)
        return attrs.evolve(own, halted=refusal.reason), halted


@attrs.frozen(repr=False)
class Filt(FiltCon):
    """Composition of noninteractive mechanisms under a budget.

    Haney et al. 2023, Definition 2.5, Algorithm 2.

    As `FiltCon`, but launching an interactive mechanism is a `QueryError`.
    """

    noninteractive = True


@attrs.frozen(repr=False)
class FiltSeq(FiltCon):
    """Sequential composition of interactive mechanisms under a budget.

    As `FiltCon`, but a launch retires every earlier child and all its descendants. It is for
    mechanisms that are not known to compose concurrently.

    Privacy:
        Theorem: the one that `composition.VALIDITY` names under "sequential": a child that has
            been retired is a noninteractive mechanism, whose answer is the whole interaction.
    """

    interleaves = False


def _as_the_budget(account: Account) -> str:
    """The loss so far as the budget is stated, where launches are charged in another measure."""
    spent, total = account.spent(), account.total()
    if not isinstance(spent, Loss) or spent == total:
        return ""
    return f"; the loss so far is {total} of {account.budget}"


def _instead(remaining: Any) -> str:
    match remaining:
        case ApproxDP(0, delta) | ApproxZCDP(0, delta) if delta:  # noise has a larger loss
            but = f" but for a delta of {shown_below(delta)}"
        case _:
            but = ""
    if but or remaining <= remaining.zero():
        return (
            f"nothing was read or charged. This budget is used up{but}: ask the children that run "
            "already, or get a further budget from whoever gave this one"
        )
    return (
        f"nothing was read or charged. {_fits(remaining)}; can_afford(mechanism) tells in advance"
    )


def _fits(remaining: Any) -> str:
    """What a mechanism may lose now, in the parameters that mechanisms take; rounded down."""
    match remaining:
        case PureDP(epsilon):
            most = f"epsilon up to {shown_below(epsilon)}"
        case ApproxDP(epsilon, delta):
            most = f"epsilon up to {shown_below(epsilon)}, and delta up to {shown_below(delta)}"
        case ZCDP(rho):
            most = _in_zcdp(rho)
        case ApproxZCDP(rho, delta):
            most = f"{_in_zcdp(rho)}, and delta up to {shown_below(delta)}"
        case GDP(mu):
            most = f"mu up to {shown_below(mu)}"
        case _:
            return (
                "Launch a mechanism that loses at most what remains, with more noise (a larger "
                "scale, or a smaller epsilon or rho)"
            )
    return f"What fits now, with more noise: {most}"


def _in_zcdp(rho: Fraction) -> str:
    epsilon = conversions.pure_within_zcdp(rho) if rho < 10**6 else rho
    return f"rho up to {shown_below(rho)} or epsilon up to {shown_below(epsilon)}"


def _by_a_hair(requested: Any, remaining: Any) -> bool:
    if not isinstance(requested, AdditiveLoss) or type(requested) is not type(remaining):
        return False  # curves have no coordinates
    over = (r - left for r, left in zip(requested.parts, remaining.parts, strict=True))
    return all(excess * 10**9 < 1 for excess in over)

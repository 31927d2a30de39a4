"""What would pay beyond a rule: sentences about a plan of launches.

Responsible for the hints of `recommend`, and for what a planned launch states. Hints are about
public facts: how many launches there are, their losses, and whether their statistics are counts.
The figures behind them are in docs/choosing.md.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import attrs

from queryable.errors import PrivacyClaimError
from queryable.losses import (
    GDP,
    RDP,
    ZCDP,
    ApproxDP,
    ApproxZCDP,
    Loss,
    Measure,
    PureDP,
    total,
)
from queryable.mechanism import InteractiveMechanism, Measurement
from queryable.postprocessing import PersonInTheMiddle
from queryable.statistics import IntegerStatistic
from queryable.wording.quoting import quoted

Planned = Loss | InteractiveMechanism[Any]
"""A launch of a plan: the mechanism, or only its loss."""

OVERLAPPING, ABOVE, ABOVE_ADDED, BEST, BEST_ADDED = 4, 20, 3, 6, 4
"""From how many launches on `Frugal`, `SparseVector` and `Best` pay; those that are `ADDED` if the
epsilons of the launches add up."""

_OF_COUNTS = PureDP, ApproxDP, ZCDP, ApproxZCDP, GDP
_TWO_DIGITS = 2


def stated(planned: Planned, measure: Measure | None = None) -> Loss:
    """The loss of a launch at one record, in a measure.

    Raises:
        ValueError: no theorem states it so.
    """
    if isinstance(planned, Loss):
        return planned if measure is None else planned.to(measure)
    try:
        return planned.privacy_map(1, measure)
    except PrivacyClaimError as error:
        raise ValueError(str(error)) from None


def price(person: PersonInTheMiddle[Any], plan: Sequence[Planned]) -> Loss:
    """What the plan costs through a person.

    Raises:
        TypeError: it is no person that knows prices, or the plan has losses only.
        ValueError: it has no price for a launch.
    """
    priced = getattr(person, "priced", None)
    if not isinstance(person, PersonInTheMiddle) or priced is None:
        raise TypeError(
            f"instead is {quoted(person)}; it should be a person in the middle that knows prices, "
            "such as Frugal()"
        )
    if not all(isinstance(each, InteractiveMechanism) for each in plan):
        raise TypeError("with instead=, plan with mechanisms, such as Gaussian(Count(), rho=..)")
    found = priced(plan)
    assert isinstance(found, Loss)
    return found


@attrs.frozen
class BestPlan:
    """What the best rule makes of a plan.

    Attributes:
        admitted: how many launches it admits; None if no rule takes the plan.
        added: whether it adds up epsilons.
        zcdp: whether the budget could be one in zCDP instead.
    """

    admitted: int | None
    added: bool
    zcdp: bool


def hints(
    plan: Sequence[Planned], fit: BestPlan, person: Any = None, through: Loss | None = None
) -> tuple[str, ...]:
    """What would pay for such a plan, beyond a rule.

    Args:
        plan: the launches.
        fit: how they fit into the budget.
        person: through whom they could be asked.
        through: what they cost through that person.
    """
    if fit.admitted is None:
        return ("no rule takes this plan under this budget: the table says why",)
    return (
        *_about_counts(plan, fit, person),
        *_about_runs(plan, fit),
        *_priced(plan, person, through),
        *_left(plan, fit),
    )


def _about_counts(plan: Sequence[Planned], fit: BestPlan, person: Any) -> Iterator[str]:
    may_be = [each for each in plan if _may_be_a_count(each)]
    if len(may_be) < 2:
        return
    losses = Counter(map(stated, may_be))
    loss, alike = losses.most_common(1)[0]
    if alike > 1:
        what = "counts" if _known(may_be) else "launches"
        yield (
            f"{alike} {what} at {loss}: if they are counts of groups that do not overlap, one "
            "histogram or group_by costs one of them"
        )
    count = len(may_be)
    gaussian = sum(n for each, n in losses.items() if isinstance(each, ZCDP))
    if fit.zcdp and gaussian >= OVERLAPPING and person is None:
        yield (
            "counts of ranges and groups that overlap, if they are fixed in advance, cost less "
            f"through Frugal, from about {OVERLAPPING} on; recommend(.., mechanisms, "
            "instead=Frugal(axes=..)) says how much"
        )
    if count >= (ABOVE_ADDED if fit.added else ABOVE):
        yield "to learn only which counts are above a threshold, launch one SparseVector"
    if count >= (BEST_ADDED if fit.added else BEST):
        yield "to learn only which count is the largest, launch one ExponentialMechanism"


def _about_runs(plan: Sequence[Planned], fit: BestPlan) -> Iterator[str]:
    """About launches that may be more than a count."""
    runs = [each for each in plan if isinstance(each, Loss) or _may_be_a_run(each)]
    if len(runs) >= (BEST_ADDED if fit.added else BEST):
        what = "of them" if _known(runs) else "of them, if they are more than counts"
        yield f"to keep only the best {what}, launch one Best of them"


def _known(launches: Sequence[Planned]) -> bool:
    return all(isinstance(each, InteractiveMechanism) for each in launches)


def _may_be_a_count(planned: Planned) -> bool:
    if isinstance(planned, Loss):
        return isinstance(planned, _OF_COUNTS)
    statistic = getattr(planned, "statistic", None)
    if not isinstance(statistic, IntegerStatistic):
        return False
    return statistic.shape is None and statistic.monotone is not None


def _may_be_a_run(planned: Planned) -> bool:
    """Whether it can be a candidate of a `Best`, and is no count and no `Best` itself."""
    if not isinstance(planned, Measurement) or _may_be_a_count(planned):
        return False
    if hasattr(planned, "repetitions"):
        return False
    try:
        stated(planned, RDP.at(2))
    except ValueError:
        return False
    return True


def _priced(plan: Sequence[Planned], person: Any, through: Loss | None) -> Iterator[str]:
    if through is None:
        return
    alone = total((stated(each, ZCDP) for each in plan), ZCDP)
    name = type(person).__name__
    if not isinstance(through, ZCDP) or not isinstance(alone, ZCDP) or not through.rho:
        yield f"through {name} they cost {through}, and {alone} one by one"
    elif through.rho < alone.rho:
        ratio = _at_least(alone.rho / through.rho)
        less = "hardly less" if ratio == "1" else f"{ratio} times less"
        yield f"through {name} they cost {through}, {less} than alone ({alone})"
    else:
        yield f"through {name} they cost {through}, which is no less than alone ({alone})"


def _at_least(ratio: Fraction) -> str:
    """A ratio of 1 or more, rounded down to two digits."""
    unit = Fraction(1)
    while ratio >= 10**_TWO_DIGITS * unit:
        unit *= 10
    if ratio < 10 ** (_TWO_DIGITS - 1):
        unit /= 10
    return f"{float(ratio // unit * unit):g}"


def _left(plan: Sequence[Planned], fit: BestPlan) -> Iterator[str]:
    """About launches that cost a record what it adds to them."""
    fitting = fit.admitted or 0
    if fitting < len(plan) and fit.zcdp and all(map(_charged_by_record, plan)):
        yield (
            f"only {fitting} of {len(plan)} fit: Individual refuses none, and is complete if each "
            "is about few of the records"
        )


def _charged_by_record(planned: Planned) -> bool:
    if isinstance(planned, Loss):
        return isinstance(planned, ZCDP)
    return planned.per_record is not None

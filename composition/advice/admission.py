"""How many launches a rule admits, from privacy losses alone.

Responsible for counting launches against an account until one does not fit: equal ones, a list, or
a whole plan. No data are needed.
"""

from collections.abc import Iterable
from math import inf

from composition.advice import residues
from composition.advice.kinds import Kinds, added, greatest_count
from composition.rules import Account, Rule
from composition.rules.fitting import Plan
from composition.rules.residue import ResidueAccount
from queryable.losses import Loss
from queryable.wording.quoting import quoted

Counted = Account | residues.MuLeft
"""An account, or what it has left as far as launches are counted."""


def admitted(budget: Loss, rule: Rule, loss: Loss) -> int:
    """The number of equal launches that a fresh filter admits.

    It is exact, except for `GDPResidue`, which is counted in floats: there it may be one off.

    Args:
        loss: the loss of one launch; converted to the measure that the rule takes.

    Raises:
        ValueError: the rule does not take the budget or the loss, or admits any number of launches.

    Examples:
        >>> from composition import Basic, Menu
        >>> from queryable import ApproxDP, PureDP
        >>> admitted(ApproxDP(1, "1e-6"), Basic(), PureDP("0.01"))
        100
        >>> admitted(ApproxDP(1, "1e-6"), Menu("0.01", [1]), PureDP("0.01"))
        562
    """
    require_instance(budget, Loss, "budget", "a privacy loss, such as ApproxDP(1, '1e-6')")
    require_instance(rule, Rule, "rule", "a rule, such as Basic()")
    require_instance(loss, Loss, "loss", "a privacy loss, such as PureDP('1/10')")
    account, stated = rule.open(budget), loss.to(rule.child_measure(budget))
    once = account.add(stated)
    if once.within and once.add(stated) == once:
        raise ValueError(f"{loss} costs nothing under {type(rule).__name__}: any number fits")
    return int(_more(account, stated)[1])


def require_instance(value: object, kind: type, name: str, wanted: str) -> None:
    """Check the class of an argument.

    Raises:
        TypeError: it has another one; the text says what it should be.
    """
    if not isinstance(value, kind):
        raise TypeError(f"{name} is {quoted(value)}; it should be {wanted}")


def taken(budget: Loss, rule: Rule, losses: Iterable[Loss]) -> int:
    """How many of these launches a fresh filter admits in this order; refused ones are skipped.

    Raises:
        ValueError: the rule does not take the budget or one of the losses.
    """
    account, measure, count = rule.open(budget), rule.child_measure(budget), 0
    for loss in losses:
        further = account.add(loss.to(measure))
        if further.within:
            account, count = further, count + 1
    return count


def _more(start: Counted, loss: Loss, most: float = inf) -> tuple[Counted, float]:
    """What there is after as many equal launches as fit, up to `most`, and their number."""
    if isinstance(start, ResidueAccount):
        start = residues.MuLeft.of(start)
    if isinstance(start, residues.MuLeft):
        return residues.more(start, loss, most)
    if type(start).add_many is Account.add_many:
        return _one_by_one(start, loss, most)
    account = start

    def fits(count: int) -> bool:
        return account.add_many(loss, count).within

    fit = greatest_count(fits, most)
    return account.add_many(loss, fit) if fit else account, fit


def _one_by_one(account: Account, loss: Loss, most: float) -> tuple[Account, int]:
    count = 0
    while count < most:
        further = account.add(loss)
        if not further.within:
            break
        account, count = further, count + 1
    return account, count


def before_refusal(account: Account, plan: Plan) -> int:
    """How many launches of a plan fit before the first refusal, in the order listed."""
    if isinstance(account, ResidueAccount):
        return residues.before_refusal(residues.MuLeft.of(account), plan)
    if type(account).add_many is Account.add_many:
        return _in_turn(account, plan)
    kinds = Kinds.of(plan)
    fit, over, at = 0, kinds.launches + 1, kinds.launches
    while over - fit > 1:
        further = added(account, kinds.between(fit, at))
        if further.within:
            account, fit = further, at
        else:
            over = at
        at = (fit + over) // 2
    return fit


def _in_turn(account: Account, plan: Plan) -> int:
    total = 0
    for loss, count in plan:
        account, fits = _one_by_one(account, loss, count)
        total += fits
        if fits < count:
            break
    return total


def whole_plans(account: Account, plan: Plan, most: float = inf, start: int = 1) -> float:
    """How many times the whole plan fits, in the order listed; infinity if it costs nothing.

    Args:
        most: more are not counted.
        start: about how many they may be.
    """
    if isinstance(account, ResidueAccount):
        return residues.times(residues.MuLeft.of(account), plan, most)
    kinds = Kinds.of(plan)

    def after(times: int) -> Account:
        return added(account, kinds.between(0, times * kinds.launches))

    once = after(1)
    if once.within and after(2) == once:
        return most
    return greatest_count(lambda times: after(times).within, most, start)

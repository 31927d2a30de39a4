"""How many launches a rule admits, from privacy losses alone.

Responsible for counting launches against an account until one does not fit: equal ones, a list, or
a whole plan. No data are needed.
"""

from collections.abc import Callable, Iterable

from composition.rules import Account, Rule
from composition.rules.fitting import Plan
from queryable.losses import Loss
from queryable.wording.quoting import quoted

_MOST_TIMES = 2**20
_MOST_STEPPED = 2_000  # launches, if an account has no add_many of its own


def admitted(budget: Loss, rule: Rule, loss: Loss) -> int:
    """The exact number of equal launches that a fresh filter admits.

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
    return _more(account, stated)[1]


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


def _more(account: Account, loss: Loss, most: int | None = None) -> tuple[Account, int]:
    """The account after as many equal launches as fit, up to `most`, and their number."""
    if type(account).add_many is Account.add_many:
        return _one_by_one(account, loss, most)

    def fits(count: int) -> bool:
        return account.add_many(loss, count).within

    fit = greatest_count(fits, most)
    return account.add_many(loss, fit) if fit else account, fit


def greatest_count(fits: Callable[[int], bool], most: int | None) -> int:
    """The largest count up to `most` that fits. `fits` is true up to some count, then false."""
    low, high = 0, 1
    while (most is None or high <= most) and fits(high):
        low, high = high, 2 * high
    if most is not None:
        high = min(high, most + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _one_by_one(account: Account, loss: Loss, most: int | None) -> tuple[Account, int]:
    count = 0
    while most is None or count < most:
        further = account.add(loss)
        if not further.within:
            break
        account, count = further, count + 1
    return account, count


def before_refusal(account: Account, plan: Plan) -> int:
    """How many launches of a plan fit before the first refusal, in the order listed."""
    total = 0
    for loss, count in plan:
        account, fits = _more(account, loss, count)
        total += fits
        if fits < count:
            break
    return total


def whole_plans(account: Account, plan: Plan) -> int:
    """How many times the whole plan fits, in the order listed."""
    if type(account).add_many is Account.add_many:
        return _times_in_turn(account, plan)

    def fits(times: int) -> bool:
        filled = account
        for loss, count in plan:
            filled = filled.add_many(loss, times * count)
        return filled.within

    return greatest_count(fits, _MOST_TIMES)


def _times_in_turn(account: Account, plan: Plan) -> int:
    """The same for accounts without an `add_many` of their own."""
    most = max(1, _MOST_STEPPED // sum(count for _, count in plan))
    for times in range(most):
        for loss, count in plan:
            account = account.add_many(loss, count)
        if not account.within:
            return times
    return most

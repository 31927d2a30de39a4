"""Plans: what each of several questions will cost and how accurate it will be, before any is asked.

Responsible for sharing a budget among questions, and for the budget that given accuracies need.
Everything is computed from public parameters of statistics; no data are needed.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from typing import Any

from composition.compositors.filters import FiltCon
from composition.rules import Account
from composition.rules.duality import accumulator_of
from queryable.answers.half_widths import confidence_of
from queryable.answers.released import Released
from queryable.checks.affordable import least_within
from queryable.losses import AdditiveLoss, ApproxDP, ApproxZCDP, Loss
from queryable.losses.numbers import Number, positive
from queryable.mechanism import Measurement
from queryable.messages import Stated, entries_in, entry
from queryable.running.names import checked_names
from queryable.statistics import Releasable
from queryable.verbs.plans import PlannedRelease, ReleasePlan
from queryable.verbs.releasing import chosen, require_releasable
from queryable.wording.quoting import quoted

_STEPS = 14
_MORE = Fraction(1001, 1000)
_MOST = 2**10

Measurements = Sequence[Measurement[Released]]


def plan(
    budget: FiltCon | Loss,
    questions: Iterable[Releasable] | Mapping[str, Releasable],
    *,
    weights: Iterable[Number] | None = None,
    within: Number | Iterable[Number] | None = None,
    confidence: Number | None = None,
) -> ReleasePlan:
    """Plan releases: share a budget among questions, or find the budget that accuracies need.

    `table.release_many(plan)` asks the questions. All of them fit a fresh queryable with this
    budget, the last one too: shares are exact, and costs that are no sums are rounded down.

    Args:
        budget: the filter that the queryable will run, such as `budget(epsilon=1, delta="1e-6")`.
            A loss stands for `FiltCon(loss)`: `table.remaining()` plans with what is left.
        questions: statistics, or a dict of them by the names of their launches.
        weights: how the budget is shared; by default evenly. A question with twice the weight may
            cost twice as much.
        within: the accuracy of each question, as for `release`, or one for all. The plan then says
            what budget they need.
        confidence: the confidence of each accuracy, by default 0.95. Where a budget is shared,
            quantiles have intervals only if it is given, as for `release`.

    Raises:
        QueryError: a question or its accuracy is wrong; the error says which, counted from 0.
        TypeError, ValueError: another argument is wrong.

    Examples:
        >>> from composition import budget
        >>> from mechanisms import Count, Mean, column
        >>> planned = plan(budget(1, "1e-6"), [Count(), Mean("age", 0, 100)], weights=[1, 3])
        >>> print(planned)
        question   ±              share  cost
        Count      ±18            25%    ApproxZCDP(rho≈0.00603, delta=0)
        Mean(age)  not known yet  75%    ApproxZCDP(rho≈0.0181, delta=0)
        together ApproxDP(epsilon=1, delta=1e-06), within the budget ApproxDP(epsilon=1, ...
    """
    filtered = FiltCon(budget) if isinstance(budget, Loss) else budget
    if not isinstance(filtered, FiltCon):
        raise TypeError(
            f"budget is {quoted(budget)}; it should be a filter, such as budget(1, '1e-6'), or a "
            "loss, such as table.remaining()"
        )
    names = list(questions) if isinstance(questions, Mapping) else None
    given = entries_in(questions.values() if isinstance(questions, Mapping) else questions)
    if not given:
        raise ValueError("questions is empty; give the statistics to plan for")
    if weights is not None and within is not None:
        raise ValueError("give weights, to share the budget, or within, to find it; not both")
    for place, question in enumerate(given):
        with entry(place):
            require_releasable(question)
    stated, account = Stated(filtered.proof.measure, filtered.d_in), _opened(filtered)
    usual: Number = "0.95" if confidence is None else confidence
    if within is None:
        shares = _shares(weights, len(given))
        parts: list[Fraction | None] = [*shares]
        measurements = _sharing(account, stated, given, shares, confidence)
    else:
        measurements = _reaching(stated, given, _widths(within, len(given)), usual)
    costs = [each.privacy_map(stated.d_in, stated.measure) for each in measurements]
    needs = _needed(filtered, costs)
    if within is not None:
        parts = _parts_of(filtered, needs, costs)
    rows = [
        PlannedRelease(*row, least_within(row[0], stated, usual, cost), part, cost)
        for row, part, cost in zip(_named(given, names, measurements), parts, costs, strict=True)
    ]
    fits = _after(account, costs).within
    if fits and not needs <= filtered.budget:  # by what is rounded up
        needs = filtered.budget
    return ReleasePlan(filtered.budget, tuple(rows), confidence_of(usual), needs, fits)


def _named(
    questions: Sequence[Releasable], names: list[str] | None, measurements: Measurements
) -> list[tuple[Releasable, str | None, Measurement[Released]]]:
    called = checked_names(names, len(questions)) or (None,) * len(questions)
    return list(zip(questions, called, measurements, strict=True))


def _parts_of(filtered: FiltCon, whole: Loss, costs: Sequence[Loss]) -> list[Fraction | None]:
    """Which part of a whole each cost is; None where it is no number."""
    try:
        empty = filtered.rule.open(whole)
    except ValueError:  # a whole that the rule takes for no budget
        return [None] * len(costs)
    if type(empty).share is Account.share:  # of the total loss, which is no sum
        return [None] * len(costs)
    return [empty.add(cost).share() for cost in costs]


def _opened(filtered: FiltCon) -> Account:
    account = filtered.account()
    assert isinstance(account, Account)
    return account


def _after(account: Account, costs: Iterable[Loss]) -> Account:
    for cost in costs:
        account = account.add(cost)
    return account


def _shares(weights: Iterable[Number] | None, count: int) -> list[Fraction]:
    """What each question may use of the whole, exactly."""
    given = _each("weights", [1] * count if weights is None else weights, count)
    read = [positive(each, "weight") for each in given]
    return [each / sum(read) for each in read]


def _widths(within: Number | Iterable[Number], count: int) -> list[Number]:
    if isinstance(within, str) or not isinstance(within, Iterable):
        return [within] * count
    return _each("within", within, count)


def _each(name: str, values: Any, count: int) -> list[Any]:
    """The values, one for each question.

    Raises:
        TypeError: they are no list.
        ValueError: there are more or fewer of them.
    """
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        raise TypeError(f"{name} is {quoted(values)}; it should be a list, one for each question")
    given = list(values)
    if len(given) != count:
        raise ValueError(f"{name} has {len(given)} entries; give one for each of {count} questions")
    return given


def _reaching(
    stated: Stated, questions: Sequence[Releasable], widths: Sequence[Number], confidence: Number
) -> Measurements:
    """The cheapest measurements of these accuracies."""
    found = []
    for place, (question, width) in enumerate(zip(questions, widths, strict=True)):
        with entry(place):
            found.append(chosen(question, stated, width, confidence, None))
    return found


def _sharing(
    account: Account,
    stated: Stated,
    questions: Sequence[Releasable],
    shares: Sequence[Fraction],
    confidence: Number | None,
) -> Measurements:
    """The measurements that use the whole budget, each at most its share.

    Where losses add up, a share is one of what the account admits at once. Where something else
    adds up, such as squares of epsilon, all shares are multiplied by the largest factor that fits.

    Raises:
        ValueError: the budget does not pay for all of them, however little each may cost.
    """
    left = account.remaining()
    assert isinstance(left, AdditiveLoss)

    def scaled(factor: Fraction) -> Measurements:
        found = []
        for place, (question, share) in enumerate(zip(questions, shares, strict=True)):
            loss = left.room(tuple(part * share * factor for part in left.parts))
            with entry(place):
                found.append(chosen(question, stated, None, confidence, loss))
        return found

    def fits(factor: Fraction) -> bool:
        costs = [each.privacy_map(stated.d_in, stated.measure) for each in scaled(factor)]
        return _after(account, costs).within

    factor = _largest_factor(fits)
    if not factor:
        raise ValueError(f"the budget does not pay for {len(questions)} questions; ask fewer")
    return scaled(factor)


def _largest_factor(fits: Callable[[Fraction], bool]) -> Fraction:
    """The largest factor that fits, rounded down; 1 if only a hair more would fit, 0 if none."""
    low, high = Fraction(0), Fraction(1)
    if fits(high):
        if not fits(_MORE):
            return high
        while high <= _MOST and fits(high):
            low, high = high, 2 * high
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _needed(filtered: FiltCon, costs: Iterable[Loss]) -> Loss:
    """The least budget that admits launches of these costs, where its rule tells it.

    Otherwise it is what the launches lose together under the rule.
    """
    budget, rule = filtered.budget, filtered.rule
    if not rule.adds_up and rule.monotone():
        delta = budget.delta if isinstance(budget, ApproxDP | ApproxZCDP) else None
        with suppress(ValueError):  # a menu's unit is too fine for the largest budget
            running = accumulator_of(rule, budget.measure, delta).open()
            for cost in costs:
                running = running.add(cost)
            total = running.total()
            assert isinstance(total, Loss)
            return total
    return _after(_opened(filtered), costs).total()

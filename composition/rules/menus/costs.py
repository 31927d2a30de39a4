"""Costs of a menu for a declared mix of parameters.

A search among integer costs for those under which a budget admits the mix most often. The privacy
claim holds for any costs; they only decide which entries are cheap, so they are fixed in advance.
"""

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import cache
from itertools import pairwise, product
from typing import Any

import attrs

from composition.rules.menus.menu import Menu, entry
from composition.rules.menus.worst_case import Priced, worst_cases
from composition.rules.slack import require_approx, share_of, slack_field
from queryable.losses import ApproxDP
from queryable.losses.numbers import natural, several
from queryable.wording.quoting import quoted

_SHARES = tuple(Fraction(quarters, 4) for quarters in range(5))
_SCALES = (1, 2, 3, 4, 6)
_STEPS = (Fraction(1, 5), Fraction(1, 10), Fraction(1, 20))
_GAIN = Fraction(1001, 1000)
_FINE = 6_000  # units; a higher resolution gains too little for its time
_MOST_WORK = 400_000  # units times entries after which no further costs are tried

Value = Callable[[Priced], Fraction]


@attrs.frozen
class Fitted:
    """A menu whose costs suit a mix of launches.

    Attributes:
        rule: the menu.
        times: how many times the whole mix fits, as a ratio of units.
        singly: how many launches of each epsilon fit alone.
    """

    rule: Menu
    times: Fraction
    singly: dict[Fraction, int]


def fitted(
    budget: ApproxDP,
    unit: Any,
    mix: Mapping[Any, int],
    slack: Any = None,
    spare: Iterable[Any] = (),
) -> Fitted:
    """Search a menu whose costs let a mix of launches fit as often as possible.

    Candidates lie between u^2, which is best for many small launches, and 1/(how many u fit alone),
    which suits large ones, at several resolutions. Then single costs are changed while that helps.
    The result need not be the optimum.

    Args:
        unit: the epsilon that every parameter is a multiple of.
        mix: the number of launches of each parameter; an int key counts units.
        slack: the rule's own share of delta; by default all of it.
        spare: further entries of the menu, which do not count in the mix.
    """
    if not isinstance(mix, Mapping):
        raise TypeError(f"mix is {quoted(mix)}; it should say how often each parameter is launched")
    rule = Menu(unit, mix, slack=slack)
    approx = require_approx(budget, rule)
    share = share_of(slack_field(slack), approx)
    counts = {entry(value, rule.unit): natural(n, "count") for value, n in mix.items()}
    counts |= {entry(value, rule.unit): 0 for value in several(spare, "spare")} | counts
    if not any(counts.values()):
        raise ValueError(f"the mix is {dict(mix)}; at least one count should be above 0")
    entries = sorted(counts)

    work = 0

    @cache
    def units(costs: Priced) -> int:
        nonlocal work
        found = len(worst_cases(approx.epsilon, rule.unit, costs, share)) - 1
        work += found * len(costs)
        return found

    def times(costs: Priced) -> Fraction:
        return Fraction(units(costs), sum(counts[each] * cost for each, cost in costs))

    alone = [units(((each, 1),)) for each in entries]
    best = _improved(max(_family(entries, alone), key=times), times, lambda: work > _MOST_WORK)
    found = dict(best)
    return Fitted(
        Menu(rule.unit, entries, found, slack),
        times(best),
        {each * rule.unit: units(best) // cost for each, cost in best},
    )


def _family(entries: list[int], alone: list[int]) -> list[Priced]:
    """Costs between u^2 and 1/(how many fit alone); the smallest entry costs the scale."""
    least, most = entries[0], max(alone[0], 1)
    if len(entries) == 1:
        return [((least, 1),)]
    found = []
    scales = [scale for scale in _SCALES if scale == 1 or scale * most <= _FINE]
    for scale, share in product(scales, _SHARES):
        costs = [
            (1 - share) * Fraction(each, least) ** 2 + share * Fraction(most, max(fit, 1))
            for each, fit in zip(entries, alone, strict=True)
        ]
        found.append(
            tuple(zip(entries, _rising(round(scale * cost) for cost in costs), strict=True))
        )
    return found


def _rising(costs: Iterable[int]) -> list[int]:
    raised: list[int] = []
    for cost in costs:
        raised.append(max(cost, raised[-1] if raised else 1))
    return raised


def _improved(best: Priced, value: Value, tired: Callable[[], bool]) -> Priced:
    """Change costs one at a time, by a fifth, a tenth and a twentieth, while the value rises."""
    most = value(best)
    for step in _STEPS:
        gained = len(best) > 1
        while gained:
            gained = False
            for place, sign in product(range(len(best)), (1, -1)):
                candidate = _moved(best, place, sign * step)
                if candidate is None or tired() or value(candidate) <= most * _GAIN:
                    continue
                best, most, gained = candidate, value(candidate), True
    return best


def _moved(costs: Priced, place: int, share: Fraction) -> Priced | None:
    """One cost changed by a share, at least by 1; None if the costs would be invalid."""
    steps, cost = costs[place]
    change = max(1, round(abs(share) * cost)) * (1 if share > 0 else -1)
    moved = (*costs[:place], (steps, cost + change), *costs[place + 1 :])
    rises = all(cheap <= dear for (_, cheap), (_, dear) in pairwise(moved))
    return moved if rises and moved[0][1] >= 1 else None

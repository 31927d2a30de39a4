"""The rules that suit a budget and a plan of launches; `recommend` compares them.

Responsible for their parameters: a slack that leaves room for the plan's deltas, orders around the
best one, and menus of the plan's epsilons.
"""

from collections.abc import Iterable
from fractions import Fraction
from math import gcd, lcm, log, sqrt

from composition.rules.additive import Basic
from composition.rules.base import Rule
from composition.rules.menus.costs import fitted
from composition.rules.menus.menu import Menu
from composition.rules.renyi import ViaRenyi
from composition.rules.residue import GDPResidue
from composition.rules.rogers import Rogers2016
from composition.rules.slack import delta_of
from composition.rules.weights import ViaGDP, ViaZCDP, Whitehouse2023
from queryable.losses import AdditiveLoss, ApproxDP, Dominated, Loss, conversions
from queryable.losses.renyi import common_orders

Plan = list[tuple[Loss, int]]
"""Losses, each with the number of its consecutive launches."""

MOST_ENTRIES = 16
"""Menus are tried for plans with at most this many different epsilons."""

_FINEST = 20_000  # the most units of a menu whose costs are searched
_FINEST_ALONE = 100_000  # and of one with a single entry, a second's work
_LEAST, _MOST = Fraction(1, 10**100), Fraction(10**6)


def rules_for(budget: Loss, plan: Plan, dominated: Plan) -> list[Rule]:
    """The rules to compare; of equally good ones the last is taken, so the simplest is last.

    Args:
        plan: what the launches state.
        dominated: the same as `Dominated` losses, if they all convert.
    """
    if not isinstance(budget, ApproxDP) or budget.delta == 0 or _extreme(budget, plan):
        return [Basic()]
    slack, common = _slack(budget, plan), common_orders(loss for loss, _ in plan)
    return [
        Rogers2016(),
        Whitehouse2023(slack),
        ViaGDP(slack),
        ViaRenyi(_orders(budget.epsilon, slack), slack=slack),
        *([ViaRenyi(common, slack=slack)] if common else []),
        GDPResidue(_slack(budget, dominated)),
        *_menus(budget, plan, slack),
        ViaZCDP(slack),
        Basic(),
    ]


def _extreme(budget: ApproxDP, plan: Plan) -> bool:
    """Whether numbers are so large or small that only `Basic` is tried."""
    parts = [budget.epsilon, budget.delta]
    for loss, _ in plan:
        parts += loss.parts if isinstance(loss, AdditiveLoss) else ()
    return any(part and not _LEAST <= part <= _MOST for part in parts)


def _slack(budget: ApproxDP, plan: Plan) -> Fraction:
    deltas = sum((_delta_of(loss) * n for loss, n in plan), Fraction(0))
    return max(budget.delta - deltas, budget.delta / 2)


def _delta_of(loss: Loss) -> Fraction:
    return loss.delta if isinstance(loss, Dominated) else delta_of(loss)


def _orders(epsilon: Fraction, slack: Fraction) -> list[Fraction]:
    """Renyi orders around the best order for Gaussian noise that uses the whole budget."""
    rho = float(conversions.largest_zcdp(epsilon, slack)) or 1e-12
    centre = sqrt(max(1.0, log(slack.denominator) - log(slack.numerator)) / rho)
    excess = (Fraction(f"{centre * 2 ** (third / 3):.3g}") for third in range(-6, 16))
    return [1 + each for each in excess]


def _menus(budget: ApproxDP, plan: Plan, slack: Fraction) -> list[Rule]:
    """Menus of the plan's epsilons: at their common unit, or near the least if that is too fine."""
    try:
        stated = [(loss.to(ApproxDP), count) for loss, count in plan]
    except ValueError:
        return []
    mix: dict[Fraction, int] = {}
    for loss, count in stated:
        assert isinstance(loss, ApproxDP)
        if loss.epsilon > 0:
            mix[loss.epsilon] = mix.get(loss.epsilon, 0) + count
    if not 0 < len(mix) <= MOST_ENTRIES:
        return []
    mu, common, least = conversions.largest_gdp(budget.epsilon, slack), _common(mix), min(mix)
    if len(mix) == 1:  # its cost is 1, and nothing is searched
        return [Menu(common, [1], slack=slack)] if _units(mu, common) <= _FINEST_ALONE else []
    units = [common] if _units(mu, common) <= _FINEST else [least / part for part in (1, 2, 4)]
    return [_menu(budget, each, mix, slack) for each in units if _units(mu, each) <= _FINEST]


def _units(mu: Fraction, unit: Fraction) -> Fraction:
    """About how many launches of a unit are mu-GDP."""
    return (mu / unit) ** 2


def _common(values: Iterable[Fraction]) -> Fraction:
    """The greatest common divisor of rationals."""
    each = list(values)
    bottom = lcm(*(value.denominator for value in each))
    return Fraction(gcd(*(int(value * bottom) for value in each)), bottom)


def _menu(budget: ApproxDP, unit: Fraction, mix: dict[Fraction, int], slack: Fraction) -> Rule:
    entries: dict[int, int] = {}
    for epsilon, count in mix.items():
        multiple = -(-epsilon // unit)
        entries[multiple] = entries.get(multiple, 0) + count
    return fitted(budget, unit, entries, slack).rule

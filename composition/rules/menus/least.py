"""The least epsilon at which the units that a menu has used are within a budget.

The worst case of the units falls as epsilon rises (docs/theory/misprints.md), so the least epsilon
is a root. It is searched in floats, and then raised until the worst case is within the slack.
"""

from fractions import Fraction
from itertools import islice
from math import log, sqrt

from composition.rules.menus.worst_case import Priced, levels
from queryable.effort import remembered
from queryable.errors import QueryError
from queryable.losses import conversions

_MORE, _FASTER = Fraction(1, 2**44), 4


@remembered(1024)
def least_epsilon(unit: Fraction, priced: Priced, slack: Fraction, used: int) -> Fraction:
    """The least epsilon, rounded up, at which the worst case of so many units is within the slack.

    Raises:
        QueryError: this is too much work.
    """
    try:
        return _searched(unit, priced, slack, used)
    except ValueError as error:
        raise QueryError(f"the least budget of {used} units is not found: {error}") from None


def _searched(unit: Fraction, priced: Priced, slack: Fraction, used: int) -> Fraction:
    from scipy.optimize import brentq  # only a candidate, which is then checked

    most = (
        used * max(Fraction(steps, cost) for steps, cost in priced) * unit
    )  # then nothing is lost

    def worst(epsilon: Fraction) -> Fraction:
        return Fraction(next(islice(levels(epsilon, unit, priced, slack), used, None)))

    if not used or worst(Fraction(0)) <= slack:
        return Fraction(0)
    goal = log(slack.numerator) - log(slack.denominator)

    def above(epsilon: float) -> float:
        return log(worst(Fraction(epsilon))) - goal

    mu = unit * Fraction(sqrt(used * max(Fraction(steps**2, cost) for steps, cost in priced)))
    high = min(conversions.gdp_to_approx(mu, slack) or most, most)  # 0 would stay 0
    low = high / 2
    while low and above(float(low)) <= 0:
        low, high = low / 2, low
    while high < most and above(float(high)) > 0:
        low, high = high, min(high * 5 / 4, most)
    root = brentq(above, float(low), float(high), xtol=1e-300, rtol=2.0**-46)
    found, step = Fraction(root), _MORE
    while found < most and not worst(found) <= slack:
        found, step = found * (1 + step), step * _FASTER
    return min(found, most)

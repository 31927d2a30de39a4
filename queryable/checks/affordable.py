"""The accuracy of a question that a loss pays for.

Responsible for the least `within` of a statistic, found from what its measurements cost. Costs
follow from public parameters: no data are read.
"""

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

from queryable.answers.released import Released
from queryable.errors import QueryError
from queryable.losses import GDP, ZCDP, ApproxDP, ApproxZCDP, Loss, PureDP
from queryable.losses.loss import genuine
from queryable.losses.numbers import Number
from queryable.mechanism import Measurement
from queryable.messages import Stated
from queryable.statistics import Releasable

_OF_ONE_NUMBER = (PureDP, ApproxDP, ZCDP, ApproxZCDP, GDP)
"""Losses that are one number, and perhaps a delta."""
_DIGITS = 4
_POWERS = 60  # of ten, in which a half-width is looked for


def least_within(
    statistic: Releasable, stated: Stated, confidence: Number | None, most: Loss
) -> Fraction | None:
    """The least `within`, to four digits and rounded up, of a release that loses at most `most`.

    Args:
        stated: what launches state their loss in.
        confidence: that of `within`.

    Returns:
        None if there is none: the width depends on the data, or `most` pays for no noise.
    """

    def fits(within: Fraction) -> bool:
        cost = cost_of(statistic, stated, within=within, confidence=confidence)
        return bool(cost <= most)

    try:
        return _least(fits)
    except (QueryError, TypeError, ValueError, ArithmeticError):
        return None


def cost_of(statistic: Releasable, stated: Stated, **asked: Any) -> Loss:
    """The charge of a release.

    Args:
        asked: how accurate it is to be, or what it may cost; see `Queryable.release`.

    Raises:
        QueryError, TypeError, ValueError, ArithmeticError: an argument does not fit.
    """
    return measurement_of(statistic, stated, **asked).privacy_map(stated.d_in, stated.measure)


def measurement_of(
    statistic: Releasable, stated: Stated, *, loss: Loss | None = None, **asked: Any
) -> Measurement[Released]:
    """The measurement of a release; see `cost_of`."""
    if isinstance(loss, _OF_ONE_NUMBER) and genuine(loss) and not loss.parts[0]:
        raise ValueError(
            f"loss is {loss}, and no noise is large enough for that; if it is what is left, the "
            "budget is spent"
        )
    return statistic.measurement(stated.measure, stated.d_in, loss=loss, **asked)


def _least(fits: Callable[[Fraction], bool]) -> Fraction | None:
    """The least number of four digits that fits, if all above one that fits do."""
    power = 0
    while power < _POWERS and not fits(Fraction(10) ** power):
        power += 1
    while power > -_POWERS and fits(Fraction(10) ** (power - 1)):
        power -= 1
    if abs(power) == _POWERS:
        return None
    step = Fraction(10) ** (power - _DIGITS)
    low, high = 10 ** (_DIGITS - 1), 10**_DIGITS
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle * step) else (middle, high)
    return Fraction(high * step)


def in_digits(value: Fraction) -> str:
    """A decimal number as it can be written in a program."""
    return f"{(Decimal(value.numerator) / Decimal(value.denominator)).normalize():f}"

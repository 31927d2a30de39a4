"""Public numbers that may be negative, such as bounds and thresholds."""

from decimal import Decimal
from fractions import Fraction

import numpy as np

from queryable.answers.released import Released
from queryable.losses.numbers import EITHER_SIGN, exact


def signed(value: object, name: str) -> Fraction:
    """Read `value` as the exact rational number that it was written as, of either sign.

    A released answer stands for its estimate.

    Raises:
        ValueError, TypeError: as `queryable.losses.numbers.exact`, except for a negative number.
    """
    if isinstance(value, Released):
        value = value.estimate
    if isinstance(value, str):
        text = str.strip(value)
        negative = text.startswith("-")
        size = exact(text[1:] if negative else text, name, EITHER_SIGN)
        return -size if negative else size
    if isinstance(value, Decimal) and value.is_signed():
        return -exact(
            value.copy_negate(), name, EITHER_SIGN
        )  # unary minus would round to the context
    if isinstance(value, np.integer):
        value = int(value)
    if isinstance(value, int | Fraction | float | np.floating) and value <= 0:  # -0.0 too
        return -exact(abs(value), name, EITHER_SIGN)
    return exact(value, name, EITHER_SIGN)

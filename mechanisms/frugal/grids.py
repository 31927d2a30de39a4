"""Cuts ahead of the questions: constants that analysts are likely to compare a column with next.

Constants of one column are often multiples of a round step: ages in tens, distances in hundreds.
Values that are compared by `==` are often codes: small whole numbers. A column that is cut anew
loses most of what was bought of it, and a finer cut costs little more: noise grows with the
logarithm of the number of intervals. So grids are generous. Depends on questions only.
"""

from collections.abc import Iterable
from fractions import Fraction
from math import gcd, lcm
from typing import Any

from mechanisms.tables.expressions.scalars import Scalar

MOST_AHEAD = 40
"""The largest number of constants that an axis is cut at ahead."""
_LEAST_AHEAD = 24  # a grid that is shorter is continued
_BEYOND = Fraction(1, 4)  # how far grids reach beyond the constants, as a share of their range
_FEW = 8  # so many steps between the least constant and the greatest one are not many
_FINER = Fraction(5, 2)  # the step is then taken to be so many times smaller
_ROUND = [Fraction(m, 2) * Fraction(10) ** e for e in range(-6, 7) for m in (2, 4, 5, 10)]
_CODES = Fraction(3, 2)  # how far codes reach, in multiples of the greatest value
_LEAST_CODES = 12  # and at least, if one is greater than 1


def cut_ahead(
    asked: Iterable[tuple[Any, int]],
    places: dict[tuple[Any, int], Scalar],
    values: dict[Any, Scalar],
) -> None:
    """Add the constants of a grid on each side of intervals, or else codes near the values.

    Args:
        asked: the places of the questions.
        places, values: all that the axis is cut at; it is added to them.
    """
    known = list(asked)
    for side in (0, 1):
        for each in _grid(constant for constant, its in known if its == side):
            places.setdefault((each, side), _written(each))
    if not places:
        for code in _codes(values):
            values.setdefault(Fraction(code), code)


def _grid(constants: Iterable[Any]) -> list[Fraction]:
    """The multiples of the step, from below the least constant to above the greatest one."""
    known = sorted(constants)
    if len(known) < 2 or not all(isinstance(each, Fraction) for each in known):
        return []
    first, last = known[0], known[-1]
    step = _step(known)
    missing = (_LEAST_AHEAD * step - (last - first)) / 2
    for beyond in (max((last - first) * _BEYOND, missing), (last - first) * _BEYOND, Fraction(0)):
        low, high = first - beyond, last + beyond
        if first >= 0:  # amounts are not negative, and many columns begin at 0
            if beyond == missing:
                shift = low if last <= _LEAST_AHEAD * step else min(low, Fraction(0))
                high -= shift
                low -= shift
            low = max(low, Fraction(0))
        start, end = int(-(-low // step)), int(high // step)
        if end - start < MOST_AHEAD:
            twice = [2 * end * step] if end > 0 else []  # amounts may have a long tail
            return [*(place * step for place in range(start, end + 1)), *twice]
    return []


def _step(known: list[Fraction]) -> Fraction:
    """A round number whose multiples all constants are: a small one, if they are few steps apart.

    The greatest common divisor of few constants is often a multiple of the step.
    """
    common = lcm(*(each.denominator for each in known))
    most = Fraction(gcd(*(int(each * common) for each in known)), common)
    whole = common == 1
    steps = [
        each
        for each in _ROUND
        if (most / each).denominator == 1 and not (whole and each.denominator > 1)
    ]
    largest = max(steps, default=most)
    if (known[-1] - known[0]) / largest > _FEW:
        return largest
    return min((each for each in steps if largest / each <= _FINER), default=largest)


def _codes(values: Iterable[Any]) -> list[int]:
    """Whole numbers from 0 to 3/2 of the greatest value; none if one is no such number."""
    known = list(values)
    if not all(
        isinstance(each, Fraction) and each.denominator == 1 and each >= 0 for each in known
    ):
        return []
    greatest = max(known, default=Fraction(0))
    most = max(int(greatest * _CODES), _LEAST_CODES if greatest > 1 else 0)
    return list(range(most + 1)) if known and most < MOST_AHEAD else []


def _written(constant: Fraction) -> Scalar:
    return int(constant) if constant.denominator == 1 else float(constant)

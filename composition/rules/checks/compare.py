"""Whether a real number is above a limit, decided by intervals that contain it.

A compositor admits what its own bound, rounded against the analyst, keeps within a limit. So the
true value is within, and an interval that contains it is never wholly above: a ledger that the code
wrote passes. A value that is above the limit by more than rounding has an interval wholly above.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from flint import arb, fmpq

from queryable.losses.numbers import BeyondReachError, enclosed

_SHARE = 64
_PRECISIONS = (_SHARE, 1024, 8192)
_NEAR = 1 << (_SHARE - 30)

Verdict = bool | None
"""True: within a limit. False: above it. None: too close to it to tell."""


def ball(value: Fraction | int) -> arb:
    """A ball with this rational in it."""
    return arb(fmpq(value.numerator, value.denominator))


def within(formula: Callable[[], arb], limit: Fraction) -> Verdict:
    """Whether a number >= 0 is at most a limit.

    Raises:
        BeyondReachError: the number cannot be computed.
    """
    if limit == 0:
        return sign(lambda: -formula())
    low, high = share(formula, limit)
    if low > 1 << _SHARE:
        return False
    return True if high < (1 << _SHARE) - _NEAR else None


def share(formula: Callable[[], arb], whole: Fraction) -> tuple[int, int]:
    """Bounds of a number divided by a whole above 0, in units of 2**-64.

    Raises:
        BeyondReachError: the number cannot be computed.
    """
    for bits in _PRECISIONS:
        try:
            low, high = enclosed(lambda: formula() / ball(whole), bits)
        except BeyondReachError:
            if bits == _PRECISIONS[-1]:
                raise
            continue
        low, high = low >> (bits - _SHARE), -(-high >> (bits - _SHARE))
        if high - low <= 8 or bits == _PRECISIONS[-1]:
            return low, high
    raise AssertionError


def sign(formula: Callable[[], arb]) -> Verdict:
    """Whether a number is above 0 (True) or below it (False).

    Raises:
        BeyondReachError: the number cannot be computed.
    """
    for bits in _PRECISIONS:
        try:
            low, high = enclosed(formula, bits)
        except BeyondReachError:
            if bits == _PRECISIONS[-1]:
                raise
            continue
        if low > 0:
            return True
        if high < 0:
            return False
    return None


def all_within(verdicts: Any) -> Verdict:
    """One verdict for several limits: above if one is, within if all are."""
    told = tuple(verdicts)
    if False in told:
        return False
    return True if all(told) else None


def any_within(verdicts: Any) -> Verdict:
    """One verdict for several bounds of one number: within if one is, above if all are."""
    opposite = all_within(None if one is None else not one for one in verdicts)
    return None if opposite is None else not opposite


def exactly(pairs: Any) -> Verdict:
    """Whether each of some rationals is at most its limit."""
    return all(value <= most for value, most in pairs)

"""Sixty-digit arithmetic: the true values that roundings are held against.

Written from the definitions, independently of the code under test.
"""

from fractions import Fraction
from typing import Any

import mpmath

DIGITS = 60

mp = mpmath.mp.clone()
mp.dps = DIGITS
"""A context of its own, so that no test changes another's precision."""


def real(value: Any) -> Any:
    """The exact value, at 60 digits."""
    exact = Fraction(value)
    return mp.mpf(exact.numerator) / exact.denominator


def likelier(epsilon: Any) -> Any:
    """The probability that randomized response tells the truth."""
    return 1 / (1 + mp.exp(-real(epsilon)))


def over(loss: Any) -> Any:
    """(1 - e^loss)+: the hockey stick of no privacy loss at all, at -loss beyond."""
    return -mp.expm1(loss) if loss < 0 else mp.mpf(0)


def gaussian_profile(mu: Any, t: Any) -> Any:
    """The hockey stick of N(mu,1) against N(0,1) at e^t, for any real t."""
    m, at = real(mu), mp.mpf(t)
    if m == 0:
        return over(at)
    return mp.ncdf(-at / m + m / 2) - mp.exp(at) * mp.ncdf(-at / m - m / 2)


def response_profile(epsilon: Any, t: Any) -> Any:
    """The hockey stick of randomized response at e^t."""
    p, e, at = likelier(epsilon), real(epsilon), mp.mpf(t)
    return p * over(at - e) + (1 - p) * over(at + e)


def beside_response(epsilon: Any, profile: Any, t: Any) -> Any:
    """The hockey stick at e^t of randomized response beside a pair with this profile."""
    p, e, at = likelier(epsilon), real(epsilon), mp.mpf(t)
    return p * profile(at - e) + (1 - p) * profile(at + e)


def response_renyi(epsilon: Any, alpha: Any) -> Any:
    """The Renyi divergence of randomized response."""
    p, a = likelier(epsilon), real(alpha)
    q = 1 - p
    return mp.log(p**a * q ** (1 - a) + q**a * p ** (1 - a)) / (a - 1)

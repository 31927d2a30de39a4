"""Decimals of 110 digits, and how the readers compare; the standard library alone."""

import json
import sys
from collections.abc import Callable
from decimal import Context, Decimal, getcontext
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

getcontext().prec = 110
TINY = Decimal(10) ** -120
ALMOST = 1 + Decimal(10) ** -60
"""The factor by which results of this arithmetic may be off."""


def d(number: Any) -> Decimal:
    """A fraction or a decimal, as text or as a number."""
    exact = Fraction(number)
    return Decimal(exact.numerator) / exact.denominator


PI = sum(
    (4 * (-1) ** k * (4 / d(5) ** (2 * k + 1) - 1 / d(239) ** (2 * k + 1)) / (2 * k + 1))
    for k in range(80)
)  # Machin's formula


def normal(x: Decimal) -> Decimal:
    """The normal distribution function: 1/2 + density * (x + x^3/3 + x^5/(3*5) + ...)."""
    term, total, odd = x, x, 1
    while abs(term) > TINY:
        odd += 2
        term *= x * x / odd
        total += term
    return d("1/2") + (-x * x / 2).exp() / (2 * PI).sqrt() * total


def likely(e: Decimal) -> Decimal:
    """The probability with which randomized response is truthful."""
    return 1 / (1 + (-e).exp())


@cache
def weights(v: Decimal) -> Decimal:
    """The sum of exp(-k^2 / 2v) over all integers, by Poisson's formula."""
    return (2 * PI * v).sqrt() * sum((-2 * v * (PI * k) ** 2).exp() for k in range(-40, 41))


def least(of: Callable[[Decimal], Decimal], low: Any, high: Any) -> Decimal:
    """The least value of a function that falls and then rises, by golden sections."""
    low, high, share = d(low), d(high), (d(5).sqrt() - 1) / 2
    left, right = high - share * (high - low), low + share * (high - low)
    one, other = of(left), of(right)
    for _ in range(100):
        if one < other:
            high, right, other = right, left, one
            left = high - share * (high - low)
            one = of(left)
        else:
            low, left, one = left, right, other
            right = low + share * (high - low)
            other = of(right)
    return min(one, other)


def encloses(own: Any, found: dict[str, Any], *, down: bool = False) -> bool:
    """Whether a vector has this value between two adjacent decimals, and states a safe number.

    Args:
        own: the value; or a function that tells whether a number is large enough, and for what is
            rounded down whether it is small enough.
    """
    (low, high), stated, slack = map(d, found["exact"]), d(found["stated"]), d(found["slack"])
    if not low <= high <= Context(prec=30).next_plus(low):
        return False
    near = low * (1 - slack) <= stated if down else stated <= high * (1 + slack)
    if callable(own):
        fits, fails = (low, high) if down else (high, low)
        return bool(near and own(fits) and own(stated) and (fits == 0 or not own(fails)))
    safe = stated <= own * ALMOST if down else own <= stated * ALMOST
    return bool(near and safe and low <= own * ALMOST and own <= high * ALMOST)


def read(checks: dict[str, Callable[[dict[str, Any]], bool]]) -> None:
    """Check files of vectors, and name those that are wrong."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    wrong = 0
    for kind, right in checks.items():
        file = json.loads((folder / f"{kind}.json").read_text("utf-8"))
        bad = [each["id"] for each in file["vectors"] if not _holds(right, {**file, **each})]
        wrong += len(bad)
        counts = f"{kind}: {len(file['vectors'])} read, {len(bad)} wrong"
        sys.stdout.write("\n  ".join([counts, *bad]) + "\n")
    sys.exit(wrong > 0)


def _holds(right: Callable[[dict[str, Any]], bool], vector: dict[str, Any]) -> bool:
    try:
        return right(vector)
    except (ArithmeticError, ValueError):  # no number, such as 1/0
        return False

"""Half-widths of intervals, from the tails of discrete laws.

Responsible for the least half-width that provably reaches a confidence. Every step is rounded so
that the stated confidence holds. Reads no data: the result depends on the law's parameters alone.
"""

from fractions import Fraction
from functools import lru_cache
from math import prod
from typing import Any

from queryable.losses.numbers import natural, probability, shown
from queryable.randomness.laws import Law

_WIDEST = 10**400


def half_width(law: Law[int], confidence: Any, many: int = 1) -> int:
    """The least h at which `many` independent draws are provably all within h of 0."""
    return _half_width(law, confidence_of(confidence), natural(many, "coordinates"))


def coordinates(shape: tuple[int, ...] | None) -> int:
    """How many numbers an answer of this shape has."""
    return 1 if shape is None else prod(shape)


@lru_cache(maxsize=256)
def _half_width(law: Law[int], confidence: Fraction, many: int) -> int:
    high = 1
    while not covers(law, high, confidence, many):
        if high > _WIDEST:
            raise ArithmeticError(f"no half-width of {law} reaches {shown(confidence)}")
        high *= 2
    low = -1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if covers(law, middle, confidence, many) else (middle, high)
    return high


@lru_cache(maxsize=4096)
def covers(law: Law[int], width: int, confidence: Fraction, many: int) -> bool:
    """Whether `many` independent draws provably are all within `width` of 0, at `confidence`."""
    beyond: Fraction | None = law.beyond(width)
    if beyond is None:
        raise TypeError(f"{law} states no bound on its tails")
    missed = 1 - confidence
    if many * beyond <= missed:  # whatever the joint law
        return True
    # (1 - b)^n <= 1/(1 + n b): what cannot pass is not raised to a power
    if not beyond < 1 or not confidence * (1 + many * beyond) <= 1:
        return False
    return bool(_power_down(1 - beyond, many) >= confidence)


def _power_down(base: Fraction, exponent: int) -> Fraction:
    """At most base^exponent, by squaring; each product is cut off below."""
    power = Fraction(1)
    for bit in f"{exponent:b}":
        power = _cut(power * power)
        if bit == "1":
            power = _cut(power * base)
    return power


def _cut(value: Fraction) -> Fraction:
    """At most the value, with 256 binary digits after the point."""
    return Fraction((value.numerator << 256) // value.denominator, 1 << 256)


def confidence_of(value: Any) -> Fraction:
    """Read a confidence.

    Raises:
        ValueError: it is no probability, or 0, or 1.
    """
    confidence = probability(value, "confidence")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence is {shown(confidence)}; it should be above 0 and below 1")
    return confidence

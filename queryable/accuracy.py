"""How far an answer is from the truth, before it is asked, and the scale for a wanted accuracy.

Responsible for turning tails of discrete laws into half-widths and back, always rounded so that
the confidence is really reached. Touches no data: everything here follows from the parameters.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Any

from queryable.losses.numbers import exact, natural, probability, shown
from queryable.randomness.laws import Law

if TYPE_CHECKING:
    from queryable.mechanism import InteractiveMechanism

_WIDEST = 10**400
_DIGITS = 4
_LARGEST_POWER = 400  # of ten, of a scale that is looked for


def accuracy(
    mechanism: "InteractiveMechanism[Any]", confidence: Any = 0.95, *, simultaneous: bool = False
) -> int:
    """The half-width h: with this confidence the answer is within h of the value without noise.

    The least h for which the law's own tails prove it, rounded outward.

    Args:
        mechanism: one that adds noise of a known law, such as `Laplace` or `Gaussian`.
        confidence: a probability above 0 and below 1; of each coordinate by itself.
        simultaneous: of all coordinates of an array at once.

    Raises:
        TypeError: the mechanism adds no noise of a known law.

    Examples:
        >>> from mechanisms import Count, Laplace
        >>> accuracy(Laplace(Count(), epsilon="1/10"))
        30
        >>> scale_for(Laplace, Count(), within=30)
        Fraction(509, 50)
    """
    noise = mechanism.added_noise() if hasattr(mechanism, "added_noise") else None
    if noise is None:
        raise TypeError(
            f"{_named(mechanism)} does not answer with a number plus noise of a known law; ask for "
            "the accuracy of a mechanism such as Laplace or Gaussian"
        )
    return half_width(noise.law, confidence, coordinates(noise.shape) if simultaneous else 1)


def scale_for(
    kind: Callable[..., "InteractiveMechanism[Any]"],
    statistic: Any,
    within: Any,
    confidence: Any = 0.95,
    *,
    simultaneous: bool = False,
) -> Fraction:
    """The largest scale, to four digits, at which answers are `within` that of the truth.

    `kind(statistic, scale=scale_for(kind, statistic, within))` is then the cheapest such mechanism;
    its `privacy_map(1)` says what it costs.

    Args:
        kind: what adds noise, as a class: `Laplace`, `Gaussian`.
        within: the wanted half-width, at least 0; fractions of an integer say nothing more.
        confidence, simultaneous: as for `accuracy`.

    Raises:
        TypeError: the mechanism adds no noise of a known law.
    """
    from queryable.mechanism import InteractiveMechanism

    width = exact(within, "within").__floor__()
    wanted = confidence_of(confidence)

    def fits(scale: Fraction) -> bool:
        mechanism = kind(statistic, scale=scale)
        noise = mechanism.added_noise() if isinstance(mechanism, InteractiveMechanism) else None
        if noise is None:
            raise TypeError(f"{_named(kind)} adds no noise of a known law")
        many = coordinates(noise.shape) if simultaneous else 1
        return _covers(noise.law, width, wanted, many)

    power = 0
    while power > -_LARGEST_POWER and not fits(Fraction(10) ** power):
        power -= 1
    while power < _LARGEST_POWER and fits(Fraction(10) ** (power + 1)):
        power += 1
    if abs(power) == _LARGEST_POWER:
        raise ValueError(
            f"within is {shown(Fraction(width))} at a confidence of {shown(wanted)}; that takes a "
            f"scale beyond 1e{power}"
        )
    step: Fraction = Fraction(10) ** (power + 1 - _DIGITS)
    low, high = 10 ** (_DIGITS - 1), 10**_DIGITS
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle * step) else (low, middle)
    return Fraction(low) * step


def half_width(law: Law[int], confidence: Any, many: int = 1) -> int:
    """The least h at which `many` independent draws are provably all within h of 0."""
    return _half_width(law, confidence_of(confidence), natural(many, "coordinates"))


def coordinates(shape: tuple[int, ...] | None) -> int:
    """How many numbers an answer of this shape has."""
    return 1 if shape is None else prod(shape)


@lru_cache(maxsize=256)
def _half_width(law: Law[int], confidence: Fraction, many: int) -> int:
    high = 1
    while not _covers(law, high, confidence, many):
        if high > _WIDEST:
            raise ArithmeticError(f"no half-width of {law} reaches {shown(confidence)}")
        high *= 2
    low = -1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _covers(law, middle, confidence, many) else (middle, high)
    return high


def _covers(law: Law[int], width: int, confidence: Fraction, many: int) -> bool:
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


def _power_down(base: Fraction, exponent: int, bits: int = 256) -> Fraction:
    """At most base^exponent, by squaring; each product is cut off below."""
    power = Fraction(1)
    for bit in f"{exponent:b}":
        power = _cut(power * power, bits)
        if bit == "1":
            power = _cut(power * base, bits)
    return power


def _cut(value: Fraction, bits: int) -> Fraction:
    return Fraction((value.numerator << bits) // value.denominator, 1 << bits)


def confidence_of(value: Any) -> Fraction:
    """Read a confidence.

    Raises:
        ValueError: it is no probability, or 0, or 1.
    """
    confidence = probability(value, "confidence")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence is {shown(confidence)}; it should be above 0 and below 1")
    return confidence


def _named(value: Any) -> str:
    return value.__name__ if isinstance(value, type) else type(value).__name__

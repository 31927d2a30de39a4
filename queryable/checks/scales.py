"""The accuracy of a mechanism's answer before it is launched, and the scale for a wanted accuracy.

Responsible for `accuracy` and its inverse, `scale_for`. Both are rounded so that the stated
confidence holds, and both follow from public parameters: no data are read.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from queryable.answers.half_widths import confidence_of, coordinates, covers, half_width
from queryable.losses.numbers import exact, shown
from queryable.mechanism import InteractiveMechanism
from queryable.optional import added_noise

_DIGITS = 4
_LARGEST_POWER = 400  # of ten, of a scale that is looked for


def accuracy(
    mechanism: InteractiveMechanism[Any], confidence: Any = 0.95, *, simultaneous: bool = False
) -> int:
    """The half-width h: with this confidence the answer is within h of the value without noise.

    h is the least half-width that the tails of the noise's law prove, rounded outward.

    Args:
        mechanism: a mechanism that adds noise of a known law, such as `Laplace` or `Gaussian`.
        confidence: a probability above 0 and below 1, for each coordinate by itself.
        simultaneous: whether `confidence` holds for all coordinates of an array at once.

    Raises:
        TypeError: the mechanism adds no noise of a known law.

    Examples:
        >>> from mechanisms import Count, Laplace
        >>> accuracy(Laplace(Count(), epsilon="1/10"))
        30
        >>> scale_for(Laplace, Count(), within=30)
        Fraction(509, 50)
    """
    noise = added_noise(mechanism)
    if noise is None:
        raise TypeError(
            f"{_named(mechanism)} does not answer with a number plus noise of a known law; ask for "
            "the accuracy of a mechanism such as Laplace or Gaussian"
        )
    return half_width(noise.law, confidence, coordinates(noise.shape) if simultaneous else 1)


def scale_for(
    kind: Callable[..., InteractiveMechanism[Any]],
    statistic: Any,
    within: Any,
    confidence: Any = 0.95,
    *,
    simultaneous: bool = False,
) -> Fraction:
    """The largest scale, to four digits, at which answers are within `within` of the exact value.

    `kind(statistic, scale=scale_for(kind, statistic, within))` is the cheapest such mechanism. Its
    `privacy_map(1)` is its cost.

    Args:
        kind: the class of the mechanism, such as `Laplace` or `Gaussian`.
        within: the wanted half-width, at least 0. It is rounded down to an integer.
        confidence, simultaneous: as for `accuracy`.

    Raises:
        TypeError: the mechanism adds no noise of a known law.
    """
    width = exact(within, "within").__floor__()
    wanted = confidence_of(confidence)

    def fits(scale: Fraction) -> bool:
        mechanism = kind(statistic, scale=scale)
        noise = added_noise(mechanism)
        if noise is None:
            raise TypeError(f"{_named(kind)} adds no noise of a known law")
        many = coordinates(noise.shape) if simultaneous else 1
        return covers(noise.law, width, wanted, many)

    power = 0
    while power > -_LARGEST_POWER and not fits(Fraction(10) ** power):
        power -= 1
    while power < _LARGEST_POWER and fits(Fraction(10) ** (power + 1)):
        power += 1
    if abs(power) == _LARGEST_POWER:
        raise ValueError(
            f"within is {shown(Fraction(width))} at a confidence of {shown(wanted)}; that needs a "
            f"scale beyond 1e{power}"
        )
    step: Fraction = Fraction(10) ** (power + 1 - _DIGITS)
    low, high = 10 ** (_DIGITS - 1), 10**_DIGITS
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle * step) else (low, middle)
    return Fraction(low) * step


def _named(value: Any) -> str:
    return value.__name__ if isinstance(value, type) else type(value).__name__

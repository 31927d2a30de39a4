"""The accuracy of a mechanism's answer before it is launched, and the scale for a wanted accuracy.

Responsible for `accuracy` and its inverse, `scale_for`. Both are rounded so that the stated
confidence holds, and both follow from public parameters: no data are read.
"""

from collections.abc import Callable
from fractions import Fraction
from math import inf, nextafter
from typing import Any

from queryable.answers.half_widths import confidence_of, coordinates, covers, half_width
from queryable.losses.numbers import at_least_one, exact, shown
from queryable.mechanism import InteractiveMechanism
from queryable.optional import added_noise, answer_unit
from queryable.wording.quoting import truth

_DIGITS = 4
_LARGEST_POWER = 400  # of ten, of a scale that is looked for


def accuracy(
    mechanism: InteractiveMechanism[Any],
    confidence: Any = 0.95,
    *,
    simultaneous: bool = False,
    questions: int | None = None,
) -> int | float:
    """The half-width h: with this confidence the answer is within h of the value without noise.

    h is the least half-width that the tails of the noise's law prove, rounded outward. It is in the
    units of the column, as answers of `release` are: for a `Sum` in cents launched by hand, whose
    answer is in cents, it is in euros.

    For a mechanism that compares, such as `SparseVector`, h is a distance from its threshold: with
    this confidence all of the first `questions` answers are right about values that are at least h
    from the threshold, on either side.

    Args:
        mechanism: a mechanism that adds noise of a known law, such as `Laplace` or `Gaussian`.
        confidence: a probability above 0 and below 1, for each coordinate by itself.
        simultaneous: whether `confidence` holds for all coordinates of an array at once.
        questions: how many questions are asked at most, of a mechanism that compares.

    Raises:
        TypeError: the mechanism adds no noise of a known law, or the number of questions is missing
            or of no use; or how accurate the estimate is depends on the data.

    Examples:
        >>> from mechanisms import Count, Laplace
        >>> accuracy(Laplace(Count(), epsilon="1/10"))
        30
        >>> scale_for(Laplace, Count(), within=30)
        Fraction(509, 50)
    """
    reach = getattr(mechanism, "right_from", None)
    if (reach is None) != (questions is None):
        raise TypeError(
            "leave questions out: it is for mechanisms that compare, such as SparseVector"
            if reach is None
            else "say how many questions will be asked, accuracy(mechanism, questions=100): the "
            "more, the farther from the threshold all answers are right"
        )
    if reach is not None:
        distance: int = reach(at_least_one(questions, "questions"), 1 - confidence_of(confidence))
        return distance
    noise = added_noise(mechanism)
    if noise is None:
        raise TypeError(
            f"{_named(mechanism)} does not answer with a number plus noise of a known law; ask for "
            "the accuracy of a mechanism such as Laplace or Gaussian"
        )
    unit = answer_unit(mechanism)
    if unit is None:
        raise TypeError(
            "release it and read .interval() of the answer: how accurate a mean, or another "
            "estimate from several sums, is depends on how many records there are"
        )
    many = coordinates(noise.shape) if truth(simultaneous, "simultaneous") else 1
    return _rounded_up(half_width(noise.law, confidence, many) * unit)


def _rounded_up(width: Fraction) -> int | float:
    if width.denominator == 1:
        return width.numerator
    near = float(width)
    return near if exact(near) >= width else nextafter(near, inf)


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
        within: the wanted half-width, at least 0, in the units of the column. It is rounded down to
            whole units of the statistic.
        confidence, simultaneous: as for `accuracy`.

    Raises:
        TypeError: the mechanism adds no noise of a known law.
    """
    wanted_width = exact(within, "within")
    together = truth(simultaneous, "simultaneous")
    wanted = confidence_of(confidence)

    def fits(scale: Fraction) -> bool:
        mechanism = kind(statistic, scale=scale)
        noise = added_noise(mechanism)
        if noise is None:
            raise TypeError(f"{_named(kind)} adds no noise of a known law")
        unit = answer_unit(mechanism)
        if unit is None:
            raise TypeError("give a scale: how accurate this estimate is depends on the data")
        many = coordinates(noise.shape) if together else 1
        return covers(noise.law, (wanted_width / unit).__floor__(), wanted, many)

    power = 0
    while power > -_LARGEST_POWER and not fits(Fraction(10) ** power):
        power -= 1
    while power < _LARGEST_POWER and fits(Fraction(10) ** (power + 1)):
        power += 1
    if abs(power) == _LARGEST_POWER:
        raise ValueError(
            f"within is {shown(wanted_width)} at a confidence of {shown(wanted)}; that needs a "
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

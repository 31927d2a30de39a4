"""Answers that carry the law of their noise.

Responsible for `.interval(0.95)` on released numbers. In every other respect such an answer is an
int or an array. Results of arithmetic on it are plain, because their noise has another law.
"""

from abc import ABC, abstractmethod
from typing import Any, Literal, Self

import attrs
import numpy as np

from queryable.answers.half_widths import coordinates, half_width
from queryable.losses import Loss
from queryable.losses.numbers import whole
from queryable.randomness.laws import Law
from queryable.wording.quoting import truth


class Remarked:
    """An answer about which a tree says something; `remark` is public text, or empty."""

    __slots__ = ()

    @property
    def remark(self) -> str:
        """The remark."""
        return ""


class Paid:
    """An answer for which a person in the middle launched something: `cost` was charged for it."""

    __slots__ = ()

    cost: Loss


class Uncertain(ABC):
    """An answer with an interval for the value without noise."""

    __slots__ = ()

    @abstractmethod
    def without_interval(self) -> Any:
        """What it says where it was chosen among others by its value: no interval holds then."""


@attrs.frozen
class Noise:
    """Added noise: independent draws of a law, one for each coordinate of a shape."""

    law: Law[int]
    shape: tuple[int, ...] | None = None


class NoisyInt(int):
    """An int that was released with noise of a known law.

    It compares, hashes and prints as an int. Arithmetic returns plain ints.

    Attributes:
        noise: the law of the added noise, which is public.
    """

    noise: Law[int]

    def __new__(cls, value: int, noise: Law[int]) -> Self:  # noqa: D102
        self = int.__new__(cls, whole(value, "value"))
        self.noise = noise
        return self

    def interval(self, confidence: Any = 0.95) -> tuple[int, int]:
        """A confidence interval for the value without noise, ends included.

        The probability is over the noise, for an answer that was selected before its value was
        seen. The coverage is computed from the discrete law and rounded down, so it is at least
        `confidence`.

        Args:
            confidence: a probability above 0 and below 1.
        """
        width = half_width(self.noise, confidence)
        return int(self) - width, int(self) + width

    def __reduce__(self) -> tuple[Any, ...]:
        return NoisyInt, (int(self), self.noise)


class NoisyArray(np.ndarray[Any, Any]):
    """A read-only array of integers that were released with noise of a known law.

    Results of computations, slices and copies are plain arrays: their noise has another law, or
    they were selected after the values were seen.
    """

    noise: Law[int] | None = None

    def interval(
        self, confidence: Any = 0.95, *, simultaneous: bool = False
    ) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Confidence intervals for the values without noise: two arrays, ends included.

        Args:
            confidence: the probability for each coordinate by itself, if the coordinate was
                selected before the values were seen.
            simultaneous: whether `confidence` holds for all coordinates at once, and so for any
                selection of them.

        Raises:
            ValueError: this is a part or a copy of an answer.
        """
        if self.noise is None:
            raise ValueError(
                "take the interval of the answer itself: this array was computed from a released "
                "one, and the law of its noise is not known"
            )
        many = coordinates(self.shape) if truth(simultaneous, "simultaneous") else 1
        width = half_width(self.noise, confidence, many)
        # object entries do not overflow near the ends of int64
        low, high = (np.asarray(self).astype(object) + end for end in (-width, width))
        return narrowed(low), narrowed(high)

    def __array_finalize__(self, source: object) -> None:
        self.noise = None

    def __array_ufunc__(
        self,
        ufunc: np.ufunc,
        method: Literal["__call__", "reduce", "reduceat", "accumulate", "outer", "at"],
        *inputs: Any,
        **named: Any,
    ) -> Any:
        return getattr(ufunc, method)(*map(_as_array, inputs), **_out_as_arrays(named))

    def __array_function__(self, function: Any, types: Any, args: Any, named: Any) -> Any:
        return _as_array(super().__array_function__(function, types, args, named))

    def __getitem__(self, key: Any) -> Any:
        return np.asarray(self)[key]

    def __reduce__(self) -> tuple[Any, ...]:
        return noisy_array, (np.asarray(self), self.noise)


def noisy_array(values: np.ndarray[Any, Any], noise: Law[int] | None) -> NoisyArray:
    """The values, read-only, with the law of their noise; the memory is shared."""
    answer = values.view(NoisyArray)
    answer.flags.writeable = False
    answer.noise = noise
    return answer


def _as_array(value: Any) -> Any:
    return np.asarray(value) if isinstance(value, NoisyArray) else value


def _out_as_arrays(named: dict[str, Any]) -> dict[str, Any]:
    return named | {"out": tuple(map(_as_array, named["out"]))} if "out" in named else named


def narrowed(values: Any) -> np.ndarray[Any, Any]:
    """Python integers as int64, if all of them fit; one integer as an array of shape ()."""
    whole = np.empty(np.shape(values), dtype=object)
    whole[...] = values  # np.asarray would give a single integer a type of its own, such as uint64
    try:
        return whole.astype(np.int64)
    except OverflowError:
        return whole

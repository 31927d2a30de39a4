"""Answers that remember the law of their noise.

Responsible for one thing: `.interval(0.95)` on a number that was released. Such an answer is an int
or an array in every other respect; what is computed from it is plain, because its noise has
another law. Knows no mechanism.
"""

from operator import index
from typing import Any, Literal, Self

import attrs
import numpy as np

from queryable.half_widths import coordinates, half_width
from queryable.randomness.laws import Law


@attrs.frozen
class Noise:
    """What a mechanism adds: independent draws of a law, one for each coordinate of a shape."""

    law: Law[int]
    shape: tuple[int, ...] | None = None


class NoisyInt(int):
    """An int that was released with noise of a known law.

    Equal to, hashed, printed and pickled as an int; arithmetic gives plain ints.

    Attributes:
        noise: the law of what was added, public.
    """

    noise: Law[int]

    def __new__(cls, value: int, noise: Law[int]) -> Self:  # noqa: D102
        self = int.__new__(cls, index(value))
        self.noise = noise
        return self

    def interval(self, confidence: Any = 0.95) -> tuple[int, int]:
        """Where the value without noise is, ends included, with at least this confidence.

        Over the noise, and for an answer chosen before its value was seen. Exact: the coverage of
        the discrete law is computed rounded down, so it is at least `confidence`.

        Args:
            confidence: a probability above 0 and below 1.
        """
        width = half_width(self.noise, confidence)
        return int(self) - width, int(self) + width

    def __reduce__(self) -> tuple[Any, ...]:
        return NoisyInt, (int(self), self.noise)


class NoisyArray(np.ndarray[Any, Any]):
    """A read-only array of integers that were released with noise of a known law.

    What is computed, cut or copied from it is plain: its noise has another law, or was chosen by
    looking at it.
    """

    noise: Law[int] | None = None

    def interval(
        self, confidence: Any = 0.95, *, simultaneous: bool = False
    ) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Where the values without noise are: two arrays, ends included.

        Args:
            confidence: of each coordinate by itself, chosen before the values were seen.
            simultaneous: of all coordinates at once, whichever of them are then looked at.

        Raises:
            ValueError: a part or a copy of an answer; ask the answer itself.
        """
        if self.noise is None:
            raise ValueError(
                "this array was made from a released one and its noise has no law that is known "
                "here; take the interval of the answer itself"
            )
        many = coordinates(self.shape) if simultaneous else 1
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
        return getattr(ufunc, method)(*map(_plain, inputs), **_plain_out(named))

    def __array_function__(self, function: Any, types: Any, args: Any, named: Any) -> Any:
        return _plain(super().__array_function__(function, types, args, named))

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


def _plain(value: Any) -> Any:
    return np.asarray(value) if isinstance(value, NoisyArray) else value


def _plain_out(named: dict[str, Any]) -> dict[str, Any]:
    return named | {"out": tuple(map(_plain, named["out"]))} if "out" in named else named


def narrowed(values: Any) -> np.ndarray[Any, Any]:
    """Python integers as int64, if all of them fit; one integer as an array of shape ()."""
    whole = np.empty(np.shape(values), dtype=object)
    whole[...] = values  # np.asarray would give a single integer a type of its own, such as uint64
    try:
        return whole.astype(np.int64)
    except OverflowError:
        return whole

"""Answers of `Queryable.release`: computing with estimates, and comparing them.

Responsible for what an analyst does with such an answer beyond reading it, which `estimates` has:
compute with its number, compare it, subtract another answer. No data are read.
"""

from collections.abc import Callable
from fractions import Fraction
from math import inf
from numbers import Real
from operator import add, floordiv, ge, gt, le, lt, mul, sub, truediv
from typing import Any

import attrs
import numpy as np

from queryable.answers.estimates import Evidence, LabelledEstimate
from queryable.answers.values import Value, joined
from queryable.wording.quoting import quoted


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and bool(np.array_equal(one, other))


@attrs.frozen(eq=False, repr=False)
class Released(LabelledEstimate):
    """An estimate that was released with noise, and its confidence intervals.

    `estimate` is a number, or an array with one dimension per entry of `axes`. A single number
    compares and computes with plain numbers as its estimate does, and the result is plain: its
    error has another law. `a - b` and `a + b` of two answers are answers with an interval.

    Attributes:
        estimate: the estimate; arrays are read-only.
        axes: the keys of each dimension.
        title: what was estimated, in public words.
        evidence: what the intervals are computed from.
    """

    def __format__(self, spec: str) -> str:
        return format(self.estimate, spec) if spec else str(self)

    def __sub__(self, other: object) -> Any:
        return self._with(other, sub, combines=True)

    def __rsub__(self, other: object) -> Any:
        return self._with(other, lambda mine, theirs: theirs - mine)

    def __add__(self, other: object) -> Any:
        return self._with(other, add, combines=True)

    __radd__ = __add__

    def __mul__(self, other: object) -> Any:
        return self._with(other, mul)

    __rmul__ = __mul__

    def __truediv__(self, other: object) -> Any:
        return self._with(other, truediv)

    def __rtruediv__(self, other: object) -> Any:
        return self._with(other, lambda mine, theirs: theirs / mine)

    def __floordiv__(self, other: object) -> Any:
        return self._with(other, floordiv)

    def _with(
        self, other: object, operation: Callable[[Any, Any], Any], *, combines: bool = False
    ) -> Any:
        if isinstance(other, Released):
            if combines:
                return _combined(self, other, operation)
            raise TypeError(
                "compute with .estimate: only the difference and the sum of two answers have an "
                "interval"
            )
        if isinstance(other, Real | np.ndarray):
            return operation(self.estimate, other)
        return NotImplemented

    def __lt__(self, other: object) -> Any:
        return self._compared(other, lt)

    def __le__(self, other: object) -> Any:
        return self._compared(other, le)

    def __gt__(self, other: object) -> Any:
        return self._compared(other, gt)

    def __ge__(self, other: object) -> Any:
        return self._compared(other, ge)

    def _compared(self, other: object, operator: Callable[[Any, Any], Any]) -> Any:
        if isinstance(other, np.ndarray) or np.ndim(self.estimate):
            raise TypeError("compare .estimate, or the ends of .interval(): there are several")
        return operator(self.estimate, other.estimate if isinstance(other, Released) else other)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Released):
            mine, theirs = ((each.axes, each.title, each.evidence) for each in (self, other))
            return _same(self.estimate, other.estimate) and mine == theirs
        if isinstance(other, np.ndarray) or (np.ndim(self.estimate) and isinstance(other, Real)):
            raise TypeError("compare .estimate, or the ends of .interval(): there are several")
        return bool(self.estimate == other)

    def __hash__(self) -> int:
        whole = np.ndim(self.estimate) or self.estimate != self.estimate
        return hash(np.shape(self.estimate)) if whole else hash(self.estimate)

    def __bool__(self) -> bool:
        raise TypeError("compare with a number, as in answer > 0: an answer is not true or false")

    def __float__(self) -> float:
        return float(self._single())

    def __int__(self) -> int:
        return int(self._single())

    def __round__(self, digits: int | None = None) -> Any:
        return round(self._single(), digits)

    def _single(self) -> Any:
        if np.ndim(self.estimate):
            raise TypeError("take .estimate: this answer has several numbers")
        return self.estimate

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.estimate, dtype=dtype)  # a copy: the estimate is read-only

    __array_ufunc__ = None  # an operator with an array on the left is then ours to answer


@attrs.frozen
class Combination(Evidence):
    """The sum or the difference of two answers.

    By the union bound, intervals that hold with probability (1 + c) / 2 each hold at once with
    probability c, whether or not the errors are independent.
    """

    one: Released
    other: Released
    minus: bool

    @property
    def most(self) -> Fraction | None:  # type: ignore[override]
        """The confidence at which each has an interval at (1 + confidence) / 2."""
        both = self.one.evidence.most, self.other.evidence.most
        least = min((each for each in both if each is not None), default=Fraction(0))
        return None if None in both or not least > Fraction(1, 2) else 2 * least - 1

    def interval(self, confidence: Fraction, *, simultaneous: bool) -> tuple[Value, Value]:
        """The sum or difference of intervals at (1 + confidence) / 2, rounded outward."""
        each = (1 + confidence) / 2
        low, high = self.one.interval(each, simultaneous=simultaneous)
        least, most = self.other.interval(each, simultaneous=simultaneous)
        if self.minus:
            least, most = most, least
        operation = sub if self.minus else add
        return joined(operation, low, least, -inf), joined(operation, high, most, inf)


def _combined(one: Released, other: Released, operation: Callable[[Any, Any], Any]) -> Released:
    """The difference or sum of answers with equal keys, or of an answer and a single number.

    Raises:
        ValueError: the keys differ.
    """
    if one.axes and other.axes and one.axes != other.axes:
        raise ValueError(
            "give answers with equal keys: these have "
            f"{quoted(one.axes)} and {quoted(other.axes)}; or compute with .estimate"
        )
    minus = operation is sub
    title = f"{one.title} {'minus' if minus else 'plus'} {other.title}"
    estimate = joined(operation, one.estimate, other.estimate)
    return Released(
        estimate, one.axes or other.axes, title, evidence=Combination(one, other, minus)
    )

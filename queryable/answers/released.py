"""Answers of `Queryable.release`: computing with estimates, and comparing them.

Responsible for what an analyst does with such an answer beyond reading it, which `estimates` has:
compute with its number, compare it, subtract another answer. No data are read.
"""

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations as subsets
from math import isfinite
from numbers import Real
from operator import add, floordiv, ge, gt, le, lt, mul, sub, truediv
from typing import Any, TypeGuard

import attrs
import numpy as np

from queryable.answers.combinations import Computed, combined, divided
from queryable.answers.estimates import Axis, Bin, LabelledEstimate
from queryable.answers.evidence import single
from queryable.answers.half_widths import confidence_of
from queryable.answers.margins import Margin, crossed, kept_of, stacked
from queryable.answers.noisy import narrowed
from queryable.losses.numbers import shown
from queryable.wording.quoting import quoted


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and bool(np.array_equal(one, other))


@attrs.frozen(eq=False, repr=False)
class Released(LabelledEstimate):
    """An estimate that was released with noise, and its confidence intervals.

    `estimate` is a number, or an array with one dimension per entry of `axes`. A single number
    compares and computes with plain numbers as its estimate does, and the result is plain: its
    error has another law. Sums, differences and quotients of answers, and their multiples, are
    answers with an interval; so is `by["m"]`, the answer of one key.

    Attributes:
        estimate: the estimate; arrays are read-only.
        axes: the keys of each dimension.
        title: what was estimated, in public words.
        evidence: what the intervals are computed from.
    """

    def __format__(self, spec: str) -> str:
        return format(self.estimate, spec) if spec else str(self)

    def __getitem__(self, keys: Any) -> "Released":
        """The estimate of some keys: `by["m"]`, or `by["m", 3]` if there are several dimensions.

        Raises:
            KeyError: there is no such key; or there are no dimensions.
        """
        given = keys if isinstance(keys, tuple) and len(self.axes) > 1 else (keys,)
        if not 1 <= len(given) <= len(self.axes):
            raise KeyError(
                f"give one key for each of {len(self.axes)} dimensions: {quoted(keys)}"
                if self.axes
                else "this answer is one number: it has no keys"
            )
        place = tuple(map(place_of, self.axes, given))
        names = ", ".join(
            f"{', '.join(axis.names)} = {', '.join(map(str, axis.values[at]))}"
            for axis, at in zip(self.axes, place, strict=False)
        )
        estimate = single(np.asarray(self.estimate)[place])
        title = f"{self.title}, {names}"
        return Released(estimate, self.axes[len(place) :], title, evidence=self.evidence.at(place))

    __iter__ = None  # else Python would ask for the keys 0, 1, ..; a method would mislead pandas

    def margin(self, *columns: str) -> "Released":
        """The estimate by some of its columns: the sums of noisy cells over the other keys.

        It costs nothing, and margins and cells add up. Of rows that are in none of the keys nothing
        is known.

        Args:
            columns: names; without any, the sum of all cells.

        Raises:
            TypeError: the cells do not add up, as means or persons do not.
            KeyError: there is no such column.
        """
        if not self.evidence.adds_up:
            raise TypeError(
                "ask for the margin itself: only counts and sums of rows add up, of cells of one "
                "release. A person may be counted in several of them"
            )
        kept = kept_of(self.axes, columns)
        along = tuple(each for each in range(len(self.axes)) if each not in kept)
        if not along:
            return self
        values = np.asarray(self.estimate)
        exact = values.astype(object) if values.dtype.kind == "i" else values
        estimate = exact.sum(axis=along)
        over = ", ".join(name for each in along for name in self.axes[each].names)
        return Released(
            narrowed(estimate) if np.ndim(estimate) and values.dtype.kind == "i" else estimate,
            tuple(self.axes[each] for each in kept),
            f"{self.title}, summed over {over}",
            evidence=Margin(self.evidence, along),
        )

    def total(self) -> "Released":
        """The sum of all cells; see `margin`."""
        return self.margin()

    def table(self, confidence: Any = None) -> str:
        """The cells of two dimensions as a table with its margins, with half-widths of intervals.

        Args:
            confidence: as for `interval`; of each entry by itself.

        Raises:
            TypeError: there are not two dimensions, or the cells do not add up.
        """
        if len(self.axes) != 2:
            raise TypeError(f"a table has two dimensions: this answer has {len(self.axes)}")
        rows, columns = (self.margin(*axis.names) for axis in self.axes)
        whole = (self, rows, columns, self.total())
        percent = 100 * confidence_of(self.evidence.usual if confidence is None else confidence)
        caption = f"{self.title}; ± half-widths of {shown(percent)}% intervals, each by itself"
        parts = [(each.estimate, each.interval(confidence)) for each in whole]
        return crossed(self.axes, parts, caption)

    def to_pandas(
        self, confidence: Any = None, *, simultaneous: bool = False, margins: bool = False
    ) -> Any:
        """A pandas frame: the keys, then `estimate`, `low` and `high`; see `interval`.

        Args:
            confidence, simultaneous: as for `interval`.
            margins: whether rows with the sums over some or all columns follow, whose key is "all"
                there; keys are texts then.
        """
        if not margins:
            return super().to_pandas(confidence, simultaneous=simultaneous)
        if confidence is None:
            confidence = self.evidence.usual
        sizes = reversed(range(len(self.axes)))
        kept = [axes for size in sizes for axes in subsets(self.axes, size)]
        parts = [self, *(self.margin(*(axis.names[0] for axis in axes)) for axes in kept)]
        return stacked(parts, confidence_of(confidence), simultaneous=simultaneous)

    def __sub__(self, other: object) -> Any:
        return self._with(other, sub, combines=True)

    def __rsub__(self, other: object) -> Any:
        return self._with(other, lambda mine, theirs: theirs - mine)

    def __add__(self, other: object) -> Any:
        return self._with(other, add, combines=True)

    __radd__ = __add__

    def __neg__(self) -> "Released":
        return self._of(combined([(Fraction(-1), self)]))

    def __mul__(self, other: object) -> Any:
        if self._has_multiple(other):
            return self._of(combined([(Fraction(other), self)]))
        return self._with(other, mul)

    __rmul__ = __mul__

    def __truediv__(self, other: object) -> Any:
        if isinstance(other, Released):
            return self._of(divided(self, other))
        if self._has_multiple(other):
            return self._of(combined([(1 / Fraction(other), self)]))
        return self._with(other, truediv)

    def __rtruediv__(self, other: object) -> Any:
        return self._with(other, lambda mine, theirs: theirs / mine)

    def __floordiv__(self, other: object) -> Any:
        return self._with(other, floordiv)

    def _has_multiple(self, factor: object) -> TypeGuard[int | float | Fraction]:
        """Whether numbers of the answer times a factor, which is finite and not 0, are numbers."""
        if not isinstance(factor, int | float | Fraction) or not factor or not isfinite(factor):
            return False
        values = np.asarray(self.estimate)
        return values.dtype.kind in "iuf" or all(isinstance(each, Real) for each in values.flat)

    @staticmethod
    def _of(found: Computed) -> "Released":
        return Released(found.estimate, found.axes, found.title, evidence=found.evidence)

    def _with(
        self, other: object, operation: Callable[[Any, Any], Any], *, combines: bool = False
    ) -> Any:
        if isinstance(other, Released):
            if combines:
                return self._of(combined([(Fraction(1), self), (Fraction(operation(0, 1)), other)]))
            raise TypeError(
                "compute with .estimate: of two answers only the sum, the difference and the "
                "quotient have an interval"
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
        return False if np.ndim(self.estimate) else bool(self.estimate == other)

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


def _asked_by(key: tuple[Any, ...]) -> Any:
    """What a key is asked by: an interval by its text."""
    if len(key) > 1:
        return key
    return str(key[0]) if isinstance(key[0], Bin) else key[0]


def place_of(axis: Axis, key: Any) -> int:
    """Where a key is, itself or its text.

    Raises:
        KeyError: there is no such key.
    """
    wanted = key if isinstance(key, tuple) else (key,)
    if any(isinstance(each, np.ndarray | slice) for each in wanted):
        raise KeyError("give one key, and take .estimate for several entries")
    for at, each in enumerate(axis.values):
        if each == wanted or (len(each) == 1 and str(each[0]) == key):
            return at
    some = ", ".join(quoted(_asked_by(each)) for each in axis.values[:5])
    raise KeyError(f"there is no key {quoted(key)} of {', '.join(axis.names)}: they are {some}")

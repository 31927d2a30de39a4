"""`Ranges`: counts or sums of every range of ordered keys, from one release, that add up.

Responsible for the statistic and its answer. Which integers get noise, and how the sums of single
keys follow from them, is the design's part.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Self

import attrs
import numpy as np

from mechanisms.tables.requests.keys import groups_of
from mechanisms.tables.requests.request import Bins, Categories, Request
from mechanisms.tables.spans.designs import DESIGNS, MOST_CELLS, Design, design_of
from mechanisms.tables.statistics.aggregates import Aggregate
from mechanisms.tables.statistics.counts import Count, Sum
from mechanisms.tables.statistics.ranges import quotients
from mechanisms.tables.statistics.releases import Noisy, is_pure
from queryable.answers.estimates import Axis, Bin
from queryable.answers.evidence import Evidence
from queryable.answers.near import Near, Part
from queryable.answers.released import Released, place_of
from queryable.data.cells import Array
from queryable.effort import take
from queryable.errors import QueryError
from queryable.losses import Loss, Measure
from queryable.losses.numbers import Number, sqrt_up
from queryable.mechanism import Measurement
from queryable.randomness.laws import Law
from queryable.statistics import Monotone
from queryable.wording.quoting import one_of, quoted


@attrs.frozen
class Spanned(Evidence):
    """That of the sum of neighbouring keys, from `first` to `last`, of released `Ranges`."""

    whole: Noisy
    first: int
    last: int

    @property
    def sources(self) -> tuple[Any, ...]:
        """Those of the answer."""
        return self.whole.sources

    def near(self, missed: Fraction) -> Near:
        """How noise moves the sum."""
        law, statistic = self.whole.noisy.noise, self.whole.statistic
        assert law is not None
        assert isinstance(statistic, Ranges)
        noisy = np.asarray(self.whole.noisy)
        return statistic.summed(noisy, law, self.whole.noisy, self.first, self.last)

    def interval(self, confidence: Fraction, *, simultaneous: bool) -> tuple[float, float]:
        """The interval of the sum by itself."""
        low, high = self.near(1 - confidence).interval(1 - confidence, joint=True)
        return float(low), float(high)


class ReleasedRanges(Released):
    """Released counts or sums by ordered keys, whose ranges have intervals too, and add up.

    `by["2024-03-01":"2024-05-31"]` is the sum of these days and of all between them.
    """

    def __getitem__(self, keys: Any) -> Released:
        """The estimate of a key, or of a range of keys, `by[low:high]`; see `total`.

        Raises:
            KeyError: there is no such key.
        """
        if not isinstance(keys, slice):
            return super().__getitem__(keys)
        if keys.step is not None:
            raise KeyError("leave the step out: a range has all keys from low to high")
        return self.total(keys.start, keys.stop)

    def total(self, low: Any = None, high: Any = None) -> Released:
        """The sum of all keys, or of those from `low` to `high`, with its interval.

        Args:
            low: the first key; of intervals such as [0, 10) its lower end. By default the first.
            high: the last key, which is counted too; of intervals the upper end of the last one.

        Raises:
            KeyError: there is no such key, or `low` is after `high`.
        """
        [axis] = self.axes
        first = 0 if low is None else place_of(_ends(axis, lambda each: each.low), low)
        last = len(axis.values) - 1
        if high is not None:
            last = place_of(_ends(axis, lambda each: each.high), high)
        if first > last:
            raise KeyError(f"there is no key from {quoted(low)} to {quoted(high)}: swap them")
        evidence, ends = self.evidence, (axis.values[first], axis.values[last])
        assert isinstance(evidence, Noisy)
        assert isinstance(evidence.statistic, Ranges)
        estimate = evidence.statistic.sum_of(np.asarray(evidence.noisy), first, last)
        names = " to ".join(str(key[0]) for key in ends)
        title = f"{self.title}, {axis.names[0]} = {names}"
        return Released(estimate, (), title, evidence=Spanned(evidence, first, last))


def _ends(axis: Axis, end: Callable[[Bin], Any]) -> Axis:
    """The same keys, with one end in place of an interval."""
    keys = ((end(key) if isinstance(key, Bin) else key,) for (key,) in axis.values)
    return Axis(axis.names, tuple(keys))


def _by(value: Any) -> Categories | Bins:
    by = groups_of(value)
    if len(by) != 1 or not isinstance(by[0], Categories | Bins):
        raise TypeError(
            f"by is {quoted(value)}; it should be the keys of one column, such as "
            'Keys.days("day", "2024-01-01", "2024-12-31") or Keys.bins("age", range(0, 101))'
        )
    if not by[0].size <= MOST_CELLS:
        raise ValueError(f"give at most {MOST_CELLS} keys: by has {by[0].size}")
    return by[0]


def _statistic(value: Any) -> Aggregate:
    if type(value) not in (Count, Sum):
        raise TypeError(f"statistic is {quoted(value)}; it should be a Count or a Sum")
    return value  # type: ignore[no-any-return]


@attrs.frozen
class Ranges(Aggregate):
    """A count or a sum in each of some ordered keys, such that ranges of keys are accurate too.

    Sums of neighbouring keys get noise, and not only the keys themselves. All estimates are
    computed from the same noisy integers, so they add up: a range has the sum of the estimates of
    its keys. A released answer has `by["2024-03-01":"2024-05-31"]` and `total`.

    Privacy:
        Claim: with A the matrix of the design, adding or removing a privacy unit moves the integers
            by A c, where c is what the unit adds to each key. The L1 norm of c, and its largest
            entry, are bounded as in a `Histogram`; `l1` and `l2` bound A c for all such c.
        Theorem: docs/theory/proofs/ranges.md.
        Checked by: tests/unit/mechanisms/tables/spans/test_ranges.py

    Args:
        by: the public keys of one column, at most 1,024, in the order in which they are ranges.
        statistic: a `Count` or a `Sum`.
        design: "root" for Gaussian noise, "blocks" for Laplace noise; `release` chooses.
    """

    by: Categories | Bins = attrs.field(converter=_by)
    statistic: Aggregate = attrs.field(factory=Count, converter=_statistic)
    design: str = attrs.field(default="root", validator=one_of(*DESIGNS))

    step = None
    is_near = True
    groupable = False
    answers = ReleasedRanges

    def __attrs_post_init__(self) -> None:
        """Count the steps of making the design; they are limited for queries of analysts elsewhere.

        Raises:
            QueryError: the message has no more of them.
        """
        if not take(self.by.size**2, ("ranges", self.design, self.by.size)):
            raise QueryError(
                "ask for the ranges of fewer keys: this takes too long for a curator that others "
                "ask too"
            )

    @property
    def steps(self) -> int:  # type: ignore[override]
        """Those of the matrix, and of finding the keys from the noisy integers."""
        return self.by.size**2 // 2

    @property
    def _design(self) -> Design:
        return design_of(self.design, self.by.size)

    @property
    def _step(self) -> Fraction:
        """What an integer of a key stands for."""
        assert self.statistic.step is not None
        return self.statistic.step

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """How many integers get noise."""
        return (self._design.entries,)

    @property
    def coordinates(self) -> int:  # type: ignore[override]
        """All of them enter an estimate."""
        return self._design.entries

    @property
    def request(self) -> Request:
        """The statistic's sum, by key."""
        return attrs.evolve(self.statistic.request, by=(self.by,))

    def of_rows(self) -> Self:
        """The same without its privacy unit."""
        return attrs.evolve(self, statistic=self.statistic.of_rows())

    @property
    def largest(self) -> tuple[int, ...]:
        """What a row adds to its key, in the statistic's units."""
        return self.statistic.largest

    @property
    def l1(self) -> Fraction:  # type: ignore[override]
        """What a unit adds in all, times the largest L1 norm of a column."""
        return super().l1 * self._design.l1

    @property
    def l2(self) -> Fraction:  # type: ignore[override]
        """The L2 norm of what a unit adds, by the products of columns."""
        [largest], unit = self.largest, self.request.contribution
        return largest * sqrt_up(Fraction(self._design.l2_squared(unit.l1, unit.linf)))

    @property
    def linf(self) -> Fraction:
        """What a unit adds in all, times the largest entry of the matrix."""
        return super().l1 * int(self._design.matrix.max())

    @property
    def monotone(self) -> Monotone | None:  # type: ignore[override]
        """As for the statistic: no entry of the matrix is below 0."""
        return self.statistic.monotone

    @property
    def public_name(self) -> str:
        """The statistic's name and the column: `Ranges of Count by day`."""
        return f"Ranges of {self.statistic.public_name} by {self.by.names[0]}"

    def combined(self, totals: Array) -> Array:
        """The matrix times the sums by key."""
        return self._design.applied(totals[..., 0])

    def measurement(
        self,
        measure: Measure,
        d_in: int,
        *,
        within: Number | None = None,
        confidence: Number | None = "0.95",
        loss: Loss | None = None,
    ) -> Measurement[Released]:
        """With the design for the noise that `loss` implies."""
        if loss is None:
            raise QueryError("give loss=.. instead of within: long ranges are less accurate")
        design = "blocks" if is_pure(loss, measure) else "root"
        return Aggregate.measurement(attrs.evolve(self, design=design), measure, d_in, loss=loss)

    def _cells(self, noisy: Array) -> list[Fraction]:
        """The estimate of each key, exactly."""
        return [each * self._step for each in self._design.solved(list(map(int, noisy)))]

    def estimate(self, noisy: Any) -> Array:
        """The estimate of each key, as a float."""
        return _floats(self._cells(np.asarray(noisy)), 0)

    def sum_of(self, noisy: Array, first: int, last: int) -> float:
        """The estimate of the sum of neighbouring keys."""
        return float(sum(self._cells(noisy)[first : last + 1], Fraction(0)))

    def interval(self, noisy: Array, law: Law[int], missed: Fraction) -> tuple[Any, Any]:
        """The interval of each key, by the noise of all integers with its weights."""
        return self.near(noisy, law, missed, None).interval(missed, joint=True)

    def near(self, noisy: Array, law: Law[int], missed: Fraction, source: Any) -> Near:
        """How noise moves each estimate."""
        return self._near(self._cells(noisy), self._design.inverse[:, None], law, source)

    def summed(self, noisy: Array, law: Law[int], source: Any, first: int, last: int) -> Near:
        """How noise moves the sum of neighbouring keys."""
        some = slice(first, last + 1)
        cells = [sum(self._cells(noisy)[some], Fraction(0))]
        return self._near(cells, self._design.inverse[None, some], law, source).at((0,))

    def _near(self, values: list[Fraction], rows: Array, law: Law[int], source: Any) -> Near:
        """Estimates, whose weights are the sums of some rows of the design's inverse.

        Args:
            rows: shape (estimates, rows, entries).
        """
        step, terms = float(self._step), rows.shape[1]
        weights, sizes = rows.sum(axis=1) * step, abs(rows).sum(axis=1) * step
        off = sizes * (terms + 8) * 2.0**-51  # what entries, their sums and the step are rounded by
        places = np.broadcast_to(np.arange(weights.shape[-1]), weights.shape)
        part = Part(source, law, places, weights - off, weights + off)
        infinite = np.full(len(values), np.inf)
        low, high = _floats(values, -1), _floats(values, 1)
        return Near(low, high, (part,), np.zeros(len(values)), -infinite, infinite)


def _floats(values: list[Fraction], side: int) -> Array:
    """The nearest floats, or those at or below, or at or above."""
    tops = [(np.array(each.numerator, object), each.denominator) for each in values]
    return np.array([float(quotients(top, bottom, side)) for top, bottom in tops])

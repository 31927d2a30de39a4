"""Linear queries: weighted counts of records, by elements of a public universe.

An element is an index that a function gives each record, or a group of a histogram.
"""

from collections.abc import Callable
from fractions import Fraction
from math import prod
from operator import index
from typing import Any

import attrs
import numpy as np

from mechanisms.tables.expressions.lattice import number_in
from mechanisms.tables.expressions.predicates import Predicate
from mechanisms.tables.requests.request import Request
from mechanisms.tables.statistics.aggregates import Aggregate
from mechanisms.tables.statistics.counts import Count, Histogram
from mechanisms.tables.statistics.group_by import GroupBy
from mechanisms.tables.statistics.units import CountUnits
from queryable.answers.estimates import Bin
from queryable.data.cells import Array, cells
from queryable.data.frozen import read_only
from queryable.statistics import IntegerStatistic, Monotone
from queryable.wording.quoting import an_instance, quoted

LATTICE = 1 << 20
"""Weights are multiples of 2**-20, so that sums over the data are exact."""

_MOST = 2.0**62
"""Sums of counts times weights are added up as int64 below this."""


def _copied(weights: Any) -> Any:
    """A read-only copy of the weights. None for an unreadable value, which a query then rejects."""
    try:
        return read_only(np.array(weights)) if _is_written_out(weights) else None
    except Exception:
        return None


def _is_written_out(weights: Any) -> bool:
    """Whether it is as long as its text. A range is not, so copying one could take long."""
    if isinstance(weights, list | tuple):
        rows = set(map(type, weights)) & {list, tuple, range}
        return not rows or all(map(_is_written_out, weights))
    return type(weights) is not range


@attrs.frozen(eq=False)
class LinearQuery:
    """The number of records, each counted with the weight of its universe element.

    Args:
        weights: of the universe's shape, each in [0, 1]; truncated to multiples of 2**-20. A
            boolean array counts the records in a set. `LinearQuery.where` names the set by a
            predicate about the keys.
    """

    weights: Any = attrs.field(repr=False, converter=_copied)
    predicate: Predicate | None = attrs.field(
        default=None, validator=attrs.validators.optional(an_instance(Predicate))
    )

    @classmethod
    def where(cls, predicate: Predicate) -> "LinearQuery":
        """The records whose keys satisfy a predicate, such as `column("state") == "CA"`.

        For a universe of a table's groups. The columns are those of its keys; columns of intervals
        cannot be used.
        """
        return cls(None, predicate)


def counts_of(value: Any) -> Aggregate:
    """Check a count in public groups, which are the elements of a universe.

    Raises:
        TypeError: it is none, or of a class of the user's own.
    """
    inner = value.statistic if type(value) is GroupBy else value
    counts = (Count, CountUnits, Histogram) if inner is not value else (Histogram,)
    if type(inner) not in counts:
        raise TypeError(
            f"universe is {quoted(value)}; it should be a Histogram, a GroupBy of a Count or "
            "CountUnits, such as table.group_by(..).count(), or the number of elements"
        )
    grouped: Aggregate = value
    return grouped


def _counted(value: Any) -> Aggregate | None:
    return None if value is None else counts_of(value)


def _lattice(value: Any) -> Any:
    """A copy of the weights that nobody can write.

    Raises:
        TypeError: they are no array of int64 with one dimension.
        ValueError: a weight is not in [0, 1].
    """
    if type(value) is not np.ndarray or value.dtype != np.int64 or value.ndim != 1:
        raise TypeError("lattice should be an array of int64 with one weight for each element")
    weights = read_only(value.copy())
    if not bool(((weights >= 0) & (weights <= LATTICE)).all()):
        raise ValueError(f"lattice should have weights from 0 to {LATTICE}, which stands for 1")
    return weights


@attrs.frozen(eq=False)
class Weighted(IntegerStatistic):
    """The weighted count, rounded down. It moves by at most as much as all counts together.

    Rounding down to whole numbers does not change this: the bound is a whole number too.

    Args:
        encode: from the data to one element for each record, if there is no `counted`.
        lattice: the weight of each element in multiples of 2**-20, int64, each from 0 to 2**20.
        counted: a count in groups, which are the elements.
    """

    encode: Callable[[Any], Any] = attrs.field(validator=attrs.validators.is_callable())
    lattice: np.ndarray[Any, np.dtype[np.int64]] = attrs.field(repr=False, converter=_lattice)
    counted: Aggregate | None = attrs.field(default=None, converter=_counted)

    shape = None

    def __attrs_post_init__(self) -> None:
        """Check that each element has a weight.

        Raises:
            ValueError: there are more groups than weights, or fewer.
        """
        groups = None if self.counted is None else prod(self.counted.shape or ())
        if groups not in (None, len(self.lattice)):
            raise ValueError(
                f"lattice has {len(self.lattice)} weights; it should have one for each of the "
                f"{groups} groups"
            )

    @property
    def monotone(self) -> Monotone | None:  # type: ignore[override]
        """As for the counts, since weights are at least 0; up for records that are encoded."""
        return "up" if self.counted is None else self.counted.monotone

    @property
    def l1(self) -> Fraction:  # type: ignore[override]
        """One record; of a histogram, its own sensitivity. Weights are at most 1."""
        return Fraction(1) if self.counted is None else self.counted.l1

    @property
    def l2(self) -> Fraction:  # type: ignore[override]
        """The same: it is one number."""
        return self.l1

    @property
    def request(self) -> Request:
        """The histogram's, by which a table checks it.

        Raises:
            AttributeError: records are encoded instead.
        """
        if self.counted is None:
            raise AttributeError("request")
        return self.counted.request

    def value(self, dataset: Any) -> int:
        """Exact: integer counts times integer weights."""
        if self.counted is not None:
            counts = np.asarray(self.counted.value(dataset)).reshape(-1)
        else:
            universe = len(self.lattice)
            elements = _elements(self.encode(dataset), universe)
            counts = np.bincount(elements, minlength=universe)
        if not float(counts.sum(dtype=float)) * LATTICE < _MOST:
            counts = counts.astype(object)
        return int(counts @ self.lattice) // LATTICE


def _elements(encoded: Any, universe: int) -> Array:
    """The entries that are indices below `universe`; each other entry is left out on its own.

    A whole float counts as the index that it equals, because libraries turn a column of integers
    into floats where a value is missing.
    """
    _, entries = cells({"element": encoded}, "element")
    if entries.dtype == object:
        indices = (_index(entry, universe) for entry in entries)
        return np.array([each for each in indices if each is not None], dtype=np.int64)
    if entries.dtype.kind not in "biuf":
        return np.zeros(0, dtype=np.int64)
    if entries.dtype.kind == "f":
        entries = entries.astype(np.float64)
        entries = entries[entries == np.floor(entries)]
    return entries[(entries >= 0) & (entries < universe)].astype(np.int64)


def _index(entry: Any, universe: int) -> int | None:
    number = number_in(entry)
    inside = number is not None and 0 <= number < universe and number == int(number)
    return int(number) if inside and number is not None else None


@attrs.frozen(eq=False)
class Gap(IntegerStatistic):
    """The distance of the weighted count from a public estimate."""

    weighted: Weighted = attrs.field(validator=an_instance(Weighted))
    estimate: int = attrs.field(converter=index)

    shape = None
    public_name = "The weighted count"

    @property
    def l1(self) -> Fraction:  # type: ignore[override]
        """That of the count."""
        return self.weighted.l1

    @property
    def l2(self) -> Fraction:  # type: ignore[override]
        """That of the count."""
        return self.weighted.l2

    @property
    def request(self) -> Request:
        """That of the count."""
        return self.weighted.request

    def value(self, dataset: Any) -> int:
        """Moves by at most as much as the count does."""
        return abs(self.weighted.value(dataset) - self.estimate)


def keys_of(counted: Aggregate) -> dict[str, Array]:
    """The key of every element, in each column whose keys are values."""
    axes, shape = counted.axes, counted.shape or ()
    found = {}
    for dimension, axis in enumerate(axes):
        for position, name in enumerate(axis.names):
            labels: Array = np.empty(len(axis.values), dtype=object)
            labels[:] = [label[position] for label in axis.values]
            if not any(isinstance(label, Bin) for label in labels):
                along = [-1 if i == dimension else 1 for i in range(len(shape))]
                found[name] = np.broadcast_to(labels.reshape(along), shape).reshape(-1)
    return found

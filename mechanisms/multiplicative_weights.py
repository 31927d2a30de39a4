"""Private multiplicative weights: many linear queries, of which only surprising ones are paid for.

`PrivateMultiplicativeWeights` is a postprocessor (a person in the middle in the terms of Haney et
al. 2023). It keeps a synthetic histogram over a public universe, and asks the data only where the
histogram is wrong. It works over any filter that admits a sparse vector and Laplace measurements.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import attrs
import numpy as np

from mechanisms.laplace import Laplace
from mechanisms.sparse_vector import SparseVector
from mechanisms.tables.lattice import number_in
from queryable import (
    Ask,
    Coins,
    FromAnalyst,
    FromMechanism,
    Launch,
    Launched,
    PersonInTheMiddle,
    PrivacyLossQuery,
    QueryError,
    ToAnalyst,
    ToMechanism,
    UnknownQueryError,
)
from queryable.data.cells import Array, cells
from queryable.losses.fields import read_positive_epsilon
from queryable.losses.numbers import natural, positive
from queryable.quoting import quoted
from queryable.statistics import IntegerStatistic

Weights = np.ndarray[Any, np.dtype[np.float64]]
_LATTICE = 1 << 20  # weights are multiples of 2**-20, so that sums over the data are exact


def _copied(weights: Any) -> Any:
    """A read-only copy of the weights. None for an unreadable value, which a query then rejects."""
    try:
        copy = np.array(weights)
    except Exception:
        return None
    copy.flags.writeable = False
    return copy


@attrs.frozen(eq=False)
class LinearQuery:
    """The number of records, each counted with the weight of its universe element.

    Args:
        weights: shape (universe,), each in [0, 1]; truncated to multiples of 2**-20. A boolean
            array counts the records in a set.
    """

    weights: Any = attrs.field(repr=False, converter=_copied)


@attrs.frozen
class SyntheticHistogram:
    """Ask for the current histogram: expected counts, shape (universe,). Costs nothing."""


@attrs.frozen(eq=False)
class _Weighted(IntegerStatistic):
    """The weighted count, rounded down. One record moves it by at most one."""

    encode: Callable[[Any], Any]
    lattice: np.ndarray[Any, np.dtype[np.int64]] = attrs.field(repr=False)

    l1 = l2 = Fraction(1)
    shape = None

    def value(self, dataset: Any) -> int:
        """Exact: integer counts times integer weights."""
        universe = len(self.lattice)
        elements = _elements(self.encode(dataset), universe)
        counts = np.bincount(elements, minlength=universe)
        return int(counts @ self.lattice) // _LATTICE


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
class _Gap(IntegerStatistic):
    """The distance of the weighted count from a public estimate."""

    weighted: _Weighted
    estimate: int

    l1 = l2 = Fraction(1)
    shape = None

    def value(self, dataset: Any) -> int:
        """Moves by at most one when the count does."""
        return abs(self.weighted.value(dataset) - self.estimate)


@attrs.frozen(eq=False)
class WeightsState:
    """The synthetic distribution, the sparse vector's id, and the query that is being answered.

    `estimate` is the query's answer from the distribution.
    """

    histogram: Weights = attrs.field(repr=False)
    detector: Any = None
    query: _Weighted | None = None
    estimate: float = 0.0


def _universe(value: Any) -> int:
    size = natural(value, "universe")
    if size < 2:
        raise ValueError(f"universe is {size}; it should have at least 2 elements")
    return size


def _at_least_one(value: Any, name: str) -> int:
    count = natural(value, name)
    if count == 0:
        raise ValueError(f"{name} is 0; it should be at least 1")
    return count


def _records(value: Any) -> int:
    return _at_least_one(value, "records")


def _updates(value: Any) -> int:
    return _at_least_one(value, "updates")


def _threshold(value: Any) -> Fraction:
    return positive(value, "threshold")


def _same(dataset: Any) -> Any:
    return dataset


@attrs.frozen
class PrivateMultiplicativeWeights(PersonInTheMiddle[WeightsState]):
    """Online private multiplicative weights; use as `PrivateMultiplicativeWeights(...) @ filter`.

    Answers: LinearQuery with a float, SyntheticHistogram with an array, and PrivacyLossQuery. If
    the synthetic answer is within about `threshold` of the true one, the query is answered from the
    histogram and no update is used. Otherwise the query is measured, and the histogram is moved
    towards the measurement. After `updates` measurements it answers `Refused("cutoff reached")`;
    the histogram stays readable.

    Privacy:
        Claim: what the filter below it is charged: `epsilon`, half for the sparse vector at the
            start, and half in `updates` equal shares as measurements are made.
        Theorem: Hardt, Rothblum 2010; as a postprocessing, Haney et al. 2023, Theorem 2.17.
        Assumes: `encode` maps each record on its own; `records` is public. The claim does not
            depend on the value of `records`: a record moves a weighted count by at most one, and by
            zero if its entry is no element.
        Checked by: tests/unit/mechanisms/test_multiplicative_weights.py
    Args:
        universe: the number of elements, public.
        records: the number of records n, public, or a public guess. The histogram always sums to n,
            so accuracy depends on it: answers from the histogram are as good as the paper's theorem
            states if n records are elements of the universe. If many entries may be missing, add an
            element for them, or give the number of the others.
        epsilon: total, in nats.
        threshold: in records; how wrong an answer may be before the query is measured.
        updates: the most measurements, the paper's cutoff.
        learning_rate: a measurement that is off by a share s of the records multiplies the
            query's weights by exp(learning_rate * s).
        encode: dataset -> one universe index per record, as a list, an array or a frame's column.
            An entry that is not a whole number from 0 to universe - 1 (None, NaN, a null, text,
            2.5) is missing: the record is not counted, and no other record is affected.
    """

    universe: int = attrs.field(converter=_universe)
    records: int = attrs.field(kw_only=True, converter=_records)
    epsilon: Fraction = attrs.field(kw_only=True, converter=read_positive_epsilon)
    threshold: Fraction = attrs.field(kw_only=True, converter=_threshold)
    updates: int = attrs.field(kw_only=True, converter=_updates)
    learning_rate: float = attrs.field(kw_only=True, default=4.0)
    encode: Callable[[Any], Any] = attrs.field(
        kw_only=True, default=_same, validator=attrs.validators.is_callable()
    )

    @learning_rate.validator
    def _positive(self, attribute: object, rate: float) -> None:
        if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 < rate <= 1e300:
            given = quoted(rate)
            raise ValueError(f"learning_rate is {given}; it should be a float or an int above 0")

    def init(self) -> WeightsState:
        """The uniform histogram."""
        return WeightsState(np.full(self.universe, 1 / self.universe))

    def step(
        self, state: WeightsState, message: FromAnalyst | FromMechanism, coins: Coins
    ) -> tuple[WeightsState, ToMechanism | ToAnalyst]:
        """Start the sparse vector; after that answer from the histogram, or ask and measure."""
        match message:
            case FromMechanism(answer) if state.detector is None:
                return self._started(state, answer)
            case FromAnalyst(LinearQuery(weights)):
                weighted = _Weighted(self.encode, self._lattice(weights))
                estimate = self._estimate(state, weighted)
                gap = _Gap(weighted, round(estimate))
                asking = WeightsState(state.histogram, state.detector, weighted, estimate)
                return asking, ToMechanism(Ask(state.detector, gap))
            case FromAnalyst(SyntheticHistogram()):
                return state, ToAnalyst(state.histogram * self.records)
            case FromAnalyst(PrivacyLossQuery() as query):
                return state, ToMechanism(query)
            case FromMechanism(answer):
                return self._on_answer(state, answer)
        raise UnknownQueryError(
            "ask PrivateMultiplicativeWeights LinearQuery, SyntheticHistogram or "
            f"PrivacyLossQuery, not {type(message.query).__name__}"
        )

    def _started(
        self, state: WeightsState, answer: Any
    ) -> tuple[WeightsState, ToMechanism | ToAnalyst]:
        match answer:
            case Launched(child, _):
                return WeightsState(state.histogram, child), ToAnalyst(None)
            case None:
                detector = SparseVector(self.threshold, self.epsilon / 2, cutoff=self.updates)
                return state, ToMechanism(Launch(detector))
        return WeightsState(state.histogram, -1), ToAnalyst(answer)

    def _on_answer(
        self, state: WeightsState, answer: Any
    ) -> tuple[WeightsState, ToMechanism | ToAnalyst]:
        query, idle = state.query, WeightsState(state.histogram, state.detector)
        if query is None:
            return idle, ToAnalyst(answer)
        match answer:
            case False:
                return idle, ToAnalyst(state.estimate)
            case True:
                share = self.epsilon / 2 / self.updates
                return state, ToMechanism(Launch(Laplace(query, epsilon=share)))
            case Launched(None, measured):
                return self._updated(state, query, measured), ToAnalyst(float(measured))
        return idle, ToAnalyst(answer)

    def _updated(self, state: WeightsState, query: _Weighted, measured: int) -> WeightsState:
        gap = (measured - state.estimate) / self.records
        step = self.learning_rate * min(1.0, max(-1.0, gap))
        moved = state.histogram * np.exp(step * query.lattice / _LATTICE)
        return WeightsState(moved / moved.sum(), state.detector)

    def _estimate(self, state: WeightsState, query: _Weighted) -> float:
        products = state.histogram * query.lattice  # the threads of a BLAS product cost more here
        return float(products.sum()) / _LATTICE * self.records

    def _lattice(self, weights: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
        array = np.array(weights)  # a copy, so that the array that is checked is the one used
        if array.shape != (self.universe,):
            raise QueryError(f"weights have shape {array.shape}; it should be ({self.universe},)")
        if array.dtype == np.bool_:
            return array.astype(np.int64) * _LATTICE
        if array.dtype.kind not in "iuf":
            raise QueryError(f"weights are {array.dtype}; they should be numbers in [0, 1]")
        if not bool(np.all((array >= 0) & (array <= 1))):
            raise QueryError("weights should be numbers in [0, 1]")
        return np.floor(array.astype(np.float64) * _LATTICE).astype(np.int64)

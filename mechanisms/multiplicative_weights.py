"""Private multiplicative weights: many linear queries for the price of the surprising ones.

Responsible for a person in the middle that keeps a synthetic histogram over a public universe and
asks the data only where the histogram is wrong. Knows no filter: it works over any that admits a
sparse vector and Laplace measurements.
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
    IntegerStatistic,
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
from queryable.losses.numbers import natural, positive
from queryable.quoting import quoted

Weights = np.ndarray[Any, np.dtype[np.float64]]
_LATTICE = 1 << 20  # weights are whole numbers of 2**-20, so that sums over data are exact


def _copied(weights: Any) -> Any:
    """A read-only array of our own; what is none is kept as it is, and refused when asked."""
    try:
        copy = np.array(weights)
    except Exception:
        return None
    copy.flags.writeable = False
    return copy


@attrs.frozen(eq=False)
class LinearQuery:
    """How many records, each counted with the weight of its universe element.

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
    """The weighted count, rounded down: a record moves it by at most one."""

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
    """The indices below `universe` among the entries; every other entry is left out by itself.

    A whole float is the index that it equals: libraries make integers floats where one is missing.
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
    """How far the weighted count is from a public estimate."""

    weighted: _Weighted
    estimate: int

    l1 = l2 = Fraction(1)
    shape = None

    def value(self, dataset: Any) -> int:
        """Off by at most one where the count is."""
        return abs(self.weighted.value(dataset) - self.estimate)


@attrs.frozen(eq=False)
class WeightsState:
    """The synthetic distribution, the sparse vector's id, and the query under way.

    The estimate is its answer from the distribution.
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


def _epsilon(value: Any) -> Fraction:
    return positive(value, "epsilon")


def _threshold(value: Any) -> Fraction:
    return positive(value, "threshold")


def _same(dataset: Any) -> Any:
    return dataset


@attrs.frozen
class PrivateMultiplicativeWeights(PersonInTheMiddle[WeightsState]):
    """Online private multiplicative weights; use as `PrivateMultiplicativeWeights(...) @ filter`.

    Answers: LinearQuery, SyntheticHistogram, PrivacyLossQuery. A query whose synthetic answer is
    within about `threshold` of the truth is answered from the histogram and costs no update; any
    other is measured, and the histogram moved towards the measurement. After `updates` of those
    it answers `Refused("cutoff reached")`; the histogram stays readable.

    Privacy:
        Claim: what the filter below it is charged: `epsilon`, half for the sparse vector at the
            start and half, in `updates` equal shares, as measurements are made.
        Theorem: Hardt, Rothblum 2010; as a postprocessing, Haney et al. 2023, Theorem 2.17.
        Assumes: `encode` maps each record by itself; `records` is public. The claim does not rest
            on what `records` is: a record moves a weighted count by at most one, and by zero where
            its entry is no element.
        Checked by: tests/unit/mechanisms/test_multiplicative_weights.py
    Args:
        universe: the number of elements, public.
        records: the number of records n, public, or a public guess. The histogram always holds so
            many, so accuracy rests on it: answers from the histogram are as good as the paper's
            theorem says if n records are elements of the universe. Where many may be missing, give
            them an element of their own, or say how many are left.
        epsilon: total, in nats.
        threshold: in records, how wrong an answer may be before it is measured.
        updates: the most measurements, the paper's cutoff.
        learning_rate: a measurement that is off by a share s of the records multiplies the
            query's weights by exp(learning_rate * s).
        encode: dataset -> one universe index per record, as a list, an array or a frame's column.
            An entry that is no whole number from 0 to universe - 1 (None, NaN, a null, text, 2.5)
            is missing: the record is not counted, and no other record is affected.
    """

    universe: int = attrs.field(converter=_universe)
    records: int = attrs.field(kw_only=True, converter=_records)
    epsilon: Fraction = attrs.field(kw_only=True, converter=_epsilon)
    threshold: Fraction = attrs.field(kw_only=True, converter=_threshold)
    updates: int = attrs.field(kw_only=True, converter=_updates)
    learning_rate: float = attrs.field(kw_only=True, default=4.0)
    encode: Callable[[Any], Any] = attrs.field(
        kw_only=True, default=_same, validator=attrs.validators.is_callable()
    )

    @learning_rate.validator
    def _positive(self, attribute: object, rate: float) -> None:
        if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 < rate <= 1e300:
            told = quoted(rate)
            raise ValueError(f"learning_rate is {told}; it should be a float or an int above 0")

    def init(self) -> WeightsState:
        """The uniform histogram."""
        return WeightsState(np.full(self.universe, 1 / self.universe))

    def step(
        self, state: WeightsState, message: FromAnalyst | FromMechanism, coins: Coins
    ) -> tuple[WeightsState, ToMechanism | ToAnalyst]:
        """Start the sparse vector; then answer, or ask it and perhaps measure."""
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
            "private multiplicative weights answers LinearQuery, SyntheticHistogram and "
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
        products = state.histogram * query.lattice  # not a BLAS product: its threads cost more here
        return float(products.sum()) / _LATTICE * self.records

    def _lattice(self, weights: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
        array = np.array(weights)  # of our own: what is checked is what is used
        if array.shape != (self.universe,):
            raise QueryError(f"weights have shape {array.shape}; it should be ({self.universe},)")
        if array.dtype == np.bool_:
            return array.astype(np.int64) * _LATTICE
        if array.dtype.kind not in "iuf":
            raise QueryError(f"weights are {array.dtype}; they should be numbers in [0, 1]")
        if not bool(np.all((array >= 0) & (array <= 1))):
            raise QueryError("weights should be numbers in [0, 1]")
        return np.floor(array.astype(np.float64) * _LATTICE).astype(np.int64)

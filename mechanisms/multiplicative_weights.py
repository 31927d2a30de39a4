"""Private multiplicative weights: many linear queries, of which only surprising ones are paid for.

`PrivateMultiplicativeWeights` is a postprocessor (a person in the middle in the terms of Haney et
al. 2023). It keeps a synthetic histogram over a public universe, and asks the data only where the
histogram is wrong. It works over any filter that admits a sparse vector and Laplace measurements.
"""

from collections.abc import Callable
from fractions import Fraction
from math import prod
from typing import Any

import attrs
import numpy as np

from mechanisms.laplace import Laplace
from mechanisms.linear_queries import (
    LATTICE,
    Gap,
    LinearQuery,
    Weighted,
    counts_of,
    keys_of,
)
from mechanisms.sparse_vector import SparseVector
from mechanisms.tables.expressions.operands import ExpressionPart
from mechanisms.tables.expressions.predicates import IsIn, Predicate
from mechanisms.tables.statistics.aggregates import Aggregate
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
from queryable.effort import take, write
from queryable.losses.fields import read_positive_epsilon
from queryable.losses.numbers import at_least_one, natural, positive
from queryable.statistics import IntegerStatistic
from queryable.wording.quoting import quoted

Weights = np.ndarray[Any, np.dtype[np.float64]]


@attrs.frozen
class SyntheticHistogram:
    """Ask for the current histogram: expected counts, of the universe's shape. Costs nothing."""


@attrs.frozen(eq=False)
class WeightsState:
    """The synthetic distribution, the sparse vector's id, and the query that is being answered.

    `estimate` is the query's answer from the distribution.
    """

    histogram: Weights = attrs.field(repr=False)
    detector: Any = None
    query: Weighted | None = None
    estimate: float = 0.0


MOST_ELEMENTS = 10**7
"""The largest universe: the histogram is held in memory, and every query reads it."""


def _universe(value: Any) -> int | Aggregate:
    if isinstance(value, IntegerStatistic):
        grouped = counts_of(value)
        _enough(prod(grouped.shape or ()))
        return grouped
    return _enough(natural(value, "universe"))


def _enough(size: int) -> int:
    if not 2 <= size <= MOST_ELEMENTS:
        raise ValueError(
            f"universe is {quoted(size)}; it should have at least 2 elements, and {MOST_ELEMENTS} "
            "at most"
        )
    return size


def _records(value: Any) -> int:
    return at_least_one(value, "records")


def _updates(value: Any) -> int:
    return at_least_one(value, "updates")


def _threshold(value: Any) -> Fraction:
    return positive(value, "threshold")


_CHARACTERS = 20
"""Of a float."""


def _require_short(steps: int, characters: int = 0) -> None:
    if not (take(steps) and write(characters)):
        raise QueryError(
            "the histogram is too large to be read in one message to a curator that others ask "
            "too; launch one of fewer elements, or name fewer values. The owner can allow more "
            "(steps, growth)"
        )


def _comparisons(part: Any) -> int:
    """How many times a predicate compares an element."""
    inner = (each for each in part.parts if isinstance(each, ExpressionPart))
    return sum(map(_comparisons, inner), len(part.values) if isinstance(part, IsIn) else 1)


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
            zero if its entry is no element. With a histogram as universe, a privacy unit moves a
            weighted count by at most the histogram's `l1`, as weights are at most 1; the noise of
            the sparse vector and of the measurements is proportional to that.
        Checked by: tests/unit/mechanisms/test_multiplicative_weights.py
    Args:
        universe: the number of elements, public; or a count in public groups, which are then the
            elements: a `Histogram`, or `table.group_by(..).count()`. A `Table` evaluates it once
            for all queries. Weights and answers have its shape.
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

    universe: int | Aggregate = attrs.field(converter=_universe)
    records: int = attrs.field(kw_only=True, converter=_records)
    epsilon: Fraction = attrs.field(kw_only=True, converter=read_positive_epsilon)
    threshold: Fraction = attrs.field(kw_only=True, converter=_threshold)
    updates: int = attrs.field(kw_only=True, converter=_updates)
    learning_rate: float = attrs.field(kw_only=True, default=4.0)
    encode: Callable[[Any], Any] = attrs.field(
        kw_only=True, default=_same, validator=attrs.validators.is_callable()
    )

    encoded: Weighted | None = attrs.field(init=False, eq=False, repr=False)
    """What encoded records are asked. Data are checked by it before a launch is charged."""

    @encoded.default
    def _of_records(self) -> Weighted | None:
        none = np.zeros(1, dtype=np.int64)
        return Weighted(self.encode, none) if self.counted is None else None

    @learning_rate.validator
    def _positive(self, attribute: object, rate: float) -> None:
        if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 < rate <= 1e300:
            given = quoted(rate)
            raise ValueError(f"learning_rate is {given}; it should be a float or an int above 0")

    def __attrs_post_init__(self) -> None:
        """Reject a function that would not be called.

        Raises:
            TypeError: there is an `encode` although the universe is a histogram.
        """
        if self.counted is not None and self.encode is not _same:
            raise TypeError("leave encode out: the universe is a count in groups of the columns")

    @property
    def counted(self) -> Aggregate | None:
        """The histogram whose groups are the elements, if there is one."""
        return self.universe if isinstance(self.universe, Aggregate) else None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of weights and of the histogram."""
        if isinstance(self.universe, Aggregate):
            return self.universe.shape or ()
        return (self.universe,)

    continual = False  # it combines answers about one data set

    def init(self) -> WeightsState:
        """The uniform histogram."""
        size = prod(self.shape)
        return WeightsState(np.full(size, 1 / size))

    def step(
        self, state: WeightsState, message: FromAnalyst | FromMechanism, coins: Coins
    ) -> tuple[WeightsState, ToMechanism | ToAnalyst]:
        """Start the sparse vector; after that answer from the histogram, or ask and measure."""
        match message:
            case FromMechanism(answer) if state.detector is None:
                return self._started(state, answer)
            case FromAnalyst(LinearQuery(weights, predicate)):
                elements = prod(self.shape)
                _require_short(
                    elements // 10 if predicate is None else elements * _comparisons(predicate)
                )
                given = weights if predicate is None else self._selected(predicate)
                weighted = Weighted(self.encode, self._lattice(given), self.counted)
                estimate = self._estimate(state, weighted)
                gap = Gap(weighted, round(estimate))
                asking = WeightsState(state.histogram, state.detector, weighted, estimate)
                return asking, ToMechanism(Ask(state.detector, gap))
            case FromAnalyst(SyntheticHistogram()):
                _require_short(prod(self.shape) // 10, _CHARACTERS * prod(self.shape))
                return state, ToAnalyst((state.histogram * self.records).reshape(self.shape))
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
                most = 1 if self.counted is None else self.counted.l1.__ceil__()
                return state, ToMechanism(Launch(self._detector(most)))
        return WeightsState(state.histogram, -1), ToAnalyst(answer)

    def _detector(self, most: int) -> SparseVector:
        """What finds the queries that are answered wrongly. A gap may move both ways."""
        return SparseVector(
            self.threshold,
            self.epsilon / 2,
            cutoff=self.updates,
            sensitivity=most,
            monotone=False,
        )

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

    def _updated(self, state: WeightsState, query: Weighted, measured: int) -> WeightsState:
        gap = (measured - state.estimate) / self.records
        step = self.learning_rate * min(1.0, max(-1.0, gap))
        moved = state.histogram * np.exp(step * query.lattice / LATTICE)
        return WeightsState(moved / moved.sum(), state.detector)

    def _estimate(self, state: WeightsState, query: Weighted) -> float:
        products = state.histogram * query.lattice  # the threads of a BLAS product cost more here
        return float(products.sum()) / LATTICE * self.records

    def _selected(self, predicate: Predicate) -> Any:
        """The elements whose keys satisfy a predicate."""
        keys = {} if self.counted is None else keys_of(self.counted)
        try:
            return predicate.holds(keys).reshape(self.shape)
        except (KeyError, TypeError, ValueError) as error:
            raise QueryError(
                f"the predicate should be about the columns of keys, which are {sorted(keys)}; "
                f"here {error.args[0] if error.args else type(error).__name__}"
            ) from None

    def _lattice(self, weights: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
        array = np.array(weights)  # a copy, so that the array that is checked is the one used
        if array.shape != self.shape:
            raise QueryError(f"weights have shape {array.shape}; it should be {self.shape}")
        array = array.reshape(-1)
        if array.dtype == np.bool_:
            return array.astype(np.int64) * LATTICE
        if array.dtype.kind not in "iuf":
            raise QueryError(f"weights are {array.dtype}; they should be numbers in [0, 1]")
        if not bool(np.all((array >= 0) & (array <= 1))):
            raise QueryError("weights should be numbers in [0, 1]")
        return np.floor(array.astype(np.float64) * LATTICE).astype(np.int64)

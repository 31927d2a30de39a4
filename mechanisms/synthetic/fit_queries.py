"""The queries of `Synthetic`, and their answers."""

from fractions import Fraction
from typing import Any

import attrs
import numpy as np
from flint import arb

from mechanisms.frugal.frugal_queries import rounded
from mechanisms.frugal.spread import LEAST_VARIANCE, Spread
from mechanisms.tables.statistics.releases import labelled
from queryable.answers.half_widths import confidence_of
from queryable.answers.noisy import Paid, Uncertain
from queryable.answers.released import Released
from queryable.data.frozen import by_value
from queryable.losses import ZCDP
from queryable.losses.numbers import at_least_one, natural, positive, round_up

_PASSED_OVER = Fraction(1, 10)
"""The share of what may be missed that goes to marginals that were not chosen."""


@attrs.frozen
class Fit:
    """Ask `Synthetic` to choose and measure marginals, and to fit its model to all of them.

    Attributes:
        loss: the most that may be charged: a `ZCDP`, or its rho, for data that differ in one
            record or privacy unit. A filter that is stated for d_in of them is charged d_in**2
            times that, as for a `Gaussian`.
        rounds: the most marginals that are chosen for it, beside columns that were not measured
            alone yet; 0 measures only these. None for as many as the person's own `rounds` makes.
    """

    loss: Any
    rounds: Any = None


@attrs.frozen
class Measurements:
    """Ask for everything that was measured: a tuple of `Measured`. Costs nothing."""


@attrs.frozen
class FromModel:
    """Ask the model for a count: answers a `Modelled`. Costs nothing.

    Attributes:
        statistic: a `Count` or `Histogram`, or a `GroupBy` of one, whose predicates and groups are
            about the public keys and intervals of the model's columns.
    """

    statistic: Any


@attrs.frozen
class SampleRows:
    """Ask for rows of the model: answers `SyntheticRows`. Costs nothing.

    Attributes:
        rows: how many.
    """

    rows: Any


@attrs.frozen
class Measured:
    """A noisy marginal: the counts of rows in each cell of some columns.

    Attributes:
        columns: their names.
        counts: with discrete Gaussian noise; one dimension for each column, with an entry for each
            of its keys or intervals and the last for all other rows. Intervals are preceded by the
            rows below the first edge, and followed by those from the last edge on.
        variance: of the noise of each count.
    """

    columns: tuple[str, ...]
    counts: Any = attrs.field(eq=by_value)
    variance: Fraction


@attrs.frozen
class ModelFit(Paid):
    """What a fit has measured.

    Attributes:
        measured: the marginals in the order in which they were chosen.
        cost: the loss of choosing and measuring them, for one record or privacy unit.
        rows: the number of rows by all measurements, rounded.
    """

    measured: tuple[Measured, ...]
    cost: ZCDP
    rows: int

    def __str__(self) -> str:
        chosen = "; ".join(", ".join(each.columns) for each in self.measured)
        return f"{self.rows} rows, from {chosen}; cost {self.cost}"


def _variance(value: Any) -> Fraction:
    return positive(value, "variance")


def _size(value: Any) -> int:
    return natural(value, "size")


def _number(value: Any) -> int:
    return at_least_one(value, "number")


@attrs.frozen
class Direct:
    """The noisy count of a question in one measured marginal, without the model.

    Attributes:
        value: an int, or an int64 array.
        cells: the number of noisy counts that were added up for it; of the shape of `value`.
        variance: of the noise of each of these.
        size: the number of cells of the marginal.
        number: the place of the marginal among all measurements, from 1.
    """

    value: Any = attrs.field(eq=by_value)
    cells: Any = attrs.field(eq=by_value)
    variance: Fraction = attrs.field(converter=_variance)
    size: int = attrs.field(converter=_size)
    number: int = attrs.field(converter=_number)

    @cells.validator
    def _from_zero_on(self, attribute: object, cells: Any) -> None:
        if not np.min(cells, initial=0) >= 0:
            raise ValueError("cells should be numbers from 0 on")

    def half_widths(self, missed: Fraction, *, fixed_in_advance: bool) -> Any:
        """For each entry, what its noise exceeds with probability at most `missed`."""
        cells = np.asarray(self.cells)
        found = np.zeros(cells.shape, dtype=np.int64)
        for many in np.unique(cells).tolist():
            width = self._half_width(many, missed, fixed=fixed_in_advance)
            found[cells == many] = width.__floor__()
        return found

    def _half_width(self, many: int, missed: Fraction, *, fixed: bool) -> Fraction:
        if many == 0:
            return Fraction(0)
        variance, square = many * self.variance, Fraction(many)
        if fixed and not self.variance >= LEAST_VARIANCE:
            return round_up(lambda v, m: (2 * v * (2 / m).log()).sqrt(), variance, missed)
        ledger = (Fraction(1), self.size, self.number)
        spread = Spread(variance, square, self.size, Fraction(0), 2 * variance, (ledger,))
        return spread.in_advance(missed) if fixed else spread.always(missed)


@attrs.frozen
class PassedOver:
    """What the last choice says about a marginal that was not chosen: how far the model is from it.

    Docs/theory/proofs/synthetic.md: the chosen marginal was about as far from the model as any
    other, and a measurement says how far that was.

    Attributes:
        distance: by the measurement of the chosen marginal, in rows.
        square: of the noise in it: the variance times the number of counts.
        scale: of the choice: what one nat of its score is, in rows.
        candidates: how many there were.
        number: of the choice, from 1.
        moved: how far the model has moved since.
    """

    distance: Fraction
    square: Fraction
    scale: Fraction
    candidates: int
    number: int
    moved: Fraction

    def half_width(self, missed: Fraction) -> Fraction:
        """What the L1 distance of the model's marginal exceeds with probability at most this.

        For all marginals that were passed over, and all choices, at once. A tenth of it is used, so
        that intervals of what was measured may fail besides.
        """

        def beyond(square: arb, scale: arb, many: arb, m: arb) -> arb:
            return (2 * square * (2 / m).log()).sqrt() + scale * (2 * many / m).log()

        share = missed * _PASSED_OVER / (self.number * (self.number + 1))
        many = Fraction(self.candidates)
        more = round_up(beyond, self.square, self.scale, many, share)
        return max(self.distance + more, Fraction(0)) + self.moved


@attrs.frozen
class Modelled(Uncertain):
    """A count by the model, and what the measurements say about it.

    Attributes:
        value: by the model: a float, or a read-only float64 array.
        direct: the count in each measured marginal that has all columns of the question, in the
            order in which they were measured.
        passed_over: if there is none, what is known about a marginal that has all columns of the
            question and could have been chosen; None if there is no such marginal either.
    """

    value: Any = attrs.field(eq=by_value)
    direct: tuple[Direct, ...] = ()
    passed_over: PassedOver | None = None

    @property
    def measured(self) -> bool:
        """Whether a marginal with all columns of the question was measured.

        If not, the value is what the model supposes. Its interval, if there is one, is wide: it is
        about how far the model can be from a marginal that was not chosen.
        """
        return bool(self.direct)

    def interval(
        self, confidence: Any = 0.95, *, fixed_in_advance: bool = False
    ) -> tuple[Any, Any] | None:
        """The least and the greatest integer that the true count may be; None if nothing is known.

        Of what was measured, it is about the measured counts, and the value may be outside.

        Args:
            confidence: a probability above 0 and below 1; for an array, of each entry separately.
            fixed_in_advance: whether this question, and that its answer is the one to be used, was
                fixed before the first fit. The interval is then narrower, and holds for this
                question by itself. By default questions and fits may depend on answers.

        Returns:
            Two ints, or two int64 arrays. Where measurements contradict each other, the first is
            the larger one.
        """
        missed = 1 - confidence_of(confidence)
        lows, highs = [], []
        if not self.direct:
            if self.passed_over is None:
                return None
            far = float(self.passed_over.half_width(missed)) + 2.0**-10
            lows, highs = [np.ceil(self.value - far)], [np.floor(self.value + far)]
        for place, each in enumerate(self.direct, start=1):
            # these shares of all measurements together are below 1 - _PASSED_OVER
            part = (1 - _PASSED_OVER) / (place * (place + 1))
            share = missed * part if fixed_in_advance else missed
            wide = each.half_widths(share, fixed_in_advance=fixed_in_advance)
            lows.append(each.value - wide)
            highs.append(each.value + wide)
        low, high = np.max(lows, axis=0), np.min(highs, axis=0)
        low, high = (np.maximum(each, 0).astype(np.int64) for each in (low, high))  # counts
        return (low, high) if isinstance(self.value, np.ndarray) else (int(low), int(high))

    def without_interval(self) -> Any:
        """The value."""
        return self.value

    def labelled(self, statistic: Any) -> Released:
        """The answer with the keys of its entries.

        Args:
            statistic: what was asked.

        Returns:
            It prints as a table, and has `to_pandas`, `to_polars` and `to_arrow`, and `interval` if
            something is known about the error. The estimate may be outside: see `interval`.
        """
        return labelled(statistic, self.value, self.interval)

    def __str__(self) -> str:
        found = f"{rounded(self.value)} by the model"
        if not isinstance(self.value, np.ndarray) and (ends := self.interval()) is not None:
            found = f"{found} (95% interval: {ends[0]:,} to {ends[1]:,})"
        return found if self.measured else f"{found}; its columns were not measured together"


@attrs.frozen
class SyntheticRows:
    """Rows of a model.

    Attributes:
        names: of the columns.
        labels: for each column the value of each of its cells: a key, or the lower edge of an
            interval. None for rows that are in no group.
        places: for each row the place of its cell, in each column.
    """

    names: tuple[str, ...]
    labels: tuple[tuple[Any, ...], ...]
    places: Any = attrs.field(eq=by_value, repr=False)

    @property
    def columns(self) -> dict[str, list[Any]]:
        """The values of each column, as a data set for `Queryable`."""
        return {
            name: [labels[place] for place in self.places[:, column].tolist()]
            for column, (name, labels) in enumerate(zip(self.names, self.labels, strict=True))
        }

    def to_pandas(self) -> Any:
        """A pandas frame.

        Raises:
            ImportError: pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError:
            raise ImportError(
                "install pandas first (pip install pandas), or use `columns`, a dict of lists"
            ) from None
        return pd.DataFrame(self.columns)

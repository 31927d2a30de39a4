"""Private quantiles: values of a public grid, each with an interval for the exact quantile.

`Quantiles` counts cells at the values of a grid and between them, in public groups if wanted.
`PrivateQuantiles` draws from these counts: an estimate and two ends for each level and group.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import inf, prod
from typing import Any

import attrs
import numpy as np

from mechanisms.privacy_maps import largest_within, with_zcdp
from mechanisms.sampling.choices import Softmax
from mechanisms.tables.expressions.operands import Operand, operand_name, operand_of
from mechanisms.tables.expressions.predicates import Where, where_field
from mechanisms.tables.expressions.scalars import Scalar, alike
from mechanisms.tables.quantiles.brackets import Brackets, least_shift
from mechanisms.tables.quantiles.grids import around, grid_field, levels_field
from mechanisms.tables.requests.keys import groups_of
from mechanisms.tables.requests.privacy_unit import Contribution, PrivacyUnit
from mechanisms.tables.requests.request import Groups, Request, Term
from mechanisms.tables.requests.wording import notes_on_rows
from mechanisms.tables.statistics.aggregates import Aggregate, per_field
from mechanisms.tables.statistics.group_by import require_room
from queryable.answers.estimates import Axis
from queryable.answers.evidence import Evidence
from queryable.answers.half_widths import confidence_of
from queryable.answers.notes import on_grid
from queryable.answers.released import Released
from queryable.answers.values import Value, array_of
from queryable.data.cells import Array
from queryable.effort import Effort
from queryable.events.laws import ChoiceEvent
from queryable.losses import Loss, Measure, PureDP, total
from queryable.losses.fields import read_positive_epsilon
from queryable.losses.numbers import Number, natural, shown
from queryable.mechanism import Measurement
from queryable.randomness.coins import Coins
from queryable.wording.quoting import quoted


def _by(value: Any) -> tuple[Groups, ...]:
    empty = value is None or (isinstance(value, Mapping | tuple | list) and not value)
    return () if empty else groups_of(value)


@attrs.frozen
class Quantiles(Aggregate):
    """Quantiles of a column at several levels, or in each of some groups, in one pass.

    `Queryable.release` answers their values, with intervals if a confidence is asked; see
    `PrivateQuantiles`. A mechanism that is launched by hand gets counts, from which every quantile
    follows: for n candidates the value has 2 n + 1 entries per group. Entry 2 i + 1 counts the
    cells at candidate i; the entries before and after it count the cells between it and its
    neighbours. Missing cells are not counted.

    Args:
        column: its name, or `column(name)`.
        levels: from 0 to 1, rationals: "1/2" for the median, or several, such as ["1/4", "3/4"].
            Several levels share the loss equally.
        grid: the public candidates, ascending: numbers, dates, or other constants that compare with
            cells. Answers are among them.
        where: which records, as for `Count`.
        by: public keys by column, as for `GroupBy`.
        per: the privacy unit, as for `Count`. Its bounds on groups are about the groups of `by`.
    """

    column: Operand = attrs.field(converter=operand_of)
    levels: Fraction | tuple[Fraction, ...] = attrs.field(converter=levels_field)
    grid: tuple[Scalar, ...] = attrs.field(converter=grid_field, eq=alike)
    where: Where | None = attrs.field(default=None, converter=where_field)
    by: tuple[Groups, ...] = attrs.field(default=(), kw_only=True, converter=_by)
    per: PrivacyUnit | None = attrs.field(default=None, kw_only=True, converter=per_field)

    groupable = False
    largest = (1,)
    monotone = "up"
    scores_instead = "Quantile(column, level, grid)"
    """What to give to a mechanism that chooses by scores."""

    def __attrs_post_init__(self) -> None:
        """Reject here what would run out of memory after it was charged."""
        require_room(self.shape)

    @property
    def several_levels(self) -> tuple[Fraction, ...]:
        """The levels as a tuple, even if there is one."""
        return self.levels if isinstance(self.levels, tuple) else (self.levels,)

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """By group, one count per candidate and one for each space around them."""
        return (*(each.size for each in self.by), 2 * len(self.grid) + 1)

    @property
    def public_name(self) -> str:
        """The levels, the column and the groups: `Median of age by state`."""
        levels = ", ".join(map(str, self.several_levels))
        kind = f"Quantiles {levels}" if isinstance(self.levels, tuple) else f"{levels}-quantile"
        name = "Median" if self.levels == Fraction(1, 2) else kind
        groups = ", ".join(name for each in self.by for name in each.names)
        return f"{name} of {operand_name(self.column)}{' by ' if groups else ''}{groups}"

    @property
    def request(self) -> Request:
        """The number of cells at the candidates and between them, by group."""
        by: tuple[Groups, ...] = (*self.by, around(self.column, self.grid))
        return Request((Term(),), self.where, by, self.per)

    @property
    def contribution(self) -> Contribution:
        """The norms of a unit's number of rows in each group: bins of the grid are no groups."""
        return self.request.contribution

    def combined(self, totals: Array) -> Array:
        """The counts."""
        return totals

    @property
    def keys(self) -> tuple[Axis, ...]:
        """The axes of an answer: the keys of the groups, then the levels if there are several."""
        groups = [by.axis for by in self.by]
        levels = tuple((float(level),) for level in self.several_levels)
        several = isinstance(self.levels, tuple)
        return (*groups, Axis(("level",), levels)) if several else tuple(groups)

    def measurement(
        self,
        measure: Measure,
        d_in: int,
        *,
        within: Number | None = None,
        confidence: Number | None = None,
        loss: Loss | None = None,
    ) -> "PrivateQuantiles":
        """The mechanism that answers these quantiles at a loss; `Queryable.release` launches it.

        Args:
            confidence: of each interval. By default there are none, and all of the loss is for the
                estimates.

        Raises:
            TypeError: `within` is given: how wide the interval is depends on the data.
        """
        if within is not None or loss is None:
            raise TypeError(
                "give loss= instead of within=: how wide the interval of a quantile is depends on "
                "the data"
            )
        return largest_within(
            lambda epsilon: PrivateQuantiles(self, epsilon, confidence), loss, measure, d_in
        )

    def values(self, places: tuple[int, ...]) -> Value:
        """The candidates at these places, in the shape of an answer.

        The places -1 and n are beyond the grid of n candidates.
        """
        shape = tuple(len(axis.values) for axis in self.keys)
        ends = (-inf, inf) if isinstance(self.grid[0], int | float) else (None, None)
        values = [(*self.grid, *reversed(ends))[place] for place in places]
        return array_of(values).reshape(shape) if shape else values[0]


@attrs.frozen(eq=False)
class Enclosed(Evidence):
    """The ends of the intervals of released quantiles.

    Args:
        low, high: the ends, shaped as the estimate.
        most: the confidence of each interval by itself; None if they were left out.
        about: notes on the estimates, which follow from their places in the grid; None if none.
    """

    low: Value
    high: Value
    most: Fraction | None
    about: tuple[str, ...] | None = None

    def notes(self, estimate: Any) -> tuple[str, ...]:
        """Those that were made with the estimate."""
        return self.about or ()

    def interval(self, confidence: Fraction, *, simultaneous: bool) -> tuple[Value, Value]:
        """The ends, at any confidence up to their own; by the union bound if they hold at once.

        Raises:
            ValueError: the confidence is higher. Ends at a higher one need another launch.
        """
        if self.most is None:
            raise ValueError(
                "release the quantiles with a confidence, such as 0.95: these were released "
                "without intervals, which take four fifths of the loss from the estimates"
            )
        many = np.size(self.low) if simultaneous else 1
        if not confidence <= 1 - many * (1 - self.most):
            needed = 1 - (1 - confidence) / many
            raise ValueError(
                f"release the quantiles with confidence={shown(needed)} for this interval, in "
                f"another launch: the ends were drawn for {shown(self.most)} each"
            )
        return self.low, self.high

    def __eq__(self, other: object) -> bool:
        if type(other) is not Enclosed:
            return False
        same = np.array_equal(self.low, other.low) and np.array_equal(self.high, other.high)
        return same and self.most == other.most

    def __hash__(self) -> int:
        return hash(self.most)


def _counts(value: Any) -> Quantiles:
    if type(value) is not Quantiles:  # a subclass could count rows more than once
        raise TypeError(f"counts is {quoted(value)}; it should be Quantiles(column, levels, grid)")
    return value


def _confidence(value: Any) -> Fraction | None:
    return None if value is None else confidence_of(value)


_ESTIMATE, _END = Fraction(1, 5), Fraction(2, 5)


@attrs.frozen
class PrivateQuantiles(Measurement[Released]):
    """Chooses values of a grid as estimates of quantiles, with an interval for each.

    A quantile at level q of n cells is any value with at most q n cells below it and at most
    (1 - q) n above it. The interval holds all of them with probability `confidence`, for any data:
    tied cells, cells beyond the grid, no cells at all. Where the grid has no value that is known to
    be beyond the quantiles, that end is infinite, or None if the values are not numbers. At the
    levels 0 and 1 every value beyond the data is a quantile, so one end is infinite.

    The estimate is the value of the grid that is nearest to the quantile in rank, up to noise.

    A fifth of epsilon is for the estimate and two fifths are for each end of the interval. Levels
    share epsilon equally. Each group has all of it: a row is in one group. The ends of intervals
    that hold at higher confidence are further away, but cost the same.

    Privacy:
        Claim: PureDP(d_in * epsilon). In zCDP, d_in^2 / 8 times the sum of the squares of the
            draws' shares of epsilon; with groups this times l2^2 / l1^2, where l1 and l2 are the
            norms of the number of a unit's rows in each group.
        Theorem: docs/theory.md, quantile brackets: composition of exponential mechanisms (McSherry,
            Talwar 2007) whose ranges are bounded (Durfee, Rogers 2019; Cesar, Rogers 2021).
        Assumes: as the counts.
        Checked by: tests/unit/mechanisms/tables/quantiles/test_choices.py,
            tests/audit/test_mechanisms.py

    Args:
        counts: the column, its grid, its levels and its groups.
        epsilon: in nats, at d_in=1, for all levels together.
        confidence: of each interval by itself. None leaves the intervals out, and all of epsilon is
            for the estimates.
    """

    counts: Quantiles = attrs.field(converter=_counts)
    epsilon: Fraction = attrs.field(converter=read_positive_epsilon)
    confidence: Fraction | None = attrs.field(default=Fraction(19, 20), converter=_confidence)

    @property
    def public_name(self) -> str:
        """The quantiles, and which rows they are about."""
        return self.counts.asked

    def loss(self, d_in: int) -> PureDP:
        """d_in * epsilon."""
        return PureDP(d_in * self.epsilon)

    def privacy_map(self, d_in: int, measure: Measure | None = None) -> Loss:
        """The sum of the losses of the draws."""
        units = max(natural(d_in, "d_in"), 1)
        draws = [self._of_draw(units * each, measure) for each in self._shares]
        levels = len(self.counts.several_levels)
        composed = total(draws * levels, draws[0].measure)
        return composed if d_in else composed.zero()

    def _of_draw(self, epsilon: Fraction, measure: Measure | None) -> Loss:
        rows = self.counts.contribution
        pure = PureDP(epsilon)
        return with_zcdp(
            pure if measure is None else pure.to(measure),
            lambda: epsilon**2 * Fraction(rows.l2_squared, 8 * rows.l1**2),
            measure,
        )

    @property
    def _shares(self) -> tuple[Fraction, ...]:
        """The epsilons of the draws for one level: the estimate, the lower and the upper end."""
        each = self.epsilon / len(self.counts.several_levels)
        return (each,) if self.confidence is None else (each * _ESTIMATE, each * _END, each * _END)

    def events(self) -> tuple[ChoiceEvent, ...] | None:
        """The draws for all levels; None with groups, whose draws share what a unit moves."""
        if self.counts.by:
            return None
        found = []
        for level in self.counts.several_levels:
            brackets = Brackets(level, len(self.counts.grid))
            moved = brackets.sensitivity * Fraction(self.counts.contribution.l1)
            for place, share in enumerate(self._shares):  # `middle` moves by twice as much
                size = moved if place else 2 * moved
                many = brackets.candidates + (1 if place else 0)
                found.append(ChoiceEvent(False, share / (2 * size), size, False, many))
        return tuple(found)

    @property
    def effort(self) -> Effort:
        """For each group and level three choices among the values of the grid and their gaps."""
        groups = prod(self.counts.shape or ()) // (2 * len(self.counts.grid) + 1)
        draws = groups * len(self.counts.several_levels) * len(self._shares)
        return Effort(300 + draws * (200 + 3 * len(self.counts.grid)), 300 + 40 * draws)

    def has_number(self, of: str | int | None) -> bool:
        """Whether it is the estimate, and that is one number."""
        one = all(isinstance(each, int | float) for each in self.counts.grid)
        return of in (None, "estimate") and one and not self.counts.keys

    def release(self, dataset: Any, coins: Coins) -> Released:
        """The estimates, with the ends of their intervals."""
        groups = self.counts(dataset).reshape(-1, 2 * len(self.counts.grid) + 1)
        drawn = [
            self._placed([coins.draw(law) for law in self.laws(level, counts)])
            for counts in groups
            for level in self.counts.several_levels
        ]
        places = tuple(zip(*drawn, strict=True))
        estimates, low, high = map(self.counts.values, places)
        evidence = Enclosed(low, high, self.confidence, self._notes(*places) or None)
        return Released(estimates, self.counts.keys, self.public_name, evidence=evidence)

    def _notes(self, *places: tuple[int, ...]) -> tuple[str, ...]:
        """What the places in the grid, of estimates and of ends, and the bounds on rows say."""
        several = bool(self.counts.keys)
        middle, low, high = (np.array(each) if several else each[0] for each in places)
        ends = None if self.confidence is None else (low, high)
        rows = notes_on_rows(self.counts.request)
        return (*rows, *on_grid(self.counts.grid, middle, ends))

    def laws(self, level: Fraction, counts: Array) -> tuple[Softmax, ...]:
        """The laws of the draws for one level and the counts of one group, see `Brackets`."""
        brackets = Brackets(level, len(self.counts.grid))
        moved = 2 * brackets.sensitivity * self.counts.contribution.l1
        middle = brackets.middle(counts, self._shares[0] / moved)
        if self.confidence is None:
            return (middle,)
        rate = self._shares[1] / moved
        shift = least_shift(brackets.candidates, rate, (1 - self.confidence) / 2)
        return middle, brackets.lower(counts, shift, rate), brackets.upper(counts, shift, rate)

    def _placed(self, drawn: Sequence[int]) -> tuple[int, int, int]:
        """The places in the grid of an estimate and of the ends of its interval.

        An end inside of the estimate is moved to it, which only widens the interval.
        """
        if self.confidence is None:
            return drawn[0], -1, len(self.counts.grid)
        estimate, reached, high = drawn
        return estimate, min(reached - 1, estimate), max(high, estimate)

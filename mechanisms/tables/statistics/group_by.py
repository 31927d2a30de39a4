"""A statistic of a table's columns in each of some public groups, as one vector."""

from collections.abc import Iterator
from fractions import Fraction
from math import prod
from typing import Any, Self

import attrs

from mechanisms.tables.requests.keys import groups_of
from mechanisms.tables.requests.request import Groups, Request
from mechanisms.tables.statistics.aggregates import Aggregate, sums
from queryable.answers.estimates import Axis
from queryable.answers.near import Near
from queryable.answers.released import Released
from queryable.data.cells import Array
from queryable.randomness.laws import Law
from queryable.statistics import Monotone
from queryable.wording.quoting import quoted

MOST_ENTRIES = 10**7
"""The largest number of entries of an answer; they are held in memory."""
_MOST_AXES = 30  # numpy has 32


def require_room(shape: tuple[int, ...]) -> None:
    """Check the shape of a statistic in groups.

    Raises:
        ValueError: it has too many entries or dimensions.
    """
    if not prod(shape) <= MOST_ENTRIES or not len(shape) <= _MOST_AXES:
        raise ValueError(
            f"give fewer keys: by makes {prod(shape)} numbers of {len(shape)} dimensions, and an "
            f"answer has at most {MOST_ENTRIES} of {_MOST_AXES}"
        )


@sums
@attrs.frozen
class GroupBy(Aggregate):
    """A statistic in each of some public groups: one vector, one query, one launch.

    A record is in at most one group: the one whose keys its cells equal, or in whose intervals they
    are, as in `Histogram`. So for rows the sensitivity is the statistic's own. For a privacy unit
    its bounds on groups and on rows in each group apply, and the sensitivity is computed from them.

    Args:
        by: public keys by column: `{"state": ["CA", "NY"], "sex": [1, 2]}` makes 2 x 2 groups; or
            `Keys`, a pair of a column and its values, or several of these.
        statistic: Count, CountUnits, Sum, Mean, Variance, Histogram or UnitSizes. Its shape follows
            the groups' in the shape of the answer: (2, 2) for a Sum by the two columns, (2, 2, 2)
            for a Mean.
    """

    by: tuple[Groups, ...] = attrs.field(converter=groups_of)
    statistic: Aggregate = attrs.field()

    @statistic.validator
    def _groupable(self, attribute: object, statistic: Any) -> None:
        if not isinstance(statistic, Aggregate) or not statistic.groupable:
            raise TypeError(
                f"statistic is {quoted(statistic)}; it should be a Count, CountUnits, Sum, Mean, "
                "Variance, Histogram or UnitSizes"
            )

    def __attrs_post_init__(self) -> None:
        """Reject here what would run out of memory after it was charged."""
        require_room(self.shape)

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """The number of keys in each dimension, and the statistic's own shape."""
        return (*(each.size for each in self.by), *(self.statistic.shape or ()))

    @property
    def request(self) -> Request:
        """The statistic's totals, in groups."""
        request = self.statistic.request
        return attrs.evolve(request, by=(*self.by, *request.by))

    def of_rows(self) -> Self:
        """The same groups of the statistic without its privacy unit."""
        return attrs.evolve(self, statistic=self.statistic.of_rows())

    @property
    def largest(self) -> tuple[int, ...]:
        """As for the statistic."""
        return self.statistic.largest

    @property
    def monotone(self) -> Monotone | None:  # type: ignore[override]
        """As for the statistic."""
        return self.statistic.monotone

    @property
    def public_name(self) -> str:
        """The statistic's name and the columns: `Sum(hours) by state`."""
        names = ", ".join(name for each in self.by for name in each.names)
        return f"{self.statistic.public_name} by {names}"

    def combined(self, totals: Array) -> Array:
        """The statistic of each group."""
        return self.statistic.combined(totals)

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The keys, then the statistic's own."""
        return (*(each.axis for each in self.by), *self.statistic.axes)

    @property
    def step(self) -> Fraction | None:  # type: ignore[override]
        """As for the statistic."""
        return self.statistic.step

    @property
    def answers(self) -> type[Released]:  # type: ignore[override]
        """As for the statistic."""
        return self.statistic.answers

    @property
    def coordinates(self) -> int:  # type: ignore[override]
        """As for the statistic."""
        return self.statistic.coordinates

    def informed(self, dataset: Any) -> Self:
        """The same of the informed statistic."""
        return attrs.evolve(self, statistic=self.statistic.informed(dataset))

    def estimate(self, noisy: Any) -> Any:
        """The statistic's estimate in each group."""
        return self.statistic.estimate(noisy)

    def row_counts(self, noisy: Array) -> Array | None:
        """As for the statistic."""
        return self.statistic.row_counts(noisy)

    def notes(self, estimate: Any) -> Iterator[str]:
        """As for the statistic."""
        return self.statistic.notes(estimate)

    def bounds(self, low: Array, high: Array) -> tuple[Any, Any]:
        """The range of the statistic's estimate in each group."""
        return self.statistic.bounds(low, high)

    def interval(self, noisy: Array, law: Law[int], missed: Fraction) -> tuple[Any, Any]:
        """The interval of the statistic's estimate in each group."""
        return self.statistic.interval(noisy, law, missed)

    @property
    def holds(self) -> str:  # type: ignore[override]
        """As for the statistic."""
        return self.statistic.holds

    @property
    def has_sampling(self) -> bool:  # type: ignore[override]
        """As for the statistic."""
        return self.statistic.has_sampling

    def sampling(self, noisy: Array, law: Law[int], missed: Fraction) -> tuple[Any, Any]:
        """That of the statistic in each group."""
        return self.statistic.sampling(noisy, law, missed)

    @property
    def is_near(self) -> bool:
        """As for the statistic."""
        return self.statistic.is_near

    def near(self, noisy: Array, law: Law[int], missed: Fraction, source: Any) -> Near | None:
        """That of the statistic in each group."""
        return self.statistic.near(noisy, law, missed, source)

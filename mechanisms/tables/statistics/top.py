"""`Top`: the most frequent of some public categories, in order, through `Queryable.release`."""

from fractions import Fraction
from typing import Any

import attrs

from mechanisms.exponential import TopK
from mechanisms.privacy_maps import largest_within
from mechanisms.tables.expressions.operands import Operand, operand_name, operand_of
from mechanisms.tables.expressions.predicates import Where, where_field
from mechanisms.tables.expressions.scalars import Scalar, alike
from mechanisms.tables.requests.keys import categories_of
from mechanisms.tables.requests.privacy_unit import PrivacyUnit
from mechanisms.tables.requests.request import Request
from mechanisms.tables.requests.wording import in_full
from mechanisms.tables.statistics.aggregates import per_field
from mechanisms.tables.statistics.counts import Histogram
from queryable.answers.estimates import Axis
from queryable.answers.evidence import Evidence
from queryable.answers.released import Released
from queryable.answers.values import Value, array_of
from queryable.effort import Effort
from queryable.events.laws import ChoiceEvent
from queryable.losses import Loss, Measure
from queryable.losses.fields import read_positive_epsilon
from queryable.losses.numbers import Number, natural
from queryable.mechanism import Measurement
from queryable.randomness.coins import Coins
from queryable.statistics import Releasable
from queryable.wording.quoting import quoted


def _k(value: Any) -> int:
    return natural(value, "k")


@attrs.frozen
class Top(Releasable):
    """The k most frequent categories of a column, the most frequent first.

    `Queryable.release(top, loss=..)` answers them. An order of categories has no interval. To see
    how frequent they are, release a `Histogram` of the chosen ones next, at its own cost.

    Args:
        column: its name, or `column(name)`.
        k: how many, at most the number of categories.
        categories: public and different from each other.
        where: which records, as for `Count`.
        per: the privacy unit, as for `Count`. Its bounds on groups apply to the categories;
            `max_rows_per_group=1` makes a person count once for each category.
    """

    column: Operand = attrs.field(converter=operand_of)
    k: int = attrs.field(converter=_k)
    categories: tuple[Scalar, ...] = attrs.field(converter=categories_of, eq=alike)
    where: Where | None = attrs.field(default=None, converter=where_field)
    per: PrivacyUnit | None = attrs.field(default=None, kw_only=True, converter=per_field)

    def __attrs_post_init__(self) -> None:
        """Check k against the categories."""
        if not 1 <= self.k <= len(self.categories):
            raise ValueError(
                f"k is {quoted(self.k)}; it should be between 1 and {len(self.categories)}, the "
                "number of categories"
            )

    @property
    def scores(self) -> Histogram:
        """The counts of the categories, by which they are chosen."""
        return Histogram(self.column, self.categories, self.where, per=self.per)

    @property
    def request(self) -> Request:
        """As for the counts."""
        return self.scores.request

    @property
    def public_name(self) -> str:
        """The number and the column: `Top 3 of city`."""
        return f"Top {self.k} of {operand_name(self.column)}"

    def measurement(
        self,
        measure: Measure,
        d_in: int,
        *,
        within: Number | None = None,
        confidence: Number | None = None,
        loss: Loss | None = None,
    ) -> "PrivateTop":
        """The mechanism that chooses the categories at a loss; `Queryable.release` launches it.

        Raises:
            TypeError: `within` is given.
        """
        if within is not None or loss is None:
            raise TypeError("give loss= instead of within=: an order of categories has no width")
        return largest_within(lambda epsilon: PrivateTop(self, epsilon), loss, measure, d_in)


def _top(value: Any) -> Top:
    if type(value) is not Top:
        raise TypeError(f"top is {quoted(value)}; it should be Top(column, k, categories)")
    return value


@attrs.frozen
class PrivateTop(Measurement[Released]):
    """Chooses the k most frequent categories in turn, as `TopK` does.

    Answers a `Released`; its estimate is an array of the categories, by rank.

    Privacy:
        Claim: that of `TopK` with monotone scores: PureDP(d_in * epsilon), and
            ZCDP((d_in * epsilon)^2 / (8 k)).
        Theorem: as `TopK`. Scores are monotone, because a row adds to counts and never takes away.
        Assumes: as `TopK`.
        Checked by: tests/unit/mechanisms/tables/statistics/test_top.py

    Args:
        top: what is chosen.
        epsilon: in nats, at d_in=1, for all k choices together.
    """

    top: Top = attrs.field(converter=_top)
    epsilon: Fraction = attrs.field(converter=read_positive_epsilon)
    scores: Histogram = attrs.field(init=False, repr=False)  # a launch checks it against the table

    @scores.default
    def _of_top(self) -> Histogram:
        return self.top.scores

    @property
    def choice(self) -> TopK:
        """The mechanism that chooses indices."""
        return TopK(self.scores, self.epsilon, k=self.top.k, monotone=True)

    @property
    def public_name(self) -> str:
        """The number, the column, and which rows are counted."""
        return in_full(self.top.public_name, self.top.request)

    def loss(self, d_in: int) -> Loss:
        """As for `choice`."""
        return self.choice.loss(d_in)

    def privacy_map(self, d_in: int, measure: Measure | None = None) -> Loss:
        """As for `choice`."""
        return self.choice.privacy_map(d_in, measure)

    def events(self) -> tuple[ChoiceEvent]:
        """As for `choice`."""
        return self.choice.events()

    @property
    def effort(self) -> Effort:
        """As for `choice`, with the categories."""
        return Effort(self.choice.effort.steps, 200 + 100 * self.top.k)

    def has_number(self, of: str | int | None) -> bool:
        """No: the answer is an array of categories."""
        return False

    def release(self, dataset: Any, coins: Coins) -> Released:
        """The categories in the order in which they were chosen."""
        places = self.choice.release(dataset, coins)
        chosen = array_of([self.top.categories[place] for place in places])
        ranks = Axis(("rank",), tuple((rank,) for rank in range(1, self.top.k + 1)))
        return Released(chosen, (ranks,), self.public_name, evidence=Chosen())


@attrs.frozen
class Chosen(Evidence):
    """Nothing: what was chosen by its value has no interval, such as an order of categories."""

    most = None

    def interval(self, confidence: Fraction, *, simultaneous: bool) -> tuple[Value, Value]:
        """Raise: an interval does not apply.

        Raises:
            TypeError: always.
        """
        raise TypeError(
            "release a Histogram of categories, or a statistic on its own, for an interval: what "
            "was chosen by its value has none"
        )

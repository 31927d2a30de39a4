"""The sparse vector technique (Dwork, Roth 2014, Algorithms 1 and 2), on the integers."""

from fractions import Fraction
from typing import Any

import attrs

from mechanisms.sampling.laws import DiscreteLaplace
from mechanisms.tables.signed import signed
from queryable.data.growing import grown, snapshot
from queryable.datasets import read_ahead, require_answerable
from queryable.errors import MechanismFault, QueryError, UnknownQueryError
from queryable.losses import PureDP
from queryable.losses.fields import read_positive_epsilon
from queryable.losses.numbers import exact, natural, shown
from queryable.mechanism import InteractiveMechanism
from queryable.messages import (
    OWNERS,
    Answer,
    AskMany,
    CloseBlock,
    Failed,
    Query,
    Refused,
    Update,
    entries_of,
    entry,
)
from queryable.randomness.coins import SYSTEM, Coins
from queryable.statistics import IntegerStatistic
from queryable.streams import DataLevel


def _threshold(value: Any) -> Fraction:
    return signed(value, "threshold")


def _cutoff(value: Any) -> int:
    cutoff = natural(value, "cutoff")
    if cutoff == 0:
        raise ValueError("cutoff is 0; it should be at least 1")
    return cutoff


def _sensitivity(value: Any) -> int:
    sensitivity = natural(value, "sensitivity")
    if sensitivity == 0:
        raise ValueError("sensitivity is 0; it should be at least 1")
    return sensitivity


_USED_UP = "launch another SparseVector; this one has answered True cutoff times. Nothing was read"


@attrs.frozen
class SparseVectorState:
    """How many more times the mechanism may answer True; the two fields after it are private.

    `failed`: whether a statistic failed among several, so that nothing is answered any more.
    """

    left: int
    dataset: Any = attrs.field(repr=False)
    threshold_noise: int = attrs.field(repr=False)
    failed: bool = attrs.field(default=False, repr=False)


@attrs.frozen
class SparseVector(InteractiveMechanism[SparseVectorState]):
    """Tells for each statistic whether it is about at or above a threshold; only True is paid for.

    Answers: an `IntegerStatistic` of shape None and l1 <= `sensitivity` with a bool, until True has
    been answered `cutoff` times. After that it answers `Refused("cutoff reached")`, and its state
    holds no data. `AskMany` with statistics is answered with a tuple, as if they were asked one
    after the other, from as few scans of a table as possible.

    Privacy:
        Claim: PureDP(d_in * epsilon), for every adversary and any number of queries.
        Theorem: Dwork, Roth 2014, Theorems 3.23 and 3.25. The proof for integer noise: an epoch is
            the answers from one draw of the threshold noise to the next; there are at most c =
            `cutoff` epochs. Between neighbouring x and x' each value moves by an integer in
            {-s, ..., s}, where s is the sensitivity. Add s to the threshold noise, of scale
            2cs/epsilon. This maps the integers onto themselves and changes the noise's probability
            by a factor of at most e^(epsilon/2c). All noise with which x answers False makes x'
            answer False. Add 2s to the noise, of scale 4cs/epsilon, of the one query that is
            answered True: a factor of at most e^(epsilon/2c), and x' answers True as x did. So each
            epoch costs at most epsilon/c.
            The threshold may be any rational: the shifts are integers and do not move it.
            d_in records are d_in neighbouring steps. Statistics that are asked together are those
            of an adversary who chose them without looking at the answers in between.
            The data may grow meanwhile: the shifts only need that each value moves by at most s
            between the two data sets at the moment when it is asked (docs/theory.md, data that
            grow).
        Assumes: the statistics' declared `l1`.
        Checked by: tests/unit/mechanisms/test_sparse_vector.py,
            tests/attacks/test_sparse_vectors.py

    Args:
        threshold: any rational, public.
        epsilon: in nats, for the whole interaction.
        cutoff: how many times True may be answered.
        sensitivity: the largest `l1` of a statistic that is accepted, at least 1. The noise grows
            with it. For counts of a table with a privacy unit it is the unit's `max_rows`.
    """

    threshold: Fraction = attrs.field(converter=_threshold)
    epsilon: Fraction = attrs.field(converter=read_positive_epsilon)
    cutoff: int = attrs.field(default=1, converter=_cutoff)
    sensitivity: int = attrs.field(default=1, kw_only=True, converter=_sensitivity)

    continual = True
    neighbours = DataLevel()

    def loss(self, d_in: int) -> PureDP:
        """d_in * epsilon."""
        return PureDP(d_in * self.epsilon)

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[SparseVectorState, None]:
        """Draw the first threshold noise. There is no first answer."""
        return SparseVectorState(self.cutoff, dataset, coins.draw(self._threshold_noise())), None

    def step(
        self, state: SparseVectorState, query: Query, coins: Coins = SYSTEM
    ) -> tuple[SparseVectorState, Answer]:
        """Compare one statistic, or several, with the threshold.

        Raises:
            QueryError: the query is not one integer of at most this sensitivity, or names a column
                that the table does not have.
            MechanismFault: the statistic failed.
        """
        if isinstance(query, OWNERS):
            return self._grown(state, query), None
        if isinstance(query, AskMany):
            return self._compared_all(state, query, coins)
        statistic = self._checked(state, query)
        if state.failed:
            raise MechanismFault
        return self._compared(state, statistic, coins)

    def _grown(self, state: SparseVectorState, message: Update | CloseBlock) -> SparseVectorState:
        if not state.left or isinstance(message, CloseBlock):
            return state
        return attrs.evolve(state, dataset=grown(state.dataset, message.records, message.block))

    def _checked(self, state: SparseVectorState, query: Query) -> IntegerStatistic:
        statistic = _comparable(query, self.sensitivity)
        if state.left:
            require_answerable(state.dataset, statistic)
        return statistic

    def _compared(
        self, state: SparseVectorState, statistic: IntegerStatistic, coins: Coins
    ) -> tuple[SparseVectorState, bool | Refused]:
        if not state.left:
            return state, Refused("cutoff reached", instead=_USED_UP)
        noisy_value = statistic(snapshot(state.dataset)) + coins.draw(self._query_noise())
        if noisy_value < self.threshold + state.threshold_noise:
            return state, False
        if state.left == 1:
            return SparseVectorState(0, None, 0), True
        fresh = coins.draw(self._threshold_noise())
        return SparseVectorState(state.left - 1, state.dataset, fresh), True

    def _compared_all(
        self, state: SparseVectorState, query: AskMany, coins: Coins
    ) -> tuple[SparseVectorState, tuple[Answer, ...]]:
        """Compare one after the other; the first statistic that fails is the last one compared."""
        statistics, answers = [], list[Answer]()
        for place, each in enumerate(entries_of(query)):
            with entry(place):
                statistics.append(self._checked(state, each))
        if state.failed:
            raise MechanismFault
        if state.left:
            read_ahead(state.dataset, statistics)
        try:
            for statistic in statistics:
                state, answer = self._compared(state, statistic, coins)
                answers.append(answer)
        except MechanismFault:
            answers += [Failed()] * (len(statistics) - len(answers))
            state = SparseVectorState(0, None, 0, failed=True)
        return state, tuple(answers)

    def _threshold_noise(self) -> DiscreteLaplace:
        return DiscreteLaplace(2 * self.cutoff * self.sensitivity / self.epsilon)

    def _query_noise(self) -> DiscreteLaplace:
        return DiscreteLaplace(4 * self.cutoff * self.sensitivity / self.epsilon)


def _comparable(query: Query, most: int) -> IntegerStatistic:
    if not isinstance(query, IntegerStatistic):
        raise UnknownQueryError(
            "ask SparseVector an IntegerStatistic such as Count(column('age') >= 30), not "
            f"{type(query).__name__}"
        )
    try:
        shape, l1 = query.shape, exact(query.l1, "l1")
    except (AttributeError, TypeError, ValueError) as error:
        raise QueryError(f"the statistic does not declare a shape and an l1: {error}") from None
    if shape is not None:
        raise QueryError(
            f"SparseVector compares one integer; the statistic has shape {shape}, it should be None"
        )
    if not l1 <= most:
        raise QueryError(
            f"launch a SparseVector with sensitivity={shown(l1)}, which adds more noise: this one "
            f"takes an l1 of at most {most}, and the statistic's is {shown(l1)}"
        )
    return query

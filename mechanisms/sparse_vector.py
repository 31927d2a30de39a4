"""The sparse vector technique (Dwork, Roth 2014; Lyu, Su, Li 2017), on the integers."""

import warnings
from fractions import Fraction
from typing import Any, Literal

import attrs
from flint import fmpz

from mechanisms.privacy_maps import with_zcdp
from mechanisms.sampling.laws import DiscreteLaplace
from mechanisms.tables.requests.signed import signed
from mechanisms.tables.statistics.counts import Sum
from mechanisms.thresholds import right_from
from queryable.checks.fit import require_answerable
from queryable.data.ahead import read_ahead
from queryable.data.growing import grown, snapshot
from queryable.errors import AccuracyWarning, MechanismFault, QueryError, UnknownQueryError
from queryable.losses import Loss, Measure, PureDP
from queryable.losses.conversions import pure_to_zcdp
from queryable.losses.fields import read_positive_epsilon
from queryable.losses.numbers import at_least_one, exact, shown, sqrt_up
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
from queryable.statistics import IntegerStatistic, Monotone
from queryable.streams.levels import DataLevel, Growth
from queryable.wording.quoting import an_instance


def _threshold(value: Any) -> Fraction:
    return signed(value, "threshold")


def _gap(value: Any) -> Fraction:
    return exact(value, "gap")


def _cutoff(value: Any) -> int:
    return at_least_one(value, "cutoff")


def _sensitivity(value: Any) -> int:
    return at_least_one(value, "sensitivity")


_THOUSANDTHS = 1000
_USED_UP = (
    "launch another SparseVector: this one has said yes as often as its cutoff allows. "
    "Nothing was read"
)


Moves = Monotone | Literal["either"]
"""Which way the statistics of one sparse vector may move."""


@attrs.frozen
class Above:
    """The answer True of a `SparseVector` with `gap=True`.

    Args:
        gap: how far the noisy value is above the noisy threshold, at least 0. The threshold plus
            the gap estimates the value, with the noise of both. Given that the answer is True the
            estimate is too high on average, the more so the less likely True was.
    """

    gap: Fraction = attrs.field(converter=_gap)


@attrs.frozen
class SparseVectorState:
    """How many more times the mechanism may answer True; the two fields after it are private.

    `failed`: whether a statistic failed among several, so that nothing is answered any more.
    `moves`: which way the statistics move that it takes; None before the first one. Public.
    """

    left: int
    dataset: Any = attrs.field(repr=False)
    threshold_noise: int = attrs.field(repr=False)
    failed: bool = attrs.field(default=False, repr=False)
    moves: Moves | None = None


@attrs.frozen
class SparseVector(InteractiveMechanism[SparseVectorState]):
    """Tells for each statistic whether it is about at or above a threshold; only True is paid for.

    Answers: an `IntegerStatistic` of shape None and l1 <= `sensitivity` with a bool, until True has
    been answered `cutoff` times. After that it answers `Refused("cutoff reached")`, and its state
    holds no data. `AskMany` with statistics is answered with a tuple, as if they were asked one
    after the other, from as few scans of a table as possible.

    The noise on a statistic is half as large if all statistics move one way when a record is added:
    all are `monotone="up"`, as counts are, or all are "down". By default the first one decides. If
    it is monotone, later ones have to move the same way; otherwise later ones may be any.

    Privacy:
        Claim: PureDP(d_in * epsilon), for every adversary and any number of queries. With `refresh`
            also ZCDP(c * e * tanh(e / 2)), where c is `cutoff` and e = d_in * epsilon / c.
        Theorem: docs/theory.md, sparse vector (5.21): Lyu, Su, Li 2017, Algorithm 7, for integer
            noise; Ding et al. 2019 for the gap; Dwork, Roth 2014, Theorem 3.25 for `refresh`.
            The threshold may be any rational: noise is shifted by integers and that does not move
            it. Statistics that are asked together are those of an adversary who chose them without
            looking at the answers in between. The data may grow meanwhile.
        Assumes: the statistics' declared `l1` and `monotone`.
        Checked by: tests/audit/test_sparse_vectors.py,
            tests/unit/mechanisms/test_sparse_vector.py, tests/attacks/test_sparse_vectors.py

    Args:
        threshold: any rational, public. A `Sum` is compared in its `unit`: give it `unit=1`.
        epsilon: in nats, for the whole interaction.
        cutoff: how many times True may be answered.
        sensitivity: the largest `l1` of a statistic that is accepted, at least 1. The noise grows
            with it. For counts of a table with a privacy unit it is the unit's `max_rows`.
        monotone: True rejects statistics that are not monotone, from the first on. False takes
            statistics of any kind, with twice the noise. None lets the first one decide.
        gap: whether True is answered as `Above`, with the gap. It costs nothing.
        refresh: whether the threshold has new noise after each True. The noise is larger at the
            same epsilon, but from `cutoff` 2 on it is smaller at the same rho in zCDP.
    """

    threshold: Fraction = attrs.field(converter=_threshold)
    epsilon: Fraction = attrs.field(converter=read_positive_epsilon)
    cutoff: int = attrs.field(default=1, converter=_cutoff)
    sensitivity: int = attrs.field(default=1, kw_only=True, converter=_sensitivity)

    monotone: bool | None = attrs.field(
        default=None,
        kw_only=True,
        validator=attrs.validators.optional(an_instance(bool)),
    )
    gap: bool = attrs.field(default=False, kw_only=True, validator=an_instance(bool))
    refresh: bool = attrs.field(default=False, kw_only=True, validator=an_instance(bool))
    epsilons: tuple[Fraction, Fraction] = attrs.field(init=False, repr=False, eq=False)
    """What one draw of the threshold's noise costs, and what one answer True costs."""

    noises: tuple[DiscreteLaplace, ...] = attrs.field(init=False, repr=False, eq=False)
    """The noise on the threshold, and on statistics that move one way or both ways."""

    @epsilons.default
    def _parts(self) -> tuple[Fraction, Fraction]:
        return self._split()

    @noises.default
    def _laws(self) -> tuple[DiscreteLaplace, ...]:
        threshold, answer = self.epsilons
        scales = 1 / threshold, 1 / answer, 2 / answer
        return tuple(DiscreteLaplace(self.sensitivity * each) for each in scales)

    def _split(self) -> tuple[Fraction, Fraction]:
        """They add up to epsilon over all draws, exactly.

        The variance of the sum of both noises is least where they are as 1 to m^(2/3), with m the
        answers True for one draw, twice as many if statistics may move both ways.
        """
        answers = 1 if self.refresh is True else self.cutoff
        among = self.epsilon * answers / self.cutoff
        twice = answers * (2 if self.monotone is False else 1)
        thousandths = int((fmpz(_THOUSANDTHS**3) * twice**2).root(3))
        threshold = among * _THOUSANDTHS / (_THOUSANDTHS + thousandths)
        return threshold, (among - threshold) / answers

    def __attrs_post_init__(self) -> None:
        """Warn if noise decides the answers: its deviation is as large as the threshold."""
        on_threshold, on_value = (each.scale for each in self.noises[:2])
        variance = 2 * (on_threshold**2 + on_value**2)
        if 0 < self.threshold**2 <= variance:
            warnings.warn(
                f"this SparseVector says little: its noise has a standard deviation of "
                f"{shown(sqrt_up(variance), 2)}, and its threshold is {shown(self.threshold)}. "
                "Raise the threshold or epsilon. accuracy(mechanism, questions=..) says how far "
                "from the threshold its answers are right",
                AccuracyWarning,
                stacklevel=3,
            )

    def right_from(self, questions: int, missed: Fraction) -> int:
        """From which distance to the threshold on all of some answers are right; see `accuracy`.

        It is for statistics that move both ways, unless `monotone` is True.

        Theorem: docs/theory.md, sparse vector (5.21), right answers.
        """
        noise = self.noises[1 if self.monotone else 2]
        epochs = min(self.cutoff, questions) if self.refresh else 1
        return right_from(self.noises[0], noise, questions, missed, epochs)

    growth = Growth()
    neighbours = DataLevel()

    def loss(self, d_in: int) -> PureDP:
        """d_in * epsilon."""
        return PureDP(d_in * self.epsilon)

    def privacy_map(self, d_in: int, measure: Measure | None = None) -> Loss:
        """The loss at `d_in` records; with `refresh` in zCDP and RDP the smaller of two bounds."""
        converted = super().privacy_map(d_in, measure)
        if not self.refresh:
            return converted
        epoch = d_in * self.epsilon / self.cutoff
        return with_zcdp(converted, lambda: self.cutoff * pure_to_zcdp(epoch), measure)

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
        statistic, moves = self._checked(state, query, state.moves)
        if state.failed:
            raise MechanismFault
        if moves != state.moves:
            state = attrs.evolve(state, moves=moves)
        return self._compared(state, statistic, coins)

    def understood(self, query: Query) -> Query:
        """The query itself: a statistic, or several, of at most this sensitivity."""
        for each in entries_of(query) if isinstance(query, AskMany) else (query,):
            _, moves = _comparable(each, self.sensitivity)
            if self.monotone:
                _moves(moves, None, strict=True)
        return query

    def _grown(self, state: SparseVectorState, message: Update | CloseBlock) -> SparseVectorState:
        if not state.left or isinstance(message, CloseBlock):
            return state
        return attrs.evolve(state, dataset=grown(state.dataset, message.records, message.block))

    def _checked(
        self, state: SparseVectorState, query: Query, moves: Moves | None
    ) -> tuple[IntegerStatistic, Moves | None]:
        """The statistic, and which way it and those before it move."""
        statistic, monotone = _comparable(query, self.sensitivity)
        if not state.left:
            return statistic, moves
        if self.monotone is not False and moves != "either":
            moves = _moves(monotone, moves, strict=self.monotone is True)
        require_answerable(state.dataset, statistic)
        return statistic, moves

    def _compared(
        self, state: SparseVectorState, statistic: IntegerStatistic, coins: Coins
    ) -> tuple[SparseVectorState, bool | Above | Refused]:
        if not state.left:
            return state, Refused("cutoff reached", instead=_USED_UP)
        noisy_value = statistic(snapshot(state.dataset)) + coins.draw(
            self._query_noise(state.moves)
        )
        if noisy_value < self.threshold + state.threshold_noise:
            return state, False
        gap = noisy_value - self.threshold - state.threshold_noise if self.gap else None
        answer = True if gap is None else Above(gap)
        if state.left == 1:
            return SparseVectorState(0, None, 0), answer
        noise = coins.draw(self._threshold_noise()) if self.refresh else state.threshold_noise
        return attrs.evolve(state, left=state.left - 1, threshold_noise=noise), answer

    def _compared_all(
        self, state: SparseVectorState, query: AskMany, coins: Coins
    ) -> tuple[SparseVectorState, tuple[Answer, ...]]:
        """Compare one after the other; the first statistic that fails is the last one compared."""
        statistics, answers, moves = [], list[Answer](), state.moves
        for place, each in enumerate(entries_of(query)):
            with entry(place):
                statistic, moves = self._checked(state, each, moves)
                statistics.append(statistic)
        if state.failed:
            raise MechanismFault
        state = attrs.evolve(state, moves=moves)
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
        return self.noises[0]

    def _query_noise(self, moves: Moves | None) -> DiscreteLaplace:
        return self.noises[1 if moves in ("up", "down") else 2]


def _moves(moves: Monotone | None, before: Monotone | None, *, strict: bool) -> Moves:
    """Which way statistics may move after one that moves so, if those before it moved one way.

    Raises:
        QueryError: it does not move as they do.
    """
    if moves is None and (strict or before is not None):
        raise QueryError(
            "launch a SparseVector with monotone=False, which adds twice the noise: this one takes "
            "statistics that move one way when a record is added, such as counts, and this "
            "statistic may move both ways or does not say which (monotone)"
        )
    if before is not None and moves != before:
        raise QueryError(
            "launch another SparseVector, or one with monotone=False, which adds twice the noise: "
            f"the statistics of this one move {before} when a record is added, and this statistic "
            f"moves {moves}"
        )
    return moves or "either"


def _comparable(query: Query, most: int) -> tuple[IntegerStatistic, Monotone | None]:
    """The statistic, and which way it moves. Each declaration is read once, and then used."""
    if not isinstance(query, IntegerStatistic):
        raise UnknownQueryError(
            "ask SparseVector an IntegerStatistic such as Count(column('age') >= 30), not "
            f"{type(query).__name__}"
        )
    try:
        shape, l1, moves = query.shape, exact(query.l1, "l1"), query.monotone
    except (AttributeError, TypeError, ValueError) as error:
        raise QueryError(f"the statistic does not declare a shape and an l1: {error}") from None
    if type(moves) not in (str, type(None)) or moves not in ("up", "down", None):
        raise QueryError('the statistic\'s monotone should be "up", "down" or None')
    if shape is not None:
        raise QueryError(
            "ask SparseVector a statistic that is one integer, such as Count() or Sum(..): this "
            f"one has shape {shape}"
        )
    if not l1 <= most:
        if isinstance(query, Sum) and query.unit != 1:
            raise QueryError(
                f"give the Sum unit=1: it adds up units of {query.unit}, and the threshold and the "
                f"sensitivity of {most} are compared in these units. In units its l1 is {shown(l1)}"
            )
        raise QueryError(
            f"launch a SparseVector with sensitivity={shown(l1)}, which adds more noise: this one "
            f"takes an l1 of at most {most}, and the statistic's is {shown(l1)}: so much may one "
            "record or privacy unit change it"
        )
    return query, moves

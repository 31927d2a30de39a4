"""Counters: mechanisms that sum a statistic over the batches that arrive, with noise.

Responsible for what all counters share: the messages, the horizon and who is protected. Which noise
is in a sum is the subclass's part.
"""

from abc import abstractmethod
from fractions import Fraction
from typing import Any, TypeVar

import attrs
import numpy as np
from immutables import Map

from mechanisms.counters.contributions import Seen, contribution
from mechanisms.counters.questions import Span, question, span_of
from mechanisms.sampling.integers import added
from queryable.answers.noisy import NoisyArray, NoisyInt, noisy_array
from queryable.losses.numbers import natural, positive
from queryable.mechanism import InteractiveMechanism
from queryable.messages import Answer, CloseBlock, Query, Refused, Update
from queryable.optional import public_name
from queryable.randomness.coins import SYSTEM, Coins
from queryable.randomness.laws import Law
from queryable.statistics import IntegerStatistic
from queryable.streams.levels import EventLevel, Growth, UserLevel
from queryable.wording.quoting import quoted

LONGEST = 1 << 40
"""The largest horizon of any counter."""


EVENTS = EventLevel()


@attrs.frozen
class CounterState:
    """The number of batches so far, and how many records of each unit have counted (private).

    `over`: whether a batch arrived after the horizon.
    """

    time: int
    seen: Seen = attrs.field(repr=False)
    over: bool


START: dict[str, Any] = {"time": 0, "seen": Map(), "over": False}

State = TypeVar("State", bound=CounterState)


class Counter(InteractiveMechanism[State]):
    """The base of counters.

    Attributes:
        statistic: what is asked.
        horizon: the number of batches that count; None for any number.
        neighbours: in what neighbouring streams differ.
    """

    growth = Growth(from_any_history=True, counts_batches=True)

    statistic: IntegerStatistic
    horizon: int | None
    neighbours: EventLevel | UserLevel
    unit: Fraction

    def __attrs_post_init__(self) -> None:
        """Derive the level from the statistic's privacy unit, and the noise from the parameters.

        Raises:
            TypeError: the statistic counts units, and not rows, or is no sum over batches.
            ValueError: they contradict each other.
        """
        if not getattr(self.statistic, "batches_add_up", True):
            raise TypeError(
                "give Histogram(column, bins=..), whose counts add up over batches: "
                f"{public_name(self.statistic)} has scores, which do not"
            )
        object.__setattr__(self, "neighbours", _by_unit(self.statistic, self.neighbours))
        self.counted.shape  # noqa: B018 (it is found out here, whatever the noise is derived from)
        object.__setattr__(self, "unit", self.noise_unit())

    @property
    def counted(self) -> IntegerStatistic:
        """What is evaluated on batches: the statistic without its privacy unit.

        The unit's bound on rows is enforced over all batches instead.
        """
        statistic: Any = self.statistic
        counted: IntegerStatistic = statistic
        return counted if _unit_of(counted) is None else statistic.of_rows()

    @abstractmethod
    def noise_unit(self) -> Fraction:
        """The size of the noise: for each level of a tree, or each unit of a sum of squares."""

    @abstractmethod
    def advanced(self, state: State, value: Any, seen: Seen, coins: Coins) -> State:
        """The state after a batch with this value of the statistic, before the horizon."""

    @abstractmethod
    def noisy(self, state: State, span: Span) -> tuple[Any, Law[int]]:
        """The noisy sum over some batches, and the law of its noise."""

    @property
    def reach(self) -> int | None:
        """How many steps back questions may reach; None for all."""
        return None

    def records(self, d_in: int) -> int:
        """The number of records that count and differ between streams at distance `d_in`."""
        level = self.neighbours
        return d_in * level.max_records if isinstance(level, UserLevel) else d_in

    def step(self, state: State, query: Query, coins: Coins = SYSTEM) -> tuple[State, Answer]:
        """Count a batch, or answer a question about the batches so far.

        Raises:
            QueryError: the question is none of these, or reaches too far back.
            MechanismFault: the statistic failed.
        """
        if isinstance(query, Update):
            return self._updated(state, query.records, coins), None
        if isinstance(query, CloseBlock):
            return state, None
        span = span_of(query, state.time, self.reach, type(self).__name__)
        if state.over and span.now:
            return state, Refused(
                f"the horizon of {self.horizon:,} batches is over, and later ones are not counted",
                instead=f"ask Total(at={self.horizon}), or launch another {type(self).__name__}",
            )
        value, law = self.noisy(state, span)
        return state, _answer(value, law, self.statistic.shape)

    def understood(self, query: Query) -> Query:
        """The query itself: `Total` or `Window`."""
        return question(query, type(self).__name__)

    def _updated(self, state: State, records: Any, coins: Coins) -> State:
        if self.horizon is not None and state.time >= self.horizon:
            return attrs.evolve(state, over=True)
        value, seen = contribution(self.counted, self.neighbours, state.seen, records)
        return self.advanced(state, value, seen, coins)

    @property
    def public_name(self) -> str:
        """The class and what the statistic asks."""
        return f"{type(self).__name__} of {self.statistic.asked}"


def _unit_of(statistic: IntegerStatistic) -> Any:
    """The privacy unit that a statistic is declared for, itself or what it groups; None if none."""
    request = getattr(statistic, "request", None)
    return getattr(request, "per", None)


def _by_unit(statistic: IntegerStatistic, level: EventLevel | UserLevel) -> EventLevel | UserLevel:
    """The level that protects the statistic's privacy unit, if it has one."""
    per = _unit_of(statistic)
    if per is None:
        return level
    if not hasattr(statistic, "of_rows"):
        raise ValueError(
            f"leave per out: batches have no privacy units, and {type(statistic).__name__} is not "
            "about rows alone. State neighbours=UserLevel(column, max_records)"
        )
    if per.joined:
        raise ValueError("leave per out: a unit of joined rows has no records in batches")
    if isinstance(level, EventLevel):
        level = UserLevel(per.column, per.max_rows)
    if level.column != per.column:
        raise ValueError(
            f"neighbours are about {quoted(level.column)}, and the statistic is declared per "
            f"{quoted(per.column)}; leave one of them out"
        )
    return level


def zero(shape: tuple[int, ...] | None) -> Any:
    """The empty sum."""
    return 0 if shape is None else np.zeros(shape, dtype=np.int64)


def plus(one: Any, other: Any) -> Any:
    """The exact sum of integers or of integer arrays."""
    if isinstance(one, np.ndarray):
        return added(one, np.asarray(other))
    return one + other


def drawn(law: Law[int], shape: tuple[int, ...] | None, coins: Coins) -> Any:
    """Independent draws, one for each coordinate."""
    return coins.draw(law) if shape is None else np.asarray(coins.draw(law, shape))


def _answer(value: Any, law: Law[int], shape: tuple[int, ...] | None) -> NoisyInt | NoisyArray:
    return NoisyInt(value, law) if shape is None else noisy_array(value.copy(), law)


def horizon_of(value: Any, longest: int = LONGEST) -> int | None:
    """Read a horizon.

    Raises:
        TypeError, ValueError: it is neither None nor an integer from 1 to `longest`.
    """
    if value is None:
        return None
    horizon = natural(value, "horizon")
    if not 1 <= horizon <= longest:
        raise ValueError(f"horizon is {horizon}; it should be from 1 to {longest:,}, or None")
    return horizon


def neighbours_of(value: Any) -> EventLevel | UserLevel:
    """Read what neighbouring streams are.

    Raises:
        TypeError: it is neither `EventLevel` nor `UserLevel`.
    """
    if not isinstance(value, EventLevel | UserLevel):
        raise TypeError(
            f"neighbours is {quoted(value)}; it should be EventLevel() or "
            "UserLevel(column, max_records)"
        )
    return value


def scale_of(value: Any) -> Fraction | None:
    """Read a scale, or None."""
    return None if value is None else positive(value, "scale")


def rho_of(value: Any) -> Fraction | None:
    """Read a rho, or None."""
    return None if value is None else positive(value, "rho")


def epsilon_of(value: Any) -> Fraction | None:
    """Read an epsilon, or None."""
    return None if value is None else positive(value, "epsilon")


def implying(sensitivity: Fraction, name: str, loss: str) -> Fraction:
    """Check that a statistic's sensitivity is above zero, so that a loss implies a noise.

    Raises:
        ValueError: it is zero.
    """
    if not sensitivity > 0:
        raise ValueError(f"give a scale; the statistic's {name} is 0, so {loss} implies no noise")
    return sensitivity

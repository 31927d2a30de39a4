"""Lazy states: run again once, compared with the log, and nothing else."""

import operator
from collections.abc import Callable
from typing import Any

import attrs
import pytest

from composition import FiltCon, OdomCon
from queryable import Coins, PureDP, SeededCoins
from queryable.conversation.recalling import DifferentAnswerError, Recall, Unplayed, noticing
from queryable.effort import is_quick, within_effort
from queryable.errors import QueryError
from queryable.messages import Failed, Launched
from tests.strategies import RandomBits, RandomWord


@attrs.frozen
class Counted(RandomBits):
    """Counts its runs."""

    runs: list[str] = attrs.field(factory=list, eq=False, repr=False)

    def init(self, dataset: Any, coins: Coins = SeededCoins(0)) -> tuple[int, Any]:  # noqa: B008
        self.runs.append("init")
        return super().init(dataset, coins)


def coins(message: int) -> Callable[[], Coins]:
    return lambda: SeededCoins(5).spawn(0, message)


def logged(mechanism: Counted, messages: int) -> tuple[Unplayed, list[Any]]:
    """A lazy state after some messages, and the answers."""
    state, opening = mechanism.init([1], coins(0)())
    lazy, answers = Unplayed(mechanism, [1], coins(0), opening, operator.eq), [opening]
    for message in range(1, messages + 1):
        state, answer = mechanism.step(state, "bits", coins(message)())
        lazy = lazy.asked("bits", coins(message), answer)
        answers.append(answer)
    mechanism.runs.clear()
    return lazy, answers


def test_a_lazy_state_is_run_once() -> None:
    mechanism = Counted()
    lazy, _ = logged(mechanism, 3)
    assert mechanism.runs == []
    assert lazy.played() == lazy.played() == 3
    assert mechanism.runs == ["init"]
    assert repr(lazy) == "Unplayed(Counted, messages=3)"
    mechanism = Counted()
    lazy, _ = logged(mechanism, 2)
    after, other = (
        lazy.asked("bits", coins(place), mechanism.step(2, "bits", coins(place)())[1])
        for place in (3, 4)
    )
    assert (lazy.played(), after.played(), other.played()) == (2, 3, 3)


@attrs.frozen
class Long(Counted):
    """Refuses to analysts elsewhere what takes long."""

    def step(self, state: int, query: Any, coins: Coins) -> tuple[int, Any]:
        if is_quick():
            raise QueryError("too long")
        return super().step(state, query, coins)


def test_what_is_run_again_may_take_long() -> None:
    """The owner may have asked it. An analyst who asks next would otherwise lose the child."""
    lazy, _ = logged(Long(), 2)
    with within_effort():
        assert lazy.played() == 2
        assert is_quick()
    # So that the data may read for several queries at once.
    mechanism = Counted()
    lazy, _ = logged(mechanism, 70)
    told: list[tuple[Any, int]] = []
    assert lazy.played(lambda data, queries: told.append((data, len(queries)))) == 70
    assert told == [([1], 64), ([1], 6)]


def test_each_message_that_is_run_again_is_noticed() -> None:
    """So a server lets its deadline begin anew: together they may take longer than one message."""
    lazy, _ = logged(Counted(), 3)
    noticed: list[int] = []
    with noticing(lambda: noticed.append(1)):
        lazy.played()
        lazy.played()
    assert len(noticed) == 3
    logged(Counted(), 3)[0].played()
    assert len(noticed) == 3


def test_a_run_that_was_interrupted_is_run_again_from_its_start() -> None:
    mechanism = Counted()
    lazy, _ = logged(mechanism, 2)
    interrupts = iter((True, False, False))

    def same(answer: Any, logged: Any) -> bool:
        if answer == last and next(interrupts):
            raise KeyboardInterrupt
        return bool(answer == logged)

    last = mechanism.step(1, "bits", coins(2)())[1]
    lazy._same = same
    with pytest.raises(KeyboardInterrupt):
        lazy.played()
    assert lazy.played() == 2


@pytest.mark.parametrize("place", range(3))
def test_another_answer_is_noticed(place: int) -> None:
    mechanism = Counted()
    _, answers = logged(mechanism, 2)
    answers[place] += 1
    lazy = Unplayed(mechanism, [1], coins(0), answers[0], operator.eq)
    for message in (1, 2):
        lazy = lazy.asked("bits", coins(message), answers[message])
    with pytest.raises(DifferentAnswerError, match=f"message {place} otherwise"):
        lazy.played()


def test_a_recall_runs_no_mechanism_that_may_read_data() -> None:
    mechanism = Counted()
    recall = Recall((Launched(0, 12), Failed(), Launched(None, 5), Launched(2, None)), operator.eq)
    state, opening, _ = recall.started(mechanism, [1], coins(0))
    assert (type(state), opening, mechanism.runs) == (Unplayed, 12, [])
    assert recall.started(mechanism, [1], coins(0)) is None
    assert recall.started(RandomWord(), [1], coins(0))[1] == 5
    assert recall.starts(FiltCon(PureDP(1)))
    assert recall.started(mechanism, [1], coins(0)) is None
    recall = Recall(Failed(), operator.eq, 2)
    assert [recall.retires(depth) for depth in (1, 2, 3)] == [False, True, False]


def test_only_filters_and_odometers_are_made_again_without_data() -> None:
    @attrs.frozen(repr=False)
    class Reads(FiltCon):
        def open(self, data: Any) -> Any:
            return super().open(data)

    kinds: list[Any] = [FiltCon(PureDP(1)), OdomCon(PureDP), Reads(PureDP(1))]
    assert [each.recallable for each in kinds] == [True, True, False]
    assert not RandomBits().converses

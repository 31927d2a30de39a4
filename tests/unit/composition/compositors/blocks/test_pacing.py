"""The policy of a day over blocks."""

from typing import Any

import pytest

from composition import AtMostADay, Blocks, FiltCon, OdomCon, Whitehouse2023
from mechanisms import Count, Gaussian
from queryable import (
    ZCDP,
    ApproxDP,
    Ask,
    Last,
    LaunchOver,
    PrivacyLossQuery,
    PureDP,
    Queryable,
    QueryError,
    QueryRefusedError,
)
from queryable.streams.blocks import BlocksQuery
from tests.strategies import Faulty, Toy, raising
from tests.unit.composition.compositors.blocks.test_blocks import LITTLE, Reads


def paced(most: Any = "1/5", budget: Any = 1, days: int = 2) -> Queryable:
    q = Queryable(AtMostADay(PureDP(most)) @ Blocks(FiltCon(PureDP(budget))), [])
    for day in range(days):
        q.feed([day], block=f"day {day}")
        q.feed.close(f"day {day}")
    return q


def spent(q: Queryable) -> list[Any]:
    return [each.spent.parts[0] * 10 for each in q.ask(BlocksQuery())]


def test_a_block_loses_at_most_so_much_a_day() -> None:
    q = paced()
    assert q.launch_over(Reads(), Last(2)) == [0, 1]
    assert q.launch_over(Reads(), ["day 1"]) == [1]
    assert q.can_afford(Reads(), blocks=["day 0"])
    assert not q.can_afford(Reads(), blocks=Last(2))
    with pytest.raises(QueryRefusedError) as refused:
        q.launch_over(Reads(), Last(2))
    assert "block 'day 1' has a limit a day" in str(refused.value)
    assert (refused.value.spent, refused.value.remaining) == (PureDP("1/5"), PureDP(0))
    assert spent(q) == [1, 2]


def test_the_next_day_begins_when_a_block_is_closed() -> None:
    q = paced()
    q.launch_over(Reads(PureDP("1/5")), Last(2))
    q.feed([2], block="day 2")
    assert not q.can_afford(Reads(), blocks=["day 0"])
    q.feed.close("day 2")
    assert q.launch_over(Reads(PureDP("1/5")), Last(3)) == [0, 1, 2]
    assert spent(q) == [4, 4, 2]
    assert not q.can_afford(Reads(), blocks=["day 0"])


def test_the_budget_of_a_block_still_holds() -> None:
    q = paced(most="1/5", budget="3/10")
    q.launch_over(Reads(PureDP("1/5")), ["day 0"])
    q.feed([2], block="day 2")
    q.feed.close("day 2")
    with pytest.raises(QueryRefusedError, match="block day 0 cannot pay: insufficient budget"):
        q.launch_over(Reads(PureDP("1/5")), ["day 0"])
    assert q.can_afford(Reads(), blocks=["day 0"])
    assert not q.can_afford(Reads(PureDP("1/5")), blocks=["day 0"])


def test_what_failed_is_counted_and_what_was_refused_is_not() -> None:
    q = paced()
    with pytest.raises(QueryRefusedError):
        q.launch_over(Reads(PureDP(2)), ["day 0"])
    faulty = Faulty(raising(ValueError()), True, charged=LITTLE)
    assert type(q._root.tell((), LaunchOver(faulty, ["day 0"]))).__name__ == "Failed"
    q.launch_over(Reads(), ["day 0"])
    assert not q.can_afford(Reads(), blocks=["day 0"])


def test_everything_else_passes() -> None:
    q = paced()
    child = q.launch_over(Toy(LITTLE), ["day 0"])
    assert child.ask("bits") == 0
    assert q.ask(Ask(0, PrivacyLossQuery())) == LITTLE
    assert q.privacy_loss() == LITTLE
    assert len(q.ask(BlocksQuery())) == 2
    one, other = q.launch_many([LaunchOver(Reads(), ["day 0"]), LaunchOver(Reads(), ["day 0"])])
    assert one == [0]
    assert "limit a day" in other.reason


@pytest.mark.parametrize(
    "wrong",
    [
        lambda q: q.launch_over(Reads(), ["x"]),
        lambda q: q.launch_over(Reads(), []),
        lambda q: q.launch_over(Reads(), Last(3)),
        lambda q: q.launch_over(Reads(), Last("x")),
        lambda q: q.launch_over(Reads(), ["day 0"], PureDP("1/100")),
        lambda q: q.launch_over(Count(), ["day 0"]),
        lambda q: q.launch(Reads()),
        lambda q: q.can_afford(Reads(), blocks=["x"]),
        lambda q: q.feed([1]),
        lambda q: q.feed([1], block="day 0"),
        lambda q: q.ask("bits"),
    ],
)
def test_a_wrong_message_changes_nothing(wrong: Any) -> None:
    q = paced()
    q.launch_over(Reads(), ["day 0"])
    with pytest.raises(QueryError):
        wrong(q)
    assert spent(q) == [1, 0]
    assert q.launch_over(Reads(), Last(2)) == [0, 1]
    assert not q.can_afford(Reads(), blocks=["day 0"])


def test_over_something_else_it_refuses_launches_over_blocks() -> None:
    q = Queryable(AtMostADay(PureDP(1)) @ OdomCon(PureDP), [1])
    assert q.launch(Reads()) == [1]
    with pytest.raises(QueryError):
        q.launch_over(Reads(), ["x"])


def test_another_measure_and_rule() -> None:
    """The day's losses add up by a rule of their own, in a measure that the launch converts to."""
    policy = AtMostADay(ApproxDP("1/2", "1e-6"), Whitehouse2023())
    q = Queryable(policy @ Blocks(FiltCon(ZCDP(1))), [])
    q.feed([1], block="a")
    q.feed.close("a")
    with pytest.raises(QueryRefusedError, match="the policy of a day"):
        q.launch_over(Gaussian(Count(), rho="1/100"), ["a"])
    assert q.launch_over(Reads(PureDP("1/20")), ["a"]) == [1]

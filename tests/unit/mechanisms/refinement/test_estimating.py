"""Estimates: opening, refining, stopping and coming back, the same for every person who refines."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from composition import FiltCon
from mechanisms import (
    AbsoluteError,
    BrownianNoiseReduction,
    Count,
    Gaussian,
    Open,
    Refine,
    RelativeError,
    Until,
    column,
    even_schedule,
)
from mechanisms.refinement.estimate import Refined, Stopped
from mechanisms.refinement.messages import Latest
from queryable import (
    ZCDP,
    CanAfford,
    Launch,
    MechanismFault,
    Queryable,
    QueryError,
    QueryRefusedError,
    SeededCoins,
    Statistic,
)
from queryable.errors import RetiredChildError
from queryable.statistics import IntegerStatistic

DATA = {"age": np.arange(1000) % 90, "state": np.array(["NY", "CA"] * 500)}
TWICE = Statistic(len, l1=2, l2=2)


def over(budget: Any = 10**6, **settings: Any) -> Queryable:
    """Noise reduction over a zCDP filter."""
    return Queryable(
        BrownianNoiseReduction() @ FiltCon(ZCDP(budget), **settings),
        DATA,
        coins=SeededCoins(3),
        allow_seeded=True,
    )


@pytest.mark.parametrize(
    "wrong",
    [
        Refine(100),
        Refine(101),
        Refine(0),
        Refine(-1),
        Refine("x"),
        Refine(float("nan")),
        Refine(True),
        Refine(None),
        Until(lambda _: True, [50, 60]),
        Until(lambda _: True, [50, 50]),
        Until(lambda _: True, []),
        Until(lambda _: True, [100, 200]),
        Until(lambda _: True, 50),
        Until(lambda _: True),
        Until(3, [50]),
        Until(lambda _: 1 / 0, [50]),
        Until(lambda _: None, [50]),
        CanAfford(Refine(100)),
        "refine",
    ],
)
def test_wrong_queries_change_nothing(wrong: Any) -> None:
    """Refused before anything is charged."""
    table = over()
    estimate = table(Open(Count()))
    estimate(Refine(100))
    with pytest.raises(QueryError):
        estimate(wrong)
    assert table.privacy_loss() == ZCDP("1/200")
    assert estimate(Refine(99)).variance == 99


class Undeclared(IntegerStatistic):
    """No sensitivity at all."""

    shape = None

    def value(self, dataset: Any) -> int:
        return 0


@pytest.mark.parametrize(
    "wrong",
    [
        Open(len),
        Open(None),
        Open(Undeclared()),
        Open(Statistic(len, l1=0, l2=0)),
        Open(Count(), [1, 2]),
        Open(Count(), []),
        Open(Count(), "abc"),
        Open(Count(), [0]),
    ],
)
def test_wrong_statistics_and_schedules_are_not_opened(wrong: Any) -> None:
    """A statistic without sensitivity, or a schedule that does not fall."""
    with pytest.raises(QueryError):
        over()(wrong)


def test_a_schedule_is_followed_entry_by_entry() -> None:
    """Each `Refine()` goes to the next entry; one may jump, and go on from there."""
    schedule = even_schedule(1000, 10, 12)
    estimate = over()(Open(Count(), schedule))
    assert [estimate(Refine()).variance for _ in range(3)] == list(schedule[:3])
    estimate(Refine(50))
    assert estimate(Refine()).variance == next(each for each in schedule if each < 50)
    estimate(Refine(10))
    with pytest.raises(QueryError, match="ends at 10"):
        estimate(Refine())


def test_until_stops_where_the_condition_first_holds() -> None:
    """The charge is that of the step it stopped at, and to ask again costs nothing."""
    table = over()
    schedule = even_schedule(10**4, 1, 200)
    estimate = table(Open(Count(), schedule))
    stopped = estimate(Until(RelativeError("1/10")))
    assert isinstance(stopped, Stopped)
    assert stopped.met
    place = schedule.index(stopped.variance)
    assert 0 < place < len(schedule) - 1
    assert stopped.variance * 21**2 <= stopped.value**2
    assert table.privacy_loss() == ZCDP(1 / (2 * stopped.variance))
    assert estimate(Until(RelativeError("1/10"))) == stopped
    assert table.privacy_loss() == ZCDP(1 / (2 * stopped.variance))


def test_until_goes_on_later_and_further() -> None:
    """A stricter condition takes it up where it was, by the same schedule."""
    estimate = over()(Open(Count(), even_schedule(10**4, 1, 200)))
    first = estimate(Until(AbsoluteError(50)))
    seen: list[Any] = []
    second = estimate(Until(lambda each: bool(seen.append(each) or len(seen) == 4)))
    assert first.variance == seen[0].variance > seen[1].variance > second.variance
    assert second == Stopped(seen[3].value, seen[3].variance, True)


def test_until_the_schedule_ends() -> None:
    """It says that the condition was not met, with the estimate it paid for."""
    table = over()
    estimate = table(Open(Count()))
    stopped = estimate(Until(lambda _: False, [100, 10]))
    assert (stopped.met, stopped.variance) == (False, 10)
    for text in (str(stopped), repr(stopped), table.tree()):
        assert "the condition does not hold: the schedule ended first" in text
    assert table.privacy_loss() == ZCDP("1/20")
    with pytest.raises(QueryError, match="ends at 10"):
        estimate(Until(lambda _: False, [100, 10]))
    assert "does not hold" not in str(estimate(Until(lambda _: True, [5])))
    assert "does not hold" not in table.tree()


def test_the_tree_says_what_an_estimate_is_of() -> None:
    table = over()
    table(Open(Count(column("age") >= 65)))
    assert "[estimate 0] Open: Count where age >= 65  paid from its parent's budget" in table.tree()


@pytest.mark.parametrize("wrong", [lambda _: {}[1], lambda _: "yes", lambda each: each.nothing])
def test_a_condition_that_fails_loses_nothing(wrong: Any) -> None:
    """What was paid for can be asked for, and everything goes on."""
    table = over()
    estimate = table(Open(Count(), [1000, 100]))
    with pytest.raises(QueryRefusedError, match=r"condition .*paid for"):
        estimate(Until(wrong))
    assert estimate(Latest()).variance == 1000
    assert table.privacy_loss() == ZCDP("1/2000")
    assert estimate(Refine()).variance == 100


def test_a_statistic_that_fails_retires_its_estimate() -> None:
    """The charge is kept, nothing is told, and the others answer."""

    def leaky(dataset: Any) -> int:
        raise ValueError("Ada is in row 7")

    table = over()
    bad, good = table(Open(Statistic(leaky, l1=1, l2=1))), table(Open(Count()))
    with pytest.raises(MechanismFault) as caught:
        bad(Until(lambda _: False, [100, 10]))
    assert "Ada" not in str(caught.value)
    assert table.privacy_loss() == ZCDP("1/200")
    for query in (Refine(10), Latest()):
        with pytest.raises(RetiredChildError):
            bad(query)
    assert good(Refine(100)).variance == 100


def test_the_count_of_launches_is_a_limit_too() -> None:
    """Each refinement is one; what was reached stays."""
    table = over(1, max_mechanisms=2)
    estimate = table(Open(Count(), [1000, 100, 10]))
    with pytest.raises(QueryRefusedError, match=r"count limit; the steps until then"):
        estimate(Until(lambda _: False))
    assert estimate(Latest()).variance == 100


def test_everything_else_passes_through_unchanged() -> None:
    """Ids, refusals, nested filters, reports: as without the person."""
    table, plain = over(1), Queryable(FiltCon(ZCDP(1)), DATA)
    table(Open(Count()))
    for q in (table, plain):
        team = q(FiltCon(ZCDP("1/2")))
        team(Gaussian(Count(), rho="1/4"))
        with pytest.raises(QueryRefusedError, match="insufficient") as caught:
            team(Gaussian(Count(), rho=1))
        assert caught.value.remaining == ZCDP("1/4")
        assert team.privacy_loss() == ZCDP("1/4")
        assert q.privacy_loss(2) == ZCDP(2)
        assert q.can_afford(Gaussian(Count(), rho="1/2"))
        assert set(q.children) - {"estimate 0"} == {0}
        with pytest.raises(QueryError):
            team(Open(Count()))
        with pytest.raises(QueryError):
            q(Launch(3))


def test_the_handle_shows_estimates_among_its_children() -> None:
    """Each by its name, with a view of its own."""
    table = over()
    visits, ages = table(Open(Count())), table(Open(TWICE))
    assert table.children["estimate 0"] is visits
    ages(Refine(7))
    visits(Refine(9))
    ages(Refine(5))
    assert [each.query for each in ages.view.exchanges] == [Refine(7), Refine(5)]
    assert ages(Latest()) == ages.view.answers[-1]
    assert "estimate 1" in repr(ages)


def test_estimates_compare_by_value() -> None:
    """Arrays too, so that views can be compared."""
    one, same, other = (Refined(np.array([1.0, each]), Fraction(1)) for each in (2, 2, 3))
    assert one == same != other
    assert hash(one) == hash(same)
    assert str(Refined(Fraction(5, 2), Fraction(1, 4))) == "2.5 with variance 0.25"


def test_a_postprocessor_alone_says_what_to_write() -> None:
    message = r"write BrownianNoiseReduction\(\.\.\) @ FiltCon\(budget\)"
    alone: Any = BrownianNoiseReduction()
    with pytest.raises(TypeError, match=message):
        Queryable(alone, [1])
    with pytest.raises(QueryError, match=message):
        Queryable(FiltCon(ZCDP(1)), [1]).launch(alone)

"""Estimates, and Brownian noise reduction: what it costs, what it tells, what else may run."""

import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from composition import FiltCon, OdomCon, ViaZCDP
from mechanisms import (
    AbsoluteError,
    BrownianNoiseReduction,
    Count,
    Gaussian,
    Histogram,
    Open,
    Refine,
    RelativeError,
    SparseVector,
    Until,
    column,
    even_schedule,
    geometric_schedule,
)
from mechanisms.refinement.estimate import Refined, Stopped
from mechanisms.refinement.refine_queries import Latest
from queryable import (
    RDP,
    ZCDP,
    ApproxDP,
    CanAfford,
    Launch,
    MechanismFault,
    PrivacyClaimError,
    PureDP,
    Queryable,
    QueryError,
    QueryRefusedError,
    SeededCoins,
    Statistic,
)
from queryable.errors import RetiredChildError
from queryable.statistics import IntegerStatistic

DATA = {"age": np.arange(1000) % 90, "state": np.array(["NY", "CA"] * 500)}
WIDE = Statistic(lambda dataset: np.arange(4) * 10**6, l1=6, l2=3, shape=4)
TWICE = Statistic(len, l1=2, l2=2)
variances = st.fractions(min_value=Fraction(1, 50), max_value=1000, max_denominator=50)
falling = st.lists(variances, min_size=1, max_size=8, unique=True).map(
    lambda values: sorted(values, reverse=True)
)


def over(budget: Any = 10**6, **settings: Any) -> Queryable:
    return Queryable(
        BrownianNoiseReduction() @ FiltCon(ZCDP(budget), **settings),
        DATA,
        coins=SeededCoins(3),
        allow_seeded=True,
    )


@settings(max_examples=40)
@given(falling)
def test_only_the_last_variance_is_paid_for(schedule: list[Fraction]) -> None:
    """Whatever the steps, the charge is l2^2 / (2 t) at the last t, exactly."""
    table = over()
    estimate = table(Open(TWICE))
    for variance in schedule:
        assert estimate(Refine(variance)).variance == variance
        assert table.privacy_loss() == estimate.privacy_loss() == ZCDP(2 / variance)
    assert estimate.privacy_loss(3) == ZCDP(18 / schedule[-1])


@settings(max_examples=40)
@given(falling)
def test_the_estimate_is_the_mean_weighted_by_precision(schedule: list[Fraction]) -> None:
    """The same seed through plain Gaussian launches gives the answers it is made of."""
    table = over()
    plain = over()
    estimate = table(Open(Count()))
    plain(Open(Count()))  # the same number of messages
    precision, total = Fraction(0), Fraction(0)
    for variance in schedule:
        told = estimate(Refine(variance))
        more = 1 / variance - precision
        total += more * plain(Gaussian(Count(), variance=1 / more))
        precision += more
        assert told == Refined(total / precision, variance)


def test_arrays_are_refined_entry_by_entry() -> None:
    """A vector comes back with its shape, read-only, the more exact the finer."""
    estimate = over()(Open(WIDE))
    errors = []
    for variance in (10**8, 100, 1):
        told = estimate(Refine(variance))
        assert told.value.shape == (4,)
        assert not told.value.flags.writeable
        errors.append(abs(told.value - np.arange(4) * 10**6).max())
    assert errors[0] > errors[1] > errors[2]
    assert estimate.privacy_loss() == ZCDP("9/2")


def test_noise_reductions_nest_and_interleave() -> None:
    """Their total is l2^2 / (2 t) summed over where each stopped, and the sparse vector's."""
    table = over(1)
    visits, ages = table(Open(Count())), table(Open(Histogram("state", ["NY", "CA"])))
    visits(Refine(1000))
    search = table(SparseVector(threshold=500, epsilon="1/10"))
    ages(Refine(5000))
    assert search(Count())
    visits(Refine(200))
    ages(Refine(70))
    visits(Refine("100/3"))
    own = SparseVector(500, epsilon="1/10").privacy_map(1, ZCDP)
    assert isinstance(own, ZCDP)
    assert table.privacy_loss() == ZCDP(Fraction(3, 200) + Fraction(1, 140) + own.rho)
    with pytest.raises(QueryRefusedError):
        search(Count())  # answered True once
    assert visits(Refine(30)).variance == 30
    # Within a part of the budget, beside one that is outside.
    table = over(1)
    team = table(BrownianNoiseReduction() @ FiltCon(ZCDP("1/10")))
    inner, outer = team(Open(Count())), table(Open(Count()))
    inner(Refine(100))
    outer(Refine(50))
    inner(Refine(5))
    with pytest.raises(QueryRefusedError, match="no finer"):
        inner(Refine(4))
    assert outer(Refine(10)).variance == 10
    assert table.privacy_loss() == ZCDP("3/20")


def test_a_target_beyond_the_budget_says_what_is_affordable() -> None:
    """Refused before anything is charged, with the finest variance, which is then admitted."""
    table = over(1)
    table(Gaussian(Count(), rho="1/4"))
    estimate = table(Open(TWICE))
    with pytest.raises(QueryRefusedError, match=r"finest variance affordable is 8/3") as caught:
        estimate(Refine(2))
    assert caught.value.remaining == ZCDP("3/4")
    estimate(Refine(4))
    for target in (4, 5):
        with pytest.raises(QueryError, match="not finer"):
            estimate(Refine(target))
    for query in (Refine(2), Until(lambda _: False, [3, 2])):
        with pytest.raises(QueryRefusedError, match=r"finest variance affordable is 8/3"):
            estimate(query)
    assert not estimate(CanAfford(Refine(2)))
    assert table.privacy_loss() == ZCDP("3/4")
    estimate(Refine("8/3"))
    assert table.privacy_loss() == ZCDP(1)
    with pytest.raises(QueryRefusedError, match="no finer variance is affordable"):
        estimate(Refine(2))
    # All of it must be affordable before its first step is taken.
    table = over("1/100")
    estimate = table(Open(Count(), [1000, 100, 10]))
    with pytest.raises(QueryRefusedError, match=r"nothing was read.*variance affordable is 50"):
        estimate(Until(lambda _: True))
    assert table.privacy_loss() == ZCDP(0)
    with pytest.raises(QueryError, match="not been refined"):
        estimate(Latest())


def test_what_remains_is_said_under_other_budgets() -> None:
    """RDP at an order and at several, zCDP within (epsilon, delta), a budget for two records."""
    for filtered, match in (
        (FiltCon(RDP(8, "4/5")), "affordable is 5$"),
        (FiltCon(RDP.at(2, 8).from_loss(ZCDP("1/10"))), "affordable is 5$"),
        (FiltCon(ZCDP("1/10"), d_in=2), "affordable is 20$"),
        (FiltCon(ApproxDP(1, "1e-6"), rule=ViaZCDP()), r"affordable is \d\d\.\d+$"),
    ):
        table = Queryable(BrownianNoiseReduction() @ filtered, DATA)  # type: ignore[arg-type]
        estimate = table(Open(Count()))
        with pytest.raises(QueryRefusedError) as caught:
            estimate(Refine("1/10"))
        found = re.search(match, caught.value.instead)
        assert found
        estimate(Refine(found[0].split()[-1]))


def test_a_halting_filter_halts() -> None:
    """That is what it was asked to do; what is known stays."""
    table = over("1/100", on_exceed="halt")
    estimate = table(Open(Count(), [1000, 100]))
    estimate(Refine())
    for query in (Refine(1), Refine(), Until(lambda _: False)):
        with pytest.raises(QueryRefusedError, match="insufficient budget"):
            estimate(query)
    assert estimate(Latest()).variance == 1000
    # Any compositor that takes Gaussians will do.
    table = Queryable(BrownianNoiseReduction() @ OdomCon(ZCDP), DATA)
    estimate = table(Open(Count()))
    estimate(Refine("1/1000"))
    assert table.privacy_loss() == ZCDP(500)
    # The filter's own words, and nothing is lost.
    table = Queryable(BrownianNoiseReduction() @ FiltCon(PureDP(1)), DATA)
    estimate = table(Open(Count(), [100]))
    for query in (Refine(), Until(lambda _: False), CanAfford(Refine())):
        with pytest.raises(PrivacyClaimError, match="Gaussian"):
            estimate(query)
    assert table(Open(Count())).privacy_loss() == ZCDP(0)


@pytest.mark.parametrize(
    "schedule", [even_schedule(10**4, "1/2", 30), geometric_schedule(10**4, "1/2", "7/5")]
)
def test_the_finest_variance_quoted_is_affordable(schedule: Any) -> None:
    """What the refusal says is admitted when it is said back, to the last digit it has."""
    for budget in ("1/7", "0.3333333", "123456789/1000000007", "1e-9"):
        table = over(budget)
        estimate = table(Open(TWICE, schedule))
        if estimate(CanAfford(Refine())):
            estimate(Refine())
        with pytest.raises(QueryRefusedError) as caught:
            estimate(Refine("1e-30"))
        quoted = caught.value.instead.split()[-1]
        assert estimate(CanAfford(Refine(quoted)))
        assert not estimate(CanAfford(Refine(Fraction(quoted) * Fraction(99999, 100000))))


@pytest.mark.parametrize(
    "wrong",
    [
        *(Refine(100), Refine(101), Refine(0), Refine(-1), Refine("x"), Refine(float("nan"))),
        *(Refine(True), Refine(None), Until(lambda _: True, [50, 60])),
        *(Until(lambda _: True, [50, 50]), Until(lambda _: True, [])),
        *(Until(lambda _: True, [100, 200]), Until(lambda _: True, 50), Until(lambda _: True)),
        *(Until(3, [50]), Until(lambda _: 1 / 0, [50]), Until(lambda _: None, [50])),
        *(CanAfford(Refine(100)), "refine"),
    ],
)
def test_wrong_queries_change_nothing(wrong: Any) -> None:
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
        *(Open(len), Open(None), Open(Undeclared()), Open(Statistic(len, l1=0, l2=0))),
        *(Open(Count(), [1, 2]), Open(Count(), []), Open(Count(), "abc"), Open(Count(), [0])),
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
    # It says that the condition was not met, with the estimate it paid for.
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


def test_estimates_are_shown_and_compared_by_value() -> None:
    table = over()
    table(Open(Count(column("age") >= 65)))
    assert "[estimate 0] Open: Count where age >= 65  paid from its parent's budget" in table.tree()
    table = over()
    visits, ages = table(Open(Count())), table(Open(TWICE))
    assert table.children["estimate 0"] is visits
    ages(Refine(7))
    visits(Refine(9))
    ages(Refine(5))
    assert [each.query for each in ages.view.exchanges] == [Refine(7), Refine(5)]
    assert ages(Latest()) == ages.view.answers[-1]
    assert "estimate 1" in repr(ages)
    # Arrays too, so that views can be compared.
    one, same, other = (Refined(np.array([1.0, each]), Fraction(1)) for each in (2, 2, 3))
    assert one == same != other
    assert hash(one) == hash(same)
    assert str(Refined(Fraction(5, 2), Fraction(1, 4))) == "2.5 with variance 0.25"


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


def test_the_count_of_launches_is_a_limit_too() -> None:
    """Each refinement is one; what was reached stays."""
    table = over(1, max_mechanisms=2)
    estimate = table(Open(Count(), [1000, 100, 10]))
    with pytest.raises(QueryRefusedError, match=r"count limit; the steps until then"):
        estimate(Until(lambda _: False))
    assert estimate(Latest()).variance == 100

    # The charge is kept, nothing is told, and the others answer.
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
    message = r"write BrownianNoiseReduction\(\.\.\) @ FiltCon\(budget\)"
    alone: Any = BrownianNoiseReduction()
    with pytest.raises(TypeError, match=message):
        Queryable(alone, [1])
    with pytest.raises(QueryError, match=message):
        Queryable(FiltCon(ZCDP(1)), [1]).launch(alone)

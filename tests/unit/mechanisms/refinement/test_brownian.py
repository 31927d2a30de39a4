"""Brownian noise reduction: what it costs, what it tells, and that it interleaves with anything."""

import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from composition import FiltCon, OdomCon, ViaZCDP
from mechanisms import (
    BrownianNoiseReduction,
    Count,
    Gaussian,
    Histogram,
    Open,
    Refine,
    SparseVector,
    Until,
    even_schedule,
    geometric_schedule,
)
from mechanisms.refinement.estimate import Refined
from mechanisms.refinement.messages import Latest
from queryable import (
    RDP,
    ZCDP,
    ApproxDP,
    CanAfford,
    PrivacyClaimError,
    PureDP,
    Queryable,
    QueryError,
    QueryRefusedError,
    SeededCoins,
    Statistic,
)

DATA = {"age": np.arange(1000) % 90, "state": np.array(["NY", "CA"] * 500)}
WIDE = Statistic(lambda dataset: np.arange(4) * 10**6, l1=6, l2=3, shape=4)
TWICE = Statistic(len, l1=2, l2=2)
variances = st.fractions(min_value=Fraction(1, 50), max_value=1000, max_denominator=50)
falling = st.lists(variances, min_size=1, max_size=8, unique=True).map(
    lambda values: sorted(values, reverse=True)
)


def over(budget: Any = 10**6, **settings: Any) -> Queryable:
    """Noise reduction over a zCDP filter."""
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
    plain = Queryable(
        BrownianNoiseReduction() @ FiltCon(ZCDP(10**6)),
        DATA,
        coins=SeededCoins(3),
        allow_seeded=True,
    )
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


def test_two_reductions_and_a_sparse_vector_interleave() -> None:
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


def test_a_target_beyond_the_budget_says_what_is_affordable() -> None:
    """Refused before anything is charged, with the finest variance, which is then admitted."""
    table = over(1)
    table(Gaussian(Count(), rho="1/4"))
    estimate = table(Open(TWICE))
    with pytest.raises(QueryRefusedError, match=r"finest variance affordable is 8/3") as caught:
        estimate(Refine(2))
    assert caught.value.remaining == ZCDP("3/4")
    estimate(Refine(4))
    for query in (Refine(2), Until(lambda _: False, [3, 2])):
        with pytest.raises(QueryRefusedError, match=r"finest variance affordable is 8/3"):
            estimate(query)
    assert not estimate(CanAfford(Refine(2)))
    assert table.privacy_loss() == ZCDP("3/4")
    estimate(Refine("8/3"))
    assert table.privacy_loss() == ZCDP(1)
    with pytest.raises(QueryRefusedError, match="no finer variance is affordable"):
        estimate(Refine(2))


def test_a_schedule_beyond_the_budget_charges_nothing() -> None:
    """All of it must be affordable before its first step is taken."""
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


def test_over_an_odometer_refinement_is_not_refused() -> None:
    """Any compositor that takes Gaussians will do."""
    table = Queryable(BrownianNoiseReduction() @ OdomCon(ZCDP), DATA)
    estimate = table(Open(Count()))
    estimate(Refine("1/1000"))
    assert table.privacy_loss() == ZCDP(500)


def test_a_budget_that_takes_no_gaussian_says_so() -> None:
    """The filter's own words, and nothing is lost."""
    table = Queryable(BrownianNoiseReduction() @ FiltCon(PureDP(1)), DATA)
    estimate = table(Open(Count(), [100]))
    for query in (Refine(), Until(lambda _: False), CanAfford(Refine())):
        with pytest.raises(PrivacyClaimError, match="Gaussian"):
            estimate(query)
    assert table(Open(Count())).privacy_loss() == ZCDP(0)


def test_noise_reductions_nest() -> None:
    """Within a part of the budget, beside one that is outside."""
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

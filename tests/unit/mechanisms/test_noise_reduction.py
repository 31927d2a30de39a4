"""Brownian noise reduction: what it costs, what it tells, and that it interleaves with anything."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from composition import FiltCon
from mechanisms import (
    BrownianNoiseReduction,
    Count,
    Estimate,
    Gaussian,
    Histogram,
    Open,
    Refine,
    SparseVector,
    Until,
    even_schedule,
)
from queryable import (
    ZCDP,
    CanAfford,
    IntegerStatistic,
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


@given(falling)
def test_the_last_variance_alone_is_paid_for(schedule: list[Fraction]) -> None:
    """Whatever the steps, the charge is l2^2 / (2 t) at the last t, exactly."""
    table = over()
    estimate = table(Open(TWICE))
    for variance in schedule:
        assert estimate(Refine(variance)).variance == variance
        assert table.privacy_loss() == estimate.privacy_loss() == ZCDP(2 / variance)
    assert estimate.privacy_loss(3) == ZCDP(18 / schedule[-1])


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
        assert told == Estimate(total / precision, variance)


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
def test_what_cannot_be_refined_is_not_opened(wrong: Any) -> None:
    """A statistic without sensitivity, or a schedule that does not fall."""
    with pytest.raises(QueryError):
        over()(wrong)


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

"""Doubling: every release is paid in full, and the last alone is told."""

from fractions import Fraction
from typing import Any

import pytest

from composition import FiltCon
from mechanisms import Count, Doubling, Laplace, Open, Refine, RelativeError, SparseVector, Until
from mechanisms.refinement.messages import Latest
from queryable import (
    ZCDP,
    CanAfford,
    PureDP,
    Queryable,
    QueryError,
    QueryRefusedError,
    SeededCoins,
    Statistic,
)

FIVE_HUNDRED = Statistic(lambda dataset: 500, l1=2, l2=2)


def over(person: Doubling, budget: Any) -> Queryable:
    return Queryable(person @ FiltCon(budget), [1, 2], coins=SeededCoins(5), allow_seeded=True)


@pytest.mark.parametrize("factor", [2, "3/2", 10])
def test_every_gaussian_release_is_paid(factor: Any) -> None:
    """The sum of l2^2 / (2 variance), below factor/(factor - 1) times the last."""
    table = over(Doubling(1000, factor), ZCDP(10**6))
    estimate = table(Open(FIVE_HUNDRED))
    paid = Fraction(0)
    for release in range(7):
        variance = 1000 / Fraction(factor) ** release
        assert estimate(Refine()).variance == variance
        paid += 2 / variance
        assert table.privacy_loss() == estimate.privacy_loss() == ZCDP(paid)
    ratio = Fraction(factor)
    assert paid < ratio / (ratio - 1) * 2 / variance
    assert estimate.privacy_loss(2) == ZCDP(4 * paid)


def test_laplace_releases_double_epsilon() -> None:
    """Over a pure filter; the variance told is twice the scale squared."""
    table = over(Doubling(64, noise="laplace"), PureDP(100))
    estimate = table(Open(FIVE_HUNDRED))
    assert [estimate(Refine()).variance for _ in range(3)] == [2 * 64**2, 2 * 32**2, 2 * 16**2]
    assert table.privacy_loss() == estimate.privacy_loss() == PureDP(Fraction(14, 64))
    assert estimate.privacy_loss(2) == PureDP(Fraction(14, 32))


def test_releases_are_independent() -> None:
    """Each is the launch that it costs, and no mean of several."""
    table = over(Doubling(50, noise="laplace"), PureDP(100))
    plain = over(Doubling(50, noise="laplace"), PureDP(100))
    estimate = table(Open(FIVE_HUNDRED))
    plain(Open(FIVE_HUNDRED))
    for scale in (50, 25, Fraction(25, 2)):
        assert estimate(Refine()).value == plain(Laplace(FIVE_HUNDRED, scale=scale))
    assert estimate(Latest()).variance == Fraction(625, 2)


def test_until_the_condition_holds() -> None:
    """It stops at the first release that is near enough, and charges nothing to look again."""
    table = over(Doubling(10**6), ZCDP(10))
    estimate = table(Open(FIVE_HUNDRED))
    stopped = estimate(Until(RelativeError("1/10")))
    assert stopped.met
    assert stopped.variance <= (500 / 21) ** 2 * 4
    spent = table.privacy_loss()
    assert estimate(Until(RelativeError("1/10"))) == stopped
    assert table.privacy_loss() == spent


def test_until_the_filter_refuses() -> None:
    """What was released before stays, and the refusal says what would have come next."""
    table = over(Doubling(1000), ZCDP("7/500"))
    estimate = table(Open(FIVE_HUNDRED))
    with pytest.raises(
        QueryRefusedError, match=r"paid for.*the next release would have variance 125"
    ):
        estimate(Until(lambda _: False))
    assert estimate(Latest()).variance == 250
    assert table.privacy_loss() == ZCDP("7/500")
    assert not estimate(CanAfford(Refine()))


def test_until_the_releases_are_used_up() -> None:
    """There is a most."""
    estimate = over(Doubling(1000, releases=3), ZCDP(10))(Open(FIVE_HUNDRED))
    stopped = estimate(Until(lambda _: False))
    assert (stopped.met, stopped.variance) == (False, 250)
    with pytest.raises(QueryError, match="ends at 250"):
        estimate(Refine())


def test_it_interleaves() -> None:
    """Other queries are the filter's."""
    table = over(Doubling(1000, noise="laplace"), PureDP(10))
    one, other = table(Open(FIVE_HUNDRED)), table(Open(Count()))
    one(Refine())
    search = table(SparseVector(1, epsilon=1))
    other(Refine())
    assert search(Count()) in {True, False}
    one(Refine())
    assert table.privacy_loss() == PureDP(1 + Fraction(2 + 1 + 4, 1000))


@pytest.mark.parametrize(
    "wrong", [Refine(10), Until(lambda _: True, [10]), Until(None), "refine", CanAfford(Refine(3))]
)
def test_the_schedule_is_its_own(wrong: Any) -> None:
    """What comes next is fixed by the factor."""
    estimate = over(Doubling(1000), ZCDP(1))(Open(FIVE_HUNDRED))
    with pytest.raises(QueryError):
        estimate(wrong)


@pytest.mark.parametrize("wrong", [Open(Count(), [3, 2]), Open(len)])
def test_wrong_openings(wrong: Any) -> None:
    """As for noise reduction, and no schedule."""
    with pytest.raises(QueryError):
        over(Doubling(1000), ZCDP(1))(wrong)

"""Gaussian noise reduction ex post, against the best time to stop.

All measurements of a schedule have one variance here, so the realised loss is an affine function of
the sum of their noise, an integer. The best adversary is found by induction from the last step.
"""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from composition import ExPost
from mechanisms import Count, Histogram, LaplaceNoiseReduction, Refine, RelativeError, Until
from mechanisms.refinement.gaussian_reduction import GaussianNoiseReduction
from mechanisms.refinement.refine_queries import Latest
from queryable import ApproxDP, Ask, CanAfford, Queryable, QueryRefusedError, SeededCoins
from queryable.errors import PrivacyClaimError
from queryable.losses import ZCDP, PureDP

DATA: Any = {"age": np.arange(400) % 5}


def best_stop(mechanism: GaussianNoiseReduction, factor: float = 1.0) -> float:
    """The largest mean of (1 - e^(E-L))_+ over all ways to stop, for data that differ by one.

    Args:
        factor: by which the expense is multiplied.
    """
    assert {*mechanism._increments} == {mechanism.variances[0]}
    variance = float(mechanism.variances[0])
    steps, reach = (
        len(mechanism.variances),
        round(14 * (variance * len(mechanism.variances)) ** 0.5),
    )
    noise = np.arange(-round(14 * variance**0.5), round(14 * variance**0.5) + 1)
    law = np.exp(-(noise**2) / (2 * variance))
    law /= law.sum()
    sums = np.arange(-reach, reach + 1)

    def stopped(step: int) -> Any:
        expense = factor * float(mechanism.spent(mechanism.variances[step - 1], Fraction(1)))
        loss = (2 * sums + step) / (2 * variance)  # log of exp((g+1)^2/2v - g^2/2v), summed
        return np.maximum(0.0, -np.expm1(expense - loss))

    value = stopped(steps)
    for step in range(steps - 1, 0, -1):
        value = np.maximum(stopped(step), np.convolve(value, law, mode="same"))
    return float(law @ value[reach + noise])


def even(variance: int, steps: int) -> list[Fraction]:
    """A schedule of measurements that all have this variance."""
    return [Fraction(variance, step) for step in range(1, steps + 1)]


@pytest.mark.parametrize("missed", ["1/10", "1/1000", "1e-6"])
@pytest.mark.parametrize(("variance", "steps"), [(1, 1), (4, 6), (20, 60)])
def test_no_way_to_stop_loses_more(variance: int, steps: int, missed: str) -> None:
    mechanism = GaussianNoiseReduction(Count(), variances=even(variance, steps), missed=missed)
    assert best_stop(mechanism) <= float(Fraction(missed))


def test_an_expense_that_is_too_small_is_caught() -> None:
    """Two thirds of the expense is false, and so is that of one step that is fixed in advance."""
    mechanism = GaussianNoiseReduction(Count(), variances=even(20, 60), missed="1/1000")
    assert best_stop(mechanism) > 1 / 30_000
    assert best_stop(mechanism, 2 / 3) > 1 / 1000


def test_the_expense_is_near_that_of_one_release() -> None:
    """At most 15% more than if the step were fixed in advance; it rises with every step."""
    variances = [Fraction(10_000, step) for step in (1, 2, 3, 5, 10, 20, 50, 100)]
    mechanism = GaussianNoiseReduction(Count(), variances=variances, missed="1e-6")
    spent = [mechanism.spent(each, Fraction(1)) for each in variances]
    assert spent == sorted(spent)
    for each, cost in zip(variances, spent, strict=True):
        alone = ZCDP(1 / (2 * each)).to(ApproxDP, delta="1e-6").epsilon
        assert alone < cost < Fraction(115, 100) * alone


def test_the_formula_is_rounded_up() -> None:
    mechanism = GaussianNoiseReduction(Count(), variances=[9, 3], missed="1/100")
    rho, least = 1 / 6, 100.0
    for slope in map(float, mechanism.slopes):
        kappa = slope**slope / (1 + slope) ** (1 + slope)
        constant = np.log(kappa * len(mechanism.slopes) / 0.01) / slope
        least = min(least, (1 + slope) * rho + constant)
    assert least * (1 - 1e-12) < mechanism.spent(Fraction(3), Fraction(1)) < least * (1 + 1e-12)
    assert mechanism.spent(Fraction(3), Fraction(0)) >= 0


def opened(budget: Any = None) -> Any:
    budget = ApproxDP(2, "1e-5") if budget is None else budget
    return Queryable(ExPost(budget), DATA, coins=SeededCoins(5), allow_seeded=True)


MANY = GaussianNoiseReduction(Histogram("age", range(5)), variances=[900, 9], missed="1e-6")
REDUCTION = GaussianNoiseReduction(Count(), variances=[10_000, 2500, 400, 100], missed="1e-6")


def test_interleaves_with_others_in_an_ex_post_filter() -> None:
    """Each pays for its last release; deltas add up at the launches."""
    root = opened()
    one = root.launch(REDUCTION)
    other = root.launch(LaplaceNoiseReduction(Count(), scales=[20, 10]))
    assert (root.privacy_loss().epsilon, root.privacy_loss().delta) == (0, Fraction("1e-6"))
    many = root.launch(MANY)
    assert one(Refine()).variance == 10_000
    assert other(Refine()).variance == 800
    stopped = one(Until(RelativeError("1/10")))
    assert stopped.variance in REDUCTION.variances
    assert many(Refine()).value.shape == (5,)
    assert one(Latest()).value == stopped.value
    spent = REDUCTION.spent(stopped.variance, Fraction(1))
    beside = MANY.spent(Fraction(900), MANY.size)
    assert root.privacy_loss().epsilon == spent + Fraction(1, 20) + beside
    assert root.privacy_loss().delta == Fraction("2e-6")
    low, high = stopped.interval()
    assert low <= 400 <= high


def test_what_may_not_fit_is_refused() -> None:
    root = opened(ApproxDP("1/10", "1e-6"))
    child = root.launch(REDUCTION)
    assert child(Refine(2500)).variance == 2500
    assert not root.ask(CanAfford(Ask(0, Refine())))
    with pytest.raises(QueryRefusedError):
        child(Refine())
    with pytest.raises(QueryRefusedError):
        root.launch(REDUCTION)  # its delta
    with pytest.raises(PrivacyClaimError, match="delta of its own"):
        opened(PureDP(1)).launch(REDUCTION)


def test_releases_are_means_of_measurements() -> None:
    """Steps that are passed over do not change what comes later."""
    every = Queryable(REDUCTION, DATA, coins=SeededCoins(2), allow_seeded=True)
    some = Queryable(REDUCTION, DATA, coins=SeededCoins(2), allow_seeded=True)
    answers = [every(Refine()) for _ in REDUCTION.variances]
    assert some(Refine(400)) == answers[2]
    assert some(Refine()) == answers[3]
    assert len({each.value for each in answers}) == 4
    assert REDUCTION.privacy_map(2) == ZCDP("1/50")
    with pytest.raises(QueryRefusedError, match="finest variance"):
        every(Refine())

"""Audits by samples. Seeds are fixed; over fresh seeds, false alarms are at most 1 - confidence."""

from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from mechanisms import Gaussian, Laplace
from queryable import ZCDP, PureDP, SeededCoins, Statistic
from queryable.audit import audit
from queryable.audit.statistical import choose, clopper_pearson, separate
from queryable.losses.conversions import log_up

F = Fraction
CELLS = Statistic(np.array, l1=1, l2=1, shape=(4,))
NEIGHBOURS = [((5, 5, 5, 5), (5, 5, 6, 5))]


def binomial_tail(count: int, trials: int, chance: Any, upper: bool) -> Any:
    with mpmath.workdps(60):
        p = mpmath.mpf(chance.numerator) / chance.denominator
        which = range(count, trials + 1) if upper else range(count + 1)
        return sum(mpmath.binomial(trials, k) * p**k * (1 - p) ** (trials - k) for k in which)


@pytest.mark.parametrize(("count", "trials"), [(1, 10), (7, 10), (40, 400), (399, 400)])
def test_clopper_and_pearson_against_60_digits(count: int, trials: int) -> None:
    """At each bound, the observed count or a more extreme one has probability <= level."""
    below, above = clopper_pearson(count, trials, 1e-3)
    level, close = mpmath.mpf("1e-3"), mpmath.mpf("0.99e-3")
    assert close < binomial_tail(count, trials, below, upper=True) <= level
    assert close < binomial_tail(count, trials, above, upper=False) <= level


def test_bounds_of_empty_and_full_counts() -> None:
    """A count of 0 has a positive upper bound; a full count has upper bound 1."""
    assert clopper_pearson(0, 100, 1e-2)[0] == 0
    assert clopper_pearson(100, 100, 1e-2)[1] == 1
    assert 0 < clopper_pearson(0, 100, 1e-2)[1] < F(1, 20)


def test_the_event_is_where_the_ratio_is_largest() -> None:
    """It contains the answer that x makes more probable; for numbers, a bin."""
    rng = np.random.default_rng(1)
    p = [("abc"[k],) for k in rng.choice(3, 4000, p=[0.6, 0.3, 0.1])]
    q = [("abc"[k],) for k in rng.choice(3, 4000, p=[0.2, 0.3, 0.5])]
    event = choose(p, q, [(F(1, 2), F(0))], 1e-3)
    assert ("a",) in event
    assert ("c",) not in event
    numbers = choose(
        [tuple(row) for row in rng.normal((0, 2, 0), size=(4000, 3))],
        [tuple(row) for row in rng.normal(size=(4000, 3))],
        [(F(1, 2), F(0))],
        1e-3,
    )
    assert (0.0, 3.0, 0.0) in numbers
    assert (0.0, -3.0, 0.0) not in numbers


def test_the_discriminant_sees_what_no_coordinate_shows() -> None:
    """Only both numbers together distinguish x from x'."""
    rng = np.random.default_rng(2)
    common = rng.normal(size=(2, 4000, 1)) * 50
    noise = rng.normal(size=(2, 4000, 2))
    p = [tuple(row) for row in common[0] + noise[0] + (1.5, -1.5)]
    q = [tuple(row) for row in common[1] + noise[1]]
    found = separate(p, q, [(F(1, 2), F(0))], 1e-3)
    assert "discriminant" in str(found.event)
    assert found.epsilon > F(1, 2)


def test_coincidences_in_the_learning_sample_refute_nothing() -> None:
    """Views that never repeat separate the samples perfectly, but not the datasets."""
    rng = np.random.default_rng(3)
    p, q = ([(f"{x:.12f}",) for x in rng.normal(size=2000)] for _ in range(2))
    assert separate(p, q, [(F(0), F(0))], 1e-3).delta == 0


def test_the_lower_bound_on_epsilon_is_valid_and_close() -> None:
    """For a response at odds 3 the lower bound on epsilon is below ln 3 and close to it."""
    rng = np.random.default_rng(4)
    p, q = ([(bool(x),) for x in rng.random(20_000) < chance] for chance in (0.75, 0.25))
    found = separate(p, q, [(F(0), F(0))], 1e-3)
    assert log_up(F(3)) * F(85, 100) < found.epsilon < log_up(F(3))


@pytest.mark.parametrize(
    ("mechanism", "false"),
    [
        (Laplace(CELLS, epsilon=1), PureDP("1/2")),
        pytest.param(Gaussian(CELLS, rho="1/2"), ZCDP("1/10"), marks=pytest.mark.slow),
    ],
)
def test_noise_on_a_vector(mechanism: Any, false: Any) -> None:
    """There are too many outcomes to enumerate: only the false claim is refuted."""
    options: dict[str, Any] = {"samples": 3000, "coins": SeededCoins(5), "limit": 1000}
    assert not audit(mechanism, NEIGHBOURS, **options).refuted
    assert audit(mechanism, NEIGHBOURS, claim=false, **options).refuted


def test_true_claims_are_refuted_at_most_as_often_as_stated() -> None:
    """At confidence 4/5, at most 62 of 200 audits of a tight claim refute it.

    A correct method exceeds 62 with probability below 1e-4 (binomial, 200 at 1/5).
    """
    rng = np.random.default_rng(6)
    alarms = 0
    for _ in range(200):
        p, q = ([(bool(x),) for x in rng.random(400) < chance] for chance in (0.75, 0.25))
        alarms += separate(p, q, [(log_up(F(3)), F(0))], 0.2).delta > 0
    assert alarms <= 62


def test_testing_on_the_learning_sample_raises_false_alarms() -> None:
    """Mutation: tested on the sample that chose it, a coincidence refutes a true claim."""
    rng = np.random.default_rng(7)
    p, q = ([(f"{x:.12f}",) for x in rng.normal(size=400)] for _ in range(2))
    fluke = set(p)
    (at_least, _), (_, at_most) = (
        clopper_pearson(sum(view in fluke for view in views), 400, 0.01) for views in (p, q)
    )
    assert at_least > at_most

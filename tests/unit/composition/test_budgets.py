"""Budgets, and what happens at extreme ones."""

from fractions import Fraction
from math import exp
from typing import Any

import attrs
import numpy as np
import pytest
from scipy.stats import norm

from composition import (
    Basic,
    FiltCon,
    Menu,
    OdomCon,
    Parallel,
    Partition,
    ViaZCDP,
    accumulator_of,
    admitted,
    budget,
    recommend,
)
from composition.budgets import under_curve
from composition.rules.menus.costs import fitted
from mechanisms import Count, Gaussian, Laplace, RandomizedResponse, Table
from queryable import (
    FDP,
    GDP,
    SYSTEM,
    ZCDP,
    ApproxDP,
    ApproxZCDP,
    Bit,
    PrivacyClaimError,
    PrivacyWarning,
    PureDP,
    Queryable,
    QueryRefusedError,
    Statistic,
    UnprovenCompositionError,
)
from queryable.audit import least_epsilon
from queryable.losses import Dominated
from queryable.losses.conversions import largest_gdp
from tests.strategies import Toy

DATA = [0, 1, 2]


def test_a_budget_is_a_filter_without_delta_and_one_in_zcdp_with_it() -> None:
    for same in (budget(1), budget(1, 0), budget(epsilon="1", delta=None)):
        assert same == FiltCon(PureDP(1))
    made = budget(epsilon=1, delta="1e-6")
    assert made == FiltCon(ApproxDP(1, "1e-6"), ViaZCDP(slack="9e-7"))
    assert made.child_measure is ApproxZCDP
    for made in (budget(1, d_in=2, max_mechanisms=5), budget(1, "1e-6", d_in=2, max_mechanisms=5)):
        assert (made.d_in, made.max_mechanisms) == (2, 5)
    made = budget(1, "1e-6")
    shown = "FiltCon(budget=ApproxDP(epsilon='1', delta='1/1000000'), "
    assert repr(made) == f"{shown}rule=ViaZCDP(slack='9/10000000'))"
    assert repr(budget(1, d_in=2)) == "FiltCon(budget=PureDP(epsilon='1'), d_in=2)"
    assert repr(OdomCon(ZCDP)) == "OdomCon(measure=ZCDP)"


@pytest.mark.parametrize("share", [0, "1/10", "1/2"])
def test_a_gaussian_of_what_is_within_the_slack_fits_once(share: Any) -> None:
    table = Queryable(budget(1, "1e-6", launch_share=share), DATA)
    rho = ZCDP.within(ApproxDP(1, Fraction(1, 10**6) * (1 - Fraction(share)))).rho
    assert not table.can_afford(Gaussian(Count(), rho=rho * Fraction("1.000001")))
    table.launch(Gaussian(Count(), rho=rho))
    spent = table.privacy_loss()
    assert isinstance(spent, ApproxDP)
    assert spent <= ApproxDP(1, "1e-6")
    assert spent.epsilon > Fraction("0.999999")
    with pytest.raises(QueryRefusedError):
        table.launch(Laplace(Count(), epsilon="1/1000"))


def test_launches_with_a_delta_get_their_share_and_no_more() -> None:
    table = Queryable(budget(1, "1e-6", launch_share="1/5"), DATA)
    bit = RandomizedResponse(Bit(bool), epsilon="1/100", delta="1e-7")
    assert [table.can_afford(bit) and bool(table.launch(bit)) is not None for _ in range(3)] == [
        True,
        True,
        False,
    ]
    assert Queryable(budget(1, "1e-6", launch_share=0), DATA).can_afford(bit) is False


def test_it_admits_many_more_launches_than_adding_epsilons() -> None:
    table, count = Queryable(budget(1, "1e-6"), DATA), 0
    while table.can_afford(Laplace(Count(), epsilon="1/100")):
        table.launch(Laplace(Count(), epsilon="1/100"))
        count += 1
    assert count > 400


def test_a_delta_that_is_hardly_meant_is_told() -> None:
    """Such as that of swapped arguments: with delta 1 nobody is protected."""
    with pytest.raises(ValueError, match=r"delta is 1.*epsilon comes first"):
        budget("1e-6", 1)
    with pytest.warns(PrivacyWarning, match=r"everything may be revealed.*epsilon comes first"):
        budget("1e-6", "1/2")


@pytest.mark.parametrize("wrong", [{"epsilon": -1}, {"epsilon": 1, "delta": 2}])
def test_wrong_parameters_are_named(wrong: Any) -> None:
    with pytest.raises(ValueError, match=r"epsilon|delta"):
        budget(**wrong)


BUDGET = ApproxDP(1, "1e-6")
CALLS: dict[str, tuple[Any, str]] = {
    "menu": (lambda: Menu("1e-400", [1]).open(BUDGET), "unit is less than 1e-300"),
    "large menu": (lambda: Menu(1, [10**5000]).open(BUDGET), "lattice"),
    "gdp": (lambda: GDP(2**63).to(ApproxDP, "1e-6"), "too extreme"),
    "table": (lambda: Table({}), "source has no column"),
    "columns": (lambda: Table({"a": [1]}, columns=[]), r"columns is \[\]"),
    "admitted": (lambda: admitted(BUDGET, 3, PureDP(1)), "rule is 3"),  # type: ignore[arg-type]
    "fitted": (lambda: fitted(BUDGET, 1, 3), "mix is 3"),  # type: ignore[arg-type]
    "recommend": (lambda: recommend(3, [PureDP(1)]), "budget is 3"),  # type: ignore[arg-type]
    "accumulator": (lambda: accumulator_of(3, ApproxDP, 0), "3 is not a rule"),  # type: ignore[arg-type]
    "below": (lambda: SYSTEM.below(0), "bound is 0"),
    "nan": (lambda: least_epsilon({1: 1}, {1: 1}, float("nan")), "delta"),  # type: ignore[arg-type, dict-item]
}


@pytest.mark.parametrize("name", CALLS)
def test_the_error_says_what_is_wrong(name: str) -> None:
    call, why = CALLS[name]
    with pytest.raises((ValueError, TypeError), match=why):
        call()


def test_parallel_parts_refuse_more_records_than_can_be_composed() -> None:
    parts = Parallel(Partition("b", ["x"]), {"x": Toy()})
    with pytest.raises(PrivacyClaimError, match="d_in is"):
        parts.privacy_map(2**63)
    # The method `GDP.delta` is not mistaken for the delta of an (epsilon, delta) loss.
    assert recommend(BUDGET, [GDP(Fraction(1, 100))] * 3).admitted == 3
    with pytest.raises(PrivacyClaimError):
        Queryable(budget(1), DATA).launch(Gaussian(Count(), rho="1/1000"))
    with pytest.raises(ValueError, match="launch_share is 1; it should be below 1"):
        budget(1, "1e-6", launch_share=1)


@pytest.mark.parametrize("kind", [Gaussian, Laplace])
def test_an_array_with_a_tiny_noise_scale_is_released(kind: Any) -> None:
    """No table is built for a scale of 1e-300; the entries are drawn one by one."""
    statistic = Statistic(lambda data: np.ones(300, dtype=int), l1=1, l2=1, shape=300)
    assert kind(statistic, scale="1e-300").release(None, SYSTEM).tolist() == [1] * 300


@pytest.mark.parametrize("epsilon", ["1e-400", 10**57])
def test_an_extreme_budget_gets_basic_composition(epsilon: Any) -> None:
    budget = ApproxDP(epsilon, "1e-6")
    found = recommend(budget, [PureDP(budget.epsilon / 2)] * 3)
    assert (type(found.rule), found.admitted) == (Basic, 2)


# Under a trade-off curve.


@pytest.mark.parametrize("mu", ["1/10", 1, "7/2"])
def test_under_the_curve_of_a_gaussian_is_nearly_that_gaussian(mu: Any) -> None:
    """The curve is of tangents of G_mu, which touch it."""
    found = under_curve(FDP.of_gaussian(mu), epsilon=0)
    assert abs(found.mu / GDP(mu).mu - 1) <= Fraction(1, 2**50)
    assert not found.epsilon
    assert not found.delta


@pytest.mark.parametrize(("epsilon", "delta"), [("1/10", 0), (1, "1e-6"), (5, "1/10")])
def test_under_the_curve_of_approximate_dp_is_that(epsilon: Any, delta: Any) -> None:
    """All of delta may reveal, or none of it; a Gaussian fits that has the delta at epsilon."""
    curve, wanted = FDP.of_approx(epsilon, delta), ApproxDP(epsilon, delta)
    found = under_curve(curve, delta=delta)
    assert wanted.epsilon * (1 - Fraction(1, 2**50)) <= found.epsilon
    assert found.epsilon <= wanted.epsilon * (1 + Fraction(1, 2**50))
    if wanted.delta:
        gaussian = under_curve(curve, epsilon=0)
        most = largest_gdp(wanted.epsilon, wanted.delta)
        assert abs(gaussian.mu - most) <= most / 2**50
        assert under_curve(curve).epsilon > wanted.epsilon


WITH_TAILS = (
    FDP.of_gaussian(1),
    FDP.of_profile([(1, "1e-3"), ("1/2", "1/20")]),
    FDP([(0, "9/10"), ("3/10", "2/10"), ("19/20", 0), (1, 0)]),  # not symmetric
)
PURE = (
    FDP.of_profile([(1, "1e-3"), ("1/2", "1/20"), (3, 0)]),
    FDP([(0, 1), ("1/10", "1/2"), ("1/2", "1/10"), (1, 0)]),
    FDP([(0, "9/10"), ("3/10", "2/10"), (1, 0)]),
)
"""Curves that meet a corner (0, 1) or (1, 0) at a slope: no Gaussian is above them."""


@pytest.mark.parametrize(
    ("curve", "epsilon"),
    [
        *((curve, epsilon) for curve in WITH_TAILS for epsilon in (0, "1/20")),
        *((curve, None) for curve in (*WITH_TAILS[1:], *PURE)),
    ],
)
def test_what_is_under_a_curve_tests_no_better(curve: FDP, epsilon: Any) -> None:
    """The exact curve of the response beside the Gaussian is nowhere below, and a larger is.

    The curve is computed from the likelihood ratios, on a grid of tests.
    """
    delta = Fraction(1, 2000) if curve in WITH_TAILS[1:] else Fraction(0)
    found = under_curve(curve, epsilon=epsilon, delta=delta)
    assert (found.mu if epsilon is not None else found.epsilon) > 0
    assert least_gap(curve, found) >= -1e-12
    more = attrs.evolve(found, epsilon=found.epsilon * Fraction(101, 100))
    if epsilon is not None:
        more = attrs.evolve(found, mu=found.mu * Fraction(101, 100))
    assert least_gap(curve, more) < 0


@pytest.mark.parametrize("curve", PURE)
def test_no_gaussian_is_under_a_curve_that_is_pure_at_an_end(curve: FDP) -> None:
    assert under_curve(curve, epsilon=0).mu == 0


def least_gap(curve: FDP, loss: Dominated) -> float:
    """The least of (the true curve of a loss) - (this curve), among optimal tests."""
    e, mu, delta = float(loss.epsilon), float(loss.mu), float(loss.delta)
    likely = 1 / (1 + exp(-e))
    gaps = []
    for t in np.linspace(-e - 9 * mu - mu * mu, e + 9 * mu + mu * mu, 1_001):
        alarm = missed = 0.0
        for chance, shift in ((likely, e), (1 - likely, -e)):  # the response says x', or x
            if mu:
                at = (t - shift) / mu + mu / 2
                alarm += (chance * exp(-shift)) * norm.sf(at)
                missed += chance * norm.cdf(at - mu)
            else:
                alarm += (chance * exp(-shift)) * (shift > t)
                missed += chance * (shift <= t)
        alarm, missed = (1 - delta) * alarm, (1 - delta) * missed
        gaps.append(missed - float(curve(Fraction(min(max(alarm, 0.0), 1.0)))))
    return min(gaps)


def test_a_filter_under_a_curve() -> None:
    """The refusal of a budget in `FDP` names it; what is below the curve is refused."""
    curve = FDP.of_approx(1, "1e-6")
    with pytest.raises(UnprovenCompositionError, match="under_curve"):
        FiltCon(curve)
    whole = under_curve(curve, epsilon="1/2")
    q = Queryable(FiltCon(whole), DATA)
    q.launch(Toy(PureDP("1/2")))
    q.launch(Toy(GDP(whole.mu / 2)))
    with pytest.raises(QueryRefusedError):
        q.launch(Toy(GDP(whole.mu)))
    assert FDP.of_approx("1/2").compose(FDP.of_gaussian(whole.mu / 2)).implies(curve)
    with pytest.raises(ValueError, match="below the curve"):
        under_curve(curve, epsilon=2)
    with pytest.raises(ValueError, match="below the curve"):
        under_curve(curve, delta="1e-5")
    with pytest.raises(TypeError, match="FDP"):
        under_curve(GDP(1))  # type: ignore[arg-type]

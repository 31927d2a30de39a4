"""The largest loss within a budget of another measure: a larger one does not convert."""

from fractions import Fraction
from typing import Any

import pytest

from queryable import GDP, RDP, ZCDP, ApproxDP, ApproxZCDP, Loss, PureDP
from queryable.losses import Dominated, RenyiCurve

APPROX = [("1", "1e-6"), ("1/10", "1e-9"), ("10", "1/10"), ("0.001", "0.001"), ("100", "1e-12")]
CASES: list[tuple[Any, Loss]] = [
    *((kind, ApproxDP(*each)) for kind in (PureDP, ZCDP, GDP) for each in APPROX),
    *((kind, ApproxZCDP("1/10", "1e-6")) for kind in (PureDP, ZCDP, GDP)),
    *((kind, RDP(8, "1/10")) for kind in (PureDP, ZCDP, GDP)),
    *((kind, RenyiCurve([2, 8], ["1/10", "1/5"])) for kind in (PureDP, ZCDP, GDP)),
    *((kind, ZCDP("1/10")) for kind in (PureDP, GDP)),
    (PureDP, GDP("1/10")),
    (PureDP, Dominated("1/10", "1/10", 0)),
    (GDP, Dominated("1/10", "1/10", 0)),
]


def converted(loss: Loss, budget: Any) -> Loss:
    takes_delta = isinstance(budget, ApproxDP | ApproxZCDP)
    return loss.to(budget.measure, budget.delta if takes_delta else None)


SEARCHED = {(GDP, ApproxDP(*each)) for each in APPROX[1:]}
"""The slowest."""


@pytest.mark.parametrize(
    ("kind", "budget"),
    [pytest.param(*each, marks=pytest.mark.slow if each in SEARCHED else ()) for each in CASES],
)
def test_what_is_within_converts_into_the_budget_and_a_little_more_does_not(
    kind: Any, budget: Loss
) -> None:
    largest = kind.within(budget)
    assert type(largest) is kind
    assert converted(largest, budget) <= budget
    (value,) = (getattr(largest, name) for name in kind.__match_args__)
    assert value > 0
    assert not converted(kind(value * (1 + Fraction(1, 10**9))), budget) <= budget


def test_the_rho_of_epsilon_1_at_delta_1e_6() -> None:
    assert str(ZCDP.within(ApproxDP(1, "1e-6"))) == "ZCDP(rho≈0.0244)"


@pytest.mark.parametrize("budget", [ZCDP("1/10"), ApproxZCDP("1/10", "1e-6"), RDP(8, "0.8")])
def test_a_rational_result_is_exact(budget: Loss) -> None:
    assert ZCDP.within(budget) == ZCDP("1/10")


def test_only_zero_is_within_zero() -> None:
    assert PureDP.within(ApproxDP(0, "1e-6")) == PureDP(0)
    assert GDP.within(ZCDP(0)) == GDP(0)

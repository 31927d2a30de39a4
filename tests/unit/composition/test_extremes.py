"""Parameters that are too large, too small or of a wrong type raise a clear error at once."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from composition import Basic, Menu, Parallel, Partition, accumulator_of, admitted, recommend
from composition.rules.menus.costs import fitted
from mechanisms import Gaussian, Laplace, Table
from queryable import GDP, SYSTEM, ApproxDP, PrivacyClaimError, PureDP, Statistic
from queryable.audit import least_epsilon
from tests.strategies import Toy

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


def test_a_plan_may_have_gaussian_launches() -> None:
    """The method `GDP.delta` is not mistaken for the delta of an (epsilon, delta) loss."""
    assert recommend(BUDGET, [GDP(Fraction(1, 100))] * 3).admitted == 3

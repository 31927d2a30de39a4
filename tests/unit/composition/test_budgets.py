"""`budget`: a filter for people who think in epsilon and delta."""

from fractions import Fraction
from typing import Any

import pytest

from composition import FiltCon, OdomCon, ViaZCDP, budget
from mechanisms import Count, Gaussian, Laplace, RandomizedResponse
from queryable import (
    ZCDP,
    ApproxDP,
    ApproxZCDP,
    Bit,
    PrivacyClaimError,
    PureDP,
    Queryable,
    QueryRefusedError,
)

DATA = [0, 1, 2]


def test_without_delta_epsilons_add_up() -> None:
    for same in (budget(1), budget(1, 0), budget(epsilon="1", delta=None)):
        assert same == FiltCon(PureDP(1))


def test_with_a_delta_launches_add_up_in_zcdp() -> None:
    made = budget(epsilon=1, delta="1e-6")
    assert made == FiltCon(ApproxDP(1, "1e-6"), ViaZCDP(slack="9e-7"))
    assert made.child_measure is ApproxZCDP


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


def test_d_in_and_max_mechanisms_are_passed_on() -> None:
    for made in (budget(1, d_in=2, max_mechanisms=5), budget(1, "1e-6", d_in=2, max_mechanisms=5)):
        assert (made.d_in, made.max_mechanisms) == (2, 5)


def test_a_gaussian_needs_a_delta() -> None:
    with pytest.raises(PrivacyClaimError):
        Queryable(budget(1), DATA).launch(Gaussian(Count(), rho="1/1000"))


def test_the_whole_delta_is_not_for_launches() -> None:
    with pytest.raises(ValueError, match="launch_share is 1; it should be below 1"):
        budget(1, "1e-6", launch_share=1)


@pytest.mark.parametrize("wrong", [{"epsilon": -1}, {"epsilon": 1, "delta": 2}])
def test_wrong_parameters_are_named(wrong: Any) -> None:
    with pytest.raises(ValueError, match=r"epsilon|delta"):
        budget(**wrong)


def test_its_repr_has_the_budget_first_and_no_defaults() -> None:
    made = budget(1, "1e-6")
    shown = "FiltCon(budget=ApproxDP(epsilon='1', delta='1/1000000'), "
    assert repr(made) == f"{shown}rule=ViaZCDP(slack='9/10000000'))"
    assert repr(budget(1, d_in=2)) == "FiltCon(budget=PureDP(epsilon='1'), d_in=2)"
    assert repr(OdomCon(ZCDP)) == "OdomCon(measure=ZCDP)"

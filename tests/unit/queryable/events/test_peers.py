"""Events of `dp_accounting`, with classes of that library that only show their parameters.

`tests/test_second_opinion.py` has those that are composed by its accountants.
"""

import sys
from fractions import Fraction
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from composition import ExPost, FiltCon, OdomCon
from mechanisms import (
    Count,
    ExponentialMechanism,
    Gaussian,
    GroupBy,
    Laplace,
    LaplaceNoiseReduction,
    PermuteAndFlip,
    PrivacyUnit,
    RandomizedResponse,
    SparseVector,
    TreeCounter,
)
from queryable import ZCDP, ApproxDP, Bit, PureDP, Queryable, Statistic
from queryable.events.charge import Charge
from queryable.events.charges import Events
from queryable.events.peers import above, below, choice_rho, dp_event
from queryable.losses import Loss, Report
from queryable.losses.conversions import discrete_gaussian_to_gdp, pure_to_zcdp
from queryable.optional import events
from queryable.receipts import own_loss

KINDS = ("GaussianDpEvent", "DiscreteLaplaceDpEvent", "RandomizedResponseDpEvent", "ZCDpEvent")
SCORES = Statistic(lambda _: [1, 2, 3], l1=3, l2=3, linf=1, shape=(3,))
PAIR = GroupBy({"b": ["x", "y"]}, Count(per=PrivacyUnit("who", max_rows=2)))


@pytest.fixture(autouse=True)
def theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    def shown(kind: str) -> Any:
        return lambda *arguments: (kind, *arguments)

    library: Any = ModuleType("dp_accounting")
    every = (*KINDS, "ComposedDpEvent", "SelfComposedDpEvent")
    library.dp_event = SimpleNamespace(**{kind: shown(kind) for kind in every})
    monkeypatch.setitem(sys.modules, "dp_accounting", library)


def charge(mechanism: Any, d_in: int = 1, loss: Report | None = None) -> Charge:
    claim = own_loss(mechanism, d_in)
    draws, stated = events(mechanism), claim if loss is None else loss
    return Charge(0, (), None, "", "", "charged", d_in, draws, claim, stated, None, "")


def event(mechanism: Any, d_in: int = 1, loss: Loss | None = None) -> Any:
    return dp_event(charge(mechanism, d_in, loss))


@pytest.mark.parametrize("d_in", [1, 3])
def test_gaussian_noise_has_at_least_the_mu_of_integer_noise(d_in: int) -> None:
    kind, multiplier = event(Gaussian(Count(), scale="7/3"), d_in)
    mu = d_in * discrete_gaussian_to_gdp(Fraction(49, 9))
    assert kind == "GaussianDpEvent"
    assert 0 <= 1 / mu - Fraction(multiplier) < Fraction(1, 10**15)
    assert multiplier < 7 / 3 / d_in  # sigma over the sensitivity is too much


def test_laplace_noise_on_one_integer() -> None:
    kind, parameter, sensitivity = event(Laplace(Count(), scale=3), 2)
    assert (kind, sensitivity) == ("DiscreteLaplaceDpEvent", 2)
    assert 0 <= Fraction(parameter) - Fraction(1, 3) < Fraction(1, 10**16)


def test_laplace_noise_on_several_integers_is_a_bound() -> None:
    kind, rho = event(Laplace(PAIR, epsilon="1/2"))
    assert kind == "ZCDpEvent"
    assert Fraction(rho) >= pure_to_zcdp(Fraction(1, 2))
    one = GroupBy({"b": ["x", "y"]}, Count())  # only one of them moves
    assert event(Laplace(one, epsilon="1/2"))[0] == "DiscreteLaplaceDpEvent"


def test_randomized_response() -> None:
    bit = Bit(bool)
    assert event(RandomizedResponse(bit, odds=3), 5) == ("RandomizedResponseDpEvent", 0.5, 2)
    kind, noise, buckets = event(RandomizedResponse(bit, epsilon=1))
    assert (kind, buckets) == ("RandomizedResponseDpEvent", 2)
    assert 0.537882 < noise < 0.537883  # 2 / (1 + e)


def test_choices_have_the_loss_of_their_bounded_range() -> None:
    assert event(ExponentialMechanism(SCORES, 1), 2) == ("ZCDpEvent", 0.5)
    kind, rho = event(PermuteAndFlip(SCORES, 1), 2)
    assert kind == "ZCDpEvent"
    assert Fraction(rho) >= pure_to_zcdp(Fraction(2)) > Fraction(1, 2)
    (choice,) = events(ExponentialMechanism(SCORES, 100)) or ()
    assert choice_rho(choice, 1) == pure_to_zcdp(Fraction(100))  # type: ignore[arg-type]


def test_several_draws_are_composed() -> None:
    kind, one, times = event(TreeCounter(Count(), rho="1/10", horizon=5))
    assert (kind, one[0], times) == ("SelfComposedDpEvent", "GaussianDpEvent", 3)


def test_bounds() -> None:
    """A mechanism that does not state its draws has the least zCDP bound that is known."""
    assert event(FiltCon(ZCDP("1/8"))) == ("ZCDpEvent", 0.125)
    kind, rho = event(SparseVector(3, 1))
    assert kind == "ZCDpEvent"
    assert Fraction(rho) >= pure_to_zcdp(Fraction(1))
    better = event(SparseVector(3, 1), loss=ZCDP("1/100"))
    assert better == ("ZCDpEvent", above(Fraction(1, 100)))


def test_what_answers_may_cost_is_in_the_event() -> None:
    """Under ex-post accounting a launch is charged nothing, and its answers are charged later."""
    table = Queryable(ExPost(PureDP(1)), {"age": [31, 47, 62]})
    table.launch(LaplaceNoiseReduction(Count(), scales=[100, 10]))
    (charge,) = table.ledger().to_events()
    assert charge.loss == PureDP(0)
    kind, rho = dp_event(charge)
    assert kind == "ZCDpEvent"
    assert Fraction(rho) >= pure_to_zcdp(Fraction(1, 10))


def test_what_has_no_event() -> None:
    """Losses with a delta, and no loss at all."""
    assert event(RandomizedResponse(Bit(bool), epsilon=1, delta="1/100")) is None
    assert event(FiltCon(ApproxDP(1, "1e-6"))) is None
    assert event(OdomCon(ZCDP)) is None


def test_a_statistic_that_nothing_moves_loses_nothing() -> None:
    constant = Statistic(lambda _: 3, l1=0, l2=0)
    assert event(Gaussian(constant, scale=1)) == ("ZCDpEvent", 0.0)
    assert event(Laplace(constant, scale=1)) == ("ZCDpEvent", 0.0)


def test_draws_some_of_which_have_no_event_are_a_bound() -> None:
    draws = (*(events(Laplace(Count(), scale=2)) or ()), *(events(Laplace(PAIR, scale=2)) or ()))
    made = Charge(0, (), None, "", "", "charged", 1, draws, PureDP(2), PureDP(2), None, "")
    assert dp_event(made)[0] == "ZCDpEvent"


@pytest.mark.parametrize("value", [Fraction(1, 3), Fraction(2, 3), Fraction(1, 2), Fraction(0)])
def test_floats_beside_a_number(value: Fraction) -> None:
    assert Fraction(below(value)) <= value <= Fraction(above(value))
    assert above(value) - below(value) <= 2**-53


def test_a_ledger_has_one_event_for_each_charge() -> None:
    table = Queryable(FiltCon(ZCDP(9)), [1, 2, 3])
    table.launch(Gaussian(Statistic(len, l1=1, l2=1), scale=3))
    table.launch(FiltCon(ZCDP("1/8")))
    found = table.ledger().to_events().to_dp_events()
    assert [each[0] for each in found] == ["GaussianDpEvent", "ZCDpEvent"]
    assert Events([]).to_dp_events() == []

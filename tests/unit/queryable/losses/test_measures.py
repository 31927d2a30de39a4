"""Losses and measures: parameters, order, arithmetic, reports, and losses within a budget."""

from fractions import Fraction
from itertools import product
from operator import add, ge, gt, le, lt, sub
from typing import Any

import attrs
import pytest
from hypothesis import given

from queryable import GDP, RDP, ZCDP, ApproxDP, ApproxZCDP, Loss, PureDP
from queryable.losses import (
    AdditiveLoss,
    Dominated,
    ExPostBound,
    RenyiCurve,
    TimeUniformBound,
    group_size,
    measure_name,
    total,
    zero_of,
)
from queryable.losses import conversions as formulas
from tests.strategies import LOSSES, positive_rationals, rationals

MEASURES = [each.measure for each in LOSSES]


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_a_loss_round_trips_through_its_repr(loss: Loss) -> None:
    """The repr of a loss is an expression with exactly its value."""
    assert eval(repr(loss)) == loss


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_losses_are_frozen_and_hashable(loss: Loss) -> None:
    """A claim cannot be changed after it was checked."""
    field = attrs.fields(type(loss))[0].name
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        setattr(loss, field, 0)
    assert len({loss, loss}) == 1


def test_orders_of_pairs_and_of_renyi_losses() -> None:
    one, other = ApproxDP(1, "1e-6"), ApproxDP(2, "1e-7")
    assert not one <= other
    assert not other <= one
    assert one >= ApproxDP(1, "1e-7")
    # (alpha, r) <= (alpha', r') if and only if alpha >= alpha' and r <= r'.
    assert RDP(8, 1) <= RDP(4, 1)
    assert not RDP(4, 1) <= RDP(8, 1)
    assert not RDP(8, 2) <= RDP(4, 1)
    assert RDP(8, 1) <= RDP(8, 1)
    assert (ApproxDP(1, "0.7") + ApproxDP(1, "0.7")).delta == 1
    assert (ApproxZCDP(1, "0.7") + ApproxZCDP(1, "0.7")).delta == 1


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_composition_adds_exactly(loss: AdditiveLoss) -> None:
    """A hundred equal losses have exactly a hundred times the coordinates."""
    composed = total([loss] * 100, loss.measure)
    assert isinstance(composed, AdditiveLoss)
    if isinstance(loss, GDP):
        assert composed == GDP(1)  # sqrt(100 * 0.01), exactly
    else:
        assert composed.parts == tuple(100 * part for part in loss.parts)


@given(first=positive_rationals, second=positive_rationals)
def test_gaussian_composition_rounds_up(first: Fraction, second: Fraction) -> None:
    """mu of two is sqrt(mu1^2 + mu2^2), never below it, and `room` never above it."""
    composed = GDP(first) + GDP(second)
    square = first**2 + second**2
    assert composed.mu**2 >= square
    assert composed.mu**2 - square <= square / 10**20
    assert GDP(1).room((square,)).mu ** 2 <= square


@given(value=rationals)
def test_groups(value: Fraction) -> None:
    assert PureDP(value).group(3) == PureDP(3 * value)
    assert ZCDP(value).group(3) == ZCDP(9 * value)
    assert GDP(value).group(3) == GDP(3 * value)
    assert ApproxZCDP(value, 0).group(3) == ApproxZCDP(9 * value, 0)
    for loss in LOSSES:
        assert loss.group(0) == loss.zero()
        assert loss.group(1) is loss


def test_group_of_approx_grows_delta() -> None:
    grouped = ApproxDP(1, "1e-6").group(2)
    assert grouped.epsilon == 2
    assert float(grouped.delta) == pytest.approx(1e-6 * (1 + 2.718281828459045), rel=1e-12)
    assert str(ZCDP.within(ApproxDP(1, "1e-6"))) == "ZCDP(rho≈0.0244)"
    assert PureDP.within(ApproxDP(0, 0)) == PureDP(0)
    distance = PureDP.within(ApproxDP(0, "1e-6"))  # a delta alone bounds tanh(epsilon/2)
    assert PureDP("1.999999e-6") <= distance <= PureDP("2.000001e-6")
    assert GDP.within(ZCDP(0)) == GDP(0)


IMPOSSIBLE = [
    (ZCDP(1), PureDP),
    (ApproxDP(1, "1e-6"), PureDP),
    (ApproxDP(1, "1e-6"), ZCDP),
    (ApproxDP(1, "1e-6"), GDP),
    (ApproxDP(1, "1e-6"), RDP.at(8)),
    (ApproxZCDP(1, "1e-6"), ZCDP),
    (ApproxZCDP(1, "1e-6"), RDP.at(8)),
    (RDP(8, 1), ZCDP),
    (RDP(8, 1), RDP.at(9)),
    (RDP(8, 1), GDP),
    (ZCDP(1), GDP),
    (GDP(1), PureDP),
]


@pytest.mark.parametrize(("loss", "measure"), IMPOSSIBLE, ids=str)
def test_conversions_without_a_theorem_are_refused(loss: Loss, measure: object) -> None:
    """A conversion without a theorem is an error."""
    with pytest.raises(ValueError, match="no theorem"):
        loss.to(measure)  # type: ignore[arg-type]


def test_conversions_are_the_formulas() -> None:
    """Each conversion passes its parameters to the right formula."""
    one, delta = Fraction(1), Fraction("1e-6")
    assert PureDP(1).to(ZCDP) == ZCDP(formulas.pure_to_zcdp(one))
    assert PureDP(1).to(RDP.at(8)) == RDP(8, formulas.pure_to_rdp(one, Fraction(8)))
    assert PureDP(1).to(GDP) == GDP(formulas.pure_to_gdp(one))
    assert PureDP(1).to(ApproxDP) == PureDP(1).to(ApproxDP, 0) == ApproxDP(1, 0)
    pure = formulas.response_to_approx(one, Fraction(0), delta)
    assert PureDP(1).to(ApproxDP, delta) == ApproxDP(pure, delta)
    own = formulas.response_to_approx(one, delta, 2 * delta)
    assert ApproxDP(1, delta).to(ApproxDP, 2 * delta) == ApproxDP(own, 2 * delta)
    assert ZCDP(1).to(RDP.at(8)) == RDP(8, 8)
    assert ZCDP(1).to(ApproxZCDP) == ApproxZCDP(1, 0)
    assert ZCDP(1).to(ApproxDP, delta) == ApproxDP(formulas.zcdp_to_approx(one, delta), delta)
    assert RDP(8, 1).to(RDP.at(4)) == RDP(4, 1)
    assert RDP(8, 1).to(ApproxDP, delta).epsilon == formulas.rdp_to_approx(Fraction(8), one, delta)
    assert ApproxDP(1, delta).to(ApproxZCDP) == ApproxZCDP(formulas.pure_to_zcdp(one), delta)
    assert ApproxDP(1, 0).to(ZCDP) == PureDP(1).to(ZCDP)
    assert GDP(1).to(ZCDP) == ZCDP("1/2")
    assert GDP(1).to(ApproxDP, delta) == ApproxDP(formulas.gdp_to_approx(one, delta), delta)
    assert GDP(1).delta(1) == formulas.gdp_delta(one, one)


def test_the_delta_of_approximate_zcdp_is_subtracted() -> None:
    """delta0-approximate rho-zCDP at delta converts at delta - delta0, and needs more than it."""
    loss = ApproxZCDP(1, "4e-7")
    converted = loss.to(ApproxDP, "1e-6")
    assert converted == ApproxDP(ZCDP(1).to(ApproxDP, "6e-7").epsilon, "1e-6")
    with pytest.raises(ValueError, match="needs more"):
        loss.to(ApproxDP, "4e-7")
    # (1, 1e-6)-DP does not imply (1, 1e-7)-DP.
    assert ApproxDP(1, "1e-6").to(ApproxDP, "1e-6") == ApproxDP(1, "1e-6")
    with pytest.raises(ValueError, match="no theorem"):
        ApproxDP(1, "1e-6").to(ApproxDP, "1e-7")


@pytest.mark.parametrize("delta", [None, 0])
@pytest.mark.parametrize("loss", [ZCDP(1), RDP(8, 1), GDP(1)], ids=str)
def test_a_missing_delta_is_an_error(loss: Loss, delta: object) -> None:
    """If a bound holds at every delta > 0, the caller has to choose one."""
    with pytest.raises(ValueError, match="say delta"):
        loss.to(ApproxDP, delta)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1, True, ""])
@pytest.mark.parametrize(
    ("construct", "name"),
    [
        (PureDP, "epsilon"),
        (ZCDP, "rho"),
        (GDP, "mu"),
        (lambda value: ApproxDP(1, value), "delta"),
        (lambda value: ApproxZCDP(value, 0), "rho"),
        (lambda value: RDP(value, 1), "alpha"),
        (lambda value: RDP(8, value), "epsilon"),
    ],
)
def test_bad_parameters_are_refused_at_construction(
    construct: object, name: str, value: object
) -> None:
    """NaN, infinity, negatives, bools and empty strings are refused; the error has the name."""
    with pytest.raises(ValueError, match=f"{name} is .* should be"):
        construct(value)  # type: ignore[operator]


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_zero_is_the_unit_of_composition_and_the_least(loss: Loss) -> None:
    assert loss + loss.zero() == loss
    assert loss.zero() <= loss
    assert loss.zero() == zero_of(loss.measure)
    assert not loss <= loss.zero()


@pytest.mark.parametrize("first", LOSSES, ids=str)
@pytest.mark.parametrize("second", LOSSES, ids=str)
def test_measures_are_not_mixed(first: Loss, second: Loss) -> None:
    """Comparing or adding values of two measures is a `TypeError`: it needs a theorem."""
    if first.measure == second.measure:
        assert first <= second
        return
    with pytest.raises(TypeError, match="different measures"):
        first <= second  # noqa: B015
    with pytest.raises(TypeError, match="different measures"):
        first + second


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_converting_to_the_own_measure_is_the_identity(loss: Loss) -> None:
    assert loss.to(loss.measure) is loss


def test_measures_have_names() -> None:
    assert [measure_name(each) for each in MEASURES] == [
        "PureDP",
        "ApproxDP",
        "ZCDP",
        "ApproxZCDP",
        "RDP.at(8)",
        "GDP",
    ]
    assert str(ExPostBound("0.1", 0)) == "ExPostBound(loss <= 0.1 for these answers)"
    assert "except with probability 1e-06" in str(ExPostBound("0.1", "1e-6"))
    expected = "TimeUniformBound(loss <= 0.5 at all times, with probability 1 - 1e-06)"
    assert str(TimeUniformBound("0.5", "1e-6")) == expected


@pytest.mark.parametrize(("d_in", "unit", "size"), [(0, 1, 0), (1, 2, 1), (3, 2, 2), (4, 2, 2)])
def test_group_sizes_round_up(d_in: int, unit: int, size: int) -> None:
    """Three records are two steps of two."""
    assert group_size(d_in, unit) == size


BOUNDS = (ExPostBound, TimeUniformBound)


@pytest.mark.parametrize("bound", BOUNDS)
def test_order_and_zero(bound: Any) -> None:
    """Bounds of one kind are ordered by both coordinates; zero is the least."""
    small, large = bound("0.1", "1e-6"), bound("0.2", "1e-6")
    assert small <= large
    assert large >= small
    assert not large <= small
    assert not bound("0.1", "1e-5") <= large
    assert small.zero() == bound(0, 0) <= small


@pytest.mark.parametrize("bound", BOUNDS)
def test_kinds_do_not_mix(bound: Any) -> None:
    one = bound("0.1", "1e-6")
    others = [PureDP(1), ApproxDP(1, "1e-6"), ZCDP(1), RDP(2, 1), 1]
    others += [kind(1, 1) for kind in BOUNDS if kind != bound]
    for other, operation in product(others, (le, ge, lt, gt, add, sub)):
        for pair in ((one, other), (other, one)):
            with pytest.raises(TypeError, match="not a privacy loss"):
                operation(*pair)
        assert other != one
    for operation in (add, sub):
        with pytest.raises(TypeError):
            operation(one, one)


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize(("epsilon", "delta"), [(-1, 0), (float("nan"), 0), (1, 2), (1, -1)])
def test_parameters_are_checked(bound: Any, epsilon: Any, delta: Any) -> None:
    with pytest.raises(ValueError, match=r"epsilon|delta"):
        bound(epsilon, delta)


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


@pytest.mark.parametrize("budget", [ZCDP("1/10"), ApproxZCDP("1/10", "1e-6"), RDP(8, "0.8")])
def test_a_rational_result_is_exact(budget: Loss) -> None:
    assert ZCDP.within(budget) == ZCDP("1/10")

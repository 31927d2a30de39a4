"""The measures: parameters, order, composition, groups and conversions."""

from fractions import Fraction

import attrs
import pytest
from hypothesis import given

from queryable import GDP, RDP, ZCDP, ApproxDP, ApproxZCDP, Loss, PureDP
from queryable.losses import AdditiveLoss, total
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


def test_the_order_of_pairs_is_partial() -> None:
    """Neither of (1, 1e-6) and (2, 1e-7) implies the other."""
    one, other = ApproxDP(1, "1e-6"), ApproxDP(2, "1e-7")
    assert not one <= other
    assert not other <= one
    assert one >= ApproxDP(1, "1e-7")


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


def test_deltas_above_one_become_one() -> None:
    """The delta of a composition is at most one."""
    assert (ApproxDP(1, "0.7") + ApproxDP(1, "0.7")).delta == 1
    assert (ApproxZCDP(1, "0.7") + ApproxZCDP(1, "0.7")).delta == 1


@given(value=rationals)
def test_groups(value: Fraction) -> None:
    """Groups of three: 3 epsilon, 9 rho, 3 mu; a group of size zero has zero loss."""
    assert PureDP(value).group(3) == PureDP(3 * value)
    assert ZCDP(value).group(3) == ZCDP(9 * value)
    assert GDP(value).group(3) == GDP(3 * value)
    assert ApproxZCDP(value, 0).group(3) == ApproxZCDP(9 * value, 0)
    for loss in LOSSES:
        assert loss.group(0) == loss.zero()
        assert loss.group(1) is loss


def test_group_of_approx_grows_delta() -> None:
    """(epsilon, delta) for two records is (2 epsilon, delta (1 + e^epsilon)) at least."""
    grouped = ApproxDP(1, "1e-6").group(2)
    assert grouped.epsilon == 2
    assert float(grouped.delta) == pytest.approx(1e-6 * (1 + 2.718281828459045), rel=1e-12)


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
    assert PureDP(1).to(ApproxDP) == ApproxDP(1, 0)
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


@pytest.mark.parametrize("delta", [None, 0])
@pytest.mark.parametrize("loss", [ZCDP(1), RDP(8, 1), GDP(1)], ids=str)
def test_a_missing_delta_is_an_error(loss: Loss, delta: object) -> None:
    """If a bound holds at every delta > 0, the caller has to choose one."""
    with pytest.raises(ValueError, match="say delta"):
        loss.to(ApproxDP, delta)  # type: ignore[arg-type]


def test_a_delta_below_that_of_the_loss_is_refused() -> None:
    """(1, 1e-6)-DP does not imply (1, 1e-7)-DP."""
    assert ApproxDP(1, "1e-6").to(ApproxDP, "1e-5") == ApproxDP(1, "1e-5")
    with pytest.raises(ValueError, match="no theorem"):
        ApproxDP(1, "1e-6").to(ApproxDP, "1e-7")


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

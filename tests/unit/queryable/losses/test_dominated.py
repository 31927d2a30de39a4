"""`Dominated`: exact conversions, composition, groups, and refusals."""

from fractions import Fraction
from typing import Any

import mpmath
import pytest

from queryable import GDP, ZCDP, ApproxDP, PureDP
from queryable.losses import Dominated, zero_of


@pytest.mark.parametrize(
    ("loss", "stated"),
    [
        (PureDP("0.1"), Dominated("0.1", 0, 0)),
        (ApproxDP("0.1", "1e-9"), Dominated("0.1", 0, "1e-9")),
        (GDP("0.3"), Dominated(0, "0.3", 0)),
    ],
)
def test_both_families_convert_exactly_and_back(loss: object, stated: Dominated) -> None:
    assert loss.to(Dominated) == stated  # type: ignore[attr-defined]
    assert stated.to(type(loss)) == loss  # type: ignore[arg-type]


def test_coordinates_add_up_and_are_compared() -> None:
    """Epsilons and deltas add up, mus as squares; the order compares every coordinate."""
    both = Dominated("0.1", 3, "1e-9") + Dominated("0.2", 4, "1e-9")
    assert both == Dominated("0.3", 5, "2e-9")
    assert Dominated("0.1", 3, 0) <= both
    assert not Dominated("0.1", "5.1", 0) <= both
    assert zero_of(Dominated) == Dominated(0, 0, 0)
    # For twice the records epsilon and mu double, and delta follows the group formula.
    grown = ApproxDP("0.1", "1e-9").group(2)
    assert Dominated("0.1", 0, "1e-9").group(2) == Dominated(grown.epsilon, 0, grown.delta)
    assert Dominated(0, "0.1", 0).group(2) == Dominated(0, Fraction(1, 5), 0)


def test_conversions_without_a_theorem_are_refused() -> None:
    """zCDP does not convert. With two kinds of parts there is no group bound."""
    with pytest.raises(ValueError, match="no theorem converts"):
        ZCDP("0.1").to(Dominated)
    mixed = Dominated("0.1", "0.1", 0)
    with pytest.raises(ValueError, match="no theorem converts"):
        mixed.to(ZCDP)
    with pytest.raises(ValueError, match="say delta"):
        mixed.to(ApproxDP)
    with pytest.raises(ValueError, match="needs more"):
        Dominated(0, "0.1", "1e-6").to(ApproxDP, "1e-6")
    with pytest.raises(ValueError, match="no group bound"):
        mixed.group(2)


def three_sources_are_bounded(epsilon: str, mu: str, left: str) -> None:
    """The exact delta of the sources at the converted epsilon is not above the stated one."""
    own = Fraction("1e-7")
    stated = Dominated(epsilon, mu, own).to(ApproxDP, own + Fraction(left))
    assert isinstance(stated, ApproxDP)
    assert stated.delta == own + Fraction(left)
    with mpmath.workdps(40):
        e, m, t = mpmath.mpf(epsilon), mpmath.mpf(mu), mpmath.mpf(str(stated.epsilon.numerator))
        t /= stated.epsilon.denominator
        p = 1 / (1 + mpmath.exp(-e))
        exact = p * profile(m, t - e) + (1 - p) * profile(m, t + e)
        assert exact <= mpmath.mpf(left) * (1 + mpmath.mpf(10) ** -20)
        if e == 0:  # then nothing is lost
            assert exact >= mpmath.mpf(left) * (1 - mpmath.mpf(10) ** -8)


@pytest.mark.parametrize("epsilon", ["0", "0.1", "2"])
@pytest.mark.parametrize("mu", ["0.05", "1"])
@pytest.mark.parametrize("left", ["1e-3", "1e-9"])
def test_all_parts_together_are_epsilon_and_delta(epsilon: str, mu: str, left: str) -> None:
    three_sources_are_bounded(epsilon, mu, left)


def profile(mu: Any, epsilon: Any) -> Any:
    """The delta of mu-GDP at an epsilon (Balle, Wang 2018)."""
    above = mpmath.ncdf(-epsilon / mu + mu / 2)
    return above - mpmath.exp(epsilon) * mpmath.ncdf(-epsilon / mu - mu / 2)

"""The interface of losses: order, conversion, groups, and what is a measure."""

import pytest

from queryable import Loss
from queryable.losses import group_size, measure_name, zero_of
from tests.strategies import LOSSES

MEASURES = [each.measure for each in LOSSES]


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_zero_is_the_unit_of_composition_and_the_least(loss: Loss) -> None:
    """Composing with zero changes nothing, and zero is below every loss."""
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
    """`.to` the same measure changes nothing."""
    assert loss.to(loss.measure) is loss


def test_measures_have_names() -> None:
    """The name of a measure is its spelling in code."""
    assert [measure_name(each) for each in MEASURES] == [
        "PureDP",
        "ApproxDP",
        "ZCDP",
        "ApproxZCDP",
        "RDP.at(8)",
        "GDP",
    ]


@pytest.mark.parametrize(("d_in", "unit", "size"), [(0, 1, 0), (1, 2, 1), (3, 2, 2), (4, 2, 2)])
def test_group_sizes_round_up(d_in: int, unit: int, size: int) -> None:
    """Three records are two steps of two."""
    assert group_size(d_in, unit) == size

"""The parts of the table of theorems: kinds of measures, and sources of a child's delta."""

from typing import Any

import pytest

from composition import FiltCon
from composition.verdicts import has_coin, kind_name, kind_of, loss_class
from queryable import RDP, ZCDP, ApproxDP, ApproxZCDP, PureDP
from queryable.losses import RenyiCurve
from tests.strategies import Courier, RandomWord, Toy

COINED: list[tuple[Any, bool]] = [
    (Toy(ApproxZCDP("0.1", 0)), True),
    (Toy(ApproxDP("0.1", "1e-9")), True),
    (Toy(PureDP("0.1")), True),
    (Toy(ZCDP("0.1")), True),
    (RandomWord(ApproxZCDP("0.1", "1e-9")), True),
    (Courier() @ RandomWord(ApproxZCDP("0.1", "1e-9")), True),
    (FiltCon(ApproxZCDP("0.1", "1e-9")), True),
    (Toy(ApproxZCDP("0.1", "1e-9")), False),
    (Courier() @ Toy(ApproxZCDP("0.1", "1e-9")), False),
]


@pytest.mark.parametrize(("mechanism", "coined"), COINED)
def test_where_the_delta_comes_from(mechanism: Any, coined: bool) -> None:
    """Children interleave if delta comes from (epsilon, delta)-DP or a coin, or is 0."""
    assert has_coin(mechanism, 1) is coined


@pytest.mark.parametrize(
    ("measure", "name", "loss"),
    [
        (ZCDP, "ZCDP", ZCDP),
        (RDP.at(8), "RDP.at(alpha)", RDP),
        (RDP.at(2, 8), "RDP.at(alphas)", RenyiCurve),
    ],
)
def test_kinds_of_measures(measure: Any, name: str, loss: Any) -> None:
    """Each kind has one class of losses, whatever the Renyi orders."""
    assert kind_name(kind_of(measure)) == name
    assert loss_class(kind_of(measure)) is loss

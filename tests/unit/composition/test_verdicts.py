"""Of what the table of theorems is made."""

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
    """From (epsilon, delta)-DP, a coin at launch, or nowhere: those interleave."""
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
    """Orders apart, and each with one class of losses."""
    assert kind_name(kind_of(measure)) == name
    assert loss_class(kind_of(measure)) is loss

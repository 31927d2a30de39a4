"""`OpenDPMeasurement` over a stand-in: what it claims, what is refused, and how it runs."""

from collections.abc import Callable
from fractions import Fraction
from math import inf, nan
from typing import Any

import numpy as np
import pytest

from composition import Blocks, FiltCon, OdomCon
from mechanisms import SparseVector, Table
from mechanisms.opendp import OpenDPMeasurement
from queryable import (
    ZCDP,
    ApproxDP,
    ApproxZCDP,
    Ask,
    PureDP,
    Queryable,
    QueryError,
    Statistic,
    UnprovenCompositionError,
    UserLevel,
    explain,
)
from queryable.errors import PrivacyClaimError
from tests.unit.mechanisms.opendp import stand_in as odp
from tests.unit.mechanisms.opendp.stand_in import DATA, bridged, half, in_place_of_opendp

__all__ = ["in_place_of_opendp"]

SIZE = Statistic(len, l1=1, l2=1)


@pytest.mark.parametrize(
    ("measure", "distance", "loss"),
    [
        (odp.PURE, lambda d: d * 0.1, PureDP(Fraction(0.1))),
        (odp.ZCDP, lambda d: d * d * 0.1, ZCDP(Fraction(0.1))),
        (odp.approximate(odp.PURE), lambda d: (d * 0.1, 1e-6), ApproxDP(0, 0)),
        (odp.approximate(odp.ZCDP), lambda d: (d * 0.1, 1e-6), ApproxZCDP(0, 0)),
    ],
)
def test_the_map_is_the_claim(measure: Any, distance: Any, loss: Any) -> None:
    """Of the float as it is: 0.1 is above one tenth."""
    mechanism = bridged(privacy_map=distance, measure=measure)
    if isinstance(loss, ApproxDP | ApproxZCDP):
        loss = type(loss)(Fraction(0.1), Fraction(1e-6))
    assert mechanism.privacy_map(1) == loss
    assert mechanism.privacy_map(0) == loss.zero()
    table = Queryable(OdomCon(type(loss)), DATA)
    assert table(mechanism) == 3.0
    assert table.privacy_loss() == loss
    assert table.privacy_loss(3) == mechanism.privacy_map(3)


def test_units_lose_what_their_records_lose() -> None:
    mechanism = bridged(column="a", neighbours=UserLevel("who", 3))
    assert mechanism.privacy_map(2) == PureDP(3)
    rows = {"a": [5, 6, 7, 8, 9], "who": [1, 1, 1, 1, 2]}
    table = Queryable(FiltCon(PureDP(2)), rows)
    assert table(mechanism) == 4.0
    assert table.privacy_loss() == PureDP("3/2")
    assert mechanism.measurement.invoked[-1] == [5.0, 6.0, 7.0, 9.0]


@pytest.mark.parametrize(
    ("error", "words", "make"),
    [
        (TypeError, "input metric", lambda: bridged(metric=odp.Named("ChangeOneDistance()"))),
        (TypeError, "output measure", lambda: bridged(measure=odp.Named("SmoothedMaxDivergence"))),
        (TypeError, "input domain", lambda: bridged(domain=None)),
        (ValueError, "3 records", lambda: bridged(domain=odp.Vectors(size=3))),
        (TypeError, "measurement is 7", lambda: OpenDPMeasurement(7)),
        (TypeError, "label is ''", lambda: bridged(label="")),
        (TypeError, "example is 'a'", lambda: bridged(example="a")),
        (ValueError, "not in the measurement's input domain", lambda: bridged(example=["a"])),
        (ValueError, "give public values.*ZeroD", lambda: bridged(lambda x: 1 / len(x))),
        (PrivacyClaimError, "gave nan", lambda: bridged(privacy_map=lambda d: nan)),
        (PrivacyClaimError, "gave inf", lambda: bridged(privacy_map=lambda d: inf)),
        (PrivacyClaimError, "gave -1", lambda: bridged(privacy_map=lambda d: -1.0)),
        (PrivacyClaimError, "gave 1", lambda: bridged(privacy_map=lambda d: 1)),
        (PrivacyClaimError, "should not fall", lambda: bridged(privacy_map=lambda d: 1 / d)),
        (PrivacyClaimError, "gave nan", lambda: bridged(privacy_map=[0.0, 1.0, nan].__getitem__)),
        (PrivacyClaimError, "at 1 records: Zero", lambda: bridged(privacy_map=lambda d: d / 0)),
        (UnprovenCompositionError, "no theorem here", lambda: OpenDPMeasurement(odp.Odometer())),
        (UnprovenCompositionError, "holds a function", lambda: bridged(lambda x: half)),
        (UnprovenCompositionError, "holds a function", lambda: bridged(lambda x: [1, {"a": half}])),
        (UnprovenCompositionError, "holds a object", lambda: bridged(lambda x: object())),
    ],
)  # fmt: skip
def test_what_is_refused_when_it_is_made(error: Any, words: str, make: Callable[[], Any]) -> None:
    with pytest.raises(error, match=words):
        make()


def test_a_map_may_fall_where_it_was_not_looked_at() -> None:
    """The launch is refused, and nothing is read."""
    falls = bridged(privacy_map=lambda d: 5.0 if d != 100 else 4.0, column="a",
                    neighbours=UserLevel("who", 100))  # fmt: skip
    table = Queryable(FiltCon(PureDP(9)), {"a": DATA, "who": DATA})
    with pytest.raises(PrivacyClaimError, match="should not fall"):
        table(falls)
    assert table.privacy_loss() == PureDP(0)
    assert falls.measurement.invoked == [[]]


def test_an_example_may_be_needed() -> None:
    mechanism = bridged(lambda x: 1 / len(x), example=[3.0, 1.0])
    assert mechanism.measurement.invoked == [[1.0, 3.0]]
    assert Queryable(FiltCon(PureDP(1)), DATA)(mechanism) == 1 / 3


def test_the_example_is_not_private() -> None:
    array = np.array([1.0, 2.0])
    assert bridged(example=array).example == (1.0, 2.0)
    Queryable(FiltCon(PureDP(1)), {"a": array})
    with pytest.raises(TypeError, match="make up the example"):
        bridged(example=array)


OTHER_DATA: dict[str, tuple[Callable[[], Any], str]] = {
    "mapping": (lambda: {"a": DATA}, "name the column"),
    "matrix": (lambda: np.zeros((2, 2)), "name the column"),
    "table": (lambda: Table({"a": DATA}), "does not fit the table"),
    "units": (
        lambda: Table({"a": DATA, "who": [1, 1, 2]}, privacy_unit="who", max_rows=2),
        "does not fit the table",
    ),
}


@pytest.mark.parametrize("name", OTHER_DATA)
def test_other_data_are_refused_before_the_charge(name: str) -> None:
    data, words = OTHER_DATA[name]
    mechanism = bridged()
    table = Queryable(FiltCon(PureDP(1)), data())
    with pytest.raises(QueryError, match=words):
        table(mechanism)
    assert table.privacy_loss() == PureDP(0)
    assert mechanism.measurement.invoked == [[]]


def test_blocks_of_units_charge_for_all_rows_of_a_unit() -> None:
    """Two of each count, so that the map is taken at two records."""
    rows = {"a": DATA, "who": [1, 1, 2]}
    table = Queryable(Blocks(FiltCon(PureDP(9)), unit="who", unit_rows=2), rows)
    table.feed(rows, block="monday")
    table.feed.close("monday")
    assert table.launch_over(bridged(column="a"), ["monday"]) == 3.0
    assert table.privacy_loss() == PureDP(1)


def test_what_a_budget_does_not_cover_is_not_read() -> None:
    mechanism = bridged()
    table = Queryable(FiltCon(PureDP("1/4")), DATA)
    assert not table.can_afford(mechanism)
    with pytest.raises(Exception, match="insufficient budget"):
        table(mechanism)
    assert mechanism.measurement.invoked == [[]]


def test_batches_that_arrived_are_read() -> None:
    table = Queryable(FiltCon(PureDP(1)), DATA)
    table.feed([4.0])
    assert table(bridged()) == 4.0


def test_equal_names_are_answered_once() -> None:
    mechanism = bridged()
    table = Queryable(FiltCon(PureDP(1)), DATA)
    assert table(mechanism, name="size") == table(mechanism, name="size")
    assert table.privacy_loss() == PureDP("1/2")
    with pytest.raises(QueryError, match="size"):
        table(bridged(), name="size")
    assert mechanism == mechanism  # noqa: PLR0124
    assert mechanism != bridged()
    assert hash(mechanism) == hash(mechanism)


def test_it_is_explained_as_theirs() -> None:
    for text in (
        explain(bridged(column="a", label="visits")),
        (table := Queryable(FiltCon(PureDP(1)), DATA)) and table(bridged()) and table.explain(),
    ):
        words = " ".join(text.split())
        assert "none here: the claim is the word of OpenDP 0.0" in words
        assert "the privacy map is true of the measurement's function" in words
    assert bridged(column="a", label="visits").public_name == "visits of a"
    assert "OpenDP measurement" in table.tree()


def test_it_interleaves_as_any_measurement() -> None:
    table = Queryable(FiltCon(PureDP(2)), DATA)
    search = table(SparseVector(100, epsilon="1/4"))
    one = table(bridged())
    assert not search(SIZE)
    inner = table(FiltCon(PureDP("1/2")))
    assert (one, inner(bridged()), table(bridged())) == (3.0, 3.0, 3.0)
    assert table.privacy_loss() == PureDP("7/4")
    assert table.ask(Ask(0, SIZE)) is not None

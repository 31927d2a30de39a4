from typing import Any

import attrs
import numpy as np
import pandas as pd
import pytest

from composition import FiltCon, OdomCon
from mechanisms import Count, Gaussian, Laplace, RandomizedResponse, SparseVector, column
from queryable import (
    ZCDP,
    Launch,
    Loss,
    MechanismFault,
    PureDP,
    Queryable,
    QueryError,
    Statistic,
    Update,
    rehearse,
)
from tests.strategies import Faulty, Toy, raising

SAMPLE = {"age": np.array([20, 30, 40])}


def test_a_rehearsal_shows_the_claim_the_exact_value_and_an_answer() -> None:
    done = rehearse(Gaussian(Count(column("age") >= 30), scale=10), SAMPLE)
    assert done.claim == ZCDP("1/200")
    assert done.values == {"statistic": 2}
    assert isinstance(done.opening, int)
    assert done.within == 20
    assert "public sample; not private" in str(done)


def test_errors_are_raised_as_they_are() -> None:
    """The original exception with its traceback, which a real run hides."""
    broken = Laplace(Statistic(lambda data: len(data["agee"]), l1=1, l2=1), scale=1)
    with pytest.raises(KeyError, match="agee") as caught:
        rehearse(broken, SAMPLE)
    assert "raised in a rehearsal" in caught.value.__notes__[0]
    assert caught.traceback[-1].name == "<lambda>"
    with pytest.raises(MechanismFault):
        Queryable(broken, {"age": [1]})


@pytest.mark.parametrize("guarded", [True, False])
@pytest.mark.parametrize("at_launch", [True, False])
def test_errors_of_user_mechanisms_are_raised(at_launch: bool, guarded: bool) -> None:
    fault = ValueError("column 7")
    broken = Faulty(raising(fault), at_launch=at_launch, guarded=guarded)
    with pytest.raises(ValueError, match="column 7"):
        rehearse(broken, SAMPLE, ["bits"])


def test_a_wrong_shape_is_raised() -> None:
    wrong = Laplace(Statistic(lambda data: np.zeros(2, int), l1=1, l2=1, shape=3), scale=1)
    with pytest.raises(ValueError, match=r"shape \(2,\), \(3,\) was declared"):
        rehearse(wrong, SAMPLE)


def test_interactive_mechanisms_are_asked() -> None:
    done = rehearse(SparseVector(1, 1), SAMPLE, [Count(), Count(column("age") > 99)])
    assert len(done.answers) == 2
    with pytest.raises(QueryError, match="IntegerStatistic"):
        rehearse(SparseVector(1, 1), SAMPLE, ["nonsense"])
    inside = rehearse(FiltCon(PureDP(1)), SAMPLE, [Launch(Toy())])
    assert inside.claim == PureDP(1)
    failing = RandomizedResponse(lambda data: 1 / 0, odds=2)
    with pytest.raises(ZeroDivisionError):
        rehearse(FiltCon(PureDP(1)), SAMPLE, [Launch(failing)])


def test_an_odometer_has_no_claim_and_a_wrong_map_is_raised() -> None:
    assert rehearse(OdomCon(PureDP), SAMPLE).claim is None

    @attrs.frozen
    class Wrong(Toy):
        def loss(self, d_in: int) -> Loss:
            raise ZeroDivisionError("in the map")

    with pytest.raises(ZeroDivisionError):
        rehearse(Wrong(), SAMPLE)


def test_interrupts_are_not_swallowed() -> None:
    with pytest.raises(KeyboardInterrupt):
        rehearse(Faulty(raising(KeyboardInterrupt()), at_launch=True), SAMPLE)


PRIVATE: list[Any] = [
    {"age": np.arange(5)},
    np.arange(7),
    pd.DataFrame({"age": [1, 2, 3]}),
]


@pytest.mark.parametrize("data", PRIVATE, ids=lambda each: type(each).__name__)
@pytest.mark.filterwarnings("ignore:rows are protected:queryable.PrivacyWarning")
def test_the_data_of_a_queryable_are_refused_as_a_sample(data: Any) -> None:
    q = Queryable(FiltCon(PureDP(1)), data)
    for sample in (data, q, q.view, q.ledger()):
        with pytest.raises(TypeError, match="sample is"):
            rehearse(Laplace(Count(), scale=1), sample)


def test_columns_and_slices_of_private_data_are_refused() -> None:
    ages = np.arange(9)
    Queryable(FiltCon(PureDP(1)), {"age": ages})
    for sample in ({"age": ages}, {"age": ages[:3]}, ages[2:]):
        with pytest.raises(TypeError, match="part of them"):
            rehearse(Laplace(Count(), scale=1), sample)
    rehearse(Laplace(Count(), scale=1), {"age": ages.copy()})


def test_nothing_is_charged_and_nothing_changes() -> None:
    rehearse(FiltCon(PureDP(1)), SAMPLE, [Launch(Toy())])
    SAMPLE["age"][0] = 20  # still the caller's own to write to
    with pytest.raises(TypeError, match="iterator"):
        rehearse(Toy(), iter([1]))
    with pytest.raises(TypeError, match="InteractiveMechanism"):
        rehearse(Count(), SAMPLE)  # type: ignore[arg-type]


def test_a_rehearsal_takes_batches() -> None:
    """An `Update` among the queries is a batch of sample data."""
    batch = Update({"age": np.array([50, 60])})
    counted = Launch(Laplace(Count(), epsilon=1000))
    done = rehearse(FiltCon(PureDP(10**4)), SAMPLE, [counted, batch, counted])
    first, nothing, last = done.answers
    assert (first.answer, nothing, last.answer) == (3, None, 5)

"""Views, and the rehearsal of an analysis."""

from typing import Any

import attrs
import numpy as np
import pandas as pd
import pytest

from composition import FiltCon, OdomCon
from mechanisms import Count, Gaussian, Laplace, RandomizedResponse, SparseVector, column
from queryable import (
    ZCDP,
    Ask,
    Failed,
    Halted,
    Launch,
    Launched,
    Loss,
    MechanismFault,
    PureDP,
    Queryable,
    QueryError,
    Refused,
    SeededCoins,
    Statistic,
    Update,
    interact,
    rehearse,
)
from queryable.view import Exchange, View
from tests.strategies import SECRET, Faulty, RandomBits, RandomWord, Toy, raising


def script(*queries: Any) -> Any:
    """An adversary that asks these queries in turn, then stops."""
    return lambda view: queries[len(view)] if len(view) < len(queries) else None


def test_a_view_counts_exchanges_without_the_opening() -> None:
    """The opening is part of the view and not of its length."""
    view = interact(RandomBits(), None, script("bits", "bits"), SeededCoins(1))
    assert len(view) == 2
    assert isinstance(view.opening, int)
    assert [each.query for each in view] == ["bits", "bits"]
    assert view.answers == (view[0].answer, view[1].answer)
    # A view is a value: appending makes another one.
    empty = View("opening")
    longer = empty.then(Ask(1, "q"), "a")
    assert len(empty) == 0
    assert longer == View("opening", (Exchange((1,), "q", "a"),))


def test_nested_asks_become_paths() -> None:
    """An exchange has the path of the descendant that was asked."""
    inner = FiltCon(PureDP(1))
    view = interact(
        FiltCon(PureDP(1)),
        None,
        script(Launch(inner), Ask(0, Launch(RandomBits())), Ask(0, Ask(0, "bits"))),
        SeededCoins(1),
    )
    assert [(each.path, each.query) for each in view] == [
        ((), Launch(inner)),
        ((0,), Launch(RandomBits())),
        ((0, 0), "bits"),
    ]
    # Each query may depend on every answer before it.
    lengths = []

    def adversary(view: View) -> Any:
        lengths.append(len(view))
        return "bits" if len(view) < 3 else None

    interact(RandomBits(), None, adversary)
    assert lengths == [0, 1, 2, 3]


def test_an_interaction_ends_when_the_mechanism_halts() -> None:
    """Haney et al. 2023, Definition 1.5 (c): the halt is the last answer, and nothing is asked."""
    asked = []

    def adversary(view: View) -> Any:
        asked.append(len(view))
        return Launch(RandomWord())

    view = interact(FiltCon(PureDP("0.2"), on_exceed="halt"), None, adversary, max_rounds=9)
    assert [type(answer) for answer in view.answers] == [Launched, Launched, Halted]
    assert asked == [0, 1, 2]
    refusing = interact(FiltCon(PureDP("0.2")), None, adversary, max_rounds=9)
    assert [type(answer) for answer in refusing.answers[2:]] == [Refused] * 7
    # Its parent goes on, and so does the adversary.
    inner = FiltCon(PureDP("0.1"), on_exceed="halt")
    queries = (Launch(inner), Ask(0, Launch(RandomWord(PureDP(1)))), Launch(RandomWord()))
    answers = interact(FiltCon(PureDP(1)), None, script(*queries)).answers
    assert [type(answer) for answer in answers] == [Launched, Halted, Launched]


def test_faults_are_answers_and_interrupts_and_wrong_queries_are_raised() -> None:
    view = interact(Faulty(raising(ValueError(SECRET))), None, script("bits", "bits"))
    assert view.answers == (Failed(), Failed())
    # A `KeyboardInterrupt` inside a statistic stops the run, without context.
    with pytest.raises(KeyboardInterrupt) as caught:
        interact(Faulty(raising(KeyboardInterrupt(SECRET))), None, script("bits", "bits"))
    assert caught.value.args == ()
    with pytest.raises(QueryError):
        interact(RandomBits(), None, script("nonsense"))


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


def test_a_statistic_that_does_not_fit_the_sample_is_refused_as_at_a_launch() -> None:
    wrong = Gaussian(Count(column("agee") >= 30), scale=10)
    with pytest.raises(QueryError, match=r"^write 'age': there is no column 'agee'"):
        rehearse(wrong, SAMPLE)


@pytest.mark.parametrize("guarded", [True, False])
@pytest.mark.parametrize("at_launch", [True, False])
def test_errors_of_user_mechanisms_are_raised(at_launch: bool, guarded: bool) -> None:
    fault = ValueError("column 7")
    broken = Faulty(raising(fault), at_launch=at_launch, guarded=guarded)
    with pytest.raises(ValueError, match="column 7"):
        rehearse(broken, SAMPLE, ["bits"])


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
    batch = Update({"age": np.array([50, 60])})
    counted = Launch(Laplace(Count(), epsilon=1000))
    done = rehearse(FiltCon(PureDP(10**4)), SAMPLE, [counted, batch, counted])
    first, nothing, last = done.answers
    assert (first.answer, nothing, last.answer) == (3, None, 5)


def test_wrong_maps_wrong_shapes_and_interrupts_are_raised() -> None:
    assert rehearse(OdomCon(PureDP), SAMPLE).claim is None

    @attrs.frozen
    class Wrong(Toy):
        def loss(self, d_in: int) -> Loss:
            raise ZeroDivisionError("in the map")

    with pytest.raises(ZeroDivisionError):
        rehearse(Wrong(), SAMPLE)
    with pytest.raises(KeyboardInterrupt):
        rehearse(Faulty(raising(KeyboardInterrupt()), at_launch=True), SAMPLE)
    wrong = Laplace(Statistic(lambda data: np.zeros(2, int), l1=1, l2=1, shape=3), scale=1)
    with pytest.raises(ValueError, match=r"shape \(2,\), \(3,\) was declared"):
        rehearse(wrong, SAMPLE)


PRIVATE: list[Any] = [{"age": np.arange(5)}, np.arange(7), pd.DataFrame({"age": [1, 2, 3]})]


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
    rehearse(FiltCon(PureDP(1)), SAMPLE, [Launch(Toy())])
    SAMPLE["age"][0] = 20  # still the caller's own to write to
    with pytest.raises(TypeError, match="iterator"):
        rehearse(Toy(), iter([1]))
    with pytest.raises(TypeError, match="InteractiveMechanism"):
        rehearse(Count(), SAMPLE)  # type: ignore[arg-type]

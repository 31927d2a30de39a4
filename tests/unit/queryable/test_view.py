"""Views, and running an adversary without a handle."""

from typing import Any

import pytest

from composition import FiltCon, OdomCon
from queryable import (
    Ask,
    Failed,
    Halted,
    Launch,
    Launched,
    PureDP,
    QueryError,
    Refused,
    SeededCoins,
    interact,
    truncated_view,
)
from queryable.view import Exchange, View
from tests.strategies import SECRET, Faulty, RandomBits, RandomWord, raising


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


def test_a_child_that_halts_does_not_end_the_interaction() -> None:
    """Its parent goes on, and so does the adversary."""
    inner = FiltCon(PureDP("0.1"), on_exceed="halt")
    queries = (Launch(inner), Ask(0, Launch(RandomWord(PureDP(1)))), Launch(RandomWord()))
    answers = interact(FiltCon(PureDP(1)), None, script(*queries)).answers
    assert [type(answer) for answer in answers] == [Launched, Halted, Launched]


def test_an_adversary_sees_the_view_so_far() -> None:
    """Each query may depend on every answer before it."""
    lengths = []

    def adversary(view: View) -> Any:
        lengths.append(len(view))
        return "bits" if len(view) < 3 else None

    interact(RandomBits(), None, adversary)
    assert lengths == [0, 1, 2, 3]


def test_max_rounds_stops_an_endless_adversary() -> None:
    """An adversary that never stops is stopped."""
    assert len(interact(RandomBits(), None, lambda view: "bits", max_rounds=4)) == 4


def test_equal_coins_give_equal_views() -> None:
    """A run replays from its seed."""
    runs = [
        interact(RandomBits(), None, script(*["bits"] * 9), SeededCoins(seed)) for seed in (1, 1, 2)
    ]
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]


def test_a_wrong_query_of_the_adversary_is_raised() -> None:
    """`interact` does not swallow a wrong query."""
    with pytest.raises(QueryError):
        interact(RandomBits(), None, script("nonsense"))


def test_faults_are_answers() -> None:
    """A mechanism that fails answers `Failed`, also in a view."""
    view = interact(Faulty(raising(ValueError(SECRET))), None, script("bits", "bits"))
    assert view.answers == (Failed(), Failed())


def test_an_interrupt_is_raised() -> None:
    """A `KeyboardInterrupt` inside a statistic stops the run, without context."""
    with pytest.raises(KeyboardInterrupt) as caught:
        interact(Faulty(raising(KeyboardInterrupt(SECRET))), None, script("bits", "bits"))
    assert caught.value.args == ()


def test_then_appends() -> None:
    """A view is a value: appending makes another one."""
    empty = View("opening")
    longer = empty.then(Ask(1, "q"), "a")
    assert len(empty) == 0
    assert longer == View("opening", (Exchange((1,), "q", "a"),))


def test_a_truncated_view_drops_the_crossing_answer() -> None:
    """Algorithm 5: the view while the odometer's report is at most the threshold."""
    queries = script(*[Launch(RandomWord(PureDP("0.1")))] * 6)
    view = truncated_view(OdomCon(PureDP), None, queries, PureDP("0.3"), SeededCoins(1))
    whole = interact(OdomCon(PureDP), None, queries, SeededCoins(1))
    assert len(view) == 3
    assert view.exchanges == whole.exchanges[:3]

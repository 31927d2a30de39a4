"""An analysis as one measurement: its view, its claim, and what happens where it fails."""

from fractions import Fraction
from typing import Any

import pytest

from composition import FiltCon, OdomCon
from mechanisms import (
    AbsoluteError,
    Best,
    BrownianNoiseReduction,
    Count,
    Estimate,
    Fit,
    Frugal,
    Laplace,
    Open,
    Refine,
    Scripted,
    Synthetic,
    Table,
    Threshold,
    Until,
    column,
)
from queryable import (
    ZCDP,
    ApproxDP,
    Ask,
    Failed,
    Halted,
    Launch,
    Launched,
    MechanismFault,
    PureDP,
    Queryable,
    QueryError,
    Refused,
    SeededCoins,
    Statistic,
    Update,
    interact,
)
from queryable.messages import CloseBlock
from queryable.view import View
from tests.strategies import Courier, Faulty, RandomBits, RandomWord, raising

TENTH = PureDP("1/10")
OPEN = Launch(RandomBits(TENTH))
WORD = Launch(RandomWord(TENTH))
SIZE = Statistic(len, l1=1, l2=1)
SCRIPT = (WORD, OPEN, Ask(1, "bits"), WORD)


def outer(epsilon: Any = 1, **options: Any) -> Queryable:
    return Queryable(FiltCon(PureDP(epsilon)), None, **options)


def test_it_answers_the_view_of_the_interaction() -> None:
    """With the same coins it is that of `interact`."""
    inner = FiltCon(PureDP("4/10"))
    view = Scripted(inner, SCRIPT).release(None, SeededCoins(3))
    script = interact(inner, None, lambda v: SCRIPT[len(v)] if len(v) < 4 else None, SeededCoins(3))
    assert view == script
    assert len(view) == 4
    view = Scripted(FiltCon(PureDP(1)), lambda view: WORD, max_rounds=3).release(
        None, SeededCoins(1)
    )
    assert len(view) == 3
    # What a person sees beside its answers is not in the view.
    view = Scripted(Courier() @ FiltCon(PureDP(1)), [WORD]).release(None, SeededCoins(1))
    assert len(view) == 1
    assert Scripted(RandomWord(), []).release(None, SeededCoins(1)).opening > 0


def test_the_analyst_may_look_at_answers() -> None:
    def twice_if_odd(view: View) -> Any:
        if len(view) == 0:
            return WORD
        return WORD if len(view) == 1 and view[0].answer.answer % 2 else None

    lengths = set()
    for seed in range(12):
        view = Scripted(FiltCon(PureDP(1)), twice_if_odd).release(None, SeededCoins(seed))
        assert len(view) == 1 + view[0].answer.answer % 2
        lengths.add(len(view))
    assert lengths == {1, 2}


def test_it_is_charged_its_budget_whatever_it_asks() -> None:
    """In the measure of the filter around it, and for more records."""
    table = outer()
    table.launch(Scripted(FiltCon(PureDP("4/10")), [WORD]))
    assert table.privacy_loss() == PureDP("4/10")
    inner = FiltCon(ApproxDP("1/2", "1e-6"))
    for d_in, measure in ((1, None), (2, None), (1, ApproxDP)):
        assert Scripted(inner, []).privacy_map(d_in, measure) == inner.privacy_map(d_in, measure)
    assert Scripted(FiltCon(ZCDP("1/8")), []).privacy_map(2) == ZCDP("1/2")
    # Equal lists are the same analysis; a function is compared by identity.
    table = outer()
    first = table.launch(Scripted(FiltCon(TENTH), [WORD]), name="once")
    assert table.launch(Scripted(FiltCon(TENTH), [WORD]), name="once") == first
    with pytest.raises(QueryError):
        table.launch(Scripted(FiltCon(TENTH), lambda view: None), name="once")
    assert table.privacy_loss() == PureDP(Fraction(1, 10))


def test_refusals_and_failures_inside_are_answers() -> None:
    """A launch beyond the budget is refused, and a child that fails has failed."""
    faulty = Launch(Faulty(raising(ValueError()), at_launch=True, charged=TENTH))
    view = Scripted(FiltCon(PureDP("2/10")), [faulty, WORD, WORD]).release(None, SeededCoins(1))
    assert [type(each.answer) for each in view] == [Failed, Launched, Refused]
    halting = FiltCon(PureDP("1/10"), on_exceed="halt")
    view = Scripted(halting, [WORD] * 9).release(None, SeededCoins(1))
    assert [type(each.answer) for each in view] == [Launched, Halted]
    told: list[BaseException] = []
    fault = ValueError("inside")
    table = outer(on_fault=told.append)
    table.launch(
        Scripted(FiltCon(PureDP("1/10")), [Launch(Faulty(raising(fault), at_launch=True))])
    )
    assert told == [fault]


def raises(view: View) -> Any:
    raise ValueError(f"the answer was {view[0].answer}" if len(view) else "")


NEVER_ANSWERED: dict[str, Any] = {
    "no child": [WORD, Ask(7, "bits")],
    "not understood": [WORD, "nonsense"],
    "no claim": [WORD, Launch(OdomCon(PureDP))],
    "an update": [WORD, Update([1])],
    "an update for a child": [OPEN, Ask(0, Update([1]))],
    "a closed block": [CloseBlock("a")],
}


@pytest.mark.parametrize("wrong", NEVER_ANSWERED)
def test_a_list_that_is_never_answered_is_not_charged(wrong: str) -> None:
    """At 1b177ec it was charged and then failed. A function may ask it, and fails."""
    told: list[BaseException] = []
    table, queries = outer(on_fault=told.append), NEVER_ANSWERED[wrong]
    scripted = Scripted(FiltCon(PureDP("3/10")), queries)
    best = Best(scripted, "largest", Threshold(0, "1/2"))
    for act in (table.launch, table.can_afford):
        for mechanism in (scripted, best, Scripted(FiltCon(PureDP(1)), [Launch(scripted)])):
            with pytest.raises(QueryError, match=f"never answered: entry {len(queries) - 1}"):
                act(mechanism)
    assert not len(table.view)
    assert not told
    assert table.privacy_loss() == PureDP(0)
    with pytest.raises(MechanismFault):
        table.launch(Scripted(FiltCon(PureDP("3/10")), lambda view: queries[len(view)]))
    assert table.privacy_loss() == PureDP("3/10")


WRONG: dict[str, Any] = {
    "understood by no child": [OPEN, Ask(0, "nonsense")],
    "an exception": lambda view: raises(view) if len(view) else WORD,
    "an exception at once": raises,
    "a query error": lambda view: Ask(len(view) + 9, view[0].answer) if len(view) else WORD,
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_script_fails_and_says_nothing(wrong: str) -> None:
    """The launch is charged and answers that it has failed; the cause goes to the owner only."""
    told: list[BaseException] = []
    table = outer(on_fault=told.append)
    scripted = Scripted(FiltCon(PureDP("3/10")), WRONG[wrong])
    with pytest.raises(MechanismFault) as caught:
        table.launch(scripted)
    assert caught.value.__cause__ is None
    assert table.view[-1].answer == Failed()
    assert table.privacy_loss() == PureDP("3/10")
    assert len(told) >= 1
    again = outer()
    with pytest.raises(MechanismFault):
        again.launch(Best(scripted, "largest", Threshold(0, "1/2")))
    assert again.privacy_loss() == PureDP("6/10")


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("place", ["a child", "the analyst"])
def test_an_interrupt_ends_it(kind: type[BaseException], place: str) -> None:
    """Nothing runs after it; the charge stands."""
    asked: list[int] = []

    def analyst(view: View) -> Any:
        asked.append(len(view))
        if place == "the analyst":
            raise kind
        return Launch(Faulty(raising(kind()), at_launch=True))

    table = outer()
    with pytest.raises(kind):
        table.launch(Scripted(FiltCon(PureDP("1/2")), analyst))
    assert asked == [0]
    assert table.privacy_loss() == PureDP("1/2")


TWO_COUNTS = [Launch(Laplace(SIZE, epsilon="1/20"))] * 2


def test_best_scores_the_last_answer() -> None:
    """The best run is a view, in which all its answers are."""
    table = Queryable(FiltCon(PureDP(1)), list(range(50)))
    runs = Scripted(FiltCon(PureDP("1/10")), TWO_COUNTS)
    run = table.launch(
        Best([runs, Laplace(SIZE, epsilon="1/10")], "largest", Threshold(-99, "1/9"))
    )
    assert table.privacy_loss() == PureDP("2/10")
    if run.candidate == 0:
        assert len(run.answer) == 2
    scores = [
        Best(runs, "largest", Threshold(0, "1/9")).release(range(10), SeededCoins(seed)).answer
        for seed in range(60)
    ]
    assert all(view is None or view[-1].answer.answer >= 0 for view in scores)
    assert any(view is not None and view[0].answer.answer < 0 for view in scores)


def test_best_scores_the_last_answer_of_an_analysis_within_an_analysis() -> None:
    inner = Scripted(FiltCon(PureDP("1/10")), TWO_COUNTS)
    outer = Scripted(FiltCon(PureDP("1/10")), [Launch(inner)])
    best = Best(outer, "largest", Threshold(-(10**9), "1/9"))
    found = [best.release(range(10), SeededCoins(seed)).answer for seed in range(9)]
    views = [view[0].answer.answer for view in found if view is not None]
    assert views
    assert all(type(view) is View and len(view) == 2 for view in views)


def test_a_view_without_answers_has_its_opening() -> None:
    best = Best(Scripted(RandomWord(), []), "largest", Threshold(1, "1/2"))
    assert best.release(None, SeededCoins(1)).answer.opening > 0
    Best(Scripted(Laplace(Count(), epsilon=1), []), "largest", Threshold(1, "1/2"))
    table = Queryable(FiltCon(PureDP(9)), Table({"a": [1, 2, 3]}))
    view = table.launch(Scripted(FiltCon(PureDP(8)), [Launch(Laplace(Count(), epsilon=8))]))
    assert abs(view[0].answer.answer - 3) < 9


OPENED = BrownianNoiseReduction() @ FiltCon(ZCDP(1))
NO_NUMBERS: tuple[tuple[Any, Any], ...] = (
    (FiltCon(ZCDP(1)), []),
    (FiltCon(ZCDP(1)), [Launch(FiltCon(ZCDP(1)))]),
    (FiltCon(ZCDP(1)), [Launch(OPENED), Ask(0, Open(Count()))]),
    (OPENED, [Open(Count(), [99]), Ask("estimate 0", Refine())]),
    (OPENED, [Open(Count(), [99]), Ask("estimate 0", Until(AbsoluteError(3)))]),
    (Frugal() @ FiltCon(ZCDP(1)), [Estimate(Count(), 90)]),
    (Synthetic([{"a": [1, 2]}], rounds=1) @ FiltCon(ZCDP(1)), [Fit("1/10", rounds=1)]),
)


@pytest.mark.parametrize(("mechanism", "queries"), NO_NUMBERS)
def test_an_analysis_that_ends_without_a_number_is_no_candidate(
    mechanism: Any, queries: Any
) -> None:
    """It would be charged, and fail whatever the data are; a field of its answer is one."""
    analysis = Scripted(mechanism, queries)
    with pytest.raises(ValueError, match="does not answer one number"):
        Best(analysis, "largest", Threshold(1, "1/2"))
    if queries and not isinstance(queries[-1], Launch) and "open" not in str(queries[-1]).lower():
        field = "rows" if isinstance(queries[-1], Fit) else "value"
        Best(analysis, "largest", Threshold(1, "1/2"), of=field)


def test_a_person_of_ones_own_may_answer_a_number() -> None:
    Best(Scripted(Courier() @ OPENED, [Refine()]), "largest", Threshold(1, "1/2"))


NO_COLUMN = Laplace(Count(column("b") > 1), epsilon="1/10")
MISTAKEN = (
    Best([Laplace(Count(), epsilon="1/10"), NO_COLUMN], "largest", Threshold(1, "1/2")),
    Scripted(FiltCon(PureDP(1)), [OPEN, Launch(NO_COLUMN)]),
    Scripted(FiltCon(PureDP(1)), [Launch(FiltCon(PureDP(1))), Ask(0, Launch(NO_COLUMN))]),
    Best(Scripted(FiltCon(PureDP(1)), [Launch(NO_COLUMN)]), "largest", Threshold(1, "1/2")),
)


@pytest.mark.parametrize("mistaken", MISTAKEN)
def test_a_column_that_is_not_there_is_not_charged(mistaken: Any) -> None:
    table = Queryable(FiltCon(PureDP(9)), Table({"a": [1, 2, 3]}))
    with pytest.raises(QueryError, match="no column 'b'"):
        table.launch(mistaken)
    assert table.privacy_loss() == PureDP(0)


def test_it_is_nested_at_most_so_deep() -> None:
    deep: Any = RandomWord()
    for _ in range(40):
        deep = Scripted(deep, [])
    with pytest.raises(ValueError, match="nested"):
        Scripted(deep, [])
    table = Queryable(FiltCon(PureDP(1)), None)
    view = table.launch(deep)
    for _ in range(40):
        view = view.opening
    assert view > 0

"""Releases: what is left of a budget, and what a refused release says about accuracy."""

import re
from fractions import Fraction
from typing import Any

import pytest

from composition import (
    AtMostADay,
    Blocks,
    ConComp,
    ExPost,
    FiltCon,
    FiltSeq,
    GDPResidue,
    Individual,
    Menu,
    OdomCon,
    Rogers2016,
    Rogers2023,
    Universal,
    ViaGDP,
    ViaRenyi,
    Whitehouse2023,
    budget,
)
from mechanisms import (
    Count,
    Gaussian,
    Histogram,
    Laplace,
    Mean,
    Quantile,
    SparseVector,
    Sum,
    column,
)
from queryable import (
    GDP,
    RDP,
    ZCDP,
    ApproxDP,
    ApproxZCDP,
    Last,
    PureDP,
    Queryable,
    QueryError,
    QueryRefusedError,
    Refused,
    SeededCoins,
)
from tests.strategies import RandomBits, Toy

BOTH, HALF = ApproxDP(1, "1e-6"), "5e-7"
FILTERS = {
    "budget": budget(1, "1e-6"),
    "budget without a share for launches": budget(1, "1e-6", launch_share=0),
    "budget for two records": budget(1, "1e-6", d_in=2),
    "epsilon": budget(1),
    "ZCDP": FiltCon(ZCDP("1/10")),
    "ZCDP in turn": FiltSeq(ZCDP("1/10")),
    "ApproxZCDP": FiltCon(ApproxZCDP("1/10", "1e-6")),
    "ApproxDP": FiltCon(BOTH),
    "GDP": FiltCon(GDP("1/2")),
    "RDP": FiltCon(RDP(8, "1/2")),
    "Menu": FiltCon(BOTH, Menu("0.01", [1, 5, 20], slack=HALF)),
    "Whitehouse2023": FiltCon(BOTH, Whitehouse2023(HALF)),
    "Rogers2016": FiltCon(BOTH, Rogers2016()),
    "Rogers2023": FiltCon(BOTH, Rogers2023(HALF)),
    "ViaGDP": FiltCon(BOTH, ViaGDP()),
    "ViaRenyi": FiltCon(BOTH, ViaRenyi([2, 8, 32, 64])),
    "GDPResidue": FiltCon(BOTH, GDPResidue(HALF)),
    "ExPost": ExPost(BOTH),
}
QUESTIONS = {
    "count": Count(),
    "sum": Sum("age", 0, 100),
    "mean": Mean("age", 0, 100),
    "histogram": Histogram("city", ["a", "b"]),
    "median": Quantile("age", "1/2", range(0, 100, 5)),
}
ROWS = {"age": [31, 47, 62] * 100, "city": ["a", "b", "a"] * 100}


def opened(mechanism: Any, data: Any = ROWS) -> Queryable:
    return Queryable(mechanism, data, coins=SeededCoins(3), allow_seeded=True)


def used(table: Queryable) -> Fraction:
    """The used part of the budget."""
    share = table.node.share
    assert share is not None
    return share


# What is left


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("name", FILTERS)
def test_a_release_of_what_is_left_is_admitted(name: str, question: str) -> None:
    """At the start, and after a launch that has used an awkward part of the budget."""
    statistic = QUESTIONS[question]
    for spent in (None, "1/70"):
        table = opened(FILTERS[name])
        if spent is not None:
            table.release(statistic, loss=PureDP(spent))
        left = table.remaining()
        table.release(statistic, loss=left)
        assert table.remaining() <= left


@pytest.mark.parametrize("name", [each for each in FILTERS if each not in ("Menu", "GDPResidue")])
def test_a_count_uses_what_is_left(name: str) -> None:
    """All of it, but for numbers that are rounded; a menu and a residue are no sums."""
    table = opened(FILTERS[name])
    table.release(Count(), loss=PureDP("1/70"))
    table.release(Count(), loss=table.remaining())
    if name == "ViaRenyi":
        left, whole = table.remaining(), opened(FILTERS[name]).remaining()
        assert left.parts[0] <= whole.parts[0] / 10**9  # type: ignore[attr-defined]
    else:
        assert 1 - Fraction(1, 10**9) <= used(table) <= 1


def test_a_launch_and_a_child_take_what_is_left() -> None:
    """A child's budget is what was left, and so is what it has left."""
    table = opened(budget(1, "1e-6"))
    table.release(Count(), within=100)
    left = table.remaining()
    child = table.launch(FiltCon(left))
    assert child.remaining() == left
    assert table.remaining() == left.zero()
    child.launch(Gaussian(Count(), rho="1/1000"))
    child.launch(Toy(ZCDP("1/1000")), child.remaining())
    assert child.remaining() == left.zero()
    with pytest.raises(QueryRefusedError):
        child.launch(Gaussian(Count(), rho="1/1000000"))


def test_what_remains_of_epsilon_and_delta_is_less_than_the_conversion_of_both() -> None:
    """A part of delta is kept for launches that have one, and is no part of what rhos share."""
    table = opened(budget(1, "1e-6"))
    left = table.remaining()
    assert isinstance(left, ApproxZCDP)
    assert left.rho < ZCDP.within(BOTH).rho
    assert left.rho == pytest.approx(ZCDP.within(ApproxDP(1, "9e-7")).rho, rel=1e-9)
    for _ in range(30):
        table.release(Count(), loss=ZCDP(left.rho / 30))
    assert table.remaining() == ApproxZCDP(0, "1e-7")


def test_nothing_is_left_where_no_launch_is_admitted() -> None:
    """Of so many launches, and after a halt."""
    full = opened(FiltCon(ZCDP(1), max_mechanisms=1))
    assert full.remaining() == ZCDP(1)
    full.release(Count(), loss=ZCDP("1/2"))
    assert full.remaining() == ZCDP(0)
    halted = opened(FiltCon(ZCDP(1), on_exceed="halt"))
    with pytest.raises(QueryRefusedError):
        halted.release(Count(), loss=ZCDP(2))
    assert halted.remaining() == ZCDP(0)


@pytest.mark.parametrize("seed", range(3))
def test_asking_what_is_left_changes_no_later_answer(seed: int) -> None:
    answers = []
    for polls in (0, 3):
        table = Queryable(budget(1), ROWS, coins=SeededCoins(seed), allow_seeded=True)
        for _ in range(polls):
            table.remaining()
        answers.append(table.release(Count(), loss=PureDP("1/2")).estimate)
    assert answers[0] == answers[1]


def test_blocks_have_less_left_than_the_one_that_has_least() -> None:
    table = opened(Blocks(FiltCon(ZCDP("1/10"), max_mechanisms=2)), {"age": []})
    for day in ("monday", "tuesday"):
        table.feed({"age": [31, 47]}, block=day)
        table.feed.close(day)
    with pytest.raises(QueryError, match="name the blocks"):
        table.remaining()
    with pytest.raises(QueryError, match="there is no block 'sunday'"):
        table.remaining(blocks=["sunday"])
    table.release(Count(), loss=ZCDP("1/50"), blocks=["monday"])
    assert table.remaining(blocks=["tuesday"]) == table.remaining(blocks=Last(1)) == ZCDP("1/10")
    assert table.remaining(blocks=Last(2)) == ZCDP("8/100")
    table.release(Count(), loss=table.remaining(blocks=Last(2)), blocks=Last(2))
    assert table.remaining(blocks=["monday"]) == ZCDP(0)
    assert table.remaining(blocks=["tuesday"]) == ZCDP(0)  # its 1/50 pays for no third launch


def test_blocks_are_named_where_there_are_some() -> None:
    with pytest.raises(QueryError, match="nothing here has blocks"):
        opened(budget(1)).remaining(blocks=Last(1))


def test_a_universal_has_its_budget_left() -> None:
    table = opened(Universal(ZCDP("1/10")))
    assert table.remaining() == ZCDP("1/10")
    table.launch(Gaussian(Count(), rho="1/10"))


@pytest.mark.parametrize(
    ("mechanism", "says"),
    [
        (OdomCon(ZCDP), "odometer"),
        (Individual("1/10"), "what each has left is private"),
        (ConComp([Toy(), RandomBits()]), "nothing here has a budget"),
        (SparseVector(2, epsilon=1), "nothing here has a budget"),
    ],
    ids=["odometer", "accounts of records", "fixed", "leaf"],
)
def test_what_has_no_budget_says_so(mechanism: Any, says: str) -> None:
    with pytest.raises(QueryError, match=says):
        opened(mechanism).remaining()


def test_laplace_noise_is_charged_no_delta() -> None:
    table = opened(FiltCon(BOTH))
    table.release(Count(), loss=ApproxDP("1/10", "1e-7"))
    assert table.privacy_loss() == ApproxDP("1/10", 0)
    assert table.can_afford(Laplace(Count(), epsilon="9/10"))


# What fits instead of a refused release


def refused(table: Queryable, statistic: Any, **asked: Any) -> str:
    with pytest.raises(QueryRefusedError) as refusal:
        table.release(statistic, **asked)
    assert refusal.value.requested is not None
    return str(refusal.value)


def fitting(text: str) -> str:
    """The number in "within=38 fits now"."""
    found = re.search(r"; within=([0-9.]+) fits now$", text)
    assert found is not None, text
    return found[1]


@pytest.mark.parametrize("name", [each for each in FILTERS if each != "GDPResidue"])
@pytest.mark.parametrize(
    ("question", "confidence"), [("count", "0.95"), ("sum", "0.5"), ("histogram", "0.999")]
)
def test_a_refusal_says_which_accuracy_fits(name: str, question: str, confidence: str) -> None:
    """It is admitted, and 1% less is refused; nothing is charged to find it.

    With a residue there is Gaussian noise for `within`, and what remains is about Laplace noise.
    """
    statistic, table = QUESTIONS[question], opened(FILTERS[name])
    table.release(statistic, loss=PureDP("1/70"))
    before = table.remaining()
    within = fitting(refused(table, statistic, within="1/1000", confidence=confidence))
    assert table.remaining() == before
    less = Fraction(within) * Fraction(99, 100)
    assert fitting(refused(table, statistic, within=less, confidence=confidence)) == within
    table.release(statistic, within=within, confidence=confidence)


def test_what_fits_is_in_the_questions_units() -> None:
    table = opened(FiltCon(ZCDP("1/50")))
    assert fitting(refused(table, Count(), within=1)) == "10"
    cents = Sum("age", 0, 1000, unit="0.01")
    assert fitting(refused(table, cents, within=1)) == "9800"


def test_a_question_whose_accuracy_depends_on_the_data_may_cost_what_is_left() -> None:
    table = opened(FiltCon(ZCDP("1/50")))
    says = refused(table, Mean("age", 0, 100), loss=ZCDP(1))
    assert says.endswith("; loss=remaining() fits now")
    says = refused(table, Count(), loss=ZCDP(1))
    assert says.endswith("; loss=remaining() fits now, ±10")
    table.release(Count(), loss=table.remaining())
    says = refused(table, Count(), within=100)
    assert "used up" in says
    assert "fits" not in says


def test_a_budget_of_which_a_delta_is_left_is_used_up() -> None:
    table = opened(budget(1, "1e-6"))
    table.release(Count(), loss=table.remaining())
    says = refused(table, Count(), within=100)
    assert "This budget is used up but for a delta of 1e-7: ask" in says
    assert "fits" not in says


def test_what_fits_in_blocks_fits_in_each() -> None:
    """The first of them that cannot pay is not the one that has least left."""
    table = opened(Blocks(FiltCon(ZCDP("1/10"))), {"age": []})
    for day, spent in (("monday", "1/20"), ("tuesday", "9/100"), ("wednesday", "1/50")):
        table.feed({"age": [31, 47]}, block=day)
        table.feed.close(day)
        table.release(Count(), loss=ZCDP(spent), blocks=[day])
    within = fitting(refused(table, Count(), within=1, blocks=Last(3)))
    with pytest.raises(QueryRefusedError):
        table.release(Count(), within=Fraction(within) * Fraction(99, 100), blocks=Last(3))
    table.release(Count(), within=within, blocks=Last(3))


def test_nothing_is_said_to_fit_where_a_person_would_refuse_it() -> None:
    """A block that has spent what it may in a day has something left of its budget."""
    table = opened(AtMostADay(ZCDP("1/100")) @ Blocks(FiltCon(ZCDP("1/10"))), {"age": []})
    table.feed({"age": [31, 47]}, block="monday")
    table.feed.close("monday")
    table.release(Count(), loss=ZCDP("1/100"), blocks=["monday"])
    assert "fits now" not in refused(table, Count(), within=10, blocks=["monday"])


def test_refusals_of_several_say_the_same() -> None:
    """What fits is said of the first few of them; what was admitted is an answer."""
    table = opened(FiltCon(ZCDP("1/50")))
    questions = [Count(), *[Count(column("age") >= age) for age in range(20)]]
    outcomes = table.release_many(questions, within=6)
    refusals = [each for each in outcomes if isinstance(each, Refused)]
    advised = [each for each in refusals if each.instead.endswith("within=10 fits now")]
    assert len(outcomes) == len(refusals) == 21
    assert len(advised) == 8
    table.release(Count(), within=10)


def test_many_launches_have_no_accuracy_that_fits() -> None:
    table = opened(FiltCon(ZCDP(1), max_mechanisms=0))
    with pytest.raises(QueryRefusedError, match="mechanism count limit"):
        table.release(Count(), within=10)


def test_a_release_that_may_lose_nothing_says_so() -> None:
    table = opened(FiltCon(ZCDP(1)))
    table.release(Count(), loss=table.remaining())
    for statistic in (Count(), Quantile("a", "1/2", [0, 1, 2])):
        with pytest.raises(QueryError, match="if it is what is left, the budget is spent"):
            table.release(statistic, loss=table.remaining())

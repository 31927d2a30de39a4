"""Plans: exact shares, the accuracy and cost of each question, and the budget that they need."""

from fractions import Fraction
from typing import Any

import attrs
import pytest

from composition import Blocks, FiltCon, GDPResidue, Menu, Rogers2016, ViaRenyi, Whitehouse2023
from composition import budget as of_epsilon
from composition.advice import plan
from mechanisms import Count, Laplace, Mean, Quantile, Sum, Table, column
from queryable import (
    GDP,
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
from queryable.answers.released import Released

BOTH, HALF = ApproxDP(1, "1e-6"), "5e-7"
ROWS = {"age": [31, 47, 62] * 100, "city": ["a", "b", "a"] * 100}
MEDIAN = Quantile("age", "1/2", range(0, 100, 5))
MIXED = [Count(), Sum("age", 0, 100), Mean("age", 0, 100), MEDIAN]
ADDING = {
    "budget": of_epsilon(1, "1e-6"),
    "epsilon": of_epsilon(1),
    "ZCDP": FiltCon(ZCDP("1/10")),
    "two records": FiltCon(ZCDP("1/10"), d_in=2),
    "GDP": FiltCon(GDP("1/2")),
    "ApproxDP": FiltCon(BOTH),
}
OTHERS = {
    "Menu": FiltCon(BOTH, Menu("0.01", [1, 5, 20], slack=HALF)),
    "Whitehouse2023": FiltCon(BOTH, Whitehouse2023(HALF)),
    "Rogers2016": FiltCon(BOTH, Rogers2016()),
    "ViaRenyi": FiltCon(BOTH, ViaRenyi([2, 8, 32])),
    "GDPResidue": FiltCon(BOTH, GDPResidue(HALF)),
}


def opened(mechanism: Any, data: Any = ROWS) -> Queryable:
    return Queryable(mechanism, data, coins=SeededCoins(5), allow_seeded=True)


@pytest.mark.parametrize("name", ADDING | OTHERS)
def test_a_plan_is_admitted_with_its_last_question(name: str) -> None:
    filtered = (ADDING | OTHERS)[name]
    for weights in (None, [3, "1/7", 1, 2]):
        table = opened(filtered)
        answers = table.release_many(plan(filtered, MIXED, weights=weights))
        assert [type(each) for each in answers] == [Released] * 4


@pytest.mark.parametrize("name", ADDING)
@pytest.mark.parametrize("count", [7, 30])
def test_shares_of_sums_use_the_whole_budget(name: str, count: int) -> None:
    """Equal shares of no binary fraction; the last one is not refused, and no budget is left."""
    filtered, table = ADDING[name], opened(ADDING[name])
    answers = table.release_many(plan(filtered, [Count()] * count))
    assert not any(isinstance(each, Refused) for each in answers)
    used = table.node.share
    assert used is not None
    assert 1 - Fraction(1, 10**6) < used <= 1


@pytest.mark.parametrize("name", [each for each in OTHERS if each not in ("Menu", "GDPResidue")])
def test_where_something_else_adds_up_little_is_left(name: str) -> None:
    """Shares of epsilon alone would leave most of the budget."""
    filtered, table = OTHERS[name], opened(OTHERS[name])
    found = plan(filtered, [Count()] * 10)
    table.release_many(found)
    assert not table.can_afford(Laplace(Count(), epsilon="1/50"))


def test_weights_are_ratios_of_costs() -> None:
    found = plan(FiltCon(ZCDP("1/10")), [Count(), Count(column("age") >= 40)], weights=["1/2", 1])
    assert [row.cost for row in found] == [ZCDP("1/30"), ZCDP("1/15")]
    assert [row.share for row in found] == [Fraction(1, 3), Fraction(2, 3)]
    assert found.needs == found.budget == ZCDP("1/10")
    assert found.fits


def test_the_accuracy_is_that_of_the_answer_and_what_release_takes() -> None:
    """Asked by itself, each of these accuracies costs no more than the share."""
    filtered = of_epsilon(1, "1e-6")
    found = plan(filtered, MIXED)
    assert [row.within is None for row in found] == [False, False, True, True]
    answers = opened(filtered).release_many(found)
    for row, answer in zip(found[:2], answers, strict=False):  # type: ignore[index]
        low, high = answer.interval(0.95)
        assert row.within is not None
        assert (high - low) / 2 <= row.within <= (high - low) / 2 * Fraction(102, 100) + 1
        table = opened(FiltCon(ZCDP(row.cost.rho)))  # type: ignore[attr-defined]
        table.release(row.question, within=row.within)
        with pytest.raises(QueryRefusedError):
            table.release(row.question, within=row.within)


@pytest.mark.parametrize("name", ADDING)
def test_the_budget_that_accuracies_need_admits_them(name: str) -> None:
    """And one that is 1% less refuses the last; nothing else is said of another filter."""
    filtered = ADDING[name]
    questions, within = [Count(), Sum("age", 0, 100), Count()], [20, 1000, "9.5"]
    found = plan(filtered, questions, within=within)
    needs: Any = found.needs
    assert needs.measure == filtered.budget.measure
    parts = needs.parts
    less = needs.of_parts((parts[0] * Fraction(98, 100), *parts[1:]))
    for enough, each in ((True, needs), (False, less)):
        whole = filtered.budget
        kept = ApproxDP(each.epsilon, whole.delta) if isinstance(whole, ApproxDP) else each
        table = opened(attrs.evolve(filtered, budget=kept))
        answers = table.release_many(found)
        assert any(isinstance(answer, Refused) for answer in answers) != enough
    assert [row.within for row in found] == [20, 1000, 9]
    assert sum(row.share or 0 for row in found) == pytest.approx(1)


def test_one_accuracy_for_all_and_a_plan_that_does_not_fit() -> None:
    found = plan(of_epsilon(1, "1e-6"), [Count()] * 3, within=3)
    assert not found.fits
    assert "more than the budget ApproxDP(epsilon=1, delta=1e-06)" in found.summary
    answers = opened(of_epsilon(1, "1e-6")).release_many(found)
    assert all(isinstance(each, Refused) for each in answers)


def test_a_plan_of_what_is_left() -> None:
    table = opened(of_epsilon(1, "1e-6"))
    table.release(Count(), within=100)
    answers = table.release_many(plan(table.remaining(), MIXED))
    assert not any(isinstance(each, Refused) for each in answers)
    left = table.remaining()
    assert isinstance(left, ApproxZCDP)
    assert left.rho < Fraction(1, 10**6)


def test_names_are_those_of_the_launches() -> None:
    """So a plan that is run again costs nothing; given names take their place."""
    table = opened(FiltCon(ZCDP("1/10")))
    found = plan(ZCDP("1/20"), {"all": Count(), "old": Count(column("age") >= 40)})
    first = table.release_many(found)
    assert table.release_many(found) == first
    assert table.remaining() == ZCDP("1/20")
    table.release_many(found, names=["again", None])
    assert [row.name for row in table.ledger()] == ["all", "old", "again", None]


def test_a_plan_over_blocks() -> None:
    table = opened(Blocks(FiltCon(ZCDP("1/10"))), {"age": []})
    table.feed({"age": [31, 47]}, block="monday")
    table.feed.close("monday")
    table.release_many(plan(ZCDP("1/10"), [Count()] * 3), blocks=Last(1))
    assert table.remaining(blocks=Last(1)) == ZCDP(0)


def test_a_plan_is_shown() -> None:
    pd = pytest.importorskip("pandas")
    visits = Table({"clinic": ["<b>", "b"], "age": [3, 4]})
    questions = {"<i>": visits.count(column("clinic") == "<b>"), "mean": visits.mean("age", 0, 9)}
    found = plan(of_epsilon(1), questions, weights=[1, 3])
    assert str(found).splitlines() == [
        "question                          ±              share  cost",
        "<i>: Count where clinic == '<b>'  ±12            25%    PureDP(epsilon=0.25)",
        "mean: Mean(age)                   not known yet  75%    PureDP(epsilon=0.75)",
        "together PureDP(epsilon=1), within the budget PureDP(epsilon=1); ± at 95%",
    ]
    shown = found._repr_html_()
    assert "&lt;i&gt;: Count where clinic == &#x27;&lt;b&gt;&#x27;" in shown
    assert "<b>" not in shown
    frame = found.to_pandas()
    assert list(frame.columns) == ["question", "name", "within", "share", "cost"]
    assert frame["within"][0] == float(found[0].within or 0)
    assert pd.isna(frame["within"][1])
    assert len(found) == 2


@pytest.mark.parametrize(
    ("kind", "arguments", "says"),
    [
        (TypeError, {"budget": 3}, "budget is 3"),
        (TypeError, {"budget": Count()}, "should be a filter"),
        (ValueError, {"questions": []}, "questions is empty"),
        (QueryError, {"questions": 3}, "give a list"),
        (QueryError, {"questions": [Count(), 3]}, "entry 1: release a statistic"),
        (ValueError, {"weights": [1]}, "weights has 1 entries; give one for each of 2"),
        (ValueError, {"weights": [1, 0]}, "weight is 0"),
        (TypeError, {"weights": 3}, "weights is 3"),
        (ValueError, {"within": [1, 2, 3]}, "within has 3 entries"),
        (QueryError, {"within": 0, "confidence": 2}, "confidence"),
        (QueryError, {"within": -1}, "entry 0: within"),
        (ValueError, {"within": 3, "weights": [1, 1]}, "not both"),
        (QueryError, {"within": 3, "questions": [Count(), MEDIAN]}, "entry 1: give loss="),
        (ValueError, {"budget": FiltCon(BOTH, Menu("3/4", [1], slack=HALF))}, "does not pay for 2"),
    ],
    ids=str,
)
def test_wrong_arguments_are_named(kind: type, arguments: dict[str, Any], says: str) -> None:
    given = {"budget": ZCDP(1), "questions": [Count(), Count()]} | arguments
    with pytest.raises(kind, match=says):
        plan(given.pop("budget"), given.pop("questions"), **given)


def test_a_plan_says_itself_what_releases_cost() -> None:
    table, found = opened(FiltCon(ZCDP(1))), plan(ZCDP(1), [Count()])
    for more in ({"within": 3}, {"loss": PureDP(1)}):
        with pytest.raises(QueryError, match="leave within and loss out"):
            table.release_many(found, **more)  # type: ignore[arg-type]
    assert table.remaining() == ZCDP(1)


def test_a_shared_budget_is_for_estimates_unless_a_confidence_is_given() -> None:
    """As `release` does: the ends of a quantile's interval take four fifths of its loss."""
    median = Quantile("age", "1/2", range(0, 101, 5))
    assert plan(of_epsilon(1, "1e-6"), [median])[0].measurement.confidence is None
    asked = plan(of_epsilon(1, "1e-6"), [median], confidence="0.9")[0].measurement
    assert asked.confidence == Fraction(9, 10)

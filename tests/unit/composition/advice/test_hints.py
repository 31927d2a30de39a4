"""Hints of `recommend`: what would pay beyond a rule, and when nothing is said."""

from fractions import Fraction
from typing import Any

import pytest

from composition import FiltCon, GDPResidue, OdomCon, ViaZCDP, admitted, recommend
from composition.advice import hints
from mechanisms import (
    Best,
    BrownianNoiseReduction,
    Count,
    Frugal,
    Gaussian,
    Keys,
    Laplace,
    RandomizedResponse,
    SparseVector,
    Threshold,
    column,
)
from queryable import ZCDP, ApproxDP, PureDP, Queryable, QueryRefusedError, Statistic

BUDGET = ApproxDP(1, "1e-6")
age = column("age")
SMALL, LARGE = ZCDP(1), ZCDP("1/100")
COUNTS = [Gaussian(Count((age >= low) & (age < low + 30)), rho="1/500") for low in range(0, 70, 10)]
EITHER = Statistic(len, l1=1, l2=1)
DELTA = RandomizedResponse(bool, epsilon="1/9", delta="1/999")

GROUPS, OVERLAP, ABOVE, LARGEST, BEST, INDIVIDUAL, NONE = (
    "do not overlap",
    "Frugal, from about 4 on",
    "one SparseVector",
    "one ExponentialMechanism",
    "one Best",
    "Individual refuses none",
    "no rule takes this plan",
)
LAPLACE = [Laplace(Count(age > low), epsilon="1/10") for low in range(12)]
SHAPED = Statistic(len, l1=1, l2=1, shape=3)
RUNS = Best(Gaussian(EITHER, rho="1/2000"), "largest", Threshold(0, "1/9"))
SAID: dict[str, tuple[Any, list[Any], list[str]]] = {
    "one loss": (SMALL, [ZCDP("1/10")], []),
    "three": (SMALL, [ZCDP("1/10")] * 3, [GROUPS]),
    "four": (SMALL, [ZCDP("1/10")] * 4, [GROUPS, OVERLAP]),
    "six": (SMALL, [ZCDP("1/10")] * 6, [GROUPS, OVERLAP, LARGEST, BEST]),
    "twenty": (SMALL, [ZCDP("1/100")] * 20, [GROUPS, OVERLAP, ABOVE, LARGEST, BEST]),
    "too many": (LARGE, [ZCDP("1/100")] * 2, [GROUPS, INDIVIDUAL]),
    "different losses": (SMALL, [ZCDP("1/10"), ZCDP("1/20")], []),
    "pure": (PureDP(1), [PureDP("1/10")] * 4, [GROUPS, ABOVE, LARGEST, BEST]),
    "two pure": (PureDP(1), [PureDP("1/10")] * 2, [GROUPS]),
    "too many pure": (PureDP(1), [PureDP(1)] * 2, [GROUPS]),
    "pure, that do not add up": (SMALL, [PureDP("1/10")] * 4, [GROUPS]),
    "counts": (BUDGET, COUNTS, [GROUPS, OVERLAP, LARGEST]),
    "Laplace": (PureDP(1), LAPLACE[:3], [GROUPS, ABOVE]),
    "too many Laplace": (PureDP(1), LAPLACE, [GROUPS, ABOVE, LARGEST]),
    "Laplace, that do not add up": (SMALL, LAPLACE[:5], [GROUPS]),
    "no counts": (SMALL, [Gaussian(EITHER, rho="1/100")] * 30, [BEST]),
    "histograms": (BUDGET, [Gaussian(SHAPED, rho="1/600")] * 6, [BEST]),
    "too many histograms": (ZCDP("1/100"), [Gaussian(SHAPED, rho="1/100")] * 2, []),
    "no candidates": (ApproxDP(9, "1/2"), [DELTA] * 9, []),
    "several Best": (BUDGET, [RUNS] * 7, []),
    "curves": (BUDGET, [RUNS.privacy_map(1)] * 6, [BEST]),
    "interactive": (SMALL, [SparseVector(3, epsilon="1/10")] * 9, []),
    "interactive, too many": (LARGE, [SparseVector(3, epsilon="1/9")] * 9, []),
    "not taken": (PureDP(1), [ZCDP("1/10")] * 30, [NONE]),
}


@pytest.mark.parametrize("name", SAID)
def test_hints_are_about_the_plan(name: str) -> None:
    budget, plan, said = SAID[name]
    found = recommend(budget, plan)
    assert len(found.hints) == len(said), found.hints
    for hint, part in zip(found.hints, said, strict=True):
        assert part in hint
        assert f"- {hint}" in str(found)
    assert found.instead is None


def test_mechanisms_are_planned_with_what_they_state() -> None:
    """In each rule's measure: a filter admits as many, and the rule is that of their noise."""
    plan = COUNTS * 2
    found = recommend(BUDGET, plan)
    assert isinstance(found.rule, GDPResidue)
    assert found.admitted == 13
    assert {type(each.rule): each.admitted for each in found.candidates}[ViaZCDP] == 12
    assert admitted(BUDGET, ViaZCDP(), ZCDP("1/500")) == 12
    table = Queryable(FiltCon(BUDGET, rule=found.rule), {"age": [31, 47]})
    for each in plan[: found.admitted]:
        table(each)
    with pytest.raises(QueryRefusedError):
        table(plan[-1])


def test_a_person_says_what_the_plan_costs() -> None:
    person = Frugal(axes=Keys.bins("age", range(0, 101, 10)))
    found = recommend(BUDGET, COUNTS, instead=person)
    assert found.instead == person.priced(COUNTS)
    assert found.instead <= ZCDP("7/500")
    assert [each for each in found.hints if "through Frugal they cost" in each and "less" in each]
    assert not [each for each in found.hints if OVERLAP in each]
    together, alone = found.instead.rho, Fraction(7, 500)  # type: ignore[attr-defined]
    said = next(each for each in found.hints if "through Frugal" in each)
    ratio = Fraction(said.split(" times less")[0].split(", ")[-1])
    assert ratio <= alone / together < ratio + Fraction(1, 10)
    one = recommend(BUDGET, COUNTS[:1], instead=person)
    assert "no less than alone" in one.hints[0]
    assert (one.rule, one.admitted) == (recommend(BUDGET, COUNTS[:1]).rule, 1)


WRONG: dict[str, tuple[Any, list[Any], Any, str]] = {
    "losses": (TypeError, [ZCDP(1)], Frugal(), "plan with mechanisms"),
    "another person": (TypeError, COUNTS, BrownianNoiseReduction(), "knows prices"),
    "no person": (TypeError, COUNTS, 3, "instead is 3"),
    "a class": (TypeError, COUNTS, Frugal, "knows prices"),
    "no variance": (ValueError, [Gaussian(Count(), rho="1e-400")], Frugal(), "has no price"),
    "not estimated": (ValueError, [Laplace(Count(), scale=1)], Frugal(), "has no price"),
    "no claim": (ValueError, [OdomCon(ZCDP)], None, "loss"),
}


@pytest.mark.parametrize("name", WRONG)
def test_the_error_says_what_is_wrong(name: str) -> None:
    kind, plan, person, text = WRONG[name]
    with pytest.raises(kind, match=text):
        recommend(BUDGET, plan, instead=person)


@pytest.mark.parametrize(
    ("ratio", "said"),
    [(1, "1"), ("1.09", "1"), ("1.1", "1.1"), ("9.99", "9.9"), (10, "10"), (128, "120")],
)
def test_savings_are_rounded_down(ratio: Any, said: str) -> None:
    assert hints._at_least(Fraction(ratio)) == said

"""A frugal person: what it buys, what it answers for nothing, and what it leaves as it was."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from composition import FiltCon
from mechanisms import (
    Count,
    CountUnits,
    Estimated,
    EstimateQuery,
    Frugal,
    Gaussian,
    GroupBy,
    Histogram,
    Keys,
    Mean,
    PrivacyUnit,
    Sum,
    Table,
    column,
)
from mechanisms.frugal.asking import question_of
from mechanisms.frugal.books import Book
from mechanisms.tables.predicates import Predicate, selected
from queryable import (
    ZCDP,
    Launch,
    Queryable,
    QueryError,
    QueryRefusedError,
    SeededCoins,
)

RANDOM = np.random.default_rng(7)
DATA = {
    "age": [None if each == 40 else int(each) for each in RANDOM.integers(20, 41, 600)],
    "educ": [int(each) for each in RANDOM.integers(0, 12, 600)],
    "sex": [str(each) for each in RANDOM.choice(["m", "f", "x"], 600)],
}
AGE, EDUC, SEX = column("age"), column("educ"), column("sex")
AXES = (Keys.bins("age", range(20, 41, 4)), {"sex": ["m", "f"]})


def opened(person: Frugal | None = None, rho: Any = 1000, data: Any = DATA) -> Queryable:
    """A frugal person over a filter."""
    person = Frugal() if person is None else person
    filtered = person @ FiltCon(ZCDP(rho))
    return Queryable(filtered, data, coins=SeededCoins(3), allow_seeded=True)


def asked(root: Queryable, statistic: Any, within: Any = 5, **options: Any) -> Estimated:
    answer = root.ask(EstimateQuery(statistic, within, **options))
    assert isinstance(answer, Estimated)
    return answer


def counted(where: Predicate) -> int:
    return int(selected(where, DATA).sum())


PREDICATES = [
    AGE >= 30,
    (AGE >= 24) & (AGE < 32),
    ~(AGE >= 30),
    AGE > 30,
    (AGE == 30) | (AGE < 22),
    AGE.is_in([21, 25, 39]),
    (SEX == "m") & (AGE < 30),
    ~SEX.is_in(["m", "f"]),
    (SEX != "m") & (EDUC >= 6),
    AGE.is_null(),
    (AGE >= 25) & (SEX == "f") & (EDUC < 3),
]


def test_answers_are_near_the_truth_in_any_order() -> None:
    """At within=2 and 10 standard deviations, so that an error in the algebra is seen."""
    root = opened(data=DATA)
    for where in [*PREDICATES, *reversed(PREDICATES)]:
        answer = asked(root, Count(where), 4, confidence=1 - Fraction(1, 10**11))
        assert abs(answer.value - counted(where)) <= 4, where.text


def test_the_charge_is_what_was_launched_and_a_second_ask_is_free() -> None:
    root = opened()
    first = asked(root, Count(AGE >= 30))
    assert root.privacy_loss() == first.cost
    assert first.cost.rho > 0
    again = asked(root, Count(AGE >= 30))
    assert again.cost.rho == 0
    assert again.value == first.value
    assert again.saved == again.alone.rho
    assert root.privacy_loss() == first.cost


def test_a_histogram_costs_as_much_as_one_count_and_answers_its_parts() -> None:
    root = opened()
    whole = asked(root, Histogram("sex", ["m", "f", "x"]))
    assert float(whole.cost.rho) < 1.1 * float(whole.alone.rho)
    assert asked(root, Count(SEX == "m")).cost.rho == 0


def test_parts_add_up_to_totals() -> None:
    root = opened(Frugal(axes=AXES))
    asked(root, Count(), 5)
    asked(root, Count((AGE >= 24) & (AGE < 36) & (SEX == "m")), 5)
    low, high, both = (
        asked(root, Count(where), 100).value
        for where in ((AGE >= 24) & (AGE < 28), (AGE >= 28) & (AGE < 36), (AGE >= 24) & (AGE < 36))
    )
    assert abs(low + high - both) < Fraction(1, 10**6)
    yes, no, every = (
        asked(root, Count(where), 100).value for where in (AGE >= 28, ~(AGE >= 28), None)
    )
    assert abs(yes + no - every) < Fraction(1, 10**6)


def test_refining_pays_the_difference() -> None:
    """Two launches of one ledger cost as much as one of both precisions (Brownian increments)."""
    coarse = opened()
    asked(coarse, Count(), 10)
    asked(coarse, Count(), 5)
    direct = opened()
    asked(direct, Count(), 5)
    ratio = coarse.privacy_loss().rho / direct.privacy_loss().rho
    assert abs(float(ratio) - 1) < 1e-3


def test_a_plan_is_bought_at_once() -> None:
    plan = [Count((low <= AGE) & (low + 8 > AGE)) for low in range(20, 33, 4)]
    root = opened(Frugal(plan, patience=100))
    assert asked(root, plan[0]).cost.rho > 0
    for statistic in plan[1:]:
        assert asked(root, statistic).cost.rho == 0


def test_a_single_count_is_bought_where_combinations_cost_much_more() -> None:
    impatient = opened(Frugal(axes=AXES, patience="1/100"))
    answer = asked(impatient, Count((AGE >= 24) & (SEX == "m")))
    assert abs(float(answer.cost.rho / answer.alone.rho) - 1) < 0.05
    for _ in range(3):  # what was paid for single questions counts towards combinations
        asked(impatient, Count((AGE >= 24) & (SEX == "m")))


@pytest.mark.parametrize("statistic", [Count(AGE >= 30), Count(), Sum("educ", 0, 12, AGE < 30)])
def test_a_refusal_leaves_everything_as_it_was(statistic: Any) -> None:
    root = opened(Frugal(axes=AXES), rho="1/10")
    before = asked(root, Count(SEX == "m"), 20)
    spent = root.privacy_loss()
    with pytest.raises(QueryRefusedError):
        root.ask(EstimateQuery(statistic, 1))
    assert root.privacy_loss() == spent
    assert asked(root, Count(SEX == "m"), 20).value == before.value
    assert asked(root, Count(SEX == "m"), 20).cost.rho == 0
    assert asked(root, statistic, 1000).value is not None


def test_it_interleaves_with_launches_and_nests() -> None:
    """Two persons over one filter, one in a filter of its own, and plain launches."""
    root = Queryable(FiltCon(ZCDP(50)), DATA, coins=SeededCoins(3), allow_seeded=True)
    one = root.launch(Frugal() @ FiltCon(ZCDP(10)))
    other = root.launch(FiltCon(ZCDP(20))).launch(Frugal(axes=AXES) @ FiltCon(ZCDP(10)))
    for where in PREDICATES[:4]:
        for person in (one, other):
            answer = person.ask(EstimateQuery(Count(where), 6, 1 - Fraction(1, 10**9)))
            assert abs(answer.value - counted(where)) <= 6
        root.launch(Gaussian(Count(where), rho=1))
        one.launch(Gaussian(Count(where), rho="1/100"))
    assert root.privacy_loss() == ZCDP(34)
    assert one.privacy_loss().rho > Fraction(4, 100)


def test_sums_are_estimated_in_units() -> None:
    data = {**DATA, "money": [Fraction(each % 7, 4) for each in range(600)]}
    root = opened(data=data)
    statistic = Sum("money", 0, 2, SEX == "m", unit="1/4")
    answer = asked(root, statistic, 30, confidence=1 - Fraction(1, 10**9))
    assert abs(answer.value - statistic(data)) <= 30


def test_rows_of_units_are_counted_within_their_bounds() -> None:
    """A unit has up to two rows, so noise is twice as large and the estimate the same."""
    frame = {"who": [i // 2 for i in range(400)], "x": [i % 4 for i in range(400)]}
    with Table(frame, privacy_unit="who", max_rows=2) as table:
        root = opened(data=table)
        answer = asked(root, Count(column("x") < 2, per=table.unit), 4, confidence="0.9999999")
        assert abs(answer.value - 200) <= 4
        price = asked(opened(data=table), Count(per=table.unit), 4).cost.rho
        assert abs(float(price * 4**2 / 2**2 / Fraction("1.96") ** 2 * 2) - 1) < 0.05


def test_anytime_is_wider_unless_the_noise_is_fresh() -> None:
    root = opened(Frugal(axes=AXES))
    first = asked(root, Histogram("sex", ["m", "f"]), 5)
    again = asked(root, Histogram("sex", ["m", "f"]), 5)
    low, high = again.interval()
    least, most = again.interval(anytime=True)
    assert (least < low).all()
    assert (most > high).all()
    assert (first.interval(anytime=True)[0] == first.interval()[0]).all()
    assert asked(root, Histogram("sex", ["m", "f"]), 5, anytime=True).cost.rho > 0


@pytest.mark.parametrize(
    "query",
    [
        EstimateQuery(Mean("age", 0, 100), 5),
        EstimateQuery(CountUnits(per=PrivacyUnit("sex", max_rows=1)), 5),
        EstimateQuery(Count(lambda data: [True] * 600), 5),
        EstimateQuery(Count(per=PrivacyUnit("sex", max_rows=9, max_groups=2)), 5),
        EstimateQuery(GroupBy({"age": list(range(300))}, Count()), 5),
        EstimateQuery(Count(), "1/3"),
        EstimateQuery(Count(), -1),
        EstimateQuery(Count(), None),
        EstimateQuery(Count(), 5, 1),
        EstimateQuery(Count(), 5, anytime=1),
        EstimateQuery("count", 5),
    ],
)
def test_wrong_queries_change_nothing(query: EstimateQuery) -> None:
    root = opened()
    with pytest.raises(QueryError):
        root.ask(query)
    assert root.privacy_loss() == ZCDP(0)


def test_a_question_about_no_column_of_the_data_changes_nothing() -> None:
    root = opened(Frugal(axes=AXES))
    with pytest.raises(QueryError):
        root.ask(EstimateQuery(Count(column("height") > 3), 5))
    assert root.privacy_loss() == ZCDP(0)
    assert asked(root, Count(AGE >= 30)).cost.rho > 0


def test_other_queries_pass_through() -> None:
    root = opened(rho=1)
    assert root.can_afford(Gaussian(Count(), rho=1))
    root.ask(Launch(Gaussian(Count(), rho="1/2")))
    assert root.privacy_loss() == ZCDP("1/2")


constants = st.integers(0, 9)
comparisons = st.builds(
    lambda operator, value: getattr(column("a"), operator)(value),
    st.sampled_from(["__eq__", "__lt__", "__le__", "__gt__", "__ge__"]),
    constants,
) | st.builds(lambda values: column("a").is_in(values), st.lists(constants, min_size=1))
conditions = st.recursive(
    comparisons,
    lambda inner: st.one_of(
        st.builds(lambda a, b: a & b, inner, inner),
        st.builds(lambda a, b: a | b, inner, inner),
        st.builds(lambda a: ~a, inner),
    ),
    max_leaves=4,
)


@given(st.lists(conditions, min_size=1, max_size=4))
def test_atoms_say_for_each_row_what_the_predicates_say(predicates: list[Predicate]) -> None:
    """Also after later predicates have split them; a row is in one atom, missing cells too."""
    data = {"a": [*np.arange(-1, 11, 0.5).tolist(), None]}
    book = Book(Count())
    for predicate in predicates:
        (box,) = question_of(Count(predicate)).boxes
        older = dict(book.axes)
        cut = book.cut([box])
        assert cut is not None
        book = cut
        for key, axis in book.axes.items():
            groups = GroupBy((axis.groups,), Count())
            assert groups(data).sum() == 25
            assert sum(axis.shares) == 1
            if key in older:
                parents = axis.parents(older[key])
                for place, share in enumerate(older[key].shares):
                    found = zip(parents, axis.shares, strict=True)
                    assert sum(part for parent, part in found if parent == place) == share
                before = GroupBy((older[key].groups,), Count())(data)
                assert np.bincount(parents, groups(data), len(before)).tolist() == before.tolist()
    for predicate in predicates:
        (box,) = question_of(Count(predicate)).boxes
        for key, conditions_of_axis in box.items():
            axis = book.axes[key]
            counts = GroupBy((axis.groups,), Count())(data)
            members = np.array(axis.members(conditions_of_axis))
            expected = np.ones(25, dtype=bool)
            for each in conditions_of_axis:
                expected &= selected(each, data)
            assert counts[members].sum() == expected.sum()

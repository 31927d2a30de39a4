"""A frugal person: what it buys, what it answers for nothing, and what it leaves as it was."""

from fractions import Fraction
from math import ceil, floor
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from composition import FiltCon
from mechanisms import (
    Count,
    CountUnits,
    Estimate,
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
from mechanisms.frugal.frugal_queries import Estimated
from mechanisms.frugal.ledgers import ReleaseLedger
from mechanisms.frugal.spread import Spread, Spreads
from mechanisms.tables.expressions.predicates import Predicate, selected
from queryable import ZCDP, Launch, Queryable, QueryError, QueryRefusedError, SeededCoins
from queryable.effort import within_effort

RANDOM = np.random.default_rng(7)
DATA = {
    "age": [None if each == 40 else int(each) for each in RANDOM.integers(20, 41, 600)],
    "educ": [int(each) for each in RANDOM.integers(0, 12, 600)],
    "sex": [str(each) for each in RANDOM.choice(["m", "f", "x"], 600)],
}
AGE, EDUC, SEX = column("age"), column("educ"), column("sex")
AXES = (Keys.bins("age", range(20, 41, 4)), {"sex": ["m", "f"]})


def opened(person: Frugal | None = None, rho: Any = 1000, data: Any = DATA) -> Queryable:
    person = Frugal() if person is None else person
    filtered = person @ FiltCon(ZCDP(rho))
    return Queryable(filtered, data, coins=SeededCoins(3), allow_seeded=True)


def asked(root: Queryable, statistic: Any, within: Any = 5, **options: Any) -> Estimated:
    """The answer to a question that is fixed in advance, if nothing else is said."""
    answer = root.ask(Estimate(statistic, within, **({"fixed_in_advance": True} | options)))
    assert isinstance(answer, Estimated)
    return answer


def counted(where: Predicate) -> int:
    return int(selected(where, DATA).sum())


PREDICATES = [
    *(AGE >= 30, (AGE >= 24) & (AGE < 32), ~(AGE >= 30), AGE > 30, (AGE == 30) | (AGE < 22)),
    *(AGE.is_in([21, 25, 39]), (SEX == "m") & (AGE < 30), ~SEX.is_in(["m", "f"])),
    *((SEX != "m") & (EDUC >= 6), AGE.is_null(), (AGE >= 25) & (SEX == "f") & (EDUC < 3)),
]


def test_answers_are_near_the_truth_in_any_order() -> None:
    """At within=2 and 10 standard deviations, so that an error in the algebra is seen."""
    root = opened(data=DATA)
    for where in [*PREDICATES, *reversed(PREDICATES)]:
        answer = asked(root, Count(where), 4, confidence=1 - Fraction(1, 10**11))
        assert abs(answer.value - counted(where)) <= 4, where.text


def test_a_margin_over_the_keys_of_cells_is_their_sum() -> None:
    """Free if the cells are accurate enough; else more is bought, and cells add up to it then."""
    ages, sexes = {"age": [20, 21, 22, 23]}, {"sex": ["m", "f", "x"]}
    cells, margin = (
        GroupBy({**ages, **sexes}, Count()),
        GroupBy(ages, Count(SEX.is_in(sexes["sex"]))),
    )
    root = opened()
    first = asked(root, cells, 50)
    wide = asked(root, margin, 100)
    assert wide.cost.rho == 0
    assert wide.value == pytest.approx(first.value.sum(axis=1), abs=1e-9)
    narrow = asked(root, margin, 20)
    again = asked(root, cells, 50)
    assert narrow.cost.rho > 0 == again.cost.rho
    assert narrow.value == pytest.approx(again.value.sum(axis=1), abs=1e-9)


def test_a_second_ask_and_parts_of_a_histogram_are_free() -> None:
    root = opened()
    first = asked(root, Count(AGE >= 30))
    assert root.privacy_loss() == first.cost
    assert first.cost.rho > 0
    again = asked(root, Count(AGE >= 30))
    assert again.cost.rho == 0
    assert again.value == first.value
    assert again.saved == again.alone.rho
    assert root.privacy_loss() == first.cost
    root = opened()
    whole = asked(root, Histogram("sex", ["m", "f", "x"]))
    assert float(whole.cost.rho) < 1.1 * float(whole.alone.rho)
    assert asked(root, Count(SEX == "m")).cost.rho == 0
    plan = [Count((low <= AGE) & (low + 8 > AGE)) for low in range(20, 33, 4)]
    root = opened(Frugal(plan, patience=100))
    assert asked(root, plan[0]).cost.rho > 0
    for statistic in plan[1:]:
        assert asked(root, statistic).cost.rho == 0


def test_refining_pays_the_difference() -> None:
    """Two launches of one ledger cost as much as one of both precisions (Brownian increments)."""
    coarse = opened()
    asked(coarse, Count(), 10)
    asked(coarse, Count(), 5)
    direct = opened()
    asked(direct, Count(), 5)
    ratio = coarse.privacy_loss().rho / direct.privacy_loss().rho
    assert abs(float(ratio) - 1) < 1e-3
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


def test_launches_are_in_the_same_order_in_every_process() -> None:
    """In the order in which columns were named, not in that of a set, which Python shuffles."""
    for names in ("bda", "cfe", "hig", "ljk"):
        first, second, third = (column(name) == 1 for name in names)
        (box,) = question_of(Count(first & second & third)).boxes
        book = Book(Count()).cut([box])
        assert book is not None
        bought = book.purchases([box], [100.0])
        assert bought is not None
        components = ["".join(name for name, _ in each.ledger.component) for each in bought]
        b, d, a = names
        assert components == ["", b, d, a, b + d, b + a, d + a, names]


def test_a_single_count_is_bought_where_combinations_cost_much_more() -> None:
    impatient = opened(Frugal(axes=AXES, patience="1/100"))
    answer = asked(impatient, Count((AGE >= 24) & (SEX == "m")))
    assert abs(float(answer.cost.rho / answer.alone.rho) - 1) < 0.05
    for _ in range(3):  # what was paid for single questions counts towards combinations
        asked(impatient, Count((AGE >= 24) & (SEX == "m")))


def test_a_plan_is_bought_together_where_that_costs_less_than_its_questions() -> None:
    """However many times the price of the first question that is."""
    plan = [
        Count((low <= AGE) & (low + size > AGE) & (most > EDUC))
        for low in range(20, 32, 4)
        for size in (4, 8, 12)
        for most in (10, 12, 14, 16)
    ]
    spent = {}
    for patience in (1, 10**9):
        root = opened(Frugal(plan, patience=patience))
        first = asked(root, plan[0])
        assert first.cost.rho > 2 * first.alone.rho
        for statistic in plan[1:]:
            asked(root, statistic)
        spent[patience] = root.privacy_loss()
    assert spent[1] == spent[10**9]
    assert 2 * spent[1].rho < len(plan) * first.alone.rho
    root = opened(Frugal(plan[:1], patience=1))  # on its own it costs less
    assert asked(root, plan[0]).cost.rho < float(first.alone.rho) * 1.1


def test_questions_that_share_nothing_cost_little_more_than_on_their_own() -> None:
    """The intervals of each question are cut anew, so combinations never pay."""
    root = opened(Frugal(patience=2))
    ranges = np.random.default_rng(3).uniform(1, 20, (10, 2)).round(3).tolist()
    found = [asked(root, Count((low <= AGE) & (low + width > AGE))) for low, width in ranges]
    alone = found[0].alone.rho
    assert sum(each.cost.rho for each in found) <= sum(each.alone.rho for each in found) + 2 * alone
    assert max(each.cost.rho for each in found) > 1.1 * alone


@pytest.mark.parametrize("statistic", [Count(AGE >= 30), Count(), Sum("educ", 0, 12, AGE < 30)])
def test_a_refusal_leaves_everything_as_it_was(statistic: Any) -> None:
    root = opened(Frugal(axes=AXES), rho="1/10")
    before = asked(root, Count(SEX == "m"), 20)
    spent = root.privacy_loss()
    with pytest.raises(QueryRefusedError):
        root.ask(Estimate(statistic, 1))
    assert root.privacy_loss() == spent
    assert asked(root, Count(SEX == "m"), 20).value == before.value
    assert asked(root, Count(SEX == "m"), 20).cost.rho == 0
    assert asked(root, statistic, 1000).value is not None


def test_a_question_is_bought_on_its_own_if_combinations_do_not_fit() -> None:
    """With budget for it alone; a question of several entries has no price of its own."""
    alone = asked(opened(Frugal(axes=AXES)), Count(AGE >= 28), 20).alone.rho
    root = opened(Frugal(axes=AXES), rho=alone * Fraction(6, 5))
    answer = asked(root, Count(AGE >= 28), 20)
    assert answer.cost == root.privacy_loss()
    assert abs(float(answer.cost.rho / alone) - 1) < 0.05
    assert asked(root, Count(AGE >= 28), 20).value == answer.value
    with pytest.raises(QueryRefusedError):
        root.ask(Estimate(Count(AGE >= 24), 20))
    assert root.privacy_loss() == answer.cost


def test_it_interleaves_with_launches_and_nests() -> None:
    """Two persons over one filter, one in a filter of its own, and plain launches."""
    root = Queryable(FiltCon(ZCDP(50)), DATA, coins=SeededCoins(3), allow_seeded=True)
    one = root.launch(Frugal() @ FiltCon(ZCDP(10)))
    other = root.launch(FiltCon(ZCDP(20))).launch(Frugal(axes=AXES) @ FiltCon(ZCDP(10)))
    for where in PREDICATES[:4]:
        for person in (one, other):
            answer = person.ask(Estimate(Count(where), 6, 1 - Fraction(1, 10**9)))
            assert abs(answer.value - counted(where)) <= 6
        root.launch(Gaussian(Count(where), rho=1))
        one.launch(Gaussian(Count(where), rho="1/100"))
    assert root.privacy_loss() == ZCDP(34)
    assert one.privacy_loss().rho > Fraction(4, 100)
    root = opened()
    for statistic in (Count(), GroupBy({"sex": ["m", "f"]}, Count())):
        with pytest.raises(QueryError, match="Estimate"):
            root.ask(statistic)
    assert root.privacy_loss() == ZCDP(0)


def test_sums_are_in_the_unit_of_the_column() -> None:
    """What is asked and answered; with labels too. The price is that of the launch in steps."""
    data = {**DATA, "money": [Fraction(each % 7, 4) for each in range(600)]}
    root = opened(data=data)
    statistic = Sum("money", 0, 2, SEX == "m", unit="1/4")
    answer = asked(root, statistic, "7.5", confidence=1 - Fraction(1, 10**9))
    truth = Fraction(int(statistic(data)), 4)
    assert abs(answer.value - truth) <= Fraction("7.5")
    low, high = answer.interval("0.999999")
    assert low <= truth <= high
    assert (type(low), (4 * low).denominator) == (Fraction, 1)
    assert answer.variance * 16 == answer.spreads[0].variance
    assert float(answer.labelled(statistic)) == float(answer.value)
    counted = asked(opened(), Count(SEX == "m"), 30, confidence=1 - Fraction(1, 10**9))
    assert answer.alone.rho == pytest.approx(64 * counted.alone.rho)  # 2 is 8 quarters
    with pytest.raises(QueryError, match=r"at least 0\.125"):
        asked(root, statistic, "0.1")


def test_answers_are_printed_with_intervals_and_labelled() -> None:
    data = {**DATA, "money": [Fraction(each % 7, 4) for each in range(600)]}
    root = opened(data=data)
    statistic = GroupBy({"sex": ["m", "f"]}, Sum("money", 0, 2, unit="1/4"))
    answer = asked(root, statistic, "7.5")
    frame = answer.labelled(statistic).to_pandas()
    assert frame["sex"].tolist() == ["m", "f"]
    assert frame["estimate"].tolist() == answer.value.tolist()
    low, high = answer.interval()
    assert frame["low"].tolist() == pytest.approx(low.tolist())
    assert all(low <= frame["low"])
    assert all(frame["high"] <= high)
    assert max(high - low) <= 15.001
    total = asked(root, Sum("money", 0, 2, unit="1/4"), 20)
    low, high = total.interval()
    assert f" (95% interval: {floor(low)} to {ceil(high)}), from " in str(total)
    one = asked(root, Count(AGE >= 30), 8)
    low, high = one.interval()
    assert str(one).startswith(f"{round(one.value)} (95% interval: {low} to {high}), from ")
    assert str(one.labelled(Count(AGE >= 30))).endswith(f" (95% interval: {low} to {high})")


def test_rows_of_units_are_counted_within_their_bounds() -> None:
    """A unit has up to two rows, so noise is twice as large and the estimate the same."""
    frame = {"who": [i // 2 for i in range(400)], "x": [i % 4 for i in range(400)]}
    with Table(frame, privacy_unit="who", max_rows=2) as table:
        root = opened(data=table)
        answer = asked(root, Count(column("x") < 2, per=table.unit), 4, confidence="0.9999999")
        assert abs(answer.value - 200) <= 4
        price = asked(opened(data=table), Count(per=table.unit), 4).cost.rho
        assert abs(float(price * 4**2 / 2**2 / Fraction("1.96") ** 2 * 2) - 1) < 0.05


def test_the_default_is_wider_and_the_narrow_interval_is_asked_for() -> None:
    """At 1b177ec `interval()` was the narrow one. That of new noise is a little wider."""
    root = opened(Frugal(axes=AXES))
    first = asked(root, Histogram("sex", ["m", "f"]), 5)
    again = asked(root, Histogram("sex", ["m", "f"]), 5)
    narrow = again.interval()
    wide = again.interval(fixed_in_advance=False)
    assert (2 * (narrow[1] - narrow[0]) < wide[1] - wide[0]).all()
    missed = Fraction(1, 20)
    spread = first.spreads[0]
    assert spread.fresh
    assert not again.spreads[0].fresh
    wider = spread.half_width(missed, fixed_in_advance=False)
    assert wider == spread.in_advance(Fraction(9, 10) * missed)
    assert 1 < wider / spread.in_advance(missed) < 1.05
    old = again.spreads[0].half_width(missed, fixed_in_advance=False)
    assert old == again.spreads[0].always(missed / 10)

    other = opened(Frugal(axes=AXES))
    default = other.ask(Estimate(Histogram("sex", ["m", "f"]), 5))
    low, high = default.interval()
    assert (high - low <= 10).all()
    assert other.ask(Estimate(Histogram("sex", ["m", "f"]), 5)).cost.rho > 0
    with pytest.raises(ValueError, match="fixed_in_advance=True"):
        default.interval(fixed_in_advance=True)


def test_a_question_has_new_noise_for_its_first_answer_only() -> None:
    """Else several answers to one question could each be missed for the whole share.

    The first is bought on its own; the second from combinations, which are new too.
    """
    root = opened(Frugal(axes=AXES, patience=2))
    spreads = [
        asked(root, Count(AGE >= 28), within, fixed_in_advance=False).spreads[0]
        for within in (20, 18, 16, 14, 12)
    ]
    assert [each.fresh for each in spreads] == [True, False, False, False, False]


def test_questions_fixed_in_advance_come_first() -> None:
    """After one that may depend on answers none is; a person of its own answers it."""
    root = opened()
    asked(root, Count(AGE >= 30))
    with pytest.raises(QueryError, match="within"):  # a wrong question changes nothing
        asked(root, Count(), -1, fixed_in_advance=False)
    asked(root, Count(AGE >= 30))
    asked(root, Count(AGE >= 30), 100, fixed_in_advance=False)  # for nothing, and it counts
    spent = root.privacy_loss()
    with pytest.raises(QueryError, match="leave out fixed_in_advance"):
        asked(root, Count(AGE >= 30))
    assert root.privacy_loss() == spent
    assert asked(root, Count(AGE >= 30), fixed_in_advance=False).cost.rho > 0


@pytest.mark.parametrize(
    "query",
    [
        Estimate(Mean("age", 0, 100), 5),
        Estimate(CountUnits(per=PrivacyUnit("sex", max_rows=1)), 5),
        Estimate(Count(lambda data: [True] * 600), 5),
        Estimate(Count(per=PrivacyUnit("sex", max_rows=9, max_groups=2)), 5),
        Estimate(GroupBy({"age": list(range(300))}, Count()), 5),
        Estimate(Count(), "1/3"),
        Estimate(Count(), -1),
        Estimate(Count(), None),
        Estimate(Count(), 5, 1),
        Estimate(Count(), 5, fixed_in_advance=1),
        Estimate("count", 5),
    ],
)
def test_wrong_queries_change_nothing(query: Estimate) -> None:
    root = opened()
    with pytest.raises(QueryError):
        root.ask(query)
    assert root.privacy_loss() == ZCDP(0)


def test_other_queries_and_columns_change_nothing() -> None:
    root = opened(Frugal(axes=AXES))
    with pytest.raises(QueryError):
        root.ask(Estimate(Count(column("height") > 3), 5))
    assert root.privacy_loss() == ZCDP(0)
    assert asked(root, Count(AGE >= 30)).cost.rho > 0
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


@settings(max_examples=20)
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
        released = ReleaseLedger(tuple(cut.axes.values()), ())  # so that shares are split
        book = attrs.evolve(cut, ledgers=((1, released),))
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


def test_long_questions_are_refused_to_people_who_are_not_trusted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A refusal changes nothing; a purchase that was paid for is answered."""
    root, planned = opened(), [Histogram("age", range(20 + each, 40)) for each in range(9)]
    monkeypatch.setattr("queryable.effort.STEPS", 60_000)
    with within_effort(), pytest.raises(QueryError, match="takes too long"):
        asked(root, Histogram("age", range(60)))  # strategies of many atoms
    rows = GroupBy([{"sex": ["m", "f", "x"]}, Keys.bins("educ", range(13))], Count())
    with within_effort(), pytest.raises(QueryError, match="takes too long"):
        asked(root, rows)  # many entries
    with within_effort(), pytest.raises(TypeError, match="takes too long"):
        Frugal([GroupBy(AXES, Histogram("educ", range(12)))] * 20)  # a long plan
    assert root.privacy_loss() == ZCDP(0)
    assert root.children == {}
    with within_effort():
        small = asked(root, Count(AGE >= 30))
    assert small.cost.rho > 0
    assert asked(root, rows).cost.rho > 0
    assert asked(opened(Frugal(planned)), Count(AGE >= 30)).cost.rho > 0


def test_ends_in_the_unit_of_the_column_are_rounded_outward() -> None:
    """Each lies outside of the exact multiple, by less than the width of a few floats."""
    unit, spread = (
        Fraction(1, 10_000),
        Spread(Fraction(4), Fraction(0), 0, Fraction(0), Fraction(4), ()),
    )
    steps = np.random.default_rng(3).integers(-(10**12), 10**12, 2000)
    value = np.array([float(each * unit) for each in steps.tolist()])
    answer = Estimated(value, "", ZCDP(1), ZCDP(1), Spreads.of([spread] * 2000), unit=unit)
    multiples = answer._multiples()
    for end, multiple, outward in zip(answer.interval(), multiples, (-1, 1), strict=True):
        for one, other in zip(end.tolist(), multiple.tolist(), strict=True):
            exact = Fraction(int(other)) * unit
            assert 0 <= outward * (Fraction(one) - exact) <= abs(exact) / 2**49

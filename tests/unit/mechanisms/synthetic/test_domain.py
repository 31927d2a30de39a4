"""Questions as sets of cells: the same rows as the predicates select."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mechanisms import Count, GroupBy, Histogram, Keys, PrivacyUnit, Sum, column
from mechanisms.synthetic.domain import domain_of
from mechanisms.tables.expressions.predicates import Predicate
from mechanisms.tables.requests.keys import groups_of
from queryable import QueryError
from queryable.effort import quickly

COLUMNS = groups_of([{"city": ["a", "b"]}, Keys.bins("age", [0, 10, 20, 30]), {"sex": [0, 1]}])
DOMAIN = domain_of(COLUMNS)
CITY, AGE, SEX = column("city"), column("age"), column("sex")
RANDOM = np.random.default_rng(5)
ROWS = {
    "city": [["a", "b", "c", None][each] for each in RANDOM.integers(0, 4, 200)],
    "age": [None if each == 50 else int(each) - 9 for each in RANDOM.integers(0, 51, 200)],
    "sex": [int(each) for each in RANDOM.integers(0, 3, 200)],
}
EVERY = (0, 1, 2)
CELLS = DOMAIN.counts(EVERY, None).value(ROWS)

leaves = st.one_of(
    st.builds(lambda v: v == CITY, st.sampled_from(["a", "b"])),
    st.builds(CITY.is_in, st.lists(st.sampled_from(["a", "b"]), min_size=1)),
    st.builds(lambda v: v <= AGE, st.sampled_from([0, 10, 20, 30])),
    st.builds(lambda v: v > AGE, st.sampled_from([0, 10, 20, 30])),
    st.builds(lambda v: v == SEX, st.sampled_from([0, 1])),
)
predicates = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(lambda one, other: one & other, inner, inner),
        st.builds(lambda one, other: one | other, inner, inner),
        st.builds(lambda one: ~one, inner),
    ),
    max_leaves=6,
)


def counted(statistic: Any) -> Any:
    """The answer from the exact counts of all cells."""
    asked = DOMAIN.asked(statistic, None)
    others = tuple(each for each in EVERY if each not in asked.columns)
    return asked.counted(CELLS.sum(axis=others), asked.columns)


def test_every_row_is_in_one_cell() -> None:
    assert CELLS.sum() == 200
    assert CELLS.shape == DOMAIN.sizes == (3, 6, 3)


@given(where=predicates)
def test_a_region_has_the_rows_of_the_predicate(where: Predicate) -> None:
    assert counted(Count(where)) == Count(where).value(ROWS)


GROUPED = [
    Count(),
    Histogram("city", ["b", "a"], SEX == 1),
    Histogram("age", bins=[0, 20, 30]),
    GroupBy({"city": ["a", "b"], "sex": [1]}, Count(AGE >= 10)),
    GroupBy(Keys.of({"city": ["a", "b"], "sex": [1, 0]}, "city", "sex"), Count(AGE >= 10)),
    GroupBy({"city": ["a", "b"]}, Histogram("city", ["a"])),
    GroupBy(Keys.bins("age", [0, 30]), Histogram("sex", [1, 0], CITY == "a")),
]


@pytest.mark.parametrize("statistic", GROUPED)
def test_groups_have_their_rows(statistic: Any) -> None:
    assert np.array_equal(counted(statistic), statistic.value(ROWS))


@pytest.mark.parametrize(
    ("statistic", "text"),
    [
        (Sum("age", 0, 9), "ask the model a Count or a Histogram"),
        (7, "not int"),
        (Count(AGE > 10), "divides a group of age"),
        (Count(AGE >= 11), "divides a group of age"),
        (Count(CITY == "c"), "divides a group of city"),
        (Count(CITY != "a"), "is about no column of the model"),
        (Count(column("height") >= 3), "is about no column of the model; they are city, age, sex"),
        (Count(AGE >= SEX), "is about no column"),
        (Count(CITY.is_null()), "is about no column"),
        (Count(lambda data: data), "write where as a predicate"),
        (Histogram("age", [10]), "divides a group of age"),
        (Count(per=PrivacyUnit("who", max_rows=2)), "privacy unit that the model is of"),
        (Histogram("city", ["a", "b"], lambda data: data), "write where as a predicate"),
    ],
)
def test_other_questions_are_refused(statistic: Any, text: str) -> None:
    with pytest.raises(QueryError, match=text):
        DOMAIN.asked(statistic, None)


def test_too_many_cells_are_refused() -> None:
    many = domain_of(groups_of({f"c{each}": list(range(100)) for each in range(4)}))
    wide = GroupBy({f"c{each}": list(range(100)) for each in range(3)}, Count())
    with pytest.raises(QueryError, match="fewer columns or groups"):
        many.asked(wide, None)
    where = column("c0") == 1
    for each in range(1, 4):
        where &= column(f"c{each}") == 1
    with pytest.raises(QueryError, match="fewer columns"):
        many.asked(Count(where), None)


def test_long_questions_of_people_who_are_not_trusted_are_refused() -> None:
    many = domain_of(groups_of({name: list(range(100)) for name in "abc"}))
    a, b, c = map(column, "abc")
    cells = [(a == each) & (b == each) & (c == each) for each in range(64)]
    while len(cells) > 1:
        cells = [one | other for one, other in zip(cells[::2], cells[1::2], strict=True)]

    def ask(times: int) -> None:
        for _ in range(times):
            many.asked(Count(cells[0]), None)

    with quickly():
        ask(1)
        with pytest.raises(QueryError, match="with fewer conditions"):
            ask(9)


def test_labels_satisfy_what_their_cell_satisfies() -> None:
    assert DOMAIN.labels(0) == ["a", "b", None]
    assert DOMAIN.labels(1) == [None, 0, 10, 20, None, None]

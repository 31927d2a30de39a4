"""Operands: scalars, functions of columns, and corrections of what is no operand."""

import datetime as dt
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta, timezone
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from composition import FiltCon
from mechanisms import (
    Count,
    DiscoveredKeys,
    Estimate,
    Frugal,
    Gaussian,
    GroupBy,
    Histogram,
    Keys,
    PrivacyUnit,
    Quantile,
    Quantiles,
    Sum,
    Table,
    Top,
    column,
    when,
)
from mechanisms.tables.expressions.corrections import no_column
from mechanisms.tables.expressions.operands import (
    MOST_COMPUTED,
    MOST_NESTED,
    Arithmetic,
    Literal,
    columns_of,
    operand_name,
)
from mechanisms.tables.expressions.predicates import describe
from mechanisms.tables.expressions.scalars import alike
from queryable import ZCDP, Queryable, QueryError
from tests.hostile import MAKERS

x, y, day = column("x"), column("y"), column("day")

TEXTS: list[tuple[Any, str]] = [
    (x * 2 > 1, "x * 2 > 1"),
    ((x + y) * 2 == y, "(x + y) * 2 == y"),
    (-x >= 1, "-x >= 1"),
    (day.month() == 3, "month of day == 3"),
    (day.truncate("month") == dt.date(2024, 1, 1), "day truncated to month == 2024-01-01"),
    (day < dt.datetime(2024, 1, 1, 12), "day < 2024-01-01 12:00:00"),  # noqa: DTZ001
    (x.strip().lower().starts_with("a"), "lower(strip(x)) starts with 'a'"),
    (x.cast("integer") == 1, "x as integer == 1"),
    (x.is_null(), "x is missing"),
    (x.is_not_null() & (y > 1), "x is not missing and y > 1"),
    (x.like("a%") | ~x.contains("b"), "x like 'a%' or not (x contains 'b')"),
    (when(x > 1).then(0).otherwise(None) == 0, "when x > 1 then 0 otherwise missing == 0"),
    (x.is_in([1, 2]), "x in [1, 2]"),
]


@pytest.mark.parametrize(("predicate", "text"), TEXTS)
def test_texts(predicate: Any, text: str) -> None:
    assert describe(predicate) == text


def test_texts_of_operands() -> None:
    assert operand_name("x") == "x"
    assert Sum(x * 2, 0, 1).public_name == "Sum(x * 2)"
    assert Histogram(day.month(), [1]).public_name == "Histogram(month of day)"
    assert describe(None) == "every row"
    assert describe(len) == "len(data)"
    # Equal expressions are equal, and have the columns that they read.
    assert (x * 2).operand == Arithmetic("*", "x", Literal(2))
    assert hash((x * 2).operand) == hash(Arithmetic("*", "x", Literal(2)))
    assert sorted(columns_of((x + y).operand, day.year() == 1)) == ["day", "x", "y"]
    request = Count(when(x > 1).then(y).otherwise(day.year()) == 1).request
    assert request.columns == ("day", "x", "y")


@pytest.mark.parametrize("maker", MAKERS)
def test_hostile_constants(maker: str) -> None:
    """A constant is accepted, or refused by an error of ours."""
    value = MAKERS[maker]()
    for write in (
        lambda: x.__add__(value),
        lambda: x.__rsub__(value),
        lambda: x.contains(value),
        lambda: x.cast(value),
        lambda: x.truncate(value),
        lambda: when(x > 1).then(value).otherwise(1),
        lambda: when(value),
        lambda: column(value),
    ):
        with suppress(TypeError, ValueError):
            write()


def test_limits() -> None:
    """Depth and size are limited, as engines limit them."""
    deep = x
    for _ in range(MOST_NESTED - 1):
        deep = deep + 1
    with pytest.raises(ValueError, match="nested"):
        deep + 1
    with pytest.raises(ValueError, match="deep"):
        deep > 1  # noqa: B015
    wide = x + x
    while 2 * wide.operand.size < MOST_COMPUTED:  # type: ignore[union-attr]
        wide = wide + wide
    with pytest.raises(ValueError, match=str(MOST_COMPUTED)):
        wide + wide


@pytest.mark.parametrize("pattern", ["%a" * 400, "_%" * 400 + "b", "%" * 999 + "b"])
def test_patterns_take_linear_time(pattern: str) -> None:
    """A regular expression that backtracks would take more than a lifetime."""
    assert Count(x.like(pattern))({"x": ["a" * 399 + "c"]}) == 0


def test_keys_by_expression() -> None:
    data = {"day": [dt.date(2024, 1, 5), dt.date(2024, 2, 1), None], "x": [1, 2, 3]}
    statistic = Histogram(day.truncate("month"), [dt.date(2024, 1, 1), dt.date(2024, 2, 1)])
    assert statistic(data).tolist() == [1, 1]
    assert Quantile(x * 2, "1/2", [1, 4, 9])(data).argmax() == 1
    assert GroupBy({"x": [1, 2]}, Sum(day.month(), 0, 12))(data).tolist() == [1, 2]


@pytest.mark.parametrize(
    ("name", "instead"),
    [("isna", r"\.is_null\(\)"), ("isin", r"\.is_in"), ("mean", r"table\.mean")],
)
def test_the_names_of_pandas_are_translated(name: str, instead: str) -> None:
    with pytest.raises(AttributeError, match=instead):
        getattr(x, name)
    assert not hasattr(x, "nonsense")


ONES = (1, 1.0, True)
ZEROS = (0, 0.0, -0.0, False)
NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)
TIMES = (
    date(2024, 1, 1),
    np.datetime64("2024-01-01"),
    np.datetime64("2024-01-01T00:00:00"),
    NOON,
    NOON.astimezone(timezone(timedelta(hours=1))),
)
C = column("c")
CHOSEN = column("d").is_null()
QUESTIONS: dict[str, Callable[[Any], Any]] = {
    "==": lambda one: Count(one == C),
    "<=": lambda one: Count(one >= C),
    "is_in": lambda one: Count(C.is_in(["x", one])),
    "in not, and": lambda one: Count(~(one == C) & CHOSEN),
    "literal": lambda one: Count(when(CHOSEN).then(one).otherwise(C) == 7),
    "keys": lambda one: DiscoveredKeys(when(CHOSEN).then(one).otherwise(C).cast("text")),
    "keys where": lambda one: DiscoveredKeys("d", where=one == C),
    "group_by": lambda one: GroupBy({"c": [one, 7]}, Count()),
    "Keys": lambda one: GroupBy(Keys("c", [one]), Count()),
    "Keys.of": lambda one: GroupBy(Keys.of({"c": [one], "d": ["x"]}, "c", "d"), Count()),
    "bins": lambda one: GroupBy(Keys.bins("c", [-9, one, 9]), Count()),
    "Histogram": lambda one: Histogram("c", [one]),
    "Histogram of bins": lambda one: Histogram("c", bins=[-9, one, 9]),
    "Quantile": lambda one: Quantile("c", "1/2", [one, 7]),
    "Quantiles": lambda one: Quantiles("c", ["1/2"], [one, 7]),
    "Top": lambda one: Top("c", 1, [one, 7]),
}
ACCEPTED = {"bins", "Histogram of bins", "Keys.of"}
"""Edges of intervals are no booleans beside numbers, and a public table gives cells of one type."""


def asked(make: Callable[[Any], Any], constants: tuple[Any, ...]) -> list[tuple[Any, Any]]:
    """The questions that can be asked, each with its constant."""
    found = []
    for each in constants:
        try:
            found.append((each, make(each)))
        except (TypeError, ValueError):
            continue
    return found


@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize("constants", [ONES, ZEROS], ids=["ones", "zeros"])
def test_equal_constants_are_other_questions(name: str, constants: tuple[Any, ...]) -> None:
    """So no dictionary of questions has one place for both; the same constant is the same."""
    make = QUESTIONS[name]
    known = asked(make, constants)
    assert len(known) == len(constants) or name in ACCEPTED
    assert len(known) > 1
    for (_, one), (_, other) in combinations(known, 2):
        assert one != other
    assert len({question for _, question in known}) == len(known)
    for each, question in known:
        assert make(each) == question
        assert hash(make(each)) == hash(question)


def test_alike() -> None:
    """Of every two constants only the same ones, alone and in tuples."""
    for constants in (ONES, ZEROS, TIMES):
        for (i, one), (j, other) in product(enumerate(constants), repeat=2):
            assert (alike(one) == alike(other)) == (i == j)
            assert (alike((one, "x")) == alike((other, "x"))) == (i == j)
            assert (alike(((">=", one),)) == alike(((">=", other),))) == (i == j)
    assert alike(tuple(range(9))) == alike(tuple(range(9)))
    assert alike((1, 2)) != alike((True, 2))
    assert alike(()) == alike(())


def test_a_frugal_person_does_not_answer_one_question_by_another() -> None:
    """Cells that are 1 are written `1`, and those that are True are not."""
    data = {"c": np.arange(300), "d": np.arange(300)}
    root = Queryable(FiltCon(ZCDP(1000)), data)
    frugal = root(Frugal() @ FiltCon(ZCDP(900)))
    answers = []
    for one in (1, True):
        written = when(column("d") >= 0).then(one).otherwise(None).cast("text")
        answers.append(frugal(Estimate(Count(written == "1"), within=3)).value)
        assert frugal.privacy_loss() != ZCDP(0)
    assert answers[0] > 250
    assert answers[1] < 50


PEOPLE: dict[str, Any] = {
    "age": np.array([70, 30]),
    "clinic": np.array(["Graz", "Lyon"]),
    "day": np.array(["2024-01-01", "2024-02-01"], dtype="M8[D]"),
}
FORMS = {
    "table": lambda: Table(PEOPLE),
    "dict": lambda: dict(PEOPLE),
    "structured": lambda: np.array([(70, "Graz")], dtype=[("age", int), ("clinic", "U4")]),
    "pandas": lambda: pd.DataFrame(PEOPLE),
    "polars": lambda: pl.DataFrame(PEOPLE),
    "arrow": lambda: pa.table(PEOPLE),
}


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("agee", "write 'age': there is no column 'agee'; the columns are 'age', 'clinic'"),
        ("Age", "write 'age': "),
        ("CLINIC", "write 'clinic': "),
        ("zzz", "there is no column 'zzz'; the columns are "),
    ],
)
def test_the_nearest_column_is_suggested(name: str, first: str) -> None:
    assert no_column(name, ["age", "clinic"]).startswith(first)


def test_the_nearest_column_is_suggested_where_bounds_are_stated() -> None:
    with pytest.raises(ValueError, match=r"^write 'age': there is no column 'agee'"):
        Table({"age": [31]}, declared={"agee": {"lower": 0, "upper": 100}})


@pytest.mark.parametrize("mark", [";", "\t", "|"])
def test_the_separator_is_suggested_for_a_file_of_one_column(mark: str) -> None:
    header = mark.join(["patient", "age"])
    assert no_column("age", [header]).startswith(f"write sep={mark!r}: ")
    assert no_column("sex", [header]).startswith("there is no column")


def test_a_wide_table_lists_its_first_columns() -> None:
    text = no_column("x", [f"column {i}" for i in range(1000)])
    assert text.endswith("'column 39' and 960 more")


@pytest.mark.filterwarnings("ignore:rows are protected:queryable.PrivacyWarning")
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize(
    "wrong",
    [Count(column("agee") >= 65), Sum("agee", 0, 9), Histogram("agee", [1])],
    ids=lambda each: type(each).__name__,
)
def test_a_wrong_column_is_not_charged(form: Any, wrong: Any) -> None:
    """Names of columns are public, so they are compared before the charge."""
    table = Queryable(FiltCon(ZCDP(1)), form())
    with pytest.raises(QueryError, match=r"^write 'age': there is no column 'agee'"):
        table.launch(Gaussian(wrong, rho="1/10"))
    assert table.privacy_loss() == ZCDP(0)
    table.launch(Gaussian(Count(column("age") >= 65), rho="1/10"))


@pytest.mark.filterwarnings("ignore:rows are protected:queryable.PrivacyWarning")
@pytest.mark.parametrize("form", [FORMS["dict"], FORMS["pandas"]])
def test_a_privacy_unit_needs_a_table(form: Any) -> None:
    table = Queryable(FiltCon(ZCDP(1)), form())
    with pytest.raises(QueryError, match=r"^put the data in a Table\(.., privacy_unit='clinic'"):
        table.launch(Gaussian(Count(per=PrivacyUnit("clinic", max_rows=1)), rho="1/10"))
    assert table.privacy_loss() == ZCDP(0)


@pytest.mark.parametrize(
    ("name", "constant", "first"),
    [
        ("day", "2024-01-31", "give a datetime.date or datetime.datetime, such as datetime.date"),
        ("age", "65", "give a number: a column of BIGINT does not compare with str"),
        ("clinic", 3, "give a text, such as 'CA': a column of VARCHAR does not compare with int"),
        ("age", dt.date(2024, 1, 1), "give a number: "),
        ("day", dt.datetime(2024, 1, 1, tzinfo=dt.UTC), "give a datetime without a time zone"),
    ],
)
def test_a_constant_of_another_kind_is_corrected(name: str, constant: Any, first: str) -> None:
    table = Queryable(FiltCon(ZCDP(1)), Table(PEOPLE))
    with pytest.raises(QueryError, match=f"^{first}"):
        table.launch(Gaussian(Count(column(name) >= constant), rho="1/10"))
    assert table.privacy_loss() == ZCDP(0)

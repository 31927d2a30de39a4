"""Keys of groups, and families of statistics that are read together."""

import datetime as dt
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from composition import FiltCon
from mechanisms import (
    Count,
    CountUnits,
    DiscoveredKeys,
    Gaussian,
    GroupBy,
    Histogram,
    Keys,
    PrivacyUnit,
    PrivateKeys,
    Sum,
    Table,
    column,
    when,
)
from mechanisms.tables.expressions.operands import (
    Arithmetic,
    Cast,
    DatePart,
    Literal,
    TextFunction,
    Truncated,
    When,
)
from mechanisms.tables.expressions.predicates import (
    And,
    Compared,
    Comparison,
    IsIn,
    IsNull,
    Matches,
    Not,
    Or,
)
from mechanisms.tables.requests.request import Bins, Combinations
from queryable import ZCDP, ApproxZCDP, Queryable, QueryError
from queryable.answers.estimates import Bin

pytestmark = pytest.mark.filterwarnings("ignore::queryable.errors.PrivacyWarning")

ROWS = {"state": ["NY", "CA", "NY", None], "sex": [1, 2, 2, 1], "age": [10, 20, 30, 40]}
DAY, NOON = dt.date(2024, 1, 1), dt.datetime(2024, 1, 1, 12)  # noqa: DTZ001


def test_intervals_and_mixes_of_keys() -> None:
    """A cell at an edge belongs to the interval that begins there; outside counts nowhere."""
    ages = Histogram("age", bins=[10, 20, 40])
    assert ages(ROWS).tolist() == [1, 2]
    assert ages.shape == (2,)
    assert [str(each) for [each] in ages.axes[0].values] == ["[10, 20)", "[20, 40)"]
    assert GroupBy(Keys.bins("age", [0, 25]), Sum("sex", 0, 9))(ROWS).tolist() == [3]
    by = [Keys("state", ["CA", "NY"]), {"sex": [1, 2]}, Keys.bins("age", [0, 25, 50])]
    assert GroupBy(by, Count()).shape == (2, 2, 2)
    assert [axis.names for axis in GroupBy(by, Count()).axes] == [("state",), ("sex",), ("age",)]
    assert GroupBy(by, Count()).axes[2].values[0] == (Bin(0, 25),)
    assert GroupBy(by, Count()).public_name == "Count by state, sex, age"
    assert GroupBy(by, Count())(ROWS).sum() == 3
    # Python does not compare a date with a time.
    assert Bins("day", ((">=", DAY), (">=", NOON), (">", NOON))).size == 2
    assert Bins("age", ((">=", 1), (">", 1)), bounded=False).size == 3
    frame = pd.DataFrame(ROWS)
    Queryable(FiltCon(ZCDP(1)), frame)
    with pytest.raises(TypeError, match="give a public table"):
        Keys.of(frame, "sex")


def test_combinations_that_occur_in_a_public_table() -> None:
    """One dimension, in the order of occurrence, without repetitions and missing cells."""
    public = {"state": ["NY", "CA", "NY", None, "TX"], "sex": [2, 2, 2, 1, 1]}
    for table in (public, pd.DataFrame(public), pl.DataFrame(public)):
        keys = Keys.of(table, "state", "sex")
        assert isinstance(keys, Combinations)
        counts = GroupBy(keys, Count())
        assert counts.axes[0].names == ("state", "sex")
        assert counts.axes[0].values == (("NY", 2), ("CA", 2), ("TX", 1))
        assert counts(ROWS).tolist() == [1, 1, 0]
    assert GroupBy(Keys.of(public, "state"), Count()) == GroupBy(
        {"state": ["NY", "CA", "TX"]}, Count()
    )
    # Only the combinations take memory, not all pairs of values.
    public = {"zip": list(range(20_000)), "town": [f"t{i}" for i in range(20_000)]}
    counts = GroupBy(Keys.of(public, "zip", "town"), Count())
    assert counts.shape == (20_000,)
    assert counts({"zip": [7, 7, 8], "town": ["t7", "t8", "t8"]}).sum() == 2
    with Table(pd.DataFrame(public)) as table:
        assert counts.value(table).tolist() == [1] * 20_000


def test_months() -> None:
    """Months of a column of dates or times, also of undeclared text; across a year's end."""
    days = [dt.date(2023, 12, 31), dt.date(2024, 1, 1), dt.date(2024, 2, 29), None]
    months = GroupBy(Keys.months("day", "2023-12", dt.date(2024, 2, 29)), Count())
    assert [month for [month] in months.axes[0].values] == [
        dt.date(2023, 12, 1),
        dt.date(2024, 1, 1),
        dt.date(2024, 2, 1),
    ]
    written = [None if day is None else day.isoformat() for day in days]
    times = pd.DataFrame({"day": pd.to_datetime(pd.Series(written))})
    for rows in ({"day": days}, times):
        assert months(rows).tolist() == [1, 1, 1]
    for rows in ({"day": days}, {"day": written}, times, pl.DataFrame({"day": days})):
        with Table(rows) as table:
            table.check(months)
            assert months.value(table).tolist() == [1, 1, 1]
    for first, last in (("2024-02", "2024-01"), ("2024", "2024-01"), (None, "2024-01")):
        with pytest.raises((TypeError, ValueError), match="first"):
            Keys.months("day", first, last)


def test_years_weeks_and_computed_keys() -> None:
    """Each key has exactly the rows of its year, its week or its day of the week."""
    days = [dt.date(2023, 12, 31), dt.date(2024, 1, 1), dt.date(2024, 1, 7), dt.date(1, 1, 1), None]
    rows = {"day": days, "x": [1, 2, 3, 4, 5]}
    years = Keys.years("day", "2023", dt.date(2024, 5, 6))
    weeks = Keys.weeks("day", dt.date(2023, 12, 31), "2024-01-07")
    assert [year for [year] in years.axis.values] == [2023, 2024]
    assert [monday for [monday] in weeks.axis.values] == [dt.date(2023, 12, 25), DAY]
    assert Keys.years("day", 2023, np.int64(2024)) == years
    assert Keys.weeks("day", "0001-01-01", "0001-01-07").values == (dt.date(1, 1, 1),)
    weekday = (column("day").weekday(), range(7))
    for keys, counts, sums in (
        (years, [1, 2], [1, 5]),
        (weeks, [1, 2], [1, 5]),
        (weekday, [2, 0, 0, 0, 0, 0, 2], [6, 0, 0, 0, 0, 0, 4]),
    ):
        for data in (rows, Table(rows)):
            assert GroupBy(keys, Count()).value(data).tolist() == counts
            assert GroupBy([keys], Sum("x", 0, 9)).value(data).tolist() == sums
        assert Table(rows).group_by(keys).count() == GroupBy(keys, Count())
    crossed = Table(rows).group_by(weekday, {"x": [1, 2]}).mean("x", 0, 9)
    assert crossed.shape == (7, 2, 2)
    assert Table(rows).group_by("x", [1, 2]).count() == GroupBy({"x": [1, 2]}, Count())


def test_intervals_of_equal_width() -> None:
    """The edges divide a public range exactly, or are the floats nearest to what does."""
    table = Table({"x": [0.0, 0.1, 0.3, 0.7, 1.0]})
    tenths = table.histogram("x", bins=10, lower=0, upper=1)
    assert tenths.bins == (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1)
    assert str(tenths.axes[0].values[3][0]) == "[0.3, 0.4)"
    assert tenths.value(table).tolist() == [1, 1, 0, 1, 0, 0, 0, 1, 0, 0]
    assert table.histogram("x", bins=3, lower="-0.1", upper="0.2").bins == (-0.1, 0, 0.1, 0.2)
    assert Keys.bins("x", 2, 0, 10) == Keys.bins("x", [0, 5, 10])


@pytest.mark.parametrize("bounds", [{}, {"max_groups": 2}, {"max_rows_per_group": 1}])
def test_bounds_of_a_person_apply_to_combinations(bounds: dict[str, int]) -> None:
    """Combined keys are as many groups as they list, not as many as their product."""
    per = PrivacyUnit("who", max_rows=4, **bounds)
    keys = Keys.of({"a": [1, 2, 3], "b": [1, 2, 3]}, "a", "b")
    flat = GroupBy({"a": [1, 2, 3]}, Count(per=per))
    assert GroupBy(keys, Count(per=per)).l1 == flat.l1
    assert GroupBy(keys, CountUnits(per=per)).l1 == min(3, bounds.get("max_groups", 3))


FRAME = pd.DataFrame(
    {"amount": [1.5, 2.0], "when": [NOON, NOON], "flag": [1.0, 0.0], "n": [1, 2], "g": ["a", "b"]}
)
MONEY = pl.DataFrame({"amount": ["1.50", "2.00"]}).with_columns(
    pl.col("amount").cast(pl.Decimal(10, 2))
)


@pytest.mark.parametrize(
    ("data", "statistic", "advice"),
    [
        (FRAME, Histogram("amount", [0, 10, 20]), r"bins=.*cast\('integer'\)"),
        (FRAME, GroupBy({"amount": [1, 2]}, Count()), r"Keys\.bins"),
        (FRAME, GroupBy(Keys.of({"n": [1], "amount": [2]}, "n", "amount"), Count()), r"bins="),
        (FRAME, Histogram("when", [NOON]), r"truncate\('month'\)"),
        (FRAME, Histogram("when", [DAY]), r"truncate\('month'\)"),
        (FRAME, Histogram("n", ["1", "2"]), "give keys that cells of 'n'"),
        (Table(FRAME), Histogram("n", bins=[DAY, dt.date(2024, 2, 1)]), "compare"),
        (Table(FRAME), Histogram("amount", [0, 10, 20]), r"bins=.*cast\('integer'\)"),
        (Table(FRAME), Histogram("when", [NOON]), r"truncate\('month'\)"),
        (Table(FRAME), Histogram("n", ["1", "2"]), "give keys that cells of 'n'"),
        (Table(MONEY), Histogram("amount", [0, 10, 20]), "bins="),
        (Table({"amount": [1.5, 2]}), Histogram("amount", [0, 10, 20]), "types=.*amount"),
        (Table({"when": [NOON]}), Histogram("when", [NOON]), "bins="),
        (FRAME, Histogram("amuont", bins=[0, 10]), "no column 'amuont'.*'amount'"),
        (FRAME, Sum("when", 0, 1), "numbers"),
        (FRAME, Count(column("n") > "1"), "compare"),
        (FRAME, CountUnits(per=PrivacyUnit("n", max_rows=1)), r"Table\(\.\., privacy_unit='n'\)"),
        (ROWS, Count(column("agee") > 1), "no column 'agee'"),
        (np.zeros(2, [("x", "f8")]), Histogram("x", [0, 1]), "bins="),
        (pl.DataFrame({"x": [0.5]}), Histogram("x", [0, 1]), "bins="),
        (MONEY.to_arrow(), Histogram("nothing", [0, 1]), "no column 'nothing'"),
    ],
)
def test_what_does_not_fit_is_refused_uncharged(data: Any, statistic: Any, advice: str) -> None:
    """Numbers that are not whole and times are no keys; refused before anything is charged."""
    queryable = Queryable(FiltCon(ZCDP(1)), data)
    with pytest.raises(QueryError, match=advice):
        queryable(Gaussian(statistic, rho="1/2"))
    assert queryable.privacy_loss() == ZCDP(0)


@pytest.mark.parametrize(
    ("data", "statistic"),
    [
        (FRAME, Histogram("flag", [False, True])),
        (FRAME, Histogram("amount", bins=[0, 10, 20])),
        (FRAME, Histogram("n", [1, 2])),
        (FRAME, Count(column("amount") == 1.5)),
        (FRAME, Count(lambda frame: frame["n"] > 1)),
        (ROWS, Histogram("sex", [1, 2])),
        ([{"sex": 1}], Histogram("sex", [1, 2])),
        (Table(FRAME), Histogram("flag", [False, True])),
        (Table({"g": ["x"], "day": [DAY]}), Histogram("g", ["x", "y"])),
        (Table({"g": ["x"], "day": [DAY]}), Histogram("day", [DAY])),
        (Table({"flag": [True]}), Histogram("flag", [True, False])),
        (Table({"amount": [1.5]}), Histogram("amount", bins=[0, 1, 2])),
        (Table({"n": [1, 2]}, types={"n": "BIGINT"}), Histogram("n", [1, 2])),
        (np.zeros(3), Count()),
    ],
)
def test_what_fits_is_answered(data: Any, statistic: Any) -> None:
    Queryable(FiltCon(ZCDP(1)), data)(Gaussian(statistic, rho="1/2"))


COLUMNS = {
    "i": np.array([1, 2]),
    "f": np.array([1.5, 2.5]),
    "t": np.array(["a", "b"]),
    "b": np.array([True, False]),
    "d": np.array(["2024-01-01", "2024-01-02"], dtype="M8[D]"),
    "s": np.array(["2024-01-01T10", "2024-01-02T11"], dtype="M8[us]"),
}
INSTANT = dt.datetime(2024, 1, 1, 5, tzinfo=dt.UTC)
CONSTANTS = [1, 0, 2.5, "x", True, dt.date(2024, 1, 1), dt.datetime(2024, 1, 1, 5), INSTANT]  # noqa: DTZ001
THREE, TEXT = column(Literal(3)), column(Literal("x"))
CELLS: dict[str, Callable[[], Any]] = {
    "arrays": lambda: {"age": np.array([20, 30]), "city": np.array(["a", "b"])},
    "lists": lambda: {"age": [20, 30], "city": ["a", "b"]},
    "records": lambda: [{"age": 20, "city": "a"}, {"age": 30, "city": "b"}],
    "polars": lambda: Table(pl.DataFrame({"age": [20, 30], "city": ["a", "b"]})),
}
WRONG = (
    THREE == "x",
    TEXT > 3,
    TEXT.is_in([3]),
    column(Literal(True)) + column("age") > 1,
    column("age") + TEXT > 1,
    THREE.lower() == "x",
    TEXT.month() == 3,
    TEXT.truncate("month") == dt.date(2024, 1, 1),
    column("city").lower() == 3,
    column("city").lower() == THREE,
    column("age").cast("text") > 3,
    column("age").cast("integer").contains("x"),
    column(Literal(INSTANT)).cast("text") == "x",
    column(Literal(dt.date(2024, 1, 1))).hour() == 3,
    when(column("age") >= 3).then("x").otherwise(TEXT.lower()) == 3,
    when(column("age").lower() == 3).then(1).otherwise(2) == 2,
    when(column("age") >= 3).then("x").otherwise(3) == "x",
    (column("age") == 3) & ~(TEXT == 3),
)


@pytest.mark.parametrize("where", WRONG, ids=lambda where: where.text)
@pytest.mark.parametrize("name", CELLS)
def test_a_constant_of_another_type_is_refused_before_the_charge(name: str, where: Any) -> None:
    """At 1b177ec some were charged and failed, and others counted nothing without a sign."""
    root = Queryable(FiltCon(ApproxZCDP(1, "1e-6")), CELLS[name]())
    asked = [
        Gaussian(Count(where), rho="1/10"),
        Gaussian(Histogram(when(where).then(1).otherwise(2), [1, 2]), rho="1/10"),
    ]
    for each in asked:
        with pytest.raises(QueryError, match="nothing is charged"):
            root.launch(each)
    spent = root.privacy_loss()
    assert isinstance(spent, ApproxZCDP)
    assert not spent.rho


def test_what_can_be_compared_is_answered() -> None:
    """Cells of a column of objects decide one by one, and nothing is known of them publicly."""
    root = Queryable(FiltCon(ZCDP(100)), CELLS["records"]())
    for where in (
        column("age") == "x",
        column("city") == 3,
        column("age").lower() == "x",
        column("age") + column("city") > 1,
        column("age") == column("city"),
        column("city").lower() == TEXT,
        when(column("age") > 3).then("x").otherwise(column("city")) == "x",
        TEXT.contains("x"),
        THREE.cast("text") == "3",
        column(Literal(INSTANT)).year() == 2024,
        column(Literal(INSTANT)) == INSTANT,
    ):
        assert isinstance(root(Gaussian(Count(where), scale=3)), int)


def test_sums_groups_and_keys_are_checked_too() -> None:
    arrays = CELLS["arrays"]()
    weeks = {"week": np.array(["2024-01-04"] * 2, dtype="M8[W]")}
    for wrong in (
        Sum(TEXT, 0, 9),
        Sum(column("city").lower(), 0, 9),
        Histogram(TEXT, [1, 2]),
        Histogram(column("city").lower(), bins=[1, 2]),
        Histogram(column(Literal(INSTANT)), [INSTANT]),
        DiscoveredKeys([column(Literal(INSTANT))]),
        Histogram("week", [dt.date(2024, 1, 1)]),  # a Monday, and numpy's weeks begin on Thursdays
    ):
        with pytest.raises(TypeError):
            wrong.check(arrays | weeks)
    keys = Table(arrays).discovered_keys("city", where=column("city").lower() == 3)
    for data in (arrays, Table(arrays)):
        root = Queryable(FiltCon(ApproxZCDP(1, "1e-3")), data)
        with pytest.raises(QueryError, match="nothing is charged"):
            root.launch(PrivateKeys(keys, rho="1/9", delta="1e-4"))


class Drawn:
    """Random expressions that need not fit."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def constant(self) -> Any:
        return self.random.choice(CONSTANTS)

    def operand(self, depth: int) -> Any:
        if depth == 0 or self.random.random() < 0.3:
            literal = self.random.random() < 0.4
            return Literal(self.constant()) if literal else self.random.choice(list(COLUMNS))
        one, other = self.operand(depth - 1), self.operand(depth - 1)
        choose = self.random.choice
        match choose(["arithmetic", "text", "part", "truncated", "cast", "when"]):
            case "arithmetic":
                return Arithmetic(choose("+-*/"), one, other)
            case "text":
                return TextFunction(choose(["lower", "strip"]), one)
            case "part":
                return DatePart(choose(["year", "hour"]), one)
            case "truncated":
                return Truncated(choose(["month", "hour"]), one)
            case "cast":
                to = ["integer", "number", "text", "date", "timestamp", "boolean"]
                return Cast(one, choose(to))
        return When([(self.predicate(depth - 1), one)], other)

    def predicate(self, depth: int) -> Any:
        one, choose = self.operand(depth), self.random.choice
        match choose(["comparison", "compared", "in", "null", "like", "both", "not"]):
            case "comparison":
                return Comparison(one, choose(["==", "<"]), self.constant())
            case "compared":
                return Compared(one, choose(["==", "<"]), self.operand(depth))
            case "in":
                return IsIn(one, [self.constant(), self.constant()])
            case "null":
                return IsNull(one)
            case "like":
                return Matches(one, "like", "a%")
            case "both" if depth:
                kind = choose([And, Or])
                return kind(self.predicate(depth - 1), self.predicate(depth - 1))
        return Not(self.predicate(depth - 1) if depth else IsNull(one))

    def statistic(self) -> Any:
        depth, choose = self.random.randrange(3), self.random.choice
        match choose(["count", "count", "count", "sum", "histogram", "bins"]):
            case "sum":
                return Sum(self.operand(depth), 0, 9)
            case "histogram":
                return Histogram(self.operand(depth), [self.constant()])
            case "bins":
                return Histogram(self.operand(depth), bins=[1, 2])
        return Count(self.predicate(depth))


def objection(check: Callable[[], object]) -> str:
    try:
        check()
    except (KeyError, TypeError, ValueError) as error:
        return str(error)
    return ""


def assert_refused_alike(random: Random, count: int) -> None:
    """What an engine refuses is refused on arrays, and the other way round; the rest has a value.

    Arrays hold no zone: their times compare with an instant, as if they were in UTC.
    """
    drawn, refused = Drawn(random), 0
    with Table(COLUMNS) as table:
        for _ in range(count):
            try:
                statistic = drawn.statistic()
            except (TypeError, ValueError):  # a constant that no histogram takes
                continue
            arrays, engine = (
                objection(lambda s=statistic: s.check(COLUMNS)),
                objection(lambda s=statistic: table.check(s)),
            )
            if not arrays:
                statistic.value(COLUMNS)
            zone = not arrays and "with one that has a time zone" in engine
            assert zone or bool(arrays) == bool(engine), (statistic, arrays, engine)
            refused += bool(arrays)
    assert count / 10 < refused < count


def test_arrays_refuse_what_an_engine_refuses() -> None:
    assert_refused_alike(Random(1), 300)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 12))
def test_arrays_refuse_what_an_engine_refuses_of_many(seed: int) -> None:
    assert_refused_alike(Random(seed), 3000)

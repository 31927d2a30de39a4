"""What is compared with what: refused on arrays by public types, as it is on DuckDB."""

import datetime as dt
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import polars as pl
import pytest

from composition import FiltCon
from mechanisms import Count, Gaussian, Histogram, PrivateKeys, Sum, Table, column, when
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
from queryable import ZCDP, ApproxZCDP, Queryable, QueryError

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


def test_what_fits_is_answered() -> None:
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
    for wrong in (
        Sum(TEXT, 0, 9),
        Sum(column("city").lower(), 0, 9),
        Histogram(TEXT, [1, 2]),
        Histogram(column("city").lower(), bins=[1, 2]),
        Histogram(column(Literal(INSTANT)), [INSTANT]),
    ):
        with pytest.raises(TypeError):
            wrong.check(arrays)
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
            zone = not arrays and "does not compare with datetime" in engine
            assert zone or bool(arrays) == bool(engine), (statistic, arrays, engine)
            refused += bool(arrays)
    assert count / 10 < refused < count


def test_arrays_refuse_what_an_engine_refuses() -> None:
    assert_refused_alike(Random(1), 300)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 12))
def test_arrays_refuse_what_an_engine_refuses_of_many(seed: int) -> None:
    assert_refused_alike(Random(seed), 3000)

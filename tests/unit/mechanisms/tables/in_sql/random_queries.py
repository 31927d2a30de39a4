"""Random queries of the grammar, over one table with missing cells, and DuckDB's exact answers."""

from datetime import date, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

import duckdb
import pyarrow as pa

PEOPLE, ROWS = 120, 400
TEXTS, KEYS = ("a", "b", "c%", "A_", ""), ("a", "b", "c%")
FIRST, LAST = date(2023, 11, 20), date(2024, 3, 10)
DECLARED = {
    "i": {"lower": -20, "upper": 40},
    "k": {"lower": 0, "upper": 5},
    "x": {"lower": -5, "upper": 12},
    "c": {"lower": 0, "upper": 100},
    "s": {"keys": KEYS},
    "d": {"lower": FIRST, "upper": LAST},
}
CLAMP = "CREATE MACRO CLAMP(v, lo, hi) AS CASE WHEN v < lo THEN lo WHEN v > hi THEN hi ELSE v END"


def rows(seed: int) -> Any:
    """An Arrow table: integers, floats, decimals, texts, dates, times and truth values."""
    random = Random(seed)

    def some(make: Any, missing: float = 0.15) -> list[Any]:
        return [None if random.random() < missing else make() for _ in range(ROWS)]

    days = (LAST - FIRST).days
    return pa.table(
        {
            "p": pa.array([random.randrange(PEOPLE) for _ in range(ROWS)], pa.int64()),
            "i": pa.array(some(lambda: random.randrange(-20, 41)), pa.int32()),
            "k": pa.array(some(lambda: random.randrange(6), 0.05), pa.int8()),
            "x": pa.array(some(lambda: random.randrange(-320, 769) / 64), pa.float64()),
            "c": pa.array(
                some(lambda: Decimal(random.randrange(10_001)) / 100), pa.decimal128(9, 2)
            ),
            "s": pa.array(some(lambda: random.choice(TEXTS)), pa.string()),
            "d": pa.array(some(lambda: FIRST + timedelta(random.randrange(days + 1))), pa.date32()),
            "t": pa.array(
                some(
                    lambda: (
                        datetime(2024, 1, 1)  # noqa: DTZ001
                        + timedelta(minutes=random.randrange(100_000))
                    )
                ),
                pa.timestamp("us"),
            ),
            "b": pa.array(some(lambda: random.random() < 0.4), pa.bool_()),
        }
    )


def connection(table: Any) -> Any:
    """DuckDB with the table `v` and the function CLAMP."""
    made = duckdb.connect()
    made.register("v", table)
    made.execute(CLAMP)
    return made


class Queries:
    """Draws queries."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def _one(self, *choices: Any) -> Any:
        chosen = self.random.choice(choices)
        return chosen() if callable(chosen) else chosen

    def number(self, depth: int = 2) -> str:
        """A number of a row, with bounds that are known."""
        leaves = ("i", "k", "x", "c", lambda: f"{self.random.randrange(-9, 10)}")
        if depth == 0:
            return str(self._one(*leaves[:4]))
        inner = lambda: self.number(depth - 1)  # noqa: E731
        return str(
            self._one(
                *leaves[:4],
                lambda: f"({inner()} + {inner()})",
                lambda: f"({inner()} - {self.random.randrange(5)})",
                lambda: f"({self.random.choice('ikx')} * {self.random.choice(['2', '0.5', 'k'])})",
                lambda: f"CASE WHEN {self.condition(1)} THEN {inner()} ELSE {inner()} END",
                lambda: f"CASE WHEN {self.condition(1)} THEN {inner()} END",
                lambda: f"COALESCE({self.random.choice('ikx')}, 0)",
                lambda: f"ABS({self.random.choice('ix')})",
                lambda: f"-{self.random.choice('ikx')}",
                lambda: f"GREATEST({self.random.choice('ik')}, {self.random.randrange(-5, 5)})",
                lambda: f"LEAST(x, {self.random.randrange(-5, 5)})",
                lambda: f"CLAMP({inner()}, -10, 25)",
                lambda: f"EXTRACT({self._one('MONTH', 'DAY', 'QUARTER', 'ISODOW', 'DOW')} FROM d)",
                lambda: "EXTRACT(HOUR FROM t)",
                lambda: f"NULLIF({self.random.choice('ik')}, {self.random.randrange(4)})",
                lambda: "CAST(i AS DOUBLE)",
            )
        )

    def _compared(self) -> str:
        operator = self._one("<", "<=", ">", ">=", "=", "<>")
        day = FIRST + timedelta(self.random.randrange(100))
        return str(
            self._one(
                lambda: f"{self.random.choice('ik')} {operator} {self.random.randrange(-9, 30)}",
                lambda: f"x {operator} {self.random.randrange(-40, 80) / 8}",
                lambda: f"c {operator} {self.random.randrange(10_000) / 100}",
                lambda: f"{self.random.randrange(9)}.5 {operator} i",
                lambda: f"i {operator} k",
                lambda: f"s {operator} '{self.random.choice(TEXTS)}'",
                lambda: f"d {operator} DATE '{day}'",
                lambda: f"d {operator} '{day}'",
                lambda: f"d {operator} DATE '{day}' + INTERVAL {self.random.randrange(40)} DAY",
                lambda: f"t {operator} TIMESTAMP '2024-02-0{self.random.randrange(1, 9)} 10:30:00'",
                lambda: f"{self.number(1)} {operator} {self.random.randrange(-3, 20)}.25",
            )
        )

    def condition(self, depth: int = 2) -> str:
        """A condition on a row."""
        leaf = (
            self._compared,
            self._compared,
            lambda: "b",
            lambda: f"{self.random.choice('ixscdtb')} IS {self._one('', 'NOT ')}NULL",
            lambda: f"i {self._one('', 'NOT ')}BETWEEN {self.random.randrange(-9, 9)} AND 12",
            lambda: f"k {self._one('', 'NOT ')}IN (1, 3, {self._one('5', 'NULL')})",
            lambda: f"c IN (1.5, {self.random.randrange(10_000) / 100})",
            lambda: f"s {self._one('', 'NOT ')}IN ('a', 'A_')",
            lambda: f"s {self._one('', 'NOT ')}LIKE '{self._one('a%', '%', '_', '%c%', '')}'",
            lambda: "lower(s) = 'a'",
            lambda: "starts_with(s, 'c')",
            lambda: f"({self._compared()}) IS {self._one('', 'NOT ')}TRUE",
            lambda: "DATE_TRUNC('month', d) = DATE '2024-01-01'",
        )
        if depth == 0:
            return str(self._one(*leaf))
        inner = lambda: self.condition(depth - 1)  # noqa: E731
        return str(
            self._one(
                *leaf,
                lambda: f"({inner()} AND {inner()})",
                lambda: f"({inner()} OR {inner()})",
                lambda: f"NOT ({inner()})",
                lambda: f"NOT ({inner()})",
            )
        )

    def aggregate(self) -> str:
        """An aggregate, whose exact value is defined by the rows."""
        number = lambda: self.number(self.random.randrange(3))  # noqa: E731
        found = str(
            self._one(
                lambda: "COUNT(*)",
                lambda: f"COUNT({self.random.choice('ixscdtb')})",
                lambda: "COUNT(DISTINCT p)",
                lambda: f"COUNT_IF({self.condition(1)})",
                lambda: f"SUM({number()})",
                lambda: f"SUM(CLAMP({number()}, -3, 7))",
                lambda: f"SUM(CASE WHEN {self.condition(1)} THEN 1 ELSE 0 END)",
                lambda: f"AVG({number()})",
                lambda: f"AVG(CLAMP({self.random.choice('ixc')}, 0, 9))",
                lambda: f"VAR_POP({self.random.choice('ikx')})",
                lambda: f"STDDEV_POP({self.random.choice('ikx')})",
                lambda: f"VAR_SAMP({self.random.choice('ikx')})",
                lambda: f"STDDEV({self.random.choice('ikx')})",
                lambda: "CORR(i, x)",
                lambda: "COVAR_POP(x, k)",
                lambda: "REGR_SLOPE(x, i)",
                lambda: "REGR_INTERCEPT(i, k)",
            )
        )
        if self.random.random() < 0.2:
            return f"{found} FILTER (WHERE {self.condition(1)})"
        return found

    def keys(self) -> list[str]:
        """What is grouped by."""
        if self.random.random() < 0.5:
            return []
        return [
            str(
                self._one(
                    "s",
                    "k",
                    "b",
                    "EXTRACT(MONTH FROM d)",
                    "DATE_TRUNC('month', d)",
                    "CASE WHEN i > 10 THEN 'high' ELSE 'low' END",
                    "FLOOR(i / 15) * 15",
                )
            )
        ]

    def of_units(self) -> str:
        """A query about a number of each unit."""
        number = self._one(
            "COUNT(*)", "COUNT(i)", "SUM(CLAMP(i, 0, 9))", "SUM(k)", "MAX(x)", "MIN(k)"
        )
        where = f" WHERE {self.condition(1)}" if self.random.random() < 0.5 else ""
        having = f" HAVING {number} > 1" if number == "COUNT(*)" and self._one(True, False) else ""
        inner = f"SELECT p, {number} AS n FROM v{where} GROUP BY p{having}"
        if number[:3] == "SUM":
            inner = inner.replace(number, f"CLAMP({number}, -60, 60)", 1)
        asked = self._one(
            "COUNT(*)", "AVG(CLAMP(n, 0, 6))", "SUM(CLAMP(n, -2, 4))", "COUNT(DISTINCT p)"
        )
        outer = f" WHERE n >= {self.random.randrange(4)}" if self._one(True, False) else ""
        return f"SELECT {asked} AS n0 FROM ({inner}) AS u{outer}"

    def query(self) -> str:
        """A query."""
        if self.random.random() < 0.1:
            return self.of_units()
        keys = self.keys()
        numbers = [self.aggregate() for _ in range(self.random.choice([1, 1, 2]))]
        if keys:  # of a slope in groups nothing is answered
            numbers = [each for each in numbers if "REGR" not in each] or ["COUNT(*)"]
        if self.random.random() < 0.2:
            numbers.append(self._one("100.0 * SUM(k) / COUNT(*)", "ROUND(AVG(i), 2)", "-COUNT(*)"))
        names = [f"{each} AS n{place}" for place, each in enumerate(numbers)]
        named = [f"{each} AS g{place}" for place, each in enumerate(keys)]
        text = f"SELECT {', '.join([*named, *names])} FROM v"
        if self.random.random() < 0.6:
            text += f" WHERE {self.condition()}"
        if keys:
            text += " GROUP BY " + ", ".join(f"g{place}" for place in range(len(keys)))
        return text

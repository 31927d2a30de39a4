"""Random statistics of a table, each as the product's value and as a function in plain Python.

An `Operand`, a `Condition` and a `Case` hold both. `Maker` draws them for columns of given kinds.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from random import Random
from typing import Any

import attrs

from mechanisms import (
    Count,
    GroupBy,
    Histogram,
    Mean,
    PrivacyUnit,
    Quantile,
    Sum,
    Variance,
    column,
)
from mechanisms.tables.aggregates import Aggregate
from mechanisms.tables.predicates import Predicate
from tests import brute_force as plain
from tests.messy_tables import INF, NUMBERS, Row, Types, some_cell

Rows = Sequence[Row]


@attrs.frozen
class Operand:
    """What a statistic reads: a column, or an expression of columns."""

    product: Any
    kind: str
    value: Callable[[Row], Any]

    def read(self, kind: str) -> Callable[[Row], Any]:
        """The cells as a kind: a written column is text, read as its question asks."""
        if self.kind != "written" or kind == "text":
            return self.value
        if kind == "number":
            return lambda row: _written_number(self.value(row))
        return lambda row: plain.cast(kind, self.value(row))


def _written_number(cell: Any) -> float | None:
    truths = {"true": 1.0, "false": 0.0}
    number: float | None = plain.cast("number", cell)
    return truths.get((cell or "").lower()) if number is None else number


@attrs.frozen
class Condition:
    """A `where`."""

    product: Predicate | None
    holds: Callable[[Row], bool]


@attrs.frozen
class Case:
    """A statistic, perhaps in groups by columns.

    Args:
        inner: the statistic of one group.
        value: the same in plain Python.
        by: the keys of each column that rows are grouped by.
    """

    inner: Aggregate
    value: Callable[[Rows], Any]
    by: dict[str, Sequence[Any]] = attrs.field(factory=dict)

    def statistic(self, parts: int = 1) -> Aggregate:
        """The product's statistic; of several tables in one, told apart by the column `part`."""
        by = ({"part": list(range(parts))} if parts > 1 else {}) | self.by
        return GroupBy(by, self.inner) if by else self.inner

    def expected(self, rows: Rows) -> list[int]:
        """The integers of one table."""

        def within(rows: Rows, by: list[tuple[str, Sequence[Any]]]) -> list[int]:
            if not by:
                return plain.flat(self.value(rows))
            (name, keys), *rest = by
            equal = [[row for row in rows if _equals(row[name], key)] for key in keys]
            return [number for group in equal for number in within(group, rest)]

        return within(rows, list(self.by.items()))


def _equals(cell: Any, key: Any) -> bool:
    """Whether Python values are equal; a date is not equal to a datetime."""
    return plain.present(cell) is not None and bool(cell == key)


BOUNDS = [(0, 10), (-3, 2), (5, 8), ("-0.5", "0.5"), (-1000, 1000), (3, 3)]
UNITS: dict[str, list[Any]] = {
    "boolean": [1, "1/4"],
    "integer": [1, 3, "1/4", 10],
    "float": [1, "1/4", "0.01", 10, "0.3"],
    "money": ["0.01", "0.1", 1, "1/4"],
}
PATTERNS = ["a%", "%a", "a_b", "%", "", "_", "%\n%", "__", "%b%", "\\%", "a%b%", "é%", "%'%", "🌍"]


class Maker:
    """Draws operands, conditions and statistics."""

    def __init__(self, random: Random, types: Types, per: PrivacyUnit | None = None) -> None:
        self.random, self.types, self.per = random, types, per

    # Operands

    def names(self, kinds: Sequence[str]) -> list[str]:
        return [name for name, kind in self.types.items() if kind in kinds and name != "part"]

    def plain_column(self, kinds: Sequence[str]) -> Operand | None:
        names = self.names(kinds)
        if not names:
            return None
        name = self.random.choice(names)
        product = self.random.choice([name, column(name)])
        return Operand(product, self.types[name], lambda row: plain.present(row[name]))

    def number(self, depth: int = 2) -> Operand:
        """A number that can be added up."""
        found = self.plain_column([*NUMBERS, "boolean", "written"])
        assert found is not None
        if found.kind == "written":
            return attrs.evolve(found, kind="float", value=found.read("number"))
        return found

    # Conditions

    def constant(self, kind: str) -> Any:
        """A constant that a column of this kind compares with."""
        value = some_cell(self.random, kind)
        if kind in (*NUMBERS, "boolean"):
            odd = [0.5, 1, True, 2**64, -(2**64), INF, -INF, 2.0**53, 0.1, 12, 8.95]
            value = self.random.choice([value, value, self.random.choice(odd)])
        if kind == "money" and not isinstance(value, int | float):
            value = float(value)
        return 0.0 if value != value else value  # noqa: PLR0124

    def condition(self, depth: int = 2) -> Condition:
        """A predicate."""
        choice = self.random.random()
        if depth and choice < 0.25:
            left, right = self.condition(depth - 1), self.condition(depth - 1)
            if choice < 0.12:
                both = left.product & right.product  # type: ignore[operator]
                return Condition(both, lambda row: left.holds(row) and right.holds(row))
            either = left.product | right.product  # type: ignore[operator]
            return Condition(either, lambda row: left.holds(row) or right.holds(row))
        if depth and choice < 0.35:
            inner = self.condition(depth - 1)
            assert inner.product is not None
            return Condition(~inner.product, lambda row: not inner.holds(row))
        return self.comparison()

    def comparison(self) -> Condition:
        """A column compared with a constant."""
        found = self.plain_column(list(self.types.values()))
        assert found is not None
        return self.compared(found)

    def compared(self, found: Operand) -> Condition:
        """An operand compared with a constant."""
        kind = found.kind
        if kind == "written":
            kind = self.random.choice(["text", "float", "timestamp"])
        reading = {"float": "number"}.get(kind, kind) if found.kind == "written" else kind
        value = found.read(reading)
        left: Any = column(found.product) if isinstance(found.product, str) else found.product
        if self.random.random() < 0.2:
            constants = [self.constant(kind) for _ in range(self.random.randrange(4))]
            if found.kind == "written":
                constants = [it for it in constants if not isinstance(it, bool)]
            return Condition(
                left.is_in(constants),
                lambda row: any(plain.compared("==", value(row), it) for it in constants),
            )
        symbol = self.random.choice(list(plain.COMPARE))
        constant = self.constant(kind)
        return Condition(
            plain.COMPARE[symbol](left, constant),
            lambda row: plain.compared(symbol, value(row), constant),
        )

    def where(self) -> Condition:
        """A `where`, often none."""
        if self.random.random() < 0.4:
            return Condition(None, lambda row: True)
        return self.condition()

    # Statistics

    def case(self) -> Case:
        """A statistic, perhaps in groups."""
        makers = [
            self.count,
            self.sum,
            self.mean,
            self.variance,
            self.histogram,
            self.quantile,
        ]
        found = self.random.choice(makers)()
        if found.inner.groupable and self.random.random() < 0.4:
            return attrs.evolve(found, by=self.keys())
        return found

    def keys(self) -> dict[str, Sequence[Any]]:
        """Keys of one column or two."""
        names = self.names(["integer", "text", "boolean", "date", "written"])
        chosen = self.random.sample(names, min(len(names), self.random.randint(1, 2)))
        return {name: self.some_keys(self.types[name]) for name in chosen}

    def some_keys(self, kind: str) -> list[Any]:
        keys = (some_cell(self.random, kind) for _ in range(self.random.randint(1, 5)))
        return list(dict.fromkeys(keys))

    def count(self) -> Case:
        where = self.where()
        return Case(Count(where.product, per=self.per), lambda rows: plain.count(rows, where.holds))

    def bounded(self) -> tuple[Operand, Any, Any, Any]:
        """An operand with bounds and a unit."""
        found = self.number()
        unit = self.random.choice(UNITS[found.kind])
        lower, upper = self.random.choice(BOUNDS)
        if found.kind == "integer" and unit == 1 and self.random.random() < 0.3:
            lower, upper = self.random.choice([(-(2**63), 2**63 - 1), (0, 2**62), (-(2**40), 7)])
        return found, lower, upper, unit

    def sum(self) -> Case:
        return self._moment(Sum, plain.total)

    def mean(self) -> Case:
        return self._moment(Mean, plain.mean)

    def variance(self) -> Case:
        return self._moment(Variance, plain.variance)

    def _moment(self, statistic: Any, in_plain: Callable[..., Any]) -> Case:
        found, lower, upper, unit = self.bounded()
        where = self.where()
        lattice = plain.Lattice(lower, upper, unit)
        return Case(
            statistic(found.product, lower, upper, where.product, unit=unit, per=self.per),
            lambda rows: in_plain(rows, found.value, lattice, where.holds),
        )

    def histogram(self) -> Case:
        found = self.plain_column(["integer", "text", "boolean", "date", "money", "written"])
        if found is None:
            return self.count()
        keys, where = self.some_keys(found.kind), self.where()
        if found.kind == "money":
            keys = list(dict.fromkeys(float(key) for key in keys))
        return Case(
            Histogram(found.product, keys, where.product, per=self.per),
            lambda rows: plain.histogram(rows, found.value, keys, where.holds),
        )

    def grid(self, kind: str) -> list[Any]:
        """Ascending constants."""
        values = [self.constant(kind) for _ in range(self.random.randint(2, 6))]
        by_size = sorted(values, key=plain.ordered)
        return [value for i, value in enumerate(by_size) if not i or by_size[i - 1] != value]

    def quantile(self) -> Case:
        kinds = [*NUMBERS, "boolean", "text", "date", "timestamp", "instant", "written"]
        found = self.plain_column(kinds)
        assert found is not None
        kind = "float" if found.kind == "written" else found.kind
        value = found.read("number" if found.kind == "written" else kind)
        level = self.random.choice(["0", "1/2", "1/3", "0.9", "1"])
        grid, where = self.grid(kind), self.where()
        return Case(
            Quantile(found.product, level, grid, where.product, per=self.per),
            lambda rows: plain.quantile(rows, value, Fraction(level), grid, where.holds),
        )

"""Random expressions and predicates, each as the product's value and as a function in plain Python.

`Expressions` draws them for columns of given kinds.
"""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import attrs

from mechanisms import column, when
from mechanisms.tables.expressions.predicates import Predicate
from tests import brute_force as plain
from tests.messy_tables import INF, NUMBERS, Row, Types, some_cell

PATTERNS = ["a%", "%a", "a_b", "%", "", "_", "%\n%", "__", "%b%", "\\%", "a%b%", "é%", "%'%", "🌍"]


@attrs.frozen
class Operand:
    """What a statistic reads: a column, or an expression of columns."""

    product: Any
    kind: str
    value: Callable[[Row], Any]
    origin: "Operand | None" = None

    @property
    def as_written(self) -> "Operand":
        """A written column as text, where the operation does not say how it is read."""
        return self.origin or self

    @property
    def column(self) -> Any:
        """The product's builder of expressions."""
        return column(self.product) if isinstance(self.product, str) else self.product

    def as_kind(self, kind: str) -> "Operand":
        """A written column, which is text, read as its question asks; others as they are."""
        if self.kind != "written":
            return self
        value: Callable[[Row], Any] = self.value
        if kind == "float":
            value = lambda row: _written_number(self.value(row))  # noqa: E731
        elif kind != "text":
            value = lambda row: plain.cast(kind, self.value(row))  # noqa: E731
        return Operand(self.product, kind, value, origin=self)


def _written_number(cell: Any) -> float | None:
    truths = {"true": 1.0, "false": 0.0}
    number: float | None = plain.cast("number", cell)
    return truths.get((cell or "").lower()) if number is None else number


@attrs.frozen
class Condition:
    """A `where`."""

    product: Predicate | None
    holds: Callable[[Row], bool]


def _alike(one: Operand, other: Operand) -> bool:
    """Whether two operands compare with each other."""
    families = [NUMBERS, ["date", "timestamp"], ["text"], ["instant"], ["boolean"]]
    return any(one.kind in family and other.kind in family for family in families)


class Expressions:
    """Draws operands and conditions."""

    def __init__(self, random: Random, types: Types) -> None:
        self.random, self.types = random, types

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
        choice = self.random.random()
        if depth and choice < 0.5 and (found := self.computed_number(depth)):
            return found
        found = self.plain_column([*NUMBERS, "boolean", "written"])
        assert found is not None
        if found.kind != "written":
            return found
        number = found.as_kind("float")
        if self.random.random() < 0.75:  # the text of a file is added up only if a cast says so
            return Operand(found.column.cast("number"), "float", number.value)
        return number

    def computed_number(self, depth: int) -> Operand | None:
        makers = [self.arithmetic, self.arithmetic, self.date_part, self.days, self.cast_number]
        return self.random.choice([*makers, self.chosen_number])(depth - 1)

    def arithmetic(self, depth: int) -> Operand | None:
        """Two numbers, or a number and a constant, with an operator between them."""
        left, right = (self.number(depth) for _ in range(2))
        if "boolean" in (left.kind, right.kind):
            return None
        symbol, choice = self.random.choice("+-*/"), self.random.random()
        if choice < 0.1:
            negative = -left.column
            return Operand(
                negative, "float", lambda row: plain.arithmetic("*", -1, left.value(row))
            )
        a, b, x, y = left.column, right.column, left.value, right.value
        if choice < 0.5:
            constant = self.random.choice([0, 1, -1, 2, 3, 0.1, 7.5, 1e150, 1e-150, 2**62, 1e200])
            if choice < 0.3:
                a, x = constant, lambda row: constant
            else:
                b, y = constant, lambda row: constant
        functions: dict[str, Callable[[Any, Any], Any]] = {
            "+": lambda a, b: a + b,
            "-": lambda a, b: a - b,
            "*": lambda a, b: a * b,
            "/": lambda a, b: a / b,
        }
        return Operand(
            functions[symbol](a, b), "float", lambda row: plain.arithmetic(symbol, x(row), y(row))
        )

    def days(self, depth: int) -> Operand | None:
        """The days between two dates."""
        left, right = self.moment(depth, ["date"]), self.moment(depth, ["date"])
        if left is None or right is None:
            return None
        return Operand(
            left.column - right.column,
            "float",
            lambda row: plain.days_between(left.value(row), right.value(row)),
        )

    def date_part(self, depth: int) -> Operand | None:
        found = self.moment(depth, ["date", "timestamp", "instant"])
        if found is None:
            return None
        name = self.random.choice(["year", "quarter", "month", "day", "weekday", "hour"])
        if name == "hour" and found.kind == "date":
            name = "weekday"
        return Operand(
            getattr(found.column, name)(), "integer", lambda row: plain.part(name, found.value(row))
        )

    def cast_number(self, depth: int) -> Operand | None:
        """A cell read as an integer or as a float."""
        to = self.random.choice(["integer", "number"])
        kinds = [*NUMBERS, "text", "written", *(["boolean"] if to == "integer" else [])]
        found = self.plain_column(kinds)
        if found is None:
            return None
        if self.random.random() < 0.3:
            found = self.number(depth) if found.kind in NUMBERS else self.text(depth)
        if found is None or (found.kind == "boolean" and to == "number"):
            return None
        value = found.as_written.value
        if to == "number" and found.as_written.kind == "written":  # also true as 1
            return Operand(found.column.cast(to), "float", found.as_written.as_kind("float").value)
        return Operand(
            found.column.cast(to),
            "integer" if to == "integer" else "float",
            lambda row: plain.cast(to, value(row)),
        )

    def chosen_number(self, depth: int) -> Operand | None:
        one, other = self.number(depth), self.number(depth)
        if "boolean" in (one.kind, other.kind):
            return None
        return self.chosen(
            [one, other], "integer" if one.kind == other.kind == "integer" else "float"
        )

    def chosen(self, values: list[Operand], kind: str) -> Operand:
        """The first value, the second one, a constant or nothing, by one or two conditions."""
        first, second = self.condition(1), self.condition(0)
        constant = self.constant(kind)
        if kind == "integer" and (type(constant) is not int or abs(constant) >= 2**63):
            constant = 7
        if kind == "float":
            constant = float(constant) if abs(constant) < 2**1000 else 0.5
        results: list[tuple[Any, Callable[[Row], Any], str]] = [
            *((value.column, value.value, value.kind) for value in values),
            (constant, lambda row: constant, kind),
            (None, lambda row: None, ""),
        ]
        used = [self.random.choice(results[: 3 + (i > 0)]) for i in range(3)]
        (a, x, _), (b, y, _), (c, z, _) = used
        number = kind == "float" and {each[2] for each in used} - {""} != {"integer"}
        kind = "integer" if kind == "float" and not number else kind

        def value(row: Row) -> Any:
            cell = x(row) if first.holds(row) else y(row) if second.holds(row) else z(row)
            return plain.nearest(cell) if number and cell is not None else cell

        product = when(first.product).then(a).when(second.product).then(b).otherwise(c)
        return Operand(product, kind, value)

    def text(self, depth: int = 2) -> Operand | None:
        found = self.plain_column(["text", "written"])
        choice = self.random.random()
        if depth and (found is None or choice < 0.2):
            found = self.plain_column(["integer", "boolean", "date"])
            if found is None or not hasattr(found.column, "cast"):
                return None
            value = found.value
            return Operand(
                found.column.cast("text"), "text", lambda row: plain.cast("text", value(row))
            )
        if depth and choice < 0.6:
            inner = self.text(depth - 1)
            if inner is None:
                return None
            if choice < 0.3:
                return self.chosen([inner, found or inner], "text")
            name = self.random.choice(["lower", "upper", "strip"])
            function = getattr(plain, name)
            return Operand(
                getattr(inner.column, name)(), "text", lambda row: function(inner.value(row))
            )
        return found

    def moment(self, depth: int, kinds: list[str]) -> Operand | None:
        """A date, a timestamp or an instant."""
        found = self.plain_column(["date", "timestamp", "instant", "text", "written"])
        if found is None:
            return None
        if found.kind == "written" and "timestamp" in kinds and self.random.random() < 0.5:
            return found.as_kind("timestamp")
        choice, inner = self.random.random(), found
        if found.kind in ("text", "written"):
            to = self.random.choice([kind for kind in ("date", "timestamp") if kind in kinds])
            value = found.value
            return Operand(found.column.cast(to), to, lambda row: plain.cast(to, value(row)))
        if choice < 0.3 or found.kind not in kinds:
            units = ["year", "quarter", "month", "week", "day"]
            if found.kind != "date" and "timestamp" in kinds:
                units.append("hour")
            unit = self.random.choice(units)
            return Operand(
                inner.column.truncate(unit),
                "timestamp" if unit == "hour" else "date",
                lambda row: plain.truncated(unit, inner.value(row)),
            )
        if choice < 0.5:
            to = self.random.choice([kind for kind in ("date", "timestamp") if kind in kinds])
            return Operand(inner.column.cast(to), to, lambda row: plain.cast(to, inner.value(row)))
        return found

    def boolean(self, depth: int) -> Operand | None:
        """A truth value."""
        found = self.plain_column(["boolean", "integer", "text", "written"])
        if found is None or found.kind == "boolean":
            return found
        value = found.value
        return Operand(
            found.column.cast("boolean"), "boolean", lambda row: plain.cast("boolean", value(row))
        )

    def operand(self, depth: int = 2) -> Operand | None:
        """Anything."""
        every = ["date", "timestamp", "instant"]
        return self.random.choice(
            [
                self.number,
                self.text,
                lambda depth: self.moment(depth, every),
                self.boolean,
                lambda depth: self.plain_column(list(self.types.values())),
            ]
        )(depth)

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
        """A question about one operand or two."""
        found = self.operand(1)
        if found is None:
            found = self.plain_column(list(self.types.values()))
            assert found is not None
        choice = self.random.random()
        if choice < 0.1:
            cell = found.as_written.value
            if choice < 0.05:
                return Condition(found.column.is_not_null(), lambda row: cell(row) is not None)
            return Condition(found.column.is_null(), lambda row: cell(row) is None)
        if choice < 0.4 and found.kind in ("text", "written"):
            return self.matched(found)
        if choice < 0.4 and (other := self.operand(1)) and _alike(found, other):
            symbol = self.random.choice(list(plain.COMPARE))
            return Condition(
                plain.COMPARE[symbol](found.column, other.column),
                lambda row: plain.compared_cells(symbol, found.value(row), other.value(row)),
            )
        return self.compared(found)

    def matched(self, found: Operand) -> Condition:
        """A text compared with a pattern, or with a part of a text."""
        value = found.value
        how = self.random.choice(["contains", "starts_with", "ends_with", "like"])
        if how == "like":
            pattern = self.random.choice([*PATTERNS, self.constant("text")])
            return Condition(
                found.column.like(pattern), lambda row: plain.like(value(row), pattern)
            )
        part = self.random.choice(
            [self.constant("text")[:1], "a", "", "%", " ", self.constant("text")]
        )
        tests: dict[str, Callable[[str], bool]] = {
            "contains": lambda text: part in text,
            "starts_with": lambda text: text.startswith(part),
            "ends_with": lambda text: text.endswith(part),
        }
        return Condition(
            getattr(found.column, how)(part),
            lambda row: value(row) is not None and tests[how](value(row)),
        )

    def compared(self, found: Operand) -> Condition:
        """An operand compared with a constant, or with several."""
        kind = found.kind
        if kind == "written":
            kind = self.random.choice(["text", "float", "timestamp"])
        value = found.as_kind(kind).value
        if self.random.random() < 0.2:
            constants = [self.constant(kind) for _ in range(self.random.randrange(4))]
            return Condition(
                found.column.is_in(constants),
                lambda row: any(plain.compared("==", value(row), it) for it in constants),
            )
        symbol = self.random.choice(list(plain.COMPARE))
        constant = self.constant(kind)
        return Condition(
            plain.COMPARE[symbol](found.column, constant),
            lambda row: plain.compared(symbol, value(row), constant),
        )

    def where(self) -> Condition:
        """A `where`, often none."""
        if self.random.random() < 0.4:
            return Condition(None, lambda row: True)
        return self.condition()

"""SQL for DuckDB, as expressions with Python operators.

All quoting is here. A name is written as an identifier in double quotes, a constant of text or
bytes is a bound parameter, and of the rest of a request only numbers are written into a statement.
"""

from collections.abc import Callable, Sequence
from typing import Any

import attrs

from mechanisms.tables.column_types import Kind


def identifier(name: str) -> str:
    """A column's name as an SQL identifier, whatever characters it has."""
    return '"' + name.replace('"', '""') + '"'


@attrs.frozen(eq=False)
class Sql:
    """An SQL expression. A comparison makes another expression."""

    text: str

    def _with(self, operator: str, other: "Sql") -> "Sql":
        return Sql(f"({self.text} {operator} {other.text})")

    def __eq__(self, other: "Sql") -> "Sql":  # type: ignore[override]
        return self._with("=", other)

    def __ne__(self, other: "Sql") -> "Sql":  # type: ignore[override]
        return self._with("<>", other)

    def __lt__(self, other: "Sql") -> "Sql":
        return self._with("<", other)

    def __le__(self, other: "Sql") -> "Sql":
        return self._with("<=", other)

    def __gt__(self, other: "Sql") -> "Sql":
        return self._with(">", other)

    def __ge__(self, other: "Sql") -> "Sql":
        return self._with(">=", other)

    def __add__(self, other: "Sql") -> "Sql":
        return self._with("+", other)

    def __sub__(self, other: "Sql") -> "Sql":
        return self._with("-", other)

    def __mul__(self, other: "Sql") -> "Sql":
        return self._with("*", other)

    def __truediv__(self, other: "Sql") -> "Sql":
        return self._with("/", other)

    def __and__(self, other: "Sql") -> "Sql":
        return self._with("AND", other)

    def __or__(self, other: "Sql") -> "Sql":
        return self._with("OR", other)

    def __invert__(self) -> "Sql":
        return Sql(f"(NOT {self.text})")

    __hash__ = None  # type: ignore[assignment]


class DuckDBDialect:
    """DuckDB's expressions, and the parameters that they refer to."""

    largest_dividend = 2**63 - 1

    def __init__(self) -> None:
        self.parameters: list[Any] = []

    def cell(self, column: str, kind: Kind) -> Sql:
        """The cell; enumerations and UUIDs as text."""
        name = identifier(column)
        as_text = kind.name == "text" and kind.declared != "VARCHAR"
        return Sql(f"CAST({name} AS VARCHAR)" if as_text else name)

    def literal(self, kind: Kind, value: Any) -> Sql:
        """A value of a column's domain."""
        match kind.name:
            case "text" | "bytes":
                self.parameters.append(value)
                return Sql(f"CAST(${len(self.parameters)} AS {_SQL_OF[kind.name]})")
            case "float":
                return self.double(value)
            case "boolean":
                return self.truth(bool(value))
            case "integer":
                return Sql(f"({int(value)})")
            case "decimal":
                assert kind.step is not None
                scale = len(str(kind.step.denominator)) - 1
                sign, digits = "-" * (value < 0), str(abs(value)).zfill(scale + 1)
                point = len(digits) - scale
                number = f"{sign}{digits[:point]}.{digits[point:]}"
                return Sql(f"CAST('{number}' AS {kind.declared})")
            case "date":
                return Sql(f"(DATE '1970-01-01' + ({int(value)}))")
            case _:
                nanoseconds = int(value) * int(kind.step or 0)
                whole = kind.step != 1
                count = nanoseconds // 1000 if whole else nanoseconds
                moment = _TEMPORAL[kind.name, whole].format(count)
                # Without this cast, DuckDB might cast the cells, and fail.
                return Sql(f"CAST({moment} AS {kind.declared})")

    def whole(self, value: int) -> Sql:
        """A 64-bit integer."""
        return Sql(f"({int(value)})::BIGINT")

    def double(self, value: float) -> Sql:
        """A float, written as its shortest decimal."""
        return Sql(f"'{float(value)!r}'::DOUBLE")

    def truth(self, value: bool) -> Sql:
        """True or false."""
        return Sql("TRUE" if value else "FALSE")

    def present(self, cell: Sql, kind: Kind) -> Sql:
        """Whether the cell is neither null nor NaN."""
        there = f"{cell.text} IS NOT NULL"
        return Sql(
            f"({there} AND NOT isnan({cell.text}))" if kind.name == "float" else f"({there})"
        )

    def one_of(self, cell: Sql, values: Sequence[Sql]) -> Sql:
        """Whether the cell equals one of the values."""
        return Sql(f"({cell.text} IN ({', '.join(value.text for value in values)}))")

    def position(self, cell: Sql, values: Sequence[tuple[int, Sql]]) -> Sql:
        """The number of the value that the cell equals, -1 if none."""
        cases = [f"WHEN {cell.text} = {value.text} THEN {int(n)}" for n, value in values]
        return Sql(f"(CASE {' '.join(cases)} ELSE -1 END)") if cases else self.whole(-1)

    def when(self, condition: Sql, yes: Sql, no: Sql) -> Sql:
        """A `CASE` of two values."""
        return Sql(f"CASE WHEN {condition.text} THEN {yes.text} ELSE {no.text} END")

    def where(self, condition: Sql, value: Sql) -> Sql:
        """A `CASE` of one value."""
        return Sql(f"CASE WHEN {condition.text} THEN {value.text} END")

    def surely(self, condition: Sql) -> Sql:
        """False where the condition is null."""
        return Sql(f"coalesce({condition.text}, FALSE)")

    def once(self, value: Sql, use: Callable[[Sql], Sql]) -> Sql:
        """A list of one element, transformed."""
        return Sql(f"list_transform([{value.text}], lambda v: {use(Sql('v')).text})[1]")

    def unless_zero(self, value: Sql) -> Sql:
        """Null where the value is zero."""
        return Sql(f"nullif({value.text}, 0)")

    def clipped(self, value: Sql, low: Sql, high: Sql) -> Sql:
        """The value clipped to the bounds."""
        return Sql(f"least(greatest({value.text}, {low.text}), {high.text})")

    def magnitude(self, value: Sql) -> Sql:
        """The absolute value."""
        return Sql(f"abs({value.text})")

    def floor(self, value: Sql) -> Sql:
        """The largest whole float at or below the value."""
        return Sql(f"floor({value.text})")

    def as_double(self, value: Sql) -> Sql:
        """A 64-bit float. NaN is above everything for `least`."""
        return Sql(f"CAST({value.text} AS DOUBLE)")

    def as_single(self, value: Sql) -> Sql:
        """The value rounded to 32 bits."""
        return Sql(f"CAST(CAST({value.text} AS FLOAT) AS DOUBLE)")

    def as_whole(self, value: Sql) -> Sql:
        """The value as a 64-bit integer."""
        return Sql(f"CAST({value.text} AS BIGINT)")

    def multiples(self, cell: Sql, kind: Kind, low: int, high: int) -> Sql:
        """The cell's multiple of its step, clipped first, so that the cast cannot overflow."""
        if kind.name == "boolean":
            return self.clipped(self.as_whole(cell), self.whole(low), self.whole(high))
        bounds = self.literal(kind, low), self.literal(kind, high)
        inside = self.clipped(cell, *bounds)
        if kind.name == "decimal":
            assert kind.step is not None
            step = kind.step.denominator
            if max(abs(low), abs(high)) * step >= 10**38:
                raise TypeError(
                    "give a sum narrower bounds: they are too wide for the digits of this decimal "
                    "column"
                )
            inside = Sql(f"CAST({inside.text} AS DECIMAL(38, {len(str(step)) - 1})) * {step}")
        return self.as_whole(inside)

    def quotient(self, dividend: Sql, divisor: int) -> Sql:
        """Integer division."""
        return Sql(f"({dividend.text} // {int(divisor)})")


_SQL_OF = {"text": "VARCHAR", "bytes": "BLOB"}
_TEMPORAL = {  # by kind, and whether the cells are whole microseconds
    ("timestamp", True): "make_timestamp({0})",
    ("timestamp", False): "make_timestamp_ns({0})",
    ("instant", True): "make_timestamptz({0})",
    ("instant", False): "make_timestamp_ns({0})",
    ("duration", True): "to_microseconds({0})",
}

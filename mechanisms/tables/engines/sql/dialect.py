"""SQL for DuckDB, as expressions with Python operators.

All quoting is here. A name is written as an identifier in double quotes, a constant of text or
bytes is a bound parameter, and of the rest of a request only numbers are written into a statement.
"""

from collections.abc import Callable, Sequence
from typing import Any

import attrs

from mechanisms.tables.engines.operands import TEXT
from mechanisms.tables.engines.whole import in_64_bits, in_domain
from mechanisms.tables.expressions.column_types import Kind
from mechanisms.tables.expressions.computed import LARGEST, LEAST
from mechanisms.tables.expressions.grammar import (
    DATE,
    FALSE,
    INTEGER,
    MICROSECONDS,
    MOST_CHARACTERS,
    NUMBER,
    TIMESTAMP,
    TRUE,
)
from mechanisms.tables.expressions.texts import (
    FOLDED_ALIKE,
    LOWER,
    UPPER,
    WHITE_SPACE,
    expression_of,
)


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

    computes = True
    largest_dividend = 2**63 - 1

    def __init__(self) -> None:
        self.parameters: list[Any] = []
        self._numbers: dict[Any, int] = {}

    def cell(self, column: str, kind: Kind) -> Sql:
        """The cell; enumerations and UUIDs as text."""
        name = identifier(column)
        as_text = kind.name == "text" and kind.declared != "VARCHAR"
        return Sql(f"CAST({name} AS VARCHAR)" if as_text else name)

    def literal(self, kind: Kind, value: Any) -> Sql:
        """A value of a column's domain."""
        value = in_domain(kind, value)
        match kind.name:
            case "text" | "bytes":
                number = self._numbers.setdefault(value, len(self.parameters) + 1)
                if number > len(self.parameters):
                    self.parameters.append(value)
                return Sql(f"CAST(${number} AS {_SQL_OF[kind.name]})")
            case "float":
                return self.double(value)
            case "boolean":
                return self.truth(bool(value))
            case "integer":
                return Sql(f"({int(value)})")
            case "decimal":
                return Sql(f"CAST('{self.decimal(kind, value)}' AS {kind.declared})")
            case "date":
                return Sql(f"(DATE '1970-01-01' + ({int(value)}))")
            case _:
                return Sql(self.moment(kind, str(self.count(kind, value))))

    @staticmethod
    def decimal(kind: Kind, value: int) -> str:
        """A multiple of a decimal column's step, in digits."""
        assert kind.step is not None
        scale = len(str(kind.step.denominator)) - 1
        sign, digits = "-" * (value < 0), str(abs(value)).zfill(scale + 1)
        point = len(digits) - scale
        return f"{sign}{digits[:point]}.{digits[point:]}"

    @staticmethod
    def count(kind: Kind, value: int) -> int:
        """The microseconds of a time or duration, or the nanoseconds if its step is one."""
        nanoseconds = int(value) * int(kind.step or 0)
        return nanoseconds if kind.step == 1 else nanoseconds // 1000

    @staticmethod
    def moment(kind: Kind, count: str) -> str:
        """A time or duration, from SQL of its `count`."""
        moment = _TEMPORAL[kind.name, kind.step != 1].format(count)
        # Without this cast, DuckDB might cast the cells, and fail.
        return f"CAST({moment} AS {kind.declared})"

    def whole(self, value: int) -> Sql:
        """A 64-bit integer."""
        return Sql(f"({in_64_bits(value)})::BIGINT")

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

    def tamed(self, value: Sql) -> Sql:
        """Tamed."""
        return self._once(
            value,
            lambda x: Sql(
                f"CASE WHEN abs({x.text}) <= {LARGEST} THEN CASE WHEN abs({x.text}) >= {LEAST} "
                f"THEN {x.text} ELSE 0.0::DOUBLE END END"
            ),
        )

    def _once(self, value: Sql, use: Callable[[Sql], Sql]) -> Sql:
        """An expression that uses a value several times.

        A long one is written once, as the element of a list that is transformed.
        """
        if len(value.text) <= _SHORT:
            return use(value)
        return Sql(f"list_transform([{value.text}], lambda v: {use(Sql('v')).text})[1]")

    def cases(self, values: Sequence[tuple[Sql, Sql]], otherwise: Sql) -> Sql:
        """A `CASE`."""
        each = " ".join(f"WHEN {condition.text} THEN {value.text}" for condition, value in values)
        return Sql(f"CASE {each} ELSE {otherwise.text} END")

    def nothing(self, kind: Kind) -> Sql:
        """A typed null."""
        return Sql(f"CAST(NULL AS {kind.declared})")

    def nearest(self, cell: Sql, kind: Kind) -> Sql:
        """The nearest float. Casts of long decimals and integers are not correctly rounded."""
        long = kind.step is not None and kind.high >= (2**64 if kind.step == 1 else 10**15)
        return (
            Sql(f"CAST(CAST({cell.text} AS VARCHAR) AS DOUBLE)") if long else self.as_double(cell)
        )

    def whole_part(self, cell: Sql, kind: Kind) -> Sql:
        """Truncated, and null beyond 64 bits."""
        value = cell.text if kind.name == "integer" else f"trunc({cell.text})"
        return Sql(f"TRY_CAST({value} AS BIGINT)")

    def truncated_float(self, value: Sql) -> Sql:
        """A cast of floats within the bounds."""
        return self._once(
            value,
            lambda x: Sql(
                f"CASE WHEN abs({x.text}) < {2.0**63!r} "
                f"THEN TRY_CAST(trunc({x.text}) AS BIGINT) END"
            ),
        )

    def narrowed(self, value: Sql) -> Sql:
        """A cast."""
        return Sql(f"nullif(TRY_CAST({value.text} AS BIGINT), {_LEAST_WHOLE})")

    def as_truth(self, value: Sql) -> Sql:
        """By cases."""
        return Sql(f"CASE {value.text} WHEN 1 THEN TRUE WHEN 0 THEN FALSE END")

    def typed(self, cell: Sql) -> Sql:
        """As it is."""
        return cell

    def as_integer(self, cell: Sql, kind: Kind) -> Sql:
        """A BIGINT, or a HUGEINT for what is beyond it."""
        wide = not -(2**63) <= kind.low <= kind.high < 2**63
        return Sql(f"TRY_CAST({cell.text} AS {'HUGEINT' if wide else 'BIGINT'})")

    def as_bit(self, cell: Sql) -> Sql:
        """True is 1."""
        return Sql(f"CAST({cell.text} AS BIGINT)")

    def ordered(self, text: Sql) -> Sql:
        """Texts compare by code points."""
        return text

    def changed(self, function: str, text: Sql) -> Sql:
        """Its own functions where they give the same, as `translate` is slow."""
        if function == "strip":
            return Sql(f"trim({text.text}, {self._text(WHITE_SPACE)})")
        known = self._text(f"[{FOLDED_ALIKE}]*")
        given, wanted = map(self._text, (UPPER, LOWER) if function == "lower" else (LOWER, UPPER))
        return self._once(
            text,
            lambda x: Sql(
                f"CASE WHEN regexp_full_match({x.text}, {known}) THEN {function}({x.text}) "
                f"ELSE translate({x.text}, {given}, {wanted}) END"
            ),
        )

    def matched(self, text: Sql, how: str, pattern: str) -> Sql:
        """`like` as a regular expression of RE2, which takes linear time."""
        if how == "like":
            written = self._text(expression_of(pattern, atomic=False))
            return Sql(f"regexp_full_match({text.text}, {written}, 's')")
        function = {"contains": "contains", "starts with": "starts_with", "ends with": "suffix"}
        return Sql(f"{function[how]}({text.text}, {self._text(pattern)})")

    def _text(self, value: str) -> str:
        """A text as a parameter."""
        return self.literal(TEXT, value).text

    def written(self, cell: Sql, kind: Kind) -> Sql:
        """As DuckDB writes it."""
        return Sql(f"CAST({cell.text} AS VARCHAR)")

    def parsed(self, to: str, text: Sql) -> Sql:
        """A cast of what follows the grammar."""
        return self._once(text, lambda x: Sql(_PARSED[to].format(x=x.text)))

    def utc(self, cell: Sql, kind: Kind) -> Sql:
        """Without the calendar of time zones, which is Julian before 1582."""
        if kind.step == 1:
            ns = f"epoch_ns({cell.text})"
            return Sql(f"make_timestamp({ns} // 1000 - CAST({ns} % 1000 < 0 AS BIGINT))")
        if kind.name == "timestamp" and kind.declared == "TIMESTAMP":
            return cell
        return Sql(f"make_timestamp(epoch_us({cell.text}))")

    def calendar_day(self, cell: Sql) -> Sql:
        """The date."""
        return cell

    def day(self, moment: Sql) -> Sql:
        """The date."""
        return Sql(f"CAST({moment.text} AS DATE)")

    def midnight(self, day: Sql) -> Sql:
        """The timestamp."""
        return Sql(f"CAST({day.text} AS TIMESTAMP)")

    def part(self, part: str, moment: Sql, kind: Kind) -> Sql:
        """A function of the same name; ISO weekdays are counted from 1."""
        value = f"isodow({moment.text}) - 1" if part == "weekday" else f"{part}({moment.text})"
        return Sql(f"CAST({value} AS BIGINT)")

    def truncated(self, unit: str, moment: Sql, kind: Kind) -> Sql:
        """`date_trunc`."""
        declared = "TIMESTAMP" if unit == "hour" else "DATE"
        return Sql(f"CAST(date_trunc('{unit}', {moment.text}) AS {declared})")

    def days_between(self, day: Sql, other: Sql) -> Sql:
        """A difference of dates."""
        return Sql(f"CAST({day.text} - {other.text} AS DOUBLE)")

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
        return Sql(f"({dividend.text} // {self.whole(divisor).text})")


_SHORT = 100
_LEAST_WHOLE = f"({1 - 2**63} - 1)"


def _parsed(grammar: str, condition: str, value: str) -> str:
    """A cast of a text `x` that follows a grammar."""
    grammar = grammar.replace("{", "{{").replace("}", "}}")
    return f"CASE WHEN regexp_full_match({{x}}, '{grammar}') AND {condition} THEN {value} END"


_FEW = f"length({{x}}) <= {MOST_CHARACTERS}"
_PARSED = {
    "integer": _parsed(
        INTEGER, _FEW, f"nullif(TRY_CAST(split_part({{x}}, '.', 1) AS BIGINT), {_LEAST_WHOLE})"
    ),
    "number": _parsed(NUMBER, _FEW, "TRY_CAST({x} AS DOUBLE)"),
    "boolean": f"CASE WHEN regexp_full_match({{x}}, '{TRUE}') THEN TRUE "
    f"WHEN regexp_full_match({{x}}, '{FALSE}') THEN FALSE END",
    "date": _parsed(DATE, "left({x}, 4) <> '0000'", "TRY_CAST({x} AS DATE)"),
    "timestamp": _parsed(
        TIMESTAMP, "left({x}, 4) <> '0000'", f"TRY_CAST(left({{x}}, {MICROSECONDS}) AS TIMESTAMP)"
    ),
}
"""A text `x` read as a type."""
_SQL_OF = {"text": "VARCHAR", "bytes": "BLOB"}
_TEMPORAL = {  # by kind, and whether the cells are whole microseconds
    ("timestamp", True): "make_timestamp({0})",
    ("timestamp", False): "make_timestamp_ns({0})",
    ("instant", True): "make_timestamptz({0})",
    ("instant", False): "make_timestamp_ns({0})",
    ("duration", True): "to_microseconds({0})",
}

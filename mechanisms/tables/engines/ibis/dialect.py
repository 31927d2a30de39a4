"""Ibis expressions that are the same on every database."""

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any

import attrs

from mechanisms.tables.engines.dialect import Expression
from mechanisms.tables.engines.whole import MOST, in_64_bits, in_domain
from mechanisms.tables.expressions.column_types import DAY, Kind
from mechanisms.tables.expressions.computed import LARGEST, LEAST
from mechanisms.tables.expressions.texts import LOWER, UPPER, WHITE_SPACE

_TYPES = {
    "integer": "int64",
    "float": "float64",
    "text": "string",
    "boolean": "boolean",
    "date": "date",
    "timestamp": "timestamp",
    "instant": "timestamp('UTC')",
}


@cache
def builtin(name: str, given: tuple[str, ...], result: str) -> Callable[..., Expression]:
    """A function of the database itself, by the types of its arguments and its result."""
    import ibis

    def one(x): ...  # type: ignore[no-untyped-def]
    def two(x, y): ...  # type: ignore[no-untyped-def]
    def three(x, y, z): ...  # type: ignore[no-untyped-def]

    function: Callable[..., Expression] = ibis.udf.scalar.builtin(
        (one, two, three)[len(given) - 1], name=name, signature=(given, result)
    )
    return function


def _since(micros: int) -> datetime:
    try:
        return datetime(1970, 1, 1) + timedelta(microseconds=micros)  # noqa: DTZ001 (the column's)
    except OverflowError:
        raise TypeError("give a time before the year 10000 to a table of Ibis") from None


_PLAIN = re.compile(r"[A-Za-z0-9 _.,/+-]*")


@attrs.frozen
class Constants:
    """Constants of text and bytes, made with the functions of one database.

    One rule holds: nothing is written into a statement that an escape convention, a session's
    setting or a substitution of variables could interpret. Text with characters other than
    letters, digits and a few signs is written in hexadecimal digits.

    Args:
        name: of the database, for errors.
        _text, _bytes: expressions of hexadecimal digits; None if no way to write them is known.
        has_nul: whether a text may contain the character NUL.
    """

    name: str
    _text: Callable[[str], Expression] | None = None
    _bytes: Callable[[str], Expression] | None = None
    has_nul: bool = True

    def text(self, value: str) -> Expression:
        """A text, written in hexadecimal digits unless it is plain.

        Raises:
            TypeError: the database cannot hold it, or no way to write it there is known.
        """
        import ibis

        if _PLAIN.fullmatch(value):
            return ibis.literal(value)
        if self._text is None:
            raise TypeError(
                f"use only letters A to Z, digits, spaces and _ . , / + - in constants of text on "
                f"{self.name}"
            )
        if not self.has_nul and "\0" in value:
            raise TypeError(
                f"leave NUL characters out of constants: {self.name} has no text with one"
            )
        return self._text(value.encode().hex())

    def bytes(self, value: bytes) -> Expression:
        """Bytes, written in hexadecimal digits.

        Raises:
            TypeError: no way to write them on this database is known.
        """
        if self._bytes is None:
            raise TypeError(f"leave constants of bytes out: they cannot be written on {self.name}")
        return self._bytes(value.hex())


@attrs.frozen
class IbisDialect:
    """Ibis expressions over the columns of one relation."""

    relation: Any
    constants: Constants
    has_nan: bool = False
    backend: Any = None

    computes = False  # untested on other databases

    largest_dividend = 2**53  # quotients are of doubles: exact for whole numbers up to here

    def cell(self, column: str, kind: Kind) -> Expression:
        """The cell."""
        return self.relation[column]

    def literal(self, kind: Kind, value: Any) -> Expression:
        """A value of a column's domain."""
        import ibis

        step, value = kind.step or Fraction(1), in_domain(kind, value)
        match kind.name:
            case "text":
                return self.constants.text(value)
            case "bytes":
                return self.constants.bytes(value)
            case "decimal":
                scale = len(str(step.denominator)) - 1
                exact = Decimal((int(value < 0), tuple(map(int, str(abs(value)))), -scale))
                return ibis.literal(exact, type=kind.declared)
            case "boolean":
                return ibis.literal(bool(value))
            case "date":
                return ibis.literal(_since(value * DAY // 1000).date())
            case "timestamp" | "instant":
                micros = value * step / 1000
                if micros.denominator != 1:
                    raise TypeError("give a time in whole microseconds to a table of Ibis")
                moment = _since(int(micros))
                zone = UTC if kind.name == "instant" else None
                return ibis.literal(moment.replace(tzinfo=zone))
        return ibis.literal(value)

    def whole(self, value: int) -> Expression:
        """A 64-bit integer. On Postgres, digits alone are of 32 bits, or those of a decimal."""
        import ibis

        literal = ibis.literal(max(in_64_bits(value), -MOST)).cast("int64")
        return literal if value >= -MOST else literal - 1

    def double(self, value: float) -> Expression:
        """A float."""
        import ibis

        return ibis.literal(value, type="float64")

    def truth(self, value: bool) -> Expression:
        """True or false."""
        import ibis

        return ibis.literal(value)

    def present(self, cell: Expression, kind: Kind) -> Expression:
        """Whether the cell is neither null nor NaN."""
        there = cell.notnull()
        return there & ~cell.isnan() if kind.name == "float" and self.has_nan else there

    def one_of(self, cell: Expression, values: Sequence[Expression]) -> Expression:
        """Whether the cell equals one of the values; null if there is no cell."""
        return cell.isin(values)

    def position(self, cell: Expression, values: Sequence[tuple[int, Expression]]) -> Expression:
        """The number of the value that the cell equals, -1 if none."""
        import ibis

        cases = [(cell == value, self.whole(number)) for number, value in values]
        return ibis.cases(*cases, else_=self.whole(-1)) if cases else self.whole(-1)

    def when(self, condition: Expression, yes: Expression, no: Expression) -> Expression:
        """`yes` where the condition holds, else `no`."""
        import ibis

        return ibis.ifelse(condition, yes, no)

    def where(self, condition: Expression, value: Expression) -> Expression:
        """The value where the condition holds, else null."""
        import ibis

        return ibis.ifelse(condition, value, ibis.null(value.type()))

    def surely(self, condition: Expression) -> Expression:
        """False where the condition is null."""
        return condition.fill_null(False)

    def unless_zero(self, value: Expression) -> Expression:
        """Null where the value is zero."""
        return value.nullif(0.0)

    def cases(
        self, values: Sequence[tuple[Expression, Expression]], otherwise: Expression
    ) -> Expression:
        """The value of the first condition that holds."""
        import ibis

        return ibis.cases(*values, else_=otherwise)

    def nothing(self, kind: Kind) -> Expression:
        """A typed null."""
        import ibis

        return ibis.null(_TYPES[kind.name])

    def _once(self, value: Expression, use: Callable[[Expression], Expression]) -> Expression:
        """An expression that uses a value several times.

        What is not a column is written once, as the element of an array that is mapped.
        """
        import ibis

        if isinstance(value.op(), ibis.expr.operations.Field):
            return use(value)
        return ibis.array([value]).map(use)[0]

    def tamed(self, value: Expression) -> Expression:
        """By comparison."""

        def tame(x: Expression) -> Expression:
            zeroed = self.when(x.abs() >= self.double(LEAST), x, self.double(0.0))
            return self.where(x.abs() <= self.double(LARGEST), zeroed)

        return self._once(value, tame)

    def nearest(self, cell: Expression, kind: Kind) -> Expression:
        """A cast."""
        return self.as_double(cell)

    def whole_part(self, cell: Expression, kind: Kind) -> Expression:
        """Rounded toward zero, then cast."""
        if kind.name == "integer":
            return self.as_whole(cell)
        zero = self._untyped(0)
        return self.when(cell < zero, self.as_whole(cell.ceil()), self.as_whole(cell.floor()))

    def truncated_float(self, value: Expression) -> Expression:
        """Only floats within the bounds are cast."""
        within = self.double(2.0**63)
        return self._once(
            value, lambda x: self.where(x.abs() < within, self.whole_part(x, Kind("float")))
        )

    def narrowed(self, value: Expression) -> Expression:
        """Only integers within the bounds are cast."""
        low, high = self._untyped(1 - 2**63), self._untyped(2**63 - 1)
        return self._once(value, lambda x: self.where((x >= low) & (x <= high), self.as_whole(x)))

    def as_truth(self, value: Expression) -> Expression:
        """By comparison."""
        one, zero = self._untyped(1), self._untyped(0)
        return self._once(value, lambda x: self.where((x == one) | (x == zero), x == one))

    def typed(self, cell: Expression) -> Expression:
        """As it is."""
        return cell

    def as_integer(self, cell: Expression, kind: Kind) -> Expression:
        """An integer of 64 bits, or as it is where the kind is wider."""
        return self.as_whole(cell) if kind.high < 2**63 else cell

    def as_bit(self, cell: Expression) -> Expression:
        """True is 1."""
        return self.as_whole(cell.cast("int32"))

    def ordered(self, text: Expression) -> Expression:
        """The text."""
        return text

    def uncollated(self, text: Expression) -> Expression:
        """A text in the database's own collation, even if it is made of several collations."""
        return text

    def changed(self, function: str, text: Expression) -> Expression:
        """Letters are translated."""
        if function == "strip":
            return self._stripped(text)
        given, wanted = (UPPER, LOWER) if function == "lower" else (LOWER, UPPER)
        return builtin("translate", ("string",) * 3, "string")(
            text, self.constants.text(given), self.constants.text(wanted)
        )

    def _stripped(self, text: Expression) -> Expression:
        return builtin("btrim", ("string", "string"), "string")(
            text, self.constants.text(WHITE_SPACE)
        )

    def matched(self, text: Expression, how: str, pattern: str) -> Expression:
        """On the databases that compute."""
        raise TypeError(f"texts are not searched on {self.constants.name}")

    def parsed(self, to: str, text: Expression) -> Expression:
        """On the databases that compute."""
        raise TypeError(f"texts are not read as values on {self.constants.name}")

    def days_between(self, day: Expression, other: Expression) -> Expression:
        """On the databases that compute."""
        raise TypeError(f"dates are not subtracted on {self.constants.name}")

    def utc(self, cell: Expression, kind: Kind) -> Expression:
        """The timestamp."""
        return cell

    def calendar_day(self, cell: Expression) -> Expression:
        """The date."""
        return cell

    def day(self, moment: Expression) -> Expression:
        """The date."""
        return moment.cast("date")

    def midnight(self, day: Expression) -> Expression:
        """The timestamp."""
        return day.cast("timestamp")

    def part(self, part: str, moment: Expression, kind: Kind) -> Expression:
        """Ibis's own parts; its weeks begin on Monday."""
        value = moment.day_of_week.index() if part == "weekday" else getattr(moment, part)()
        return self.as_whole(value)

    def truncated(self, unit: str, moment: Expression, kind: Kind) -> Expression:
        """Ibis's own truncation, of a timestamp."""
        if unit == "hour":
            return moment.truncate("h")
        if unit == "day":
            return moment.cast("date") if kind.name != "date" else moment
        start = moment if kind.name != "date" else self.midnight(moment)
        return start.truncate(unit[0].upper()).cast("date")

    def written(self, cell: Expression, kind: Kind) -> Expression:
        """A cast."""
        return cell.cast("string")

    def clipped(self, value: Expression, low: Expression, high: Expression) -> Expression:
        """The value clipped to the bounds; `low` for a null, or a NaN that compares false."""
        return self.when(value > low, self.when(value < high, value, high), low)

    def magnitude(self, value: Expression) -> Expression:
        """The absolute value."""
        return value.abs()

    def floor(self, value: Expression) -> Expression:
        """The largest whole number at or below the value."""
        return value.floor().cast("float64")

    def as_double(self, value: Expression) -> Expression:
        """A float of 64 bits."""
        return value.cast("float64")

    def as_single(self, value: Expression) -> Expression:
        """The value rounded to 32 bits."""
        return value.cast("float32").cast("float64")

    def as_whole(self, value: Expression) -> Expression:
        """The value as a 64-bit integer."""
        return value.cast("int64")

    def multiples(self, cell: Expression, kind: Kind, low: int, high: int) -> Expression:
        """The cell's multiple of its step, clipped before the cast.

        A decimal is converted to the nearest double. Below 2**49 steps the error is less than half
        a step.
        """
        if kind.name != "decimal":
            truth = kind.name == "boolean"  # Postgres does not cast it to 64 bits
            whole = self.when(cell, self.whole(1), self.whole(0)) if truth else cell
            return self.as_whole(self.clipped(whole, self._untyped(low), self._untyped(high)))
        assert kind.step is not None
        if max(abs(low), abs(high)) >= 2**49:
            raise TypeError(
                "give a sum narrower bounds: they are too wide for the digits of this decimal "
                "column"
            )
        steps = cell.cast("float64") * self.double(float(kind.step.denominator))
        steps = self.clipped(steps, self.double(float(low)), self.double(float(high)))
        return self.as_whole((steps + self.double(0.5)).floor())

    @staticmethod
    def _untyped(value: int) -> Expression:
        import ibis

        return ibis.literal(value)

    def quotient(self, dividend: Expression, divisor: int) -> Expression:
        """The quotient of doubles, rounded down; exact for whole numbers up to 2**53."""
        return self.as_whole((dividend / self.whole(divisor)).floor())

"""SQL in the words that most databases have in common.

All quoting is here and in the dialects that derive from this one. A name is written as an
identifier. Of the rest of a request only numbers and plain texts are written into a statement:
nothing that an escape convention, a session's setting or a substitution of variables could
interpret. Other text is written in hexadecimal digits, or is a bound parameter.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, ClassVar

import attrs

from mechanisms.tables.engines.operands import DATE
from mechanisms.tables.engines.sql.expression import Sql, call, digits_of
from mechanisms.tables.engines.whole import MOST, in_64_bits, in_domain
from mechanisms.tables.expressions.column_types import Kind
from mechanisms.tables.requests.discovery import MOST_BYTES

_PLAIN = re.compile(r"[A-Za-z0-9 _.,/+-]*")
_TYPES = {
    "integer": "BIGINT",
    "float": "DOUBLE",
    "text": "VARCHAR",
    "boolean": "BOOLEAN",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "instant": "TIMESTAMP WITH TIME ZONE",
}


def _since(micros: int) -> datetime:
    try:
        return datetime(1970, 1, 1) + timedelta(microseconds=micros)  # noqa: DTZ001 (the column's)
    except OverflowError:
        raise TypeError("give a time before the year 10000 to a table of Ibis") from None


@attrs.frozen
class SqlDialect:
    """Expressions of any database. A table's columns compare with constants, and no more.

    Args:
        name: of the database, for errors.
        backend: the connection, if expressions depend on its settings.
        has_nan: whether a float may be NaN.
        digest: a function that gives the md5 of a text, in hexadecimal digits.
        row_hash: the hash of a row's text, by which rows are sorted; it may be shorter.
        parameters: the constants that a statement refers to by their numbers.
    """

    name: str = "this database"
    backend: Any = None
    has_nan: bool = True
    digest: str = "md5({})"
    row_hash: str = "md5({})"
    parameters: list[Any] = attrs.field(factory=list)

    computes: ClassVar[bool] = False
    """It is untested on other databases."""
    largest_dividend: ClassVar[int] = 2**53
    """Quotients are of doubles, which are exact for whole numbers up to here."""
    types: ClassVar[Mapping[str, str]] = {}
    """Types that have other names on the database."""
    mark: ClassVar[str] = '"'
    """What stands around a name."""
    hexed: ClassVar[tuple[str, str] | None] = None
    """Expressions that make text and bytes of hexadecimal digits; None if none are known."""
    has_nul: ClassVar[bool] = True
    """Whether a text may contain the character NUL."""
    limb: ClassVar[int | None] = 22
    """Bits of the parts that numbers are added up in, so that sums of 2**41 parts fit in 64 bits;
    None where a sum may be longer."""
    selects: ClassVar[bool] = True
    """Whether it is faster to count the selected rows than to count truth values."""
    byte_length: ClassVar[str] = "length"
    """The function that counts the bytes of a value."""

    def named(self, name: str) -> str:
        """A name as an identifier."""
        return self.mark + name.replace(self.mark, 2 * self.mark) + self.mark

    def type_of(self, name: str) -> str:
        """The database's name of a type."""
        return self.types.get(name, name)

    def cast(self, value: Sql, to: str) -> Sql:
        """A cast to a type, as DuckDB names it."""
        return Sql(f"CAST({value.bare} AS {self.type_of(to)})")

    def cell(self, column: str, kind: Kind) -> Sql:
        """The cell."""
        return Sql(self.named(column), column=kind)

    def literal(self, kind: Kind, value: Any) -> Sql:
        """A value of a column's domain."""
        value = in_domain(kind, value)
        match kind.name:
            case "text":
                return self.text(value)
            case "bytes":
                return self.blob(value)
            case "float":
                return self.double(value)
            case "boolean":
                return self.truth(bool(value))
            case "integer" | "multiple":
                return self.digits(int(value))
            case "decimal":
                return self.decimal(kind, value)
        micros = value * (kind.step or 0) / 1000
        if kind.name != "date" and micros.denominator != 1:
            raise TypeError("give a time in whole microseconds to a table of Ibis")
        return self.moment(kind.name, _since(int(micros)))

    def moment(self, kind: str, moment: datetime) -> Sql:
        """A date, a time, or an instant from its time in UTC."""
        if kind == "date":
            return Sql(f"CAST('{moment.date().isoformat()}' AS DATE)")
        zone = "+00:00" * (kind == "instant")
        return Sql(f"CAST('{moment.isoformat()}{zone}' AS {self.type_of(_TYPES[kind])})")

    def text(self, value: str) -> Sql:
        """A text, written in hexadecimal digits unless it is plain.

        Raises:
            TypeError: the database cannot hold it, or no way to write it there is known.
        """
        if _PLAIN.fullmatch(value):
            return Sql(f"'{value}'")
        if self.hexed is None:
            raise TypeError(
                f"use only letters A to Z, digits, spaces and _ . , / + - in constants of text on "
                f"{self.name}"
            )
        if not self.has_nul and "\0" in value:
            raise TypeError(
                f"leave NUL characters out of constants: {self.name} has no text with one"
            )
        return Sql(self.hexed[0].format(value.encode().hex()), called=True)

    def blob(self, value: bytes) -> Sql:
        """Bytes, written in hexadecimal digits.

        Raises:
            TypeError: no way to write them on this database is known.
        """
        if self.hexed is None:
            raise TypeError(f"leave constants of bytes out: they cannot be written on {self.name}")
        return Sql(self.hexed[1].format(value.hex()))

    def decimal(self, kind: Kind, value: int) -> Sql:
        """A multiple of a decimal column's step."""
        declared = (kind.declared or "").removeprefix("!")
        return Sql(f"CAST('{digits_of(kind, value)}' AS {declared})")

    @staticmethod
    def digits(value: int) -> Sql:
        """An integer of no certain type."""
        return Sql(f"({value})" if value < 0 else str(value))

    def whole(self, value: int) -> Sql:
        """A 64-bit integer. On Postgres, digits alone are of 32 bits, or those of a decimal."""
        literal = self.cast(self.digits(max(in_64_bits(value), -MOST)), "BIGINT")
        return literal if value >= -MOST else literal - self.digits(1)

    def double(self, value: float) -> Sql:
        """A float, written as its shortest decimal."""
        return Sql(f"CAST('{float(value)!r}' AS {self.type_of('DOUBLE')})")

    def truth(self, value: bool) -> Sql:
        """True or false."""
        return Sql("TRUE" if value else "FALSE")

    def present(self, cell: Sql, kind: Kind) -> Sql:
        """Whether the cell is neither null nor NaN."""
        there = Sql(f"({cell.text} IS NOT NULL)", "IS")
        return there & ~self._is_nan(cell) if kind.name == "float" and self.has_nan else there

    def _is_nan(self, cell: Sql) -> Sql:
        return call("isnan", cell)

    def one_of(self, cell: Sql, values: Sequence[Sql]) -> Sql:
        """Whether the cell equals one of the values."""
        return Sql(f"({cell.text} IN ({', '.join(value.text for value in values)}))", "IN")

    def position(self, cell: Sql, values: Sequence[tuple[int, Sql]]) -> Sql:
        """The number of the value that the cell equals, -1 if none."""
        cases = [f"WHEN {cell.text} = {value.text} THEN {int(n)}" for n, value in values]
        if not cases:
            return self.whole(-1)
        return self.cast(Sql(f"CASE {' '.join(cases)} ELSE -1 END"), "BIGINT")

    def when(self, condition: Sql, yes: Sql, no: Sql) -> Sql:
        """A `CASE` of two values."""
        return self.cases([(condition, yes)], no)

    def where(self, condition: Sql, value: Sql) -> Sql:
        """A `CASE` of one value."""
        return Sql(f"CASE WHEN {condition.bare} THEN {value.bare} END")

    def surely(self, condition: Sql) -> Sql:
        """False where the condition is null."""
        return call("coalesce", condition, self.truth(False))

    def unless_zero(self, value: Sql) -> Sql:
        """Null where the value is zero."""
        return call("nullif", value, self.double(0.0))

    def cases(self, values: Sequence[tuple[Sql, Sql]], otherwise: Sql) -> Sql:
        """A `CASE`."""
        each = " ".join(f"WHEN {condition.bare} THEN {value.bare}" for condition, value in values)
        return Sql(f"CASE {each} ELSE {otherwise.bare} END")

    def nothing(self, kind: Kind) -> Sql:
        """A typed null."""
        return self.cast(Sql("NULL"), _TYPES[kind.name])

    def nearest(self, cell: Sql, kind: Kind) -> Sql:
        """A cast. A float that is computed needs none, and parsers limit how deep casts nest."""
        return cell if kind.name == "float" and cell.column is None else self.as_double(cell)

    def whole_part(self, cell: Sql, kind: Kind) -> Sql:
        """Rounded toward zero, then cast."""
        if kind.name == "integer":
            return self.as_whole(cell)
        up, down = (self.as_whole(call(each, cell)) for each in ("ceil", "floor"))
        return self.when(cell < self.digits(0), up, down)

    def as_integer(self, cell: Sql, kind: Kind) -> Sql:
        """An integer of 64 bits, or as it is where the kind is wider."""
        return self.as_whole(cell) if kind.high < 2**63 else cell

    def as_bit(self, cell: Sql) -> Sql:
        """True is 1."""
        return self.as_whole(self.cast(cell, "INT"))

    def ordered(self, text: Sql) -> Sql:
        """The text."""
        return text

    def uncollated(self, text: Sql) -> Sql:
        """A text in the database's own collation, even if it is made of several collations."""
        return text

    def clipped(self, value: Sql, low: Sql, high: Sql) -> Sql:
        """The value clipped to the bounds; `low` for a null, or a NaN that compares false."""
        return self.when(value > low, self.when(value < high, value, high), low)

    def magnitude(self, value: Sql) -> Sql:
        """The absolute value."""
        return call("abs", value)

    def floor(self, value: Sql) -> Sql:
        """The largest whole float at or below the value."""
        return self.as_double(call("floor", value))

    def as_double(self, value: Sql) -> Sql:
        """A float of 64 bits."""
        return self.cast(value, "DOUBLE")

    def as_single(self, value: Sql) -> Sql:
        """The value rounded to 32 bits."""
        return self.as_double(self.cast(value, "FLOAT"))

    def as_whole(self, value: Sql) -> Sql:
        """The value as a 64-bit integer."""
        return self.cast(value, "BIGINT")

    def multiples(self, cell: Sql, kind: Kind, low: int, high: int) -> Sql:
        """The cell's multiple of its step, clipped before the cast.

        A decimal is converted to the nearest double. Below 2**49 steps the error is less than half
        a step.
        """
        if kind.name != "decimal":
            truth = kind.name == "boolean"  # Postgres does not cast it to 64 bits
            whole = self.when(cell, self.whole(1), self.whole(0)) if truth else cell
            return self.as_whole(self.clipped(whole, self.digits(low), self.digits(high)))
        assert kind.step is not None
        if max(abs(low), abs(high)) >= 2**49:
            raise TypeError(
                "give a sum narrower bounds: they are too wide for the digits of this decimal "
                "column"
            )
        steps = self.as_double(cell) * self.double(float(kind.step.denominator))
        steps = self.clipped(steps, self.double(float(low)), self.double(float(high)))
        return self.as_whole(call("floor", steps + self.double(0.5)))

    def quotient(self, dividend: Sql, divisor: int) -> Sql:
        """The quotient of doubles, rounded down; exact for whole numbers up to 2**53."""
        return self.share(dividend, self.whole(divisor))

    def share(self, dividend: Sql, divisor: Sql) -> Sql:
        """The quotient by a computed number above 0, as `quotient`."""
        parts = self.as_double(dividend) / self.as_double(divisor)
        return self.as_whole(call("floor", parts))

    def limbs(self, value: Sql, largest: int) -> list[Sql]:
        """A number up to this size in parts, the last one signed, so that no sum overflows."""
        if self.limb is None:
            return [value]
        limbs = []
        while largest >= 1 << self.limb:
            low = self._masked(value, (1 << self.limb) - 1)
            limbs.append(low)
            value = self.as_whole((value - low) / self.digits(1 << self.limb))  # exact: <= 41 bits
            largest >>= self.limb
        return [*limbs, value]

    def _masked(self, value: Sql, bits: int) -> Sql:
        return value._with("&", self.digits(bits))

    def matched(self, text: Sql, how: str, pattern: str) -> Sql:
        """On the databases that compute."""
        raise TypeError(f"texts are not searched on {self.name}")

    def count_of(self, condition: str) -> str:
        """How many rows satisfy a condition."""
        return f"count(CASE WHEN {condition} THEN 1 END)"

    def written(self, cell: Sql, kind: Kind) -> Sql:
        """A cast."""
        return self.cast(cell, "VARCHAR")

    def as_text(self, cell: Sql, kind: Kind) -> Sql:
        """A cell as it is hashed."""
        return cell if kind.name == "text" else self.cast(cell, "VARCHAR")

    def row_text(self, cells: Iterable[tuple[Sql, Kind]], seed: int) -> Sql:
        """Cells as one text."""
        texts = (self.as_text(*each).text for each in cells)
        each = "".join(f" || coalesce('|=' || {text}, '|-')" for text in texts)
        return Sql(f"('{seed}'{each})", "||")

    def group_hash(self, cells: Iterable[tuple[str, Kind]], seed: int) -> str:
        """The order in which a unit's groups or keys count, of the names of cells: the unit first.

        If the database takes cells for one unit that are written differently, so are their hashes.
        """
        text = self.row_text(((Sql(name), kind) for name, kind in cells), seed)
        return self.digest.format(self.uncollated(text).bare)

    def identity(self, column: str, kind: Kind) -> Sql:
        """The value that identifies a row's unit."""
        return self.cell(column, kind)

    def key(self, cell: Sql, kind: Kind) -> Sql:
        """A cell as a key that is found; of a text its bytes.

        So no collation takes two texts for one key, whose spelling would depend on the rows.
        """
        return self.cast(self.ordered(cell), "BLOB") if kind.name == "text" else cell

    def is_key(self, cell: Sql, kind: Kind) -> Sql:
        """Whether a cell that is there is a key that Python can represent, and not too long."""
        if kind.name in ("text", "bytes"):
            return call(self.byte_length, self.key(cell, kind)) <= self.digits(MOST_BYTES)
        if kind.name == "date":
            first, last = (self.literal(DATE, day) for day in (DATE.low, DATE.high))
            return (cell >= first) & (cell <= last)
        return self.truth(True)

    def given(self, key: str, kind: Kind) -> str:
        """A key that is found, as it is fetched."""
        return key

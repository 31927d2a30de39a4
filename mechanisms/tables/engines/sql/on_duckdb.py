"""DuckDB's expressions: those of a connection of Ibis, and those of the engine that is embedded."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, ClassVar

import attrs

from mechanisms.tables.engines.operands import TEXT
from mechanisms.tables.engines.sql.computing import LEAST_WHOLE, Computing
from mechanisms.tables.engines.sql.expression import Sql, call, identifier
from mechanisms.tables.engines.whole import in_64_bits, in_domain
from mechanisms.tables.expressions.column_types import Kind
from mechanisms.tables.expressions.texts import FOLDED_ALIKE, WHITE_SPACE, expression_of
from mechanisms.tables.requests.discovery import MOST_BYTES

_MATCHED = {"contains": "contains", "starts with": "starts_with", "ends with": "suffix"}


@attrs.frozen
class OnDuckDB(Computing):
    """DuckDB behind Ibis. A column or the session may have a collation."""

    hexed = "decode(unhex('{}'))", "unhex('{}')"
    limb = None
    selects = False
    byte_length = "octet_length"

    def _bound(self, value: Sql, name: Sql, expression: Sql) -> Sql:
        """As the element of a list that is transformed."""
        return Sql(f"list_transform([{value.bare}], lambda {name.text}: {expression.bare})[1]")

    def _follows(self, text: Sql, pattern: Sql) -> Sql:
        return call("regexp_full_match", text, pattern)

    def moment(self, kind: str, moment: datetime) -> Sql:
        """By the number of days or microseconds."""
        since = moment - datetime(1970, 1, 1)  # noqa: DTZ001 (the column's)
        if kind == "date":
            return Sql(f"(DATE '1970-01-01' + ({since.days}))")
        zone = "tz" * (kind == "instant")
        return Sql(f"make_timestamp{zone}({since // timedelta(microseconds=1)})")

    def ordered(self, text: Sql) -> Sql:
        """Its bytes: the column or the session may have a collation."""
        return call("encode", text)

    def nearest(self, cell: Sql, kind: Kind) -> Sql:
        """A cast. Casts of long decimals and integers are not correctly rounded."""
        long = kind.step is not None and kind.high >= (2**64 if kind.step == 1 else 10**15)
        return self.as_double(self.cast(cell, "VARCHAR") if long else cell)

    def _stripped(self, text: Sql) -> Sql:
        return call("trim", text, self.text(WHITE_SPACE))

    def changed(self, function: str, text: Sql) -> Sql:
        """Its own functions where they give the same, as `translate` is slow."""
        if function == "strip":
            return self._stripped(text)
        alike, translated = self.text(f"[{FOLDED_ALIKE}]*"), super().changed

        def folded(x: Sql) -> Sql:
            return self.when(self._follows(x, alike), call(function, x), translated(function, x))

        return self._once(text, folded)

    def matched(self, text: Sql, how: str, pattern: str) -> Sql:
        """`like` as a regular expression of RE2, which takes linear time."""
        if how == "like":
            written = f"(?s:{expression_of(pattern, atomic=False)})"
            return self._follows(text, self.text(written))
        return call(_MATCHED[how], text, self.text(pattern))

    def whole_part(self, cell: Sql, kind: Kind) -> Sql:
        """Truncated, and null beyond 64 bits."""
        return self._read(cell if kind.name == "integer" else call("trunc", cell), "BIGINT")

    def narrowed(self, value: Sql) -> Sql:
        """A cast."""
        return call("nullif", self._read(value, "BIGINT"), LEAST_WHOLE)

    def utc(self, cell: Sql, kind: Kind) -> Sql:
        """Without the calendar of time zones, which is Julian before 1582."""
        if kind.step == 1:
            ns = f"epoch_ns({cell.bare})"
            return Sql(f"make_timestamp({ns} // 1000 - CAST({ns} % 1000 < 0 AS BIGINT))")
        if kind.name == "timestamp":
            return cell
        return call("make_timestamp", call("epoch_us", cell))

    def days_between(self, day: Sql, other: Sql) -> Sql:
        """A difference of dates."""
        return self.as_double(day - other)

    def clipped(self, value: Sql, low: Sql, high: Sql) -> Sql:
        """By comparison, which is faster, if that writes no expression several times.

        NaN is above everything.
        """
        if value.column is not None:
            return super().clipped(value, low, high)
        return call("least", call("greatest", value, low), high)

    def as_double(self, value: Sql) -> Sql:
        """A cast, unless it is the cell of such a column."""
        kind = value.column
        double = kind is not None and kind.name == "float" and not kind.single
        return value if double else super().as_double(value)

    def floor(self, value: Sql) -> Sql:
        """The largest whole float at or below the value."""
        return call("floor", value)

    def count_of(self, condition: str) -> str:
        """Several times as fast as an aggregate with a filter."""
        return f"coalesce(count_if({condition}), 0)"


@attrs.frozen
class DuckDBDialect(OnDuckDB):
    """DuckDB, embedded: its expressions, and the parameters that they refer to."""

    _numbers: dict[Any, int] = attrs.field(factory=dict)

    largest_dividend: ClassVar[int] = 2**63 - 1

    def cell(self, column: str, kind: Kind) -> Sql:
        """The cell; enumerations and UUIDs as text."""
        cell = super().cell(column, kind)
        as_text = kind.name == "text" and kind.declared != "VARCHAR"
        return self.cast(cell, "VARCHAR") if as_text else cell

    def literal(self, kind: Kind, value: Any) -> Sql:
        """A value of a column's domain. Text and bytes are parameters."""
        value = in_domain(kind, value)
        match kind.name:
            case "text" | "bytes":
                number = self._numbers.setdefault(value, len(self.parameters) + 1)
                if number > len(self.parameters):
                    self.parameters.append(value)
                return Sql(f"CAST(${number} AS {_SQL_OF[kind.name]})")
            case "integer" | "multiple" | "float" | "boolean" | "decimal":
                return super().literal(kind, value)
            case "date":
                return Sql(f"(DATE '1970-01-01' + ({int(value)}))")
        return Sql(self.moment_of(kind, str(self.count(kind, value))))

    @staticmethod
    def count(kind: Kind, value: int) -> int:
        """The microseconds of a time or duration, or the nanoseconds if its step is one."""
        nanoseconds = int(value) * int(kind.step or 0)
        return nanoseconds if kind.step == 1 else nanoseconds // 1000

    @staticmethod
    def moment_of(kind: Kind, count: str) -> str:
        """A time or duration, from SQL of its `count`."""
        moment = _TEMPORAL[kind.name, kind.step != 1].format(count)
        # Without this cast, DuckDB might cast the cells, and fail.
        return f"CAST({moment} AS {kind.declared})"

    def text(self, value: str) -> Sql:
        """A parameter."""
        return self.literal(TEXT, value)

    def _grammar(self, pattern: str) -> Sql:
        return Sql(f"'{pattern}'")

    @staticmethod
    def digits(value: int) -> Sql:
        """An integer of no certain type."""
        return Sql(f"({value})")

    def whole(self, value: int) -> Sql:
        """A 64-bit integer."""
        return Sql(f"({in_64_bits(value)})::BIGINT")

    def double(self, value: float) -> Sql:
        """A float, written as its shortest decimal."""
        return Sql(f"'{float(value)!r}'::DOUBLE")

    def ordered(self, text: Sql) -> Sql:
        """Texts compare by code points."""
        return text

    def as_integer(self, cell: Sql, kind: Kind) -> Sql:
        """A BIGINT, or a HUGEINT for what is beyond it."""
        wide = not -(2**63) <= kind.low <= kind.high < 2**63
        return self._read(cell, "HUGEINT" if wide else "BIGINT")

    def utc(self, cell: Sql, kind: Kind) -> Sql:
        """A timestamp of another precision is converted too."""
        if kind.step != 1 and kind.name == "timestamp" and kind.declared != "TIMESTAMP":
            return call("make_timestamp", call("epoch_us", cell))
        return super().utc(cell, kind)

    def multiples(self, cell: Sql, kind: Kind, low: int, high: int) -> Sql:
        """The cell's multiple of its step, clipped first, so that the cast cannot overflow."""
        if kind.name == "boolean":
            return self.clipped(self.as_whole(cell), self.whole(low), self.whole(high))
        inside = self.clipped(cell, self.literal(kind, low), self.literal(kind, high))
        if kind.name == "decimal":
            assert kind.step is not None
            step = kind.step.denominator
            if max(abs(low), abs(high)) * step >= 10**38:
                raise TypeError(
                    "give a sum narrower bounds: they are too wide for the digits of this decimal "
                    "column"
                )
            longest = self.cast(inside, f"DECIMAL(38, {len(str(step)) - 1})")
            inside = longest * Sql(str(step))
        return self.as_whole(inside)

    def quotient(self, dividend: Sql, divisor: int) -> Sql:
        """Integer division."""
        return Sql(f"({dividend.text} // {self.whole(divisor).text})")

    def group_hash(self, cells: Iterable[tuple[str, Kind]], seed: int) -> str:
        """DuckDB's own hash."""
        return _hash_of((name for name, _ in cells), seed)

    def identity(self, column: str, kind: Kind) -> Sql:
        """The cell, or the digest of a long one.

        A digest has 64 characters, and only cells of fewer than 64 are used directly.
        """
        name, digest = identifier(column), f"sha256({identifier(column)})"
        if kind.name == "bytes":
            short = f"octet_length({name}) < 64"
            return Sql(f"CASE WHEN {short} THEN {name} ELSE CAST({digest} AS BLOB) END")
        if kind.name == "text" and kind.declared == "VARCHAR":
            return Sql(f"CASE WHEN strlen({name}) < 64 THEN {name} ELSE {digest} END")
        return Sql(name)

    def key(self, cell: Sql, kind: Kind) -> Sql:
        """The cell."""
        return cell

    def is_key(self, cell: Sql, kind: Kind) -> Sql:
        """Texts are measured in bytes."""
        if kind.name == "text":
            short = kind.declared in ("VARCHAR", "")
            return call("strlen", cell) <= Sql(str(MOST_BYTES)) if short else self.truth(True)
        return super().is_key(cell, kind)

    def given(self, key: str, kind: Kind) -> str:
        """Arrow has no integers of 128 bits."""
        return f"CAST({key} AS VARCHAR)" if is_wide(kind) else key


def is_wide(kind: Kind) -> bool:
    """Whether its integers may be of more than 64 bits."""
    return kind.name == "decimal" or (
        kind.name == "integer" and not -(2**63) <= kind.low <= kind.high < 2**63
    )


def _hash_of(names: Iterable[str], seed: int) -> str:
    return f"hash(xor(hash({', '.join(names)}), {seed}::UBIGINT))"


def hash_of(columns: Iterable[str], seed: int) -> str:
    """The hash of a row's cells and the seed."""
    return _hash_of(map(identifier, columns), seed)


_SQL_OF: Mapping[str, str] = {"text": "VARCHAR", "bytes": "BLOB"}
_TEMPORAL = {  # by kind, and whether the cells are whole microseconds
    ("timestamp", True): "make_timestamp({0})",
    ("timestamp", False): "make_timestamp_ns({0})",
    ("instant", True): "make_timestamptz({0})",
    ("instant", False): "make_timestamp_ns({0})",
    ("duration", True): "to_microseconds({0})",
}

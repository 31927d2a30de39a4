"""The expressions of Postgres and Spark, each with its own functions."""

from collections.abc import Mapping
from typing import ClassVar

import attrs

from mechanisms.tables.engines.sql.computing import Computing
from mechanisms.tables.engines.sql.dialect import SqlDialect
from mechanisms.tables.engines.sql.expression import Sql, call
from mechanisms.tables.expressions.column_types import Kind
from mechanisms.tables.expressions.texts import expression_of

_ENDS = str(2**1024 - 2**970), f"0.{str(5**1075).zfill(1075)}"
"""Decimals at which the nearest float becomes infinite, and zero."""


class LikePostgres(SqlDialect):
    """A database on which NaN equals itself."""

    def _is_nan(self, cell: Sql) -> Sql:
        return cell == self.double(float("nan"))


@attrs.frozen
class OnPostgres(Computing, LikePostgres):
    """Postgres. Texts are searched in the database's own collation, whatever the column's is."""

    types: ClassVar[Mapping[str, str]] = {
        "DOUBLE": "DOUBLE PRECISION",
        "FLOAT": "REAL",
        "BLOB": "BYTEA",
    }
    hexed = "convert_from(decode('{}', 'hex'), 'UTF8')", "decode('{}', 'hex')"
    has_nul = False
    limb = None  # its sums are decimals

    def _bound(self, value: Sql, name: Sql, expression: Sql) -> Sql:
        """As the only row of a function, which is not written into the expression."""
        return Sql(f"(SELECT {expression.bare} FROM unnest(ARRAY[{value.bare}]) AS o({name.text}))")

    def present(self, cell: Sql, kind: Kind) -> Sql:
        """Its decimals may be NaN too."""
        if kind.name == "decimal":
            return super().present(cell, kind) & ~self._is_nan(self.as_double(cell))
        return super().present(cell, kind)

    def ordered(self, text: Sql) -> Sql:
        """Its bytes: collations have other orders."""
        return call("convert_to", text, Sql("'UTF8'"))

    def nearest(self, cell: Sql, kind: Kind) -> Sql:
        """A cast; NaN of a decimal becomes null."""
        number = super().nearest(cell, kind)
        if kind.name != "decimal":
            return number
        return call("nullif", number, self.double(float("nan")))

    def _plain(self, text: Sql) -> Sql:
        """The text without the collation of its column, which may not support a search.

        A function's result has none here; a choice between columns has theirs.
        """
        return text if text.called else self.uncollated(text)

    def uncollated(self, text: Sql) -> Sql:
        """The text of its bytes."""
        return call("convert_from", self.ordered(text), Sql("'UTF8'"))

    def changed(self, function: str, text: Sql) -> Sql:
        """Letters are translated."""
        return super().changed(function, self._plain(text))

    def parsed(self, to: str, text: Sql) -> Sql:
        """A value of what follows the grammar."""
        return super().parsed(to, self._plain(text))

    def _follows(self, text: Sql, pattern: Sql) -> Sql:
        return call("textregexeq", text, pattern)

    def _grammar(self, pattern: str) -> Sql:
        return self.text(f"^({pattern})$")

    def matched(self, text: Sql, how: str, pattern: str) -> Sql:
        """Functions of text."""
        text, constant = self._plain(text), self.text(pattern)
        match how:
            case "contains":
                return call("strpos", text, constant) > self.digits(0)
            case "starts with":
                return call("starts_with", text, constant)
            case "ends with":
                return call("right", text, self.digits(len(pattern))) == constant
        return call("textlike", text, self.text(pattern.replace("\\", "\\\\")))

    def utc(self, cell: Sql, kind: Kind) -> Sql:
        """An instant in UTC."""
        return call("timezone", Sql("'UTC'"), cell) if kind.name == "instant" else cell

    def days_between(self, day: Sql, other: Sql) -> Sql:
        """A difference of dates."""
        return self.as_double(day - other)

    def written(self, cell: Sql, kind: Kind) -> Sql:
        """Dates by ISO 8601, whatever the session's style is."""
        if kind.name != "date":
            return super().written(cell, kind)
        return call("to_char", self.midnight(cell), Sql("'YYYY-MM-DD'"))

    def as_text(self, cell: Sql, kind: Kind) -> Sql:
        """Bytes as text that escapes some of them."""
        return (
            call("encode", cell, Sql("'escape'"))
            if kind.name == "bytes"
            else super().as_text(cell, kind)
        )

    def _read(self, text: Sql, to: str) -> Sql:
        return self.cast(text, to)

    def _read_integer(self, digits: Sql) -> Sql:
        significant = self._follows(digits, self._grammar("[+-]?0*[0-9]{1,19}"))
        number = self.cast(digits, "DECIMAL(38, 0)")
        within = (number <= self.whole(2**63 - 1)) & (number >= self.whole(1 - 2**63))
        return self.where(significant, self.where(within, self.as_whole(number)))

    def _read_number(self, x: Sql) -> Sql:
        """An exact decimal first: a float beyond the range is an error on Postgres."""
        nothing, zero, inf = Sql("''"), self.double(0.0), self.double(float("inf"))
        mantissa = call("regexp_replace", x, self.text("[eE].*"), nothing)
        exponent = call("regexp_replace", x, self.text("^[^eE]*[eE]?"), nothing)
        power = self.when(exponent == nothing, self.digits(0), self.as_whole(exponent))
        size = call("abs", self.cast(x, "DECIMAL"))
        beyond, below = (self.cast(self.text(each), "DECIMAL") for each in _ENDS)
        cases = [
            (self._follows(x, self._grammar("[+-]?[iI].*")), inf),
            (self.cast(mantissa, "DECIMAL") == self.digits(0), zero),
            (power > self.digits(800), inf),
            (power < self.digits(-800), zero),
            (size >= beyond, inf),
            (size <= below, zero),
        ]
        value = self.cases(cases, self.as_double(size))
        return self._once(
            value,
            lambda v: self.when(call("left", x, Sql("1")) == Sql("'-'"), Sql(f"(-{v.text})"), v),
        )


@attrs.frozen
class OnSpark(Computing):
    """Spark, in a session whose time zone is UTC where times are computed with."""

    types: ClassVar[Mapping[str, str]] = {
        "VARCHAR": "STRING",
        "BLOB": "BINARY",
        "TIMESTAMP WITH TIME ZONE": "TIMESTAMP",
    }
    mark = "`"
    hexed = "decode(unhex('{}'), 'UTF-8')", "unhex('{}')"

    def _bound(self, value: Sql, name: Sql, expression: Sql) -> Sql:
        """As the element of an array that is transformed."""
        return Sql(f"transform(array({value.bare}), {name.text} -> {expression.bare})[0]")

    def ordered(self, text: Sql) -> Sql:
        """Its bytes: the column may have a collation."""
        return self.cast(text, "BLOB")

    def _follows(self, text: Sql, pattern: Sql) -> Sql:
        return call("regexp_like", text, pattern)

    def _grammar(self, pattern: str) -> Sql:
        return self.text(f"(?s)\\A(?:{pattern})\\z")

    def matched(self, text: Sql, how: str, pattern: str) -> Sql:
        """`like` as a regular expression of Java, with atomic groups."""
        if how == "like":
            return self._follows(text, self._grammar(expression_of(pattern, atomic=True)))
        name = {"contains": "contains", "starts with": "startswith", "ends with": "endswith"}[how]
        return call(name, text, self.text(pattern))

    def utc(self, cell: Sql, kind: Kind) -> Sql:
        """The cell: an instant is shown in the session's time zone."""
        zone = self.backend._session.conf.get("spark.sql.session.timeZone")
        if zone not in ("UTC", "Etc/UTC", "GMT", "Z", "+00:00"):
            raise TypeError(
                f"set spark.sql.session.timeZone to UTC; it is {zone}, and times are computed in it"
            )
        return cell

    def days_between(self, day: Sql, other: Sql) -> Sql:
        """Its own difference."""
        return self.as_double(call("datediff", day, other))

    def part(self, part: str, moment: Sql, kind: Kind) -> Sql:
        """Its own weekdays."""
        if part == "weekday":
            return self.as_whole(call("weekday", moment))
        return super().part(part, moment, kind)

    def truncated(self, unit: str, moment: Sql, kind: Kind) -> Sql:
        """`trunc` of dates."""
        if unit in ("hour", "day"):
            return super().truncated(unit, moment, kind)
        day = moment if kind.name == "date" else self.day(moment)
        return call("trunc", day, Sql(f"'{unit}'"))

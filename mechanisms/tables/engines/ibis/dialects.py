"""The dialects of the databases on which operands are computed, each with its own functions.

What a function gives is defined by `grammar` and `texts`. Regular expressions are matched in linear
time: by RE2 on DuckDB, by an automaton on Postgres, with atomic groups by Java and Python.
"""

import attrs

from mechanisms.tables.engines.dialect import Expression
from mechanisms.tables.engines.ibis.dialect import IbisDialect, builtin
from mechanisms.tables.expressions.column_types import Kind
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
from mechanisms.tables.expressions.texts import FOLDED_ALIKE, WHITE_SPACE, expression_of

_TEXTS = ("string", "string")


class _Parsing(IbisDialect):
    """Texts that are read as values after they have been matched."""

    def _follows(self, text: Expression, grammar: str) -> Expression:
        """Whether the whole text matches a regular expression."""
        raise TypeError(grammar)

    def parsed(self, to: str, text: Expression) -> Expression:
        """A value of what follows the grammar."""
        return self._once(text, getattr(self, f"_{to}"))

    def _integer(self, text: Expression) -> Expression:
        short = text.length() <= self._untyped(MOST_CHARACTERS)
        digits = builtin("split_part", ("string", "string", "int32"), "string")(
            text, self.constants.text("."), self._untyped(1).cast("int32")
        )
        return self.where(self._follows(text, INTEGER) & short, self._read_integer(digits))

    def _read_integer(self, digits: Expression) -> Expression:
        return digits.try_cast("int64").nullif(self._untyped(-(2**63)))

    def _number(self, text: Expression) -> Expression:
        short = text.length() <= self._untyped(MOST_CHARACTERS)
        return self.where(self._follows(text, NUMBER) & short, self._read_number(text))

    def _read_number(self, text: Expression) -> Expression:
        return text.try_cast("float64")

    def _boolean(self, text: Expression) -> Expression:
        cases = [(self._follows(text, TRUE), self.truth(True))]
        cases += [(self._follows(text, FALSE), self.truth(False))]
        return self.cases(cases, self.nothing(Kind("boolean")))

    def _date(self, text: Expression) -> Expression:
        return self.where(self._dated(text, DATE), self._read(text, "date"))

    def _timestamp(self, text: Expression) -> Expression:
        micros = text.left(MICROSECONDS)
        return self.where(self._dated(text, TIMESTAMP), self._read(micros, "timestamp"))

    def _dated(self, text: Expression, grammar: str) -> Expression:
        return self._follows(text, grammar) & (text.left(4) != self.constants.text("0000"))

    def _read(self, text: Expression, to: str) -> Expression:
        return text.try_cast(to)


@attrs.frozen
class OnDuckDB(_Parsing):
    """DuckDB, with the functions that `sql` uses."""

    computes = True

    def _follows(self, text: Expression, grammar: str) -> Expression:
        match = builtin("regexp_full_match", _TEXTS, "boolean")
        return match(text, self.constants.text(grammar))

    def ordered(self, text: Expression) -> Expression:
        """Its bytes: the column or the session may have a collation."""
        return builtin("encode", ("string",), "binary")(text)

    def nearest(self, cell: Expression, kind: Kind) -> Expression:
        """A cast; casts of long decimals are not correctly rounded."""
        long = kind.name == "decimal" and kind.high >= 10**15
        return self.as_double(cell.cast("string") if long else cell)

    def _stripped(self, text: Expression) -> Expression:
        return builtin("trim", _TEXTS, "string")(text, self.constants.text(WHITE_SPACE))

    def changed(self, function: str, text: Expression) -> Expression:
        """Its own functions where they give the same, as `translate` is slow."""
        if function == "strip":
            return self._stripped(text)
        own = builtin(function, ("string",), "string")
        translated = super().changed
        return self._once(
            text,
            lambda x: self.when(
                self._follows(x, f"[{FOLDED_ALIKE}]*"), own(x), translated(function, x)
            ),
        )

    def matched(self, text: Expression, how: str, pattern: str) -> Expression:
        """`like` as a regular expression of RE2."""
        if how == "like":
            return self._follows(text, f"(?s:{expression_of(pattern, atomic=False)})")
        name = {"contains": "contains", "starts with": "starts_with", "ends with": "suffix"}[how]
        return builtin(name, _TEXTS, "boolean")(text, self.constants.text(pattern))

    def utc(self, cell: Expression, kind: Kind) -> Expression:
        """Without the calendar of time zones, which is Julian before 1582."""
        declared, make = str(cell.type()), builtin("make_timestamp", ("int64",), "timestamp")
        if kind.step == 1:
            ns = builtin("epoch_ns", (declared,), "int64")(cell)
            return make((ns - ((ns % 1000) + 1000) % 1000) // 1000)
        if kind.name == "instant":
            return make(builtin("epoch_us", (declared,), "int64")(cell))
        return cell

    def days_between(self, day: Expression, other: Expression) -> Expression:
        """The number of midnights between them."""
        count = builtin("date_diff", ("string", "date", "date"), "int64")
        return count(self.constants.text("day"), other, day).cast("float64")


@attrs.frozen
class OnPostgres(_Parsing):
    """Postgres. Texts are searched in the database's own collation, whatever the column's is."""

    computes = True

    def present(self, cell: Expression, kind: Kind) -> Expression:
        """Its decimals may be NaN too."""
        if kind.name == "decimal":
            return cell.notnull() & ~cell.cast("float64").isnan()
        return super().present(cell, kind)

    def ordered(self, text: Expression) -> Expression:
        """Its bytes: collations have other orders."""
        encode = builtin("convert_to", _TEXTS, "binary")
        return encode(text, self.constants.text("UTF8"))

    def nearest(self, cell: Expression, kind: Kind) -> Expression:
        """A cast; NaN of a decimal becomes null."""
        number = self.as_double(cell)
        if kind.name != "decimal":
            return number
        import ibis

        return number.nullif(ibis.literal(float("nan")))

    def _plain(self, text: Expression) -> Expression:
        """The text without the collation of its column, which may not support a search.

        A function's result has none here; a choice between columns has theirs.
        """
        import ibis

        computed = isinstance(text.op(), ibis.expr.operations.ScalarUDF)
        return text if computed else self.uncollated(text)

    def uncollated(self, text: Expression) -> Expression:
        """The text of its bytes."""
        decode = builtin("convert_from", ("binary", "string"), "string")
        return decode(self.ordered(text), self.constants.text("UTF8"))

    def changed(self, function: str, text: Expression) -> Expression:
        """Letters are translated."""
        return super().changed(function, self._plain(text))

    def parsed(self, to: str, text: Expression) -> Expression:
        """A value of what follows the grammar."""
        return super().parsed(to, self._plain(text))

    def _follows(self, text: Expression, grammar: str) -> Expression:
        match = builtin("textregexeq", _TEXTS, "boolean")
        return match(text, self.constants.text(f"^({grammar})$"))

    def matched(self, text: Expression, how: str, pattern: str) -> Expression:
        """Functions of text."""
        text, constant = self._plain(text), self.constants.text(pattern)
        match how:
            case "contains":
                found = builtin("strpos", _TEXTS, "int64")(text, constant)
                return found > self._untyped(0)
            case "starts with":
                return builtin("starts_with", _TEXTS, "boolean")(text, constant)
            case "ends with":
                return text.right(len(pattern)) == constant
        escaped = self.constants.text(pattern.replace("\\", "\\\\"))
        return builtin("textlike", _TEXTS, "boolean")(text, escaped)

    def utc(self, cell: Expression, kind: Kind) -> Expression:
        """An instant in UTC."""
        if kind.name != "instant":
            return cell
        zoned = builtin("timezone", ("string", str(cell.type())), "timestamp")
        return zoned(self.constants.text("UTC"), cell)

    def days_between(self, day: Expression, other: Expression) -> Expression:
        """The function behind its minus."""
        return builtin("date_mi", ("date", "date"), "int32")(day, other).cast("float64")

    def written(self, cell: Expression, kind: Kind) -> Expression:
        """Dates by ISO 8601, whatever the session's style is."""
        if kind.name != "date":
            return cell.cast("string")
        form = builtin("to_char", ("timestamp", "string"), "string")
        return form(self.midnight(cell), self.constants.text("YYYY-MM-DD"))

    def _read(self, text: Expression, to: str) -> Expression:
        return text.cast(to)

    def _read_integer(self, digits: Expression) -> Expression:
        significant = self._follows(digits, "[+-]?0*[0-9]{1,19}")
        number = digits.cast("decimal(38, 0)")
        within = (number <= self.whole(2**63 - 1)) & (number >= self.whole(1 - 2**63))
        return self.where(significant, self.where(within, self.as_whole(number)))

    def _read_number(self, text: Expression) -> Expression:
        """An exact decimal first: a float beyond the range is an error on Postgres."""
        replaced = builtin("regexp_replace", ("string",) * 3, "string")
        nothing = self.constants.text("")
        mantissa = replaced(text, self.constants.text("[eE].*"), nothing).cast("decimal")
        exponent = replaced(text, self.constants.text("^[^eE]*[eE]?"), nothing)
        power = self.when(exponent == nothing, self._untyped(0), exponent.cast("int64"))
        size = text.cast("decimal").abs()
        zero, inf = self.double(0.0), self.double(float("inf"))
        beyond, below = (self.constants.text(each).cast("decimal") for each in _ENDS)
        cases = [
            (self._follows(text, "[+-]?[iI].*"), inf),
            (mantissa == self._untyped(0), zero),
            (power > self._untyped(800), inf),
            (power < self._untyped(-800), zero),
            (size >= beyond, inf),
            (size <= below, zero),
        ]
        value = self.cases(cases, size.cast("float64"))
        return self.when(text.left(1) == self.constants.text("-"), -value, value)


_ENDS = str(2**1024 - 2**970), f"0.{str(5**1075).zfill(1075)}"
"""Decimals at which the nearest float becomes infinite, and zero."""


@attrs.frozen
class OnSpark(_Parsing):
    """Spark, in a session whose time zone is UTC where times are computed with."""

    computes = True

    def ordered(self, text: Expression) -> Expression:
        """Its bytes: the column may have a collation."""
        return text.cast("binary")

    def _follows(self, text: Expression, grammar: str) -> Expression:
        match = builtin("regexp_like", _TEXTS, "boolean")
        return match(text, self.constants.text(f"(?s)\\A(?:{grammar})\\z"))

    def matched(self, text: Expression, how: str, pattern: str) -> Expression:
        """`like` as a regular expression of Java, with atomic groups."""
        if how == "like":
            return self._follows(text, expression_of(pattern, atomic=True))
        name = {"contains": "contains", "starts with": "startswith", "ends with": "endswith"}[how]
        return builtin(name, _TEXTS, "boolean")(text, self.constants.text(pattern))

    def utc(self, cell: Expression, kind: Kind) -> Expression:
        """The cell: an instant is shown in the session's time zone."""
        zone = self.backend._session.conf.get("spark.sql.session.timeZone")
        if zone not in ("UTC", "Etc/UTC", "GMT", "Z", "+00:00"):
            raise TypeError(
                f"set spark.sql.session.timeZone to UTC; it is {zone}, and times are computed in it"
            )
        return cell

    def days_between(self, day: Expression, other: Expression) -> Expression:
        """Its own difference."""
        return builtin("datediff", ("date", "date"), "int32")(day, other).cast("float64")

    def truncated(self, unit: str, moment: Expression, kind: Kind) -> Expression:
        """`trunc` of dates."""
        if unit in ("hour", "day"):
            return IbisDialect.truncated(self, unit, moment, kind)
        day = moment if kind.name == "date" else self.day(moment)
        return builtin("trunc", ("date", "string"), "date")(day, self.constants.text(unit))


@attrs.frozen
class OnSQLite(IbisDialect):
    """SQLite, with Python's functions, which raise for no cell."""

    computes = True

    def _call(self, name: str, result: str, value: Expression, *given: str) -> Expression:
        """A function of `sqlite_functions`, of a cell and constants.

        A text in a column of numbers could be invalid, which is an error when it is passed.
        """
        if value.type().is_numeric() or value.type().is_boolean():
            value = self._if_number(value, value)
        constants = [self.constants.text(each) for each in given]
        kinds = (str(value.type()), *("string" for _ in given))
        return builtin(f"queryable_{name}", kinds, result)(value, *constants)

    def _of_text(self, name: str, result: str, text: Expression, *given: str) -> Expression:
        """A function of the bytes of a text."""
        return self._call(name, result, text.cast("string").cast("binary"), *given)

    def tamed(self, value: Expression) -> Expression:
        """By a function."""
        return self._call("tamed", "float64", value)

    def nearest(self, cell: Expression, kind: Kind) -> Expression:
        """A cast, and null for a text in a column of numbers."""
        return self._if_number(cell, self.as_double(cell))

    def _if_number(self, cell: Expression, value: Expression) -> Expression:
        """The value, and null where the cell of a column is no number."""
        import ibis

        if not isinstance(cell.op(), ibis.expr.operations.Field):
            return value
        found = builtin("typeof", (str(cell.type()),), "string")(cell)
        return self.where(found.isin(["integer", "real"]), value)

    def truncated_float(self, value: Expression) -> Expression:
        """By a function."""
        return self._call("whole", "int64", value)

    def narrowed(self, value: Expression) -> Expression:
        """By a function."""
        return self._call("narrow", "int64", value)

    def typed(self, cell: Expression) -> Expression:
        """Null for a text, which a function would not take."""
        return self._if_number(cell, cell)

    def as_truth(self, value: Expression) -> Expression:
        """By a function."""
        return self._call("as_truth", "boolean", value)

    def ordered(self, text: Expression) -> Expression:
        """The text, without a collation of its column."""
        return text + self.constants.text("")

    def changed(self, function: str, text: Expression) -> Expression:
        """By a function."""
        return self._of_text(function, "string", text)

    def matched(self, text: Expression, how: str, pattern: str) -> Expression:
        """By a function."""
        return self._of_text("matches", "boolean", text, how, pattern)

    def written(self, cell: Expression, kind: Kind) -> Expression:
        """Integers by a cast, booleans by a function, dates as they are."""
        if kind.name == "boolean":
            return self._call("truth_text", "string", cell)
        return cell.cast("string")

    def parsed(self, to: str, text: Expression) -> Expression:
        """By a function."""
        result = {"integer": "int64", "number": "float64"}.get(to, to)
        return self._of_text(f"read_{to}", result, text)

    def utc(self, cell: Expression, kind: Kind) -> Expression:
        """The text of a time, in one form."""
        return self._of_text("moment", "timestamp", cell)

    def calendar_day(self, cell: Expression) -> Expression:
        """The text of a date, if it is one."""
        return self._of_text("calendar_day", "date", cell)

    def day(self, moment: Expression) -> Expression:
        """By a function."""
        return self._call("day", "date", moment)

    def midnight(self, day: Expression) -> Expression:
        """By a function."""
        return self._call("midnight", "timestamp", day)

    def part(self, part: str, moment: Expression, kind: Kind) -> Expression:
        """By a function."""
        return self._call("part", "int64", moment, part)

    def truncated(self, unit: str, moment: Expression, kind: Kind) -> Expression:
        """By a function."""
        return self._call("truncated", "timestamp" if unit == "hour" else "date", moment, unit)

    def days_between(self, day: Expression, other: Expression) -> Expression:
        """By a function."""
        return builtin("queryable_days_between", ("date", "date"), "float64")(day, other)

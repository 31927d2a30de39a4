"""SQLite's expressions."""

from collections.abc import Mapping
from datetime import datetime
from typing import ClassVar

import attrs

from mechanisms.tables.engines.sql.dialect import SqlDialect
from mechanisms.tables.engines.sql.expression import Sql, call, digits_of
from mechanisms.tables.expressions.column_types import Kind


@attrs.frozen
class OnSQLite(SqlDialect):
    """SQLite, with Python's functions, which raise for no cell."""

    computes = True
    types: ClassVar[Mapping[str, str]] = {
        "INT": "INTEGER",
        "BIGINT": "INTEGER",
        "DOUBLE": "REAL",
        "FLOAT": "REAL",
        "VARCHAR": "TEXT",
        "BOOLEAN": "INTEGER",
        "DATE": "TEXT",
        "TIMESTAMP": "TEXT",
        "TIMESTAMP WITH TIME ZONE": "TEXT",
    }
    hexed = "queryable_text('{}')", "queryable_bytes('{}')"

    def moment(self, kind: str, moment: datetime) -> Sql:
        """As SQLite stores it, as text."""
        text = moment.date().isoformat() if kind == "date" else moment.isoformat(sep=" ")
        return Sql(f"'{text}'")

    def decimal(self, kind: Kind, value: int) -> Sql:
        """SQLite has floats for them."""
        return Sql(digits_of(kind, value))

    def double(self, value: float) -> Sql:
        """A float, written as its shortest decimal."""
        text = repr(float(value)).replace("inf", "1e999")
        return Sql(f"({text})" if text.startswith("-") else text)

    def _call(self, name: str, value: Sql, *given: str) -> Sql:
        """A function of `sqlite_functions`, of a cell and constants.

        A text in a column of numbers could be invalid, which is an error when it is passed.
        """
        if value.column is not None and value.column.family in ("number", "boolean"):
            value = self._if_number(value, value)
        return call(f"queryable_{name}", value, *map(self.text, given))

    def _of_text(self, name: str, text: Sql, *given: str) -> Sql:
        """A function of the bytes of a text."""
        return self._call(name, self.cast(self.cast(text, "VARCHAR"), "BLOB"), *given)

    def tamed(self, value: Sql) -> Sql:
        """By a function."""
        return self._call("tamed", value)

    def nearest(self, cell: Sql, kind: Kind) -> Sql:
        """A cast, and null for a text in a column of numbers."""
        return self._if_number(cell, super().nearest(cell, kind))

    def _if_number(self, cell: Sql, value: Sql) -> Sql:
        """The value, and null where the cell of a column is no number."""
        if cell.column is None:
            return value
        found = self.one_of(call("typeof", cell), [Sql("'integer'"), Sql("'real'")])
        return self.where(found, value)

    def truncated_float(self, value: Sql) -> Sql:
        """By a function."""
        return self._call("whole", value)

    def narrowed(self, value: Sql) -> Sql:
        """By a function."""
        return self._call("narrow", value)

    def typed(self, cell: Sql) -> Sql:
        """Null for a text, which a function would not take."""
        return self._if_number(cell, cell)

    def as_truth(self, value: Sql) -> Sql:
        """By a function."""
        return self._call("as_truth", value)

    def ordered(self, text: Sql) -> Sql:
        """The text, without a collation of its column."""
        return Sql(f"({text.text} || '')", "||")

    def changed(self, function: str, text: Sql) -> Sql:
        """By a function."""
        return self._of_text(function, text)

    def matched(self, text: Sql, how: str, pattern: str) -> Sql:
        """By a function."""
        return self._of_text("matches", text, how, pattern)

    def written(self, cell: Sql, kind: Kind) -> Sql:
        """Integers by a cast, booleans by a function, dates as they are."""
        if kind.name == "boolean":
            return self._call("truth_text", cell)
        return self.cast(cell, "VARCHAR")

    def parsed(self, to: str, text: Sql) -> Sql:
        """By a function."""
        return self._of_text(f"read_{to}", text)

    def utc(self, cell: Sql, kind: Kind) -> Sql:
        """The text of a time, in one form."""
        return self._of_text("moment", cell)

    def calendar_day(self, cell: Sql) -> Sql:
        """The text of a date, if it is one."""
        return self._of_text("calendar_day", cell)

    def day(self, moment: Sql) -> Sql:
        """By a function."""
        return self._call("day", moment)

    def midnight(self, day: Sql) -> Sql:
        """By a function."""
        return self._call("midnight", day)

    def part(self, part: str, moment: Sql, kind: Kind) -> Sql:
        """By a function."""
        return self._call("part", moment, part)

    def truncated(self, unit: str, moment: Sql, kind: Kind) -> Sql:
        """By a function."""
        return self._call("truncated", moment, unit)

    def days_between(self, day: Sql, other: Sql) -> Sql:
        """By a function."""
        return call("queryable_days_between", day, other)

    def key(self, cell: Sql, kind: Kind) -> Sql:
        """Also of dates, which may be invalid texts."""
        if kind.name == "date":
            return self.cast(self.cast(cell, "VARCHAR"), "BLOB")
        return super().key(cell, kind)

    def is_key(self, cell: Sql, kind: Kind) -> Sql:
        """Also, that it is stored as a value of its column's type."""
        stored = _STORED.get(kind.name, ("integer", "real"))
        types = [Sql(f"'{each}'") for each in stored]
        return super().is_key(cell, kind) & self.one_of(call("typeof", cell), types)


_STORED = {"text": ("text", "blob", "integer", "real"), "bytes": ("blob",), "date": ("text",)}

"""A cell that is text, read as a value by a fixed grammar, each cell on its own.

`cast` gives the SQL that reads a cell as a declared type, `readings` the SQL for each way to read a
cell of a column without one. No other cell affects how a cell is read.
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from mechanisms.tables.engines.files.cell_formats import PLAIN, CellFormat, literal
from mechanisms.tables.expressions.column_types import Kind
from queryable.wording.quoting import quoted

_TRUTH = r"(?i:true|false|t|f|0|1)"
_DATE = "([1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])-[0-9]{2}-[0-9]{2}"
_SECONDS = r":[0-9]{2}(\.[0-9]{1,9})?"
_CLOCK = "([01][0-9]|2[0-3]):[0-9]{2}"
_MOMENT = f"{_DATE}([T ]{_CLOCK}({_SECONDS})?)?"
_INSTANT = f"{_DATE}[T ]{_CLOCK}({_SECONDS})?(Z| ?UTC|[+-][0-9]{{2}}(:?[0-9]{{2}})?)"
_GRAMMAR = {
    "boolean": _TRUTH,
    "date": _DATE,
    "timestamp": _MOMENT,
    "instant": _INSTANT,
}

_READINGS = {
    "number": ("float", "DOUBLE"),
    "date": ("date", "DATE"),
    "timestamp": ("timestamp", "TIMESTAMP"),
    "instant": ("instant", "TIMESTAMP WITH TIME ZONE"),
    "integer": ("integer", "BIGINT"),
    "boolean": ("boolean", "BOOLEAN"),
}


def cast(text: str, declared: str, kind: Kind, form: CellFormat = PLAIN) -> str:
    """SQL that reads a cell's text as a value of a type. A cell that does not parse becomes null.

    Numbers are decimal, with the point or comma of the format; an integer has only the digit 0
    after it, a decimal at most its own number of digits. Dates and times are ISO 8601, or as the
    format says. A time with a zone, read as one without, is that of UTC.
    """
    value, grammar = text, _GRAMMAR.get(kind.name)
    if kind.name in ("integer", "decimal", "float"):
        value, grammar = form.with_point(text), _number(kind, form)
    elif kind.name in ("date", "timestamp") and form.date_format is not None:
        if kind.name == "date" and form.date_format.has_time:
            return f"CAST(NULL AS {declared})"
        value, grammar = form.date_format.iso(text), form.date_format.pattern
    if grammar is None:
        return f"TRY_CAST({text} AS {declared})"
    ways = (
        f"WHEN regexp_full_match({text}, {literal(grammar)}) THEN TRY_CAST({value} AS {declared})"
    )
    if kind.name == "timestamp":
        zoned = f"TRY_CAST({text} AS TIMESTAMP WITH TIME ZONE) AT TIME ZONE 'UTC'"
        ways += f" WHEN regexp_full_match({text}, {literal(_INSTANT)}) "
        ways += f"THEN TRY_CAST({zoned} AS {declared})"
    return f"CASE {ways} END"


def _number(kind: Kind, form: CellFormat) -> str | None:
    if kind.name == "float":
        return form.number
    if kind.name == "integer":
        return f"[+-]?{form.whole}({form.point}0*)?"
    if kind.step is None:
        return None
    scale = len(str(kind.step.denominator)) - 1
    return f"[+-]?({form.whole})?({form.point}[0-9]{{0,{scale}}}0*)?"


def readings(text: str, form: CellFormat = PLAIN) -> Mapping[str, tuple[str, str]]:
    """SQL for each way to read an undeclared cell, and its type. True reads as 1, false as 0."""
    found = {
        reading: (cast(text, declared, Kind(name), form), declared)
        for reading, (name, declared) in _READINGS.items()
    }
    truth = f"CASE lower({text}) WHEN 'true' THEN 1.0::DOUBLE WHEN 'false' THEN 0.0::DOUBLE END"
    return found | {"number": (f"coalesce({found['number'][0]}, {truth})", "DOUBLE")}


def sql_type(connection: Any, column: str, declared: Any) -> str:
    """Check a declared type, because it is written into a statement: a name, numbers in brackets.

    Raises:
        ValueError: it is written otherwise, or DuckDB has no such type.
    """
    import duckdb

    written = r"[A-Za-z_][A-Za-z_0-9 ]*(\(\d+(,\s*\d+)?\))?"
    with suppress(duckdb.Error):
        if isinstance(declared, str) and re.fullmatch(written, declared):
            connection.sql(f"SELECT CAST(NULL AS {declared})")
            return declared
    raise ValueError(
        f"give column {column!r} a type of DuckDB, such as 'BIGINT', 'DOUBLE', 'DECIMAL(10,2)', "
        f"'DATE' or 'VARCHAR'; types has {quoted(declared)}"
    )

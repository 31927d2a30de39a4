"""A cell that is text, read as a value by a fixed grammar, each cell on its own.

`cast` gives the SQL that reads a cell as a declared type. For columns without a declared type,
`as_asked` chooses the reading by the constants that the request compares them with. No other cell
affects how a cell is read.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import reduce
from operator import or_
from typing import Any

import attrs

from mechanisms.tables import column_types
from mechanisms.tables.column_types import Kind
from mechanisms.tables.engines.cell_formats import PLAIN, CellFormat, literal
from mechanisms.tables.predicates import And, Comparison, IsIn, Not, Or, Predicate, Where
from mechanisms.tables.request import Categories, Combinations, Groups, Request, Term
from mechanisms.tables.scalars import Scalar
from queryable.quoting import quoted

_TRUTH = r"(?i:true|false|t|f|0|1)"
_DATE = "([1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])-[0-9]{2}-[0-9]{2}"
_SECONDS = r":[0-9]{2}(\.[0-9]{1,9})?"
_CLOCK = "([01][0-9]|2[0-3]):[0-9]{2}"
_MOMENT = f"{_DATE}([T ]{_CLOCK}({_SECONDS})?)?"
_INSTANT = f"{_DATE}[T ]{_CLOCK}{_SECONDS}(Z|[+-][0-9]{{2}}(:?[0-9]{{2}})?)"
_GRAMMAR = {
    "boolean": _TRUTH,
    "date": _DATE,
    "timestamp": _MOMENT,
    "instant": _INSTANT,
}

Readings = Mapping[str, str]
"""The name of the column with the cells read as a number, date, timestamp or instant."""

_READINGS = {
    "number": ("float", "DOUBLE"),
    "date": ("date", "DATE"),
    "timestamp": ("timestamp", "TIMESTAMP"),
    "instant": ("instant", "TIMESTAMP WITH TIME ZONE"),
}


def cast(text: str, declared: str, kind: Kind, form: CellFormat = PLAIN) -> str:
    """SQL that reads a cell's text as a value of a type. A cell that does not parse becomes null.

    Numbers are decimal, with the point or comma of the format; an integer has only the digit 0
    after it, a decimal at most its own number of digits. Dates and times are ISO 8601, or as the
    format says.
    """
    value, grammar = text, _GRAMMAR.get(kind.name)
    if kind.name in ("integer", "decimal", "float"):
        value, grammar = form.with_point(text), _number(kind, form)
    elif kind.name in ("date", "timestamp") and form.date_format is not None:
        if kind.name == "date" and form.date_format.has_time:
            return f"CAST(NULL AS {declared})"
        value, grammar = form.date_format.iso(text), form.date_format.pattern
    value = f"TRY_CAST({value} AS {declared})"
    if grammar is None:
        return value
    return f"CASE WHEN regexp_full_match({text}, {literal(grammar)}) THEN {value} END"


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


def as_asked(request: Request, written: Mapping[str, Readings]) -> Request:
    """The request with each undeclared column replaced by the reading that its constants imply.

    Raises:
        TypeError: no reading compares with a constant, or keys of one column imply two readings.
    """
    if not written:
        return request
    return attrs.evolve(
        request,
        terms=tuple(_term(term, written) for term in request.terms),
        where=_where(request.where, written),
        by=tuple(_by(by, written) for by in request.by),
    )


def _term(term: Term, written: Mapping[str, Readings]) -> Term:
    def number(column: Any) -> Any:
        return (
            written[column]["number"] if isinstance(column, str) and column in written else column
        )

    return term.reading(number)


def _where(where: Where | None, written: Mapping[str, Readings]) -> Where | None:
    return _predicate(where, written) if isinstance(where, Predicate) else where


def _predicate(where: Predicate, written: Mapping[str, Readings]) -> Predicate:
    match where:
        case Comparison(column=str(column), value=value) if column in written:
            return attrs.evolve(where, column=_read(column, [value], written))
        case IsIn(column=str(column), values=values) if column in written:
            each: list[Predicate] = [
                Comparison(_read(column, [value], written), "==", value) for value in values
            ]
            return reduce(or_, each, IsIn(column, ()))
        case And(left, right) | Or(left, right):
            return type(where)(_predicate(left, written), _predicate(right, written))
        case Not(predicate):
            return Not(_predicate(predicate, written))
    return where


def _by(by: Groups, written: Mapping[str, Readings]) -> Groups:
    if isinstance(by, Combinations):
        return attrs.evolve(by, parts=tuple(_keys(part, written) for part in by.parts))
    if isinstance(by, Categories):
        return _keys(by, written)
    if not isinstance(by.column, str) or by.column not in written:
        return by
    edges = [value for _, value in by.steps]
    return attrs.evolve(by, column=_read(by.column, edges, written))


def _keys(by: Categories, written: Mapping[str, Readings]) -> Categories:
    if not isinstance(by.column, str) or by.column not in written:
        return by
    return attrs.evolve(by, column=_read(by.column, by.values, written, keys=True))


def _read(
    column: str, values: Sequence[Scalar], written: Mapping[str, Readings], *, keys: bool = False
) -> str:
    """The column to compare with these constants.

    A date means midnight in a comparison; as a key it equals dates only, as in other sources.
    """
    found = {_reading(column, value, keys=keys) for value in values}
    if len(found) > 1:
        raise TypeError(
            f"give keys of one kind for {column!r}, or its type by Table(.., types={{{column!r}: "
            f"...}}); they are of several kinds ({', '.join(sorted(found))})"
        )
    reading = found.pop() if found else "text"
    return column if reading == "text" else written[column][reading]


def _reading(column: str, value: Scalar, *, keys: bool) -> str:
    constant = column_types.constant(value)
    match constant.family:
        case "number" | "text" | "instant":
            return constant.family
        case "moment":
            return "date" if keys and constant.whole_days else "timestamp"
    raise TypeError(
        f"{column!r}, a column without a type, does not compare with "
        f"{type(value).__name__}; say what it holds by Table(.., types={{{column!r}: ...}})"
    )


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

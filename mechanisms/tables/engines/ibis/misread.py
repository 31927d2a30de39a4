"""What SQLite has stored under a type and is not read as it, for the owner of the data.

SQLite takes any cell in any column, so a column of numbers may hold texts. Other databases hold
each cell to its column's type, and have no such report.
"""

from typing import Any

from mechanisms.tables.engines.files.misread import Misread, MisreadFinding
from mechanisms.tables.engines.ibis.databases import database_of
from mechanisms.tables.engines.ibis.on_sqlite import OnSQLite
from mechanisms.tables.engines.ibis.statements import SourceRows, rows_of
from mechanisms.tables.engines.sql.expression import Sql
from mechanisms.tables.engines.sql.views import ViewColumns
from mechanisms.tables.expressions.column_types import Kind

_ROWS = 100_000  # more would take longer than a question

_REMEDIES = {
    "boolean": "store 0 and 1",
    "date": "store dates as 2020-02-29",
    "timestamp": "store times as 2020-02-29 12:30:00",
    "instant": "store times as 2020-02-29 12:30:00, in UTC",
    "text": "store texts in the database's encoding",
}
_OF_NUMBERS = "store numbers, not texts"


def misread_on(backend: Any, source: SourceRows, columns: ViewColumns) -> Misread | None:
    """How many cells of the first 100,000 rows are missing or cut: they are of another type."""
    if not database_of(backend).holds_any_cell:
        return None
    on: Any = columns.dialect()
    cells = {name: on.cell(name, kind) for name, kind in columns.kinds.items()}
    read = {
        name: found
        for name, kind in columns.kinds.items()
        if (found := _read(on, cells[name], kind)) is not None
    }
    lost = (
        f"count(CASE WHEN {cells[name].text} IS NOT NULL AND {each.text} IS NULL THEN 1 END)"
        for name, each in read.items()
    )
    whole = [name for name, kind in columns.kinds.items() if kind.name == "integer"]
    cut = (f"count(CASE WHEN typeof({cells[name].text}) = 'real' THEN 1 END)" for name in whole)
    first = f"SELECT * FROM ({source.sql}) AS d LIMIT {_ROWS}"
    asked = f"SELECT {', '.join(['count(*)', *lost, *cut])} FROM ({first}) AS d"
    source.upload(backend)
    [(rows, *numbers)] = rows_of(backend, asked, {})
    notes = [
        _finding(name, columns.kinds[name], number, rows)
        for name, number in zip(read, numbers[: len(read)], strict=True)
        if number
    ]
    notes += [
        _fraction(name, number, rows)
        for name, number in zip(whole, numbers[len(read) :], strict=True)
        if number
    ]
    return Misread(rows, 0, {}, notes=tuple(notes), options=False)


def _read(on: OnSQLite, cell: Sql, kind: Kind) -> Sql | None:
    """What a cell is read as; null where it is missing."""
    match kind.family:
        case "number" | "boolean":
            return on.typed(cell)
        case "moment" if kind.name == "date":
            return on.calendar_day(cell)
        case "moment" | "instant":
            return on.utc(cell, kind)
        case "text":
            return on.changed("strip", cell)
    return None


def _fraction(name: str, cut: int, rows: int) -> MisreadFinding:
    remedy = "declare the column REAL"
    text = f"of the first {rows:,} cells {cut:,} have a fraction, which sums cut off; {remedy}"
    return MisreadFinding(name, text, 2 * cut > rows, remedy)


def _finding(name: str, kind: Kind, lost: int, rows: int) -> MisreadFinding:
    remedy = _REMEDIES.get(kind.name, _OF_NUMBERS)
    text = (
        f"of the first {rows:,} cells {lost:,} are no {kind.declared or kind.name} and are "
        f"missing; {remedy}"
    )
    return MisreadFinding(name, text, 2 * lost > rows, remedy)

"""What SQLite has stored under a type and is not read as it, for the owner of the data.

SQLite takes any cell in any column, so a column of numbers may hold texts. Other databases hold
each cell to its column's type, and have no such report.
"""

from collections.abc import Mapping
from typing import Any

from mechanisms.tables.engines.dialect import Expression
from mechanisms.tables.engines.files.misread import Misread, MisreadFinding
from mechanisms.tables.engines.ibis.databases import database_of, rows_of, statement_of
from mechanisms.tables.engines.ibis.dialects import OnSQLite
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


def misread_on(
    backend: Any, source: Any, kinds: Mapping[str, Kind], dialect: Any
) -> Misread | None:
    """How many cells of the first 100,000 rows are missing because they are of another type."""
    import ibis

    if not database_of(backend).holds_any_cell:
        return None
    first = source.limit(_ROWS)
    on = dialect(first)
    read = {
        name: (first[name], found)
        for name, kind in kinds.items()
        if (found := _read(on, first[name], kind)) is not None
    }
    sums = [ibis.cases((c.notnull() & r.isnull(), 1), else_=0).sum() for c, r in read.values()]
    asked = first.aggregate(
        rows=first.count(), **{f"lost_{place}": each for place, each in enumerate(sums)}
    )
    [(rows, *lost)] = rows_of(backend, asked, statement_of(backend, asked))
    notes = [
        _finding(name, kinds[name], number, rows)
        for name, number in zip(read, lost, strict=True)
        if number
    ]
    return Misread(rows, 0, {}, notes=tuple(notes), options=False)


def _read(on: OnSQLite, cell: Expression, kind: Kind) -> Expression | None:
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


def _finding(name: str, kind: Kind, lost: int, rows: int) -> MisreadFinding:
    remedy = _REMEDIES.get(kind.name, _OF_NUMBERS)
    text = (
        f"of the first {rows:,} cells {lost:,} are no {kind.declared or kind.name} and are "
        f"missing; {remedy}"
    )
    return MisreadFinding(name, text, 2 * lost > rows, remedy)

"""The keys that occur in an Ibis table, with a count for each, in the order of the keys.

Texts are grouped by their bytes, so that no collation takes two of them for one key, whose spelling
would then depend on the rows.
"""

from collections.abc import Sequence
from datetime import date
from typing import Any

import attrs

from mechanisms.tables.engines.dialect import Expression
from mechanisms.tables.engines.ibis.databases import database_of, require_accepted, statement_of
from mechanisms.tables.engines.ibis.dialect import builtin
from mechanisms.tables.engines.ibis.rows import Rows, fresh, text_of
from mechanisms.tables.engines.protocol import Choice
from mechanisms.tables.expressions.column_types import DATE, TEXT, Kind
from mechanisms.tables.expressions.operands import operand_name
from mechanisms.tables.requests.discovery import MOST_BYTES, Discovery, Key, require_discoverable

_FIRST, _LAST = (day.toordinal() - date(1970, 1, 1).toordinal() for day in (date.min, date.max))


@attrs.frozen
class IbisFindPlan:
    """A statement over the source, and the kinds of its keys. These are public."""

    expression: Any = attrs.field(eq=False, repr=False)
    statement: str
    kinds: tuple[Kind, ...]

    def key(self, raw: Sequence[Any]) -> Key | None:
        """A key from the values that a database returns; None of what is no value of Python's."""
        values = [_value(kind, each) for kind, each in zip(self.kinds, raw, strict=True)]
        return None if None in values else tuple(values)


def find_statement(
    backend: Any, source: Any, asked: Discovery, choice: Choice, table: Rows
) -> IbisFindPlan:
    """The statement that finds the keys.

    Raises:
        KeyError, TypeError: the columns do not fit.
        ValueError: the database does not accept so large a statement.
    """
    database, compiler = database_of(backend), table.compiler(source)
    operands = [compiler.operand(column) for column in asked.columns]
    for column, operand in zip(asked.columns, operands, strict=True):
        require_discoverable(operand.kind, operand_name(column))
    kinds = tuple(operand.kind for operand in operands)
    cells = [fresh(f"cell_{i}", table.kinds) for i in range(len(kinds))]
    keys = [fresh(f"key_{i}", table.kinds) for i in range(len(kinds))]
    conditions = [compiler.present(column) for column in asked.columns]
    if asked.where is not None:
        conditions.append(compiler.selected(asked.where))
    if asked.per is not None:
        conditions.append(compiler.present(asked.per.column))
    rows = source.mutate(**{name: it.cell for name, it in zip(cells, operands, strict=True)})
    rows = rows.filter(*conditions)
    for name, kind in zip(cells, kinds, strict=True):
        if kind.name == "date":  # others are no dates of Python's
            first, last = (table.dialect(rows).literal(DATE, day) for day in (_FIRST, _LAST))
            rows = rows.filter((rows[name] >= first) & (rows[name] <= last))
        if database.holds_any_cell:
            rows = rows.filter(_is_stored(rows[name], kind))
    dialect = table.dialect(rows)

    def grouped_by(name: str, kind: Kind) -> Expression:
        if kind.name == "text":
            return _bytes(dialect.ordered(rows[name]))
        if kind.name == "date" and database.holds_any_cell:  # as text, which may be invalid
            return _bytes(rows[name].cast("string"))
        return rows[name]

    grouped = {
        key: grouped_by(name, kind) for key, name, kind in zip(keys, cells, kinds, strict=True)
    }
    rows = rows.mutate(**grouped)
    length = builtin(database.byte_length, ("binary",), "int64")
    long = [key for key, kind in zip(keys, kinds, strict=True) if kind.name in ("text", "bytes")]
    rows = rows.filter(*(length(rows[key]) <= MOST_BYTES for key in long)) if long else rows
    if asked.per is not None:
        rows = _of_units(rows, asked, choice, table, keys, dict(zip(cells, kinds, strict=True)))
    count = fresh("found", table.kinds)
    found = rows.group_by(keys).aggregate(**{count: rows.count()}).select(*keys, count)
    found = found.order_by([found[key].asc(nulls_first=False) for key in keys])
    statement = statement_of(backend, found)
    require_accepted(backend, statement)
    return IbisFindPlan(found, statement, kinds)


def _of_units(
    rows: Any,
    asked: Discovery,
    choice: Choice,
    table: Rows,
    keys: Sequence[str],
    cells: dict[str, Kind],
) -> Any:
    """Each unit once in each of its keys, at most so many of them, by a hash.

    Cells that the database takes for one unit may be written differently; the least of their hashes
    decides, so that the order of rows does not.
    """
    import ibis

    assert asked.per is not None
    unit = asked.per.column
    known = {unit: table.kinds[unit], **cells}
    known = {name: TEXT if kind.name == "bytes" else kind for name, kind in known.items()}
    text = table.dialect(rows).uncollated(text_of(rows, known, known, choice.seed))
    hashed = table.digest(text)
    by_hash, number = fresh("key_hash", table.kinds), fresh("key_rank", table.kinds)
    rows = rows.mutate(**{by_hash: hashed})
    rows = rows.group_by([unit, *keys]).aggregate(**{by_hash: rows[by_hash].min()})
    order = [rows[by_hash], *(rows[key] for key in keys)]
    ranked = ibis.row_number().over(group_by=rows[unit], order_by=order)
    rows = rows.mutate(**{number: ranked})
    return rows.filter(rows[number] < asked.max_keys)


_STORED = {"text": ("text", "blob", "integer", "real"), "bytes": ("blob",), "date": ("text",)}


def _is_stored(cell: Expression, kind: Kind) -> Expression:
    """Whether SQLite stores the cell as a value of its column's type. A text may be invalid."""
    found = builtin("typeof", (str(cell.type()),), "string")(cell)
    return found.isin(_STORED.get(kind.name, ("integer", "real")))


def _bytes(text: Expression) -> Expression:
    return text if text.type().is_binary() else text.cast("binary")


def _day(text: str) -> date | None:
    """The date that is written like this; None of another spelling, which would be a second key."""
    day = date.fromisoformat(text)
    return day if day.isoformat() == text else None


def _value(kind: Kind, raw: Any) -> Any:
    """A value of Python's own types; None if there is none."""
    try:
        match kind.name:
            case "text":
                return bytes(raw).decode()
            case "bytes":
                return bytes(memoryview(raw))
            case "boolean":
                return bool(raw) if raw in (False, True) else None
            case "date":
                return raw if type(raw) is date else _day(bytes(raw).decode())
        return int(raw) if raw == int(raw) else None
    except (TypeError, ValueError, OverflowError):
        return None

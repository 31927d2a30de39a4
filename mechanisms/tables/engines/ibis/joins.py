"""Joins of an Ibis table with a public table, or with a private table of the same database.

A public table is copied into the database. The join is part of every query. Text is compared by its
md5, so that no collation makes two texts equal.
"""

from collections.abc import Mapping, Sequence

from mechanisms.tables.engines.compiler import Compiler
from mechanisms.tables.engines.duckdb.joins import (
    EXACT,
    Pairs,
    ViewRows,
    key_for,
    public_rows,
    unlike,
)
from mechanisms.tables.engines.ibis.engine import Ibis, kind_of
from mechanisms.tables.engines.ibis.keys import in_memory
from mechanisms.tables.engines.ibis.statements import SourceRows, source_of
from mechanisms.tables.engines.protocol import Choice
from mechanisms.tables.engines.sql.expression import Sql, call
from mechanisms.tables.engines.sql.kept import HASHED, UNORDERED
from mechanisms.tables.expressions.column_types import Kind
from mechanisms.tables.requests.privacy_unit import PrivacyUnit


def join_public(
    left: Ibis,
    right: ViewRows,
    on: Pairs,
    columns: Mapping[str, str],
    *,
    inner: bool,
    most: int | None,
) -> Ibis:
    """Each row with the public rows of its keys, as `joins.join_public`."""
    texts = [left.kinds[mine].name == "text" for mine, _ in on]
    keys = [key_for(left.kinds[mine], right, theirs) for mine, theirs in on]
    keys = [f"md5({key})" if text else key for key, text in zip(keys, texts, strict=True)]
    rows, names = public_rows(right, keys, on, columns, most)
    public = in_memory(left.backend, rows)
    kinds = {name: kind_of(public.schema()[name]) for name in columns.values()}
    others = source_of(left.backend, public)
    others.upload(left.backend)
    told = left.database.kinds(left.backend, public)
    kinds |= {name: kind for name, kind in told.items() if name in kinds}
    pairs = list(zip((mine for mine, _ in on), names, strict=True))
    return _joined(left, left.rows, left.kinds, others, pairs, kinds, inner=inner)


def join_private(
    left: Ibis,
    right: Ibis,
    on: Pairs,
    columns: Mapping[str, str],
    units: tuple[PrivacyUnit, PrivacyUnit],
    choices: tuple[Choice, Choice],
    *,
    inner: bool,
) -> Ibis:
    """The kept rows of each unit on the left, with those of the same unit on the right.

    Raises:
        TypeError, ValueError: the columns do not fit, or the tables are of two databases.
    """
    if left.backend is not right.backend:
        raise TypeError("give two tables of one connection: con.table('a') and con.table('b')")
    for mine, theirs in on:
        kinds = left.kinds[mine], right.kinds[theirs]
        if not (kinds[0].name == kinds[1].name and kinds[0].name in EXACT):
            raise unlike((mine, theirs), *kinds)
    d, names = right.columns.dialect(), [f"join_key_{i}" for i in range(len(on))]
    while {name.lower() for name in columns.values()} & set(names):
        names = [f"{name}_" for name in names]
    keys = [
        f"{_comparable(right, theirs).bare} AS {d.named(name)}"
        for name, (_, theirs) in zip(names, on, strict=True)
    ]
    there = " AND ".join(f"{d.named(theirs)} IS NOT NULL" for _, theirs in on)
    added = [f"{d.named(it)} AS {d.named(name)}" for it, name in columns.items()]
    others = (
        f"SELECT {', '.join([*keys, *added])} "
        f"FROM ({_kept(right, units[1], choices[1])}) AS d WHERE {there}"
    )
    pairs = list(zip((mine for mine, _ in on), names, strict=True))
    return _joined(
        *(left, SourceRows(_kept(left, units[0], choices[0]), left.rows.holds), _ordered(left)),
        *(
            SourceRows(others, right.rows.holds),
            pairs,
            {name: right.kinds[it] for it, name in columns.items()},
        ),
        inner=inner,
    )


def _comparable(engine: Ibis, name: str, table: str = "") -> Sql:
    """The cell, or the hash of a text; null if it is missing, which SQLite's md5 cannot take."""
    d, kind = engine.columns.dialect(), engine.kinds[name]
    cell = Sql(table + d.named(name))
    if kind.name != "text":
        return cell
    hashed = d.digest.format(call("coalesce", cell, Sql("''")).text)
    return Sql(f"CASE WHEN {cell.text} IS NOT NULL THEN {hashed} END")


def _joined(
    left: Ibis,
    rows: SourceRows,
    mine: Mapping[str, Kind],
    others: SourceRows,
    on: Sequence[tuple[str, str]],
    kinds: Mapping[str, Kind],
    *,
    inner: bool,
) -> Ibis:
    """The table of rows with these columns joined with others.

    Args:
        on: key columns of the rows, and of the others, where texts are hashed.
    """
    d = left.columns.dialect()
    cells = [f"l.{d.named(name)}" for name in mine] + [f"r.{d.named(name)}" for name in kinds]
    equal = (f"r.{d.named(name)} = {_comparable(left, key, 'l.').text}" for key, name in on)
    joined = (
        f"SELECT {', '.join(cells)} FROM ({rows.sql}) AS l {'INNER' if inner else 'LEFT'} JOIN "
        f"({others.sql}) AS r ON {' AND '.join(equal)}"
    )
    return left.over(SourceRows(joined, (*rows.holds, *others.holds)), {**mine, **kinds})


def _ordered(engine: Ibis) -> dict[str, Kind]:
    """The columns of kept rows. Others cannot be ordered on every database."""
    return {name: kind for name, kind in engine.kinds.items() if kind.name not in UNORDERED}


def _kept(engine: Ibis, unit: PrivacyUnit, choice: Choice) -> str:
    """The rows of each unit that count, by `keep` and a hash as in a query.

    Rows of equal hash are ordered by their cells, so that the order of the source never decides. A
    unit is one text here: a collation that takes two texts for one unit makes no difference to the
    rows of either.
    """
    columns, kinds, d = engine.columns, _ordered(engine), engine.columns.dialect()
    cells = {name: d.cell(name, kind) for name, kind in kinds.items()}
    text = d.row_text(
        ((cells[name], kind) for name, kind in kinds.items() if kind.name in HASHED), choice.seed
    )
    first = [] if choice.column is None else [d.named(choice.column)]
    hashed, number = (d.named(columns.own(name)) for name in ("hash", "number"))
    names = [cell.text for cell in cells.values()]
    order = ", ".join(f"{each} ASC NULLS LAST" for each in [*first, hashed, *names])
    by = f"{d.named(unit.column)}, {_comparable(engine, unit.column).text}"
    there = Compiler(d, engine.kinds).present(unit.column).bare
    rows = (
        f"SELECT {', '.join(names)}, {d.digest.format(text.bare)} AS {hashed} "
        f"FROM {columns.data} AS d WHERE {there}"
    )
    ranked = f"row_number() OVER (PARTITION BY {by} ORDER BY {order}) AS {number}"
    return (
        f"SELECT {', '.join(names)} FROM (SELECT {', '.join(names)}, {ranked} FROM ({rows}) AS d) "
        f"AS d WHERE {number} <= {unit.max_rows}"
    )

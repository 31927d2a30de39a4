"""Joins of an Ibis table with a public table, or with a private table of the same database.

A public table is copied into the database. The join is part of every query. Text is compared by its
md5, so that no collation makes two texts equal.
"""

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any

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
from mechanisms.tables.engines.ibis.rows import fresh, text_of
from mechanisms.tables.engines.protocol import Choice
from mechanisms.tables.expressions.column_types import Kind
from mechanisms.tables.requests.privacy_unit import PrivacyUnit


def join_public(
    left: Ibis, right: ViewRows, on: Pairs, columns: Sequence[str], *, inner: bool, most: int | None
) -> Ibis:
    """Each row with the public rows of its keys, as `joins.join_public`."""
    texts = [left.kinds[mine].name == "text" for mine, _ in on]
    keys = [key_for(left.kinds[mine], right, theirs) for mine, theirs in on]
    keys = [f"md5({key})" if text else key for key, text in zip(keys, texts, strict=True)]
    rows, names = public_rows(right, keys, on, columns, most)
    public = in_memory(left.backend, rows)
    left.upload(public)
    kinds = {name: kind_of(public.schema()[name]) for name in columns}
    told = left.database.kinds(left.backend, public)
    kinds |= {name: kind for name, kind in told.items() if name in kinds}
    mine = [_comparable(left, left.source, name) for name, _ in on]
    return _joined(left, left.source, public, mine, names, kinds, inner=inner)


def join_private(
    left: Ibis,
    right: Ibis,
    on: Pairs,
    columns: Sequence[str],
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
    rows = _kept(left, units[0], choices[0])
    others = _kept(right, units[1], choices[1])
    others = others.filter(*(others[theirs].notnull() for _, theirs in on))
    names = [fresh(f"join_key_{i}", [*left.kinds, *columns]) for i in range(len(on))]
    keys = {
        name: _comparable(right, others, theirs)
        for name, (_, theirs) in zip(names, on, strict=True)
    }
    others = others.mutate(**keys).select(*names, *columns)
    own = [_comparable(left, rows, name) for name, _ in on]
    added = {name: right.kinds[name] for name in columns}
    return _joined(left, rows, others, own, names, added, inner=inner)


def _comparable(engine: Ibis, rows: Any, name: str) -> Any:
    """The cell, or the hash of a text; null if it is missing, which SQLite's md5 cannot take."""
    import ibis

    cell = rows[name]
    if engine.kinds[name].name != "text":
        return cell
    return ibis.ifelse(cell.notnull(), engine.digest(cell.fill_null("")), ibis.null("string"))


def _joined(
    left: Ibis,
    rows: Any,
    others: Any,
    keys: Sequence[Any],
    names: Sequence[str],
    kinds: Mapping[str, Kind],
    *,
    inner: bool,
) -> Ibis:
    """The table of rows joined with others, whose keys have these names."""
    mine = [name for name in left.kinds if name in rows.columns]
    equal = [others[name] == key for key, name in zip(keys, names, strict=True)]
    both = rows.join(others, equal, how="inner" if inner else "left")
    joined = copy(left)
    joined.ask(both.select(*mine, *kinds), {**{name: left.kinds[name] for name in mine}, **kinds})
    return joined


def _kept(engine: Ibis, unit: PrivacyUnit, choice: Choice) -> Any:
    """The rows of each unit that count, by `keep` and a hash as in a query.

    Rows of equal hash are ordered by their cells, so that the order of the source never decides. A
    unit is one text here: a collation that takes two texts for one unit makes no difference to the
    rows of either. Columns of other types cannot be ordered on every database, and are left out.
    """
    import ibis

    names = [name for name, kind in engine.kinds.items() if kind.name not in ("other", "duration")]
    rows = engine.source.filter(engine.present(engine.source, unit.column)).select(*names)
    by_hash, number = fresh("row_hash", engine.kinds), fresh("row_number", engine.kinds)
    rows = rows.mutate(**{by_hash: engine.digest(text_of(rows, names, engine.kinds, choice.seed))})
    order = [by_hash, *names] if choice.column is None else [choice.column, by_hash, *names]
    numbered = ibis.row_number().over(
        group_by=[rows[unit.column], _comparable(engine, rows, unit.column)],
        order_by=[rows[name].asc(nulls_first=False) for name in order],
    )
    rows = rows.mutate(**{number: numbered})
    return rows.filter(rows[number] < unit.max_rows).select(*names)

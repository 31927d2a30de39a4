"""Public keys on a database behind Ibis.

A few keys are written into the statement. Many are uploaded in a table that rows are joined with,
so that the work for a row does not grow with their number.
"""

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import and_
from typing import Any

import attrs

from mechanisms.tables.engines.compiler import Compiler
from mechanisms.tables.engines.ibis.databases import database_of
from mechanisms.tables.engines.ibis.statements import source_of
from mechanisms.tables.engines.sql.expression import Sql
from mechanisms.tables.engines.sql.keyed import Placing
from mechanisms.tables.expressions.column_types import Kind, member
from mechanisms.tables.requests.request import Bins, Categories, Combinations, Groups

FEW = 500
"""So many keys are written into a statement; it is large then, but nothing is uploaded."""

_MOST_TABLES = 16


def in_memory(backend: Any, rows: Any) -> Any:
    """Rows in memory as an Ibis table, under names that no database interprets while it is copied.

    Ibis gives SQLite and Spark the cells of a pandas frame. In columns of objects, integers stay
    exact beside missing cells. SQLite has no decimals: as in its other tables they are floats.
    Spark gets them as text, since Ibis cannot give it one that is missing.
    """
    import ibis

    safe = {f"column_{i}": name for i, name in enumerate(rows.column_names)}
    data = rows.rename_columns(list(safe))
    schema = ibis.Schema.from_pyarrow(data.schema)
    decimals = {name: kind for name, kind in schema.items() if kind.is_decimal()}
    database = database_of(backend)
    if (wanted := database.uploaded_decimal) is not None:
        import pandas as pd

        cells = {name: data.column(name).to_pylist() for name in safe}
        for name in decimals:
            cells[name] = [None if cell is None else wanted(cell) for cell in cells[name]]
        data = pd.DataFrame({name: pd.Series(cells[name], dtype=object) for name in safe})
    if database.decimals_as_text and decimals:
        texts = dict.fromkeys(decimals, "string")
        table = ibis.memtable(data, schema={**schema, **texts}).cast(decimals)
    else:
        table = ibis.memtable(data, schema=schema)
    return table.rename({name: each for each, name in safe.items()})


class UploadedKeys:
    """The uploaded keys of one engine. They are public, and stay until the connection ends."""

    def __init__(self, backend: Any) -> None:
        self.backend, self._tested = backend, database_of(backend).tested
        self._in_bytes = backend.name != "sqlite"
        self._tables: dict[tuple[Any, ...], Any] = {}

    def placed(self, compiler: Compiler, by: Sequence[Groups], before: int = 0) -> list[Placing]:
        """How rows are placed in each dimension, as `placings` of DuckDB."""
        found: list[Placing] = []
        for each in by:
            first, name = sum(len(it.cells) for it in found), f"keys_{before + len(found)}"
            parts = [
                self._part(compiler, part, f"cell_{first + i}", f"{name}_{i}")
                for i, part in enumerate(each.parts)
            ]
            whole = _all_of(parts)
            if isinstance(each, Combinations):
                whole = self._combined(whole, each, name)
            found.append(whole)
        return found

    def _part(self, compiler: Compiler, by: Any, cell: str, name: str) -> Placing:
        found = compiler.operand(by.column)
        if not self._joins(by, found.kind, column=found.column):
            group = compiler.dialect.as_whole(compiler.group(by))
            return Placing(compiler.among(by), (group,), "", (cell,))
        assert isinstance(by, Categories)
        text = found.kind.name == "text"
        given = compiler.dialect.ordered(found.cell) if text else found.cell
        places: dict[Any, int] = {}
        for index, value in enumerate(by.values):
            key = member(found.kind, value)
            if key is not None:
                written = key.encode() if text else key  # half a character is refused
                places.setdefault(written if text and self._in_bytes else key, index)
        return self._joined(given, cell, name, list(places.items()))

    def _joins(self, by: Categories | Bins, kind: Kind, *, column: bool) -> bool:
        """Whether the keys are many, and of a column's kind that is compared exactly.

        Text is compared without collations, by its bytes or as `ordered` makes it on SQLite. Under
        a collation a cell could equal two keys, and its row would be counted in both groups.
        """
        if isinstance(by, Bins) or len(by.values) <= FEW or not self._tested or not column:
            return False
        return kind.name == "text" or (kind.name == "integer" and kind.high < 2**63)

    def _combined(self, parts: Placing, by: Combinations, name: str) -> Placing:
        """The rows in one of the combinations, by a number for each."""
        code = reduce(
            lambda code, each: f"({code} * {each[0].size} + {each[1]})",
            zip(by.parts[1:], parts.places[1:], strict=True),
            parts.places[0],
        )
        codes = list(dict.fromkeys(by.code(place) for place in by.places))
        if len(codes) <= FEW or not self._tested:
            listed = f"{code} IN ({', '.join(map(str, codes))})"
            return attrs.evolve(parts, within=listed)
        joined = self._joined(Sql(code), code, f"{name}_code", [(each,) for each in codes])
        return attrs.evolve(
            parts, join=parts.join + joined.join, tables={**parts.tables, **joined.tables}
        )

    def _joined(self, cell: Sql, named: str, name: str, keys: Sequence[Any]) -> Placing:
        """The rows whose cell is a key, with what stands beside the key.

        Args:
            named: the cell, as the join reads it.
        """
        import pyarrow as pa

        known = tuple(keys)
        if known not in self._tables:
            columns: list[Iterable[Any]] = [[key[0] for key in keys], [key[-1] for key in keys]]
            arrow = pa.table(list(map(pa.array, columns)), names=["key_value", "key_place"])
            uploaded = source_of(self.backend, in_memory(self.backend, arrow))
            uploaded.upload(self.backend)
            while len(self._tables) >= _MOST_TABLES:
                del self._tables[next(iter(self._tables))]
            self._tables[known] = uploaded
        table = self._tables[known]
        join = f" JOIN ({table.sql}) AS {name} ON {named} = {name}.key_value"
        return Placing(None, (cell,), join, (f"{name}.key_place",), tables={name: table})


def _all_of(parts: Sequence[Placing]) -> Placing:
    """Several parts of one dimension."""
    holds = [each.holds for each in parts if each.holds is not None]
    return Placing(
        reduce(and_, holds) if holds else None,
        tuple(cell for each in parts for cell in each.cells),
        "".join(each.join for each in parts),
        tuple(place for each in parts for place in each.places),
        tables={name: table for each in parts for name, table in each.tables.items()},
    )

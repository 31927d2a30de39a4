"""Many public keys on a database behind Ibis: an uploaded table that rows are joined with.

So the work for a row does not grow with the number of keys. A few keys are written into the
statement.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from mechanisms.tables.engines.ibis.databases import database_of
from mechanisms.tables.engines.ibis.rows import Rows, fresh
from mechanisms.tables.expressions.column_types import Kind, member
from mechanisms.tables.requests.request import Bins, Categories, Combinations, Request

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
        self._tables: dict[tuple[Any, ...], Any] = {}

    def grouped(
        self, rows: Any, request: Request, names: Sequence[str], kinds: dict[str, Kind], table: Rows
    ) -> Any:
        """The rows in groups, with a column of the index in each part."""
        parts = dict(zip(names, request.parts, strict=True))
        many = {name: by for name, by in parts.items() if self._joins(by, kinds)}
        compiler = table.compiler(rows, kinds)
        few = {name: by for name, by in parts.items() if name not in many}
        rows = rows.filter(*map(compiler.among, few.values())) if few else rows
        compiler = table.compiler(rows, kinds)
        found = {name: compiler.group(by).cast("int64") for name, by in few.items()}
        rows = rows.mutate(**found) if found else rows
        for name, by in many.items():
            rows = self._placed(rows, name, by, kinds, table)
        rest = iter(names)
        for each in request.by:
            mine = [next(rest) for _ in each.parts]
            if isinstance(each, Combinations):
                code = each.code([rows[name] for name in mine])
                codes = dict.fromkeys(each.code(place) for place in each.places)
                if len(codes) > FEW and self._tested:
                    column = fresh("code", [*kinds, *rows.columns])
                    rows = self._joined(rows, code, column, [(code,) for code in codes])
                else:
                    rows = rows.filter(code.isin(list(codes)))
        return rows

    def _joins(self, by: Categories | Bins, kinds: dict[str, Kind]) -> bool:
        """Whether the keys are many, and of a kind that is compared exactly."""
        if isinstance(by, Bins) or len(by.values) <= FEW or not self._tested:
            return False
        kind = kinds[by.column] if isinstance(by.column, str) and by.column in kinds else None
        return kind is not None and (
            kind.name == "text" or (kind.name == "integer" and kind.high < 2**63)
        )

    def _placed(
        self, rows: Any, name: str, by: Categories | Bins, kinds: dict[str, Kind], table: Rows
    ) -> Any:
        """The rows whose cell is one of the keys, with its index. Of equal keys the first counts.

        Text is compared without collations, by its bytes or as `ordered` makes it on SQLite. Under
        a collation a cell could equal two keys, and its row would be counted in both groups.
        """
        assert isinstance(by, Categories)
        assert isinstance(by.column, str)
        kind, cell = kinds[by.column], rows[by.column]
        if kind.name == "text":
            cell = table.dialect(rows).ordered(cell)
        places: dict[Any, int] = {}
        for index, value in enumerate(by.values):
            key = member(kind, value)
            if key is not None:
                if kind.name == "text":
                    written = key.encode()  # half a character is refused
                    key = written if cell.type().is_binary() else key
                places.setdefault(key, index)
        return self._joined(rows, cell, name, list(places.items()))

    def _joined(self, rows: Any, cell: Any, name: str, keys: Sequence[Any]) -> Any:
        """The rows whose cell is a key, with a column of what stands beside the key."""
        import pyarrow as pa

        value = fresh("key_value", [*rows.columns, name])
        known = (value, name, *keys)
        if known not in self._tables:
            columns: list[Iterable[Any]] = [[key[0] for key in keys], [key[-1] for key in keys]]
            arrow = pa.table(list(map(pa.array, columns)), names=[value, name])
            uploaded = in_memory(self.backend, arrow)
            self.backend._run_pre_execute_hooks(uploaded)
            while len(self._tables) >= _MOST_TABLES:
                del self._tables[next(iter(self._tables))]
            self._tables[known] = uploaded
        joined = self._tables[known]
        columns = [*rows.columns, name]
        return rows.join(joined, [cell == joined[value]], how="inner").select(*columns)

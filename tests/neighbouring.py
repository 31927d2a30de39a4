"""One small data set in every form that a queryable takes, for tests of neighbours.

`IN_MEMORY` and `TABLES` make the data. `rows_in` reads them back as a multiset of texts, without
the code that makes neighbours.
"""

import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from mechanisms import Table
from mechanisms.tables.engines.ibis.engine import Ibis
from tests.engines import opened
from tests.postgres import POSTGRES

Cells = Counter[tuple[str, ...]]

PEOPLE = ["p1", "p1", "p1", "p2", "p3", "p3", "new 0", None]
AGES = [31, 47, 47, 62, 0, 99, 5, 18]
COSTS = [0.5, 1.25, -3.0, float("nan"), 1e6, 0.0, 2.5, 4.0]
WORDS = ["yes", "no", 'a "b", c', "two\nlines", "", "é", None, "no"]
COLUMNS: dict[str, list[Any]] = {"person": PEOPLE, "age": AGES, "cost": COSTS, "word": WORDS}
TYPES = {"person": "text", "age": "integer", "cost": "float", "word": "text"}
ROWS: list[tuple[Any, ...]] = list(zip(*COLUMNS.values(), strict=True))
RECORDS = [dict(zip(COLUMNS, row, strict=True)) for row in ROWS]
FRAME = pd.DataFrame(COLUMNS)
ARROW = pa.table({name: pa.array(cells, from_pandas=False) for name, cells in COLUMNS.items()})


@attrs.frozen
class Way:
    """A form of data.

    Args:
        make: the data; with arguments, a table with a privacy unit.
        unit: the column that names units in bare data; None if a record has no columns.
        is_table: whether it is a `Table`.
    """

    make: Callable[..., Any]
    unit: str | None = "person"
    is_table: bool = False


def _file(name: str) -> Path:
    return Path(tempfile.mkdtemp(prefix="queryable-tests-"), name)


def _csv(name: str, rows: Any = FRAME, **options: Any) -> Path:
    path = _file(name)
    rows.to_csv(path, index=False, **options)
    return path


def _structured() -> Any:
    made = np.zeros(len(ROWS), [("person", "U5"), ("age", "i4"), ("cost", "f8")])
    for place, (person, age, cost, _) in enumerate(ROWS):
        made[place] = person or "", age, cost
    return made


def _several_files() -> str:
    first = _csv("rows-1.csv", FRAME[:5])
    FRAME[5:].to_csv(first.with_name("rows-2.csv"), index=False)
    return str(first.with_name("rows-*.csv"))


def _parquet() -> Path:
    path = _file("rows.parquet")
    FRAME.to_parquet(path)
    return path


def _excel() -> Path:
    path = _file("rows.xlsx")
    FRAME.to_excel(path, index=False)
    return path


def _blocks() -> str:
    folder = _file("")
    for day, rows in (("2026-03-01", FRAME[:5]), ("2026-03-02", FRAME[5:])):
        (folder / f"day={day}").mkdir()
        rows.to_parquet(folder / f"day={day}" / "rows.parquet")
    return str(folder)


def _grown(**unit: Any) -> Table:
    table = Table(ARROW.slice(0, 3), **unit)
    return table.append(ARROW.slice(3, 2), block="march").append(ARROW.slice(5), block="april")


def _joined(**unit: Any) -> Table:
    names = pa.table({"word": ["yes", "no"], "meaning": [1, 0]})
    return Table(ARROW, **unit).join(public=names, on="word")


IN_MEMORY: dict[str, Way] = {
    "records": Way(lambda: [dict(each) for each in RECORDS]),
    "a list": Way(lambda: list(AGES), None),
    "a tuple": Way(lambda: tuple(AGES), None),
    "a list of tuples": Way(lambda: list(ROWS), None),
    "integers": Way(lambda: np.array(AGES), None),
    "short integers": Way(lambda: np.array(AGES, np.int8), None),
    "floats": Way(lambda: np.array(COSTS), None),
    "texts": Way(lambda: np.array(["a", "bb", ""]), None),
    "bytes": Way(lambda: np.array([b"a", b"bb"]), None),
    "truth values": Way(lambda: np.array([True, False, True]), None),
    "days": Way(lambda: np.array(["2026-03-01", "NaT", "2026-03-02"], "M8[D]"), None),
    "objects": Way(lambda: np.array([1, "a", None, Decimal("1.5")], object), None),
    "two dimensions": Way(lambda: np.array([[1.0, 2.0], [3.0, np.nan]]), None),
    "a structured array": Way(_structured),
    "a masked array": Way(lambda: np.ma.array(AGES, mask=[age == 0 for age in AGES]), None),
    "a dict of lists": Way(lambda: {name: list(each) for name, each in COLUMNS.items()}),
    "a dict of arrays": Way(
        lambda: {"person": np.array(PEOPLE, object), "age": np.array(AGES), "cost": np.array(COSTS)}
    ),
    "pandas": Way(FRAME.copy),
    "pandas, by day": Way(lambda: FRAME.set_index(pd.date_range("2026-03-01", periods=8))),
    "pandas, categories": Way(lambda: FRAME.astype({"word": "category", "person": "category"})),
    "pandas, nullable": Way(FRAME.convert_dtypes),
    "a column of pandas": Way(FRAME["age"].copy, None),
    "polars": Way(lambda: pl.DataFrame(COLUMNS)),
    "a column of polars": Way(lambda: pl.Series("age", AGES), None),
    "arrow": Way(lambda: ARROW),
    "arrow, dictionary": Way(
        lambda: ARROW.set_column(3, "word", ARROW["word"].dictionary_encode())
    ),
}
"""Data without a `Table`."""


def _table(source: Callable[[], Any], **options: Any) -> Way:
    return Way(lambda **unit: Table(source(), **options, **unit), is_table=True)


def _on(engine: str) -> Way:
    return Way(lambda **unit: opened(engine, TYPES, ROWS, **unit), is_table=True)


TABLES: dict[str, Any] = {
    "table of pandas": _table(FRAME.copy),
    "table of polars": _table(lambda: pl.DataFrame(COLUMNS)),
    "table of arrow": _table(lambda: ARROW),
    "table of lists": _table(lambda: {name: list(each) for name, each in COLUMNS.items()}),
    "table of a structured array": _table(_structured),
    "csv": _table(lambda: _csv("rows.csv")),
    "csv, typed": _table(lambda: _csv("rows.csv"), types={"age": "SMALLINT", "cost": "DOUBLE"}),
    "csv, utf-16": _table(lambda: _csv("rows.csv", encoding="utf-16"), encoding="utf-16"),
    "csv, compressed": _table(lambda: _csv("rows.csv.gz")),
    "csv, some columns": _table(lambda: _csv("rows.csv"), columns=["person", "age"]),
    "csv, several files": _table(_several_files),
    "tsv": _table(lambda: _csv("rows.tsv", sep="\t")),
    "parquet": _table(_parquet),
    "excel": _table(_excel),
    "blocks": _table(_blocks, blocks="day"),
    "grown": Way(_grown, is_table=True),
    "joined": Way(_joined, is_table=True),
    "ibis on duckdb": _on("ibis on duckdb"),
    "ibis on sqlite": _on("ibis on sqlite"),
    "ibis on postgres": _on("ibis on postgres"),
}
"""Tables; each maker takes the arguments of a privacy unit."""


def cases(ways: Mapping[str, Way]) -> list[Any]:
    """The ways as parameters of a test."""
    return [
        pytest.param(way, id=name, marks=[POSTGRES] if "postgres" in name else [])
        for name, way in ways.items()
    ]


def rows_in(data: Any) -> Cells:
    """The rows of data in any form, each as texts, with how often it is there."""
    return Counter(tuple(map(_text, row)) for row in _rows(data))


def _text(cell: Any) -> str:
    kind = type(cell).__name__
    if cell is None or cell is pd.NA or cell is pd.NaT or kind in ("MaskedConstant", "NaTType"):
        return "missing"
    return repr(cell.item() if isinstance(cell, np.generic) else cell)


def _rows(data: Any) -> Sequence[Sequence[Any]]:
    if isinstance(data, Table):
        return _of_table(data)
    if isinstance(data, dict):
        return list(zip(*(_cells(column) for column in data.values()), strict=True))
    if isinstance(data, pd.DataFrame):
        return list(zip(*(_cells(data.iloc[:, i]) for i in range(data.shape[1])), strict=True))
    if isinstance(data, pl.DataFrame):
        return data.rows()
    if isinstance(data, pa.Table):
        return list(zip(*(column.to_pylist() for column in data.columns), strict=True))
    if isinstance(data, np.ndarray) and (data.dtype.names or data.ndim > 1):
        return [tuple(np.ravel(row).tolist()) if data.ndim > 1 else tuple(row) for row in data]
    return [tuple(it.items()) if isinstance(it, dict) else (it,) for it in _cells(data)]


def _cells(column: Any) -> list[Any]:
    return list(column)


def _of_table(table: Table) -> Sequence[Sequence[Any]]:
    engine: Any = table._engine
    if isinstance(engine, Ibis):
        way = "typeof({0}) || hex({0})" if engine.backend.name == "sqlite" else "CAST({0} AS TEXT)"
        cells = ", ".join(way.format(f'"{name}"') for name in table.columns)
        with engine.backend._safe_raw_sql(f"SELECT {cells} FROM ({engine.rows.sql}) AS d") as found:
            return [tuple(row) for row in found.fetchall()]
    root = getattr(engine, "root", engine)
    view = engine.ready() if hasattr(engine, "ready") else "data"
    names = ", ".join(f'CAST("{name}" AS VARCHAR)' for name in table.columns)
    rows: list[tuple[Any, ...]] = root.fetch(f'SELECT {names} FROM "{view}"')
    return rows

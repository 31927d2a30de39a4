"""Parquet files as DuckDB reads them, or a copy without the cells that would make it fail.

The copy has the types that DuckDB finds in the files.
"""

import re
from collections.abc import Container, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from mechanisms.tables.engines.files.misread import Misread
from mechanisms.tables.engines.files.validity import cells_are_valid, write_valid_cells
from mechanisms.tables.engines.sql.expression import identifier
from mechanisms.tables.expressions.corrections import require_no_periods


def parquet_files(connection: Any, paths: list[str], files: Sequence[Path]) -> Any:
    """The rows of files that have the same columns.

    Args:
        paths: of the files, as the connection may read them.
        files: the same files, as an error names them.

    Raises:
        ValueError: the columns differ, or a file is no Parquet file.
    """
    each = [_rows(connection, *each) for each in zip(paths, files, strict=True)]
    if any((other.columns, other.types) != (each[0].columns, each[0].types) for other in each):
        raise ValueError("the files have not the same columns and types in the same order")
    return connection.read_parquet(paths, hive_partitioning=False)


def _rows(connection: Any, path: str, file: Path) -> Any:
    import duckdb

    try:
        return connection.read_parquet([path], hive_partitioning=False)
    except duckdb.InvalidInputException:
        raise ValueError(
            f"{str(file)!r} is no Parquet file, or it is damaged or encrypted"
        ) from None


def require_read_as_written(paths: Iterable[Path], columns: Container[str]) -> None:
    """Check that none of these columns of files holds what DuckDB would read as mere numbers.

    Raises:
        TypeError: pandas has written periods.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    for path in paths:
        with suppress(pa.ArrowException, OSError):  # only DuckDB has to read the file
            for field in pq.read_schema(path):
                written = (field.metadata or {}).get(b"ARROW:extension:name", b"").decode()
                if field.name in columns:
                    require_no_periods(field.name, written or field.type)


def all_valid(rows: Any, paths: list[str]) -> bool:
    """Whether no cell of the files makes DuckDB fail. Reads their columns of text and of times."""
    places = _doubtful(rows)
    return not places or all(cells_are_valid(path, places) for path in paths)


def valid_copy(connection: Any, rows: Any, paths: list[str], folder: Path) -> tuple[Any, Misread]:
    """The rows in a database in a folder, of the same types, with null for invalid cells.

    Arrow reads the columns of text and of times, and DuckDB the others, row by row the same.
    """
    places, valid, missing = _doubtful(rows), folder / "valid.parquet", {}
    names = [identifier(name) for name in rows.columns]
    cells = [f"f.{name}" for name in names]
    for i, place in enumerate(places):
        cells[place] = f"v.{identifier(str(i))}"
        missing[rows.columns[place]] = 0
    typed = map(" ".join, zip(names, map(str, rows.types), strict=True))
    database = str(folder / "rows").replace("'", "''")
    connection.execute(f"ATTACH '{database}' AS own")
    connection.execute(f"CREATE TABLE own.stored ({', '.join(typed)})")
    for path in paths:
        found = write_valid_cells(path, places, valid)
        missing = {name: n + more for (name, n), more in zip(missing.items(), found, strict=True)}
        connection.execute(
            f"INSERT INTO own.stored SELECT {', '.join(cells)} "
            "FROM read_parquet($1, hive_partitioning=false) AS f "
            "POSITIONAL JOIN read_parquet($2) AS v",
            [path, str(valid)],
        )
        valid.unlink()
    stored = connection.table("own.stored")
    [(count,)] = stored.aggregate("count(*)").fetchall()
    text = [name for name, it in zip(rows.columns, rows.types, strict=True) if "VARCHAR" in str(it)]
    undecoded = {name: lost for name, lost in missing.items() if name in text}
    return stored, Misread(count, 0, missing, undecoded=undecoded, options=False)


def _doubtful(rows: Any) -> list[int]:
    """The positions of columns with text or times, also within lists or structures."""
    types = enumerate(map(str, rows.types))
    return [i for i, declared in types if re.search("VARCHAR|JSON|ENUM|TIME", declared)]

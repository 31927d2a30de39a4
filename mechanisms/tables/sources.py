"""What a table is opened with: its source, for which there is an engine, and its privacy unit."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mechanisms.tables.engines.files.excel_files import excel_sheet, is_excel
from mechanisms.tables.engines.files.opening import Sources
from mechanisms.tables.engines.protocol import Engine
from mechanisms.tables.expressions.operands import column_name
from mechanisms.tables.requests.privacy_unit import PrivacyUnit
from queryable.losses.numbers import several
from queryable.wording.quoting import quoted


def unit_of(
    column: str | None, rows: int | None, groups: int | None, per_group: int | None
) -> PrivacyUnit | None:
    """The privacy unit that the arguments of a table state; None if each row is a unit.

    Raises:
        ValueError: there are bounds without a column, or a column without bounds.
    """
    if column is None:
        if (rows, groups, per_group) != (None, None, None):
            raise ValueError("give a privacy_unit: max_rows and max_groups are its bounds")
        return None
    if rows is None:
        raise ValueError(
            f"give max_rows, such as max_rows=4: at most so many rows of one {column} are counted, "
            "and noise grows with it"
        )
    return PrivacyUnit(column, max_rows=rows, max_groups=groups, max_rows_per_group=per_group)


RESOURCES = frozenset(
    {"memory_limit", "threads", "temp_directory", "max_temp_directory_size", "progress"}
)
"""Options that change no answer."""


def engine_of(source: Any, columns: Any, options: dict[str, Any]) -> Engine:
    """Open a source with the engine for it.

    Raises:
        ValueError, TypeError: the source, a column or an option is wrong.
        ImportError: DuckDB or Arrow is not installed.
    """
    if columns is not None:
        if isinstance(columns, str) or not (columns := several(columns, "columns")):
            given = quoted(columns)
            raise ValueError(f"columns is {given}; it should be a list of at least one name")
        columns = [column_name(each) for each in columns]
    if not (named := is_excel(source)) and "sheet" in options:
        raise TypeError("leave sheet out; it is for Excel files")
    if type(source).__module__.partition(".")[0] == "ibis":
        from mechanisms.tables.engines.ibis.engine import Ibis

        if options:
            name = next(iter(options))
            raise TypeError(f"leave {name} out: it is an option of DuckDB, not of an Ibis table")
        return Ibis(source, columns=columns)
    if missing := [name for name in ("duckdb", "pyarrow") if find_spec(name) is None]:
        raise ImportError(
            f"a Table of files or frames needs {' and '.join(missing)}: "
            "pip install '.[table]' in a checkout"
        )
    from mechanisms.tables.engines.duckdb.engine import DuckDB
    from mechanisms.tables.engines.files.frames import as_arrow

    if named:
        options = {**options}
        sheet = excel_sheet(source, options.pop("sheet", None))
        return DuckDB(sheet.frame(), columns=columns, **options)
    if isinstance(source, str | Path | Sources):
        return DuckDB(source, columns=columns, **options)
    frame = as_arrow(source)
    if not frame.table.column_names:
        raise ValueError("source has no column; it should have at least one")
    return DuckDB(frame, columns=columns, **options)

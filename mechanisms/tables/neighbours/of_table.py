"""Which form a table has, or a batch that is fed to one."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mechanisms.tables.engines.files.excel_files import is_excel
from mechanisms.tables.engines.files.folders import sources_of
from mechanisms.tables.neighbours.csv_records import CsvForm
from mechanisms.tables.neighbours.joined import JoinedForm
from mechanisms.tables.neighbours.parquet import ParquetForm
from mechanisms.tables.neighbours.parts import PartsForm
from mechanisms.tables.neighbours.reopening import ReopenedForm
from mechanisms.tables.neighbours.workbooks import WorkbookForm
from queryable.audit.rows.forms import Form
from queryable.audit.rows.of_data import form_of_data, in_memory


def form_of_table(table: Any) -> Form:
    """The form of a table.

    A source that was opened, and has not grown, is opened again for each neighbour, if that gives
    the same columns; otherwise rows are left out and added in the table's own database.

    Raises:
        TypeError: the engine of the table is unknown here.
    """
    if table.made_of:
        return JoinedForm(form_of_table(table.made_of[0]), table)
    if table._root.has_blocks:
        from mechanisms.tables.neighbours.databases import DatabaseForm

        return DatabaseForm(table)
    if table._parts is None:
        raise TypeError("the rows of this table's engine are not known: give neighbours= yourself")
    if table.as_opened and not table.blocks and (source := _source_of(table)) is not None:
        form = ReopenedForm(table, source)
        if _opens_as(table, form):
            return form
    return PartsForm(table)


def _source_of(table: Any) -> Form | None:
    """The form of what a table was opened with; None if it is unknown."""
    given = table._given
    if given is None:
        return None
    if isinstance(given, str | Path):
        return _of_files(given, table._opened_with)
    try:
        return in_memory(given)
    except TypeError:
        return None


def _of_files(path: str | Path, options: Mapping[str, Any]) -> Form | None:
    """The form of files; None if there are none."""
    if is_excel(path):
        return WorkbookForm(path, options.get("sheet"))
    sources = sources_of(path)
    if sources is None:
        return None
    return CsvForm(sources, options) if sources.form == "csv" else ParquetForm(sources)


def _opens_as(table: Any, form: Form) -> bool:
    """Whether the same rows, opened again, have the same columns."""
    with form.edited((), ()) as again:
        return _types(again) == _types(table)


def _types(table: Any) -> dict[str, Any]:
    return {name: (kind, kind.declared) for name, kind in table.columns.items()}


def form_of_batch(table: Any, batch: Any) -> Form:
    """The form of a batch, as the table reads it: of a file, rows in memory, or another table.

    Raises:
        TypeError: its rows are not known.
    """
    if isinstance(batch, str | Path):
        form = _of_files(batch, table._opened_with)
        if form is None:
            raise TypeError("the folder has no file")
    elif type(batch).__module__.partition(".")[0] == "ibis":
        raise TypeError(
            "the rows of a batch in a database are not known: give neighbours= yourself"
        )
    else:
        form = form_of_data(batch)
    if form.unit is None and table.unit is not None:
        form.unit, form.heavy = table.unit.column, table.unit.max_rows
    return form

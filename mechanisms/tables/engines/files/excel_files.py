"""Excel files: one sheet as columns of Python objects, and what Excel does silently.

Responsible for reading a sheet with openpyxl (extra `excel`), and for what its owner has to know of
it. No cell decides the type of a column: each becomes the text that a CSV file would have, as other
Python objects do. A file is refused where its cells cannot be told apart by rows: if it has merged
cells, several sheets of which none is named, or a header without names. It is refused as well if
openpyxl cannot read a cell.
"""

import datetime as dt
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import attrs

from mechanisms.tables.engines.files.frames import ArrowFrame, as_arrow
from mechanisms.tables.engines.files.misread import MisreadFinding
from mechanisms.tables.expressions.corrections import require_distinct
from queryable.wording.quoting import quoted

_EXCEL, _OTHERS = (".xlsx", ".xlsm"), (".xls", ".xlsb", ".ods")
_DIGITS = 10**15
"""Excel keeps fifteen digits of a number."""
_MIDNIGHT = dt.time()
_WORDS = {bool: "truth values", int: "numbers", float: "numbers", str: "texts"}
_WORDS |= {dt.date: "dates", dt.datetime: "dates", dt.timedelta: "durations"}


@attrs.frozen
class Sheet:
    """The columns of a sheet by name, and findings about them, which are private."""

    columns: dict[str, list[Any]] = attrs.field(repr=False)
    notes: tuple[MisreadFinding, ...] = attrs.field(default=(), repr=False)

    def frame(self) -> ArrowFrame:
        """The sheet as an Arrow table of texts."""
        frame = as_arrow(self.columns)
        return attrs.evolve(frame, notes=frame.notes + self.notes)


def is_excel(source: Any) -> bool:
    """Whether a source is the path of an Excel file, by its name."""
    return isinstance(source, str | Path) and str(source).lower().endswith(_EXCEL + _OTHERS)


def excel_sheet(source: str | Path, sheet: Any = None) -> Sheet:
    """Read a sheet, whose first row names the columns.

    Args:
        sheet: its name; needed if the file has several.

    Raises:
        ImportError: openpyxl is not installed.
        FileNotFoundError: there is no such file.
        ValueError, TypeError: it cannot be read, or it has no such sheet; see above.
    """
    return _read(*_sheets(source, sheet))


def sheet_rows(source: str | Path, sheet: Any = None) -> list[list[Any]]:
    """The cells of a sheet, of openpyxl, row by row, the first with the names of the columns.

    Empty rows are left out. A formula whose value was not saved stays a formula.
    """
    cells, formulas = _sheets(source, sheet)
    head, *rows = cells.iter_rows()
    filled = (row for row in rows if any(_is_filled(cell, formulas) for cell in row))
    return [
        [formulas[it.coordinate] if _is_unsaved(it, formulas) else it for it in row]
        for row in (head, *filled)
    ]


def _sheets(source: str | Path, sheet: Any) -> tuple[Any, Any]:
    """A sheet with the values of its cells, and with formulas if it has some."""
    if sheet is not None and type(sheet) is not str:
        raise TypeError(f"sheet is {quoted(sheet)}; it should be the name of a sheet")
    path = Path(source).resolve(strict=True)
    if path.suffix.lower() in _OTHERS:
        raise ValueError(f"save {path.name!r} as .xlsx first: {path.suffix} files are not read")
    if not path.is_file():
        raise ValueError(f"give one file; source is {str(source)!r}")
    before = path.stat()
    cells = _chosen(_opened(path, values=True), sheet, path)
    formulas = _chosen(_opened(path, values=False), sheet, path) if _has_formulas(path) else None
    after = path.stat()
    if (before.st_mtime_ns, before.st_size) != (after.st_mtime_ns, after.st_size):
        raise ValueError("open the table again: the file has changed while it was read")
    return cells, formulas


def _opened(path: Path, *, values: bool) -> Any:
    """A workbook, with the values that formulas had when it was saved, or with the formulas."""
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise ImportError(
            "install openpyxl for Excel files: pip install '.[excel]' in a checkout"
        ) from None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about styles and other things that are not read
        try:
            with path.open("rb") as file:  # which openpyxl leaves open if it fails
                return load_workbook(file, data_only=values, keep_links=False)
        except Exception as error:  # whatever a file of another kind leads to
            kind = type(error).__name__
            if _opens_without_cells(load_workbook, path):
                raise ValueError(
                    f"open {path.name!r} in Excel, and save it: a cell, or another part of a "
                    f"sheet, is malformed ({kind})"
                ) from None
            raise ValueError(
                f"save {path.name!r} as .xlsx, without a password: it cannot be read ({kind})"
            ) from None


def _opens_without_cells(load_workbook: Any, path: Path) -> bool:
    """Whether a file can be opened that could not be read: openpyxl then reads no cell."""
    try:
        with path.open("rb") as file:
            load_workbook(file, read_only=True, keep_links=False)
    except Exception:
        return False
    return True


def _has_formulas(path: Path) -> bool:
    """Whether a sheet may have a formula."""
    with ZipFile(path) as file:
        parts = (file.read(name) for name in file.namelist() if "worksheets/" in name)
        return any(b"<f" in part for part in parts)


def _chosen(book: Any, sheet: str | None, path: Path) -> Any:
    names = [each.title for each in book.worksheets]
    if sheet is None and len(names) > 1:
        raise ValueError(f"{path.name!r} has several sheets: give sheet=, one of {names}")
    if sheet is not None and sheet not in names:
        raise ValueError(f"there is no sheet {quoted(sheet)} in {path.name!r}; there are: {names}")
    found = book[sheet] if sheet is not None else book.worksheets[0]
    if merged := sorted(map(str, found.merged_cells.ranges)):
        raise ValueError(
            f"unmerge {merged[0]} in Excel, and fill in its cells: only the first of merged cells "
            f"has a value, and {len(merged):,} ranges of this sheet are merged"
        )
    return found


def _read(cells: Any, formulas: Any) -> Sheet:
    rows = cells.iter_rows()
    names = [column_title(cell.value) for cell in next(rows, ())]
    named = [name for name in names if name]
    if not named:
        raise ValueError("name the columns in the first row of the sheet: it is empty")
    require_distinct(named)
    kept: list[Sequence[Any]] = []
    empty = left_out = 0
    for row in rows:
        if not any(_is_filled(cell, formulas) for cell in row):
            empty += 1
            continue
        left_out, empty = left_out + empty, 0  # those at the end are no rows
        kept.append(row)
    columns, notes = {}, list(_of_rows(cells, left_out))
    for place, name in enumerate(names):
        column = [row[place] for row in kept]
        if name:
            columns[name] = [_plain(cell) for cell in column]
            notes += _of_column(name, column, columns[name], formulas)
        elif filled := sum(_is_filled(cell, formulas) for cell in column):
            text = (
                f"{filled:,} cells of column {column[0].column_letter} are not read: it has no name"
            )
            notes.append(MisreadFinding("", text, True, "name each column in the first row"))
    return Sheet(columns, tuple(notes))


def column_title(value: Any) -> str:
    """The name of a column, which may be a number or a date; empty if there is none."""
    if isinstance(value, dt.datetime) and value.time() == _MIDNIGHT:
        value = value.date()
    return "" if value is None else str(value).strip()


def _plain(cell: Any) -> Any:
    """The value of a cell; None for an error or an empty text. Midnights are dates."""
    value = cell.value
    if cell.data_type == "e" or value == "":
        return None
    if isinstance(value, dt.datetime) and value.time() == _MIDNIGHT:
        return value.date()
    return value.isoformat() if isinstance(value, dt.time) else value


def _of_rows(cells: Any, left_out: int) -> Iterator[MisreadFinding]:
    if left_out:
        yield MisreadFinding("", f"{left_out:,} empty rows between others are left out", False)
    if hidden := sum(each.hidden for each in cells.row_dimensions.values()):
        yield MisreadFinding("", f"{hidden:,} rows that Excel hides are read like others", False)


def _of_column(
    name: str, cells: Sequence[Any], values: Sequence[Any], formulas: Any
) -> Iterator[MisreadFinding]:
    """What the owner has to know of a column."""
    if errors := sum(cell.data_type == "e" for cell in cells):
        text = f"{errors:,} cells are errors, such as #N/A, and are missing"
        yield MisreadFinding(name, text, 2 * errors > len(cells))
    if unknown := sum(_is_unsaved(cell, formulas) for cell in cells):
        remedy = "open the file in Excel, and save it"
        text = f"{unknown:,} formulas have no value in the file, and are missing; {remedy}"
        yield MisreadFinding(name, text, True, remedy)
    kinds = Counter(_WORDS.get(type(value), "others") for value in values if value is not None)
    if len(kinds) > 1:
        counted = ", ".join(f"{count:,} {kind}" for kind, count in kinds.most_common())
        remedy = f"give all cells of {name!r} one format in Excel"
        as_numbers = kinds["dates"] > 0 and kinds["numbers"] > 0
        advice = f"; a date without its format is a number of days: {remedy}" if as_numbers else ""
        yield MisreadFinding(name, f"cells of several types: {counted}{advice}", as_numbers, remedy)
    if long := sum(_is_long(value) for value in values):
        text = (
            f"{long:,} numbers have more than 15 digits, of which Excel keeps no more; write such "
            "numbers as texts"
        )
        yield MisreadFinding(name, text, False)


def _is_unsaved(cell: Any, formulas: Any) -> bool:
    """Whether a cell has a formula, and no value was saved with it."""
    if formulas is None:
        return False
    return cell.value is None and formulas[cell.coordinate].data_type == "f"


def _is_filled(cell: Any, formulas: Any) -> bool:
    """Whether a cell has a value or a formula."""
    return cell.value is not None or _is_unsaved(cell, formulas)


def _is_long(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) >= _DIGITS

"""Sheets of Excel files: a neighbour is a new file with one sheet, of the values of the cells."""

import datetime as dt
from collections.abc import Sequence
from copy import copy
from decimal import Decimal
from pathlib import Path
from typing import Any

from mechanisms.tables.engines.files.excel_files import column_title, sheet_rows
from mechanisms.tables.neighbours.written import discard_folder, in_new_folder
from queryable.audit.rows.forms import AddedRecord, Form, Name

_DIGITS = 10**15
_FIRST = dt.date(1900, 3, 1)
"""Before that day Excel's calendar differs from others."""


class WorkbookForm(Form):
    """The rows of a sheet. An Excel file holds numbers of 15 digits, and no record without a cell.

    Args:
        path: the file. sheet: the name of the sheet; None if it is the only one.
    """

    most = 100

    def __init__(self, path: str | Path, sheet: str | None) -> None:
        self._head, *self._rows = sheet_rows(path, sheet)
        self._title = self._head[0].parent.title
        names = [column_title(cell.value) for cell in self._head]
        self._places = {name: place for place, name in enumerate(names) if name}
        self.names: tuple[Name, ...] = tuple(self._places)
        self.count = len(self._rows)

    def read(self, name: Name) -> Sequence[Any]:
        """The cells of a column."""
        place = self._places[str(name)]
        cells = (row[place] for row in self._rows)
        return [None if cell.data_type == "e" or cell.value == "" else cell.value for cell in cells]

    def admits(self, name: Name, cell: Any) -> bool:
        """Whether Excel holds the cell as it is. The first column has no missing cells here."""
        match cell:
            case None:
                return self._places[str(name)] > 0
            case bool():
                return True
            case int():
                return abs(cell) < _DIGITS
            case float():
                return abs(cell) < 1e300 and cell == float(repr(cell)) and str(cell) != "-0.0"
            case str():
                return bool(cell) and cell.isprintable() and cell == cell.strip()
            case dt.datetime():
                return cell.tzinfo is None and cell.date() >= _FIRST and not cell.microsecond
            case dt.date():
                return cell >= _FIRST
        return False

    def edited(self, removed: Sequence[int], added: Sequence[AddedRecord]) -> Any:
        """The path of a new file."""
        from openpyxl import Workbook

        left_out = set(removed)
        kept = [row for place, row in enumerate(self._rows) if place not in left_out]
        for each in added:
            kept.insert(len(kept) if each.place is None else each.place, self._made(each))
        book = Workbook()
        sheet = book.active
        sheet.title = self._title
        for number, row in enumerate([self._head, *kept], start=1):
            for place, cell in enumerate(row, start=1):
                _write(sheet.cell(number, place), cell)
        path = in_new_folder("rows.xlsx")
        book.save(path)
        return path

    def _made(self, added: AddedRecord) -> list[Any]:
        width = len(self._head)
        row: list[Any] = [None] * width if added.base is None else list(self._rows[added.base])
        for name, cell in added.cells.items():
            row[self._places[str(name)]] = cell
        return row

    def discard(self, data: Any) -> None:
        """Delete the folder of the new file."""
        discard_folder(data)


def _write(target: Any, cell: Any) -> None:
    """Write a value, or what a cell of the file has: its value, its type and its format."""
    value = getattr(cell, "value", cell)
    if value is None:
        return
    target.value = float(value) if isinstance(value, Decimal) else value
    if isinstance(value, str):
        target.data_type = getattr(cell, "data_type", "s")
    if hasattr(cell, "number_format"):
        target.number_format = copy(cell.number_format)

"""Rows as CSV, Excel and an HTML table, safe to open: no cell is run as a formula or as markup.

openpyxl (extra `excel`) is imported only here.
"""

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from html import escape
from io import StringIO
from math import inf, isfinite, nextafter
from pathlib import Path
from typing import Any

from queryable.answers.values import printable

_SIGNS = "=+@\N{FULLWIDTH EQUALS SIGN}\N{FULLWIDTH PLUS SIGN}\N{FULLWIDTH HYPHEN-MINUS}"
_SIGNS += "\N{FULLWIDTH COMMERCIAL AT}-"
_RUN_BY_SPREADSHEETS = re.compile(f'(^|;)(?=[ "]*[{_SIGNS}])')
"""Where a formula begins: some spreadsheets take a semicolon for a separator."""
_LONGEST_CELL, _MOST_ROWS = 32_767, 2**20
_STYLE = """<style>
.queryable-ledger{font-size:13px;border-collapse:collapse;color:inherit}
.queryable-ledger th,.queryable-ledger td{text-align:left;vertical-align:top;padding:1px .8em 1px 0}
.queryable-ledger td{overflow-wrap:anywhere}
</style>"""


def as_csv(columns: Mapping[str, Sequence[Any]]) -> str:
    """Return columns of equal length as CSV with a header; what is None is empty."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(_safe, columns))
    writer.writerows(map(_safe, row) for row in zip(*columns.values(), strict=True))
    return text.getvalue()


def _safe(cell: Any) -> Any:
    """Return a cell as plain text that no spreadsheet runs; control characters become spaces."""
    if not isinstance(cell, str):
        return cell
    return _RUN_BY_SPREADSHEETS.sub(r"\1'", printable(cell))


def write_excel(path: Path, sheets: Mapping[str, Mapping[str, Sequence[Any]]]) -> None:
    """Write sheets of columns as an Excel file. A text stays a text, whatever it begins with.

    Args:
        sheets: by name, the columns of each, of equal length; what is None is empty.

    Raises:
        ImportError: openpyxl is not installed.
        ValueError: a sheet has more rows than Excel opens.
    """
    try:
        from openpyxl import Workbook
        from openpyxl.cell import WriteOnlyCell
    except ImportError:
        raise ImportError(
            "install openpyxl for Excel files: pip install '.[excel]' in a checkout"
        ) from None
    book = Workbook(write_only=True)
    for name, columns in sheets.items():
        sheet = book.create_sheet(name)
        sheet.freeze_panes = "A2"

        def made(value: Any, sheet: Any = sheet) -> Any:
            if not isinstance(value, str):
                return value if value is None or isfinite(value) else str(value)
            cell = WriteOnlyCell(sheet)
            cell.value = printable(value)[:_LONGEST_CELL]
            cell.data_type = "s"  # "=1+1" is a text, not a formula
            cell.quotePrefix = True
            return cell

        rows = [*zip(*columns.values(), strict=True)]
        if len(rows) >= _MOST_ROWS:
            raise ValueError(f"{len(rows):,} rows are more than Excel opens: write CSV")
        for row in (tuple(columns), *rows):
            sheet.append([made(each) for each in row])
    book.save(path)


def as_html(
    header: Iterable[str],
    rows: Iterable[Iterable[str] | None],
    left_out: str = "",
    *,
    styled: bool = True,
) -> str:
    """Return a table in which every cell is escaped.

    Args:
        rows: None stands for rows that are left out.
        left_out: the text that is shown for these.
        styled: whether its style comes with it.
    """
    heads = list(header)
    gap = f'<td colspan="{len(heads)}">… {escape(left_out)}</td>'
    body = "".join(f"<tr>{gap if row is None else _row(row, 'td')}</tr>" for row in rows)
    style = _STYLE if styled else ""
    return (
        f'{style}<table class="queryable-ledger"><thead><tr>{_row(heads, "th")}</tr></thead>'
        f"<tbody>{body}</tbody></table>"
    )


def _row(cells: Iterable[str], tag: str) -> str:
    return "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells)


def float_up(value: Fraction) -> float:
    """Return the least float at or above `value`."""
    try:
        nearest = float(value)
    except OverflowError:
        return inf
    return nearest if Fraction(nearest) >= value else nextafter(nearest, inf)

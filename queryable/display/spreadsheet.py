"""Rows as CSV and as an HTML table, safe to open: no cell is run as a formula or as markup."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from html import escape
from io import StringIO
from math import inf, nextafter
from typing import Any

_RUN_BY_SPREADSHEETS = tuple("=+-@\N{FULLWIDTH EQUALS SIGN}\N{FULLWIDTH PLUS SIGN}")
_RUN_BY_SPREADSHEETS += tuple("\N{FULLWIDTH HYPHEN-MINUS}\N{FULLWIDTH COMMERCIAL AT}")
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
    text = "".join(each if each.isprintable() else " " for each in cell)
    return f"'{text}" if text.lstrip().startswith(_RUN_BY_SPREADSHEETS) else text


def as_html(header: Iterable[str], rows: Iterable[Iterable[str] | None], left_out: str = "") -> str:
    """Return a table in which every cell is escaped.

    Args:
        rows: None stands for rows that are left out.
        left_out: the text that is shown for these.
    """
    heads = list(header)
    gap = f'<td colspan="{len(heads)}">… {escape(left_out)}</td>'
    body = "".join(f"<tr>{gap if row is None else _row(row, 'td')}</tr>" for row in rows)
    return (
        f'{_STYLE}<table class="queryable-ledger"><thead><tr>{_row(heads, "th")}</tr></thead>'
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

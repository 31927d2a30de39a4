"""Excel files as tables: each cell is read on its own, and what Excel does silently is told."""

import re
import warnings
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

import curator
from curator.ledgers import LedgerError
from mechanisms import Count, Keys, Table, column
from mechanisms.tables.engines.files.excel_files import excel_sheet, is_excel
from queryable import ZCDP
from queryable.errors import MisreadWarning

openpyxl = pytest.importorskip("openpyxl")


def at(*parts: int) -> datetime:
    """A time without a zone, as Excel has it."""
    return datetime(*parts)  # type: ignore[arg-type]  # noqa: DTZ001


HEAD = ("patient", "age", "day", "smokes", "note")
ROWS = (
    ("p1", 40, at(2026, 3, 1), True, "a"),
    ("p1", 41.5, at(2026, 3, 2, 8, 30), False, None),
    ("p2", 70, at(2026, 4, 1), True, "b"),
)


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., str]:
    """Writes sheets of rows; the first one is named "visits"."""

    def written(*sheets: Any, name: str = "visits.xlsx", change: Any = None) -> str:
        book = openpyxl.Workbook()
        for place, rows in enumerate(sheets):
            sheet = book.active if place == 0 else book.create_sheet(f"other {place}")
            if place == 0:
                sheet.title = "visits"
            for row in rows:
                sheet.append(row)
            if change is not None:
                change(sheet)
        path = tmp_path / name
        book.save(path)
        return str(path)

    return written


def exactly(table: Table, statistic: Any) -> Any:
    return table.totals(statistic.request).ravel().tolist()


def count(table: Table, where: Any) -> int:
    [found] = exactly(table, Count(where, per=table.unit))
    return int(found)


def opened(source: str, **options: Any) -> Table:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MisreadWarning)
        return Table(source, **options)


def findings(source: str, **options: Any) -> list[str]:
    misread = opened(source, **options).misread
    assert misread is not None
    return list(misread.findings)


def resaved(path: str, edit: Callable[[str], str]) -> None:
    """Change the text of the first sheet, as another program would have written it."""
    with ZipFile(path) as file:
        parts = {name: file.read(name) for name in file.namelist()}
    with ZipFile(path, "w") as file:
        for name, part in parts.items():
            text = edit(part.decode()).encode() if name.endswith("sheet1.xml") else part
            file.writestr(name, text)


def test_cells_are_read_as_what_they_are_compared_with(write: Callable[..., str]) -> None:
    with Table(write([HEAD, *ROWS]), privacy_unit="patient", max_rows=5) as visits:
        assert {name: kind.name for name, kind in visits.columns.items()} == dict.fromkeys(
            HEAD, "written"
        )
        assert count(visits, column("age") >= 41) == 2
        assert count(visits, column("day") >= date(2026, 3, 2)) == 2
        assert count(visits, column("day") == at(2026, 3, 2, 8, 30)) == 1
        assert count(visits, column("smokes") == True) == 2  # noqa: E712 (of a column)
        assert count(visits, column("note").is_null()) == 1
        assert count(visits, column("patient") == "p1") == 2
        assert visits.misread is not None
        assert visits.misread.findings == ()


def test_declared_types_are_read_and_what_does_not_fit_is_counted(
    write: Callable[..., str],
) -> None:
    path = write([HEAD, *ROWS, ("p3", "n/a", "soon", None, None)])
    types = {"age": "DOUBLE", "day": "DATE", "smokes": "BOOLEAN"}
    visits = opened(path, types=types)
    kinds = {name: kind.name for name, kind in visits.columns.items()}
    assert (kinds["age"], kinds["day"], kinds["smokes"]) == ("float", "date", "boolean")
    assert visits.misread is not None
    assert visits.misread.cells["age"] == 1
    assert visits.misread.cells["day"] >= 1
    assert visits.misread.examples["age"] == "n/a"
    assert count(visits, column("age") > 0) == 3


def test_no_cell_decides_the_type_of_a_column(write: Callable[..., str]) -> None:
    """Whatever is in the rows, the columns are the same."""
    one = opened(write([HEAD, *ROWS]))
    for cell in ("text", 7, date(2026, 1, 1), True, None, timedelta(1), time(8)):
        other = opened(write([HEAD, *ROWS, ("p9", cell, cell, cell, cell)], name="b.xlsx"))
        assert other.columns == one.columns
        assert other.layout == one.layout


@pytest.mark.parametrize("several", [False, True])
def test_of_several_sheets_one_is_named(write: Callable[..., str], several: bool) -> None:
    path = write([HEAD, *ROWS], *([[("x",), (1,)]] if several else []))
    assert count(Table(path, sheet="visits"), None) == 3
    if several:
        assert [*Table(path, sheet="other 1").columns] == ["x"]
        with pytest.raises(ValueError, match=r"several sheets: give sheet=, one of \['visits', 'o"):
            Table(path)
    with pytest.raises(ValueError, match=r"no sheet 'none' in 'visits.xlsx'; there are: \['visits"):
        Table(path, sheet="none")
    with pytest.raises(TypeError, match="sheet is 1; it should be the name"):
        Table(path, sheet=1)


def test_sheet_is_for_excel_files(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a\n1\n")
    for source in (tmp_path / "a.csv", {"a": [1]}):
        with pytest.raises(TypeError, match="leave sheet out; it is for Excel files"):
            Table(source, sheet="a")


def test_merged_cells_are_refused(write: Callable[..., str]) -> None:
    path = write([HEAD, *ROWS], change=lambda sheet: sheet.merge_cells("A2:A3"))
    with pytest.raises(ValueError, match=r"unmerge A2:A3 in Excel, and fill in its cells"):
        Table(path)


def test_formulas_have_the_values_that_were_saved(write: Callable[..., str]) -> None:
    rows = [("a", "b"), (1, "=A2+1"), (2, "=A3+1"), (3, None)]
    path = write(rows)
    told = findings(path)
    text = "b: 2 formulas have no value in the file, and are missing; open the file in Excel, and"
    assert told == [f"{text} save it"]
    with pytest.warns(MisreadWarning, match=r"'b' \(open the file in Excel, and save it\)"):
        Table(path)
    resaved(path, lambda text: text.replace("<f>A2+1</f><v></v>", "<f>A2+1</f><v>7</v>"))
    resaved(path, lambda text: text.replace("<f>A2+1</f><v />", "<f>A2+1</f><v>7</v>"))
    assert findings(path)[0].startswith("b: 1 formulas have no value")
    assert count(opened(path), column("b") == 7) == 1


@pytest.mark.parametrize(
    "cell",
    [
        '<c r="A3"><v>secret</v></c>',
        '<c r="A3" t="d"><v>2024-13-45</v></c>',
        '<c r="A3" t="b"><v>x</v></c>',
        '<c r="A3" t="s"><v>999</v></c>',
        '<c r="A3" s="99"><v>1</v></c>',
        f'<c r="A3"><v>{"9" * 5000}</v></c>',
    ],
)
def test_a_malformed_cell_is_named_as_the_cause(write: Callable[..., str], cell: str) -> None:
    path = write([("a",), (1,), (2,)])
    resaved(path, lambda text: re.sub(r'<c r="A3".*?</c>', cell, text))
    with pytest.raises(ValueError, match=r"open 'visits.xlsx' in Excel, and save it") as error:
        Table(path)
    assert "a cell, or another part of a sheet, is malformed" in str(error.value)
    assert "secret" not in str(error.value)


def test_a_row_of_formulas_without_values_is_a_row(write: Callable[..., str]) -> None:
    path = write([("a", None), (1, None), ("=A2+1", None), ("=A2+1", "=A2"), (None, None)])
    text = "a: 2 formulas have no value in the file, and are missing; open the file in Excel, and"
    assert findings(path) == [f"{text} save it", "1 cells of column B are not read: it has no name"]
    assert count(opened(path), None) == 3


def test_errors_are_missing_and_counted(write: Callable[..., str]) -> None:
    def errors(sheet: Any) -> None:
        sheet["A3"].data_type = "e"

    path = write([("a", "b"), (1, 1), ("#N/A", 2), (3, 3)], change=errors)
    assert findings(path) == ["a: 1 cells are errors, such as #N/A, and are missing"]
    assert count(opened(path), column("a").is_null()) == 1


def test_dates_beside_numbers_are_told(write: Callable[..., str]) -> None:
    """A date whose format was lost is a number of days."""
    path = write([("day",), (at(2026, 3, 1),), (46083,), (46084,)])
    told = findings(path)[0]
    assert "cells of several types: 2 numbers, 1 dates; a date without its format is" in told
    with pytest.warns(MisreadWarning, match="give all cells of 'day' one format in Excel"):
        Table(path)
    assert count(opened(path, types={"day": "DATE"}), column("day") >= date(2000, 1, 1)) == 1


def test_texts_beside_numbers_are_told_and_do_not_warn(write: Callable[..., str]) -> None:
    path = write([("a",), *[(each,) for each in range(30)], ("n/a",)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = Table(path)
    assert table.misread is not None
    assert "a: cells of several types: 30 numbers, 1 texts" in table.misread.findings


def test_other_kinds_of_cells(write: Callable[..., str]) -> None:
    path = write([("t", "d", "n"), (time(8, 30), timedelta(hours=30), 0.1)])
    sheet = excel_sheet(path)
    assert sheet.columns["t"] == ["08:30:00"]
    assert sheet.columns["n"] == [0.1]
    assert count(opened(path), column("t") == "08:30:00") == 1


def test_dates_count_from_1904_where_the_file_says_so(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.epoch = openpyxl.utils.datetime.CALENDAR_MAC_1904
    book.active.append(("day",))
    book.active.append((at(2026, 3, 1),))
    book.save(tmp_path / "a.xlsx")
    assert excel_sheet(tmp_path / "a.xlsx").columns == {"day": [date(2026, 3, 1)]}


def test_long_numbers_have_lost_digits(write: Callable[..., str]) -> None:
    path = write([("card",), (4_000_123_412_341_234,), (17,)])
    [told] = findings(path)
    assert "card: 1 numbers have more than 15 digits" in told


def test_rows_and_columns_that_are_none(write: Callable[..., str]) -> None:
    def hide(sheet: Any) -> None:
        sheet.row_dimensions[2].hidden = True
        sheet["A9"].number_format = "0"

    rows = [("a", None, " b "), (1, None, "x"), (None,) * 3, (2, 5, "")]
    path = write(rows, change=hide)
    assert findings(path) == [
        "1 empty rows between others are left out",
        "1 rows that Excel hides are read like others",
        "1 cells of column B are not read: it has no name",
    ]
    table = opened(path)
    assert [*table.columns] == ["a", "b"]
    assert count(table, None) == 2
    assert count(table, column("b").is_null()) == 1


def test_an_empty_text_is_missing(write: Callable[..., str]) -> None:
    path = write([("a", "b"), (1, "x"), (2, "y")])
    shown = re.compile(r'<c r="B3" t="(?:s|inlineStr)">.*?</c>')
    empty = '<c r="B3" t="inlineStr"><is><t></t></is></c>'
    resaved(path, lambda text: shown.sub(empty, text))
    assert excel_sheet(path).columns["b"] == ["x", None]


def test_names_may_be_numbers_and_dates(write: Callable[..., str]) -> None:
    sheet = excel_sheet(write([(2025, at(2026, 3, 1), "c"), (1, 2, 3)]))
    assert [*sheet.columns] == ["2025", "2026-03-01", "c"]


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ([], "name the columns in the first row"),
        ([(None, None), ("a", "b")], "name the columns in the first row"),
        ([("a", "A"), (1, 2)], "rename a column: two have the same name, .*: 'a' and 'A'"),
        ([("a", "a"), (1, 2)], "rename a column: two have the same name, .*: 'a' and 'a'"),
    ],
)
def test_a_header_names_each_column_once(write: Callable[..., str], rows: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        Table(write(rows))


def test_what_is_no_excel_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.xlsx").write_bytes(b"no zip file")
    with pytest.raises(ValueError, match=r"save 'a.xlsx' as .xlsx, without a password: it cannot"):
        Table(tmp_path / "a.xlsx")
    for name in ("a.xls", "a.ods", "a.xlsb"):
        (tmp_path / name).write_bytes(b"")
        with pytest.raises(ValueError, match=rf"save '{name}' as .xlsx first"):
            Table(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        Table(tmp_path / "none.xlsx")
    (tmp_path / "folder.xlsx").mkdir()
    with pytest.raises(ValueError, match="give one file"):
        Table(tmp_path / "folder.xlsx")
    assert [is_excel(each) for each in ("A.XLSX", Path("a.xlsm"), "a.csv", {"a": []})] == [
        *(True, True),
        *(False, False),
    ]


def test_what_was_not_read_is_in_no_display(write: Callable[..., str]) -> None:
    path = write([("a",), (1,), ("secret",), ("=A1",)])
    table = opened(path)
    assert "secret" not in repr(table) + repr(table.misread) + repr(excel_sheet(path))


def test_it_is_asked_like_other_tables(write: Callable[..., str]) -> None:
    """Groups, means and a public table that is joined."""
    path = write([HEAD, *ROWS])
    visits = opened(path, privacy_unit="patient", max_rows=5)
    regions = write([("patient", "region"), ("p1", "north"), ("p2", "south")], name="r.xlsx")
    joined = visits.join(public=regions, on="patient")
    by_region = joined.group_by({"region": ["north", "south"]}).count()
    assert exactly(joined, by_region) == [2, 1]
    assert exactly(visits, visits.group_by(Keys("smokes", [True, False])).count()) == [2, 1]
    ages = visits.sum("age", 0, 100)
    assert float(exactly(visits, ages)[0] * ages.unit) == 151.5


def test_a_batch_is_no_excel_file(write: Callable[..., str]) -> None:
    path = write([HEAD, *ROWS])
    visits = opened(path)
    with pytest.raises(ValueError, match="append its rows as a frame"):
        visits.append(path)
    rows: Any = dict(zip(HEAD, zip(*ROWS, strict=True), strict=True))
    assert count(visits.append({name: list(cells) for name, cells in rows.items()}), None) == 6


def test_a_curator_opens_it_and_knows_it_again(write: Callable[..., str], tmp_path: Path) -> None:
    from curator import commands

    write([HEAD, *ROWS], [("x",), (1,)], name="visits.xlsx")
    folder = tmp_path / "clinic"
    commands.init(folder)
    stated = folder / "curator.toml"
    text = stated.read_text().replace('source = "visits.csv"', 'source = "../visits.xlsx"')
    stated.write_text(re.sub(r"(?m)^types = .*$", 'sheet = "visits"', text))
    for _ in range(2):
        visits, table = curator.open_configured(stated, "visits")
        table.release(visits.count(), loss=ZCDP("1/50"), name="n")
        curator.release(table)
    assert len(table.ledger()) == 1
    write([HEAD, *ROWS[:2]], [("x",), (1,)], name="visits.xlsx")
    with pytest.raises(LedgerError, match="opened on other data"):
        curator.open_configured(stated, "visits")


def test_openpyxl_is_named_if_it_is_missing(
    write: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write([HEAD, *ROWS])
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    with pytest.raises(ImportError, match="install openpyxl for Excel files"):
        Table(path)

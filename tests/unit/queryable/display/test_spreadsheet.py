"""CSV and HTML of a ledger: every cell is text, never a formula or markup."""

import csv
from io import StringIO

import pytest

from composition import FiltCon
from queryable import ZCDP, PureDP, Queryable, QueryRefusedError
from queryable.display.spreadsheet import as_csv, as_html
from tests.strategies import Toy

EVIL = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", " =1", "\r@x", "\N{FULLWIDTH EQUALS SIGN}1"]


def rows(text: str) -> list[list[str]]:
    return list(csv.reader(StringIO(text)))


@pytest.mark.parametrize("cell", EVIL)
def test_no_cell_is_a_formula(cell: str) -> None:
    ((name,), (read,)) = rows(as_csv({cell: [cell]}))
    for text in (name, read):
        assert text.startswith("'")
        assert text.lstrip("'").strip() == cell.strip()


def test_numbers_stay_numbers_and_plain_texts_stay_as_they_are() -> None:
    read = rows(as_csv({"a": [-1, None, 0.5], "b": ["x, y", 'say "no"', "two\nlines"]}))
    assert read == [["a", "b"], ["-1", "x, y"], ["", 'say "no"'], ["0.5", "two lines"]]


def test_cells_of_a_table_are_escaped() -> None:
    text = as_html(["<b>"], [["<script>&"], None], "<i>")
    assert "<script>" not in text
    assert "&lt;script&gt;&amp;" in text
    assert "… &lt;i&gt;" in text


def ledger(launches: int = 1) -> Queryable:
    q = Queryable(FiltCon(ZCDP(1)), None)
    for _ in range(launches):
        q.launch(Toy(PureDP("1/1000")))
    q.launch(Toy(), name="=cmd|' /C calc'!A0 <img src=x>")
    with pytest.raises(QueryRefusedError):
        q.launch(Toy(PureDP(10)))
    return q


def test_a_ledger_as_csv() -> None:
    header, *lines = rows(ledger().ledger().to_csv())
    assert header[:6] == ["sequence", "path", "name", "mechanism", "outcome", "asked"]
    assert [line[4] for line in lines] == ["charged", "charged", "refused"]
    assert lines[1][2].startswith("'=cmd")
    assert rows(Queryable(FiltCon(ZCDP(1)), None).ledger().to_csv())[0][:3] == header[:3]


def test_a_ledger_as_html() -> None:
    shown = ledger().ledger()
    assert shown._repr_html_() == shown.to_html()
    assert "<img" not in shown.to_html()
    assert shown.to_html().count("<tr>") == 4


def test_a_notebook_shows_the_first_and_the_last_rows_of_a_long_ledger() -> None:
    shown = ledger(launches=200).ledger()
    assert "102 more; see to_html()" in shown._repr_html_()
    assert shown._repr_html_().count("<tr>") == 1 + 100 + 1
    assert shown.to_html().count("<tr>") == 1 + 202

"""What could not be read is told to the owner, and to nobody else."""

import logging
import random
from pathlib import Path
from typing import Any

import pytest

from composition import FiltCon
from mechanisms import Count, Gaussian, Histogram, Sum, Table, column
from mechanisms.tables.engines.cell_formats import PLAIN, CellFormat
from mechanisms.tables.engines.misread import Misread
from mechanisms.tables.engines.samples import advice_for
from queryable import ZCDP, Queryable, QueryError

SECRET = "S3CRET,50"


def told(path: Path, text: str, **options: Any) -> list[str]:
    """What an owner is told about a file with this content."""
    path.write_text(text, encoding="utf-8")
    found: list[Misread] = []
    with Table(path, on_misread=found.append, **options) as table:
        assert found == ([table.misread] if found else [])
    return str(found[0]).splitlines()[1:] if found else []


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rows.csv"


def test_a_decimal_comma_is_noticed(path: Path) -> None:
    text = "amount\n" + "".join(f'"{i % 90},50"\n' for i in range(2000))
    message = "- amount: of the first 1,000 cells 0 are read as a number, and '0,50' is not; "
    assert told(path, text) == [message + "write decimal=','"]
    assert told(path, text, decimal=",") == []
    [lost] = told(path, text, types={"amount": "DOUBLE"})
    assert lost.startswith("- amount: 2,000 cells are no valid DOUBLE and are missing")
    assert lost.endswith("for example '0,50'; write decimal=','")
    assert told(path, text, types={"amount": "DOUBLE"}, decimal=",") == []


@pytest.mark.parametrize(
    ("cells", "advice"),
    [
        (["1.234,50", "12,00"], "decimal=',', thousands='.'"),
        (["1,234.50"], "thousands=','"),
        (["1,234"], "thousands=',' or decimal=','"),
        (["31.12.2020"], "date_format='%d.%m.%Y'"),
        (["31/12/2020", "1/2/2020"], "date_format='%d/%m/%Y'"),
        (["1/2/2020"], "date_format='%d/%m/%Y' or date_format='%m/%d/%Y'"),
        (["12/31/2020 11:59 PM"], "date_format='%m/%d/%Y %I:%M %p'"),
        (["31-Dec-2020"], "date_format='%d-%b-%Y'"),
        (["n/a", "NULL"], "null_values=['NULL', 'n/a']"),
        (["Anna", "1,5", "Berta", "Clara"], ""),
        (["x" * 60000, "9" * 60000], ""),
        ([], ""),
    ],
)
def test_advice(cells: list[str], advice: str) -> None:
    assert advice_for(cells, PLAIN) == advice


def test_advice_starts_from_the_given_format() -> None:
    assert advice_for(["12.50"], CellFormat(decimal=",")) == "decimal='.'"


def test_text_is_no_finding_and_mixed_cells_are(path: Path) -> None:
    assert told(path, "name,age\nAnna,3\nBerta,4\n") == []
    assert told(path, "name,age\nAnna,3\nBerta,old\nClara,5\n") == [
        "- age: of the first 3 cells 2 are read as a number, and 'old' is not"
    ]
    [line] = told(path, "name,age\nAnna,3\nBerta\n")
    assert line.startswith("- 1 rows are missing: they do not parse")
    assert told(path, "name,age\n") == []


def test_an_example_of_a_lost_cell_is_found_after_the_sample(path: Path) -> None:
    """A column of text has a name like the column that collects such cells."""
    text = "x,lost 0\n" + "1,a\n" * 5000 + "two,b\n"
    [line] = told(path, text, types={"x": "BIGINT"})
    assert line == "- x: 1 cells are no valid BIGINT and are missing, for example 'two'"
    with Table(path, types={"x": "BIGINT"}) as table:
        assert list(table.columns) == ["x", "lost 0"]


def test_python_objects_are_reported_too() -> None:
    found: list[Misread] = []
    data = {"x": [1, "two", None], "y": ["3", "x", 5]}
    with Table(data, types={"y": "BIGINT"}, on_misread=found.append):
        [told] = found
        assert told.cells == {"y": 1}
        assert "x: of the first 2 cells 1 are read as a number, and 'two' is not" in str(told)


def test_no_cell_makes_the_report_fail(path: Path) -> None:
    """Any cells: a report is made, or not, and the table opens."""
    rng = random.Random(3)
    bits = ["1", ",", ".", "/", "-", "é", "'", "%", "\0", "\x1f", "9" * 400, "Jan", " ", "\u0661"]
    for _ in range(12):
        cells = ["".join(rng.choices(bits, k=rng.randrange(1, 8))) for _ in range(20)]
        told(path, "x,y\n" + "".join(f'"{cell}",1\n' for cell in cells))


def test_nothing_that_an_analyst_holds_shows_a_cell(
    path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """Not a repr, a display, an error or a log, also if launches are refused."""
    caplog.set_level(logging.DEBUG)
    path.write_text(f'x,y\n"{SECRET}","{SECRET}"\n1,2\n"5')
    shown: list[str] = []
    reports: list[Misread] = []
    with Table(path, types={"y": "BIGINT"}, on_misread=reports.append) as table:
        [report] = reports
        assert SECRET in str(report)
        queryable = Queryable(FiltCon(ZCDP(1)), table)
        queryable(Gaussian(Count(column("x") > 1), rho="1/10"))
        for wrong in (Sum("z", 0, 1), Histogram("x", [1, "1"]), Sum("x", 0, 1, unit="1/3")):
            with pytest.raises(QueryError) as refused:
                queryable(Gaussian(wrong, rho="1/10"))
            shown.append(repr(refused.value))
        shown += [repr(table), str(table), repr(table.columns), repr(vars(table))]
        shown += [repr(report), repr(vars(table._engine)), repr(report.samples)]
        shown += [repr(queryable), str(queryable), str(queryable.explain()), str(queryable.tree())]
        shown += [repr(queryable.view), str(queryable.ledger()), queryable._repr_html_()]
    shown += [caplog.text, *capfd.readouterr()]
    assert not [text for text in shown if "S3CRET" in text]


def test_a_sum_of_text_advises_no_type_that_loses_every_cell(path: Path) -> None:
    """With a decimal comma the type DOUBLE would make all cells missing."""
    path.write_text('amount\n"12,50"\n')
    with (
        Table(path, types={"amount": "VARCHAR"}) as table,
        pytest.raises(TypeError, match=r"leave 'amount' out of types.*decimal=','"),
    ):
        table.check(Sum("amount", 0, 100))


def test_an_owner_may_refuse_a_file(path: Path, tmp_path: Path) -> None:
    """An exception of the owner's function ends the opening, and nothing stays on disk."""

    def refuse(found: Misread) -> None:
        raise RuntimeError(f"{len(found.findings)} findings")

    path.write_text("x\n1\nn/a\n")
    with pytest.raises(RuntimeError, match="1 findings") as raised:
        Table(path, on_misread=refuse, temp_directory=tmp_path)
    assert raised.tb is not None  # it refers to the table
    assert not list(tmp_path.glob("queryable-*"))

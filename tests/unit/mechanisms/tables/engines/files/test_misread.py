"""What could not be read is told to the owner, and to nobody else."""

import contextlib
import datetime as dt
import logging
import random
import sqlite3
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from composition import FiltCon
from mechanisms import Count, Gaussian, Histogram, Sum, Table, column
from mechanisms.tables.engines.files.cell_formats import PLAIN, CellFormat
from mechanisms.tables.engines.files.misread import Misread
from mechanisms.tables.engines.files.samples import advice_for
from mechanisms.tables.expressions.columns import Column
from queryable import ZCDP, Queryable, QueryError
from queryable.errors import MisreadWarning

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
    """Not a repr, a display, an error or a log, even if launches are refused."""
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


def above(x: Column) -> Any:
    return Count(x > 0)


def true(x: Column) -> Any:
    return Count(x == True)  # noqa: E712


def in_january(x: Column) -> Any:
    return Count(x.month() == 1)


def since(x: Column) -> Any:
    return Count(x >= dt.date(2013, 1, 1))


WAYS: dict[str, tuple[list[str], list[Callable[[Column], Any]]]] = {
    "decimal comma": (["12,5", "0,75"], [above]),
    "thousands": (["1,234.5", "12,345.0"], [above]),
    "both": (["1.234,5", "12.345,0"], [above]),
    "scientific": (["1e3", "2.5E-3"], [above]),
    "spaces": ([" 12", "13 "], [above]),
    "quotes": (["'12'", "'13'"], [above]),
    "nulls": (["NA", "NA"], [above]),
    "yes and no": (["yes", "no"], [true]),
    "true and false": (["True", "FALSE"], [true]),
    "German dates": (["31.01.2013", "1.1.2014"], [in_january, since]),
    "American dates": (["01/31/2013", "1/30/2014"], [in_january, since]),
    "compact dates": (["20130131", "20140130"], [in_january]),
    "months in words": (["31-Jan-2013", "1-Jan-2014"], [in_january, since]),
    "dates": (["2013-01-31", "2014-01-01"], [in_january, since]),
    "times in UTC": (["2013-01-31T10:00:00Z", "2014-01-01T10:00:00Z"], [in_january, since]),
    "times with a zone": (
        ["2013-01-31 10:00:00+02:00", "2014-01-02 10:00+0100"],
        [in_january, since],
    ),
    "times of databases": (["2013-01-31 10:00:00.5 UTC", "2014-01-02 10:00:00+00"], [in_january]),
}
"""How all cells of a column may be written, and what is asked about it."""
MOST = ["decimal comma", "thousands", "both", "spaces", "quotes", "nulls", "German dates"]
MOST += ["American dates", "compact dates", "months in words"]
"""Those of which no cell is read."""


def written(rows: dict[str, list[str]], folder: Path) -> Path:
    path = folder / "rows.csv"
    lines = [list(rows), *zip(*rows.values(), strict=True)]
    path.write_text("".join(",".join(f'"{it}"' for it in line) + "\n" for line in lines))
    return path


def in_parquet(rows: dict[str, list[str]], folder: Path) -> Path:
    path = folder / "rows.parquet"
    pq.write_table(pa.table(rows), path)
    return path


INPUTS: dict[str, Callable[[dict[str, list[str]], Path], Any]] = {
    "csv": written,
    "parquet": in_parquet,
    "list": lambda rows, _: rows,
    "objects": lambda rows, _: pd.DataFrame(rows, dtype=object),
    "pandas": lambda rows, _: pd.DataFrame(rows),
    "category": lambda rows, _: pd.DataFrame(rows, dtype="category"),
    "polars": lambda rows, _: pl.DataFrame(rows),
    "arrow": lambda rows, _: pa.table(rows),
    "array": lambda rows, _: {name: np.array(cells) for name, cells in rows.items()},
}


@pytest.mark.parametrize("source", INPUTS)
def test_what_is_not_read_is_refused_or_told_before_the_first_question(
    source: str, tmp_path: Path
) -> None:
    """For each way to write a column and each kind of input: a question counts cells, or is
    refused by the public type, or the owner was told of the column.

    At 1b177ec times with a zone have no month, and nobody is told of spaces, quotes, yes and no,
    compact dates, and columns of lists.
    """
    rows = {way: cells for way, (cells, _) in WAYS.items()}
    reports: list[Misread] = []
    with Table(INPUTS[source](rows, tmp_path), on_misread=reports.append) as table:
        for way, (_, questions) in WAYS.items():
            for question in (each(column(way)) for each in questions):
                try:
                    table.check(question)
                except TypeError:
                    assert table.columns[way].name == "text"
                    continue
                about = [it for it in reports[0].findings if it.startswith(f"{way}: ")]
                assert about or question.value(table) > 0, (way, question)


@pytest.mark.parametrize("source", ["csv", "list", "category"])
def test_the_owner_is_warned_without_asking(source: str, tmp_path: Path) -> None:
    """If most of a column is not read. The text has no cell of it, and on_misread silences it."""
    rows = {way: cells for way, (cells, _) in WAYS.items()}
    data = INPUTS[source](rows, tmp_path)
    with pytest.warns(MisreadWarning, match="for the data's owner only") as caught:
        Table(data).close()
    [warning] = caught
    assert warning.filename == __file__
    told = str(warning.message)
    assert [way for way in WAYS if repr(way) in told] == [way for way in WAYS if way in MOST]
    long = [cell for cells in rows.values() for cell in cells if len(cell) > 3]
    assert not [cell for cell in long if cell in told]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Table(data, on_misread=lambda _: None).close()
        read = {way: cells for way, cells in rows.items() if way not in MOST}
        Table(INPUTS[source]({**read, "name": ["Anna", "Berta"]}, tmp_path)).close()


@pytest.mark.parametrize(
    ("declared", "cell", "advice"),
    [
        ("BIGINT", "1.5", "types={'x': 'DOUBLE'}"),
        ("SMALLINT", "40000", "types={'x': 'BIGINT'}"),
        ("DOUBLE", "1,5", "decimal=','"),
        ("DATE", "20130131", "date_format='%Y%m%d'"),
        ("DOUBLE", "2013-01-31", "types={'x': 'DATE'}"),
        ("DATE", "2013-01-31T10:00:00", "types={'x': 'TIMESTAMP'}"),
        ("DATE", "2013-01-31T10:00:00Z", "types={'x': 'TIMESTAMP WITH TIME ZONE'}"),
        ("TIMESTAMP WITH TIME ZONE", "2013-01-31 10:00:00", "types={'x': 'TIMESTAMP'}"),
        ("TIMESTAMP", "31.01.2013 10:00", "date_format='%d.%m.%Y %H:%M'"),
    ],
)
def test_the_advice_for_a_declared_column_is_a_type_or_an_option(
    declared: str, cell: str, advice: str, path: Path
) -> None:
    """And with it the cell is read. At 1b177ec no type is advised."""
    [line] = told(path, f'x\n"{cell}"\n', types={"x": declared})
    assert line.endswith(f"; write {advice}")
    options = eval(f"dict({advice})")
    assert told(path, f'x\n"{cell}"\n', **{"types": {"x": declared}, **options}) == []


def test_the_header_says_what_is_wrong(path: Path) -> None:
    for text, remedy in (
        ("a;b\n1;2\n", "the file has one column, 'a;b'; write sep=';'"),
        ("a\tb\n1\t2\n", r"the file has one column, 'a\tb'; write sep='\t'"),
        ("sep=;\na;b\n1;2\n", "the first line, 'sep=;', names no column; remove it"),
    ):
        assert told(path, text) == [f"- {remedy}"]
        with pytest.warns(MisreadWarning, match="the rows"):
            Table(path).close()
    assert told(path, "a;b\n1;2\n", sep=";") == []


def test_cells_that_are_lost_are_counted_in_all_kinds_of_input(path: Path, tmp_path: Path) -> None:
    """At 1b177ec long cells, objects without a text and invalid cells of frames are not."""
    [line] = told(path, "x,y\na,1\n" + "b" * 70_000 + ",2\n")
    assert line == "- x: 1 cells are longer than 65,536 bytes and are missing"
    found: list[Misread] = []
    cells = [1, None, float("nan"), pd.NA, pd.NaT, np.datetime64("NaT"), [1], {}, object()]
    for data in (
        {"x": cells},
        pd.DataFrame({"x": cells}),
        pd.DataFrame({"x": pd.Categorical([(1,)])}),
    ):
        Table(data, on_misread=found.append).close()
    numbers = [int(str(each).partition("x: ")[2].split()[0]) for each in found]
    assert numbers == [3, 3, 1]
    latin = pa.array([b"Rom", b"K\xf6ln"], pa.binary())
    text = pa.Array.from_buffers(pa.string(), 2, latin.buffers())
    Table(pa.table({"x": text}), on_misread=found.append).close()
    assert "x: 1 cells are no valid text or time" in str(found[-1])
    with Table(pa.table({"x": ["Rom"]}), on_misread=found.append) as table:
        table.append(pa.table({"x": text}))
    assert len(found) == 5
    with Table({"x": ["Rom"]}, on_misread=found.append) as table:
        table.append({"x": [[1], "Bonn"]})
    assert "x: 1 objects are no text" in str(found[-1])


def test_types_that_pandas_takes_from_cells_are_told() -> None:
    """A missing cell makes integers float, and a word makes them text: one row decides."""
    whole = pd.DataFrame({"x": [1.0, np.nan, 3.0], "y": [1.5, np.nan, 3.0], "z": [1.0, 2.0, 3.0]})
    with pytest.warns(
        MisreadWarning, match=r"'x' \(read it with dtype=\{'x': 'Int64'\}\)"
    ) as caught:
        Table(whole).close()
    assert "'y'" not in str(caught[0].message)
    assert "'z'" not in str(caught[0].message)
    words = pd.DataFrame(
        {"x": [*map(str, range(50)), "x"], "y": [*map(str, range(51))]}, dtype="str"
    )
    with pytest.warns(MisreadWarning, match=r"'x' \(convert 'x' first\)") as caught:
        Table(words).close()
    assert "'y'" not in str(caught[0].message)


def test_a_truth_value_that_is_not_read_does_not_end_the_opening(path: Path) -> None:
    """At 1b177ec it is a KeyError, which one cell of a column of t and f causes."""
    assert told(path, "x\nt\nf\nmaybe\n") == [
        "- x: of the first 3 cells 2 are read as a truth value, and 'maybe' is not"
    ]


def on_sqlite(folder: Path, declared: str, cells: list[Any]) -> Any:
    """A column `x` of a database, as Ibis has it."""
    import ibis

    path = folder / "rows.db"
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"CREATE TABLE data (x {declared})")
        connection.executemany("INSERT INTO data VALUES (?)", [(cell,) for cell in cells])
    return ibis.sqlite.connect(path).table("data")


@pytest.mark.parametrize(
    ("declared", "cells", "remedy"),
    [
        ("REAL", ["12,5", "0,75"], "store numbers, not texts"),
        ("BIGINT", ["1,234", "n/a"], "store numbers, not texts"),
        ("BOOLEAN", ["yes", "no"], "store 0 and 1"),
        ("DATE", ["31.01.2013", "1.1.2014"], "store dates as 2020-02-29"),
        ("TIMESTAMP", ["31.01.2013 10:00"], "store times as 2020-02-29 12:30:00"),
        ("TEXT", [b"\xff", b"M\xfcller"], "store texts in the database's encoding"),
    ],
)
def test_what_sqlite_holds_in_a_column_of_another_type_is_told(
    declared: str, cells: list[Any], remedy: str, tmp_path: Path
) -> None:
    """At 1b177ec all of it was missing without a sign."""
    with (
        pytest.warns(MisreadWarning, match=f"'x' [(]{remedy}[)]"),
        Table(on_sqlite(tmp_path, declared, cells)) as table,
    ):
        pass
    assert f"of the first {len(cells)} cells {len(cells)} are no" in str(table.misread)
    assert "31.01" not in repr(table.misread)


def test_fractions_in_a_column_of_integers_are_told(tmp_path: Path) -> None:
    """SQLite keeps them, and a sum of whole numbers would be read as theirs."""
    with (
        pytest.warns(MisreadWarning, match="'x' [(]declare the column REAL[)]"),
        Table(on_sqlite(tmp_path, "INTEGER", [2.9, 0.5, 1.5, "4.0", None])) as table,
    ):
        assert Sum("x", 0, 9).value(table) == 2 + 0 + 1 + 4
    assert "of the first 5 cells 3 have a fraction" in str(table.misread)


@pytest.mark.parametrize(
    ("declared", "cells"),
    [
        ("REAL", [1.5, 2, None]),
        ("BIGINT", [1, 2**62]),
        ("BOOLEAN", [0, 1]),
        ("DATE", ["2013-01-31"]),
        ("TIMESTAMP", ["2013-01-31 10:00:00", "2013-01-31T10:00:00.5Z"]),
        ("TEXT", ["M\u00fcller", "12,5"]),
        ("REAL", [1.5, "2,5", 3]),
    ],
)
def test_no_warning_about_what_sqlite_gives(
    declared: str, cells: list[Any], tmp_path: Path
) -> None:
    """Less than most of a column is in the report only."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", MisreadWarning)
        with Table(on_sqlite(tmp_path, declared, cells)) as table:
            assert table.misread is not None
            assert len(table.misread.findings) == ("2,5" in cells)

"""Numbers and dates as they are written in the owner's country, each cell on its own."""

import datetime as dt
import random
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from mechanisms import Count, GroupBy, Histogram, Sum, Table, column
from mechanisms.tables.engines.files.cell_formats import CellFormat, DateFormat

x = column("x")


def read(path: Path, cells: list[str], **options: Any) -> Table:
    lines = (f'"{cell.replace(chr(34), chr(34) * 2)}";{i}\n' for i, cell in enumerate(cells))
    path.write_text("x;n\n" + "".join(lines), encoding="utf-8")
    return Table(path, sep=";", **options)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rows.csv"


def number(cell: str, decimal: str, thousands: str | None) -> Fraction | None:
    """The value of a cell, computed in Python, character by character."""
    body = cell.removeprefix("-")
    whole, comma, rest = body.partition(decimal)
    if thousands and thousands in whole:
        groups = whole.split(thousands)
        if not (1 <= len(groups[0]) <= 3 and all(len(group) == 3 for group in groups[1:])):
            return None
        whole = "".join(groups)
    digits = set("0123456789")
    if not (whole or rest) or not set(whole + rest) <= digits or (comma and not whole + rest):
        return None
    value = Fraction(int(whole + rest), 10 ** len(rest))
    return -value if cell[:1] == "-" else value


COMMON = [(",", None), (",", "."), (".", ",")]
RARE = [(",", " "), (".", "'"), (",", "\u202f"), (".", "_")]


@pytest.mark.parametrize(
    ("declared", "decimal", "thousands"),
    [
        *((None, *marks) for marks in (*COMMON, *RARE)),
        *(
            pytest.param(declared, *marks, marks=[pytest.mark.slow] * (marks in RARE))
            for declared in ("DOUBLE", "DECIMAL(18,2)", "BIGINT")
            for marks in (*COMMON, *RARE)
        ),
    ],
)
def test_numbers(decimal: str, thousands: str | None, declared: str | None, path: Path) -> None:
    """Equal to a reading in plain Python; a cell that is written otherwise is missing."""
    rng = random.Random(f"{decimal}{thousands}")
    bits = ["1", "23", "456", "000", decimal, thousands or "7", ".", ",", "-", "50", " "]
    cells = ["".join(rng.choices(bits, k=rng.randrange(1, 6))) for _ in range(300)]
    cells += ["12,50", "12.50", "1.234,50", "1,234.50", "1 234,50", "-1'234.5", "1_000"]
    types = None if declared is None else {"x": declared}
    expected = []
    for cell in cells:
        value = number(cell, decimal, thousands)
        exact = {"DECIMAL(18,2)": 100, "BIGINT": 1}.get(declared or "")
        fits = value is not None and (exact is None or (value * exact).denominator == 1)
        fits = fits and (declared != "BIGINT" or cell.removeprefix("-")[:1] != decimal)
        expected.append(value if fits else None)
    assert sum(value is not None for value in expected) > 20
    with read(path, cells, decimal=decimal, thousands=thousands, types=types) as table:
        there = (x < 0) | (x >= 0)
        found = Histogram("n", range(len(cells)), there).value(table)
        assert [cell for cell, n in zip(cells, found, strict=True) if n] == [
            cell for cell, value in zip(cells, expected, strict=True) if value is not None
        ]
        amount = x.cast("number") if declared is None else x
        cents = GroupBy({"n": range(len(cells))}, Sum(amount, -(10**9), 10**9, unit="0.01"))
        clipped = [min(max(value or Fraction(0), -(10**9)), 10**9) * 100 for value in expected]
        assert cents.value(table).tolist() == [int(value) for value in clipped]


@pytest.mark.parametrize(
    "written",
    ["%d.%m.%Y", "%m/%d/%Y", "%Y%m%d", "%d-%b-%y", "%d.%m.%y %H:%M", "%m/%d/%Y %I:%M:%S %p"],
)
def test_dates_as_strptime_reads_them(written: str, path: Path) -> None:
    """Random cells near the format, each compared with Python's reading."""
    rng = random.Random(written)
    first = dt.datetime(2020, 1, 1)  # noqa: DTZ001
    moments = [first + dt.timedelta(hours=rng.randrange(10**5)) for _ in range(150)]
    moments += [first.replace(year=year) for year in (1969, 2068)]  # the ends of %y
    cells = [moment.strftime(written) for moment in moments]
    for _ in range(250):
        cell = list(rng.choice(cells[:150]))
        for _ in range(rng.randrange(1, 4)):
            cell[rng.randrange(len(cell))] = rng.choice([*"0123456789./- :x", "", "é"])
        cells.append("".join(cell).strip('"') or "-")
    cells += [cell.replace("2020", "0000") for cell in cells[:20]]
    expected: list[dt.datetime | None] = []
    for cell in cells:
        try:
            fits = cell.isascii() and cell.count(" ") == written.count(" ")
            expected.append(dt.datetime.strptime(cell, written) if fits else None)  # noqa: DTZ007
        except ValueError:
            expected.append(None)
    if written == "%Y%m%d":  # one digit for a day or a month would be ambiguous
        expected = [m if len(c) == 8 else None for c, m in zip(cells, expected, strict=True)]
    assert sum(moment is not None for moment in expected) > 150
    for types in (None, {"x": "TIMESTAMP"}):
        with read(path, cells, date_format=written, types=types) as table:
            read_as = '"x\x1ftimestamp"' if types is None else "x"
            rows = table._engine._connection.execute(
                f"SELECT {read_as} FROM data ORDER BY n::INTEGER"
            )
            assert [found for (found,) in rows.fetchall()] == expected


def test_a_date_format_is_for_dates_and_for_times(path: Path) -> None:
    """A date is midnight in a comparison, and equals dates as a key. Instants stay ISO 8601.

    A time with a zone is that of UTC where the question is about times without one.
    """
    cells = [
        "31.12.2020",
        "1.1.2021",
        "2020-12-31",
        "31.02.2021",
        "2020-12-31T23:59:00Z",
        "31.12.20",
    ]
    with read(path, cells, date_format="%d.%m.%Y") as table:
        assert Count(x >= dt.date(2020, 12, 31)).value(table) == 3
        assert Histogram("x", [dt.date(2020, 12, 31), dt.date(2021, 1, 1)]).value(
            table
        ).tolist() == [1, 1]
        assert Count(x >= dt.datetime(2020, 1, 1, tzinfo=dt.UTC)).value(table) == 1
    with read(path, cells, date_format={"x": "%d.%m.%Y"}, types={"x": "DATE"}) as table:
        assert Count(x >= dt.date(2020, 12, 31)).value(table) == 2
    with read(path, cells, date_format={"n": "%d.%m.%Y"}) as table:
        assert Count(x >= dt.date(2020, 12, 31)).value(table) == 2


def test_null_values_are_missing(path: Path) -> None:
    """The whole cell, exactly; in every reading, declared or not, and not counted as misread."""
    cells = ["1", "-999", "n/a", "N/A", " n/a", "it's", "3"]
    known = ["-999", "n/a", "it's"]
    with read(path, cells, null_values=known) as table:
        assert Count(x.is_not_null()).value(table) == 4
        assert Sum(x.cast("number"), -1000, 1000).value(table) == 4
    with read(path, cells, null_values=known, types={"x": "BIGINT"}) as table:
        assert Sum("x", -1000, 1000).value(table) == 4
        assert table.misread is not None
        assert table.misread.cells == {"x": 2}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"decimal": ";"}, "decimal is ';'"),
        ({"decimal": ",", "thousands": ","}, "different characters"),
        ({"thousands": "0"}, "thousands is '0'"),
        ({"date_format": "%d.%m"}, "a day, a month and a year"),
        ({"date_format": "%d.%m.%Y %M"}, "a time as '%H:%M'"),
        ({"date_format": "%d.%m.%Y %I"}, "a time as '%H:%M'"),
        ({"date_format": "%d.%m.%Y %j"}, "the directives are"),
        ({"date_format": "%d.%m.%Y %"}, "the directives are"),
        ({"date_format": "%d.%m.%Y\0"}, "date_format is"),
        ({"date_format": 5}, "date_format is 5"),
        ({"date_format": {"y": "%d.%m.%Y"}}, "there is no column 'y'"),
        ({"date_format": "%d.%m.%Y %H:%M", "types": {"x": "DATE"}}, "declare 'x' as 'TIMESTAMP'"),
        ({"null_values": "n/a"}, "should be a list"),
        ({"null_values": [1]}, "should be a list"),
    ],
)
def test_options_are_checked_at_opening(options: Any, message: str, path: Path) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        read(path, ["1"], **options)


def test_the_separator_has_one_value(path: Path) -> None:
    path.write_text("x;n\n1;2\n")
    with pytest.raises(TypeError, match="leave sep or separator out"):
        Table(path, sep=";", separator=";")
    with pytest.raises(TypeError, match="it is for CSV files"):
        Table({"x": ["1,5"]}, decimal=",")


def test_patterns_match_quotation_marks_and_percent_signs() -> None:
    assert re.fullmatch(CellFormat(thousands="'").number, "1'234.5")
    assert re.fullmatch(DateFormat("'%d'%%%m %Y").pattern, "'1'%2 2020")

"""Cells that are text, read by fixed grammars, each as the question asks."""

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mechanisms import (
    Count,
    Covariance,
    GroupBy,
    Histogram,
    Mean,
    Quantile,
    Regression,
    Std,
    Sum,
    Table,
    column,
    when,
)
from queryable import QueryError
from queryable.statistics import IntegerStatistic

HUGE = "9" * 20
CELLS = ["3", "3.0", "+3", ".5", "1e2", "-inf", "nan", " 3", "1_0", "0x3", "3,5", "TRUE", "false"]
CELLS += [
    "2020-12-31",
    "2020-12-31T23:59",
    "2020-12-31 23:59:01.5",
    "2020-12-31T23:59:00Z",
    "12/31/20",
]
CELLS += [
    "2020-02-30",
    "2020-12-30 24:00",
    "0000-12-31",
    "20201231",
    "2020-12-31T22:59:00+00:00",
    "abc",
    "",
    "NULL",
    HUGE,
]
IN_A_ZONE = ["2020-12-31T23:59:00Z", "2020-12-31T22:59:00+00:00"]
x = column("x")


def read(path: Path, cells: list[str] = CELLS, **options: Any) -> Table:
    path.write_text("x,n\n" + "".join(f'"{cell}",{i}\n' for i, cell in enumerate(cells)))
    return Table(path, **options)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rows.csv"


@pytest.mark.parametrize(
    ("statistic", "expected"),
    [
        (Count(x == 3), 3),
        (Count(x == "3"), 1),
        (Count(x == True), 1),  # noqa: E712
        (Count(x < 1), 3),
        (Count(~(x < 1)), len(CELLS) - 3),
        (Count(x > 10**18), 1),
        (Count(x.is_in([3, "abc", 0.5])), 5),
        (Count(x.is_in([])), 0),
        (Count(x >= dt.date(2020, 12, 31)), 5),  # a time with a zone is that of UTC
        (Count(x > dt.datetime(2020, 12, 31)), 4),  # noqa: DTZ001
        (Count(x >= dt.datetime(2020, 12, 31, tzinfo=dt.UTC)), 2),
        (Histogram("x", ["3", "abc", "NULL"]), [1, 1, 1]),
        (Histogram("x", [3, 0.5, 10**20]), [3, 1, 1]),
        (Histogram("x", [dt.date(2020, 12, 31)]), [1]),
        (Histogram("x", [dt.datetime(2020, 12, 31)]), [1]),  # noqa: DTZ001
        (Sum(x.cast("number"), 0, 5), 3 + 3 + 3 + 5 + 1 + 5 + 5),
        (Mean(x.cast("number"), 0, 4), [1 + 1 + 1 - 2 + 2 - 2 - 1 - 2 + 2 + 2, 2 * 10]),
        (GroupBy({"x": [3]}, Count(column("n") < 2)), [2]),
        (Quantile("x", "1/2", [1]), None),
    ],
)
def test_the_question_says_how_a_cell_is_read(
    statistic: IntegerStatistic, expected: Any, path: Path
) -> None:
    with read(path) as table:
        assert table.columns["x"].name == "written"
        found = np.asarray(statistic.value(table))
        if expected is not None:
            assert sorted(map(int, found.ravel())) == sorted(
                [expected] if isinstance(expected, int) else expected
            )


@pytest.mark.parametrize(
    ("declared", "read_as_it_is"),
    [
        ("BIGINT", ["3", "3.0", "+3", "20201231"]),
        ("UTINYINT", ["3", "3.0", "+3"]),
        ("DECIMAL(10,1)", ["3", "3.0", "+3", ".5", "20201231"]),
        ("DOUBLE", ["3", "3.0", "+3", ".5", "1e2", "-inf", "20201231", HUGE]),
        ("BOOLEAN", ["TRUE", "false"]),
        ("DATE", ["2020-12-31"]),
        (
            "TIMESTAMP",
            [*(f"2020-12-31{it}" for it in ("", "T23:59", " 23:59:01.5")), *IN_A_ZONE],
        ),
        ("TIMESTAMP WITH TIME ZONE", IN_A_ZONE),
        ("VARCHAR", [cell for cell in CELLS if cell]),
    ],
)
def test_a_cell_that_does_not_parse_as_its_declared_type_is_missing(
    declared: str, read_as_it_is: list[str], path: Path
) -> None:
    present = [cell for cell in CELLS if cell]
    with read(path, types={"x": declared}) as table:
        assert table.misread is not None
        assert table.misread.cells["x"] == len(present) - len(read_as_it_is)
        found = Histogram("n", range(len(CELLS))).value(table)
        assert found.tolist() == [1] * len(CELLS)


@pytest.mark.parametrize(
    "cells", [CELLS[::2], pytest.param(CELLS[1::2], marks=pytest.mark.slow)], ids=["even", "odd"]
)
def test_no_cell_decides_about_another(cells: list[str], path: Path) -> None:
    """A column of numbers stays one of numbers, whatever one more row holds."""
    many = [str(i % 90) for i in range(300)]
    for odd in cells:
        with read(path, [*many, odd]) as table:
            assert Count((x >= 65) & (column("n") < 300)).value(table) == 75
            assert table.columns["x"].name == "written"


def test_keys_of_several_kinds_are_refused(path: Path) -> None:
    """A cell 3 would be in the group of 3 and in that of "3"."""
    with read(path) as table:
        for statistic, message in (
            (Histogram("x", [3, "3"]), "several kinds"),
            (GroupBy({"x": ["a", dt.date(2020, 1, 1)]}, Count()), "several kinds"),
            (Count(x == b"3"), "does not compare with bytes"),
            (Count(x > dt.timedelta(1)), "does not compare with timedelta"),
            (Count(x >= "2020-12-31"), "give a number or a datetime.date"),
        ):
            with pytest.raises(TypeError, match=message):
                table.check(statistic)


def test_units_and_order(path: Path) -> None:
    """Persons are told apart by text; the smallest values are numbers before other text."""
    rows = ["1,10", "1,9", "1,x", "01,7", "01,a", f"{'y' * 70},3", f"{'y' * 70},20", ",5"]
    path.write_text("\n".join(["p,x", *rows]))
    with Table(path, privacy_unit="p", max_rows=1, keep="x") as table:
        assert Count(per=table.unit).value(table) == 3
        assert Sum(x.cast("number"), 0, 100, per=table.unit).value(table) == 9 + 7 + 3


def test_a_statistic_that_does_not_fit_costs_nothing(path: Path) -> None:
    from composition import FiltCon
    from mechanisms import Gaussian
    from queryable import ZCDP, Queryable

    with read(path) as table:
        q = Queryable(FiltCon(ZCDP(1)), table)
        with pytest.raises(QueryError, match="nothing is charged"):
            q.launch(Gaussian(Histogram("x", [3, "3"]), rho=1))
        assert q.privacy_loss() == ZCDP(0)


BOUNDS = {"x": (0, 5), "n": (0, 5)}
TEXT: list[Any] = [Sum("x", 0, 5), Mean("x", 0, 5), Std("x", 0, 5), Covariance("x", "n", BOUNDS)]
TEXT += [
    Regression("n", "x", BOUNDS),
    Sum(x * 2, 0, 5),
    Sum(when(x > 1).then(x).otherwise(0), 0, 5),
]
TEXT += [GroupBy({"n": [1]}, Mean("x", 0, 5)), Sum(column("n") - x, 0, 5)]


@pytest.mark.parametrize("statistic", TEXT, ids=[str(i) for i in range(len(TEXT))])
def test_text_is_not_added_up_unless_the_question_says_so(
    statistic: IntegerStatistic, path: Path
) -> None:
    """As for a column of text on a database, whatever the cells are: words add up to 0.

    At 1b177ec a sum of carriers is 0 with noise, and nobody is told.
    """
    from composition import FiltCon
    from mechanisms import Gaussian
    from queryable import ZCDP, Queryable

    for cells in (["ab", "cd"], ["1", "2"]):
        for types in ({"n": "BIGINT"}, {"n": "BIGINT", "x": "VARCHAR"}):
            with read(path, cells, types=types) as table:
                with pytest.raises(TypeError, match=r"cast\('number'\)|give (a number|values)"):
                    table.check(statistic)
                queryable = Queryable(FiltCon(ZCDP(1)), table)
                with pytest.raises(QueryError):
                    queryable(Gaussian(statistic, rho="1/10"))
                assert queryable.privacy_loss() == ZCDP(0)
        with read(path, cells, types={"n": "BIGINT", "x": "DOUBLE"}) as table:
            table.check(statistic)


def test_what_says_that_it_reads_numbers_is_added_up(path: Path, tmp_path: Path) -> None:
    """A cast does, and so do columns of Python objects and of a public file."""
    number = x.cast("number")
    with read(path, ["1", "two", "3"]) as table:
        for each in (number, number * 1, when(x == "1").then(number).otherwise(0) + number):
            assert Sum(each, 0, 5).value(table) in (4, 5)
        assert Count(x > 1).value(table) == 1
        assert Histogram("x", bins=[0, 2, 4]).value(table).tolist() == [1, 1]
    with Table({"x": ["1", 2, None]}) as table:
        assert Sum("x", 0, 5).value(table) == 3
    public = tmp_path / "public.csv"
    public.write_text("n,rank\n0,7\n1,8\n")
    with read(path, ["1", "2"]) as table:
        joined = table.join(public=public, on="n")
        assert Sum("rank", 0, 9).value(joined) == 15
        with pytest.raises(TypeError, match="is text"):
            joined.check(Sum("x", 0, 5))

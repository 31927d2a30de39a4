"""Columns of Python objects: the text of each cell, and what questions and types read in it."""

import datetime as dt
import warnings
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mechanisms import Count, Histogram, Sum, Table, column
from mechanisms.tables.engines.files import objects
from mechanisms.tables.engines.files.objects import as_text

NOON = dt.datetime(2020, 5, 17, 12, tzinfo=dt.timezone(dt.timedelta(hours=2)))
x = column("x")


class Failing(int):
    """An integer whose comparisons fail."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError

    __hash__ = None  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (3, "3"),
        (10**30, "1" + "0" * 30),
        (3.0, "3"),
        (Decimal("3.00"), "3"),
        (np.float32(3), "3"),
        (np.uint8(3), "3"),
        (-0.0, "0"),
        (0.1, "0.1"),
        (Fraction(1, 4), "0.25"),
        (Decimal("0.10"), "0.10"),
        (float("inf"), "inf"),
        (True, "true"),
        (np.False_, "false"),
        ("é", "é"),
        (b"a\xff", "\\x61\\xFF"),
        (dt.date(2020, 5, 17), "2020-05-17"),
        (NOON.replace(tzinfo=None), "2020-05-17T12:00:00"),
        (NOON, "2020-05-17T10:00:00+00:00"),
        (np.datetime64("2020-05-17T12:00", "ns"), "2020-05-17T12:00:00.000000000"),
        (dt.timedelta(seconds=1), "1000000 microseconds"),
        (np.timedelta64(1, "s"), "1000000 microseconds"),
        *((missing, None) for missing in (None, float("nan"), pd.NaT, pd.NA, Decimal("sNaN"))),
        *((other, None) for other in ("\ud800", [1], {}, np.zeros(2), object(), Failing(3), 3j)),
    ],
    ids=lambda value: "object" if type(value) is object else repr(value),
)
def test_text_of_a_cell(cell: Any, text: str | None) -> None:
    assert as_text([cell]).to_pylist() == [text]


ODD = ["n/a", None, 10**5000, Decimal("sNaN"), [1], b"1", NOON, "\ud800"]


@pytest.mark.parametrize(
    "odd", [[], *([odd] for odd in ODD)], ids=lambda odd: "".join(type(it).__name__ for it in odd)
)
@pytest.mark.parametrize("form", [dict, pd.DataFrame])
def test_one_cell_decides_nothing(form: Any, odd: list[Any]) -> None:
    """A common type for all cells failed on a mixture, and made integers floats or text."""
    cells = [40] * 9 + odd
    source = form({"x": pd.Series(cells, dtype=object) if form is pd.DataFrame else cells})
    with Table(source) as table:
        assert table.columns["x"].name == "written"
        assert Count(x >= 30)(table) == 9
        assert Histogram("x", [40])(table).tolist() == [9]
        assert Count(x == "n/a")(table) == odd.count("n/a")


def test_a_declared_type_is_read_once_and_exactly() -> None:
    cells = [2**60, 2**60 + 1, 3.0, "7", "seven", True, None, 0.5]
    with Table({"x": cells}, types={"x": "BIGINT"}) as table:
        assert table.columns["x"].name == "integer"
        assert Count(x == 2**60)(table) == 1
        assert Sum("x", 0, 100)(table) == 210
    lasting = [dt.timedelta(1), dt.timedelta(3), "soon"]
    with Table({"x": lasting, "y": lasting}, types={"x": "INTERVAL"}) as table:
        assert Count(x > dt.timedelta(2))(table) == 1
    with Table({"x": [b"a", b"\xff", 3]}, types={"x": "BLOB"}) as table:
        assert Histogram("x", [b"\xff"])(table).tolist() == [1]


def test_types_are_for_objects_alone() -> None:
    """A column of a type keeps it."""
    source = {"x": np.arange(3), "y": ["1", "2", "3"]}
    with pytest.raises(TypeError, match="others have their own"):
        Table(source, types={"x": "DOUBLE"})
    with Table(source, types={"y": "INTEGER"}) as table:
        assert [kind.name for kind in table.columns.values()] == ["integer", "integer"]


def test_a_half_precision_number_has_its_text_where_warnings_are_errors() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert as_text([np.float16(7), np.float16(0.5)]).to_pylist() == ["7", "0.5"]


def test_no_cell_decides_how_another_one_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Usual types are converted in blocks; the result is that of the cells one by one."""
    cells = ["a", "\u00e9", "\ud800", 7, 2**70, None, float("nan"), 1.5, 2.0, True, b"z", pd.NA]
    alone = [as_text([cell]).to_pylist()[0] for cell in cells]
    for block in (1, 2, 3, 100):
        monkeypatch.setattr(objects, "_BLOCK", block)
        for shift in range(len(cells)):
            turned = cells[shift:] + cells[:shift]
            array = np.empty(len(cells), dtype=object)
            array[:] = turned
            for form in (turned, iter(turned), array, pd.Series(array, dtype=object)):
                assert as_text(form).to_pylist() == alone[shift:] + alone[:shift]
    some = [each for each in alone if each is not None]
    assert len(some) == 8

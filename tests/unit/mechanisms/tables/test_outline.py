"""An outline makes the statistics that its table makes."""

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from curator.wire import WireError
from curator.wire.outlines import about_of, outline_of
from mechanisms import Table, column
from mechanisms.tables.outline import Outline

ROWS = pa.table(
    {
        "person": [1, 2],
        "paid": pa.array([Decimal("1.25"), Decimal("2.50")], pa.decimal128(8, 2)),
        "weight": np.array([1.5, 2.5], np.float32),
        "height": [1.5, 2.5],
        "name": ["a", "b"],
        "day": [dt.date(2024, 1, 1), dt.date(2024, 2, 1)],
    }
)
BOUNDS = {"paid": (0, 100), "height": (0, 3)}


def statistics(table: Any) -> list[Any]:
    expressions = ("paid", "weight", "height", column("paid") + column("height"))
    numbers = (*expressions, column("day").month(), column("person") * 2)
    return [
        table.count(column("name") == "a"),
        *(table.sum(each, 0, 100) for each in numbers),
        *(table.group_by({"name": ["a"]}).mean(each, -1, "5/2") for each in numbers),
        table.std("weight", 0, 3),
        table.histogram("name", ["a", "b"]),
        table.median("height", [1, 2, 3]),
        table.top("name", 1, ["a", "b"]),
        table.regress("paid", "height", bounds=BOUNDS),
    ]


@pytest.mark.parametrize("units", [{}, {"privacy_unit": "person", "max_rows": 3, "max_groups": 2}])
def test_equal_statistics(units: Any) -> None:
    with Table(ROWS, seed=1, **units) as table:
        outline = outline_of(about_of(table.columns, table.unit))
        assert outline.unit == table.unit
        assert statistics(outline) == statistics(table)


def test_undeclared_columns(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("person,day,hours\n1,2024-01-31,2.5\n")
    with Table(path, privacy_unit="person", max_rows=1) as table:
        outline = outline_of(about_of(table.columns, table.unit))
        for asked in ("hours", column("hours") * 2, column("day").month()):
            assert outline.sum(asked, 0, 10) == table.sum(asked, 0, 10)
        assert outline.count_units() == table.count_units()


def test_a_wrong_column_is_named() -> None:
    with Table(ROWS, seed=1) as table:
        outline = outline_of(about_of(table.columns, table.unit))
    assert repr(outline) == repr(table).replace("Table", "Outline")
    for asked in ("heigth", column("heigth") + 1):
        with pytest.raises((ValueError, TypeError, KeyError), match="height"):
            outline.sum(asked, 0, 1)
    with pytest.raises(TypeError, match="privacy_unit"):
        outline.count_units()


def test_another_description_is_refused() -> None:
    good = about_of(Outline({}).columns, None)
    assert outline_of(good).unit is None
    for wrong in (
        {"columns": {"age": "int"}},
        {**good, "columns": ["age"]},
        {**good, "columns": {"age": "integer"}, "kinds": {"age": "integer"}},
        {**good, "columns": {"age": "integer"}, "kinds": {"age": {"step": "x"}}},
        {**good, "privacy_unit": "person"},
        {**good, "kinds": []},
    ):
        with pytest.raises(WireError, match="by hand"):
            outline_of(wrong)

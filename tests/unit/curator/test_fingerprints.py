"""Fingerprints: equal for equal data, different for different data."""

import hmac
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from curator.fingerprints import _of_files, fingerprint
from mechanisms import Table

KEY = bytes(32)
UNITS = {"a": [1, 2], "who": [1, 1]}


def units(**options: Any) -> Table:
    return Table(UNITS, **{"privacy_unit": "who", "max_rows": 2, **options})


def joined(cell: Any, **options: Any) -> Table:
    """A table with a public one: with this cell, or the same rows as a table or as they are."""
    rows = {"who": [1], "b": [7 if isinstance(cell, type) else cell]}
    return units().join(public=Table(rows) if cell is Table else rows, on="who", **options)


MAKERS: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "arrays": (lambda: np.arange(5), lambda: np.arange(6)),
    "dtypes": (lambda: np.arange(4), lambda: np.arange(4.0)),
    "shapes": (lambda: np.zeros(4), lambda: np.zeros((2, 2))),
    "columns": (lambda: {"a": [1, 2], "b": ["x", None]}, lambda: {"a": [1], "b": [2, "x", None]}),
    "lists": (lambda: [[1, 2], [3]], lambda: [[1], [2, 3]]),
    "groups": (lambda: {"a": {"b": 1}, "c": 2}, lambda: {"a": {"b": 1, "c": 2}}),
    "masks": (lambda: np.ma.array([1, 2], mask=[0, 1]), lambda: np.ma.array([1, 2], mask=[1, 0])),
    "types": (lambda: [1, "1"], lambda: ["1", 1]),
    "tables": (lambda: Table({"a": [1, 2]}), lambda: Table({"a": [1, 3]})),
    "units": (units, lambda: units(max_rows=1)),
    "columns of units": (units, lambda: units(privacy_unit="a")),
    "no unit": (units, lambda: Table(UNITS)),
    "chosen rows": (units, lambda: units(keep="a")),
    "used columns": (lambda: Table(UNITS), lambda: Table(UNITS, columns=["a"])),
    "public tables": (lambda: joined(5), lambda: joined(6)),
    "public tables that are open": (lambda: joined(Table), lambda: joined(dict)),
    "joins": (lambda: joined(5), lambda: joined(5, how="inner")),
    "private tables": (
        lambda: units().join(units(), on=["who", "a"]),
        lambda: units().join(units(max_rows=1), on=["who", "a"]),
    ),
    "a table and its rows": (lambda: Table({"a": [1, 2]}), lambda: {"a": [1, 2]}),
}


@pytest.mark.parametrize("kind", MAKERS)
def test_equal_data_have_equal_fingerprints(kind: str) -> None:
    one, other = MAKERS[kind]
    found = fingerprint(one(), KEY)
    assert found == fingerprint(one(), KEY)
    assert found != fingerprint(other(), KEY)


def test_frames(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    one = [pandas.DataFrame({"a": [1, 2], "b": ["x", "y"]}) for _ in range(2)]
    other = pandas.DataFrame({"a": [1, 2], "b": ["x", "z"]})
    assert fingerprint(one[0], KEY) == fingerprint(one[1], KEY) != fingerprint(other, KEY)
    assert fingerprint(Table(one[0]), KEY) == fingerprint(Table(one[1]), KEY)
    assert fingerprint(Table(one[0]), KEY) != fingerprint(Table(other), KEY)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_series(library: str) -> None:
    """Of one column, with a name or without."""
    loaded = pytest.importorskip(library)
    make = loaded.array if library == "pyarrow" else loaded.Series
    assert fingerprint(make([1, 2]), KEY) == fingerprint(make([1, 2]), KEY)
    assert fingerprint(make([1, 2]), KEY) != fingerprint(make([1, 3]), KEY)
    assert fingerprint(make([1, 2]), KEY) != fingerprint(make([1.0, 2.0]), KEY)


@pytest.mark.parametrize("pattern", ["visits.csv", "*.csv"])
def test_files_are_known_by_their_contents(tmp_path: Path, pattern: str) -> None:
    path = tmp_path / "visits.csv"
    path.write_text("age\n31\n47\n")
    first = fingerprint(Table(str(tmp_path / pattern)), KEY)
    assert first == fingerprint(Table(str(tmp_path / pattern)), KEY)
    path.write_text("age\n31\n48\n")
    assert first != fingerprint(Table(str(tmp_path / pattern)), KEY)


def test_a_fingerprint_cannot_be_tried_out_without_the_key() -> None:
    assert fingerprint([1], KEY) != fingerprint([1], bytes(31) + b"1")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_database_is_known_by_its_name_and_columns() -> None:
    ibis = pytest.importorskip("ibis")
    connection = ibis.duckdb.connect()
    connection.raw_sql("CREATE TABLE visits AS SELECT 31 AS age")
    found = fingerprint(Table(connection.table("visits")), KEY)
    assert found["source"] == "visits"
    assert found["contents"] == "not known: a database"


def test_public_files_are_known_by_their_contents(tmp_path: Path) -> None:
    path, found = tmp_path / "public.csv", list[Any]()
    for cell in (5, 5, 6):
        path.write_text(f"who,b\n1,{cell}\n")
        table = Table({"who": ["1", "2"]}).join(public=str(path), on="who")
        found.append(fingerprint(table, KEY))
    assert found[0] == found[1] != found[2]


READ: tuple[tuple[dict[str, Any], bool], ...] = (
    ({"sep": ";"}, False),
    ({"null_values": ["31"]}, False),
    ({"decimal": ","}, False),
    ({"types": {"age": "DOUBLE"}}, False),
    ({"threads": 1}, True),
    ({"memory_limit": "500MB"}, True),
)


def test_how_a_file_is_read_is_known(tmp_path: Path) -> None:
    """But not the threads and the memory that it may use."""
    path = tmp_path / "visits.csv"
    path.write_text("age\n31\n47\n")
    plain = fingerprint(Table(path), KEY)
    for options, same in READ:
        assert (plain == fingerprint(Table(path, **options), KEY)) is same, options


def test_files_that_are_not_here_are_refused() -> None:
    """Otherwise every change of them would be missed."""
    digest = hmac.new(KEY, b"fingerprint", sha256)
    for source in ("https://data.example/visits.csv", "/nowhere/*.parquet"):
        with pytest.raises(TypeError, match="open a Table of files on this machine"):
            _of_files(source, digest)


def test_folders_of_blocks_and_appended_tables(tmp_path: Path) -> None:
    """A folder is known by all of its files. A table with further rows cannot be recognised."""
    for day in ("1", "2"):
        path = tmp_path / f"day={day}" / "x.csv"
        path.parent.mkdir()
        path.write_text("a\n1\n")
    with Table(tmp_path, blocks="day") as table:
        before = fingerprint(table, KEY)
        assert fingerprint(table, KEY) == before
        path.write_text("a\n2\n")
        assert fingerprint(table, KEY) != before
        for other in (table.append({"a": [1]}), table.over(["1"])):
            with pytest.raises(TypeError, match="as it was opened"):
                fingerprint(other, KEY)

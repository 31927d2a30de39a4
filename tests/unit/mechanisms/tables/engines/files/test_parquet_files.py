"""A copy of Parquet files without invalid cells: every type, every row, in its place."""

from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mechanisms import Count, Table, column
from tests.unit.mechanisms.tables.engines.files.test_validity import unchecked

COUNT = 10_000


def rows(odd: bool) -> pa.Table:
    """Text alone, in lists, in structures and with a dictionary, beside other columns."""
    texts = unchecked([b"\xff" if odd and i == 7777 else b"t%d" % i for i in range(COUNT)])
    return pa.table(
        {
            "n": pa.array(range(COUNT)),
            "t": texts,
            "l": pa.ListArray.from_arrays(pa.array(range(COUNT + 1), pa.int32()), texts),
            "s": pa.StructArray.from_arrays([texts], ["a"]),
            "f": pa.array([i / 2 for i in range(COUNT)], pa.float32()),
        }
    )


def test_each_row_keeps_its_cells(tmp_path: Path) -> None:
    """One file of two is invalid; both are copied."""
    kinds = []
    for odd in (False, True):
        for i in range(2):
            pq.write_table(rows(odd and i == 0), tmp_path / f"{i}.parquet", 999)
        with Table(str(tmp_path / "*.parquet"), threads=2) as table:
            kinds.append([kind.declared for kind in table.columns.values()])
            for i in (0, 998, 7776, 7778, COUNT - 1):
                same = (column("t") == f"t{i}") & (column("n") == i) & (column("f") == i / 2)
                assert Count(same).value(table) == 2
            assert Count(~(column("t") >= "t")).value(table) == odd
            assert (table.misread and table.misread.cells) == (
                {"t": 1, "l": 1, "s": 1} if odd else None
            )
    assert kinds[0] == ["BIGINT", "VARCHAR", "VARCHAR[]", "STRUCT(a VARCHAR)", "FLOAT"] == kinds[1]


def test_types_that_arrow_does_not_have(tmp_path: Path) -> None:
    """They are checked as what Arrow reads them as, and keep their types."""
    path = tmp_path / "rows.parquet"
    with duckdb.connect() as connection:
        connection.execute(
            "COPY (SELECT uuid() AS u, 'x'::BLOB AS b, INTERVAL 1 MONTH AS i, 'j'::ENUM('j') AS e, "
            f"'{{}}'::JSON AS j, 1::HUGEINT AS h) TO '{path}'"
        )
    with Table(path) as table:
        assert Count(column("e") == "j").value(table) == 1
        assert table.misread is None


@pytest.mark.parametrize("content", [b"", b"junk", b"x" * 1000], ids=["empty", "short", "long"])
def test_another_file_is_named(tmp_path: Path, content: bytes) -> None:
    """At opening and as a batch, whose file has another name for DuckDB."""
    good, wrong = tmp_path / "good.parquet", tmp_path / "wrong[1].parquet"
    pq.write_table(pa.table({"x": [1]}), good)
    wrong.write_bytes(content)
    with pytest.raises(ValueError, match=r"wrong\[1\]\.parquet' is no Parquet file"):
        Table(wrong)
    with Table(good) as table, pytest.raises(ValueError, match=r"wrong\[1\].* no Parquet file"):
        table.append(wrong)


def test_periods_are_refused(tmp_path: Path) -> None:
    """The file has their numbers, and names their type beside the columns."""
    path = tmp_path / "rows.parquet"
    periods = pd.period_range("2024-01", periods=2, freq="M")
    pd.DataFrame({"p": periods, "n": [1, 2]}).to_parquet(path)
    with pytest.raises(TypeError, match=r"^convert column 'p' with \.dt\.to_timestamp\(\)"):
        Table(path)
    with Table(path, columns=["n"]) as table:
        assert Count(column("n") == 1).value(table) == 1


def test_periods_are_refused_in_every_file_and_batch(tmp_path: Path) -> None:
    """The first file has their numbers as plain integers, as DuckDB reads those of the others."""
    plain, periods = tmp_path / "a.parquet", tmp_path / "b.parquet"
    pd.DataFrame({"p": np.array([648], dtype=np.int64)}).to_parquet(plain)
    pd.DataFrame({"p": pd.period_range("2024-01", periods=1, freq="M")}).to_parquet(periods)
    with pytest.raises(TypeError, match=r"to_timestamp"):
        Table(str(tmp_path / "*.parquet"))
    with Table(plain) as table, pytest.raises(TypeError, match=r"to_timestamp"):
        table.append(periods)

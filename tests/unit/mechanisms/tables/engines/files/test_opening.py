"""What is opened: the files that are named, and nothing else afterwards."""

import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mechanisms import Count, Table
from mechanisms.tables.engines.files.opening import Sources


def write(path: Path, rows: int, **columns: list[int]) -> Path:
    path.parent.mkdir(exist_ok=True)
    pq.write_table(pa.table({"x": list(range(rows))} | columns), path)
    return path


def count(source: str | Path) -> int:
    with Table(source) as table:
        return int(Count().value(table))


@pytest.mark.parametrize("name", ["visits[1]", "visits*", "a?b", "it's", "a\\[b", "é {x}"])
def test_a_path_is_no_pattern(name: str, tmp_path: Path) -> None:
    """Also where another file fits the pattern."""
    for other in ("visits1", "visits2", "axb", "a[b"):
        write(tmp_path / f"{other}.parquet", 7)
    path = write(tmp_path / f"{name}.parquet", 3)
    assert count(path) == count(str(path)) == 3


def test_a_string_may_be_a_pattern(tmp_path: Path) -> None:
    for i in range(3):
        write(tmp_path / f"visits[{i}].parquet", 1)
    assert count(str(tmp_path / "visits*.parquet")) == 3
    with pytest.raises(FileNotFoundError, match="no file matches"):
        Table(str(tmp_path / "none*.parquet"))
    with pytest.raises(FileNotFoundError):
        Table(tmp_path / "visits*.parquet")


def test_a_pipe_is_refused_without_waiting_for_a_writer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(ValueError, match="regular file"):
        Table(tmp_path / "pipe.csv")


def test_a_folder_adds_no_column(tmp_path: Path) -> None:
    path = write(tmp_path / "clinic=Oslo" / "rows.parquet", 2)
    with Table(path) as table:
        assert list(table.columns) == ["x"]
    folder = tmp_path / "folder.parquet"
    folder.mkdir()
    with pytest.raises(ValueError, match="a folder"):
        Table(folder)


def test_files_have_the_same_columns(tmp_path: Path) -> None:
    """Otherwise a query would fail, or not, by what the second file holds."""
    write(tmp_path / "a.parquet", 1)
    pq.write_table(pa.table({"x": ["text"]}), tmp_path / "b.parquet")
    with pytest.raises(ValueError, match="not the same columns"):
        Table(str(tmp_path / "*.parquet"))


def test_a_link_is_followed_once(tmp_path: Path) -> None:
    """Afterwards the link may lead elsewhere; the table is over the file that it led to."""
    link = tmp_path / "link.parquet"
    link.symlink_to(write(tmp_path / "a.parquet", 3))
    with Table(link) as table:
        link.unlink()
        link.symlink_to(write(tmp_path / "b.parquet", 5))
        assert Count().value(table) == 3


def test_a_change_is_noticed(tmp_path: Path) -> None:
    """By size, by inode, and by the time of change."""
    path = write(tmp_path / "a.parquet", 3)
    sources = Sources.of(path)
    sources.require_unchanged()
    for change in (
        lambda: os.utime(path, ns=(1, 1)),
        lambda: write(path, 4),
        lambda: (write(tmp_path / "b.parquet", 3), (tmp_path / "b.parquet").replace(path)),
        path.unlink,
    ):
        sources = Sources.of(path)
        change()
        with pytest.raises(ValueError, match="has changed since it was opened"):
            sources.require_unchanged()


def test_a_csv_file_may_change(tmp_path: Path) -> None:
    """Its rows were copied."""
    path = tmp_path / "a.csv"
    path.write_text("x\n1\n2\n")
    with Table(path) as table:
        path.unlink()
        assert Count().value(table) == 2


@pytest.fixture(scope="module", params=["parquet", "csv", "frame"])
def locked(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Table, Path]]:
    """A table and the folder of its source and temporary files, of which none remains."""
    folder = tmp_path_factory.mktemp("locked")
    write(folder / "other.parquet", 1)
    csv = folder / "a.csv"
    csv.write_text("x\n1\n")
    sources = {"parquet": write(folder / "a.parquet", 1), "csv": csv, "frame": {"x": [1]}}
    with Table(sources[request.param], temp_directory=folder) as table:
        yield table, folder
    assert not list(folder.glob("queryable-*"))


@pytest.mark.parametrize(
    "statement",
    [
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "SET threads = 1",
        "SET disabled_optimizers = ''",
        "ATTACH '{folder}/new.db'",
        "COPY data TO '{folder}/new.csv'",
        "SELECT * FROM read_parquet('{folder}/other.parquet')",
        "SELECT * FROM '{folder}/other.parquet'",
        "SELECT * FROM glob('/*')",
        "SELECT * FROM statement",
    ],
)
def test_the_engine_is_locked_down(statement: str, locked: tuple[Table, Path]) -> None:
    import duckdb

    table, folder = locked
    with pytest.raises(duckdb.Error):
        table._engine._connection.execute(statement.format(folder=folder)).fetchall()
    assert [*table._engine.run(table._plan(Count().request))] == [(1,)]

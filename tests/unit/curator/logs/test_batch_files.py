"""Copies of the files of batches: each is there as a whole or not at all, and never replaced."""

import os
from pathlib import Path

import pytest

from curator.logs.batch_files import BatchFolder, checked_id, new_id
from queryable import QueryError


@pytest.fixture
def folder(tmp_path: Path) -> BatchFolder:
    return BatchFolder(tmp_path / "batches" / "visits")


def file(tmp_path: Path, text: str = "age\n1\n", name: str = "a.csv") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


@pytest.mark.parametrize("name", ["a.csv", "b.CSV", "c.tsv.gz", "d.2026.parquet", "e.pq"])
def test_a_copy_has_the_id_as_its_name(tmp_path: Path, folder: BatchFolder, name: str) -> None:
    ending = name.lower().removeprefix(name[0].lower()).removeprefix(".2026")
    assert folder.copy(file(tmp_path, name=name), "monday")
    assert [each.name for each in folder.path.iterdir()] == [f"monday{ending}"]
    assert folder.file("monday").read_text() == "age\n1\n"
    assert folder.path.stat().st_mode & 0o777 == 0o700
    assert not folder.copy(file(tmp_path, name=name), "monday")
    folder.remove("monday")
    folder.remove("monday")
    with pytest.raises(FileNotFoundError, match=r"monday\.csv, or \.parquet"):
        folder.file("monday")


def test_another_file_of_an_id_is_refused(tmp_path: Path, folder: BatchFolder) -> None:
    folder.copy(file(tmp_path), "monday")
    for other in (file(tmp_path, "age\n2\n"), file(tmp_path, name="a.tsv")):
        with pytest.raises(QueryError, match="used for another file"):
            folder.copy(other, "monday")
    assert folder.file("monday").read_text() == "age\n1\n"
    assert folder.copy(file(tmp_path, "age\n2\n"), "monday.csv")
    assert folder.file("monday.csv").read_text() == "age\n2\n"


def test_two_processes_at_once(
    tmp_path: Path, folder: BatchFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file that is there first stays, even if it comes between the look and the copy."""
    flush = os.fsync
    for text, fits in (("age\n1\n", True), ("age\n2\n", False)):
        path = tmp_path / str(fits)

        def other(number: int, text: str = text, path: Path = path) -> None:
            flush(number)
            if not (path / "monday.csv").exists():
                (path / "monday.csv").write_text(text)

        monkeypatch.setattr(os, "fsync", other)
        if fits:
            assert not BatchFolder(path).copy(file(tmp_path), "monday")
        else:
            with pytest.raises(QueryError, match="used for another file"):
                BatchFolder(path).copy(file(tmp_path), "monday")
        assert [each.read_text() for each in path.iterdir()] == [text]


def test_a_copy_that_fails_leaves_nothing(
    tmp_path: Path, folder: BatchFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        folder.copy(file(tmp_path), "monday")
    assert [*folder.path.iterdir()] == []


@pytest.mark.parametrize("name", ["a.txt", "a", "folder.csv", "none.csv"])
def test_what_is_no_file_of_rows(tmp_path: Path, folder: BatchFolder, name: str) -> None:
    (tmp_path / "folder.csv").mkdir()
    for made in ("a.txt", "a"):
        file(tmp_path, name=made)
    with pytest.raises((QueryError, FileNotFoundError), match=r"should end in|no file"):
        folder.copy(tmp_path / name, "monday")
    assert not folder.path.exists()


def test_ids_that_are_drawn() -> None:
    drawn = {checked_id(new_id()) for _ in range(100)}
    assert len(drawn) == 100

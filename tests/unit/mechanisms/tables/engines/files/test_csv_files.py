"""CSV files: each record is a row by itself, in whatever company."""

import csv
import gzip
import io
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mechanisms import Count, Table, column
from mechanisms.tables.engines.files import csv_files, csv_lines
from mechanisms.tables.engines.files.csv_files import CsvFile
from mechanisms.tables.engines.files.csv_lines import CsvFormat

Cells = tuple[str | None, ...]


def rows(path: Path, content: bytes, **csv_format: Any) -> list[Cells]:
    path.write_bytes(content)
    file = CsvFile(path, CsvFormat(**csv_format))
    width = len(file.header())
    found = [tuple(row.values()) for batch in file.batches(width) for row in batch.to_pylist()]
    assert file.misfits <= sum(row == (None,) * width for row in found)
    return found


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rows.csv"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"1,a\n2,b", [("1", "a"), ("2", "b")]),
        (b"1,a\r\n2,b\n\n\r\n3,c\r\n", [("1", "a"), ("2", "b"), ("3", "c")]),
        (b'"1","a\nb"\r\n2,"""x"", \'y"\n', [("1", "a\nb"), ("2", "\"x\", 'y")]),
        (b"1,\n,\n\"\",''\n", [("1", None), (None, None), (None, "''")]),
        (b"1,a\rb\n2,\r\r\n", [("1", "a\rb"), ("2", "\r")]),
        (b"1,6'2\"\n2,a\"b\n", [("1", "6'2\""), ("2", 'a"b')]),
        (b"1\n1,2,3\n4,d\n", [(None, None), (None, None), ("4", "d")]),
        (b"1,\xff\n2,\xc3\n3,\xc3\xa9\n", [("1", None), ("2", None), ("3", "é")]),
        (b"1,\x00\n\x00,2\n", [("1", "\0"), ("\0", "2")]),
        ("1,\ufeff\n2,\u2028\x0b\x85\n".encode(), [("1", "\ufeff"), ("2", "\u2028\x0b\x85")]),
        (b'1,"a"b\n2,"c"\n', [(None, None), ("2", "c")]),
        (b'1,"a\n2,b\n3,c\n', [(None, None), ("2", "b"), ("3", "c")]),
        (b'1,"a\n2,"b"\n', [(None, None), ("2", "b")]),
        (b"#1,a\n 2 , b\n", [("#1", "a"), (" 2 ", " b")]),
    ],
)  # fmt: skip
def test_what_the_rows_are(content: bytes, expected: list[Cells], path: Path) -> None:
    """Order does not count; each expected row is there as often as expected."""
    assert sorted(rows(path, b"p,x\n" + content), key=repr) == sorted(expected, key=repr)
    with_mark = rows(path, b"\xef\xbb\xbfp,x\r\n" + content)
    assert sorted(with_mark, key=repr) == sorted(expected, key=repr)


def test_dialects(path: Path) -> None:
    """What the owner says holds; without quotation marks each line is a row."""
    assert rows(path, b"p;x\n1;'a;b'\n", separator=";", quote="'") == [("1", "a;b")]
    assert rows(path, b'p,x\n1,"a\n2,b"\n', quote=None) == [("1", '"a'), ("2", 'b"')]
    assert rows(path, b"p,x\n1,\xe9\n", encoding="latin-1") == [("1", "é")]
    for wrong in (
        {"separator": ";;"},
        {"separator": "\n"},
        {"separator": '"'},
        {"quote": "«"},
        {"encoding": "utf-16"},
        {"encoding": "utf-7"},
        {"encoding": "shift_jis"},
        {"encoding": "iso2022_jp"},
        {"encoding": "no such"},
    ):
        with pytest.raises(ValueError, match=r"should be|ends lines|same character"):
            CsvFormat(**wrong)  # type: ignore[arg-type]


def record(rng: random.Random, width: int) -> bytes:
    """A record that a program wrote, of any cells and sometimes too many."""
    bits = ["a", "é", ",", '"', "\n", "\r\n", "\r", "'", "\0", '""', "x" * 30, "\ufeff", "\\", "\t"]
    size = width if rng.random() < 0.9 else rng.choice([1, width + 1])
    cells = ["".join(rng.choices(bits, k=rng.choice([0, 1, 3, 9]))) for _ in range(size)]
    out = io.StringIO(newline="")
    quoting = rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
    end = rng.choice(["\n", "\r\n"])
    csv.writer(out, lineterminator=end, quoting=quoting).writerow(cells)
    return out.getvalue().encode() if rng.random() < 0.9 else b"1,\xff\n"


def test_a_file_has_the_rows_of_its_records(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The claim in docs/tables/files.md, also across pieces and for records that are too long."""
    rng = random.Random(5)
    for _ in range(60):
        monkeypatch.setattr(csv_lines, "PIECE", rng.choice([5, 40, 300, 2**20]))
        monkeypatch.setattr(csv_lines, "LONGEST_RECORD", rng.choice([30, 200, 2**24]))
        width = rng.choice([1, 2, 3])
        header = ",".join(f"h{i}" for i in range(width)).encode() + b"\n"
        records = [record(rng, width) for _ in range(rng.randrange(1, 15))]
        alone = [rows(path, header + each) for each in records]
        assert max(map(len, alone)) <= 1, records
        together = rows(path, header + b"".join(records))
        assert sorted(sum(alone, []), key=repr) == sorted(together, key=repr), records  # noqa: RUF017


def test_the_short_cut_gives_the_same(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes of any sort, read a block at once where that works, and record by record."""
    rng = random.Random(6)
    bits = [b"a", b"\xc3\xa9", b"\xff", b"\xc3", b",", b"\n", b"\r\n", b"\r", b"\0", b" ", b"'"]
    bits += [b'"', b'",', b'\n"', b',"', b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\x1c", b"\\", b",\n"]
    for _ in range(150):
        monkeypatch.setattr(csv_lines, "PIECE", rng.choice([5, 40, 300, 2**20]))
        monkeypatch.setattr(csv_lines, "LONGEST_RECORD", rng.choice([20, 200, 2**24]))
        content = b"h,i\n" + b"".join(rng.choices(bits, k=rng.randrange(60)))
        found = rows(path, content)
        with monkeypatch.context() as slowly:
            slowly.setattr(CsvFile, "_split", lambda *_: None)
            slowly.setattr(CsvFile, "_parsed", lambda *_: None)
            assert sorted(found, key=repr) == sorted(rows(path, content), key=repr), content


def test_limits_are_of_a_cell_or_a_record(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long cell is missing, a long record is a missing row; no other row is touched."""
    long, longer = b"x" * csv_files.LONGEST_CELL, b"x" * (csv_files.LONGEST_CELL + 1)
    for mark in (b"", b'"'):
        cells = [b"1," + mark + each + mark + b"\n" for each in (long, longer)]
        found = rows(path, b"p,x\n" + b"".join(cells) + b"2,b\n")
        assert found == [("1", long.decode()), ("1", None), ("2", "b")]
    monkeypatch.setattr(csv_lines, "LONGEST_RECORD", 10**5)
    monkeypatch.setattr(csv_lines, "PIECE", 10**4)
    for one in (b'3,"' + b'y""\n' * 10**5 + b'"\r\n', b"3," + b"y" * 10**6 + b"\n"):
        found = rows(path, b"p,x\n1,a\n" + one + b"2,b\n")
        assert sorted(found, key=repr) == sorted([("1", "a"), (None, None), ("2", "b")], key=repr)


def test_headers(tmp_path: Path) -> None:
    """Names are the first record; several files have the same."""
    path = tmp_path / "a.csv"
    for content, message in (
        (b"", "name its columns"),
        (b"\n1,2\n", "name its columns"),
        (b'"p\n1\n', "name its columns"),
        (b"a,A\n1,2\n", "two have the same name, ignoring case: 'a' and 'A'"),
    ):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=message):
            Table(path)
    path.write_bytes(b'"p\nq",\n1,2\n')
    with Table(path) as table:
        assert list(table.columns) == ["p\nq", "column1"]
    (tmp_path / "b.csv").write_bytes(b"p,x\n1,2\n")
    with pytest.raises(ValueError, match="the same columns in the same order"):
        Table(str(tmp_path / "*.csv"))


def test_compressed_and_separated_by_tabulators(tmp_path: Path) -> None:
    path = tmp_path / "rows.tsv.gz"
    path.write_bytes(gzip.compress(b"p\tx\n" + b"1\ta,b\n" * 1000))
    with Table(path) as table:
        assert Count(column("x") == "a,b").value(table) == 1000


def test_the_owner_is_told_what_could_not_be_read(path: Path) -> None:
    """In counts, on the table; nothing that an analyst holds shows them."""
    path.write_bytes(b'p,x,y\n1,2,a\n2,two,b\n3\n4,"5"6,c\n,,\n')
    with Table(path, types={"x": "BIGINT"}) as table:
        told = table.misread
        assert told is not None
        assert (told.rows, told.misfits, told.cells) == (5, 2, {"x": 1})
        assert "5" not in repr(table)
    assert Table({"x": np.array([1])}).misread is None


@pytest.mark.parametrize(
    ("name", "fix"),
    [("delimiter", "write sep="), ("na_values", "write null_values="), ("x", "leave x out: ")],
)
def test_the_options_of_other_readers_are_translated(path: Path, name: str, fix: str) -> None:
    path.write_bytes(b"p;x\n1;2\n")
    with pytest.raises(TypeError, match=fix):
        Table(path, **{name: ";"})

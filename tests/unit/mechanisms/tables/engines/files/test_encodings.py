"""Files in every encoding of Python: read or refused, and never missing without a sign."""

import gzip
from encodings.aliases import aliases
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from curator.settings.configuration import read_configuration
from mechanisms import Count, Histogram, Table, column
from mechanisms.tables.engines.files import csv_lines
from mechanisms.tables.engines.files.csv_files import csv_files
from mechanisms.tables.engines.files.encodings import by_line, likely
from mechanisms.tables.engines.files.misread import Misread
from queryable import QueryError
from queryable.data.growing import grown
from queryable.errors import MisreadWarning

SHIFTED = {"hz", "utf_7", *(name for name in aliases.values() if name.startswith("iso2022"))}
NO_TEXT = {"base64_codec", "bz2_codec", "hex_codec", "mbcs", "quopri_codec", "rot_13", "uu_codec"}
NO_TEXT |= {"zlib_codec"}
TEXT = "person,town\nAnna,Rom\nMüller,Köln\nMüller,Bonn\n"
"""Where an encoding has no ü, another character stands for it."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rows.csv"


def in_encoding(encoding: str) -> tuple[bytes, str]:
    """The file, and a character of the encoding that is no ASCII, if it has one."""
    for character in "üя表한αט¥กع":
        try:
            return TEXT.replace("ü", character).replace("ö", "o").encode(encoding), character
        except UnicodeEncodeError:
            pass
    return TEXT.replace("ü", "u").replace("ö", "o").encode(encoding), "u"


def test_every_encoding_of_python_is_read_or_refused(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In pieces too. At 1b177ec utf-16, shift_jis and 40 others are refused."""
    monkeypatch.setattr(csv_lines, "PIECE", 16)
    monkeypatch.setattr("mechanisms.tables.engines.files.encodings._PIECE", 7)
    for encoding in sorted(set(aliases.values()) | {"utf_8_sig", "cp856"}):
        if encoding in SHIFTED | NO_TEXT:
            with pytest.raises(ValueError, match="should be a text encoding"):
                by_line(encoding)
            continue
        content, character = in_encoding(encoding)
        path.write_bytes(content)
        names, [file] = csv_files([path], {"encoding": encoding}, tmp_path)
        rows = [tuple(row.values()) for each in file.batches(2) for row in each.to_pylist()]
        unit = f"M{character}ller"
        assert names == ("person", "town"), encoding
        assert rows[0] == ("Anna", "Rom"), encoding
        assert [person for person, _ in rows[1:]] == [unit, unit], encoding
        assert not file.likely, encoding
        assert not file.undecoded, encoding


def test_compressed_files_and_batches_have_the_encoding_too(tmp_path: Path) -> None:
    """What is appended is read by the same options."""
    for encoding in ("cp1252", "utf-16"):
        path, batch = tmp_path / f"{encoding}.csv.gz", tmp_path / "batch.csv"
        path.write_bytes(gzip.compress(TEXT.encode(encoding)))
        batch.write_bytes("person,town\nJörg,Köln\n".encode(encoding))
        with Table(path, encoding=encoding) as table:
            both = grown(table, batch)
            assert Count(column("town") == "Köln").value(both) == 2
            assert not list(Path(table._engine.folder).glob("decoded*"))  # type: ignore[attr-defined]


def test_undecodable_cells_are_counted_and_named(path: Path) -> None:
    """At 1b177ec `misread` says "3 rows, all read", and Köln is in no row."""
    path.write_bytes(TEXT.encode("cp1252"))
    found: list[Misread] = []
    with Table(path, on_misread=found.append) as table:
        assert Count(column("town") == "Köln").value(table) == 0
    assert str(found[0]).splitlines()[1:] == [
        f"- {name}: {lost} cells are no text of utf-8 and are missing; write encoding='cp1252', or "
        "the encoding that the file was written in"
        for name, lost in (("person", 2), ("town", 1))
    ]
    with pytest.warns(MisreadWarning, match=r"'person' \(write encoding='cp1252'") as told:
        Table(path).close()
    assert "Rom" not in str(told[0].message)
    path.write_bytes(TEXT.encode())
    with pytest.warns(MisreadWarning, match="write encoding='utf-8'"):
        Table(path, encoding="cp1252").close()


@pytest.mark.parametrize("given", ["cp1252", "utf-16", "utf-16-le", "utf-32", "shift_jis"])
def test_a_header_that_does_not_decode_is_refused(given: str, path: Path) -> None:
    """Its names are public. At 1b177ec the table opens, with such a column.

    The text depends on the first line alone: rows in another encoding do not change it.
    """
    header = "person,表\n" if given == "shift_jis" else "person,Größe\n"
    found = set()
    for rows in ("1,2\n", "1,é\n" * 10**5):
        path.write_bytes(header.encode(given) + rows.encode())
        with pytest.raises(ValueError, match=r"write encoding='.*are no text of utf-8") as raised:
            Table(path)
        found.add(str(raised.value))
    assert len(found) == 1
    path.write_bytes(header.encode(given))
    Table(path, encoding=given).close()
    data = Table({"person": ["a"], "Größe": [1]})
    with data as table, pytest.raises(QueryError, match="write encoding="):
        grown(table, path)


def test_a_unit_that_does_not_decode_is_refused_at_opening(tmp_path: Path) -> None:
    """All units called Müller would count for nobody. Who opens the file is told, and mends it.

    At 1b177ec they vanish. Whether a batch arrives does not depend on its rows: it is only told.
    """
    path, per = tmp_path / "rows.csv", {"privacy_unit": "person", "max_rows": 1}
    path.write_bytes(TEXT.encode("cp1252"))
    with pytest.raises(ValueError, match=r"write encoding='cp1252'.*2 cells of 'person'"):
        Table(path, **per)
    day = tmp_path / "days" / "day=1"
    day.mkdir(parents=True)
    (day / "rows.csv").write_bytes(TEXT.encode("cp1252"))
    with pytest.raises(ValueError, match="2 cells of 'person'"):
        Table(tmp_path / "days", blocks="day", **per)
    with Table(tmp_path / "days", blocks="day", encoding="cp1252", **per) as table:
        assert Count(per=table.unit).value(table) == 2
    cells = pa.array([b"Anna", b"M\xfcller"], pa.binary())
    pq.write_table(
        pa.table({"person": pa.Array.from_buffers(pa.string(), 2, cells.buffers())}),
        tmp_path / "rows.parquet",
    )
    with pytest.raises(ValueError, match=r"write the file again.*1 cells of 'person'"):
        Table(tmp_path / "rows.parquet", **per)
    told: list[Misread] = []
    other = tmp_path / "good.csv"
    other.write_bytes(TEXT.encode())
    with Table(other, on_misread=told.append, **per) as table:
        assert Count(per=table.unit).value(grown(table, path)) == 2
        assert "person: 2 cells are no text of utf-8" in str(told[0])


@pytest.mark.parametrize(
    ("encoding", "broken"),
    [
        ("shift_jis", b"\x81"),
        ("cp932", b"\xfc"),
        ("euc_jp", b"\x8f\xa1"),
        ("gbk", b"\x81"),
        ("gb18030", b"\x81\x30\x81"),
        ("big5", b"\xf9"),
        ("euc_kr", b"\xb0"),
        ("cp949", b"\x81"),
        ("utf-16-le", b"\x00\xd8"),
        ("utf-32-be", b"\x00\x11\x00\x00"),
    ],
)
def test_a_broken_cell_is_missing_and_no_other_one(
    encoding: str, broken: bytes, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A record is decoded by itself, wherever the pieces that are read end."""
    monkeypatch.setattr(csv_lines, "PIECE", 16)
    monkeypatch.setattr("mechanisms.tables.engines.files.encodings._PIECE", 7)
    for end in (",", ""):  # a separator or the end of the line follows
        row = f"2{end}".encode(encoding), (f",b{end}\n" if not end else "b\n").encode(encoding)
        lines = ["p,x\n1,a\n", "3,c\n4,d\n"]
        if end:
            cells = b"".join(
                (row[0][: len("2".encode(encoding))], broken, *(_comma(encoding), row[1]))
            )
        else:
            cells = b"".join(("2,b".encode(encoding), broken, "\n".encode(encoding)))
        path.write_bytes(lines[0].encode(encoding) + cells + lines[1].encode(encoding))
        with Table(path, encoding=encoding) as table:
            assert Count().value(table) == 4
            assert Histogram("p", ["1", "2", "3", "4"]).value(table).tolist() == [1, not end, 1, 1]
            assert Histogram("x", ["a", "b", "c", "d"]).value(table).tolist() == [
                1,
                bool(end),
                1,
                1,
            ]
            assert sum(table.misread.undecoded.values()) == 1  # type: ignore[union-attr]


def _comma(encoding: str) -> bytes:
    return ",".encode(encoding)


def test_the_encoding_that_a_file_was_probably_written_in() -> None:
    for given, read_as, expected in (
        ("Köln".encode(), "utf-8", ""),
        (b"Rom", "cp1252", ""),
        ("Köln".encode("cp1252"), "utf-8", "cp1252"),
        ("Köln".encode(), "latin-1", "utf-8"),
        ("Köln".encode("utf-16"), "utf-8", "utf-16"),
        ("Köln".encode("utf-32"), "utf-8", "utf-32"),
        ("Köln".encode("utf-16-be"), "utf-8", "utf-16-be"),
        ("Köln".encode()[:-3], "utf-8", ""),  # cut off within a character
        (b"", "utf-8", ""),
    ):
        assert likely(given, read_as) == expected


def test_a_configuration_names_the_encoding(tmp_path: Path) -> None:
    """And says what was not read, even if the data do not grow."""
    stated = 'ledger = "l.db"\nkey = "k"\n[datasets.a]\nsource = "a.csv"\nbudget = { zcdp = 1 }\n'
    (tmp_path / "a.csv").write_bytes(TEXT.encode("utf-16"))
    for more, count in ((stated, None), (stated + 'encoding = "utf-16"\n', 2)):
        (tmp_path / "curator.toml").write_text(more)
        configuration = read_configuration(tmp_path)
        if count is None:
            with pytest.raises(ValueError, match=r"datasets.a: write encoding='utf-16'"):
                configuration.open_dataset("a")
            continue
        table, _ = configuration.open_dataset("a")
        with table:
            assert Count(column("person") == "Müller").value(table) == count

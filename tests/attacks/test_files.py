"""One person's rows in a file do not change or hide another person's rows.

Each attack is a file that one of its rows made be read differently: quotation marks, line breaks,
dates, and statistics that Parquet writers leave NaN out of.
"""

import csv
import datetime as dt
import io
import random
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Any
from zlib import crc32

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from composition import FiltCon
from mechanisms import Count, Gaussian, GroupBy, Histogram, Mean, Quantile, Sum, Table, column
from mechanisms.tables.engines.files import csv_lines
from queryable import ZCDP, Queryable, QueryError
from queryable.statistics import IntegerStatistic
from tests.sizes import sized

x, t = column("x"), column("t")
STATISTICS: list[IntegerStatistic] = [
    Count(),
    Count(x >= 0),
    Count(~(x >= 0)),
    Count(~(x < 5) & ~(x > 7)),
    Count(x == float("inf")),
    Count(t == "zoe"),
    Count(~(t == "zoe")),
    Count(~(t != "zoe")),
    Count(~t.is_in(["", "a"])),
    Count((t.cast("text") > "b") | ~(x != 1)),
    Histogram("t", ["zoe", "a", "'s-Hertogenbosch", "a\nb"]),
    Histogram("x", [0, 1, 2.5]),
    Sum(x.cast("number"), 0, 1),
    Mean(x.cast("number"), 0, 2, ~(t == "a")),
    Quantile("x", "1/2", [0, 1, 5]),
    GroupBy({"t": ["zoe", "a"]}, Count(~(x > 1))),
]
PER_ROW = [2 if isinstance(s, Quantile) else 1 for s in STATISTICS]
"""What a row adds to an entry at most: here a mean's terms are within 1 too."""

NUMBERS = [None, 0.0, -0.0, 1.0, 2.5, -3.0, 6.0, 1e300, float("nan"), float("inf"), -float("inf")]
TEXTS = [None, "zoe", "a", "b", "'s-Hertogenbosch", "it's", 'say "x"', "a\nb", "a\r\nb", "\r", "é"]
TEXTS += [
    ",",
    '"',
    '","',
    "\n\n",
    "01/25/2020",
    "2020-01-01",
    "1.5",
    "NULL",
    "#",
    "\\",
    "\t;|",
    " ",
]
Row = tuple[int, Any, Any]


def rows_of(rng: random.Random, person: int) -> list[Row]:
    few = rng.sample(NUMBERS, 2), rng.sample(TEXTS, 2)
    return [(person, rng.choice(few[0]), rng.choice(few[1])) for _ in range(rng.randrange(1, 4))]


def as_csv(rng: random.Random, rows: list[Row], path: Path) -> list[Path]:
    """Records as Python's csv module writes them, in one file or two, line ends as they come."""
    records = []
    for row in rows:
        out = io.StringIO(newline="")
        style = crc32(repr(row).encode())  # a row is written in one way, whoever else is there
        quoting = csv.QUOTE_ALL if style % 3 else csv.QUOTE_MINIMAL
        csv.writer(out, lineterminator="\n" if style % 2 else "\r\n", quoting=quoting).writerow(
            "" if cell is None else cell for cell in row
        )
        records.append(out.getvalue().encode())
    cut = rng.choice([0, len(records) // 2])
    parts = [records[:cut], records[cut:]] if cut else [records]
    for i, part in enumerate(parts):
        path.with_name(f"part{i}.csv").write_bytes(b"p,x,t\n" + b"".join(part))
    return [path.with_name("part*.csv")]


def as_parquet(writer: str, rng: random.Random, rows: list[Row], path: Path) -> None:
    """Small groups of rows, with dictionaries and statistics or without.

    Text of pyarrow's files is Latin-1, so an é is invalid there.
    """
    size, statistics = rng.choice([1, 3, 1000]), rng.random() < 0.8
    names, types = ["p", "x", "t"], [pa.int64(), pa.float64(), pa.string()]
    cells = list(zip(*rows, strict=True)) if rows else [(), (), ()]
    table = pa.table([pa.array(c, k) for c, k in zip(cells, types, strict=True)], names=names)
    match writer:
        case "pyarrow":
            dictionary = rng.random() < 0.5
            latin = pa.array([c and c.encode("latin-1") for c in cells[2]], pa.binary())
            text = pa.Array.from_buffers(pa.string(), len(latin), latin.buffers())
            table = table.set_column(2, "t", text)
            pq.write_table(
                table, path, size, use_dictionary=dictionary, write_statistics=statistics
            )
        case "polars":
            frame = pl.DataFrame(pl.from_arrow(table))
            frame.write_parquet(path, row_group_size=size, statistics=statistics)
        case "duckdb":
            with duckdb.connect() as connection:
                connection.register("rows_", table)
                options = f"ROW_GROUP_SIZE {max(size, 2048)}, DICTIONARY_SIZE_LIMIT {size}"
                connection.execute(f"COPY rows_ TO '{path}' (FORMAT parquet, {options})")


def write(source: str, rng: random.Random, rows: list[Row], folder: Path) -> str | Path:
    for old in folder.iterdir():
        old.unlink()
    if source == "csv":
        as_csv(rng, rows, folder / "rows.csv")
        return str(folder / "part*.csv")
    as_parquet(source, rng, rows, folder / "rows.parquet")
    return folder / "rows.parquet"


def values(source: str | Path, statistics: Iterable[IntegerStatistic]) -> list[Any]:
    with Table(source, threads=1) as table:
        return [np.asarray(statistic.value(table)) for statistic in statistics]


def pairs(source: str, seed: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """One table, and each of its neighbours without one person; how many there are.

    A pair takes some 0.08 s, of which opening a table and asking six questions are nearly all.
    """
    rng = random.Random(seed)
    monkeypatch.setattr(csv_lines, "PIECE", rng.choice([16, 100, 2**22]))
    persons = [rows_of(rng, person) for person in range(rng.randrange(2, 12))]
    chosen = sorted(rng.sample(range(len(STATISTICS)), 6))
    statistics = [STATISTICS[i] for i in chosen]
    whole = values(write(source, rng, list(chain(*persons)), folder), statistics)
    for i, own in enumerate(persons):
        rest = list(chain(*persons[:i], *persons[i + 1 :]))
        without = values(write(source, rng, rest, folder), statistics)
        for k, with_, less in zip(chosen, whole, without, strict=True):
            moved = abs(with_ - less).max(initial=0)
            assert moved <= PER_ROW[k] * len(own), (seed, i, STATISTICS[k], with_, less)
        assert Count() not in statistics or whole[0] - without[0] == len(own)
    return len(persons)


SOURCES = ["csv", "pyarrow", "polars", "duckdb"]


@pytest.mark.parametrize("source", SOURCES)
def test_no_count_moves_by_more_than_a_persons_rows(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two small tables, read in pieces of 16 bytes and of 100."""
    assert sum(pairs(source, seed, tmp_path, monkeypatch) for seed in (2, 7)) > 6


@pytest.mark.parametrize("wanted", sized(slow=200, long=5_000))
@pytest.mark.parametrize("source", SOURCES)
def test_no_count_moves_in_many_pairs(
    source: str, wanted: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done, seed = 0, 1000
    while done < wanted:
        done, seed = done + pairs(source, seed, tmp_path, monkeypatch), seed + 1


def count(path: Path, where: Any = None, **options: Any) -> int:
    with Table(path, **options) as table:
        return int(Count(where).value(table))


def test_an_apostrophe_is_a_character(tmp_path: Path) -> None:
    """A guessed quotation mark made every row between two such cells one."""
    path = tmp_path / "towns.csv"
    rows = [f"{i},Oslo" for i in range(5000)]
    for at in (10, 4000):
        rows[at] = f"{at},'s-Hertogenbosch"
    path.write_text("\n".join(["p,t", *rows]))
    assert count(path) == 5000
    assert count(path, t == "'s-Hertogenbosch", types={"t": "VARCHAR"}) == 2


def test_one_date_does_not_make_others_dates(tmp_path: Path) -> None:
    """A guessed format read everybody's cells as soon as one person's could only be that."""
    for odd in ("01/25/2020", "2020-01-25"):
        path = tmp_path / "days.csv"
        path.write_text("d\n" + "01/02/2020\n" * 1000 + odd + "\n")
        day = column("d") > dt.date(1900, 1, 1)
        assert count(path, day) == count(path, day, types={"d": "DATE"}) == (odd[0] == "2")


def test_a_fraction_is_no_integer(tmp_path: Path) -> None:
    path = tmp_path / "ages.csv"
    path.write_text("x,y\n1.5,1.005\n2,1.00\n3.0,1\n")
    types = {"x": "BIGINT", "y": "DECIMAL(10,2)"}
    with Table(path, types=types) as table:
        assert Histogram("x", [1, 2, 3]).value(table).tolist() == [0, 1, 1]
        assert Count(column("y") >= 0).value(table) == 2
        assert table.misread is not None
        assert table.misread.cells == {"x": 1, "y": 1}


@pytest.mark.slow
def test_a_long_comment_is_one_row(tmp_path: Path) -> None:
    """Line breaks in a quoted cell at the seams of a parallel reader became rows of others."""
    path = tmp_path / "comments.csv"
    lines = b"p,t\n" + b"1,a\n" * (2**21 - 4096)
    path.write_bytes(lines + b'2,"' + b"3,b\n" * 8192 + b'"\n' + b"1,a\n" * 2**18)
    assert count(path) == 2**21 - 4096 + 1 + 2**18
    assert count(path, t == "b") == 0


def test_statistics_of_a_file_decide_nothing(tmp_path: Path) -> None:
    """DuckDB 2.0 took a group of rows without NaN in its statistics for one without NaN."""
    path = tmp_path / "rows.parquet"
    for odd in (0.5, float("inf")):
        cells = [float("nan")] * 1000 + [1.0] * 999 + [odd]
        pq.write_table(pa.table({"x": cells}), path)
        assert count(path, x >= 0) == 1000
        assert count(path, ~(x >= 0)) == 1000
        pl.DataFrame({"x": cells}).write_parquet(path)
        assert count(path, x >= 0) == 1000
    for odd in ("amy", "zoe", None):
        pq.write_table(pa.table({"t": [None] * 1000 + ["zoe"] * 1000 + [odd]}), path)
        assert count(path, ~(t == "zoe")) == 1000 + (odd != "zoe")


def test_long_cells_do_not_fill_the_memory(tmp_path: Path) -> None:
    """Rows of a person are sorted by what a statistic makes of them, not by their text.

    DuckDB's own window function, in the order of the text or of its digest, runs out of memory.
    """
    size, cells = 2**19, [f"t{i % 5}" for i in range(20_000)]
    for i in range(60):
        cells[10_000 + i] = f"x{i}" + "y" * size
    path = tmp_path / "long.parquet"
    persons = [7 if len(cell) > 9 else i % 4000 for i, cell in enumerate(cells)]
    pq.write_table(pa.table({"p": persons, "t": cells}), path)
    with Table(path, privacy_unit="p", max_rows=3, memory_limit="45MB", threads=1) as table:
        for statistic in (Count(t == "t1", per=table.unit), Histogram("t", ["t1"], per=table.unit)):
            assert statistic.value(table) > 1000
    with Table(path, privacy_unit="t", max_rows=3, memory_limit="45MB", threads=1) as table:
        assert Count(per=table.unit).value(table) == 5 * 3 + 60


def test_a_file_that_changes_is_refused(tmp_path: Path) -> None:
    """Its new rows are not those that the table was opened for; the refusal costs nothing."""
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"x": [1.0]}), path)
    q = Queryable(FiltCon(ZCDP(1)), Table(path))
    pq.write_table(pa.table({"x": [1.0, 2.0]}), path)
    with pytest.raises(QueryError, match=r"has changed since it was opened.*nothing is charged"):
        q.launch(Gaussian(Count(x > 0), rho=1))
    assert q.privacy_loss() == ZCDP(0)


def test_a_cell_that_is_not_valid_is_missing(tmp_path: Path) -> None:
    """Each made every query of its column fail, so an analyst knew that it was there."""
    path, persons = tmp_path / "rows.parquet", 5000
    days = pa.array([0, 1000] * (persons // 2), pa.int64())
    for odd in (False, True):
        texts, moments, times = [b"zoe"] * persons, days.to_pylist(), [1] * persons
        if odd:
            texts[4321], moments[17], times[4999] = b"\xff", 2**62, 2**40
        data = pa.array(texts, pa.binary())
        columns = {
            "p": pa.array(range(persons)),
            "t": pa.Array.from_buffers(pa.string(), persons, data.buffers()),
            "m": pa.array(moments, pa.int64()).view(pa.timestamp("ms")),
            "c": pa.array(times, pa.int64()).view(pa.time64("us")),
        }
        pq.write_table(pa.table(columns), path, 100)
        with Table(str(tmp_path / "*.parquet"), privacy_unit="p", max_rows=1) as table:
            counts = [
                t == "zoe",
                ~(t == "zoe"),
                column("m") >= dt.datetime(1970, 1, 1),  # noqa: DTZ001
                (t == "zoe") & (column("p") == 4320),
                (t == "zoe") & (column("p") == 4321),
            ]
            found = [int(Count(each, per=table.unit).value(table)) for each in counts]
            assert found == [persons - odd, 0 + odd, persons - odd, 1, 1 - odd]
            assert [kind.declared for kind in table.columns.values()] == [
                "BIGINT",
                "VARCHAR",
                "TIMESTAMP",
                "TIME",
            ]
            assert (table.misread and table.misread.cells) == (
                {"t": 1, "m": 1, "c": 1} if odd else None
            )


def test_a_mended_file_may_change(tmp_path: Path) -> None:
    """It was copied, and the original is not read again."""
    path = tmp_path / "rows.parquet"
    data = pa.array([b"a", b"\xff"], pa.binary())
    pq.write_table(pa.table({"t": pa.Array.from_buffers(pa.string(), 2, data.buffers())}), path)
    with Table(path) as table:
        path.unlink()
        assert [Count(t == "a").value(table), Count().value(table)] == [1, 2]

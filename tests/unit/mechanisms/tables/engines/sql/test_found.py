"""Keys that are found on databases: the same keys and counts, in the same order."""

from collections import Counter
from datetime import date
from pathlib import Path
from typing import Any

import ibis
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from composition import FiltCon
from mechanisms import Count, DiscoveredKeys, GroupBy, PrivateKeys, Table, column
from mechanisms.sampling.laws import DiscreteLaplace
from mechanisms.tables.requests.keys import combinations
from queryable import ApproxDP, Queryable, QueryError, SeededCoins
from tests.engines import arrow, mostly, opened, quietly

TYPES = {
    "who": "integer",
    "city": "text",
    "n": "integer",
    "flag": "boolean",
    "day": "date",
    "raw": "bytes",
    "share": "float",
}
FIRST, LAST = date.min, date.max
ROWS: list[tuple[Any, ...]] = [
    (1, "a", 3, True, date(2024, 1, 31), b"\xff", 0.5),
    (1, "b", -1, False, FIRST, b"", 0.5),
    (1, "é", 2**40, True, LAST, None, 0.5),
    (2, "a", 3, True, None, b"\x00a", 0.5),
    (2, "A", 3, None, date(2024, 1, 31), b"\xff", 0.5),
    (3, None, 3, True, None, None, 0.5),
    (None, "a", 3, False, None, None, None),
    (4, "'; --", 9, True, date(2024, 2, 1), None, 0.5),
]
QUICK = mostly("duckdb", "ibis on duckdb", "ibis on sqlite, collated", "ibis on postgres, collated")
engines = pytest.mark.parametrize("engine", QUICK)
EDGE = DiscreteLaplace("1/1000")


def exactly(table: Any, *columns: Any, **options: Any) -> dict[Any, int]:
    """The keys that occur, with their counts: by hardly any noise, shown from 1 on."""
    keys = DiscoveredKeys(list(columns), per=getattr(table, "unit", None), **options)
    with quietly():
        queryable = Queryable(FiltCon(ApproxDP(10**6, 1)), table)
        found = queryable(PrivateKeys(keys, noise=EDGE, threshold=1))
    values = found.axes[0].values
    assert list(values) == sorted(set(values))
    return dict(zip(values, found.estimate.tolist(), strict=True))


@engines
def test_keys_of_rows(engine: str) -> None:
    """A collation that ignores case takes no two keys for one."""
    table = opened(engine, TYPES, ROWS)
    assert exactly(table, "city") == {("'; --",): 1, ("A",): 1, ("a",): 3, ("b",): 1, ("é",): 1}
    assert exactly(table, "n") == {(-1,): 1, (3,): 5, (9,): 1, (2**40,): 1}
    assert exactly(table, "flag") == {(False,): 2, (True,): 5}
    assert exactly(table, "raw") == {(b"",): 1, (b"\x00a",): 1, (b"\xff",): 2}
    chosen = exactly(table, "city", "flag", where=column("n") == 3)
    assert chosen == {("a", False): 1, ("a", True): 2}
    days = {FIRST: 1, date(2024, 1, 31): 2, date(2024, 2, 1): 1, LAST: 1}
    assert exactly(table, "day") == {(day,): count for day, count in days.items()}
    assert exactly(table, column("day").truncate("month"))[(date(2024, 1, 1),)] == 2
    assert exactly(table, column("city").upper())[("A",)] == 4
    assert {type(each) for each in next(iter(exactly(table, "flag", "n")))} == {bool, int}


@engines
def test_keys_of_units(engine: str) -> None:
    """Each unit once in each of its keys, in so many of them; rows without a unit in none."""
    table = opened(engine, TYPES, ROWS, privacy_unit="who", max_rows=1)
    every = exactly(table, "city", max_keys=9)
    assert every == {("'; --",): 1, ("A",): 1, ("a",): 2, ("b",): 1, ("é",): 1}
    for most, total in ((1, 3), (2, 5)):
        for seed in range(2):
            found = exactly(table.with_seed(seed), "city", max_keys=most)
            assert sum(found.values()) == total
            assert all(count <= every[key] for key, count in found.items())


@engines
def test_a_unit_keeps_its_keys_whoever_else_is_there(engine: str) -> None:
    """Which of its keys count depends on its own rows alone."""
    others = [(1, "a", *ROWS[0][2:]), (1, "c", *ROWS[0][2:])]
    mine = [(2, city, *ROWS[0][2:]) for city in "abcde"]
    every = [*others, *mine]
    without, alone, together, reversed_ = (
        exactly(
            opened(engine, TYPES, rows, privacy_unit="who", max_rows=1, seed=3), "city", max_keys=2
        )
        for rows in (others, mine, every, every[::-1])
    )
    assert len(alone) == 2
    summed = {key: without.get(key, 0) + alone.get(key, 0) for key in {**without, **alone}}
    assert together == reversed_ == dict(sorted(summed.items()))


@engines
def test_the_same_coins_give_the_same_answer_everywhere(engine: str) -> None:
    """Because noise is drawn in the order of the keys."""
    answers = []
    for table in (opened(engine, TYPES, ROWS), opened("duckdb", TYPES, ROWS[::-1])):
        root = FiltCon(ApproxDP(99, 1))
        queryable = Queryable(root, table, coins=SeededCoins(5), allow_seeded=True)
        keys = DiscoveredKeys(["city", "n"])
        with quietly():
            found = queryable(PrivateKeys(keys, epsilon="1/9", threshold=1))
        answers.append((found.axes, found.estimate.tolist()))
    assert answers[0] == answers[1]
    assert answers[0][1]


def test_texts_that_are_not_unicode_are_no_keys_on_sqlite() -> None:
    """Nor are cells of another type than the column's; the statement fails on none of them."""
    connection = ibis.sqlite.connect()
    connection.raw_sql("CREATE TABLE odd (c TEXT, n BIGINT, flag BOOLEAN)").close()
    cells = "(CAST(x'ff' AS TEXT), 'x', 7), ('ok', 2.5, 1), (x'6162', 2, 0), (5, 2.0, 'y')"
    connection.raw_sql(f"INSERT INTO odd VALUES {cells}").close()
    table = Table(connection.table("odd"))
    found = exactly(table, "c")
    assert found[("ok",)] == 1
    assert all(type(key) is str for (key,) in found)
    assert exactly(table, "n") == {(2,): 2}
    assert exactly(table, "flag") == {(False,): 1, (True,): 1}
    connection.disconnect()


def test_texts_in_other_columns_are_no_keys_on_sqlite() -> None:
    """A text that is not UTF-8 fails nothing, and one date is one key."""
    connection = ibis.sqlite.connect()
    connection.raw_sql("CREATE TABLE odd (n BIGINT, flag BOOLEAN, raw BLOB, day DATE)").close()
    odd = "CAST(x'32303230ff' AS TEXT)"
    days = ("2020-01-01", "20200101", "2020-W01-3", "2020-02-30")
    cells = [f"({odd}, {odd}, {odd}, {odd})", f"(1, 1, {10**12}, {10**12})", "(1, 1, 2, x'32')"]
    cells += [f"(1, 1, x'0000', '{day}')" for day in days]
    connection.raw_sql(f"INSERT INTO odd VALUES {', '.join(cells)}").close()
    table = Table(connection.table("odd"))
    assert exactly(table, "n") == {(1,): 6}
    assert exactly(table, "flag") == {(True,): 6}
    assert exactly(table, "raw") == {(b"\0\0",): 4}
    assert exactly(table, "day") == {(date(2020, 1, 1),): 1}
    assert exactly(table, column("day").truncate("year")) == {(date(2020, 1, 1),): 1}
    connection.disconnect()


@engines
def test_columns_that_do_not_fit(engine: str) -> None:
    table = opened(engine, TYPES, ROWS)
    queryable = Queryable(FiltCon(ApproxDP(1, "1e-6")), table)
    for wrong, why in (("share", "cast"), ("absent", "absent")):
        with pytest.raises(QueryError, match=why):
            queryable.release(DiscoveredKeys(wrong), loss=ApproxDP(1, "1e-6"))
    assert queryable.privacy_loss() == ApproxDP(0, 0)


LETTERS = (
    "aAIéßÅ\u212b\u0131\u0130\ufb01\uffff\U00010000\x7f\x01\t\n\u200b\ufeff\u0661\u2028%0\\'\""
)
WORDS = ["", "a ", " a", "e\u0301", "ss", "fi", "\\x41", "''", "NULL", "nan", "a\u00ad", "00", "-0"]
TEXTS = [*LETTERS, *WORDS, "x" * 1000]
NUMBERS = (0, -1, 2**63 - 1, -(2**63), 2**53, 2**53 + 1)
RAW = (b"", b"\0", b"\0\0", b"\\x41", b"\xff", b"A", b"a", b"\xc3\xa9")
DAYS = (FIRST, LAST, date(1582, 10, 10), date(1900, 2, 28), date(2024, 2, 29), None)
HOSTILE = [
    (i, text, NUMBERS[i % 6], i % 3 == 0, DAYS[i % 6], RAW[i % 8], 0.5)
    for i, text in enumerate(TEXTS * 2)
]
ASKED: dict[str, tuple[tuple[Any, ...], list[Any]]] = {
    "text": (("city",), [(row[1],) for row in HOSTILE]),
    "number": (("n",), [(row[2],) for row in HOSTILE]),
    "day": (("day",), [(row[4],) for row in HOSTILE if row[4]]),
    "bytes": (("raw",), [(row[5],) for row in HOSTILE]),
    "several": (("raw", "flag", "city"), [(row[5], row[3], row[1]) for row in HOSTILE]),
}


@pytest.mark.parametrize("engine", ["memory", *QUICK])
def test_hostile_cells_are_the_same_keys_everywhere(engine: str) -> None:
    """No engine takes two texts for one, or one for two; a group-by of the keys counts the same."""
    data = arrow(TYPES, HOSTILE) if engine == "memory" else opened(engine, TYPES, HOSTILE)
    for columns, cells in ASKED.values():
        expected = dict(sorted(Counter(cells).items()))
        assert exactly(data, *columns) == expected
        grouped = GroupBy(combinations(columns, expected), Count()).value(data)
        assert grouped.tolist() == list(expected.values())


@engines
@pytest.mark.parametrize("name", ["n", "raw"])
def test_the_seed_chooses_among_keys_of_every_type(engine: str, name: str) -> None:
    """No key is always the first of a unit; whatever its type is, and that of the unit."""
    rows = [(1, chr(97 + i), i, True, date(2024, 1, 1 + i), bytes([i]), 0.5) for i in range(20)]
    table = opened(engine, TYPES, rows, privacy_unit="who", max_rows=1)
    chosen = [exactly(table.with_seed(seed), name, max_keys=1) for seed in range(4)]
    assert all(list(found.values()) == [1] for found in chosen)
    assert len({key for found in chosen for key in found}) > 2


@pytest.mark.parametrize("engine", ["memory", "polars", *QUICK])
def test_what_is_too_long_is_no_key(engine: str) -> None:
    """By its bytes; so one record cannot take the memory of a sort."""
    cells: list[tuple[str, bytes]] = [("é" * 2**15, b"x" * 2**16), ("y" * 2**16, b"y")]
    cells += [("é" * 2**15 + "z", b"x" * (2**16 + 1)), ("z" * (2**16 + 1), b"y")]
    rows: list[Any] = [(i, text, i, True, None, raw, 0.5) for i, (text, raw) in enumerate(cells)]
    data: Any = arrow(TYPES, rows)
    if engine == "polars":
        data = pl.from_arrow(data)
    elif engine != "memory":
        data = opened(engine, TYPES, rows)
    assert exactly(data, "city") == {("y" * 2**16,): 1, ("é" * 2**15,): 1}
    assert exactly(data, "raw") == {(b"x" * 2**16,): 1, (b"y",): 2}
    assert list(exactly(data, column("city").upper())) == [("Y" * 2**16,), ("É" * 2**15,)]


def test_one_long_text_fails_nothing(tmp_path: Path) -> None:
    """Of more than half of the memory that sorting may take."""
    rows = pa.table({"c": ["a"] * 9 + ["x" * (30 << 20)]})
    pq.write_table(rows, tmp_path / "long.parquet")
    with Table(tmp_path / "long.parquet", memory_limit="50MB", threads=1) as table:
        assert exactly(table, "c") == {("a",): 9}

"""The rows that count are chosen once, and nothing but the time tells whether they were."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import attrs
import numpy as np
import pyarrow as pa
import pytest

from mechanisms import Count, GroupBy, Histogram, Mean, PrivacyUnit, Sum, Table, column
from mechanisms.tables.engines.sql import keeping, kept
from mechanisms.tables.requests.request import Categories, Combinations, Request, Term
from queryable import MechanismFault
from queryable.statistics import IntegerStatistic

ROWS = [
    {"person": i % 7 if i % 11 else None, "x": i * 37 % 20, "g": "abc"[i % 3], "when": i % 5}
    for i in range(120)
]


def opened(rows: list[dict[str, Any]] = ROWS, **options: Any) -> Table:
    options = {"privacy_unit": "person", "max_rows": 3, "seed": 5} | options
    return Table(pa.Table.from_pylist(rows), **options)


def statistics(*units: PrivacyUnit) -> list[IntegerStatistic]:
    """Some that read other columns and have other bounds."""
    states = {"g": ["a", "b"]}
    return [
        each
        for per in units
        for each in (
            Count(per=per),
            Count(column("x") > 7, per=per),
            Sum("x", 0, 30, column("g") != "a", per=per),
            Histogram("g", ["a", "c"], per=per),
            GroupBy(states, Mean("x", 0, 15, per=per)),
            Histogram("when", [0, 1, 2], column("x") > 3, per=per),
        )
    ]


UNITS = [
    PrivacyUnit("person", max_rows=3),
    PrivacyUnit("person", max_rows=5, max_groups=1),
    PrivacyUnit("person", max_rows=5, max_rows_per_group=2),
]


def tables_of(table: Table) -> list[str]:
    """The names of the tables of kept rows."""
    found = table._engine._connection.execute(
        "SELECT table_name FROM duckdb_tables() WHERE temporary"
    ).fetchall()
    return [name for (name,) in found]


@cache
def cold(i: int, keep: str | None = None) -> Any:
    """The value of a statistic on a table that was asked nothing before."""
    return np.asarray(statistics(*UNITS)[i](opened(keep=keep))).tolist()


some_or_all = pytest.mark.parametrize("number", [6, pytest.param(18, marks=pytest.mark.slow)])
"""How many of the statistics are asked of tables that are opened for them, which takes long."""


@pytest.mark.parametrize(
    ("keep", "number"),
    [
        (None, 6),
        ("when", 6),
        pytest.param(None, 18, marks=pytest.mark.slow),
        pytest.param("when", 18, marks=pytest.mark.slow),
    ],
)
def test_what_was_asked_before_makes_no_difference(keep: str | None, number: int) -> None:
    """The values of questions in any order are those of tables that were asked nothing before."""
    asked = statistics(*UNITS)
    table, order = opened(keep=keep), list(range(len(asked))) * 2
    Random(1).shuffle(order)
    compared = Random(1).sample(range(len(asked)), number)
    for i in order:
        table = opened(keep=keep) if i == 4 else table
        value = np.asarray(asked[i](table)).tolist()
        assert i not in compared or value == cold(i, keep)


def test_rows_are_chosen_once_for_the_same_bounds() -> None:
    """Bounds on groups are no other choice, and a new column extends the table of kept rows."""
    table = opened()
    for statistic in statistics(UNITS[0]):
        statistic(table)
    assert len(tables_of(table)) == 1
    for statistic in statistics(*UNITS[1:]):
        statistic(table)
    assert len(tables_of(table)) == 2


@pytest.mark.parametrize("threads", [1, 4])
def test_rows_of_equal_hash_are_chosen_by_their_cells(
    monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    """If all rows tie, the kept rows are the first in the order of all cells, however they lie."""
    monkeypatch.setattr(kept, "hash_of", lambda columns, choice: "0::UBIGINT")
    rows = [row for row in ROWS if row["person"] is not None]
    expected = 0
    for person in range(7):
        cells = sorted((row["x"], row["g"], row["when"]) for row in rows if row["person"] == person)
        expected += sum(x for x, _, _ in cells[:3])
    for seed in range(5):
        shuffled = Random(seed).sample(ROWS, len(ROWS))
        table = opened(shuffled, threads=threads)
        assert Sum("x", 0, 30, per=table.unit)(table) == expected
        assert Count(per=table.unit)(table) == 21


def test_equal_rows_are_kept_up_to_the_bound() -> None:
    """Rows that are equal in all cells tie, and no more than `max_rows` of them are kept."""
    rows = [{"person": i % 2, "x": 1} for i in range(1000)] + [{"person": 2, "x": 1}]
    table = opened(rows)
    assert Count(per=table.unit)(table) == 7


@some_or_all
def test_rows_that_tie_are_not_all_equal(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same where there is no room to keep rows."""
    monkeypatch.setattr(kept, "hash_of", lambda columns, choice: "0::UBIGINT")
    asked, table = statistics(*UNITS), opened(ROWS[::-1])
    table._engine._keeper._keeps = False
    for statistic in Random(3).sample(asked, number):
        assert moved(statistic, table, opened()) == 0


def moved(statistic: IntegerStatistic, one: Table, other: Table) -> int:
    """How much a statistic differs, in any entry."""
    change = np.asarray(statistic(one), dtype=object) - np.asarray(statistic(other), dtype=object)
    return int(np.abs(np.atleast_1d(change)).max())


def large(**options: Any) -> Table:
    """More rows than fit into 30 MB with the sets that are kept of them."""
    random = np.random.default_rng(1)
    cells = {"person": 50_000, "x": 100, "y": 2**62}
    source = {name: random.integers(0, most, 250_000) for name, most in cells.items()}
    return Table(source, privacy_unit="person", max_rows=1, seed=3, threads=1, **options)


@pytest.mark.slow
def test_without_room_on_disk_rows_are_chosen_anew() -> None:
    """Kept rows are written to disk beyond the memory; where that is full, none are kept."""
    tables = [
        large(),
        large(memory_limit="30MB"),
        large(memory_limit="30MB", max_temp_directory_size="1MB"),
    ]
    for most in (8, 7, 6, 5, 1):  # four sets are more than fit; the last is chosen anew
        per = PrivacyUnit("person", max_rows=most)
        count = Count((column("x") > 3) & (column("y") > 0), per=per)
        assert len({int(count(table)) for table in tables}) == 1
    sizes = [sum(each.stat().st_size for each in folder(table).iterdir()) for table in tables]
    assert sizes[0] == 0
    assert sizes[1] > 10**6
    assert sizes[2] <= 10**6
    assert [len(tables_of(table)) > 1 for table in tables] == [True, True, False]
    for table in tables:
        table.close()
        assert not folder(table).exists()


def folder(table: Table) -> Path:
    """The folder of the table's temporary files."""
    return Path(table._engine.folder)


@pytest.mark.slow
def test_threads_share_the_kept_rows() -> None:
    """Several threads that ask one table in their own order get the values of one."""
    asked = statistics(*UNITS)
    expected = [cold(i) for i in range(len(asked))]
    table = opened()

    def ask(seed: int) -> bool:
        order = Random(seed).sample(range(len(asked)), len(asked))
        return all(np.asarray(asked[i](table)).tolist() == expected[i] for i in order)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(ask, range(4)))


@some_or_all
@pytest.mark.parametrize("form", ["parquet", "csv", "pandas", "joined"])
def test_every_source(form: str, number: int, tmp_path: Path) -> None:
    """Rows of files, frames and joins: the values are those of a table that was asked nothing."""
    frame = pa.Table.from_pylist(ROWS).to_pandas()
    options = {"privacy_unit": "person", "max_rows": 3, "seed": 5}
    frame.to_csv(tmp_path / "x.csv", index=False)
    frame.to_parquet(tmp_path / "x.parquet")
    public = {"g": ["a", "b", "c"], "more": [1, 2, 3]}
    sources: dict[str, Callable[[], Table]] = {
        "parquet": lambda: Table(tmp_path / "x.parquet", **options),
        "csv": lambda: Table(tmp_path / "x.csv", types={"x": "DOUBLE"}, **options),
        "pandas": lambda: Table(frame, **options),
        "joined": lambda: Table(frame, **options).join(public=public, on="g"),
    }
    asked, table = statistics(*UNITS), sources[form]()
    for statistic in Random(2).sample(asked, number):
        assert moved(statistic, table, sources[form]()) == 0


@pytest.mark.parametrize("name", ["x", "file_row_number", "rowid"])
def test_further_columns_of_the_same_rows(name: str, tmp_path: Path) -> None:
    """The rows of several files are found again by number, whatever columns are called."""
    rows = [{"p": i % 4, name: i % 5, "text": "ab"[i % 2], "more": i * 7 % 11} for i in range(90)]
    for i, (start, stop) in enumerate([(0, 1), (1, 50), (50, 90)]):
        pa.Table.from_pylist(rows[start:stop]).to_pandas().to_parquet(tmp_path / f"{i}.parquet")

    def fresh() -> Table:
        return Table(str(tmp_path / "*.parquet"), privacy_unit="p", max_rows=6, seed=1)

    table = fresh()
    keys = {"text": ["a", "b"], "more": list(range(11))}
    for asked in (
        Sum(name, 0, 9, per=table.unit),
        Count(column("more") > 4, per=table.unit),
        GroupBy(keys, Sum(name, 0, 9, per=attrs.evolve(table.unit, max_rows_per_group=1))),
    ):
        assert moved(asked, table, fresh()) == 0
    has_positions = table._engine.columns.position is not None
    assert has_positions == (name != "file_row_number")


def test_a_file_that_changes_is_not_kept(tmp_path: Path) -> None:
    """What was chosen while a file changed is forgotten, in case it looks unchanged later."""
    path = tmp_path / "x.parquet"
    pa.Table.from_pylist(ROWS).to_pandas().to_parquet(path)
    table = Table(path, privacy_unit="person", max_rows=3)
    plan = table._plan(Count(per=table.unit).request)
    sources, calls = table._engine.sources, []

    class Changing:
        def require_unchanged(self) -> None:
            calls.append(1)
            if len(calls) == 2:
                raise ValueError("changed")

    table._engine.sources = Changing()
    with pytest.raises(ValueError, match="changed"):
        table._engine.run(plan)
    assert tables_of(table) == []
    table._engine.sources = sources
    assert [*table._engine.run(plan)] == [(21,)]


def test_the_number_of_sets_is_bounded() -> None:
    """The set that was asked for first is dropped, and is chosen again when it is asked for."""
    table = opened()
    for max_rows in [*range(1, keeping.MOST + 4), 1]:
        count = Count(per=PrivacyUnit("person", max_rows=max_rows))
        assert count(table) == 7 * max_rows
    assert len(tables_of(table)) == keeping.MOST


@some_or_all
@pytest.mark.parametrize(
    "form", ["parquet", *(pytest.param(each, marks=pytest.mark.slow) for each in ("csv", "pandas"))]
)
def test_rows_that_were_chosen_before_are_all_that_is_read(
    form: str, number: int, tmp_path: Path
) -> None:
    """Questions of at most as many rows, of any columns and in any number, do not need the others.

    So how many rows a person has beside those that count is not in the time of a question.
    """
    frame = pa.Table.from_pylist(ROWS).to_pandas()
    frame.to_csv(tmp_path / "x.csv", index=False)
    frame.to_parquet(tmp_path / "x.parquet")
    source = frame if form == "pandas" else tmp_path / f"x.{form}"

    def fresh() -> Table:
        types = {"types": {"x": "DOUBLE"}} if form == "csv" else {}
        return Table(source, privacy_unit="person", max_rows=5, seed=5, **types)

    asked, table = Random(2).sample(statistics(*UNITS), number), fresh()
    asked += [Count(per=PrivacyUnit("person", max_rows=most)) for most in (1, 2, 4)]
    table.choose_rows()
    [chosen] = tables_of(table)
    table._engine._connection.execute("DROP VIEW data")
    assert Count(column("x") > 8, per=table.unit)(table) > 0
    assert chosen in tables_of(table)
    for statistic in Random(3).sample(asked, len(asked)):
        assert moved(statistic, table, fresh()) == 0
    with pytest.raises(MechanismFault):
        Count(per=PrivacyUnit("person", max_rows=6))(table)


def test_rows_are_chosen_before_only_if_there_are_bounds_and_room() -> None:
    """Without room nothing is kept, and questions are answered as always."""
    plain = Table({"x": [1, 2]})
    plain.choose_rows()
    assert tables_of(plain) == []
    table = large(memory_limit="30MB", max_temp_directory_size="1MB")
    with table:
        table.choose_rows()
        count = Count((column("x") > 3) & (column("y") > 0), per=table.unit)
        assert count(table) == count(large())
    joined = opened().join(public={"g": ["a"], "more": [1]}, on="g")
    joined.choose_rows()
    assert moved(Sum("more", 0, 1, per=joined.unit), joined, joined) == 0


def test_rows_that_were_chosen_before_are_forgotten_with_a_changed_file(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pa.Table.from_pylist(ROWS).to_pandas().to_parquet(path)
    table = Table(path, privacy_unit="person", max_rows=3)
    table.choose_rows()
    path.touch()
    with pytest.raises(ValueError, match="changed"):
        table.choose_rows()
    with pytest.raises(ValueError, match="changed"):
        table._engine._require_unchanged()
    assert tables_of(table) == []


TEXTS = ["a", "A", "", " ", "a ", "a\0", "a\0b", "\0", "é", "e\u0301", "it's", '"', "\\", "nan"]
TEXTS += ["NULL", "1", "1.0", "ß", "ss", "\U0001f600", "a" * 300, "\x1ftexts", "\uffff"]


def texts(**options: Any) -> Table:
    """Rows with hostile texts and without one, and columns named as ours are."""
    cells = [TEXTS[i * 7 % len(TEXTS)] if i % 9 else None for i in range(900)]
    more = {"t": cells, "key_0": cells[::-1], "\x1fcode": range(900), "\x1fcode 3": cells}
    rows = {"person": [i % 90 for i in range(900)], "x": [i % 13 for i in range(900)], **more}
    return Table(pa.table(rows), **({"privacy_unit": "person", "max_rows": 7, "seed": 2} | options))


def by_texts(table: Table, keys: list[Any], name: Any = "t", i: int = 0) -> IntegerStatistic:
    """Means in groups of texts; other bounds than before, so that they are computed again."""
    return GroupBy([(name, keys)], Mean("x", 0, 9 + i, column("x") != i % 5, per=table.unit))


def codes_of(table: Table) -> int:
    """How many columns of codes are kept."""
    return sum(map(len, table._engine._keeper._codes.values()))


KEYS: dict[str, list[Any]] = {
    "texts": TEXTS[::-1],
    "few": ["a\0b", "zz", "it's", "A"],
    "a byte": TEXTS + [f"other {i}" for i in range(255 - len(TEXTS))],
    "more than a byte": TEXTS + [f"other {i}" for i in range(256 - len(TEXTS))],
    "of other types": ["a", 1, float("inf"), 2**200, b"A", "A", ""],
    "none": [1, 2],
}
"""Keys of a text. Those of the first three are kept as codes."""


@pytest.mark.parametrize("keys", KEYS)
def test_codes_of_texts_are_places_among_keys(keys: str) -> None:
    """Asked again and with other bounds, the same as where texts are joined with the keys."""
    coded, joined = texts(), texts()
    joined._engine._keeper._encodes = False
    for i, name in enumerate(["t", "key_0", "t", "t"]):  # the second has other kept rows
        for _ in range(2):
            asked = by_texts(coded, KEYS[keys], name, i)
            assert moved(asked, coded, joined) == 0
            assert np.any(asked(coded)) == (keys != "none")
    assert codes_of(coded) == 2 * (keys in ("texts", "few", "a byte"))
    assert codes_of(joined) == 0


def test_codes_of_computed_texts_are_not_kept() -> None:
    """These are no columns of the kept rows; nor are combinations of columns."""
    coded, joined = texts(), texts()
    joined._engine._keeper._encodes = False
    for name in (column("t").upper(), column("t").strip()):
        assert moved(by_texts(coded, TEXTS, name), coded, joined) == 0
    several = GroupBy({"t": TEXTS, "key_0": TEXTS[:4]}, Count(per=coded.unit))
    assert moved(several, coded, joined) == 0
    some = Combinations((Categories("t", TEXTS[:2]),), ((1,), (0,)))
    request = Request((Term(None),), by=(some,), per=coded.unit)
    found = [it._engine.run(it._engine.plan(request, it._choice)) for it in (coded, joined)]
    assert sorted(map(tuple, found[0])) == sorted(map(tuple, found[1]))
    assert codes_of(coded) == 0


def test_a_table_has_some_codes_at_most() -> None:
    """Keys that come later are joined; the codes go with the table."""
    coded, joined = texts(), texts()
    joined._engine._keeper._encodes = False
    for i in range(keeping.MOST + 3):
        assert moved(by_texts(coded, TEXTS[i:], i=i), coded, joined) == 0
    assert codes_of(coded) == keeping.MOST
    Count(column("key_0") == "a", per=coded.unit)(coded)  # another column, so another table
    assert codes_of(coded) == 0
    assert moved(by_texts(coded, TEXTS), coded, joined) == 0


@pytest.mark.parametrize("error", ["OutOfMemoryException", "IOException"])
def test_codes_without_room_are_not_kept(error: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts are joined then, and the rows are still kept."""
    import duckdb

    def full(*_: Any) -> None:
        tries.append(1)
        raise getattr(duckdb, error)("no room")

    tries: list[int] = []
    coded, joined = texts(), texts()
    joined._engine._keeper._encodes = False
    monkeypatch.setattr(coded._engine._keeper, "_encode", full)
    for i in range(3):
        assert moved(by_texts(coded, TEXTS, i=i), coded, joined) == 0
    assert len(tries) == 1
    assert codes_of(coded) == 0
    assert len(tables_of(coded)) == 1


@pytest.mark.parametrize("step", ["CREATE OR REPLACE TEMP TYPE", "ADD COLUMN", "ALTER COLUMN"])
def test_interrupted_codes_are_made_again(step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No half of them is used."""
    coded, joined = texts(), texts()
    keeper = coded._engine._keeper
    run = keeper._run

    def interrupted(statement: str) -> Any:
        if step in statement:
            raise KeyboardInterrupt
        return run(statement)

    joined._engine._keeper._encodes = False
    with monkeypatch.context() as patch:
        patch.setattr(keeper, "_run", interrupted)
        with pytest.raises(MechanismFault):
            by_texts(coded, TEXTS)(coded)
    for i in range(2):
        assert moved(by_texts(coded, TEXTS, i=i), coded, joined) == 0
    assert codes_of(coded) == 1


@attrs.define
class Interrupted:
    """A connection with a signal between a statement and its results."""

    connection: Any
    statement: str

    def execute(self, statement: str, *parameters: Any) -> Any:
        result = self.connection.execute(statement, *parameters)
        if self.statement in statement:
            raise KeyboardInterrupt
        return result

    def __getattr__(self, name: str) -> Any:
        return getattr(self.connection, name)


@pytest.mark.parametrize("encodes", [False, True])
@pytest.mark.parametrize("statement", ["key_0", "asked_", "SELECT EXISTS", "AS ENUM"])
def test_an_interrupt_leaves_no_result_behind(statement: str, encodes: bool) -> None:
    """DuckDB would refuse to read keys, of all later questions."""
    table, other = texts(), texts()
    engine: Any = table._engine
    engine._keeper._encodes = encodes
    asked: Any = by_texts(table, TEXTS)
    plan, connection = engine.plan(asked.request, table._choice), engine._connection
    engine._held[0] = Interrupted(connection, statement)
    if encodes or statement != "AS ENUM":
        with pytest.raises(KeyboardInterrupt):
            engine.run(plan)
    engine._held[0] = connection
    assert moved(asked, table, other) == 0
    count: Any = Count(column("t") != "a", per=table.unit)
    plan = engine.plan(count.request, table._choice)
    engine._held[0] = Interrupted(connection, "FROM kept")  # which has no keys
    with pytest.raises(KeyboardInterrupt):
        engine.run(plan)
    engine._held[0] = connection
    assert moved(by_texts(table, TEXTS, i=1), table, other) == 0


def test_rows_of_other_units_have_other_codes() -> None:
    """Each set of kept rows has codes of its own, also for questions that are asked together."""
    coded, joined = texts(), texts()
    coded.choose_rows()
    joined._engine._keeper._encodes = False
    for rows in (7, 3, 7, 2):
        per = PrivacyUnit("person", max_rows=rows)
        asked: Any = GroupBy({"t": TEXTS}, Sum("x", 0, 10, per=per))
        assert moved(asked, coded, joined) == 0
    assert codes_of(coded) == 3
    both: list[Any] = [by_texts(coded, TEXTS[i % 2 :], i=i) for i in range(6)]
    several = [each.request for each in both]
    plans = [[it._engine.plan(each, it._choice) for each in several] for it in (coded, joined)]
    together = [
        [sorted(map(tuple, rows)) for rows in it._engine.run_together(each)]
        for it, each in zip((coded, joined), plans, strict=True)
    ]
    assert together[0] == together[1]

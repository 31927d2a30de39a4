"""Neighbours of tables: the owner's files and databases stay, temporary ones are deleted."""

import gc
import sqlite3
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pytest

from mechanisms import Table, column
from mechanisms.tables.neighbours.databases import DatabaseForm
from mechanisms.tables.neighbours.of_table import form_of_table
from mechanisms.tables.neighbours.parts import PartsForm
from mechanisms.tables.neighbours.reopening import ReopenedForm
from queryable.audit.rows import neighbours_of
from queryable.audit.rows.extremes import EXTREMES
from queryable.audit.rows.forms import AddedRecord
from tests.extreme_tables import FORMS
from tests.neighbouring import ARROW, FRAME, TABLES, rows_in
from tests.postgres import POSTGRES

EXTREME = [
    pytest.param(name, marks=[POSTGRES, pytest.mark.slow] if "postgres" in name else [])
    for name in FORMS
]


@pytest.mark.parametrize("name", EXTREME)
def test_cells_at_the_limits_of_their_types_stay_what_they_are(name: str) -> None:
    """Without a change, a form gives all rows as they were: on SQLite, cells of any type."""
    form = FORMS[name]
    table = form.table(form.rows)
    again = table.neighbouring().edited((), ())
    assert rows_in(again) == rows_in(table)
    for each in ("f64", "i64"):
        if each in form.columns:
            asked = [
                table.sum(each, -1000, 1000),
                table.count(where=column(each) > 0),
                table.sum(each, 0, 5, where=column(each) <= 2**53),
            ]
            for statistic in asked:
                assert again.totals(statistic.request) == table.totals(statistic.request)


def test_what_is_added_in_a_database_has_the_types_of_its_columns() -> None:
    """A constant has a type of its own, which `UNION ALL` would give to the whole column."""
    form = FORMS["ibis on duckdb"]
    table = form.table(form.rows)
    rows = table.neighbouring()
    connection: Any = table._engine.backend.con
    types = connection.sql(table._engine.rows.sql).types
    tried = 0
    for name in rows.names:
        held = [cell for cell in EXTREMES if rows.admits(name, cell)]
        tried += len(held)
        other = rows.edited((), [AddedRecord(0, {name: cell}) for cell in held])
        assert connection.sql(other._engine.rows.sql).types == types
        assert rows_in(other).total() == rows.count + len(held)
    assert tried > 100


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("csv", ReopenedForm),
        ("parquet", ReopenedForm),
        ("excel", ReopenedForm),
        ("table of polars", ReopenedForm),
        ("grown", PartsForm),
        ("blocks", PartsForm),
        ("ibis on sqlite", DatabaseForm),
    ],
)
def test_what_can_be_opened_again_is(name: str, kind: type) -> None:
    assert type(form_of_table(TABLES[name].make())) is kind


def test_files_are_neither_changed_nor_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    for name in ("rows.csv", "rows.parquet", "rows.xlsx"):
        path = tmp_path / name
        {"csv": FRAME.to_csv, "parquet": FRAME.to_parquet, "xlsx": FRAME.to_excel}[
            name.partition(".")[2]
        ](path, index=False)
        before = path.read_bytes(), path.stat().st_mtime_ns
        with Table(path) as table:
            kept = list(neighbours_of(table, 4))
            assert len(list(folder.iterdir())) > 4
            for each in kept:
                assert rows_in(each.data) != rows_in(table)
            del kept, each
        gc.collect()
        assert [*folder.iterdir()] == []
        assert (path.read_bytes(), path.stat().st_mtime_ns) == before
        assert {it.name for it in tmp_path.iterdir()} == {"temporary", *_names(tmp_path, name)}


def _names(folder: Path, last: str) -> set[str]:
    return {it.name for it in folder.iterdir() if it.name <= last or it.name.startswith("rows")}


def test_a_database_is_not_written(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "rows.db") as raw:
        FRAME.to_sql("visits", raw, index=False)
    raw.close()
    before = (tmp_path / "rows.db").read_bytes()
    connection = ibis.sqlite.connect(tmp_path / "rows.db")
    table = Table(connection.table("visits"))
    for each in neighbours_of(table, 30):
        assert abs(rows_in(each.data).total() - len(FRAME)) == 1
    del each
    gc.collect()
    connection.disconnect()
    assert (tmp_path / "rows.db").read_bytes() == before


def test_temporary_tables_and_views_are_dropped(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "rows.db") as raw:
        FRAME.to_sql("visits", raw, index=False)
    raw.close()
    connection = ibis.sqlite.connect(tmp_path / "rows.db")
    table = Table(connection.table("visits"))

    def temporary() -> int:
        [[found]] = connection.con.execute("SELECT count(*) FROM temp.sqlite_schema").fetchall()
        return int(found)

    before = temporary()
    for _ in neighbours_of(table, 10):
        gc.collect()
        assert temporary() <= before + 3
    del _
    gc.collect()
    assert temporary() == before


def test_a_batch_of_a_file_is_read_as_the_table_reads_it(tmp_path: Path) -> None:
    """A neighbour of a batch is a file in the same way of writing, until the next one."""
    first, batch = tmp_path / "a.csv", tmp_path / "b.csv"
    first.write_text("person;age\np1;1\np2;2\n", encoding="cp1252")
    batch.write_text("person;age\nq1;1\nq2;2\nq2;3\np1;9\n\u00e9;5\n", encoding="cp1252")
    unit = {"privacy_unit": "person", "max_rows": 5}
    table = Table(first, separator=";", encoding="cp1252", **unit)
    paths = []
    for each in neighbours_of(batch, 20, beside=[table]):
        paths.append(each.data)
        grown = table.append(each.data)
        rows = rows_in(grown) - rows_in(table)
        whole = rows_in(table.append(batch)) - rows_in(table)
        assert (whole - rows).total() == each.removed
        assert (rows - whole).total() == each.added
        people = {row[0] for row in (whole - rows) + (rows - whole)}
        assert len(people) == 1
        assert "'p1'" not in people  # p1 has a row at the start too
        assert "\ufffd" not in str(rows)
    assert not any(path.exists() for path in paths)
    assert not any(path.parent.exists() for path in paths)
    for each in neighbours_of(table, 20, beside=[batch]):
        rows, whole = rows_in(each.data), rows_in(table)
        people = {row[0] for row in (whole - rows) + (rows - whole)}
        assert len(people) == 1
        assert "'p1'" not in people  # p1 has a row in the batch too


def test_of_a_file_that_reads_slowly_most_neighbours_are_made_of_what_was_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from mechanisms.tables.neighbours.csv_records import CsvForm

    monkeypatch.setattr(CsvForm, "most", 3)
    table = TABLES["csv"].make()
    found = list(neighbours_of(table, 10))
    own = [
        each.data._engine is not table._engine and hasattr(each.data._engine, "root")
        for each in found
    ]
    assert own == [False] * 3 + [True] * 7
    for each in found:
        before, after = rows_in(table), rows_in(each.data)
        assert ((before - after).total(), (after - before).total()) == (each.removed, each.added)


def test_what_is_added_to_a_csv_file_is_one_record() -> None:
    """Texts with quotation marks, separators and ends of lines."""
    table = TABLES["csv"].make()
    form = table.neighbouring()
    for word in ('a"b', "a\nb", "a\r\nb", "a,b;c\td", '"', "'", " a ", "x" * 100, "e\u0301"):
        for place in (None, 0, 3):
            other = form.edited((), [AddedRecord(1, {"word": word}, place)])
            [row] = (rows_in(other) - rows_in(table)).elements()
            assert row == ("'p1'", "'47'", "'1.25'", repr(word))


def test_records_that_do_not_parse_are_rows_and_stay(tmp_path: Path) -> None:
    """A row with too few cells, one with an open quotation, empty lines, no end at the last."""
    path = tmp_path / "rows.csv"
    path.write_bytes(b'a,b\r\n1,x\r\n2\r\n\r\n3,"open\r\n4,y\r\n5,"z, ""q"""')
    table = Table(path, on_misread=lambda _: None)
    assert rows_in(table).total() == 5
    removed = Counter()
    for each in neighbours_of(table, 20):
        before, after = rows_in(table), rows_in(each.data)
        assert ((before - after).total(), (after - before).total()) == (each.removed, each.added)
        removed.update(before - after)
    assert ("missing", "missing") in removed
    assert ("'5'", repr('z, "q"')) in removed


@pytest.mark.parametrize("name", ["grown", "ibis on sqlite", "ibis on duckdb"])
def test_a_new_unit_may_have_many_rows(name: str) -> None:
    """Twice the bound and one more, in one statement."""
    table = TABLES[name].make(privacy_unit="person", max_rows=400)
    sizes = set()
    for each in neighbours_of(table, 12):
        added = rows_in(each.data) - rows_in(table)
        assert added.total() == each.added
        sizes.add(each.added)
    assert 801 in sizes


def test_of_two_joined_tables_a_unit_is_gone_from_both() -> None:
    unit = {"privacy_unit": "person", "max_rows": 3}
    left = Table(ARROW, **unit)
    right = Table(pa.table({"person": ["p1", "p3", "p9"], "visits": [1, 2, 3]}), **unit)
    joined = left.join(right, on="person")
    whole = rows_in(joined)
    gone = set()
    for each in neighbours_of(joined, 12):
        rows = rows_in(each.data)
        assert each.data.unit == joined.unit
        if each.removed:
            people = {row[0] for row in whole - rows}
            assert not rows - whole
            assert not {row for row in rows if row[0] in people}
            gone |= people
        else:
            assert not whole - rows
    assert "'p1'" in gone


def test_an_engine_that_is_not_known_is_refused_in_words() -> None:
    from tests.engines import Plain

    table = Table(engine=Plain(TABLES["csv"].make()._engine))
    with pytest.raises(TypeError, match="give neighbours= yourself"):
        neighbours_of(table, 1)

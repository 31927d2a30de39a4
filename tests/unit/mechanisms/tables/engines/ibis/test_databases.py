"""Sessions of Postgres, and constants that no escape convention reads in a special way."""

from collections.abc import Iterator
from typing import Any

import ibis
import pytest

from mechanisms import Count, Histogram, Mean, Sum, Table, column
from mechanisms.tables.engines.ibis.databases import DATABASES
from mechanisms.tables.engines.sql.dialect import SqlDialect
from tests.engines import opened, quietly
from tests.postgres import POSTGRES, server

HOSTILE = [
    "O'Brien",
    "\\' OR 1=1 --",
    "\\",
    "'); DROP TABLE data; --",
    "${env:HOME}",
    "%s {x} :a ? $1",
    "line\nbreak",
    "é🌍",
    "",
    "plain text",
]


@pytest.mark.parametrize("name", ["duckdb", "sqlite", "postgres", "pyspark"])
def test_no_hostile_character_is_written_into_sql(name: str) -> None:
    """Nothing but letters, digits and a few signs is between the quotation marks."""
    constants = DATABASES[name].dialect()
    for text in HOSTILE:
        sql, raw = constants.text(text).text, constants.blob(text.encode()).text
        plain = text in ("", "plain text")
        assert plain == (f"'{text}'" in sql)
        assert plain or not set("\\${}%;\n:?é") & set(sql + raw)
        assert text.encode().hex() in raw.lower()


@pytest.mark.parametrize("name", ["ibis on duckdb", "ibis on sqlite"])
def test_hostile_texts_equal_themselves(name: str) -> None:
    texts = [*HOSTILE, "NUL \0"]
    table = opened(name, {"g": "text", "b": "bytes"}, [(text, text.encode()) for text in texts])
    for text in texts:
        assert Count(column("g") == text).value(table) == 1
        assert Count(column("b") == text.encode()).value(table) == 1
    assert Histogram("g", texts).value(table).tolist() == [1] * len(texts)


def test_an_unknown_database_accepts_plain_text_only() -> None:
    constants = SqlDialect("other")
    assert constants.text("plain text, 1-2") is not None
    for text in HOSTILE[:8]:
        with pytest.raises(TypeError, match="constants of text on other"):
            constants.text(text)
    with pytest.raises(TypeError, match="bytes out: they cannot be written on other"):
        constants.blob(b"a")


@pytest.fixture
def postgres() -> Iterator[Any]:
    """A connection to a real server, with one table."""
    connection = ibis.postgres.connect(host=server(), user="postgres", database="postgres")
    for statement in (
        "CREATE TEMPORARY TABLE data (p BIGINT, x NUMERIC(12,2), g TEXT, b BYTEA)",
        r"INSERT INTO data VALUES (1, 'NaN', '\'' OR 1=1 --', '\x00ff')",
        "INSERT INTO data VALUES (2, 1.5, 'é', NULL), (3, 9999999999.99, 'O''Brien', NULL)",
    ):
        connection.raw_sql(statement).close()
    yield connection
    connection.disconnect()


@POSTGRES
def test_a_session_with_other_strings_is_refused(postgres: Any) -> None:
    """With backslashes that escape, a constant could end its own quotation marks."""
    postgres.raw_sql("SET standard_conforming_strings = off").close()
    with pytest.raises(ValueError, match=r"standard_conforming_strings = on .*it is off"):
        Table(postgres.table("data"))


@POSTGRES
def test_rows_are_chosen_by_the_md5_of_postgres(postgres: Any) -> None:
    postgres.raw_sql("INSERT INTO data VALUES (2, 3, 'a', NULL), (NULL, 5, 'a', NULL)").close()
    table = Table(postgres.table("data"), privacy_unit="p", max_rows=1, seed=1)
    assert Count(per=table.unit).value(table) == 3
    total = Sum("x", 0, 10, unit="0.5", per=table.unit)
    assert total.value(table) in (20 + 3, 20 + 6)
    again = Table(postgres.table("data"), privacy_unit="p", max_rows=1, seed=1)
    assert total.value(again) == total.value(table)


@POSTGRES
def test_booleans_are_added_up_on_postgres(postgres: Any) -> None:
    """Postgres casts booleans to no integer of 64 bits."""
    postgres.raw_sql("CREATE TEMPORARY TABLE truths (x BOOLEAN)").close()
    postgres.raw_sql("INSERT INTO truths VALUES (TRUE), (TRUE), (FALSE), (NULL)").close()
    table = Table(postgres.table("truths"))
    assert Sum("x", 0, 1).value(table) == 2
    assert Mean("x", 0, 1).value(table).tolist() == [3, 2]


@POSTGRES
def test_nothing_can_be_injected(postgres: Any) -> None:
    """Even if the session's convention is changed behind an open table."""
    table = Table(postgres.table("data"))
    for setting in ("on", "off"):
        postgres.raw_sql(f"SET standard_conforming_strings = {setting}").close()
        assert Count(column("g") == r"\') OR TRUE --").value(table) == 0
        assert Count(column("g") == r"\' OR 1=1 --").value(table) == 1
        assert Count(column("g").is_in(["é", "O'Brien", "none"])).value(table) == 2
        assert Count(column("b") == b"\0\xff").value(table) == 1
    with pytest.raises(TypeError, match="NUL"):
        table.check(Count(column("g") == "a\0"))


@POSTGRES
def test_a_nan_in_a_numeric_column_is_missing(postgres: Any) -> None:
    """It failed every sum; now it adds nothing, as in a column of floats."""
    table = Table(postgres.table("data"))
    assert Sum("x", 0, 10).value(table) == 11
    assert Sum("x", 0, 10, unit="0.01").value(table) == 1150
    assert Mean("x", 0, 10).value(table).tolist() == [10, 1]
    assert Count(column("x") > 1).value(table) == 2
    assert Count(~(column("x") > 1)).value(table) == 1
    assert Histogram("x", [1.5]).value(table).tolist() == [1]


@POSTGRES
def test_collations_of_postgres_do_not_matter(postgres: Any) -> None:
    """Text compares by code points, also in a column for which `a` and `A` are equal."""
    postgres.raw_sql(
        "CREATE COLLATION IF NOT EXISTS alike "
        "(provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
    ).close()
    for collation in ("alike", '"und-x-icu"', '"C"'):
        name = f"texts_{len(collation)}"
        postgres.raw_sql(f"CREATE TEMPORARY TABLE {name} (x TEXT COLLATE {collation})").close()
        postgres.raw_sql(f"INSERT INTO {name} VALUES ('a'), ('A'), ('B'), ('é'), (NULL)").close()
        table, x = Table(postgres.table(name)), column("x")
        assert Count(x == "a").value(table) == 1
        assert Count(x < "a").value(table) == 2
        assert Count(x.is_in(["a", "b"])).value(table) == 1
        assert Count(x.upper() == x).value(table) == 2
        assert Count(x.contains("A")).value(table) == 1
        assert Count(x.like("A%")).value(table) == 1
        assert Histogram("x", ["A", "a", "É"]).value(table).tolist() == [1, 1, 0]


def test_collations_of_sqlite_do_not_matter(tmp_path: Any) -> None:
    connection = ibis.sqlite.connect(tmp_path / "data.db")
    connection.raw_sql("CREATE TABLE data (x TEXT COLLATE NOCASE)").close()
    connection.raw_sql("INSERT INTO data VALUES ('a'), ('A'), ('B'), (NULL)").close()
    with quietly():
        table, x = Table(connection.table("data")), column("x")
    assert Count(x == "a").value(table) == 1
    assert Count(x < "a").value(table) == 2
    assert Count(x.is_in(["a", "b"])).value(table) == 1
    assert Count(x.upper() == x).value(table) == 2
    assert Histogram("x", ["A", "a"]).value(table).tolist() == [1, 1]


def test_cells_of_any_type_on_sqlite(tmp_path: Any) -> None:
    """SQLite does not check types. A cell of another type has no value, and nothing fails."""
    connection = ibis.sqlite.connect(tmp_path / "data.db")
    connection.raw_sql("CREATE TABLE data (n REAL, s TEXT, d DATE, t TIMESTAMP, b BOOLEAN)").close()
    for cell in ("'x'", "X'FF'", "CAST(X'FF' AS TEXT)", "1e999", "2", "'2020-02-29'", "NULL"):
        connection.raw_sql(f"INSERT INTO data VALUES ({', '.join([cell] * 5)})").close()
    with quietly():
        table = Table(connection.table("data"))
    n, s, d, t = (column(name) for name in "nsdt")
    assert Count(n * 2 == 4).value(table) == 1
    assert Count((n * 2).is_null()).value(table) == 6
    assert Count(s.lower() == "x").value(table) == 1
    assert Count(d.year() == 2020).value(table) == 1
    assert Count(t.hour() == 0).value(table) == 1
    assert Count(n.cast("integer") == 2).value(table) == 1
    for expression in (s.cast("number") + 1, d - d, t.truncate("week"), column("b").cast("text")):
        assert 0 <= Count(expression.is_not_null()).value(table) <= 7

"""Statements in the words of databases, of which the untested ones are compiled only."""

from typing import Any
from unittest.mock import Mock

import attrs
import pytest
from ibis.backends.sql import compilers

from mechanisms import Histogram, PrivacyUnit, Sum
from mechanisms.tables.engines.ibis import databases, engine
from mechanisms.tables.engines.ibis.databases import SQLITE, database_of
from mechanisms.tables.engines.ibis.keys import UploadedKeys
from mechanisms.tables.engines.ibis.statements import statement_of
from mechanisms.tables.engines.protocol import Choice
from mechanisms.tables.engines.sql.kept import numbered
from mechanisms.tables.engines.sql.statements import statement_of as planned
from mechanisms.tables.engines.sql.views import ViewColumns
from mechanisms.tables.expressions.column_types import TEXT, integer
from queryable import PrivacyWarning
from tests.engines import opened

COMPILED = {
    "athena": 'LOWER(TO_HEX(MD5(TO_UTF8("x"))))',
    "bigquery": "TO_HEX(MD5(`x`))",
    "clickhouse": 'LOWER(HEX(MD5("x")))',
    "databricks": "MD5(`x`)",
    "mysql": "MD5(`x`)",
    "oracle": "RAWTOHEX(STANDARD_HASH(\"x\", 'MD5'))",
    "postgres": 'MD5("x")',
    "pyspark": "MD5(`x`)",
    "risingwave": 'MD5("x")',
    "snowflake": 'MD5("x")',
    "trino": 'LOWER(TO_HEX(MD5(TO_UTF8("x"))))',
}
"""What the hash of a text is on each database, without a server."""


@pytest.mark.parametrize("name", COMPILED)
def test_the_hash_is_a_function_of_the_database(name: str) -> None:
    backend = Mock(has_operation=lambda operation: name in ("databricks", "pyspark"))
    backend.name, backend.dialect = name, getattr(compilers, name).compiler.dialect
    dialect = database_of(backend).dialect_on(backend)()
    hashed = dialect.digest.format(dialect.cell("x", TEXT).text)
    assert COMPILED[name].lower() in statement_of(backend, f"SELECT {hashed}").lower()


def test_a_database_without_a_hash_is_refused() -> None:
    """Rows could not be chosen; said when the table is opened."""
    backend = Mock(has_operation=lambda operation: False)
    backend.name = "other"
    with pytest.raises(ValueError, match="no md5 is known on other"):
        database_of(backend).dialect_on(backend)


def test_an_untested_database_is_called_untested(monkeypatch: pytest.MonkeyPatch) -> None:
    """When a table of it is opened, by a warning; the tested ones are opened silently."""
    source: Any = opened("ibis on sqlite", {"x": "integer"}, [(1,)])._engine.source  # type: ignore[attr-defined]
    engine.Ibis(source)
    monkeypatch.setitem(databases.DATABASES, "sqlite", attrs.evolve(SQLITE, tested=False))
    with pytest.warns(PrivacyWarning, match="no test runs on sqlite"):
        engine.Ibis(source)


@pytest.mark.parametrize("name", sorted(COMPILED.keys() - {"postgres", "pyspark"}))
def test_a_statement_is_rewritten_for_a_database_without_tests(name: str) -> None:
    """Every request of the planner has a statement there, with names in its own quotation marks."""
    backend = Mock(has_operation=lambda operation: True)
    backend.name, backend.dialect = name, getattr(compilers, name).compiler.dialect
    kinds = {"p": TEXT, "x": attrs.evolve(integer(64), declared="int64")}
    columns = ViewColumns(
        *(tuple(kinds), kinds, {}),
        dialect=database_of(backend).dialect_on(backend),
        placed=UploadedKeys(backend).placed,
        data="(SELECT * FROM data)",
        number="counted_number",
        prefix="counted_",
    )
    per = PrivacyUnit("p", max_rows=3, max_groups=1)
    for statistic in (Sum("x", 0, 2**40, per=per), Histogram("x", [1, 2], per=per)):
        plan = planned(statistic.request, Choice(5), columns)
        assert plan.kept is not None
        quoted = statement_of(backend, 'SELECT "x"').removeprefix("SELECT ")
        assert quoted in statement_of(backend, numbered(plan.kept))
        assert "total_0" in statement_of(backend, plan.statement)

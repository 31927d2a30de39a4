"""The md5 of text on databases, of which the untested ones are compiled only."""

from typing import Any
from unittest.mock import Mock

import attrs
import ibis
import pytest

from mechanisms.tables.engines.ibis import databases, engine
from mechanisms.tables.engines.ibis.databases import SQLITE, database_of
from queryable import PrivacyWarning
from tests.engines import opened, quietly

COMPILED = {
    "athena": 'TO_HEX(MD5(TO_UTF8("t0"."x")))',
    "bigquery": "TO_HEX(MD5(`t0`.`x`))",
    "clickhouse": 'HEX(MD5("t0"."x"))',
    "databricks": "MD5(`t0`.`x`)",
    "mysql": "MD5(`t0`.`x`)",
    "oracle": 'RAWTOHEX(STANDARD_HASH("t0"."x", \'MD5\'))',
    "postgres": 'MD5("t0"."x")',
    "pyspark": "MD5(`t0`.`x`)",
    "risingwave": 'MD5("t0"."x")',
    "snowflake": 'MD5("t0"."x")',
    "trino": 'TO_HEX(MD5(TO_UTF8("t0"."x")))',
}
"""What Ibis compiles the hash of a text to, without a server."""


@pytest.mark.parametrize("name", COMPILED)
def test_the_hash_is_a_function_of_the_database(name: str) -> None:
    backend = Mock(has_operation=lambda operation: name in ("databricks", "pyspark"))
    backend.name = name
    text = ibis.table({"x": "string"}, name="t")
    with quietly():
        found = text.select(h=database_of(backend).digest(backend)(text["x"]))
        sql = str(ibis.to_sql(found, dialect=name, pretty=False))
    assert COMPILED[name].lower() in sql.lower()


def test_a_database_without_a_hash_is_refused() -> None:
    """Rows could not be chosen; said when the table is opened."""
    backend = Mock(has_operation=lambda operation: False)
    backend.name = "other"
    with pytest.raises(ValueError, match="no md5 is known on other"):
        database_of(backend).digest(backend)


def test_an_untested_database_is_called_untested(monkeypatch: pytest.MonkeyPatch) -> None:
    """When a table of it is opened, by a warning; the tested ones are opened silently."""
    source: Any = opened("ibis on sqlite", {"x": "integer"}, [(1,)])._engine.source  # type: ignore[attr-defined]
    engine.Ibis(source)
    monkeypatch.setitem(databases.DATABASES, "sqlite", attrs.evolve(SQLITE, tested=False))
    with pytest.warns(PrivacyWarning, match="no test runs on sqlite"):
        engine.Ibis(source)

"""Ibis: what is its own, beside the conformance that every engine shares."""

from fractions import Fraction

import ibis
import pytest

from mechanisms import Count, PrivacyUnit, Sum, Table, column
from mechanisms.tables.engines.ibis.engine import Ibis
from mechanisms.tables.engines.sql.expression import Sql
from mechanisms.tables.expressions.column_types import BOOLEAN, TEXT, Kind
from mechanisms.tables.expressions.lattice import Lattice
from mechanisms.tables.requests.request import Term
from queryable import MechanismFault
from tests.engines import opened, quietly

TYPES = {"p": "integer", "x": "integer", "g": "text", "b": "boolean", "m": "money"}
ROWS = [(1, 5, "a", True, None), (1, 7, "b", False, None), (2, None, None, None, None)]


def test_kinds() -> None:
    table = opened("ibis on sqlite", TYPES, ROWS)
    assert table.columns["g"] == TEXT
    assert table.columns["b"] == BOOLEAN
    assert table.columns["m"].step == pytest.approx(0.01)
    assert isinstance(table.columns["x"], Kind)


def test_columns_can_be_left_out() -> None:
    table = opened("ibis on sqlite", TYPES, ROWS, columns=["x", "p"])
    assert list(table.columns) == ["x", "p"]
    with pytest.raises(KeyError, match="'g'"):
        table.check(Count(column("g") == "a"))
    with pytest.raises(ValueError, match="'y'"):
        opened("ibis on sqlite", TYPES, ROWS, columns=["y"])


def test_another_unit_fails_closed() -> None:
    """As on DuckDB: nothing is read."""
    table = opened("ibis on sqlite", TYPES, ROWS, privacy_unit="p", max_rows=1)
    for per in (None, PrivacyUnit("x", max_rows=1)):
        with pytest.raises(MechanismFault):
            Count(per=per)(table)
    assert Count(per=table.unit)(table) == 2


def test_ibis_tables_reject_options_of_duckdb() -> None:
    with pytest.raises(TypeError, match="memory_limit"):
        opened("ibis on sqlite", TYPES, ROWS, memory_limit="1GB")


def test_numbers_in_parts() -> None:
    """No more parts than the bounds need, so that a sum of small numbers is one."""
    engine = opened("ibis on sqlite", TYPES, ROWS)._engine
    assert isinstance(engine, Ibis)
    dialect = engine.columns.dialect()
    for high, parts in ((2**22 - 1, 1), (2**22, 2), (2**44, 3), (2**63 - 1, 3)):
        term = Term("x", Lattice(Fraction(0), Fraction(high), Fraction(1)), power=1)
        assert len(dialect.limbs(Sql("x"), term.largest)) == parts


def test_public_reasons_for_rejection() -> None:
    """What this engine cannot do exactly it refuses, by types and bounds alone."""
    table = opened("ibis on sqlite", TYPES, ROWS)
    with pytest.raises(TypeError, match="too fine"):
        table.check(Sum("x", 0, 2**60, unit=3))
    with pytest.raises(TypeError, match="64-bit"):
        table.check(Sum("x", 0, 2**64))
    assert isinstance(table, Table)


def sqlite(declared: str, *cells: str) -> Table:
    """Rows of one person each, of these SQL values."""
    connection = ibis.sqlite.connect()
    connection.raw_sql(f"CREATE TABLE data (p BIGINT, x {declared})")
    for person, cell in enumerate(cells):
        connection.raw_sql(f"INSERT INTO data VALUES ({person}, {cell})")
    with quietly():
        return Table(connection.table("data"), privacy_unit="p", max_rows=1)


@pytest.mark.parametrize("declared", ["TEXT", "BIGINT", "DOUBLE", "DATE", "DECIMAL(12,2)"])
def test_no_cell_of_sqlite_fails(declared: str) -> None:
    """Its columns hold anything, text that is no UTF-8 too; none may stop a query."""
    table = sqlite(declared, "CAST(x'ff' AS TEXT)", "x'ff00'", "'abc'", "9e999", "NULL", "5")
    assert Count(per=table.unit).value(table) == 6


def test_a_decimal_of_any_scale_is_refused() -> None:
    """Nothing is known to be exact: 12.34 is no multiple of one."""
    table = sqlite("NUMERIC", "12.34")
    for statistic in (Count(column("x") > 12.2, per=table.unit), Sum("x", 0, 20, per=table.unit)):
        with pytest.raises(TypeError, match="decimal"):
            table.check(statistic)

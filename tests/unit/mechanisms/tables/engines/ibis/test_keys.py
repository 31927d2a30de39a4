"""Groups by many keys: joined with an uploaded table, and equal to groups by a few."""

import ibis
import numpy as np
import pytest

from mechanisms import Count, GroupBy, Histogram, Keys, Table, column
from mechanisms.tables.engines.ibis import keys as ibis_keys
from tests.engines import ENGINES, mostly, opened, quietly
from tests.unit.mechanisms.tables.engines.ibis.test_kept import engine_of

every_database = pytest.mark.parametrize(
    "name",
    mostly(
        "ibis on sqlite, collated",
        "ibis on postgres, collated",
        among=ENGINES[1:],
    ),
)
TYPES = {"p": "integer", "x": "integer", "g": "text"}
TEXTS = ["a", "A", "é", "O'Brien", "\\", "", "a|=", "b ", "b"]
ROWS = [(i % 9, i * 7 % 40, TEXTS[i % len(TEXTS)]) for i in range(80)] + [(1, None, None)]


@every_database
def test_many_keys_are_as_a_few(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts that a collation takes for equal, keys that no row has, numbers and combinations."""
    monkeypatch.setattr(ibis_keys, "FEW", 3)
    table = opened(name, TYPES, ROWS, privacy_unit="p", max_rows=5, max_groups=2, seed=1)
    lists = {column: [row[i] for row in ROWS] for i, column in enumerate(TYPES)}
    plain, per = opened(name, TYPES, ROWS), table.unit
    pairs = Keys.of({"g": TEXTS, "x": [i * 7 % 40 for i in range(len(TEXTS))]}, "g", "x")
    asked = [
        lambda per: Histogram("g", [*TEXTS[::-1], "none"], per=per),
        lambda per: Histogram("x", [*range(20), 2.5, 2**70], column("g") != "a", per=per),
        lambda per: GroupBy(pairs, Count(per=per)),
        lambda per: GroupBy([{"g": TEXTS}, {"x": [1, 7, 0, 14]}], Count(per=per)),
    ]
    many = [each(who).value(t) for each in asked for t, who in ((plain, None), (table, per))]
    monkeypatch.setattr(ibis_keys, "FEW", 10**6)
    again = opened(name, TYPES, ROWS, privacy_unit="p", max_rows=5, max_groups=2, seed=1)
    few = [
        value for each in asked for value in (each(None)(lists), each(per).value(again))
    ]  # of all rows, the keys as in plain Python
    for one, two in zip(many, few, strict=True):
        assert np.array_equal(one, two)
    assert engine_of(table)._keys._tables
    assert not engine_of(again)._keys._tables


@pytest.mark.parametrize(
    "name", [pytest.param("ibis on duckdb", marks=pytest.mark.slow), "ibis on sqlite"]
)
@pytest.mark.slow
def test_fifty_thousand_keys(name: str) -> None:
    """They are uploaded once; half a character is refused as in a statement."""
    rows = [(i, i, str(i)) for i in range(2_000)]
    table = opened(name, TYPES, rows, privacy_unit="p", max_rows=1)
    keys = [str(i) for i in range(50_000)]
    counts = Histogram("g", keys, per=table.unit)
    assert counts.value(table).sum() == 2_000
    assert Histogram("g", keys, column("x") < 10, per=table.unit).value(table).sum() == 10
    assert len(engine_of(table)._keys._tables) == 1
    with pytest.raises(ValueError, match="surrogates"):
        table.check(Histogram("g", [*keys, "\ud800"], per=table.unit))


@pytest.mark.parametrize("where", ["column", "session"])
def test_a_row_is_in_one_group_whatever_the_collation(where: str) -> None:
    """Under a collation that ignores case, `a` equals the keys `a` and `A`."""
    connection = ibis.duckdb.connect()
    if where == "session":
        connection.raw_sql("SET default_collation = 'NOCASE'")
    collate = "COLLATE NOCASE" if where == "column" else ""
    connection.raw_sql(f"CREATE TABLE data (p INTEGER, g VARCHAR {collate})")
    connection.raw_sql("INSERT INTO data VALUES (1, 'a'), (2, 'A'), (3, 'b'), (4, NULL)")
    keys = ["a", "A", "b", "B", *map(str, range(ibis_keys.FEW))]
    with quietly():
        plain = Table(connection.table("data"))
        people = Table(connection.table("data"), privacy_unit="p", max_rows=1, max_groups=1)
        assert Histogram("g", keys).value(plain).sum() == 3
        assert Histogram("g", keys, per=people.unit).value(people).sum() == 3

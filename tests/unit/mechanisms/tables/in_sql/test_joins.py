"""Joins in SQL: the exact answers of DuckDB on the separate tables, or a refusal in words."""

import re
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from composition import FiltCon
from mechanisms import Table
from mechanisms.tables.in_sql.planning import planned
from mechanisms.tables.in_sql.refusals import SqlError
from queryable import ZCDP, Queryable
from queryable.errors import QueryError
from tests.unit.mechanisms.tables.in_sql.exact_answers import close, numbers
from tests.unit.mechanisms.tables.in_sql.random_joins import (
    BILLS,
    CLINICS,
    VISITS,
    JoinQueries,
    database,
    private,
    public,
    several,
)
from tests.unit.mechanisms.tables.in_sql.random_queries import ROWS

pytest.importorskip("sqlglot")

_NO_NOISE = ZCDP(10**13)
_EXACT = database()


def handle(table: Any) -> Queryable:
    return Queryable(FiltCon(ZCDP(10**20)), table)


@pytest.fixture(scope="module")
def asked() -> dict[str, tuple[Queryable, Queryable]]:
    """What is asked about rows, and about units."""
    unit = {"privacy_unit": "p", "max_rows": ROWS}
    return {
        "public": (handle(public()), handle(public(**unit))),
        "several": (handle(several()), handle(several(**unit))),
        "private": (handle(private()),) * 2,
    }


def check(seed: int, count: int, asked: Any) -> None:
    queries, compared = JoinQueries(seed), 0
    for _ in range(count):
        which = queries.random.choice(["public", "public", "several", "private"])
        units = which == "private" or queries.random.random() < 0.5
        text = queries.joined(getattr(queries, f"of_{which}")(), units=units)
        both = (asked[which][units],) * 2
        for found in numbers(text, both, _EXACT, loss=_NO_NOISE):
            assert close(text, *found), (which, text, found)
            compared += 1
    assert compared > count


@pytest.mark.parametrize("seed", range(2))
def test_random_joins_are_what_duckdb_answers(seed: int, asked: Any) -> None:
    check(seed, 40, asked)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 110))
def test_1000_random_joins_are_what_duckdb_answers(seed: int, asked: Any) -> None:
    check(seed, 100, asked)


_TWO = "v JOIN clinics c ON v.k = c.id"
_CHAIN = f"{_TWO} LEFT JOIN regions r ON c.region = r.region"
_BILLS = "v JOIN bills b ON b.p = v.p AND b.of = v.k"
AS_IN_SQL = [
    # Which one of two joins of one table a name is follows from its keys.
    (
        "public",
        (
            "SELECT SUM(n1.z) AS n, SUM(n2.z) AS m FROM clinics n1, clinics n2, v"
            " WHERE i = n1.id AND n2.id = k"
        ),
    ),
    (
        "public",
        (
            "SELECT SUM(n1.z) AS n, SUM(n2.z) AS m FROM clinics n1, clinics n2, v"
            " WHERE i = n2.id AND n1.id = k"
        ),
    ),
    # A left join that is not written changes no row; an inner one leaves rows without a match out.
    ("public", "SELECT COUNT(*) AS n FROM v"),
    ("public", f"SELECT COUNT(*) AS n FROM {_TWO}"),
    ("public", "SELECT COUNT(*) AS n FROM v LEFT JOIN clinics c ON v.k = c.id"),
    ("public", "SELECT COUNT(*) AS n FROM v LEFT JOIN clinics c ON v.k = c.id WHERE v.k = c.id"),
    ("public", f"SELECT COUNT(*) AS n FROM {_CHAIN} WHERE r.region IS NULL"),
    ("public", f"SELECT COUNT(*) AS n FROM {_CHAIN.replace('LEFT ', '')}"),
    # Names.
    ("public", f"SELECT AVG(Z) AS n FROM {_TWO.replace('c.id', 'C.ID')} WHERE Name = 'a'"),
    ("public", f"SELECT name AS g0, COUNT(*) AS n FROM {_TWO} GROUP BY c.name"),
    ("public", f"SELECT c.name AS g0, COUNT(*) AS n FROM {_TWO} WHERE name IN ('b') GROUP BY g0"),
    ("public", f"SELECT v.s AS g0, COUNT(*) AS n FROM {_TWO} GROUP BY s"),
    ("public", f"SELECT name AS g0, COUNT(*) AS n FROM {_TWO} GROUP BY name HAVING c.name > 'a'"),
    (
        "public",
        (
            "SELECT SUM(w) AS n FROM v JOIN clinics c ON v.k = c.id JOIN regions USING (region)"
            " WHERE region <> 'Q' AND c.region = regions.region"
        ),
    ),
    ("public", f"SELECT SUM(z) AS n FROM (SELECT * FROM {_TWO}) AS q WHERE name = 'a'"),
    ("public", f"WITH q AS (SELECT z + k AS y, name FROM {_TWO}) SELECT SUM(y) AS n FROM q"),
    # Conditions.
    ("public", f"SELECT COUNT(*) AS n FROM {_TWO} AND c.z > v.k AND NOT b"),
    (
        "public",
        (
            "SELECT COUNT(*) AS n FROM v, clinics c WHERE (k = c.id AND z > 3 AND s = 'a')"
            " OR (c.id = k AND z < 3 AND i > 5)"
        ),
    ),
    (
        "public",
        (
            "SELECT COUNT(*) AS n FROM v, clinics c, clinics e WHERE k = c.id AND c.id = i"
            " AND i = e.id AND e.z = c.z"
        ),
    ),
    (
        "public",
        (
            "SELECT SUM(e.z) AS n FROM v LEFT JOIN clinics c ON v.k = c.id"
            " LEFT JOIN clinics e ON v.k = e.id WHERE v.k = v.i"
        ),
    ),
    # Rows that change.
    ("several", "SELECT COUNT(*) AS n, SUM(i) AS m FROM v JOIN tags ON v.k = tags.clinic"),
    (
        "several",
        (
            "SELECT tag AS g0, COUNT(*) AS n FROM v, tags WHERE k = clinic AND"
            " tag IN ('x', 'y') GROUP BY tag"
        ),
    ),
    ("private", f"SELECT COUNT(*) AS n, SUM(sum) AS m FROM {_BILLS}"),
    ("private", f"SELECT COUNT(*) AS n FROM {_BILLS.replace('JOIN', 'LEFT JOIN')}"),
    ("private", f"SELECT COUNT(DISTINCT b.p) AS n FROM {_BILLS}"),
    (
        "private",
        (
            f"SELECT COUNT(*) AS n FROM (SELECT b.p, COUNT(*) AS m FROM {_BILLS} GROUP BY b.p)"
            " WHERE m > 3"
        ),
    ),
    (
        "private",
        (
            "SELECT m AS g0, COUNT(*) AS n FROM (SELECT v.p, CLAMP(COUNT(b.of), 0, 9) AS m"
            " FROM v LEFT JOIN bills b ON b.p = v.p AND b.of = v.k GROUP BY v.p) GROUP BY m"
        ),
    ),
]


@pytest.mark.parametrize(("which", "text"), AS_IN_SQL, ids=[text for _, text in AS_IN_SQL])
def test_a_join_is_what_duckdb_answers(which: str, text: str, asked: Any) -> None:
    for each in asked[which]:
        about_units = "p)" in text or "DISTINCT" in text or "BY v.p" in text
        if about_units and each._root.outline.unit is None:
            continue
        found = list(numbers(text, (each, each), _EXACT, loss=_NO_NOISE))
        assert found
        for numbers_ in found:
            assert close(text, *numbers_), numbers_


def test_rows_of_a_query_are_in_the_order_of_an_alias_and_not_of_a_column(asked: Any) -> None:
    text = (
        f"SELECT c.name AS of, c.region AS name, COUNT(*) AS n FROM {_TWO}"
        " WHERE name IN ('a', 'b') AND region IN ('N', 'S') GROUP BY c.name, region ORDER BY name"
    )
    rows = asked["public"][0].sql(text, loss=_NO_NOISE)
    assert rows["name"] == ["N", "N", "S", "S"]


REFUSED = [
    (
        "public",
        "SELECT COUNT(*) FROM clinics",
        "write FROM t LEFT JOIN clinics ON t.k = clinics.id",
    ),
    ("public", "SELECT COUNT(*) FROM v, w", "joined clinics, regions"),
    ("public", "SELECT COUNT(*) FROM v JOIN clinics c ON v.x = c.id", "ON v.k = clinics.id or"),
    ("public", "SELECT COUNT(*) FROM v JOIN clinics c ON v.k < c.id", "not joined so"),
    ("public", "SELECT COUNT(*) FROM v JOIN clinics c ON v.k = c.id OR i = c.id", "not joined so"),
    ("public", f"SELECT COUNT(*) FROM {_TWO} JOIN clinics d ON d.id = v.k", "not joined so"),
    ("public", "SELECT COUNT(*) FROM v RIGHT JOIN clinics c ON v.k = c.id", "RIGHT JOIN is not"),
    ("public", "SELECT COUNT(*) FROM v FULL JOIN clinics c ON v.k = c.id", "FULL JOIN is not"),
    ("public", "SELECT COUNT(*) FROM v NATURAL JOIN clinics", "NATURAL JOIN is not"),
    ("public", "SELECT COUNT(*) FROM v SEMI JOIN clinics c ON v.k = c.id", "SEMI JOIN is not"),
    ("public", "SELECT COUNT(*) FROM v ASOF JOIN clinics c ON v.k >= c.id", "ASOF JOIN is not"),
    ("public", "SELECT COUNT(*) FROM v CROSS JOIN clinics", "not joined so"),
    ("public", "SELECT COUNT(*) FROM v, clinics", "so: write JOIN clinics ON v.k = clinics.id"),
    ("public", "SELECT COUNT(*) FROM v LEFT JOIN clinics c ON v.k = c.id AND z > 3", "CASE WHEN"),
    ("public", "SELECT COUNT(*) FROM v LEFT JOIN clinics c ON k = c.id AND i = c.id", "not joined"),
    ("public", "SELECT COUNT(*) FROM v LEFT JOIN clinics c ON TRUE", "keys alone"),
    ("public", "SELECT COUNT(*) FROM v LEFT JOIN clinics", "no ON"),
    (
        "public",
        "SELECT COUNT(*) FROM v LEFT JOIN clinics c ON i = c.id WHERE c.id = 3 AND e.z = 1",
        "no table 'e'",
    ),
    ("public", "SELECT COUNT(*) FROM clinics c LEFT JOIN v ON v.k = c.id", "on the left"),
    ("public", "SELECT COUNT(*) FROM v JOIN regions r ON v.s = r.region", "ON clinics.region ="),
    ("public", "SELECT COUNT(*) FROM v JOIN regions r ON c_region = r.region", "clinics.region"),
    ("public", "SELECT SUM(c_z) FROM v", "no column 'c_z'"),
    (
        "public",
        "SELECT SUM(z) FROM v",
        "leaves out the table of 'z': write LEFT JOIN clinics ON v.k",
    ),
    (
        "public",
        f"SELECT SUM(w) FROM {_TWO}",
        "leaves out the table of 'w': write LEFT JOIN regions",
    ),
    (
        "public",
        f"SELECT SUM(c.z) FROM {_TWO.replace('clinics c', 'clinics d').replace('c.', 'd.')}",
        "no table 'c'",
    ),
    ("public", f"SELECT SUM(c.k) FROM {_TWO}", "no column 'c.k'"),
    ("public", f"SELECT SUM(z) FROM {_TWO}, clinics e WHERE e.id = v.i", "may be c.z, e.z"),
    ("public", "SELECT COUNT(*) FROM v JOIN clinics v ON v.k = v.id", "two tables are called v"),
    ("public", f"SELECT COUNT(*) FROM (SELECT * FROM {_CHAIN})", "region is there twice"),
    ("public", "SELECT COUNT(*) FROM v JOIN (SELECT 1 AS id) c ON v.k = c.id", "sub-query is not"),
    (
        "public",
        "WITH q AS (SELECT * FROM v) SELECT COUNT(*) FROM q, clinics c WHERE q.k = c.id",
        "q of WITH",
    ),
    ("public", "SELECT COUNT(*) FROM v JOIN clinics USING (k)", "no column of both"),
    ("public", f"SELECT COUNT(*) FROM ({_TWO})", "not answered"),
    ("public", "SELECT COUNT(*) FROM v JOIN LATERAL (SELECT 1) c ON TRUE", "not answered"),
    ("public", "SELECT COUNT(*) FROM v c(k, i) JOIN clinics ON k = id", "names columns"),
    ("public", "SELECT COUNT(*) FROM v JOIN a.clinics c ON v.k = c.id", "DB"),
    ("several", "SELECT COUNT(*) FROM v", "write JOIN tags ON v.k = tags.clinic"),
    ("several", f"SELECT COUNT(*) FROM {_TWO}", "write JOIN tags"),
    ("several", "SELECT COUNT(*) FROM v LEFT JOIN tags ON v.k = tags.clinic", "left out"),
    (
        "several",
        "SELECT COUNT(*) FROM v JOIN tags g ON v.k = g.clinic WHERE g.clinic > 1",
        "no column 'g.clinic'",
    ),
    ("private", "SELECT COUNT(*) FROM v", "write LEFT JOIN bills ON v.p = bills.p AND v.k ="),
    ("private", "SELECT COUNT(*) FROM v JOIN bills ON v.p = bills.p", "not joined so"),
    ("private", "SELECT COUNT(*) FROM bills", "write FROM t LEFT JOIN bills ON t.p = bills.p"),
    (
        "private",
        f"SELECT COUNT(DISTINCT b.p) FROM {_BILLS.replace('JOIN', 'LEFT JOIN')}",
        "COUNT(DISTINCT p) counts",
    ),
    ("private", f"SELECT COUNT(DISTINCT p) FROM {_BILLS}", "may be b.p, v.p"),
]


@pytest.mark.parametrize(("which", "text", "why"), REFUSED, ids=[text for _, text, _ in REFUSED])
def test_what_is_not_joined_is_refused_in_words_and_costs_nothing(
    which: str, text: str, why: str, asked: Any
) -> None:
    about = asked[which][1]
    before = about.privacy_loss()
    with pytest.raises(SqlError, match=re.escape(why)):
        about.sql(text, loss=ZCDP(1))
    assert about.privacy_loss() == before


def test_a_join_without_its_key_among_the_columns_is_left_alone() -> None:
    """Which rows have a match cannot be told by another column, which may be missing anyway."""
    table = Table(VISITS).join(public=CLINICS, on={"k": "id"}, columns=["name"], name="clinics")
    left = "SELECT COUNT(*) FROM v LEFT JOIN clinics ON k = id"
    assert planned(left, table).statistics() == [Table(VISITS).count()]
    with pytest.raises(SqlError, match="no column says which"):
        planned(left.replace("LEFT ", ""), table)
    further = table.join(
        public={"name": ["a"], "w": [1]}, on="name", columns={"name": "w_name", "w": "w"}, name="ws"
    )
    # A row that has a match of the second table has one of the first.
    planned("SELECT COUNT(w) FROM v, clinics c, ws WHERE k = id AND ws.name = c.name", further)


def test_without_a_name_a_join_is_a_part_of_the_table() -> None:
    table = Table(VISITS).join(public=CLINICS, on={"k": "id"}, columns=["z"])
    assert planned("SELECT COUNT(z) FROM v", table).statistics()
    with pytest.raises(SqlError, match="let the owner join"):
        planned("SELECT COUNT(z) FROM v JOIN clinics ON v.k = clinics.id", table)
    named = table.join(public=CLINICS, on={"i": "id"}, columns={"name": "n"}, name="clinics")
    with pytest.raises(ValueError, match="give a name= too"):
        named.join(public={"n": ["a"], "w": [1]}, on="n")


ITEMS = pa.table({"person": [1, 1, 1, 2, 3], "of": [10, 10, 11, 20, 99], "price": [5, 6, 7, 8, 9]})
ORDERS = pa.table({"buyer": [1, 1, 2, 4], "id": [10, 11, 20, 40], "day": [1, 2, 3, 4]})
PEOPLE = pa.table({"id": [1, 2, 3, 4], "city": ["A", "B", "A", "B"]})


@pytest.fixture(scope="module")
def orders() -> Queryable:
    """Items with their orders and persons, tables of one unit with a name in each."""
    stated = {"price": {"lower": 0, "upper": 9}}
    items = Table(ITEMS, privacy_unit="person", max_rows=5, declared=stated)
    of = Table(ORDERS, privacy_unit="buyer", max_rows=5)
    people = Table(PEOPLE, privacy_unit="id", max_rows=1, declared={"city": {"keys": ["A", "B"]}})
    both = items.join(
        of,
        on={"person": "buyer", "of": "id"},
        columns={"buyer": "buyer", "id": "o_id", "day": "day"},
        how="inner",
        name="orders",
        implied=["person"],
    )
    columns = {"id": "p_id", "city": "city"}
    return handle(both.join(people, on={"person": "id"}, columns=columns, name="people"))


def test_keys_that_follow_from_others_need_not_be_written(orders: Queryable) -> None:
    exact = _EXACT.cursor()
    for name, each in (("items", ITEMS), ("orders", ORDERS), ("people", PEOPLE)):
        exact.register(name, each)
    source = "people p, orders o, items WHERE p.id = o.buyer AND items.of = o.id"
    numbers_ = "SUM(price) AS n, COUNT(DISTINCT p.id) AS m"
    on = "JOIN orders o ON o.id = of AND person = buyer LEFT JOIN people ON people.id = buyer"
    for text in (
        f"SELECT city AS g0, {numbers_} FROM {source} GROUP BY city",
        f"SELECT COUNT(DISTINCT o.buyer) AS n FROM {source}",
        f"SELECT COUNT(*) AS n FROM items {on} WHERE city = 'A'",
    ):
        found = list(numbers(text, (orders, orders), exact, loss=_NO_NOISE))
        assert found
        assert all(close(text, *each) for each in found)
    with pytest.raises(SqlError, match=r"ON items.of = orders.id"):
        orders.sql("SELECT COUNT(*) FROM items JOIN orders ON person = buyer", loss=ZCDP(1))
    with pytest.raises(SqlError, match="not joined so"):
        orders.sql(f"SELECT COUNT(*) FROM {source.replace('p.id', 'day')}", loss=ZCDP(1))


def test_cells_of_a_file_are_equal_as_the_keys_are(tmp_path: Any) -> None:
    """Cells without a type have several readings: chains of equalities through them are refused."""
    (tmp_path / "v.csv").write_text("k,j\n01,1\n1,1\n2,3\n,4\n")
    (tmp_path / "c.csv").write_text("id,n\n1,5\n2,6\n")
    table = Table(tmp_path / "v.csv").join(
        public=tmp_path / "c.csv", on={"k": "id"}, columns={"id": "id", "n": "n"}, name="c"
    )
    asked = handle(table)
    answer = asked.sql("SELECT COUNT(*) AS n FROM v JOIN c ON k = id", loss=_NO_NOISE)
    assert answer["n"] == [2]
    with pytest.raises(SqlError, match="not joined so"):
        asked.sql("SELECT COUNT(*) FROM v JOIN c ON j = id WHERE k = j", loss=_NO_NOISE)


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"name": ""}, "it should be a name"),
        ({"name": 3}, "it should be a name"),
        ({"name": "bills", "implied": ["i"]}, "implied"),
        ({"name": "bills", "implied": ["p", "k"]}, "implied"),
        ({"implied": ["p"]}, "by a name= alone"),
        ({"columns": {"sum": "i"}}, "rename the column 'i'"),
        ({"columns": {"nope": "y"}}, "nope"),
        ({"columns": {"sum": "y", "of": "y"}}, "rename the column 'y'"),
    ],
)
def test_names_that_do_not_fit(wrong: Any, why: str) -> None:
    visits = Table(VISITS, privacy_unit="p", max_rows=3)
    bills = Table(BILLS, privacy_unit="p", max_rows=3)
    with pytest.raises((TypeError, ValueError), match=re.escape(why)):
        visits.join(bills, on={"p": "p", "k": "of"}, **wrong)
    with pytest.raises(ValueError, match="joined twice"):
        public().join(public=CLINICS, on={"i": "id"}, columns={"z": "again"}, name="Clinics")


_ODD = (
    "( ) , ON USING LEFT JOIN = AND OR NULL ' clinics v WHERE region w c1.id c2.id v.k v.i k i "
    "c1.z v.p b.p p b.of"
)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_mutated_joins_are_what_duckdb_answers_or_our_errors(seed: int, asked: Any) -> None:
    """5,000 texts a seed: words and signs swapped, doubled, dropped or replaced."""
    queries, odd = JoinQueries(seed), _ODD.split()
    random, compared = queries.random, 0
    for _ in range(5_000):
        which = random.choice(["public", "several", "private"])
        text = queries.joined(getattr(queries, f"of_{which}")(), units=True)
        words = text.replace("(", " ( ").replace(")", " ) ").split()
        for _ in range(random.randrange(1, 4)):
            place, other = random.randrange(len(words)), random.randrange(len(words))
            match random.randrange(4):
                case 0:
                    words[place] = random.choice(odd)
                case 1:
                    words.insert(place, random.choice(odd))
                case 2:
                    words[place], words[other] = words[other], words[place]
                case _ if len(words) > 1:
                    del words[place]
        mutated, about = " ".join(words), asked[which][1]
        if " AS g0" in text and not mutated.split(",")[0].endswith("AS g0"):
            continue  # the key is elsewhere, or has no name by which rows are compared
        try:
            about.sql(f"EXPLAIN {mutated}", loss=_NO_NOISE)
            _EXACT.execute(mutated)
        except (QueryError, duckdb.Error):  # sqlglot reads some texts that are no SQL
            continue
        for found in numbers(mutated, (about, about), _EXACT, loss=_NO_NOISE):
            assert close(mutated, *found), (which, mutated, found)
            compared += 1
    assert compared > 100

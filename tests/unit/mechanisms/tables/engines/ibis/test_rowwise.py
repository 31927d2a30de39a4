"""Which Ibis expressions are accepted as the rows of a table."""

from collections.abc import Callable
from typing import Any

import ibis
import pytest

from mechanisms import Count, Table
from mechanisms.tables.engines.ibis.rowwise import _OBJECTIONS, _RELATIONS, _VALUES
from tests.engines import quietly

_ = ibis._


@ibis.udf.scalar.python
def doubled(x: int) -> int:
    return 2 * x


@pytest.fixture(scope="module")
def connection() -> Any:
    connection = ibis.duckdb.connect()
    connection.raw_sql("CREATE TABLE data (p BIGINT, x BIGINT, s VARCHAR, a BIGINT[])")
    connection.raw_sql("INSERT INTO data SELECT range // 3, range, 's', [1, 2] FROM range(30)")
    connection.raw_sql("CREATE TABLE other (p BIGINT)")
    return connection


ROW_WISE: dict[str, Callable[[Any], Any]] = {
    "a table": lambda t: t,
    "columns": lambda t: t.select("p", "x").rename(y="x"),
    "a dropped column": lambda t: t.drop("a"),
    "arithmetic": lambda t: t.mutate(y=t.x * 2 + 1, z=t.x.abs().cast("float64")),
    "text": lambda t: t.mutate(y=t.s.upper() + "!", n=t.s.length(), k=t.s.like("a%")),
    "a case": lambda t: t.mutate(y=ibis.ifelse(t.x > 3, 1, 0), k=ibis.cases((t.x > 1, "a"))),
    "a constant": lambda t: t.mutate(y=ibis.literal(3), z=t.x.fill_null(0), w=t.x.isnull()),
    "a cast that cannot fail": lambda t: t.mutate(y=t.s.try_cast("int64"), z=t.x.cast("string")),
    "a filter": lambda t: t.filter(t.x > 3, t.s.isin(["s", "t"]), ~t.p.isnull()),
    "nulls": lambda t: t.drop_null(["x"]).fill_null({"x": 0}),
    "an element": lambda t: t.mutate(y=t.a[0], n=t.a.length()),
    "several": lambda t: t.filter(t.x > 1).mutate(y=_.x + 1).select("p", "y").filter(_.y > 3),
}


@pytest.mark.parametrize("make", ROW_WISE.values(), ids=ROW_WISE.keys())
def test_rows_one_by_one(make: Callable[[Any], Any], connection: Any) -> None:
    with quietly():
        expression = make(connection.table("data"))
        table = Table(expression, privacy_unit="p", max_rows=3)
        assert Count(per=table.unit).value(table) == expression.count().to_pyarrow().as_py()


REFUSED: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "limit": ("a limit", lambda t, o: t.limit(3)),
    "head": ("a limit", lambda t, o: t.head()),
    "limit within": ("a limit", lambda t, o: t.limit(3).filter(_.x > 1).select("p", "x")),
    "order_by": ("an order", lambda t, o: t.order_by("x")),
    "order_by and limit": ("a limit", lambda t, o: t.order_by("x").limit(3)),
    "topk": ("a limit", lambda t, o: t.s.topk(3)),
    "join": ("a join", lambda t, o: t.join(o, "p")),
    "semi join": ("a join", lambda t, o: t.semi_join(o, "p")),
    "asof join": ("a join", lambda t, o: t.asof_join(o, "p")),
    "cross join": ("a join", lambda t, o: t.cross_join(o)),
    "distinct": ("distinct rows", lambda t, o: t.distinct()),
    "distinct on": ("an aggregate", lambda t, o: t.distinct(on="p")),
    "sample": ("a sample", lambda t, o: t.sample(0.5)),
    "aggregate": ("an aggregate", lambda t, o: t.group_by("p").agg(n=t.count())),
    "a total": ("an aggregate", lambda t, o: t.aggregate(p=t.x.sum())),
    "value counts": ("an aggregate", lambda t, o: t.s.value_counts()),
    "union": ("a union", lambda t, o: t.union(t)),
    "intersection": ("a union", lambda t, o: t.intersect(t)),
    "difference": ("a union", lambda t, o: t.difference(t)),
    "row number": ("a window", lambda t, o: t.mutate(r=ibis.row_number())),
    "rank": ("a window", lambda t, o: t.mutate(r=ibis.rank().over(group_by="p", order_by="x"))),
    "lag": ("a window", lambda t, o: t.mutate(r=t.x.lag())),
    "running sum": ("a window", lambda t, o: t.mutate(r=t.x.cumsum())),
    "mean of the column": ("a window", lambda t, o: t.mutate(r=t.x - t.x.mean())),
    "above the mean": ("a subquery", lambda t, o: t.filter(t.x > t.x.mean())),
    "in a subquery": ("a subquery", lambda t, o: t.filter(t.p.isin(o.p))),
    "below a maximum": ("a subquery", lambda t, o: t.filter(t.p < o.p.max().as_scalar())),
    "exists": ("a subquery", lambda t, o: t.filter((t.p == o.p).any())),
    "unnest": ("an unnested array", lambda t, o: t.mutate(y=t.a.unnest())),
    "table unnest": ("an unnested array", lambda t, o: t.unnest("a")),
    "function": ("a function of your own", lambda t, o: t.mutate(y=doubled(t.x))),
    "random": ("a random number", lambda t, o: t.filter(ibis.random() > 0.5)),
    "uuid": ("a random number", lambda t, o: t.mutate(y=ibis.uuid())),
    "now": ("the time", lambda t, o: t.mutate(y=ibis.now())),
    "today": ("the time", lambda t, o: t.filter(ibis.today() > ibis.date("2020-01-01"))),
    "row id": ("RowID", lambda t, o: t.mutate(y=t.rowid())),
    "self reference": ("SelfReference", lambda t, o: t.view()),
    "parameter": ("ScalarParameter", lambda t, o: t.filter(t.x > ibis.param("int64"))),
    "text as a number": ("reads text as int64", lambda t, o: t.mutate(y=t.s.cast("int64"))),
    "text as a time": ("reads text as timestamp", lambda t, o: t.mutate(y=t.s.as_timestamp("%Y"))),
}


@pytest.mark.parametrize(("what", "make"), REFUSED.values(), ids=REFUSED.keys())
def test_others_are_refused(what: str, make: Callable[[Any, Any], Any], connection: Any) -> None:
    """When the table is opened, naming what it is."""
    with quietly():
        source = make(connection.table("data"), connection.table("other"))
        with pytest.raises(ValueError, match=f"source (has|reads).*{what.removeprefix('reads ')}"):
            Table(source)


def test_sql_is_refused() -> None:
    """What a string says is not looked into."""
    connection = ibis.sqlite.connect()
    connection.raw_sql("CREATE TABLE data (p BIGINT)")
    for source in (
        connection.sql("SELECT * FROM data LIMIT 3"),
        connection.table("data").alias("t"),
    ):
        with pytest.raises(ValueError, match="source has"):
            Table(source)


def test_one_more_person_moves_other_rows_behind_a_limit(connection: Any) -> None:
    """Why: with a limit, the rows of one person push out as many of another's."""
    with quietly():
        rows = connection.table("data").filter(_.p <= 1).order_by("p").limit(3)
        others = rows.filter(_.p == 1).count().to_pyarrow().as_py()
        assert others == 0  # person 0 has three rows; without them person 1 had three


def test_a_column_is_rejected_as_a_source(connection: Any) -> None:
    with quietly():
        source = connection.table("data").x
    with pytest.raises(TypeError, match="give an Ibis table"):
        Table(source)


def test_the_names_on_the_lists_are_operations_of_ibis() -> None:
    """A misspelled name would match no operation."""
    import ibis.expr.operations as ops

    names = {name for name, _, _ in _OBJECTIONS} | _RELATIONS | _VALUES
    assert [name for name in names if not hasattr(ops, name)] == []

"""Queries in SQL to a curator: which data set is asked, and what an answer is called.

A query that is asked again, by anybody with the same token, is the old answer and costs nothing: it
is named by its text, its parameters and its price.
"""

import csv
import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from hashlib import sha256
from io import StringIO
from pathlib import Path
from typing import Any

from curator.client.connecting import connect
from mechanisms.tables.in_sql.answers import SqlAnswer
from mechanisms.tables.in_sql.parsing import tables_of
from mechanisms.tables.in_sql.refusals import SqlError, listed
from queryable.handle import Queryable
from queryable.losses import GDP, ZCDP, ApproxDP, ApproxZCDP, Loss, PureDP


def handle_for(connection: Mapping[str, Queryable], text: str) -> Queryable:
    """The data set that a query names. Other names in it are of tables that are joined with it.

    Raises:
        SqlError: it is no query, or names none or several.
    """
    names = tables_of(text)
    if not names:
        raise SqlError("a query names the table that it reads: this one names none")
    there = list(connection)
    named = list(dict.fromkeys(each for name in names if (each := _data_set(name, there))))
    if len(named) > 1:
        others = {name.lower() for name in names}
        named = [each for each in named if others <= {each.lower(), *_joined(connection[each])}]
    if len(named) != 1:
        if len(names) > 1:
            raise SqlError(
                f"a query reads one data set and what is joined with it: there is none for "
                f"{listed(names)}; there are: {listed(there)}"
            )
        raise SqlError(f"there is no table {names[0]} for this token; there are: {listed(there)}")
    return connection[named[0]]


def _data_set(name: str, there: Sequence[str]) -> str | None:
    """The data set of a name, if there is one; letters of either case are the same."""
    alike = [each for each in there if each.lower() == name.lower()]
    if name in there or len(alike) == 1:
        return name if name in there else alike[0]
    return None


def _joined(handle: Queryable) -> set[str]:
    """The names of the tables that are joined with a data set."""
    return {each.name.lower() for each in getattr(handle._root.outline, "joins", ())}


def name_of(text: str, parameters: Sequence[Any], how: Mapping[str, Any]) -> str:
    """The name of a query, by its content."""
    stated = sorted((key, _exactly(value)) for key, value in how.items())
    whole = repr((text, tuple(parameters), stated))
    return f"sql {sha256(whole.encode('utf-8', 'surrogatepass')).hexdigest()[:20]}"


def _exactly(value: Any) -> str:
    """A price without rounding; the text of a loss is rounded."""
    parts = getattr(value, "parts", None) if isinstance(value, Loss) else None
    return str(value) if parts is None else f"{type(value).__name__}{list(map(str, parts))}"


def answered(
    connection: Mapping[str, Queryable], text: str, parameters: Sequence[Any] = (), **how: Any
) -> Any:
    """The answer to a query, or its explanation; see `Queryable.sql`."""
    stated = {name: value for name, value in how.items() if value is not None}
    handle = handle_for(connection, text)
    return handle.sql(text, parameters=parameters, name=name_of(text, parameters, stated), **stated)


def sql(
    url: str,
    text: str,
    token: str = "",
    within: str = "",
    confidence: str = "",
    zcdp: str = "",
    epsilon: str = "",
    delta: str = "",
    gdp: str = "",
    form: str = "",
) -> str:
    """Ask a curator a query in SQL, such as "SELECT COUNT(*) AS n FROM visits" --within 100.

    TEXT is the query, or - to read it from standard input; URL is as for connect, such as
    unix:clinic/curator.sock, and --token the file of a token. Give either how accurate the number
    should be, --within, or what the query may cost: --zcdp 1/500, or --epsilon, with or without
    --delta, or --gdp. A query that begins with EXPLAIN costs nothing, and one that was asked before
    is answered again for nothing. --form is csv or json; by default a table.
    """
    query = sys.stdin.read() if text == "-" else text
    given = Path(token).read_text(encoding="utf-8").strip() if token else None
    how: dict[str, Any] = {
        "within": within or None,
        "confidence": confidence or None,
        "loss": _loss(zcdp, epsilon, delta, gdp),
    }
    if form not in ("", "csv", "json"):
        raise SqlError(f"there is no format {form}: there are csv and json")
    with closing(connect(url, given)) as connection:
        answer = answered(connection, query, **how)
    return _written(answer, form)


def _loss(zcdp: str, epsilon: str, delta: str, gdp: str) -> Loss | None:
    given = [each for each in (zcdp, epsilon, gdp) if each]
    if len(given) > 1 or (delta and not (zcdp or epsilon)):
        raise SqlError("give one loss: --zcdp or --epsilon, each with or without --delta, or --gdp")
    if zcdp:
        return ApproxZCDP(zcdp, delta) if delta else ZCDP(zcdp)
    if epsilon:
        return ApproxDP(epsilon, delta) if delta else PureDP(epsilon)
    return GDP(gdp) if gdp else None


def _written(answer: Any, form: str) -> str:
    if not isinstance(answer, SqlAnswer) or not form:
        return str(answer)
    if form == "csv":
        file = StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(answer.columns)
        writer.writerows(answer.rows)
        return file.getvalue().rstrip("\n")
    rows = [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]
    return json.dumps(rows, default=str, ensure_ascii=False)

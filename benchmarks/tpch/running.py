"""Asks the queries, and compares each number with DuckDB's exact one on the separate tables."""

from collections.abc import Mapping, Sequence
from math import isclose
from statistics import median
from typing import Any

import attrs
import duckdb

from benchmarks.tpch.opening import Opened
from benchmarks.tpch.queries import QUERIES, TpchQuery
from composition import FiltCon
from mechanisms.tables.in_sql.refusals import SqlError
from queryable import ZCDP, Queryable, SeededCoins

RHO = ZCDP("1/2")
"""What a query may lose: the whole of a query that is asked in two."""
_CLAMP = "CREATE MACRO clamp(v, lo, hi) AS CASE WHEN v < lo THEN lo WHEN v > hi THEN hi ELSE v END"


@attrs.frozen
class TpchResult:
    """What became of a query.

    Attributes:
        number: of the query.
        outcome: "verbatim", "rewritten" or "refused".
        refusal: the words in which its text is refused; empty if it is not.
        numbers: how many numbers of ours have an exact one beside them.
        held: how many of them have it in their intervals.
        width: half an interval over the exact number, in the middle; None if there is none.
        cost: what was charged.
        ours, exact: the first number, and the exact one.
    """

    number: int
    outcome: str
    refusal: str = ""
    numbers: int = 0
    held: int = 0
    width: float | None = None
    cost: str = ""
    ours: float | None = None
    exact: float | None = None


def database(tables: Mapping[str, Any]) -> Any:
    """DuckDB with the separate tables."""
    made = duckdb.connect()
    made.execute(_CLAMP)
    for name, table in tables.items():
        made.register(name, table)
    return made


def handles(opened: Opened, seed: int = 1) -> dict[str, Queryable]:
    """What answers, of each data set, with a budget that pays for everything."""
    names = dict.fromkeys(each.data_set for each in QUERIES)
    return {
        name: Queryable(
            FiltCon(ZCDP(100)), opened[name], coins=SeededCoins(seed + place), allow_seeded=True
        )
        for place, name in enumerate(names)
    }


def outcome(query: TpchQuery, asked: Mapping[str, Queryable], exact: Any) -> TpchResult:
    """Ask one query as it is, or else as it is rewritten.

    Args:
        asked: what answers, of each data set.
        exact: a DuckDB connection with the separate tables.
    """
    handle = asked[query.data_set]
    try:
        handle.sql("EXPLAIN " + query.text, loss=RHO)
        found, texts, refusal = "verbatim", (query.text,), ""
    except SqlError as error:
        found, texts, refusal = "rewritten", query.rewritten, str(error)
    if not texts:
        return TpchResult(query.number, "refused", refusal)
    before = handle.privacy_loss().parts[0]
    given: list[Any] = []
    loss, compared = RHO.of_parts((RHO.parts[0] / len(texts),)), list[tuple[Any, ...]]()
    for text in texts:
        parameters = given[-1:] if "?" in text else []
        answer = handle.sql(text, loss=loss, parameters=parameters)
        compared += _compared(answer, exact.execute(text.removesuffix(" limit 1"), parameters))
        given += [row[0] for row in answer.rows[:1]]
    widths = [(high - low) / 2 / abs(true) for _, low, high, true in compared if true]
    return TpchResult(
        query.number,
        found,
        refusal,
        len(compared),
        sum(low <= true <= high for _, low, high, true in compared),
        median(widths) if widths else None,
        f"rho={handle.privacy_loss().parts[0] - before}",
        *((compared[0][0], compared[0][3]) if compared else (None, None)),
    )


def _compared(answer: Any, cursor: Any) -> list[tuple[Any, ...]]:
    """Each number with its interval and the exact one, for the keys that both have."""
    names = [each[0] for each in cursor.description]
    numbers = [name for name in names if f"{name}_low" in answer.columns]
    keys = [name for name in names if name not in numbers]
    exact = {_key(row, names, keys): row for row in cursor.fetchall()}
    found = []
    for row in answer.rows:
        true = exact.get(_key(row, answer.columns, keys))
        for name in numbers if true is not None else ():
            at, value = answer.columns.index(name), true[names.index(name)]
            if value is not None and row[at] is not None:
                found.append((*map(float, row[at : at + 3]), float(value)))
    return found


def _key(row: Sequence[Any], names: Sequence[str], keys: Sequence[str]) -> tuple[Any, ...]:
    return tuple(row[list(names).index(name)] for name in keys)


def is_the_same(query: TpchQuery, exact: Any) -> bool:
    """Whether a rewritten query has, on exact data, the rows of the query in its own columns."""
    first = exact.execute(query.text)
    names, wanted = [each[0] for each in first.description], first.fetchall()
    given: list[Any] = []
    for text in query.rewritten:
        cursor = exact.execute(text, given[-1:] if "?" in text else [])
        own, rows = [each[0] for each in cursor.description], cursor.fetchall()
        given.append(rows[0][0])
    wanted = sorted(tuple(row[names.index(name)] for name in own) for row in wanted)
    return len(rows) == len(wanted) and all(
        _alike(one, other)
        for row, same in zip(sorted(rows), wanted, strict=True)
        for one, other in zip(row, same, strict=True)
    )


def _alike(one: Any, other: Any) -> bool:
    if isinstance(one, str) or one is None:
        return bool(one == other)
    return isclose(float(one), float(other), rel_tol=1e-9)


def outcomes(tables: Mapping[str, Any]) -> list[TpchResult]:
    """What becomes of all queries."""
    asked, exact = handles(Opened(tables)), database(tables)
    return [outcome(query, asked, exact) for query in QUERIES]

"""Answers to queries beside the exact ones of DuckDB."""

from collections.abc import Iterator
from datetime import datetime
from math import isnan
from typing import Any

from queryable import Queryable


def numbers(
    text: str, asked: tuple[Queryable, Queryable], database: Any, **how: Any
) -> Iterator[tuple[Any, ...]]:
    """Each number of an answer with its interval, and the exact one.

    Args:
        asked: what is asked about rows, and about units.
        database: DuckDB with the tables that the query names.
    """
    about_units = "DISTINCT p" in text or "GROUP BY p" in text
    answer = asked[about_units].sql(text, **how)
    exact = database.execute(text).fetchall()
    grouped = " AS g0" in text
    found = {_key(row, grouped): row[grouped:] for row in answer.rows}
    for row in exact:
        if _key(row, grouped) in found:  # keys that nobody named, and NULL, are not there
            ours = found[_key(row, grouped)]
            for place, number in enumerate(row[grouped:]):
                if number is not None and not isnan(number):
                    yield (*ours[3 * place : 3 * place + 3], float(number))


def _key(row: tuple[Any, ...], grouped: bool) -> Any:
    key = row[0] if grouped else None
    return key.date() if isinstance(key, datetime) else key


def close(text: str, estimate: Any, low: Any, high: Any, exact: float) -> bool:
    """Whether a number without noise is the exact one; floats are added up in decimal units."""
    far = (0.02 if "SUM" in text or "CORR" in text else 1e-3) * max(1.0, abs(exact))
    # Of two or three rows the least noise moves a spread. Two lengths of an interval are eight
    # standard deviations of its noise.
    off = max(far, 2 * (high - low))
    return abs(estimate - exact) <= off and low - off <= exact <= high + off

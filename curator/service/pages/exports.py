"""All messages that a filter keeps, as CSV or JSON, a page at a time.

Losses are exact: JSON of the same shape as in `Ledger.to_json`. No cell of CSV is run as a formula.
"""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

from curator.service.pages.models import Filter, shown_row
from queryable.display.spreadsheet import as_csv

COLUMNS = (
    *("number", "time", "who", "path", "name", "asked", "outcome", "answer"),
    *("claim", "loss", "total", "claim_exact", "loss_exact", "total_exact"),
)
"""The columns of CSV."""

_LOSSES = ("claim", "loss", "total")

Fetch = Callable[[int], Awaitable[Mapping[str, Any]]]
"""Gives the messages after a number, as `Service.page` has them."""


async def rows_of(
    fetch: Fetch, people: Mapping[int | str, str] | None, chosen: Filter
) -> AsyncIterator[list[dict[str, Any]]]:
    """The rows that a filter keeps, oldest first, a page at a time."""
    after = 0
    while True:
        told = await fetch(after)
        rows = [shown_row(row, people) for row in told["rows"]]
        yield [row for row in rows if chosen.keeps(row)]
        after += len(rows)
        if not rows or after >= told["messages"]:
            return


async def as_csv_pages(pages: AsyncIterator[list[dict[str, Any]]]) -> AsyncIterator[bytes]:
    """Rows as CSV with a header."""
    is_first = True
    async for rows in pages:
        cells = [_flat(row) for row in rows]
        text = as_csv({name: [each[name] for each in cells] for name in COLUMNS})
        yield (text if is_first else text.partition("\n")[2]).encode()
        is_first = False


async def as_json_pages(pages: AsyncIterator[list[dict[str, Any]]]) -> AsyncIterator[bytes]:
    """Rows as a list of JSON objects, one a line."""
    before = "[\n"
    async for rows in pages:
        for row in rows:
            yield f"{before}{json.dumps(_exact(row))}".encode()
            before = ",\n"
    yield b"[]\n" if before == "[\n" else b"\n]\n"


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    exact = {
        f"{name}_exact": None if row["exact"][name] is None else json.dumps(row["exact"][name])
        for name in _LOSSES
    }
    return {**row, **exact, "path": row["where"]}


def _exact(row: Mapping[str, Any]) -> dict[str, Any]:
    plain = ("number", "time", "who", "path", "name", "asked", "outcome", "answer")
    return {**{name: row[name] for name in plain}, **{name: row["exact"][name] for name in _LOSSES}}

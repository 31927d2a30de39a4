"""The ledger: every launch that came to an answer, what it was charged, and the running total.

Responsible for the rows and for handing them to data frames and JSON. Knows no compositor.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import inf, nextafter
from typing import Any, overload

import attrs

from queryable.coins import ChildId
from queryable.history import CHARGED, FAILED, REFUSED, is_launch, outcome_of, receipt_of
from queryable.losses import Loss
from queryable.mechanism import one_line, public_name
from queryable.receipts import own_loss
from queryable.reports import Report
from queryable.view import Exchange

Path = tuple[ChildId, ...]


@attrs.frozen
class LedgerRow:
    """One launch.

    Attributes:
        sequence: its place in the root's view, from 0.
        path: the children that lead to the compositor that was asked; () is the root.
        name: what the launch was called, if anything.
        mechanism: its public name.
        claim: its loss in its own measure, or the d_out it was given; None if it cannot be told.
        loss: the claim in the compositor's measure, which is what counts; for a refused launch
            what would have counted. None where the answer brought no receipt: a person in the
            middle wrote it, or what was asked had failed before.
        total: what the compositor reports after it; None as for `loss`.
        outcome: "charged", "refused" (not charged, nothing was read) or "failed" (charged).
    """

    sequence: int
    path: Path
    name: str | None
    mechanism: str
    claim: Loss | None
    loss: Loss | None
    total: Report | None
    outcome: str

    def as_record(self) -> dict[str, Any]:
        """Plain values, numbers as exact strings: what JSON has."""
        record = attrs.asdict(self, recurse=False)
        losses = {name: _exactly(record[name]) for name in ("claim", "loss", "total")}
        return {**record, "path": list(self.path), **losses}

    def as_flat_record(self) -> dict[str, Any]:
        """One value a column: losses as text, and as floats, rounded up, what they are made of."""
        flat: dict[str, Any] = {
            "sequence": self.sequence,
            "path": "/".join(map(str, self.path)),
            "name": self.name,
            "mechanism": self.mechanism,
            "outcome": self.outcome,
        }
        for name in ("claim", "loss", "total"):
            value = getattr(self, name)
            flat[name] = None if value is None else str(value)
        for name in ("loss", "total"):
            flat |= {f"{name}_{key}": _float_up(v) for key, v in _numbers(getattr(self, name))}
        return flat


class Ledger(Sequence[LedgerRow]):
    """The rows, in order; a list that cannot be changed."""

    def __init__(self, rows: Sequence[LedgerRow]) -> None:
        self._rows = tuple(rows)

    @overload
    def __getitem__(self, index: int) -> LedgerRow: ...
    @overload
    def __getitem__(self, index: slice) -> "Ledger": ...
    def __getitem__(self, index: int | slice) -> "LedgerRow | Ledger":
        if isinstance(index, slice):
            return Ledger(self._rows[index])
        return self._rows[index]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[LedgerRow]:
        return iter(self._rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ledger) and self._rows == other._rows

    def __hash__(self) -> int:
        return hash(self._rows)

    def to_json(self, indent: int | None = None) -> str:
        """A list of objects; every number of a loss is an exact string, such as "1/3"."""
        return json.dumps([row.as_record() for row in self], indent=indent)

    def columns(self) -> dict[str, list[Any]]:
        """The rows by column, all of one length; what a row has not is None."""
        records = [row.as_flat_record() for row in self]
        names = dict.fromkeys(_COLUMNS) | dict.fromkeys(key for each in records for key in each)
        return {name: [each.get(name) for each in records] for name in names}

    def to_pandas(self) -> Any:
        """A pandas data frame of `columns()`; pandas must be installed."""
        import pandas as pd

        return pd.DataFrame(self.columns())

    def to_polars(self) -> Any:
        """A polars data frame of `columns()`; polars must be installed."""
        import polars as pl

        kinds = {int: pl.Int64, str: pl.String, float: pl.Float64}
        columns = self.columns()
        return pl.DataFrame(columns, schema={name: kinds[_type_of(name)] for name in columns})

    def to_arrow(self) -> Any:
        """An Arrow table of `columns()`; pyarrow must be installed."""
        import pyarrow as pa

        kinds = {int: pa.int64(), str: pa.string(), float: pa.float64()}
        columns = self.columns()
        schema = pa.schema([(name, kinds[_type_of(name)]) for name in columns])
        return pa.table(columns, schema=schema)

    def __repr__(self) -> str:
        counts = [sum(row.outcome == each for row in self) for each in (CHARGED, REFUSED, FAILED)]
        return "<Ledger: {} charged, {} refused, {} failed>".format(*counts)

    def __str__(self) -> str:
        header = ("#", "path", "name", "mechanism", "loss", "total", "outcome")
        lines = [header, *(_cells(row) for row in self)]
        widths = [max(len(line[place]) for line in lines) for place in range(len(header))]
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
            for line in lines
        )


_COLUMNS = ("sequence", "path", "name", "mechanism", "outcome", "claim", "loss", "total")


def _type_of(column: str) -> type:
    if column == "sequence":
        return int
    return str if column in _COLUMNS else float


def ledger_of(exchanges: Iterable[Exchange], names: Mapping[int, str], path: Path = ()) -> Ledger:
    """The launches at or below a path.

    Args:
        exchanges: of the root, all of them.
        names: what launches were called, by their place in the exchanges.
    """
    depth = len(path)
    return Ledger(
        [
            _row(sequence, names.get(sequence), exchange)
            for sequence, exchange in enumerate(exchanges)
            if exchange.path[:depth] == path and is_launch(exchange)
        ]
    )


def _row(sequence: int, name: str | None, exchange: Exchange) -> LedgerRow:
    """A row, read off the receipt where the answer brings one."""
    launch, receipt = exchange.query, receipt_of(exchange.answer)
    runs = launch.mechanism if receipt is None else receipt.mechanism
    return LedgerRow(
        sequence,
        exchange.path,
        name,
        public_name(runs),
        own_loss(runs) if receipt is None else receipt.claim,
        None if receipt is None else receipt.charged,
        None if receipt is None else receipt.account.total(),
        outcome_of(exchange.answer),
    )


def _cells(row: LedgerRow) -> tuple[str, ...]:
    def said(value: object) -> str:
        return "-" if value is None else str(value)

    path, name = one_line("/" + "/".join(map(str, row.path))), one_line(row.name or "")
    loss, total = said(row.loss), said(row.total)
    return (str(row.sequence), path, name, row.mechanism, loss, total, row.outcome)


def _numbers(report: Report | None) -> list[tuple[str, Fraction]]:
    if report is None or not attrs.has(type(report)):
        return []
    values = attrs.asdict(report, recurse=False)  # type: ignore[arg-type]
    return [(name, value) for name, value in values.items() if isinstance(value, Fraction)]


def _float_up(value: Fraction) -> float:
    """The least float not below it."""
    try:
        nearest = float(value)
    except OverflowError:
        return inf
    return nearest if Fraction(nearest) >= value else nextafter(nearest, inf)


def _exactly(value: Any) -> Any:
    """A loss as its measure and its parameters, every number an exact string."""
    match value:
        case Fraction():
            return str(value)
        case tuple() | list():
            return [_exactly(each) for each in value]
        case Mapping():
            return {str(key): _exactly(each) for key, each in value.items()}
        case None | bool() | int() | str():
            return value
    if attrs.has(type(value)):
        fields = attrs.asdict(value, recurse=False, filter=lambda field, _: bool(field.repr))
        return {"measure": type(value).__name__} | {n: _exactly(each) for n, each in fields.items()}
    return str(value)

"""The ledger: every answered launch with its charge and the running total.

A ledger converts to data frames, CSV, HTML and JSON. Text and HTML are for people and round long
numbers; JSON has exact numbers.
"""

import json
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from fractions import Fraction
from io import StringIO
from typing import TYPE_CHECKING, Any, TextIO, overload

import attrs

from queryable.display.nodes import (
    CHARGED,
    FAILED,
    REFUSED,
    about_of,
    asked_by,
    is_launch,
    is_paid,
    outcome_of,
    receipt_of,
)
from queryable.display.spreadsheet import as_csv, as_html, float_up
from queryable.events.written import exactly
from queryable.losses import Loss, Report
from queryable.losses.numbers import whole
from queryable.optional import full_name, one_line, public_name
from queryable.receipts import Receipt, own_loss
from queryable.running.log import Log, Path, Record, Shape
from queryable.running.telling import Tells
from queryable.view import Exchange
from queryable.wording.quoting import quoted

if TYPE_CHECKING:
    from queryable.events.charges import Events


@attrs.frozen
class LedgerRow:
    """One launch, or one answer for which a person in the middle launched something.

    Attributes:
        sequence: the number of the exchange among all exchanges with the root, from 0.
        path: the child ids that lead to the compositor that was asked; () is the root.
        name: the name of the launch, or None.
        mechanism: the public name of the mechanism, shortened to 100 characters.
        asked: the public name in full: the statistic, which rows, and how many of each person.
        claim: its loss in its own measure, or the d_out of the launch; None if it is unknown.
        loss: the charge: the claim in the compositor's measure. For a refused launch, the charge
            that it would have had. None if the answer has no receipt, because a postprocessor wrote
            it or the compositor had failed before.
        total: the loss that the compositor reports after the launch; None as for `loss`.
            Of an answer of a person, `loss` is the cost that it states, for one record.
        outcome: "charged", "refused" (not charged, no data read) or "failed" (charged).
        receipt: what ran, and at how many records it was charged; None as for `loss`.
    """

    sequence: int
    path: Path
    name: str | None
    mechanism: str
    asked: str
    claim: Loss | None
    loss: Loss | None
    total: Report | None
    outcome: str
    receipt: Receipt | None = attrs.field(default=None, repr=False, eq=False)

    def as_record(self) -> dict[str, Any]:
        """Return the row as plain values, as in JSON; numbers of losses are exact strings."""
        record = attrs.asdict(self, recurse=False, filter=lambda field, _: field.name != "receipt")
        losses = {name: exactly(record[name]) for name in ("claim", "loss", "total")}
        return {**record, "path": list(self.path), **losses}

    def as_flat_record(self) -> dict[str, Any]:
        """Return one value for each column: losses as text, and their parameters as floats.

        The floats are rounded up.
        """
        flat: dict[str, Any] = {
            "sequence": self.sequence,
            "path": "/".join(map(str, self.path)),
            "name": self.name,
            "mechanism": self.mechanism,
            "outcome": self.outcome,
            "asked": self.asked,
        }
        for name in ("claim", "loss", "total"):
            value = getattr(self, name)
            flat[name] = None if value is None else str(value)
        for name in ("loss", "total"):
            flat |= {f"{name}_{key}": float_up(v) for key, v in _numbers(getattr(self, name))}
        return flat


class LedgerRows(Sequence[LedgerRow]):
    """The rows in order, as an immutable sequence. Rows may be made when they are read."""

    def __init__(self, rows: Sequence[LedgerRow]) -> None:
        self._rows = tuple(rows) if isinstance(rows, list) else rows

    @overload
    def __getitem__(self, index: int) -> LedgerRow: ...
    @overload
    def __getitem__(self, index: slice) -> "LedgerRows": ...
    def __getitem__(self, index: int | slice) -> "LedgerRow | LedgerRows":
        if isinstance(index, slice):
            return LedgerRows(self._rows[index])
        if not -len(self) <= whole(index, "index") < len(self):
            rows = f"{len(self):,} rows" if len(self) else "no rows: nothing has been launched"
            raise IndexError(f"there is no row {quoted(index)}: the ledger has {rows}")
        return self._rows[index]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[LedgerRow]:
        return iter(self._rows)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LedgerRows) or len(self) != len(other):
            return False
        return all(mine == theirs for mine, theirs in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def to_json(self, indent: int | None = None) -> str:
        """Return a JSON list of objects; numbers of losses are exact strings, such as "1/3"."""
        text = StringIO()
        self.write_json(text, indent)
        return text.getvalue()

    def write_json(self, file: TextIO, indent: int | None = None) -> None:
        """Write what `to_json` gives to an open text file, row by row."""
        margin = "" if indent is None else "\n" + " " * indent
        between = ", " if indent is None else ","
        file.write("[")
        for place, row in enumerate(self):
            text = json.dumps(row.as_record(), indent=indent).replace("\n", margin)
            file.write(f"{between if place else ''}{margin}{text}")
        file.write("]" if indent is None or not len(self) else "\n]")

    def to_events(self) -> "Events":
        """Return the charges for other people's accountants: law, sensitivity, noise, d_in, loss.

        `to_events().to_json()` has the schema of docs/ledgers.md, and `to_events().to_dp_events()`
        the events of `dp_accounting`.
        """
        from queryable.display.charged import events_of

        return events_of(self)

    def columns(self) -> dict[str, list[Any]]:
        """The rows by column, all of one length; what a row has not is None."""
        columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
        for place, row in enumerate(self):
            flat = row.as_flat_record()
            columns |= {name: [None] * place for name in flat if name not in columns}
            for name, column in columns.items():
                column.append(flat.get(name))
        return columns

    def to_csv(self) -> str:
        """Return `columns()` as CSV, with a header.

        Spreadsheets run texts that begin with =, +, - or @ as formulas, so an apostrophe is put
        before these.
        """
        return as_csv(self.columns())

    def to_html(self) -> str:
        """Return all rows as an HTML table; every cell is escaped."""
        return as_html(_HEADER, map(_cells, self))

    def _repr_html_(self) -> str:
        if len(self) <= 2 * _SHOWN:
            return self.to_html()
        rows = (*map(_cells, self[:_SHOWN]), None, *map(_cells, self[-_SHOWN:]))
        return as_html(_HEADER, rows, f"{len(self) - 2 * _SHOWN:,} more; see to_html()")

    def to_pandas(self) -> Any:
        """Return `columns()` as a pandas data frame; pandas must be installed."""
        import pandas as pd

        return pd.DataFrame(self.columns())

    def to_polars(self) -> Any:
        """Return `columns()` as a polars data frame; polars must be installed."""
        import polars as pl

        kinds = {int: pl.Int64, str: pl.String, float: pl.Float64}
        columns = self.columns()
        return pl.DataFrame(columns, schema={name: kinds[_type_of(name)] for name in columns})

    def to_arrow(self) -> Any:
        """Return `columns()` as an Arrow table; pyarrow must be installed."""
        import pyarrow as pa

        kinds = {int: pa.int64(), str: pa.string(), float: pa.float64()}
        columns = self.columns()
        schema = pa.schema([(name, kinds[_type_of(name)]) for name in columns])
        return pa.table(columns, schema=schema)

    def __repr__(self) -> str:
        counts = Counter(row.outcome for row in self)
        counted = ", ".join(f"{counts[each]} {each}" for each in (CHARGED, REFUSED, FAILED))
        return f"<Ledger: {counted}>"

    def __str__(self) -> str:
        lines = [_HEADER, *(_cells(row) for row in self)]
        widths = [max(len(line[place]) for line in lines) for place in range(len(_HEADER))]
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
            for line in lines
        )


_COLUMNS = ("sequence", "path", "name", "mechanism", "outcome", "asked", "claim", "loss", "total")
_HEADER = ("#", "path", "name", "loss", "total", "outcome", "asked")
_SHOWN = 50
"""How many of the first and of the last rows a notebook shows."""


def _type_of(column: str) -> type:
    if column == "sequence":
        return int
    return str if column in _COLUMNS else float


def ledger_of(record: Record, names: Mapping[int, str], path: Path = ()) -> LedgerRows:
    """Return the ledger of the launches at or below a path.

    Args:
        names: the names of launches, by sequence number.
    """
    return LedgerRows(_Rows(record, names, path))


class _Rows(Sequence[LedgerRow]):
    """The rows of a log, each of which is made when it is read."""

    def __init__(self, record: Record, names: Mapping[int, str], path: Path) -> None:
        self._log, self._names = record.log, names
        self._places = array("q")
        self._last: tuple[Shape, str, str, Loss | None] | None = None
        for place in range(record.count):
            below = not path or self._log.path(place)[: len(path)] == path
            if below and _has_row(self._log, place):
                self._places.append(place)

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> LedgerRow: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[LedgerRow]: ...
    def __getitem__(self, index: int | slice) -> LedgerRow | Sequence[LedgerRow]:
        if isinstance(index, slice):
            part = copy(self)
            part._places = self._places[index]
            return part
        place = self._places[index]
        entry, number = self._log.entries[place], self._log.sequence(place)
        name = self._names.get(number)
        if not isinstance(entry, Shape):
            return row_of(number, name, self._log.exchange(place))
        receipt, last = self._log.receipt(place), self._last
        if last is None or last[0] is not entry:  # launches of one kind share these
            names = public_name(receipt.mechanism), full_name(receipt.mechanism)
            self._last = last = entry, *names, receipt.claim
        _, mechanism, asked, claim = last
        asked, total = f"{asked} {about_of(receipt)}".rstrip(), receipt.account.total()
        charged = receipt.charged
        return LedgerRow(
            number, entry.path, name, mechanism, asked, claim, charged, total, CHARGED, receipt
        )


def _has_row(log: Log, place: int) -> bool:
    entry = log.entries[place]
    if not isinstance(entry, Exchange) and entry.tells is not Tells.EXCHANGE:
        return entry.tells is not Tells.NOTHING
    exchange = log.exchange(place)
    return is_launch(exchange) or is_paid(exchange)


def row_of(sequence: int, name: str | None, exchange: Exchange) -> LedgerRow:
    """Return the row of a launch, from its receipt if it has one, or of an answer that cost."""
    if is_paid(exchange):
        cost, asked = exchange.answer.cost, asked_by(exchange.query)
        return LedgerRow(sequence, exchange.path, name, asked, asked, cost, cost, None, CHARGED)
    launch, receipt = exchange.query, receipt_of(exchange.answer)
    runs = launch.mechanism if receipt is None else receipt.mechanism
    return LedgerRow(
        sequence,
        exchange.path,
        name,
        public_name(runs),
        f"{full_name(runs)} {about_of(receipt)}".rstrip(),
        own_loss(runs) if receipt is None else receipt.claim,
        None if receipt is None else receipt.charged,
        None if receipt is None else receipt.account.total(),
        outcome_of(exchange.answer),
        receipt,
    )


def _cells(row: LedgerRow) -> tuple[str, ...]:
    def text(value: object) -> str:
        return "-" if value is None else str(value)

    path, name = one_line("/" + "/".join(map(str, row.path))), one_line(row.name or "")
    loss, total = text(row.loss), text(row.total)
    return (str(row.sequence), path, name, loss, total, row.outcome, row.asked)


def _numbers(report: Report | None) -> list[tuple[str, Fraction]]:
    if report is None or not attrs.has(type(report)):
        return []
    values = attrs.asdict(report, recurse=False)  # type: ignore[arg-type]
    return [(name, value) for name, value in values.items() if isinstance(value, Fraction)]

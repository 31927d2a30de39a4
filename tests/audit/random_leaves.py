"""Data with units, and mechanisms whose loss on them is known exactly, for random trees.

A row has a cell that names its unit, the true unit that this cell stands for, a part, and a number
x. Answers depend on the sum of x over the rows that a mechanism counts, one row at most 1 each way.
Most of them are True at a sum s with odds o^(s - 2): a sum that moves by d costs at most d*log(o),
and nearly that. All probabilities are Fractions.
"""

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import attrs
import numpy as np

from queryable import (
    SYSTEM,
    ZCDP,
    ApproxDP,
    Coins,
    InteractiveMechanism,
    Loss,
    Measurement,
    PureDP,
    QueryError,
    UnknownQueryError,
    Update,
    UserLevel,
)
from queryable.checks.datasets import Described, protects
from queryable.data.growing import snapshot
from queryable.data.rows import column_values
from queryable.messages import OWNERS
from queryable.randomness.laws import Bernoulli
from queryable.streams.contributions import Contributions, PerRecord, Records
from queryable.streams.levels import DataLevel, Growth
from tests.audit.toys import nats, yes

F = Fraction
COLUMNS = ("unit", "part", "x", "label")
UNIT, PART, X, LABEL = COLUMNS
Row = tuple[Any, Any, Any, Any]
PROTECTED = type(protects([]))
_CENTRE = 2


def columns_of(rows: Iterable[Row]) -> dict[str, list[Any]]:
    """The rows as a frame."""
    listed = list(rows)
    return {name: [row[place] for row in listed] for place, name in enumerate(COLUMNS)}


def rows_in(dataset: Any) -> list[Row]:
    """The rows of data in any form."""
    dataset = snapshot(dataset)
    return list(zip(*(column_values(dataset, name) for name in COLUMNS), strict=True))


def amount(row: Row) -> int:
    """What a row adds: its x, from -1 to 1; nothing if that is no integer."""
    x = row[COLUMNS.index(X)]
    whole = isinstance(x, int | np.integer) and not isinstance(x, bool)
    return max(-1, min(1, int(x))) if whole else 0


def of_units(dataset: Any) -> bool:
    """Whether the data protect units."""
    dataset = snapshot(dataset)
    return isinstance(dataset, Described) and dataset.protects.whose is not None


def total(rows: Iterable[Row], *, units: bool) -> int:
    """The sum of x; of units, each unit adds its sum from -1 to 1, and rows of no unit nothing."""
    if not units:
        return sum(map(amount, rows))
    sums: Counter[Any] = Counter()
    for row in rows:
        sums[row[-1]] += amount(row)
    return sum(max(-1, min(1, each)) for label, each in sums.items() if label is not None)


def respond(odds: Fraction, found: int, coins: Coins) -> bool:
    """True with odds o^(found - 2)."""
    return coins.draw(yes(odds ** (found - _CENTRE)))


@attrs.frozen(eq=False)
class Rows(Described):
    """Rows in memory, in blocks; they protect rows, or the units in a column."""

    rows: tuple[Row, ...] = attrs.field(repr=False)
    whose: str | None = None
    spans: tuple[tuple[Any, int, int], ...] = ()

    gives_rows = True

    @property
    def protects(self) -> Any:
        return PROTECTED(self.whose or "row", "all of it", self.whose)

    @property
    def blocks(self) -> tuple[Any, ...]:
        return tuple(dict.fromkeys(name for name, _, _ in self.spans))

    def check(self, statistic: Any) -> None: ...

    def append(self, records: Any, block: Any = None) -> "Rows":
        new = rows_in(records)
        span = (block, len(self.rows), len(self.rows) + len(new))
        spans = self.spans if block is None else (*self.spans, span)
        return Rows((*self.rows, *new), self.whose, spans)

    def over(self, blocks: Any) -> "Rows":
        named = {*blocks}
        wanted = [self.rows[a:b] for name, a, b in self.spans if name in named]
        return Rows(tuple(row for rows in wanted for row in rows), self.whose)

    def records(self, earlier: Any = None) -> "Recorded":
        return Recorded(self)

    def column_values(self, name: str) -> list[Any]:
        return [row[COLUMNS.index(name)] for row in self.rows]

    def take(self, rows: Any) -> Any:
        return columns_of(self.rows[each] for each in rows)


class Recorded(Records):
    """The rows or units of `Rows`, in the order in which they came."""

    def __init__(self, data: Rows) -> None:
        self._data = data
        units = data.whose is not None
        self.keys = [row[-1] if units else place for place, row in enumerate(data.rows)]
        self.names = list(dict.fromkeys(self.keys))
        self.count = len(self.names)

    @property
    def readable(self) -> Rows:
        return self._data

    def among(self, active: Any) -> Rows:
        kept = {name for name, there in zip(self.names, active, strict=True) if there}
        rows = zip(self._data.rows, self.keys, strict=True)
        return Rows(tuple(row for row, key in rows if key in kept), self._data.whose)


# Mechanisms.


@attrs.frozen
class Once(Measurement[Any]):
    """A response to the data at launch. With probability `delta` it tells if the sum is high."""

    odds: Fraction = F(3)
    delta: Fraction = F(0)

    def loss(self, d_in: int) -> Loss:
        epsilon = d_in * nats(self.odds)
        return ApproxDP(epsilon, min(F(1), d_in * self.delta)) if self.delta else PureDP(epsilon)

    def release(self, dataset: Any, coins: Coins) -> Any:
        found = total(rows_in(dataset), units=of_units(dataset))
        if self.delta and coins.draw(Bernoulli(self.delta)):
            return ("sure", found >= _CENTRE)
        return respond(self.odds, found, coins)


@attrs.frozen(eq=False)
class Sums(Contributions):
    """What each record adds to the sum."""

    data: Any = attrs.field(repr=False)

    @property
    def each(self) -> list[int]:
        if not isinstance(self.data, Rows):
            return [amount(row) for row in rows_in(self.data)]
        recorded, units = Recorded(self.data), self.data.whose is not None
        held: dict[Any, list[Row]] = {name: [] for name in recorded.names}
        for key, row in zip(recorded.keys, self.data.rows, strict=True):
            held[key].append(row)
        return [total(rows, units=units) for rows in held.values()]

    @property
    def squares(self) -> Any:  # type: ignore[override]
        return np.array([each**2 for each in self.each], dtype=np.int64)

    def among(self, active: Any) -> Any:
        return tuple(each for each, there in zip(self.each, active, strict=True) if there)


@attrs.frozen
class Sum(Measurement[bool]):
    """A response to the parity of the sum, which says what each record adds.

    One record that counts costs exactly log(odds), and several cost no more.
    """

    odds: Fraction = F(3)

    def loss(self, d_in: int) -> Loss:
        return PureDP(d_in * nats(self.odds))

    @property
    def per_record(self) -> PerRecord:  # type: ignore[override]
        return PerRecord(PureDP(nats(self.odds)).to(ZCDP).rho, Sums)  # type: ignore[attr-defined]

    def release(self, dataset: Any, coins: Coins) -> bool:
        data = snapshot(dataset)
        counted = type(data) is tuple and all(type(each) is int for each in data)
        found = sum(data) if counted else total(rows_in(data), units=of_units(data))
        return coins.draw(yes(self.odds)) == bool(found % 2)


@attrs.frozen
class Reader(InteractiveMechanism[tuple[bool, tuple[Row, ...], bool]]):
    """ "read" is answered once, about all rows so far that count.

    At a `UserLevel` the first rows of each true unit count, over all batches.
    """

    level: Any = DataLevel()
    grows: bool = True
    odds: Fraction = F(3)

    @property
    def growth(self) -> Growth | None:  # type: ignore[override]
        return Growth(from_any_history=True) if self.grows else None

    @property
    def neighbours(self) -> Any:  # type: ignore[override]
        return self.level

    def loss(self, d_in: int) -> Loss:
        return PureDP(d_in * getattr(self.level, "max_records", 1) * nats(self.odds))

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> Any:
        return (of_units(dataset), tuple(rows_in(dataset)), False), None

    def step(self, state: Any, query: Any, coins: Coins = SYSTEM) -> Any:
        units, rows, asked = state
        if isinstance(query, Update):
            return (units, (*rows, *rows_in(query.records)), asked), None
        if isinstance(query, OWNERS):
            return state, None
        if query != "read" or asked:
            raise UnknownQueryError("ask to 'read', once")
        return (units, rows, True), respond(self.odds, self._sum(units, rows), coins)

    def _sum(self, units: bool, rows: tuple[Row, ...]) -> int:
        if not isinstance(self.level, UserLevel):
            return total(rows, units=units and isinstance(self.level, DataLevel))
        seen: Counter[Any] = Counter()
        counted = []
        for row in rows:
            seen[row[-1]] += 1
            if row[-1] is not None and seen[row[-1]] <= self.level.max_records:
                counted.append(row)
        return sum(map(amount, counted))


@attrs.frozen
class Pad(InteractiveMechanism[tuple[bool, bool]]):
    """Keeps a response B to the data at launch and a fair coin K; it tells K, and B xor K."""

    odds: Fraction = F(3)

    def loss(self, d_in: int) -> Loss:
        return PureDP(d_in * nats(self.odds))

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> Any:
        hidden = respond(self.odds, total(rows_in(dataset), units=of_units(dataset)), coins)
        return (hidden, coins.draw(Bernoulli(F(1, 2)))), None

    def step(self, state: Any, query: Any, coins: Coins = SYSTEM) -> Any:
        if query not in ("key", "sum"):
            raise QueryError("ask for 'key' or 'sum'")
        hidden, key = state
        return state, key if query == "key" else hidden ^ key

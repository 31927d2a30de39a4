"""Public groups of a request on DuckDB: the place of each row among the keys.

Keys are a table that rows are joined with, so that the work for a row does not depend on how many
keys there are. A few intervals, and those of equal length, are written into the statement, because
that is faster.
"""

from collections.abc import Sequence
from functools import lru_cache
from operator import is_
from typing import Any

import attrs
import numpy as np

from mechanisms.tables.engines.compiler import Compiler
from mechanisms.tables.engines.operands import CompiledOperand
from mechanisms.tables.engines.sql.expression import Sql, digits_of
from mechanisms.tables.engines.sql.on_duckdb import DuckDBDialect
from mechanisms.tables.expressions.column_types import Kind, integer, members, placed
from mechanisms.tables.requests.request import Bins, Categories, Combinations, Groups

_FEW_STEPS = 128
_MOST_BUCKETS = 2**16
_MOST_CODES = 255  # an enumeration of more has codes of two bytes, which DuckDB hashes
_WHOLE = integer(64)


@attrs.frozen
class Placing:
    """How rows are placed in one dimension of groups.

    Args:
        holds: which rows can be in a group; others need not be joined.
        cells: what a row is placed by, named `cell_N` where it is computed.
        join: SQL after the rows `FROM (..) AS r`.
        places: SQL of the row's index in each part of the groups.
        within: SQL of which rows are in a group after the join; empty if all are.
        tables: public keys as tables, by the names that `join` has for them.
        few: whether rows that can be in a group have about as few different cells as there are
            groups. Then adding up rows by their cells, before they are placed, is faster.
        codes: the places of texts, if kept rows may have them in a column.
    """

    holds: Sql | None
    cells: tuple[Sql, ...]
    join: str
    places: tuple[str, ...]
    within: str = ""
    tables: dict[str, Any] = attrs.field(factory=dict, eq=False)
    few: bool = False
    codes: "Codes | None" = None

    def by_codes(self, code: str) -> "Placing":
        """The same rows placed by a column of `codes`."""
        return Placing(Sql(f"({code} IS NOT NULL)"), (Sql(code),), "", ("cell_0",))


@attrs.frozen
class Codes:
    """The place of each row among a few keys of text, which fits into a byte.

    Args:
        column: whose cells are texts.
        cell: SQL of such a cell.
        keys: the texts, in the order of their places from 0 on.
    """

    column: str
    cell: str
    keys: tuple[str, ...]

    def table(self) -> Any:
        """The keys and their places as an Arrow table."""
        import pyarrow as pa

        keys = pa.array(self.keys, pa.string())
        return _table({"key": keys, "place": _integers(range(len(keys)))})


def placings(compiler: Compiler, by: Sequence[Groups], before: int = 0) -> list[Placing]:
    """How rows are placed in each dimension; cells are counted over all of them.

    Args:
        before: in how many dimensions rows were placed before, whose tables have other names.
    """
    found: list[Placing] = []
    for each in by:
        first, name = sum(len(it.cells) for it in found), f"keys_{before + len(found)}"
        if isinstance(each, Bins):
            found.append(_among_bins(compiler, each, f"cell_{first}", name))
        else:
            parts = each.parts
            index = each.places if isinstance(each, Combinations) else None
            found.append(_among_keys(compiler, parts, index, first, name))
    return found


def _among_keys(
    compiler: Compiler,
    parts: Sequence[Categories],
    places: Sequence[tuple[int, ...]] | None,
    first: int,
    name: str,
) -> Placing:
    """The rows whose cells equal the keys. Of equal keys the first counts."""
    operands = [compiler.operand(part.column) for part in parts]
    kinds = tuple(each.kind for each in operands)
    # Kinds are equal if they differ in their declared types only.
    keys = _keys(_Same((*parts, places)), tuple((kind, kind.declared) for kind in kinds))
    if keys is None:
        return Placing(Sql("FALSE"), (), "", ("0",) * len(parts))
    written, table, ends = keys
    equal = [f"cell_{first + i} = {name}.key_{i}" for i in range(len(parts))]
    join = f" JOIN (SELECT {written} FROM {name}) AS {name} ON {' AND '.join(equal)}"
    cells = tuple(_cell(each.cell, each.kind) for each in operands)
    there = tuple(f"{name}.place_{i}" for i in range(len(parts)))
    if ends is None:
        codes = None if places is not None else _codes(parts[0], operands[0], table)
        return Placing(None, cells, join, there, tables={name: table}, codes=codes)
    steps = tuple(zip((">=", ">"), ends, strict=True))
    holds = compiler.among(Bins(parts[0].column, steps))
    return Placing(holds, cells, join, there, tables={name: table}, few=True)


def _codes(by: Categories, found: CompiledOperand, table: Any) -> Codes | None:
    """The keys of a column of text, if they are few and all of them are texts."""
    if found.kind.name != "text" or not isinstance(by.column, str):
        return None
    if not table.num_rows == by.size <= _MOST_CODES:
        return None
    return Codes(by.column, found.cell.text, tuple(table["key_0"].to_pylist()))


@attrs.frozen(eq=False)
class _Same:
    """Public values, which are the same as themselves only: 1 equals True and 1.0."""

    values: tuple[Any, ...]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and all(map(is_, self.values, other.values))

    def __hash__(self) -> int:
        return hash(tuple(map(id, self.values)))


@lru_cache(maxsize=4)
def _keys(
    of: _Same, typed: tuple[tuple[Kind, str], ...]
) -> tuple[str, Any, tuple[int, int] | None] | None:
    """A table of keys and the columns to select of it; None if no cell can equal a key.

    The third result is of `_ends`.
    The last tables are remembered, because a statistic is checked before it is evaluated.
    """
    *parts, places = of.values
    kinds = [kind for kind, _ in typed]
    cells = [members(kind, part.values) for kind, part in zip(kinds, parts, strict=True)]
    indices: list[Sequence[int]] = [range(len(cells[0]))]
    if places is not None:
        indices = list(zip(*places, strict=True))
        cells = [[values[i] for i in each] for values, each in zip(cells, indices, strict=True)]
    rows = cells[0] if len(cells) == 1 else list(zip(*cells, strict=True))
    if len(set(rows)) < len(rows) or any(None in each for each in cells):
        # The first of equal keys counts.
        known = dict(zip(reversed(rows), reversed(range(len(rows))), strict=True))
        kept = [i for i in known.values() if not any(each[i] is None for each in cells)]
        cells = [[each[i] for i in kept] for each in cells]
        indices = [[each[i] for i in kept] for each in indices]
    if not cells[0]:
        return None
    columns, written = {}, []
    for i, kind in enumerate(kinds):
        text, columns[f"key_{i}"] = _typed(kind, cells[i], f"key_{i}")
        columns[f"place_{i}"] = _integers(indices[i])
        written += [f"{text} AS key_{i}", f"place_{i}"]
    return ", ".join(written), _table(columns), _ends(kinds, cells)


def _ends(kinds: Sequence[Kind], cells: Sequence[Sequence[Any]]) -> tuple[int, int] | None:
    """The first and the last of whole keys of one column that are most integers between them."""
    if [kind.name for kind in kinds] != ["integer"]:
        return None
    low, high = min(cells[0]), max(cells[0])
    return (low, high) if high - low < 2 * len(cells[0]) else None


def _cell(cell: Any, kind: Kind) -> Sql:
    """A cell to be compared with keys."""
    return Sql(f"({cell.text} + 0)") if kind.name == "float" else cell  # -0.0 is 0.0


def _among_bins(compiler: Compiler, by: Bins, cell: str, name: str) -> Placing:
    """The number of steps that a cell has reached."""
    d, found, even = compiler.dialect, compiler.operand(by.column), compiler.even(by)
    if even is not None and even.few:
        near = even.near(d, found.cell, found.kind)
        place = attrs.evolve(even, first=1).reached(d, Sql(cell, column=_WHOLE), _WHOLE)
        return Placing(compiler.among(by), (near,), "", (place.text,), few=True)
    if even is not None:
        group = even.reached(d, found.cell, found.kind)
        return Placing(compiler.among(by), (group,), "", (cell,))
    if len(by.between) <= _FEW_STEPS:
        return Placing(compiler.among(by), (compiler.group(by),), "", (cell,))
    reached, always = _reached(found.kind, by.between)
    if found.kind.name == "float":
        placing = _among_buckets(compiler, by, reached, always, cell, name)
        if placing is not None:
            return placing
    values, at, above = list(reached), *zip(*reached.values(), strict=True)
    text, column = _typed(found.kind, values, "value")
    columns = {"value": column, "level": _integers(at), "above": _integers(above)}
    join = (
        f" ASOF LEFT JOIN (SELECT {text} AS value, level, above FROM {name}) AS {name} "
        f"ON {cell} >= {name}.value"
    )
    reached_here = f"CASE WHEN {cell} > {name}.value THEN {name}.above ELSE {name}.level END"
    place = f"coalesce({reached_here}, {always})"
    cells = (_cell(found.cell, found.kind),)
    return Placing(compiler.among(by), cells, join, (place,), tables={name: _table(columns)})


def _among_buckets(
    compiler: Compiler,
    by: Bins,
    reached: dict[float, tuple[int, int]],
    always: int,
    cell: str,
    name: str,
) -> Placing | None:
    """Rows joined with intervals of equal length, each of which has one value at most.

    A cell is compared with the value in its interval, or with the last one before it. Python
    computes the intervals of values as DuckDB does those of cells, in floats: differences, products
    and floors of the same numbers, which do not decrease where cells increase.

    Returns:
        None if there are no such intervals, or too many.
    """
    values = np.array(list(reached))
    low, high = float(values[0]), float(values[-1])
    if not (max(abs(low), abs(high)) < 1e300 and high - low > 1e-290):
        return None
    counts = (len(values) << shift for shift in range(1, 9))
    for scale in (count / (high - low) for count in counts if count <= _MOST_BUCKETS):
        places = np.floor((values - low) * scale)
        if (np.diff(places) > 0).all():
            break
    else:
        return None
    at, above = np.array(list(reached.values())).T
    buckets = np.arange(int(places[-1]) + 1)
    last = np.searchsorted(places, buckets, "right") - 1
    columns = {"bucket": buckets, "value": values[last], "level": at[last], "above": above[last]}
    columns["below"] = np.append(always, above)[last]
    d, found = compiler.dialect, compiler.operand(by.column)
    inside = d.clipped(d.as_double(Sql(cell, column=found.kind)), d.double(low), d.double(high))
    bucket = d.as_whole(d.floor((inside - d.double(low)) * d.double(scale)))
    place = (
        f"CASE WHEN {cell} > {name}.value THEN {name}.above "
        f"WHEN {cell} >= {name}.value THEN {name}.level ELSE {name}.below END"
    )
    join = f" JOIN {name} ON {bucket.text} = {name}.bucket"
    cells = (_cell(found.cell, found.kind),)
    return Placing(compiler.among(by), cells, join, (place,), tables={name: _table(columns)})


def _reached(
    kind: Kind, steps: Sequence[tuple[str, Any]]
) -> tuple[dict[Any, tuple[int, int]], int]:
    """How many steps are reached by a cell that equals each value, and by one above it.

    The second result is how many are reached by every cell.
    """
    always, count = 0, 0
    reached: dict[Any, tuple[int, int]] = {}
    for operator, value in steps:
        outcome = placed(kind, operator, value)
        if outcome is False:
            break
        count += 1
        if outcome is True:
            always = count
            continue
        symbol, place = outcome
        at = count if symbol == ">=" else reached.get(place, (count - 1, 0))[0]
        reached[place] = at, count
    return reached, always


def _typed(kind: Kind, values: Sequence[Any], name: str) -> tuple[str, Any]:
    """SQL that has the cells' type, of a column with this name, and the Arrow column of values."""
    import pyarrow as pa

    match kind.name:
        case "text":
            return name, pa.array(values, pa.string())
        case "bytes":
            return name, pa.array(values, pa.binary())
        case "float":
            return f"({name} + 0)", pa.array(values, pa.float64())
        case "boolean":
            return f"({name} = 1)", _integers(values)
        case "integer" | "multiple" if (
            min(values) >= -(2**63) and max(values) < 2**63 and kind.high < 2**127
        ):
            return name, _integers(values)
        case "integer":
            # with a signed type, DuckDB would convert the cells, and fail at a large one
            wide = "UHUGEINT" if kind.high >= 2**127 else "HUGEINT"
            return f"CAST({name} AS {wide})", pa.array(map(str, values), pa.string())
        case "decimal":
            texts = [digits_of(kind, value) for value in values]
            return f"CAST({name} AS {kind.declared})", pa.array(texts, pa.string())
        case "date":
            return f"(DATE '1970-01-01' + CAST({name} AS INTEGER))", _integers(values)
    counts = [DuckDBDialect.count(kind, value) for value in values]
    return DuckDBDialect.moment_of(kind, name), _integers(counts)


def _integers(values: Any) -> Any:
    import pyarrow as pa

    if isinstance(values, range):
        values = np.arange(values.start, values.stop, values.step)
    return pa.array(values, pa.int64())


def _table(columns: dict[str, Any]) -> Any:
    import pyarrow as pa

    return pa.table(columns)

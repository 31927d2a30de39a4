"""Which rows of each privacy unit count, as SQL of DuckDB.

These rows depend on the unit's own rows, on its bounds and on the seed, never on the question. They
are ordered by `keep`, by a hash and, where these are equal, by all cells.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import count
from math import prod
from typing import Any

import attrs

from mechanisms.tables.engines.compiler import Compiler
from mechanisms.tables.engines.protocol import Choice
from mechanisms.tables.engines.sql.asked import Readings
from mechanisms.tables.engines.sql.dialect import DuckDBDialect, Sql, identifier
from mechanisms.tables.expressions.column_types import Kind, integer
from mechanisms.tables.requests.request import Request


@attrs.frozen(slots=False)
class ViewColumns:
    """The columns of the view `data`.

    Args:
        source: the names of the source's own columns; a row's hash covers all of them.
        kinds: the kind of every column of the view, with the readings of undeclared columns.
        written: the readings of each undeclared column.
        filed: those of them that hold text of a file, and no Python objects.
        position: the name of the view's column that numbers rows from 0, if it has one.
        length: how many numbers there are.
        record: the name of the view's column that numbers records, rows or units, if it has one.
            Statements then give the record of each row that counts, and what the row adds.
    """

    source: tuple[str, ...]
    kinds: Mapping[str, Kind]
    written: Mapping[str, Readings]
    position: str | None = None
    length: int = 0
    record: str | None = None
    filed: frozenset[str] = frozenset()

    @property
    def recorded(self) -> list[str]:
        """The column that numbers records, as one of a select; none without it."""
        return [] if self.record is None else [f"{identifier(self.record)} AS record"]

    @cached_property
    def unit(self) -> str:
        """The name of the column with a row's unit."""
        return self.own("unit")

    @cached_property
    def row_hash(self) -> str:
        """The name of the column with a row's hash."""
        return self.own("hash")

    @cached_property
    def tied(self) -> str:
        """The name of the column that marks rows which are one too many."""
        return self.own("tied")

    def own(self, name: str) -> str:
        """A name that no column has, ignoring case."""
        name, taken = f"\x1f{name}", {each.lower() for each in self.kinds}
        while name in taken:
            name += "_"
        return name


@attrs.frozen
class CountedRows:
    """The rows that count of each unit.

    Args:
        unit: the column that names the unit.
        max_rows: how many rows of a unit count.
        names: the columns that are wanted: those of the view, and the row's unit and hash.
        view: the name of the view of all rows.
    """

    unit: str
    max_rows: int
    choice: Choice
    names: frozenset[str]
    columns: ViewColumns = attrs.field(eq=False, repr=False)
    view: str = "data"

    @property
    def of(self) -> tuple[Any, ...]:
        """What the rows depend on; they are the same whichever columns are wanted."""
        return self.view, self.unit, self.max_rows, self.choice

    def tied(self, rows: str) -> str:
        """The units that have too many of these first rows."""
        unit, tied = identifier(self.columns.unit), identifier(self.columns.tied)
        return f"SELECT {unit} FROM {rows} WHERE {tied}"

    def first(self) -> str:
        """The first rows of each unit; all rows that tie with the last one, marked as `tied`.

        To order rows by all their cells is slow, and hardly any rows of different cells tie.
        """
        order = self._order()
        cells = [*self._cells(), *order.values()]
        by = ", ".join(f"{name} ASC NULLS LAST" for name in order)
        window = f"PARTITION BY {identifier(self.columns.unit)} ORDER BY {by}"
        return (
            f"SELECT {self._names()}, row_number() OVER w > {self.max_rows} "
            f"AS {identifier(self.columns.tied)} FROM (SELECT {', '.join(cells)} {self._rows()}) "
            f"WINDOW w AS ({window}) QUALIFY rank() OVER w <= {self.max_rows}"
        )

    def exact(self, among: str | None = None) -> str:
        """The first rows of each unit, in the order of all cells where others are equal.

        Args:
            among: a statement whose results are units. Then only these.
        """
        order = self._order() | self._named("cell", self._identities())
        cells = [*self._cells(), *order.values()]
        by, unit = ", ".join(f"{name} ASC NULLS LAST" for name in order), self.columns.unit
        return (
            f"SELECT {self._names()} FROM (SELECT {', '.join(cells)} {self._rows(among)}) QUALIFY "
            f"row_number() OVER (PARTITION BY {identifier(unit)} ORDER BY {by}) <= {self.max_rows}"
        )

    @property
    def narrow(self) -> frozenset[str]:
        """The wanted columns without those whose cells may be long."""
        kinds = self.columns.kinds
        long = ("VARCHAR", "BLOB")
        return frozenset(
            name
            for name in self.names
            if name not in kinds
            or (kinds[name].name != "other" and kinds[name].declared not in long)
        )

    def again(self, rows: str) -> str:
        """The same rows as these, which have positions, with the wanted columns."""
        columns, bits = self.columns, identifier(self.columns.own("bits"))
        assert columns.position is not None
        position = identifier(columns.position)
        marked = f"SELECT bitstring_agg({position}, 0, {columns.length}) AS {bits} FROM {rows}"
        return (
            f"SELECT {', '.join(self._cells())} FROM {identifier(self.view)}, ({marked}) "
            f"WHERE get_bit({bits}, {position}) = 1"
        )

    def every(self) -> str:
        """All rows of the view, with the wanted columns."""
        return f"SELECT {', '.join(self._cells())} FROM {identifier(self.view)}"

    def unequal(self, among: str) -> str:
        """A statement with a result if two rows of one of these units tie that differ in a cell."""
        order, row = self._order(), f"row({', '.join(self._identities())})"
        unit = identity_of(self.unit, self.columns.kinds[self.unit])
        cells = [f"{unit} AS {identifier(self.columns.unit)}", f"{row} AS cells", *order.values()]
        by = ", ".join([identifier(self.columns.unit), *order])
        return (
            f"SELECT 1 FROM (SELECT {', '.join(cells)} {self._rows(among)}) GROUP BY {by} "
            "HAVING min(cells) IS DISTINCT FROM max(cells) LIMIT 1"
        )

    def _identities(self) -> list[str]:
        """The cells of a row of the source; digests of long ones."""
        return [identity_of(name, self.columns.kinds[name]) for name in self.columns.source]

    def _cells(self) -> list[str]:
        """What is stored of a row."""
        columns = self.columns
        ours = {
            columns.unit: identity_of(self.unit, columns.kinds[self.unit]),
            columns.row_hash: hash_of(columns.source, self.choice),
        }
        return [
            f"{ours[name]} AS {identifier(name)}" if name in ours else identifier(name)
            for name in self._stored
        ]

    @property
    def _stored(self) -> list[str]:
        position = self.columns.position
        return sorted({*self.names, self.columns.unit, *([position] if position else [])})

    def _names(self) -> str:
        return ", ".join(map(identifier, self._stored))

    def _order(self) -> dict[str, str]:
        """The order of a unit's rows: names, and the columns of these names."""
        columns, column = self.columns, self.choice.column
        order = [] if column is None else order_of(column, columns.kinds[column], columns.written)
        order.append(hash_of(columns.source, self.choice))
        return self._named("order", order)

    def _named(self, name: str, cells: Iterable[str]) -> dict[str, str]:
        """Names that no column has for further cells, and the cells with these names."""
        names = (identifier(self.columns.own(f"{name} {i}")) for i in count())
        return {it: f"{cell} AS {it}" for it, cell in zip(names, cells, strict=False)}

    def _rows(self, among: str | None = None) -> str:
        """All rows with a unit, or with one of these units, as SQL from FROM on."""
        there = Compiler(DuckDBDialect(), self.columns.kinds).present(self.unit).text
        if among is not None:
            unit = identity_of(self.unit, self.columns.kinds[self.unit])
            there += f" AND {unit} IN ({among})"
        return f"FROM {identifier(self.view)} WHERE {there}"


def kept_by(request: Request, choice: Choice, columns: ViewColumns) -> CountedRows:
    """The rows that count for a request, with the columns that it reads."""
    per = request.per
    assert per is not None
    names = set(request.columns) | ({columns.record} if columns.record is not None else set())
    if request.bounded:
        names.add(columns.unit)
        if per.rows_per_group < per.max_rows:
            names.add(columns.row_hash)
            if choice.column is not None:
                number = columns.written.get(choice.column, {}).get("number")
                names |= {choice.column, number or choice.column}
    return CountedRows(per.column, per.max_rows, choice, frozenset(names), columns)


def capped(
    compiler: Compiler,
    request: Request,
    choice: Choice,
    columns: ViewColumns,
    where: Sql,
    selected: str,
    by_key: Callable[[str], str],
    data: str,
) -> str:
    """The selected ones of the kept rows, with bounds on groups, as SQL after FROM.

    Args:
        by_key: adds the places of groups to rows, and leaves out rows in no group.
    """
    per = request.per
    assert per is not None
    keys = [f"key_{i}" for i in range(len(request.parts))]
    group, caps = ", ".join(keys[i] for i in request.bounded), []
    cells = [selected, f"{identifier(columns.unit)} AS unit"]
    if group and per.groups < per.max_rows:
        caps.append(f"dense_rank() OVER ({_by_group(group, choice)}) <= {per.groups}")
    if group and per.rows_per_group < per.max_rows:
        first = []
        if choice.column is not None:
            first = order_of(choice.column, compiler.kind(choice.column), columns.written)
        cells += [f"{each} AS keep_{i}" for i, each in enumerate(first)]
        cells.append(f"{identifier(columns.row_hash)} AS row_hash")
        order = [f"keep_{i} ASC NULLS LAST" for i in range(len(first))]
        order += ["row_hash", *keys, *(f"term_{i}" for i in range(len(request.terms)))]
        row = f"row_number() OVER (PARTITION BY unit, {group} ORDER BY {', '.join(order)})"
        caps.append(f"{row} <= {per.rows_per_group}")
    rows = by_key(f"(SELECT {', '.join(cells)} FROM {data} WHERE {where.text})")
    return f"(SELECT * FROM {rows} QUALIFY {' AND '.join(caps)})"


def is_capped(request: Request) -> bool:
    """Whether a unit's rows are bounded by groups."""
    per = request.per
    if per is None or not request.bounded:
        return False
    return per.groups < per.max_rows or per.rows_per_group < per.max_rows


def _by_group(group: str, choice: Choice) -> str:
    """The window that ranks the groups of each unit, by a hash."""
    hashed = f"hash(xor(hash(unit, {group}), {choice.seed}::UBIGINT))"
    return f"PARTITION BY unit ORDER BY {hashed}, {group}"


def sized(
    compiler: Compiler,
    request: Request,
    choice: Choice,
    where: Sql,
    selected: str,
    by_key: Callable[[str], str],
    data: str,
    further: Sequence[str] = (),
) -> str:
    """The counted units in each group and their sizes, as SQL after FROM.

    Args:
        further: columns of the selected rows that are the same for all rows of a unit.
    """
    per = request.per
    assert per is not None
    keys = [f"key_{i}" for i in range(len(request.parts))]
    unit = identity_of(per.column, compiler.kind(per.column))
    rows = f"SELECT {selected}, {unit} AS unit FROM {data} WHERE {where.text}"
    named = ", ".join(["unit", *further, *keys])
    there = compiler.present(per.column).text
    source = by_key(f"({rows} AND {there})")
    units = f"SELECT {named}, count(*) AS row_count FROM {source} GROUP BY {named}"
    if keys and per.groups < prod(by.size for by in request.by):
        rank = f"row_number() OVER ({_by_group(', '.join(keys), choice)})"
        units = f"SELECT * FROM ({units}) QUALIFY {rank} <= {per.groups}"
    size = compiler.reached(Sql("row_count"), integer(64), request.size_steps)
    return f"(SELECT *, {size.text} AS size FROM ({units}))"


def hash_of(columns: Iterable[str], choice: Choice) -> str:
    """The hash of a row's cells and the seed."""
    return f"hash(xor(hash({', '.join(map(identifier, columns))}), {choice.seed}::UBIGINT))"


def identity_of(column: str, kind: Kind) -> str:
    """The value that identifies a row's unit: the cell, or the digest of a long one.

    A digest has 64 characters, and only cells of fewer than 64 are used directly.
    """
    name, digest = identifier(column), f"sha256({identifier(column)})"
    if kind.name == "bytes":
        return f"CASE WHEN octet_length({name}) < 64 THEN {name} ELSE CAST({digest} AS BLOB) END"
    if kind.name == "text" and kind.declared == "VARCHAR":
        return f"CASE WHEN strlen({name}) < 64 THEN {name} ELSE {digest} END"
    return name


def order_of(column: str, kind: Kind, written: Mapping[str, Readings]) -> list[str]:
    """The order of a unit's rows: by number first, then by the beginning of the text."""
    name = identifier(column)
    if column in written:
        return [identifier(written[column]["number"]), f"left({name}, 100)"]
    return [f"left({name}, 100)" if kind.declared == "VARCHAR" else name]

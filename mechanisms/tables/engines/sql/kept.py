"""Which rows of each privacy unit count, as SQL.

These rows depend on the unit's own rows, on its bounds and on the seed, never on the question. They
are ordered by `keep`, by a hash and, where these are equal, by all cells.
"""

from collections.abc import Iterable
from itertools import count
from typing import Any

import attrs

from mechanisms.tables.engines.compiler import Compiler
from mechanisms.tables.engines.protocol import Choice
from mechanisms.tables.engines.sql.expression import identifier
from mechanisms.tables.engines.sql.on_duckdb import DuckDBDialect, hash_of
from mechanisms.tables.engines.sql.views import ViewColumns
from mechanisms.tables.expressions.column_types import Kind
from mechanisms.tables.requests.request import Request


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
            columns.row_hash: hash_of(columns.source, self.choice.seed),
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
        order = [] if column is None else order_of(column, columns)
        order.append(hash_of(columns.source, self.choice.seed))
        return self._named("order", order)

    def _named(self, name: str, cells: Iterable[str]) -> dict[str, str]:
        """Names that no column has for further cells, and the cells with these names."""
        names = (identifier(self.columns.own(f"{name} {i}")) for i in count())
        return {it: f"{cell} AS {it}" for it, cell in zip(names, cells, strict=False)}

    def _rows(self, among: str | None = None) -> str:
        """All rows with a unit, or with one of these units, as SQL from FROM on."""
        there = Compiler(self.columns.dialect(), self.columns.kinds).present(self.unit).text
        if among is not None:
            unit = identity_of(self.unit, self.columns.kinds[self.unit])
            there += f" AND {unit} IN ({among})"
        return f"FROM {identifier(self.view)} WHERE {there}"


def identity_of(column: str, kind: Kind) -> str:
    """The value that identifies a row's unit on DuckDB."""
    return DuckDBDialect().identity(column, kind).text


HASHED = {"boolean", "integer", "decimal", "float", "text", "date", "timestamp", "instant"}
"""Kinds whose cells are hashed as text; rows that differ in other columns only have equal hashes.
"""

UNORDERED = ("other", "duration")
"""Kinds that not every database orders. Rows are ordered by whether they have a cell."""


def numbered(kept: CountedRows) -> str:
    """The counted rows on any database: some columns, the unit, and the number in the unit.

    The numbers are in the order of all cells where others are equal. A collation may take several
    texts for one unit, and a copy of the rows has no collation: the first of them names the unit.
    """
    columns, d = kept.columns, kept.columns.dialect()
    assert columns.number is not None
    cells = {name: d.cell(name, kind) for name, kind in columns.kinds.items()}
    unit, hashed = cells[kept.unit].text, d.named(columns.row_hash)
    text = d.row_text(
        ((cells[name], kind) for name, kind in columns.kinds.items() if kind.name in HASHED),
        kept.choice.seed,
    )
    order = [] if kept.choice.column is None else [cells[kept.choice.column].text]
    order.append(hashed)
    for name, kind in columns.kinds.items():
        cell = d.ordered(cells[name]) if kind.name == "text" else cells[name]
        missing = f"CASE WHEN {cell.text} IS NULL THEN 1 ELSE 0 END"
        order.append(missing if kind.name in UNORDERED else cell.text)
    by = ", ".join(f"{each} ASC NULLS LAST" for each in order)
    window = f"PARTITION BY {unit} ORDER BY {by}"
    named = unit
    if columns.kinds[kept.unit].name == "text":
        frame = "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
        named = f"first_value({unit}) OVER ({window} {frame})"
    own, number = d.named(columns.unit), d.named(columns.number)
    names = [cells[name].text for name in sorted(kept.names & columns.kinds.keys())]
    there = Compiler(d, columns.kinds).present(kept.unit).bare
    rows = f"SELECT *, {d.row_hash.format(text.bare)} AS {hashed} FROM {columns.data} AS d "
    ranked = f"{named} AS {own}, row_number() OVER ({window}) AS {number}"
    return (
        f"SELECT {', '.join([*names, own, number])} FROM (SELECT {', '.join([*names, ranked])} "
        f"FROM ({rows}WHERE {there}) AS d) AS d WHERE {number} <= {kept.max_rows}"
    )


def kept_by(request: Request, choice: Choice, columns: ViewColumns) -> CountedRows:
    """The rows that count for a request, with the columns that it reads."""
    per = request.per
    assert per is not None
    names = set(request.columns) | ({columns.record} if columns.record is not None else set())
    if request.bounded and columns.number is None:
        names.add(columns.unit)
        if per.rows_per_group < per.max_rows:
            names.add(columns.row_hash)
            if choice.column is not None:
                number = columns.written.get(choice.column, {}).get("number")
                names |= {choice.column, number or choice.column}
    return CountedRows(per.column, per.max_rows, choice, frozenset(names), columns)


def order_in_unit(choice: Choice, columns: ViewColumns) -> list[str]:
    """The order of a unit's kept rows, but for what ties."""
    if columns.number is not None:
        return [columns.dialect().named(columns.number)]
    order = [] if choice.column is None else order_of(choice.column, columns)
    return [*order, identifier(columns.row_hash)]


def order_of(column: str, columns: ViewColumns) -> list[str]:
    """The order by a column on DuckDB: by number first, then by the beginning of the text."""
    name = identifier(column)
    if column in columns.written:
        return [identifier(columns.written[column]["number"]), f"left({name}, 100)"]
    return [f"left({name}, 100)" if columns.kinds[column].declared == "VARCHAR" else name]

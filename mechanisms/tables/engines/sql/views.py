"""The columns of a view of rows, as statements read them."""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import attrs

from mechanisms.tables.engines.sql.asked import Readings
from mechanisms.tables.engines.sql.expression import identifier
from mechanisms.tables.engines.sql.keyed import Placing, placings
from mechanisms.tables.engines.sql.on_duckdb import DuckDBDialect
from mechanisms.tables.expressions.column_types import Kind


@attrs.frozen(slots=False)
class ViewColumns:
    """The columns of the rows that statements read, and how they are read.

    Args:
        source: the names of the source's own columns; a row's hash covers all of them.
        kinds: the kind of every column of the view, with the readings of undeclared columns.
        written: the readings of each undeclared column.
        filed: those of them that hold text of a file, and no Python objects.
        position: the name of the view's column that numbers rows from 0, if it has one.
        length: how many numbers there are.
        record: the name of the view's column that numbers records, rows or units, if it has one.
            Statements then give the record of each row that counts, and what the row adds.
        dialect: makes the expressions of a statement.
        placed: places rows among the keys of groups; by default by keys in Arrow tables.
        data, kept: the rows, and the rows that count of each unit, as SQL after FROM.
        number: the column with a kept row's number in its unit; None if kept rows have a hash.
        prefix: of names that are added to those of columns.
    """

    source: tuple[str, ...]
    kinds: Mapping[str, Kind]
    written: Mapping[str, Readings]
    position: str | None = None
    length: int = 0
    record: str | None = None
    filed: frozenset[str] = frozenset()
    dialect: Callable[[], Any] = DuckDBDialect
    placed: Callable[..., list[Placing]] = placings
    data: str = "data"
    kept: str = "kept"
    number: str | None = None
    prefix: str = "\x1f"

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
        name, taken = f"{self.prefix}{name}", {each.lower() for each in self.kinds}
        while name in taken:
            name += "_"
        return name

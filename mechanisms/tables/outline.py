"""`Outline`: a table that is in another process, by its columns and its privacy unit.

Responsible for the statistics that somebody asks of such a table. It has no rows. What a `Table`
takes from its columns to make a statistic is public, so an outline makes equal statistics.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import attrs

from mechanisms.tables.declared import Declared
from mechanisms.tables.engines.files.cells import readings
from mechanisms.tables.engines.sql.expression import identifier
from mechanisms.tables.engines.sql.statements import kind_of_operand
from mechanisms.tables.engines.sql.types import kind_of
from mechanisms.tables.engines.sql.views import ViewColumns
from mechanisms.tables.expressions.column_types import WRITTEN, Kind
from mechanisms.tables.expressions.corrections import require_column
from mechanisms.tables.expressions.operands import operand_of
from mechanisms.tables.front_door import FromTable
from mechanisms.tables.named_joins import NamedJoin, require_joins
from mechanisms.tables.requests.privacy_unit import PrivacyUnit
from mechanisms.tables.requests.wording import table_in_short


@attrs.frozen(repr=False, slots=False)
class Outline(FromTable):
    """The columns and the privacy unit of a table, without its rows.

    It has the methods of a `Table` that make statistics: `visits.mean("age", 0, 120)`.

    Args:
        columns: the kind (type) of each column.
        unit: the privacy unit and its bounds; None if each row is a unit.
        declared: the bounds and keys of columns that the owner states.
        name: what FROM calls it; None if any name will do.
        joins: by which its rows were made, as queries in SQL may write them.
    """

    columns: Mapping[str, Kind]
    _unit: PrivacyUnit | None = None
    _declared: Mapping[str, Declared] = attrs.field(factory=dict, kw_only=True)
    name: str | None = attrs.field(default=None, kw_only=True)
    joins: tuple[NamedJoin, ...] = attrs.field(default=(), kw_only=True)

    def __attrs_post_init__(self) -> None:
        require_joins(self.joins, self.columns)

    @property
    def unit(self) -> PrivacyUnit | None:
        """The privacy unit and its bounds, for `per=`; None if each row is a unit."""
        return self._unit

    @property
    def declared(self) -> Mapping[str, Declared]:
        """The bounds and keys of columns that the owner states."""
        return self._declared

    def asked_in_sql(self, handle: Any, text: str, parameters: Sequence[Any], **how: Any) -> Any:
        """The answer to a query in SQL from a `Queryable`; see there, `sql`."""
        from mechanisms.tables.in_sql.asking import asked
        from mechanisms.tables.in_sql.planning import planned

        return asked(planned(text, self, parameters, name=self.name), handle, **how)

    def kind(self, column: Any) -> Kind:
        """The kind (type) of a column, or of an expression such as `column("day").month()`.

        Raises:
            ValueError, TypeError: there is no such column, or the expression does not fit.
        """
        operand = operand_of(column)
        require_column(operand, self.columns)
        return kind_of_operand(operand, self.columns, self._as_read)

    @cached_property
    def _as_read(self) -> ViewColumns:
        """The columns with each reading of an undeclared one, as an engine has them."""
        kinds, written = dict[str, Kind](), dict[str, dict[str, str]]()
        for name, kind in self.columns.items():
            kinds[name] = kind_of("VARCHAR") if kind == WRITTEN else kind
            if kind == WRITTEN:
                declared = readings(identifier(name))
                written[name] = {reading: f"{name}\x1f{reading}" for reading in declared}
                kinds |= {
                    column: kind_of(declared[reading][1])
                    for reading, column in written[name].items()
                }
        return ViewColumns(tuple(self.columns), kinds, written)

    def __repr__(self) -> str:
        return table_in_short("Outline", self.columns, self.unit)

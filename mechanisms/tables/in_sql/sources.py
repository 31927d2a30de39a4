"""What a query reads: the names in it, and the rows that count."""

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, TypeAlias

import attrs

from mechanisms.tables.declared import Declared
from mechanisms.tables.expressions.columns import Column
from mechanisms.tables.expressions.operands import Literal, Operand
from mechanisms.tables.expressions.predicates import Predicate
from mechanisms.tables.expressions.scalars import Scalar
from mechanisms.tables.front_door import FromTable
from mechanisms.tables.in_sql.refusals import listed, refusal, shown
from queryable.wording.quoting import quoted

Bounds: TypeAlias = tuple[Fraction, Fraction]

NO_DECLARED = Declared()
ROWS = ""
"""The name under which a query over units has the number of rows of each."""


@attrs.frozen(eq=False)
class Valued:
    """An expression of one row.

    Attributes:
        column: how it is computed; None if it is a constant.
        constant: the constant; None with no column is NULL. A number that is not whole is a
            Fraction.
        bounds: public bounds of its numbers; None if none are known.
        declared: what the owner states about the column, if it is one.
        clipped: makes it with given bounds, for a number of each privacy unit that needs some.
    """

    column: Column | None = None
    constant: Scalar | Fraction | None = None
    bounds: Bounds | None = None
    declared: Declared = NO_DECLARED
    clipped: "Callable[[Fraction, Fraction], Valued] | None" = None

    @property
    def is_null(self) -> bool:
        """Whether it is NULL, written so."""
        return self.column is None and self.constant is None and self.clipped is None

    @property
    def number(self) -> Fraction | None:
        """The constant, if it is a number."""
        given = self.constant
        if isinstance(given, bool) or not isinstance(given, int | float | Fraction):
            return None
        return Fraction(given)

    def as_column(self) -> Any:
        """What `Column` computes with: a column or a Python constant."""
        return plain(self.constant) if self.column is None else self.column

    def as_operand(self) -> Operand:
        """The same as an operand."""
        if self.column is None:
            return Literal(plain(self.constant))
        return self.column.operand


def plain(constant: Any) -> Any:
    """A constant as a scalar: a fraction is the nearest float."""
    return float(constant) if isinstance(constant, Fraction) else constant


@attrs.frozen(eq=False)
class SqlSource:
    """The rows of a table, or a number or several of each privacy unit.

    Attributes:
        table: whose statistics are asked.
        named: what each name stands for.
        alias: the name before a point.
        where: which rows; None for all.
        per_unit: whether a row is a privacy unit.
        whole: the names that stand for the privacy unit itself.
        lacking: the names of numbers of a unit that are NULL in SQL if all its cells are, as MAX.
            Such a unit is left out of what reads them.
    """

    table: FromTable
    named: Mapping[str, Valued]
    alias: str
    where: Predicate | None = None
    per_unit: bool = False
    whole: frozenset[str] = frozenset()
    lacking: frozenset[str] = frozenset()

    def require_no_null_of(self, node: Any) -> None:
        """Check that an expression that makes something of NULL reads no number that lacks it.

        Raises:
            SqlError: it does.
        """
        read = {each.name.lower() for each in node.walk() if type(each).__name__ == "Column"}
        for name in self.lacking:
            if name.lower() in read:
                raise refusal(
                    f"{shown(node)} would need the units whose {name} is NULL, which are left out",
                    f"COUNT(*) FILTER (WHERE {name} > 3) / COUNT(*), or a number that is COUNT(..)",
                )

    def find(self, name: str, qualifier: str = "") -> Valued:
        """What a name stands for. Letters of either case are the same, unless that is ambiguous.

        Raises:
            SqlError: there is no such name.
        """
        self.require_alias(qualifier)
        return self.named[self.named_as(name)]

    def require_alias(self, qualifier: str) -> None:
        """Check the name before a point.

        Raises:
            SqlError: it is another table's.
        """
        if qualifier and qualifier.lower() != self.alias.lower():
            raise refusal(f"there is no table {quoted(qualifier)} here", f"FROM names {self.alias}")

    def named_as(self, name: str) -> str:
        """The name as the table has it.

        Raises:
            SqlError: there is none, or several.
        """
        if name in self.named:
            return name
        alike = [each for each in self.named if each.lower() == name.lower()]
        if len(alike) == 1:
            return alike[0]
        if alike:
            raise refusal(
                f"{name} may be {listed(alike)}", "write it with its letters, in double quotes"
            )
        raise refusal(
            f"there is no column {quoted(name)}",
            f"there are {listed(each for each in self.named if each)}",
        )

    def is_unit(self, name: str) -> bool:
        """Whether it is the privacy unit's column."""
        if name in self.named or name in self.whole:
            return name in self.whole
        return name.lower() in {each.lower() for each in self.whole}


def of_table(
    table: FromTable, columns: Mapping[str, Any], declared: Mapping[str, Declared], alias: str
) -> SqlSource:
    """The rows of a table."""
    named = {}
    for name in columns:
        stated = declared.get(name, NO_DECLARED)
        named[name] = Valued(Column(name), bounds=stated.bounds, declared=stated)
    unit = table.unit
    whole = frozenset[str]() if unit is None else frozenset({unit.column})
    return SqlSource(table, named, alias, whole=whole)

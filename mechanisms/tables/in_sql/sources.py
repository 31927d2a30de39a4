"""What a query reads: the names in it, and the rows that count."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any, TypeAlias

import attrs

from mechanisms.tables.declared import Declared
from mechanisms.tables.expressions.columns import Column
from mechanisms.tables.expressions.operands import Literal, Operand
from mechanisms.tables.expressions.predicates import Predicate
from mechanisms.tables.expressions.scalars import Scalar
from mechanisms.tables.front_door import FromTable
from mechanisms.tables.in_sql.refusals import SqlError, listed, refusal, shown
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
        tables: of a join, the columns of each alias by their names there; empty of one table.
        merged: names of an alias that USING has made one with another table's.
        lacking: the names of numbers of a unit that are NULL in SQL if all its cells are, as MAX.
            Such a unit is left out of what reads them.
        elsewhere: of columns of tables that FROM leaves out, how the query would join the table.
    """

    table: FromTable
    named: Mapping[str, Valued]
    alias: str
    where: Predicate | None = None
    per_unit: bool = False
    whole: frozenset[str] = frozenset()
    lacking: frozenset[str] = frozenset()
    tables: Mapping[str, Mapping[str, str]] = attrs.field(factory=dict)
    merged: frozenset[tuple[str, str]] = frozenset()
    elsewhere: Mapping[str, str] = attrs.field(factory=dict)

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
        return self.named[self.key(name, qualifier)]

    def key(self, name: str, qualifier: str = "") -> str:
        """The name in `named` of a column.

        Raises:
            SqlError: there is none, or several.
        """
        if not self.tables:
            self.require_alias(qualifier)
            return _in(self.named, name)
        if qualifier:
            alias = self.require_alias(qualifier)
            return self.tables[alias][_in(self.tables[alias], name, alias)]
        found = {
            f"{alias}.{own}": columns[own]
            for alias, columns in self.tables.items()
            if (own := spelled(name, columns)) is not None and (alias, own) not in self.merged
        }
        if len(found) > 1:
            raise refusal(f"{name} may be {listed(found)}", "write the table before it")
        if not found:
            if (join := self.elsewhere.get(name)) is not None:
                raise refusal(f"FROM leaves out the table of {quoted(name)}", f"write {join}")
            _in([each for columns in self.tables.values() for each in columns], name)
        [key] = found.values()
        return key

    def has(self, name: str) -> bool:
        """Whether a column has a name, in letters of either case."""
        columns = self.tables.values() if self.tables else (self.named,)
        return any(name.lower() == each.lower() for names in columns for each in names)

    def require_alias(self, qualifier: str) -> str:
        """Check the name before a point.

        Raises:
            SqlError: it is another table's.
        """
        aliases = list(self.tables) or [self.alias]
        for alias in aliases:
            if not qualifier or qualifier.lower() == alias.lower():
                return alias
        raise refusal(
            f"there is no table {quoted(qualifier)} here", f"FROM names {listed(aliases)}"
        )

    def is_unit(self, name: str, qualifier: str = "") -> bool:
        """Whether it is the privacy unit's column.

        Raises:
            SqlError: the name before a point is another table's, or the name is of several.
        """
        if self.tables:
            return self.key(name, qualifier) in self.whole
        self.require_alias(qualifier)
        if name in self.named or name in self.whole:
            return name in self.whole
        return name.lower() in {each.lower() for each in self.whole}

    def everything(self) -> Iterator[tuple[str, Valued, bool]]:
        """What `*` stands for: each name, what it is, and whether it is the privacy unit."""
        if not self.tables:
            yield from ((name, each, name in self.whole) for name, each in self.named.items())
            return
        for alias, columns in self.tables.items():
            for name, key in columns.items():
                if (alias, name) not in self.merged:
                    yield name, self.named[key], key in self.whole

    def canonical(self, node: Any) -> Any:
        """An expression with each column under one name, so that equal ones are equal."""
        copy = node.copy()
        for each in [copy] if type(copy).__name__ == "Column" else list(_columns(copy)):
            try:
                key = self.key(each.name, each.table)
            except SqlError:  # another part of the query says what it is
                continue
            for part in [name for name in each.args if name != "this"]:
                each.set(part, None)
            each.set("this", type(each.this)(this=key, quoted=True))
        return copy


def _columns(node: Any) -> Iterator[Any]:
    return (each for each in node.walk() if type(each).__name__ == "Column")


def spelled(name: str, names: Iterable[str]) -> str | None:
    """A name as one of these, whose letters may be of the other case; None if it is none."""
    if name in (known := list(names)):
        return name
    alike = [each for each in known if each.lower() == name.lower()]
    return alike[0] if len(alike) == 1 else None


def _in(names: Collection[str], name: str, alias: str = "") -> str:
    """A name as it is written among these.

    Raises:
        SqlError: there is none, or several.
    """
    found = spelled(name, names)
    if found is not None:
        return found
    alike = [each for each in names if each.lower() == name.lower()]
    if alike:
        raise refusal(
            f"{name} may be {listed(alike)}", "write it with its letters, in double quotes"
        )
    raise refusal(
        f"there is no column {quoted(f'{alias}.{name}' if alias else name)}",
        f"there are {listed(each for each in names if each)}",
    )


def of_table(
    table: FromTable, columns: Iterable[str], declared: Mapping[str, Declared], alias: str
) -> SqlSource:
    """The rows of a table."""
    named = {}
    for name in columns:
        stated = declared.get(name, NO_DECLARED)
        named[name] = Valued(Column(name), bounds=stated.bounds, declared=stated)
    unit = table.unit
    whole = frozenset[str]() if unit is None else frozenset({unit.column})
    return SqlSource(table, named, alias, whole=whole)

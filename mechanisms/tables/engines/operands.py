"""Operands compiled to an engine's expressions."""

from collections.abc import Iterable, Mapping

import attrs

from mechanisms.tables import column_types
from mechanisms.tables.column_types import Kind
from mechanisms.tables.computed import LARGEST, LEAST
from mechanisms.tables.corrections import no_column
from mechanisms.tables.engines.dialect import Dialect, Expression
from mechanisms.tables.expressions import Arithmetic, Literal, Node, Operand
from mechanisms.tables.request import Combinations, Groups, Request

INTEGER = attrs.evolve(column_types.integer(64), declared="BIGINT")
NUMBER = attrs.evolve(column_types.real(64), declared="DOUBLE")
TEXT = attrs.evolve(column_types.TEXT, declared="VARCHAR")
BOOLEAN = attrs.evolve(column_types.BOOLEAN, declared="BOOLEAN")
DATE = attrs.evolve(column_types.DATE, declared="DATE")
TIMESTAMP = attrs.evolve(column_types.moments("timestamp", 1000), declared="TIMESTAMP")


@attrs.frozen
class Compiled:
    """A compiled operand.

    Args:
        kind: its kind.
        cell: the engine's expression.
        column: whether it is a column itself. The expression of a computed operand is null exactly
            where the cell is missing; that of a column may also be NaN.
    """

    kind: Kind
    cell: Expression
    column: bool = False


def column_of(dialect: Dialect, kinds: Mapping[str, Kind], name: str) -> Compiled:
    """A column.

    Raises:
        KeyError: there is none of this name.
    """
    if name not in kinds:
        raise KeyError(no_column(name, kinds))
    return Compiled(kinds[name], dialect.cell(name, kinds[name]), column=True)


def computed(dialect: Dialect, kinds: Mapping[str, Kind], operand: Operand) -> Compiled:
    """An operand of any sort.

    Raises:
        KeyError, TypeError: it does not fit the columns. This depends on public values alone.
    """
    match operand:
        case str():
            return column_of(dialect, kinds, operand)
        case Literal(int() | float() as value):
            return Compiled(NUMBER, dialect.double(float(value)))
        case Arithmetic(operator, left, right):
            a, b = (_number(dialect, computed(dialect, kinds, each)) for each in (left, right))
            if operator == "/":
                b = dialect.unless_zero(b)
            result = {"+": a.__add__, "-": a.__sub__, "*": a.__mul__, "/": a.__truediv__}[operator]
            return Compiled(NUMBER, dialect.once(result(b), lambda x: _tamed(dialect, x)))
    raise TypeError(f"cannot compute {operand.text} yet")


def _number(dialect: Dialect, operand: Compiled) -> Expression:
    if operand.kind.name not in ("integer", "decimal", "float"):
        raise TypeError(f"give numbers: a column of {operand.kind.declared} has no arithmetic")
    number = dialect.as_double(operand.cell)
    return _tamed(dialect, number) if operand.column else number


def _tamed(dialect: Dialect, x: Expression) -> Expression:
    size = dialect.magnitude(x)
    zeroed = dialect.when(size >= dialect.double(LEAST), x, dialect.double(0.0))
    return dialect.where(size <= dialect.double(LARGEST), zeroed)


def lifted(request: Request, taken: Iterable[str]) -> tuple[Request, dict[str, Node]]:
    """The request with its computed operands replaced by names of columns, and these operands.

    An engine adds the columns first, so that each operand is written once.
    """
    nodes: dict[str, Node] = {}
    names: dict[str, str] = {}
    known = {name.lower() for name in taken}

    def name_of(operand: Operand | None) -> Operand | None:
        if not isinstance(operand, Node):
            return operand
        key = repr(operand)  # equal operands may differ in type: 1 is True
        if key not in names:
            name = f"computed_{len(names)}"
            while any(each.startswith(name) for each in known):
                name += "_"
            names[key] = name
            nodes[name] = operand
        return names[key]

    terms = tuple(term.reading(name_of) for term in request.terms)

    def by_name(by: Groups) -> Groups:
        if isinstance(by, Combinations):
            each = (attrs.evolve(part, column=name_of(part.column)) for part in by.parts)
            return attrs.evolve(by, parts=tuple(each))
        return attrs.evolve(by, column=name_of(by.column))

    by = tuple(map(by_name, request.by))
    return (attrs.evolve(request, terms=terms, by=by), nodes) if nodes else (request, nodes)

"""What fits arrays and frames in memory, by public names and types. Reads no rows.

`Compiler` says what is compared with what, added up and grouped, as on every engine. It compiles
here to nothing. Nothing is known publicly of a column of objects, such as each column of a list:
its cells decide one by one.
"""

from collections.abc import Collection, Mapping, Sized
from typing import Any, TypeVar

import attrs

from mechanisms.tables.engines.compiler import Compiler
from mechanisms.tables.engines.operands import CompiledOperand
from mechanisms.tables.expressions.column_types import ANY, Kind, Placed, kind_of, require_keys
from mechanisms.tables.expressions.comparisons import placed_in_array
from mechanisms.tables.expressions.corrections import no_column, require_no_periods
from mechanisms.tables.expressions.operands import Operand, operand_name
from mechanisms.tables.expressions.predicates import Predicate, Where
from mechanisms.tables.expressions.scalars import Scalar
from mechanisms.tables.requests.arrays import needs_table, totals_of_arrays
from mechanisms.tables.requests.discovery import Discovery, require_discoverable
from mechanisms.tables.requests.found_in_arrays import found_in_arrays
from mechanisms.tables.requests.request import Bins, Request
from queryable.data.cells import Array, objects, read
from queryable.data.rows import column_names
from queryable.faults import called

_Asked = TypeVar("_Asked", Request, Discovery)


def require_fitting(dataset: Any, request: Request) -> None:
    """Check a request. A function is not checked.

    Raises:
        KeyError, TypeError, ValueError: it does not fit.
    """
    request = _without_function(request)
    empty = _empty_columns(dataset, request.columns)
    types = _types_of(empty)
    types.selected(request.where)
    for term in request.terms:
        for factor in term.factors:
            if factor.column is not None:
                (types.number if factor.power else types.operand)(factor.column)
    for by in request.parts:
        kind = types.operand(by.column).kind
        if not isinstance(by, Bins):
            require_keys(kind, operand_name(by.column), by.values)
            continue
        for operator, value in by.steps:
            types.placed(kind, operator, value)
    totals_of_arrays(empty, request)


def require_found(dataset: Any, asked: Discovery) -> None:
    """Check what keys are discovered of.

    Raises:
        KeyError, TypeError, ValueError: it does not fit.
    """
    if asked.per is not None:
        raise TypeError(needs_table(asked.per))
    asked = _without_function(asked)
    empty = _empty_columns(dataset, asked.read)
    types = _types_of(empty)
    types.selected(asked.where)
    for column in asked.columns:
        require_discoverable(types.operand(column).kind, operand_name(column))
    next(found_in_arrays(empty, asked), None)


def _without_function(asked: _Asked) -> _Asked:
    return asked if isinstance(asked.where, Predicate) else attrs.evolve(asked, where=None)


def _empty_columns(dataset: Any, columns: Collection[str]) -> dict[str, Array]:
    """These columns without their cells. A list has no public columns: its cells are objects.

    Raises:
        KeyError: there is no such column. TypeError: it holds periods.
    """
    names = column_names(dataset)
    _require_rows(dataset, names, columns)
    if names is None:
        return dict.fromkeys(columns, objects((), 0))
    for name in columns:
        if name not in names:
            raise KeyError(no_column(name, names))
        column = dataset[name]
        require_no_periods(name, getattr(column, "dtype", getattr(column, "type", None)))
    return {name: read(dataset[name][:0])[1] for name in columns}


def _require_rows(dataset: Any, names: tuple[str, ...] | None, columns: Collection[str]) -> None:
    """Check that data are rows, by their form alone.

    Raises:
        TypeError: they are none.
    """
    if isinstance(dataset, Mapping):
        if not all(isinstance(each, Sized) for each in dataset.values()):
            raise TypeError("each column of the data should be a list or an array")
        if len(set(map(len, dataset.values()))) > 1:
            raise TypeError("the columns of the data should have one length")
    elif names is None and not isinstance(dataset, list | tuple):
        if hasattr(dataset, "to_frame"):
            raise TypeError("the data are one column: give series.to_frame()")
        if columns or isinstance(dataset, str | bytes) or not isinstance(dataset, Sized):
            raise TypeError(
                f"the data are of class {called(type(dataset))} and have no rows: give a dict of "
                "columns, a frame, an array or a list of records"
            )


def _types_of(columns: dict[str, Array]) -> "_Types":
    dialect: Any = _Unwritten()
    return _Types(dialect, {name: kind_of(each.dtype) for name, each in columns.items()})


class _Types(Compiler):
    """Compiles expressions of columns in memory to nothing."""

    def operand(self, operand: Operand) -> CompiledOperand:
        """As on every engine, without a database's name of its type."""
        found = super().operand(operand)
        return attrs.evolve(found, kind=attrs.evolve(found.kind, declared=""))

    def own(self, where: Where) -> Any:
        """Numpy evaluates it."""
        return _NOTHING

    def placed(self, kind: Kind, operator: str, value: Scalar) -> Placed | bool:
        """Objects compare one by one."""
        return kind == ANY or placed_in_array(kind, operator, value)


class _Nothing:
    """The expression of every cell."""

    def _again(self, *_: object) -> Any:
        return self

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __and__ = __or__ = _again
    __add__ = __sub__ = __mul__ = __truediv__ = __invert__ = _again


_NOTHING = _Nothing()


class _Unwritten:
    """A dialect that writes nothing."""

    computes = True

    def __getattr__(self, name: str) -> Any:
        return _NOTHING._again

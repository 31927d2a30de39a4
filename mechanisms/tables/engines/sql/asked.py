"""How a request reads the columns of a CSV file that have no declared type.

The operation decides: a comparison by its constants, arithmetic reads numbers, functions of text
read text, parts of dates read timestamps, and a cast reads what it casts to.
"""

from collections.abc import Collection, Iterable, Mapping
from functools import reduce
from operator import or_
from typing import Any

import attrs

from mechanisms.tables.expressions import column_types
from mechanisms.tables.expressions.column_types import Kind
from mechanisms.tables.expressions.operands import (
    Arithmetic,
    Cast,
    DatePart,
    Literal,
    Operand,
    PerUnit,
    TextFunction,
    Truncated,
    When,
)
from mechanisms.tables.expressions.predicates import (
    And,
    Compared,
    Comparison,
    IsIn,
    IsNull,
    Matches,
    Not,
    Or,
    Predicate,
    Where,
)
from mechanisms.tables.expressions.scalars import Scalar
from mechanisms.tables.requests.request import Categories, Combinations, Groups, Request, Term

Readings = Mapping[str, str]
"""The name of the column with the cells read as a number, date, timestamp and so on."""

_FAMILIES = {"integer": "number", "decimal": "number", "float": "number"}
_FAMILIES |= {"date": "moment", "timestamp": "moment"}
_READING_OF = {"moment": "timestamp"}
_ORDER_OF_TEXT = (
    "give a number or a datetime.date, in SQL DATE '2024-01-31', or write column({column!r})"
    ".cast('text'), in SQL CAST({column} AS VARCHAR), for the order of text: {column!r} has no "
    "declared type, and as text '9' is above '10' and '02.01.2024' above '01.12.2024'"
)
_TEXT = (
    "write column({column!r}).cast('number'), in SQL CAST({column} AS DOUBLE), to add up the cells "
    "that are numbers, or declare the type where the file is opened, as "
    "types={{{column!r}: 'DOUBLE'}}: {column!r} is text"
)


def as_asked(
    request: Request,
    written: Mapping[str, Readings],
    kinds: Mapping[str, Kind],
    filed: Collection[str] = (),
) -> Request:
    """The request with each undeclared column replaced by the reading that is asked.

    Args:
        filed: undeclared columns that hold text of a file. They are not added up as they are: all
            cells could be words, which add up to 0. A question says that it reads numbers.

    Raises:
        TypeError: no reading compares with a constant, or nothing says which reading is asked.
    """
    return _Asked(written, kinds, filed).request(request) if written else request


@attrs.frozen
class _Asked:
    """Replaces undeclared columns by their readings."""

    written: Mapping[str, Readings]
    kinds: Mapping[str, Kind]
    filed: Collection[str] = ()

    def request(self, request: Request) -> Request:
        return attrs.evolve(
            request,
            terms=tuple(map(self._term, request.terms)),
            where=self._where(request.where),
            by=tuple(map(self._by, request.by)),
        )

    def _term(self, term: Term) -> Term:
        for factor in term.factors if term.power else ():
            self._require_numbers(factor.column)
        return term.reading(lambda column: self._operand(column, "number"))

    def _require_numbers(self, operand: Operand | None) -> None:
        """Check that what is added up is no text of a file.

        Raises:
            TypeError: it is.
        """
        match operand:
            case str() if operand in self.filed:
                raise TypeError(_TEXT.format(column=operand))
            case Arithmetic(_, left, right):
                self._require_numbers(left)
                self._require_numbers(right)
            case When():
                for value in operand.values:
                    self._require_numbers(value)

    def _where(self, where: Where | None) -> Where | None:
        return self._predicate(where) if isinstance(where, Predicate) else where

    def _is_written(self, operand: Any) -> bool:
        return isinstance(operand, str) and operand in self.written

    def _predicate(self, where: Predicate) -> Predicate:
        match where:
            case Comparison(str(column), operator, value) if column in self.written:
                if isinstance(value, str) and operator not in ("==", "!="):
                    raise TypeError(_ORDER_OF_TEXT.format(column=column))
                return attrs.evolve(where, column=_read(column, [value], self.written))
            case IsIn(column=str(column), values=values) if column in self.written:
                read: dict[str, list[Scalar]] = {}
                for value in values:
                    read.setdefault(_read(column, [value], self.written), []).append(value)
                each: list[Predicate] = [IsIn(name, some) for name, some in read.items()]
                return reduce(or_, each) if each else where
            case Compared(left, _, right):
                return attrs.evolve(
                    where,
                    left=self._operand(left, self._reading_beside(left, right)),
                    right=self._operand(right, self._reading_beside(right, left)),
                )
            case And(left, right) | Or(left, right):
                return type(where)(self._predicate(left), self._predicate(right))
            case Not(predicate):
                return Not(self._predicate(predicate))
            case Comparison(column=column) | IsIn(column=column):
                return attrs.evolve(where, column=self._operand(column, "text"))
            case IsNull(column=column) | Matches(column=column):
                return attrs.evolve(where, column=self._operand(column, "text"))
        return where

    def _reading_beside(self, operand: Operand, other: Operand) -> str:
        """The reading of an operand that is compared with another one."""
        if self._is_written(operand) and self._is_written(other):
            raise TypeError(
                f"write .cast(..) of {operand!r} and {other!r}, or give their types by "
                "Table(.., types=..): neither says how the other is to be read"
            )
        family = self._family(other) or "text"
        return _READING_OF.get(family, family)

    def _operand(self, operand: Any, reading: str) -> Any:
        """The operand, with undeclared columns that it reads directly read in this way."""
        match operand:
            case str():
                if operand not in self.written or reading == "text":
                    return operand
                return self.written[operand][reading]
            case Arithmetic(operator, left, right):
                families = {self._family(left), self._family(right)}
                inner = "date" if operator == "-" and "moment" in families else "number"
                return Arithmetic(operator, self._operand(left, inner), self._operand(right, inner))
            case TextFunction(function, inner_operand):
                return TextFunction(function, self._operand(inner_operand, "text"))
            case DatePart(part, inner_operand):
                return DatePart(part, self._operand(inner_operand, "timestamp"))
            case Truncated(unit, inner_operand):
                return Truncated(unit, self._operand(inner_operand, "timestamp"))
            case Cast(inner_operand, to):
                return Cast(self._operand(inner_operand, to), to)
            case When(cases, otherwise):
                return self._when(cases, otherwise)
            case PerUnit(column=column, where=where):
                self._require_numbers(column)
                read = self._operand(column, "number")
                return attrs.evolve(operand, column=read, where=self._where(where))
        return operand

    def _when(self, cases: Any, otherwise: Operand | None) -> When:
        values = [*(value for _, value in cases), otherwise]
        families = (self._family(value) for value in values if value is not None)
        family = next(filter(None, families), None)
        if family is None:
            raise TypeError(
                "write .cast(..) of a value of when, or give its type by Table(.., types=..): no "
                "other value says how it is to be read"
            )
        reading = _READING_OF.get(family, family)
        read = [None if each is None else self._operand(each, reading) for each in values]
        predicates = [self._predicate(predicate) for predicate, _ in cases]
        return When(tuple(zip(predicates, read[:-1], strict=True)), read[-1])

    def _family(self, operand: Operand) -> str | None:
        """What an operand is to be compared with; None for an undeclared column."""
        match operand:
            case str():
                if operand in self.written or operand not in self.kinds:
                    return None
                name = self.kinds[operand].name
                return _FAMILIES.get(name, name)
            case Literal(value):
                return "boolean" if isinstance(value, bool) else column_types.constant(value).family
            case Arithmetic() | DatePart() | PerUnit():
                return "number"
            case TextFunction():
                return "text"
            case Truncated():
                return "moment"
            case Cast(_, to):
                return _FAMILIES.get(to, to)
            case When():
                found = (self._family(value) for value in operand.values if value is not None)
                return next(filter(None, found), None)
        return None

    def _by(self, by: Groups) -> Groups:
        if isinstance(by, Combinations):
            return attrs.evolve(by, parts=tuple(map(self._keys, by.parts)))
        if isinstance(by, Categories):
            return self._keys(by)
        if not isinstance(by.column, str) or by.column not in self.written:
            return attrs.evolve(by, column=self._operand(by.column, "text"))
        edges = [value for _, value in by.steps]
        return attrs.evolve(by, column=_read(by.column, edges, self.written))

    def _keys(self, by: Categories) -> Categories:
        if not isinstance(by.column, str) or by.column not in self.written:
            return attrs.evolve(by, column=self._operand(by.column, "text"))
        return attrs.evolve(by, column=_read(by.column, by.values, self.written, keys=True))


def _read(
    column: str, values: Iterable[Scalar], written: Mapping[str, Readings], *, keys: bool = False
) -> str:
    """The column to compare with these constants.

    A date means midnight in a comparison; as a key it equals dates only, as in other sources.
    """
    found = {_reading(column, value, keys=keys) for value in values}
    if len(found) > 1:
        raise TypeError(
            f"give keys of one kind for {column!r}, or its type by Table(.., types={{{column!r}: "
            f"...}}); they are of several kinds ({', '.join(sorted(found))})"
        )
    reading = found.pop() if found else "text"
    return column if reading == "text" else written[column][reading]


def _reading(column: str, value: Scalar, *, keys: bool) -> str:
    constant = column_types.constant(value)
    match constant.family:
        case "number" | "text" | "instant":
            return constant.family
        case "moment":
            return "date" if keys and constant.whole_days else "timestamp"
    raise TypeError(
        f"{column!r}, a column without a type, does not compare with "
        f"{type(value).__name__}; say what it holds by Table(.., types={{{column!r}: ...}})"
    )

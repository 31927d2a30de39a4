"""The values of records that an OpenDP measurement reads, as its input domain takes them.

Responsible for what a record becomes there: one value of the domain, or none. It depends on that
record and on public facts alone, so data that differ in some records give values that differ in no
more. Values are sorted, so that their order says nothing either. OpenDP's own check of membership
is not used: it warns with the value in the text.
"""

import re
from collections.abc import Iterable
from math import isnan, nan
from typing import Any, ClassVar

import attrs
import numpy as np
from immutables import Map

from mechanisms.counters.contributions import first_records
from queryable.data.rows import column_names, column_values
from queryable.statistics import Checked
from queryable.streams.levels import EventLevel, UserLevel
from queryable.wording.quoting import quoted

_VECTOR = re.compile(r"VectorDomain<AtomDomain<(\w+)>>")
_INTEGER = re.compile(r"[iu](8|16|32|64)")
_FLOATS = ("f32", "f64")
_UNORDERED = ("bool", "String")
_NONE: Any = object()


@attrs.frozen
class Atoms:
    """The values of one of OpenDP's domains of vectors: what is public about them.

    Attributes:
        kind: their type, as OpenDP writes it, such as "f64".
        lower, upper: the least and the largest one, if they are bounded.
        nan: whether NaN is among them.
    """

    kind: str
    lower: Any = None
    upper: Any = None
    nan: bool = False

    @classmethod
    def of(cls, domain: Any, *, sized: bool = False) -> "Atoms":
        """The values of a domain.

        Args:
            sized: whether the number of records may be fixed.

        Raises:
            TypeError: it is no domain of vectors of numbers, texts or truth values.
            ValueError: their number is fixed.
        """
        found = _VECTOR.fullmatch(str(getattr(domain, "type", "")))
        if found is None or not _is_read(found[1]):
            raise TypeError(
                f"its input domain is {quoted(domain)}; it should be a vector_domain of an "
                "atom_domain of floats, integers, bools or strings"
            )
        if domain.size is not None and not sized:
            raise ValueError(
                f"its input domain has {domain.size} records; it should leave their number open: "
                "no two neighbours here have as many"
            )
        kind, inside = found[1], domain.element_domain
        bounds = None if kind in _UNORDERED else inside.bounds  # OpenDP has none to ask for there
        lower, upper = (None, None) if bounds is None else bounds
        return cls(kind, lower, upper, kind in _FLOATS and bool(inside.nan))

    def value(self, cell: Any) -> Any:
        """A cell as a value of the domain; `_NONE` if it is none."""
        cell = cell.item() if isinstance(cell, np.generic) else cell
        if self.kind == "bool":
            return cell if type(cell) is bool else _NONE
        if self.kind == "String":
            return cell if type(cell) is str and _is_unicode(cell) else _NONE
        if self.kind in _FLOATS:
            return self._float(cell)
        if type(cell) is float and cell.is_integer():  # as in a column with missing cells
            cell = int(cell)
        lower, upper = _limits(self.kind)
        return cell if type(cell) is int and lower <= cell <= upper and self._holds(cell) else _NONE

    def _float(self, cell: Any) -> Any:
        """The float that OpenDP makes of a number, with one zero and one NaN."""
        try:
            number = float(cell) if type(cell) in (int, float) else nan
        except OverflowError:
            return _NONE
        if self.kind == "f32":
            with np.errstate(all="ignore"):
                number = float(np.float32(number))
        if isnan(number):
            return nan if self.nan and type(cell) is float else _NONE
        return number + 0.0 if self._holds(number) else _NONE

    def _holds(self, number: float) -> bool:
        above = self.lower is None or self.lower <= number
        return above and (self.upper is None or number <= self.upper)

    def values(self, cells: Iterable[Any], *, in_order: bool = False) -> list[Any]:
        """The values of the domain among cells, in their order or in that of the values."""
        found = [value for cell in cells if (value := self.value(cell)) is not _NONE]
        return found if in_order else sorted(found, key=_rank)


def _is_read(kind: str) -> bool:
    return kind in (*_FLOATS, *_UNORDERED) or _INTEGER.fullmatch(kind) is not None


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _limits(kind: str) -> tuple[int, int]:
    bits = int(kind[1:])
    return (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if kind[0] == "i" else (0, 2**bits - 1)


def _rank(value: Any) -> tuple[bool, Any]:
    return isinstance(value, float) and isnan(value), value  # NaN is last


def _column(value: Any) -> str | None:
    if value is None or (isinstance(value, str) and value):
        return value
    raise TypeError(f"column is {quoted(value)}; it should be the name of a column")


def _level(value: Any) -> EventLevel | UserLevel:
    if type(value) not in (EventLevel, UserLevel):
        raise TypeError(
            f"neighbours is {quoted(value)}; it should be EventLevel() or UserLevel(column, max)"
        )
    known: EventLevel | UserLevel = value
    return known


@attrs.frozen
class OpenDPRecords(Checked):
    """What is read of each record. A record that is no value of the domain is left out.

    A failure would tell of such a record.
    """

    checks_all: ClassVar[bool] = True
    public_name: ClassVar[str] = "an OpenDP measurement"

    atoms: Atoms
    column: str | None = attrs.field(converter=_column)
    level: EventLevel | UserLevel = attrs.field(converter=_level)

    def __attrs_post_init__(self) -> None:
        if isinstance(self.level, UserLevel) and self.column is None:
            raise ValueError("give column= too: records with a column of units have several")

    def check(self, dataset: Any) -> None:
        """Check that the data are a list of values, or have the columns. Reads no rows.

        Raises:
            KeyError, TypeError: they do not.
        """
        listed = isinstance(dataset, list | tuple)
        if self.column is None:
            array = isinstance(dataset, np.ndarray) and dataset.ndim == 1
            if not listed and not (array and dataset.dtype.names is None):
                raise TypeError(
                    "name the column that it reads, column=..; without one it reads a list or an "
                    "array of values"
                )
            return
        names = None if listed else column_names(dataset)
        if type(dataset).__name__ == "LazyFrame" or (names is None and not listed):
            raise TypeError(
                "collect the frame first: it reads a column of a mapping, an array, a list of "
                "records or a frame in memory"
            )
        unit = self.level.column if isinstance(self.level, UserLevel) else self.column
        for each in (self.column, unit):
            if names is not None and each not in names:
                raise KeyError(f"there is no column {each!r}")

    def values(self, dataset: Any) -> list[Any]:
        """The values of the domain, sorted. It reads data, inside the fault boundary."""
        if isinstance(self.level, UserLevel):
            dataset, _ = first_records(dataset, self.level, Map())
        if self.column is not None:
            return self.atoms.values(column_values(dataset, self.column))
        return self.atoms.values(dataset.tolist() if isinstance(dataset, np.ndarray) else dataset)

"""Partitions of a dataset into named, disjoint parts.

By construction every record is in exactly one part, and which one depends only on that record and
on public names.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import attrs

from queryable.checks.datasets import protects
from queryable.data.constants import python_constant
from queryable.data.guarded import pass_on
from queryable.data.keys import key_of, plain_cell
from queryable.data.rows import column_values, rows_of, take
from queryable.losses.numbers import several
from queryable.randomness.coins import ChildId
from queryable.wording.quoting import quoted


def _names(values: Iterable[Any]) -> tuple[ChildId, ...]:
    if isinstance(values, str):
        raise TypeError(f"names is the string {quoted(values)}; it should be a list of part names")
    if callable(values) or hasattr(values, "dtype"):
        raise TypeError(
            f"names is a {type(values).__name__}, probably taken from the data; part names are "
            "public: write them out"
        )
    given = tuple(several(values, "names"))
    for name in given:
        if isinstance(name, bool) or not isinstance(name, int | str):
            raise TypeError(f"part name {quoted(name)} should be an int or a string")
    names = tuple(map(python_constant, given))  # records' keys are compared with them
    if len(set(names)) != len(names):
        raise ValueError(f"names has {quoted(names)}; two parts of one name would overlap")
    if not names:
        raise ValueError("names is empty; name at least one part")
    return names


def _key(value: Any) -> Any:
    return python_constant(value) if isinstance(value, str) else value


def _name(value: Any) -> ChildId:
    return _names([value])[0]


@attrs.frozen
class Partition:
    """The assignment of records to parts.

    Args:
        key: a column's name, or a function of a single record. A record is a row: an element of a
            list or an array, or a dict of the columns of a frame.
        names: the names of the parts, public and fixed. A record belongs to the part whose name
            equals its key.
        other: the part of every other record: one whose key is null, unhashable or no single
            value, that lacks the field, or for which the key function raises.
    """

    key: str | Callable[[Any], Any] = attrs.field(converter=_key)
    names: tuple[ChildId, ...] = attrs.field(converter=_names)
    other: ChildId = attrs.field(default="other", converter=_name)

    @key.validator
    def _is_key(self, attribute: object, key: object) -> None:
        if not (isinstance(key, str) or callable(key)):
            raise TypeError(
                f"key is {quoted(key)}; it should be a column's name or a function of a record"
            )

    def __attrs_post_init__(self) -> None:
        if self.other in self.names:
            raise ValueError(f"other is {quoted(self.other)}, which is also a named part")

    @property
    def parts(self) -> tuple[ChildId, ...]:
        """The names of all parts."""
        return (*self.names, self.other)

    def require_part(self, name: object) -> None:
        """Check that there is a part of this name.

        Raises:
            ValueError: there is none.
        """
        if isinstance(name, bool) or name not in self.parts:
            raise ValueError(
                f"{quoted(name)} is no part; the parts are {', '.join(map(repr, self.parts))}"
            )

    def require_rows(self, dataset: Any) -> None:
        """Check that the data protect rows, of which each is in one part. Reads none of them.

        Raises:
            TypeError: the data protect units, which may have rows in several parts.
        """
        whose = protects(dataset).whose
        if whose is not None:
            raise TypeError(
                f"these data protect all rows of one {whose}, which may be in several parts"
            )

    def split(self, dataset: Any, wanted: Iterable[ChildId]) -> Mapping[ChildId, Any]:
        """The wanted parts, each in the form of the dataset.

        Raises:
            TypeError: the data protect units, which may have rows in several parts.
        """
        self.require_rows(dataset)
        rows: dict[ChildId, list[int]] = {name: [] for name in self.parts}
        parts = {key_of(name): name for name in self.names}
        for row, key in enumerate(self._keys(dataset)):
            rows[self.other if _is_truth(key) else parts.get(key_of(key), self.other)].append(row)
        return {name: take(dataset, rows[name]) for name in wanted}

    def _keys(self, dataset: Any) -> Iterable[Any]:
        if isinstance(self.key, str):
            return column_values(dataset, self.key)
        return map(self._key_of, rows_of(dataset))

    def _key_of(self, record: Any) -> Any:
        assert callable(self.key)
        try:
            return self.key(record)
        except BaseException as error:
            pass_on(error)
            return None


def _is_truth(key: Any) -> bool:
    return type(key) is bool or type(plain_cell(key)) is bool

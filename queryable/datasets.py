"""Checks on datasets: read-only views, private data in rehearsals, and fitting statistics.

Responsible for three checks that prevent mistakes. Mechanisms get arrays as read-only views;
`rehearse` refuses the data of a queryable; a statistic must fit the public description of a table.
None of them is a sandbox: see the README.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any
from weakref import WeakValueDictionary

import attrs
import numpy as np

from queryable.errors import QueryError
from queryable.optional import public_name
from queryable.statistics import IntegerStatistic, Statistic

_FILE = re.compile(r"\.(csv|tsv|parquet)$", re.IGNORECASE)
_in_use: "WeakValueDictionary[int, Any]" = WeakValueDictionary()


def protected(dataset: Any) -> Any:
    """The dataset that mechanisms get: arrays are replaced by read-only views.

    Raises:
        TypeError: a one-shot iterator, which the second mechanism would find empty; or a path.
    """
    if isinstance(dataset, PurePath) or (isinstance(dataset, str) and _FILE.search(dataset)):
        raise TypeError(
            f"the dataset is the path {str(dataset)!r}, not what is in the file; open it, as "
            "mechanisms.Table does"
        )
    if isinstance(dataset, Iterator):
        raise TypeError("the dataset is a one-shot iterator; pass a list or an array")
    if isinstance(dataset, np.ndarray):
        view = dataset.view()
        view.flags.writeable = False
        return view
    if type(dataset) is dict:
        return {name: protected(column) for name, column in dataset.items()}
    return dataset


def remember(dataset: Any) -> None:
    """Register a dataset as private, without keeping it alive."""
    for each in _pieces(dataset):
        try:
            _in_use[id(each)] = each
        except TypeError:  # lists and numbers have no weak references
            continue


def is_private(value: Any) -> bool:
    """Whether a value is, or contains, data that a queryable in this process was given."""
    pieces = (each for each in _pieces(value) if each is not None)
    return any(_in_use.get(id(each)) is each for each in pieces)


def _pieces(dataset: Any) -> Iterator[Any]:
    """The object, the columns of a mapping, and the base arrays of views."""
    yield dataset
    if isinstance(dataset, Mapping):
        for column in dataset.values():
            yield from _pieces(column)
    base = getattr(dataset, "base", None) if isinstance(dataset, np.ndarray) else None
    if isinstance(base, np.ndarray):
        yield base


class Described(ABC):
    """A dataset with a public description, such as a table with typed columns."""

    @abstractmethod
    def check(self, statistic: IntegerStatistic) -> None:
        """Check that a statistic fits the public description. Reads no rows.

        Raises:
            KeyError, TypeError, ValueError: it does not fit; the text says why.
        """


def require_answerable(dataset: Any, holder: Any) -> None:
    """Check that the statistics of a launch or query fit the dataset's public description.

    The result depends on the message and the description, never on a row. So a wrong column name
    is not charged, and the error may quote it. A user's own functions are not checked.

    Args:
        holder: a statistic, or a mechanism whose fields may be statistics.

    Raises:
        QueryError: a statistic does not fit.
    """
    if not isinstance(dataset, Described):
        return
    for statistic in _statistics(holder):
        why = _objection(dataset, statistic)
        if why is not None:
            raise QueryError(
                f"{public_name(statistic)} does not fit the table: {why}; nothing is charged"
            )


def _objection(dataset: Described, statistic: IntegerStatistic) -> str | None:
    try:
        dataset.check(statistic)
    except (KeyError, TypeError, ValueError) as error:
        return str(error.args[0]) if error.args else type(error).__name__
    except Exception:  # it may hold more than public facts; the launch will hide it
        return None
    return None


def _statistics(holder: Any) -> Iterator[IntegerStatistic]:
    kind: type = type(holder)
    fields = attrs.fields(kind) if attrs.has(kind) else ()
    for each in (holder, *(getattr(holder, field.name, None) for field in fields)):
        if isinstance(each, IntegerStatistic) and not isinstance(each, Statistic):
            yield each

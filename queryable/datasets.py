"""The data of running queryables: seen through read-only views, and known not to be samples.

Responsible for these courtesies, and for holding a statistic against what a dataset says of
itself in public. None is a sandbox: see the README.
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
    """The dataset as mechanisms get it: arrays are read-only views.

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
    """Note that some queryable runs over this dataset; it is not kept alive."""
    for each in _pieces(dataset):
        try:
            _in_use[id(each)] = each
        except TypeError:  # a list, a number: it cannot be told apart
            continue


def is_private(value: Any) -> bool:
    """Whether it is, or is made of, data that a queryable in this process was given."""
    pieces = (each for each in _pieces(value) if each is not None)
    return any(_in_use.get(id(each)) is each for each in pieces)


def _pieces(dataset: Any) -> Iterator[Any]:
    """The object itself, the columns of a mapping, and the arrays that views are views of."""
    yield dataset
    if isinstance(dataset, Mapping):
        for column in dataset.values():
            yield from _pieces(column)
    base = getattr(dataset, "base", None) if isinstance(dataset, np.ndarray) else None
    if isinstance(base, np.ndarray):
        yield base


class Described(ABC):
    """A dataset that says in public what it can be asked, such as a table with typed columns."""

    @abstractmethod
    def check(self, statistic: IntegerStatistic) -> None:
        """Hold a statistic against the public description. Reads no rows.

        Raises:
            KeyError, TypeError, ValueError: it does not fit, and why.
        """


def require_answerable(dataset: Any, holder: Any) -> None:
    """Check what a launch or a query wants to evaluate, where the dataset says in public what fits.

    Depends on the message and on the description, never on a row: so a wrong column's name costs
    nothing and may be named. A user's own function is not looked into.

    Args:
        holder: a mechanism, whose fields are looked at, or a statistic.

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
    except Exception:  # not for the analyst's eyes; if it comes again, a launch hides it
        return None
    return None


def _statistics(holder: Any) -> Iterator[IntegerStatistic]:
    kind: type = type(holder)
    fields = attrs.fields(kind) if attrs.has(kind) else ()
    for each in (holder, *(getattr(holder, field.name, None) for field in fields)):
        if isinstance(each, IntegerStatistic) and not isinstance(each, Statistic):
            yield each

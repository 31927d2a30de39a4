"""Datasets: the descriptions that they may have, whom they protect, and which are private.

Responsible for checks that prevent mistakes. Mechanisms get arrays as read-only views; `rehearse`
refuses the data of a queryable; a data set that protects less than its owner may think is warned
about. None of them is a sandbox: see docs/claims.md. What fits a data set is decided in `fit`.
"""

import re
import warnings
from abc import abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Mapping
from pathlib import PurePath
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from queryable.checks.protection import (
    RECORD,
    ROW,
    Protected,
)
from queryable.data import forms
from queryable.data.facts import base_of
from queryable.data.frozen import read_only
from queryable.data.growing import Growing
from queryable.errors import PrivacyWarning
from queryable.statistics import Checked
from queryable.streams.contributions import Records

_FILE = re.compile(r"\.(csv|tsv|parquet)$", re.IGNORECASE)
_in_use: "WeakValueDictionary[int, Any]" = WeakValueDictionary()


class Described(Growing):
    """A dataset with a public description, such as a table with typed columns."""

    @property
    def protects(self) -> Protected:
        """Who is protected: by default each row. Public."""
        return ROW

    @property
    def layout(self) -> str:
        """Its columns with their types, in words; empty if they are not known. Public."""
        return ""

    @property
    def outline(self) -> Any:
        """What makes statistics of it without its rows; None if nothing does. Public."""
        return None

    @property
    def made_of(self) -> tuple[Any, ...]:
        """Other private datasets whose rows are in this one, such as those that were joined."""
        return ()

    @abstractmethod
    def check(self, statistic: Checked) -> None:
        """Check that a statistic fits the public description. Reads no rows.

        Raises:
            KeyError, TypeError, ValueError: it does not fit; the text says why.
        """

    def append(self, records: Any, block: Hashable = None) -> Any:
        """The data set with one more batch; by default it cannot grow.

        If it is called again with the same `records` object, it should return the same value, so
        that a filter and the filters in it share it.

        Raises:
            KeyError, TypeError, ValueError: the batch does not fit the public description.
        """
        raise TypeError(f"{type(self).__name__} cannot grow")

    def over(self, blocks: Iterable[Hashable]) -> Any:
        """The records of the named blocks; by default there are no blocks.

        Raises:
            KeyError: there is no such block.
        """
        raise KeyError(f"{type(self).__name__} has no blocks")

    def records(self, earlier: Records | None = None) -> Records:
        """Its records, rows or privacy units, each with a number; by default they are not read.

        Args:
            earlier: the records before batches were appended. They keep their numbers.

        Raises:
            TypeError: it does not give its rows; `gives_rows` is False then.
        """
        raise TypeError(f"{type(self).__name__} does not give its records")

    def neighbouring(self, batch: Any = None) -> Any:
        """Its form, a `queryable.audit.rows.forms.Form`, of which an audit makes neighbours.

        Args:
            batch: a batch that may be appended, whose form is wanted instead.

        Raises:
            TypeError: it has none.
        """
        raise TypeError(f"{type(self).__name__} gives no neighbours of its data")


def described(dataset: Any) -> tuple[str, Any]:
    """The columns of a dataset in words, and what makes statistics without its rows. Public.

    Returns:
        The text is empty, and the second value None, if there are none.
    """
    if isinstance(dataset, Described):
        return dataset.layout, dataset.outline
    return forms.layout_of(base_of(dataset)), None


def protected(dataset: Any) -> Any:
    """The dataset that mechanisms get: arrays are replaced by read-only views.

    Raises:
        TypeError: a one-shot iterator, which the second mechanism would find empty; or a path.
    """
    if isinstance(dataset, PurePath) or (isinstance(dataset, str) and _FILE.search(dataset)):
        raise TypeError(
            f"write Table({str(dataset)!r}), from mechanisms, to open it: the dataset is a path, "
            "not what is in the file"
        )
    if isinstance(dataset, Iterator):
        raise TypeError("the dataset is a one-shot iterator; pass a list or an array")
    if isinstance(dataset, np.ndarray):
        return read_only(dataset.view())
    if type(dataset) is dict:
        return {name: protected(column) for name, column in dataset.items()}
    return dataset


_PLAIN = {dict: ROW, np.ndarray: ROW} | dict.fromkeys((list, tuple, bool, int, type(None)), RECORD)
"""Who is protected in data of these classes."""

_FRAMES = {"DataFrame", "LazyFrame", "RecordBatch", "Table"}
_ROWS = (
    "rows are protected here, not persons: a person with several rows in this frame is protected "
    "less. Write Queryable(.., Table(frame, privacy_unit='patient', max_rows=4)) with the column "
    "that names persons and how many of their rows to count; if each row is a person, write "
    "Queryable(.., Table(frame)). Table is in mechanisms"
)
_AGAIN = (
    "these data, or a part of them, have a queryable already, and the new one has a budget of its "
    "own: what both reveal adds up. To stay within one budget, ask the first one again; for a part "
    "of its budget, launch a FiltCon in it"
)


def warn(dataset: Any, *, held_by: str | None = None) -> None:
    """Warn if a new queryable protects less than its owner may think.

    It is decided by the class of the dataset and by earlier queryables, never by contents.

    Args:
        held_by: the root of the same ledger that was opened on these data before.
    """
    if _is_frame(dataset):
        warnings.warn(_ROWS, PrivacyWarning, stacklevel=3)
    if held_by is not None:
        warnings.warn(f"{_AGAIN}. It is the root {held_by!r}", PrivacyWarning, stacklevel=3)
    elif is_private(dataset):
        warnings.warn(_AGAIN, PrivacyWarning, stacklevel=3)


def _is_frame(dataset: Any) -> bool:
    """Whether it is a bare frame of pandas, polars or Arrow."""
    classes = type(dataset).__mro__
    libraries = ((each.__module__.partition(".")[0], each.__name__) for each in classes)
    return any(
        lib in ("pandas", "polars", "pyarrow") and name in _FRAMES for lib, name in libraries
    )


def protects(dataset: Any) -> Protected:
    """Who is protected by a budget over a dataset, in words. Public."""
    dataset = base_of(dataset)
    plain = _PLAIN.get(type(dataset))
    if plain is not None:
        return plain
    if isinstance(dataset, Described):
        return dataset.protects
    rows = _is_frame(dataset) or isinstance(dataset, Mapping | np.ndarray)
    return ROW if rows else RECORD


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
    """The object, what it is made of, the columns of a mapping, and the base arrays of views."""
    yield dataset
    if isinstance(dataset, Described):
        for part in dataset.made_of:
            yield from _pieces(part)
    if isinstance(dataset, Mapping):
        for column in dataset.values():
            yield from _pieces(column)
    base = getattr(dataset, "base", None) if isinstance(dataset, np.ndarray) else None
    if isinstance(base, np.ndarray):
        yield base

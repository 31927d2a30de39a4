"""Checks on datasets: read-only views, private data in rehearsals, and fitting statistics.

Responsible for checks that prevent mistakes. Mechanisms get arrays as read-only views; `rehearse`
refuses the data of a queryable; a statistic must fit the public description of a table; a data set
that protects less than its owner may think is warned about. None of them is a sandbox: see the
README.
"""

import re
import warnings
from abc import abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Mapping
from fractions import Fraction
from pathlib import PurePath
from typing import Any
from weakref import WeakValueDictionary

import attrs
import numpy as np

from queryable import streams
from queryable.contributions import Records
from queryable.conversation.recalling import recalling
from queryable.data.facts import Facts, base_of
from queryable.data.frozen import read_only
from queryable.data.growing import Growing
from queryable.data.rows import column_names
from queryable.dry_runs import require_script
from queryable.effort import is_quick
from queryable.errors import PrivacyWarning, QueryError
from queryable.held import held, times_of
from queryable.kinds import kind_of
from queryable.mechanism import InteractiveMechanism
from queryable.optional import (
    counts_batches,
    divides_by,
    in_blocks,
    one_line,
    public_name,
)
from queryable.protection import (
    RECORD,
    ROW,
    Protected,
    level_of,
    require_charged_for,
    whom,
)
from queryable.quoting import quoted
from queryable.statistics import Checked, Statistic

_FILE = re.compile(r"\.(csv|tsv|parquet)$", re.IGNORECASE)
_in_use: "WeakValueDictionary[int, Any]" = WeakValueDictionary()


class Described(Growing):
    """A dataset with a public description, such as a table with typed columns."""

    @property
    def protects(self) -> Protected:
        """Who is protected: by default each row. Public."""
        return ROW

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


def require_opening(dataset: Any, mechanism: InteractiveMechanism[Any]) -> None:
    """Check that a root may be opened with this mechanism over these data. Reads no rows.

    Its claim is about what the data protect, or about units of its own.

    Raises:
        QueryError: it does not fit the data, as for `require_launchable`.
    """
    require_answerable(dataset, mechanism)
    whom(mechanism, protects(dataset))


def require_launchable(dataset: Any, mechanism: InteractiveMechanism[Any]) -> None:
    """Check that a compositor over these data may launch a mechanism, and charge its claim.

    Raises:
        QueryError: it does not fit the data, as for `require_answerable`; or its claim does not
            hold for what the data protect, units or rows.
    """
    found = require_answerable(dataset, mechanism)
    require_charged_for(protects(dataset), mechanism, found)


def require_answerable(dataset: Any, holder: Any) -> list[Any]:
    """Check that what a launch or query holds fits what is public about the dataset.

    All mechanisms, persons and statistics in it are checked, wherever they are nested. The result
    depends on the message and the description, never on a row. So a wrong column name is not
    charged, and the error may quote it. A user's own functions are not checked.

    Args:
        holder: a mechanism, a statistic, or anything in which they may be.

    Returns:
        What it holds; see `held`.

    Raises:
        QueryError: a statistic does not fit, or a mechanism cannot do with the data what it does at
            its start, or a list of queries is never answered.
    """
    base = base_of(dataset)
    found = held(holder)
    kinds = [kind_of(each) for each in found]
    for each, kind in zip(found, kinds, strict=True):
        if kind.mechanism:
            _require_startable(dataset, base, each)
    for each, kind in zip(found, kinds, strict=True):
        if kind.checked:
            why = _objection(base, each)  # the schema is that of all batches
            if why is not None:
                what = "table" if isinstance(base, Described) else "data"
                raise QueryError(
                    f"{why}. {public_name(each)} does not fit the {what}; nothing is charged"
                )
    for each, kind in zip(found, kinds, strict=True):
        asks = getattr(each, "asks", None) if kind.mechanism else None
        if asks is not None and not recalling():
            mechanism, queries = asks()  # while recalling, this was checked before
            times = times_of(holder, each) if is_quick() else Fraction(1)
            require_script(mechanism, queries, dataset, times)
    return found


def _require_startable(dataset: Any, base: Any, mechanism: InteractiveMechanism[Any]) -> None:
    """Check that a mechanism can do with the data what it does at its start. Reads no rows.

    Raises:
        QueryError: it divides rows, and the data protect units, which may have rows in several
            parts, or their rows are not read one by one, or there is no such column; or there is
            no column that names the units that it counts by; or it counts the blocks of units, and
            the data have blocks whose rows it cannot read again; or it answers about batches, and
            none reaches the data.
    """
    if type(dataset) is Facts and not dataset.fed:
        _require_no_batches(mechanism, "this filter")
    key = divides_by(mechanism)
    why = None if key is None else _indivisible(base, key)
    level = level_of(mechanism)
    if isinstance(level, streams.UserLevel | streams.BlockLevel):
        why = why or _no_units(dataset, base, level)
    if why is not None:
        raise QueryError(f"{why}. Nothing is charged")


def require_no_batches(mechanism: Any, name: str) -> None:
    """Check that a mechanism answers about the records of its launch, not about later batches.

    Args:
        name: what it is launched in, which passes no batches on.

    Raises:
        QueryError: it counts batches, or reads the blocks that they belong to.
    """
    for each in held(mechanism):
        _require_no_batches(each, name)


def _require_no_batches(mechanism: Any, name: str) -> None:
    if in_blocks(mechanism) or counts_batches(mechanism):
        raise QueryError(
            f"{type(mechanism).__name__} answers about batches that arrive, and {name} passes none "
            f"on: launch it beside it, in a FiltCon for both. Nothing is charged"
        )


def _no_units(dataset: Any, base: Any, level: streams.UserLevel | streams.BlockLevel) -> str | None:
    """Why a mechanism cannot count by these units; None if it can."""
    names = column_names(base)
    if names is not None and level.column not in names:
        listed = ", ".join(map(quoted, names)) or "none"
        column = quoted(level.column)
        return f"there is no column {column} that names units; the columns are {listed}"
    blocks = dataset.blocks if isinstance(dataset, Described | Facts) else ()
    unread = isinstance(base, Described) and blocks and not base.gives_rows
    if isinstance(level, streams.BlockLevel) and unread:
        return (
            f"the blocks of each {level.column} are counted as their records arrive, and these "
            "data have blocks already; launch it before the first block"
        )
    return None


def _indivisible(dataset: Any, key: Any) -> str | None:
    """Why rows cannot be divided by a column, or by a function of a row; None if they can."""
    whose = protects(dataset).whose
    if whose is not None:
        return (
            f"these data protect all rows of one {one_line(whose)}, which may be in several parts: "
            "use group_by, or one filter for all"
        )
    if isinstance(dataset, Described) and not dataset.gives_rows:
        return "these data are in a database or joined, and cannot be divided into parts"
    names = column_names(dataset)
    if isinstance(key, str) and names is not None and key not in names:
        return f"there is no column {quoted(key)} to divide rows by"
    return None


def _objection(dataset: Any, statistic: Checked) -> str | None:
    try:
        if isinstance(dataset, Described):
            dataset.check(statistic)
        else:
            statistic.check(dataset)
    except (KeyError, TypeError, ValueError) as error:
        return str(error.args[0]) if error.args else type(error).__name__
    except Exception:  # it may hold more than public facts; the launch will hide it
        return None
    return None


def statistics_of(mechanism: Any) -> list[Checked]:
    """The statistics among the fields of a mechanism, which a measurement evaluates itself."""
    kind = type(mechanism)
    names = [field.name for field in attrs.fields(kind)] if attrs.has(kind) else []
    found = (getattr(mechanism, name, None) for name in names)
    return [each for each in found if isinstance(each, Checked) and not isinstance(each, Statistic)]

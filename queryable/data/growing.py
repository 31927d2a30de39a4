"""Data sets that grow: values that share what they have in common.

Responsible for three functions: `grown` is a data set with one more batch, `snapshot` what is in it
now, in the form that mechanisms read, and `over` the records of named blocks. A data set that grows
is a `Grown` value. It never changes. Values that follow from each other share one store of records,
of which each has the first `count`: a filter and the filters in it keep one copy. Two values that
go on differently from the same moment do not share what follows.

What is public about a batch (its form, column names, types of columns) is checked before anything
changes. A list has no schema, so its records are not checked.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, final

import numpy as np
from immutables import Map

from queryable.data import forms
from queryable.data.cells import count_records
from queryable.data.forms import store_of
from queryable.data.later import made
from queryable.data.stores import Store
from queryable.errors import QueryError
from queryable.wording.quoting import quoted

Spans = tuple[tuple[int, int], ...]
"""Where records are: from, and up to but not including."""


class _Block(NamedTuple):
    """The place of a block among all blocks, in the order of their first batches, and its spans."""

    place: int
    spans: Spans


_NO_BLOCKS: "Map[Hashable, _Block]" = Map()


class Growing(ABC):
    """A data set with its own way to grow, such as a table. A value: `append` gives another one."""

    @abstractmethod
    def append(self, records: Any, block: Hashable = None) -> Any:
        """The data set with one more batch.

        Args:
            block: the name of the block that the batch belongs to, public.

        Raises:
            KeyError, TypeError, ValueError: the batch does not fit what is public about the data.
        """

    @abstractmethod
    def over(self, blocks: Iterable[Hashable]) -> Any:
        """The records of the named blocks, in the form of the data set."""

    @property
    def blocks(self) -> tuple[Hashable, ...]:
        """The names of its blocks, in the order in which they were opened. Public."""
        return ()

    @property
    def may_go_on(self) -> bool:
        """Whether records may still arrive for the last of its blocks. Public."""
        return True

    def batch(self, records: Any) -> Any:
        """A batch in the form of the data set; `append` takes it as it takes the batch.

        Raises:
            KeyError, TypeError, ValueError: the batch does not fit what is public about the data.
        """
        return records

    @property
    def gives_rows(self) -> bool:
        """Whether `column_values` and `take` read its rows one by one. Public."""
        return False

    def column_values(self, name: str) -> list[Any]:
        """The cells of a column of a batch, as Python values with None for a missing cell."""
        raise TypeError(f"the rows of a {type(self).__name__} are not read one by one")

    def take(self, rows: Sequence[int]) -> Any:
        """The rows of a batch at these places, as `column_values` counts them."""
        raise TypeError(f"the rows of a {type(self).__name__} are not read one by one")

    def prepare(self, statistics: Iterable[Any]) -> None:  # noqa: B027 (to do nothing is right)
        """Read ahead what these statistics will ask for, such as in one scan of the table.

        A mechanism or compositor calls it after the charge, inside the fault boundary, before it
        evaluates the same statistics one by one. It changes no answer, only how long they take; a
        statistic that cannot be prepared is left to its own evaluation. The default does nothing.
        """


class _Shared:
    """The store of values that follow from each other; none until the first batch arrives."""

    __slots__ = ("base", "store")

    def __init__(self, base: Any, store: Store | None = None) -> None:
        self.base, self.store = base, store


@final
class Grown:
    """A data set and the batches that arrived since; a frozen value."""

    __slots__ = ("_blocks", "_count", "_shared", "_whole")

    def __init__(
        self,
        shared: _Shared,
        count: int | None = None,
        blocks: "Map[Hashable, _Block]" = _NO_BLOCKS,
    ) -> None:
        self._shared, self._count, self._blocks = shared, count, blocks
        self._whole: Any = None

    @property
    def base(self) -> Any:
        """The data that it began with; they have its public schema."""
        return self._shared.base

    @property
    def whole(self) -> Any:
        """All records, in the form of the data that it began with."""
        if self._count is None:
            return self._shared.base
        if self._whole is None:
            self._whole = self._store().part(0, self._count)
        return self._whole

    def _store(self) -> Store:
        shared = self._shared
        if shared.store is None:
            shared.store = store_of(shared.base)
        return shared.store

    def after(self, records: Any, block: Hashable) -> "Grown":
        """The value with one more batch.

        Raises:
            QueryError: the batch does not fit.
        """
        shared = self._shared
        try:
            store = self._store()
            start = store.start if self._count is None else self._count
            known = start == store.last_start and records is store.last_records
            fitted, size = (None, 0) if known else store.fitted(records)
        except (KeyError, TypeError, ValueError) as error:
            raise QueryError(f"{error.args[0]}; nothing has changed") from None
        if not known:
            if start != store.count:  # another value went on from here
                store = store.fork(start)
                shared = _Shared(shared.base, store)
            store.put(start, fitted, size, records)
        stop, blocks = store.last_stop, self._blocks
        if block is not None:
            place, spans = blocks.get(block) or _Block(len(blocks), ())
            last = _joined((*spans[-1:], (start, stop)))
            blocks = blocks.set(block, _Block(place, (*spans[:-1], *last)))
        return Grown(shared, stop, blocks)

    @property
    def blocks(self) -> tuple[Hashable, ...]:
        """The names of the blocks, in the order of their first batches."""
        return tuple(sorted(self._blocks, key=lambda name: self._blocks[name].place))

    def over(self, blocks: Iterable[Hashable]) -> Any:
        """The records of the named blocks, block after block.

        Raises:
            KeyError: there is no such block.
        """
        spans = _joined(span for block in blocks for span in self._blocks[block].spans)
        return self._store().parts(spans)

    def __repr__(self) -> str:
        return "Grown(..)"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Grown):
            return NotImplemented
        if self._blocks != other._blocks:
            return False
        if self._shared is other._shared and self._count == other._count:
            return True
        return _same(self.whole, other.whole)

    def __hash__(self) -> int:
        return hash(("Grown", self._length()))

    def _length(self) -> int:
        if self._count is not None:
            return self._count
        try:
            return count_records(self._shared.base)
        except (TypeError, ValueError):  # such data cannot grow
            return 0

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.whole, dict(self._blocks))


def _restored(whole: Any, blocks: "dict[Hashable, _Block]") -> Grown:
    return Grown(_Shared(whole), None, Map(blocks))


def _joined(spans: Iterable[tuple[int, int]]) -> Spans:
    """The spans with those that follow each other as one; empty ones are left out."""
    found: list[tuple[int, int]] = []
    for start, stop in spans:
        if found and found[-1][1] == start:
            found[-1] = (found[-1][0], stop)
        elif stop > start:
            found.append((start, stop))
    return tuple(found)


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_same(one[name], other[name]) for name in one)
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other)
    if hasattr(one, "equals"):  # a frame
        return type(one) is type(other) and bool(one.equals(other))
    return type(one) is type(other) and bool(one == other)


def growable(dataset: Any) -> Any:
    """The data set as a value that grows; others that are made of the result share its records.

    Reads nothing. What cannot grow is returned as it is.
    """
    if isinstance(dataset, Grown | Growing):
        return dataset
    return Grown(_Shared(dataset))


def grown(dataset: Any, records: Any, block: Hashable = None) -> Any:
    """The data set with one more batch. The data set itself does not change.

    Args:
        records: the batch, in the form of the data set. It must not change afterwards.
        block: the public name of the block that the batch belongs to.

    Raises:
        QueryError: the data set cannot grow, or the batch does not fit what is public about it.
    """
    if isinstance(dataset, Growing):
        return _fitting(lambda: dataset.append(records, block))
    return growable(dataset).after(records, block)


def form_of(dataset: Any) -> "Growing | Store | None":
    """What is public about data, by which `batch_of` checks batches; None if they cannot grow.

    Reads no records, and does not keep them.
    """
    if isinstance(dataset, Growing):
        return dataset
    return forms.form_of(dataset.base if type(dataset) is Grown else dataset)


def batch_of(form: "Growing | Store | None", records: Any) -> Any:
    """A batch in the form of the data, which mechanisms read as they read the data.

    Whether it is one depends on its own public form alone. So mechanisms need not refuse it.

    Raises:
        QueryError: the batch does not fit what is public about the data.
    """
    if isinstance(form, Growing):
        return _fitting(lambda: form.batch(records))
    if form is not None:
        _fitting(lambda: form.fitted(records))
    return records


def _fitting(run: Callable[[], Any]) -> Any:
    try:
        return run()
    except (KeyError, TypeError, ValueError) as error:
        why = error.args[0] if error.args else type(error).__name__
    except OSError as error:
        named = f": {quoted(error.filename)}" if error.filename else ""
        why = f"{error.strerror}{named}" if error.strerror else str(error)
    raise QueryError(f"{why}; nothing has changed")


def snapshot(dataset: Any) -> Any:
    """What is in a data set now, in the form that mechanisms read."""
    dataset = made(dataset)
    return dataset.whole if type(dataset) is Grown else dataset


def launched_on(dataset: Any, *, grows: bool) -> Any:
    """What a mechanism is started with: one that takes batches gets data that grow.

    All others get what is in them now. It reads data, so it runs inside the fault boundary.
    """
    rows = made(dataset)
    if grows:
        return growable(rows)
    return rows.whole if type(rows) is Grown else rows


def over(dataset: Any, blocks: Iterable[Hashable]) -> Any:
    """The records of the named blocks, in the form that mechanisms read.

    Raises:
        KeyError: there is no such block.
    """
    if isinstance(dataset, Grown | Growing):
        return dataset.over(blocks)
    raise KeyError("no batch has arrived, so there are no blocks")

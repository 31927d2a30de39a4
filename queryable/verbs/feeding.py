"""The owner's handle on data that grow.

Responsible for taking batches from the owner: each is copied where it could change, and then sent
to the root as an `Update`. What a batch may be is checked by the data set that grows.
"""

from datetime import date
from pathlib import PurePath
from typing import Any, Never

import numpy as np

from queryable.checks.datasets import protected, remember
from queryable.data.frozen import read_only
from queryable.errors import HandleError, QueryError
from queryable.faults import named
from queryable.mechanism import InteractiveMechanism
from queryable.messages import CloseBlock, Update
from queryable.postprocessing import Postprocessed
from queryable.running.root import MemoryRoot

_NAMES = (str, int, date)


class Feed:
    """The owner's handle: gives the running mechanisms further records.

    Call it with a batch of records, in the form of the data set: a list of records, an array, a
    dict of columns, or a frame; for a table also a path of files. An empty batch is a batch. When
    batches arrive is public; what is in them is not. Mechanisms that are continual, such as filters
    and sparse vectors, go on with all records; others keep the records that they were launched on.
    Nothing is charged, and the view has no entry.

    Examples:
        >>> from composition import FiltCon
        >>> from mechanisms import Count, Laplace
        >>> from queryable import PureDP, Queryable
        >>> visits = Queryable(FiltCon(PureDP(1)), {"age": [31, 47, 62]})
        >>> visits.feed({"age": [25, 58]})
        >>> noisy = visits(Laplace(Count(), epsilon="1/2"))  # of 5 records
    """

    __slots__ = ("_root",)

    def __init__(self, root: MemoryRoot) -> None:
        self._root = root

    def __call__(self, records: Any, block: Any = None) -> None:
        """Give a batch, or an `Update`.

        Args:
            block: the public name of the block that the batch belongs to.

        Raises:
            QueryError: the batch has another form than the data, or the block is closed, or nothing
                here has blocks; nothing has changed.
        """
        if isinstance(records, Update):
            records, block = records.records, records.block if block is None else block
        if block is not None:
            self._require_blocks(block)
        elif _in_blocks(self._root.mechanism):
            raise QueryError("name the block, as in feed(records, block='monday'); nothing changed")
        own = owned(records)
        self._root.feed(Update(own, block))
        if type(own) is not list:
            remember(records)

    def close(self, block: Any) -> None:
        """Close a block: no more records belong to it.

        Raises:
            QueryError: there is no such open block; nothing has changed.
        """
        self._require_blocks(block)
        self._root.feed(CloseBlock(block))

    def _require_blocks(self, block: Any) -> None:
        """Check that blocks have a meaning here: at a `Blocks`, or where one may be launched."""
        require_name(block)
        mechanism = self._root.mechanism
        behind = mechanism
        while isinstance(behind, Postprocessed):
            behind = behind.mechanism
        if not behind.converses and not _in_blocks(mechanism):
            raise QueryError(
                f"{type(mechanism).__name__} has no blocks: feed records without a block, or open "
                "the data with Blocks(..), or with a filter in which one is launched; nothing has "
                "changed"
            )

    def __repr__(self) -> str:
        return "<Feed>"

    def _uncopyable(self, *_: object) -> Never:
        raise HandleError("the owner's handle cannot be copied or pickled")

    __copy__ = __deepcopy__ = __reduce_ex__ = __reduce__ = __getstate__ = _uncopyable


def _in_blocks(mechanism: InteractiveMechanism[Any]) -> bool:
    growth = mechanism.growth
    return growth is not None and growth.in_blocks


def require_name(block: Any) -> None:
    """Check the name of a block.

    Raises:
        QueryError: it is no text, int or date.
    """
    if isinstance(block, bool) or not isinstance(block, _NAMES):
        raise QueryError(f"a block's name is a text, an int or a date, not {named(block)}")


def owned(records: Any) -> Any:
    """The batch, copied if its owner could still change it."""
    kind = type(records)
    if kind is list:
        return records[:]
    if kind is np.ndarray:
        return read_only(records.copy())
    if kind is dict:
        return {name: owned(column) for name, column in records.items()}
    if isinstance(records, str | PurePath):  # files, for a table
        return records
    if kind.__module__.partition(".")[0] == "pandas" and hasattr(records, "copy"):
        return records.copy()
    try:
        return protected(records)
    except TypeError as error:
        raise QueryError(f"{error}; nothing has changed") from None

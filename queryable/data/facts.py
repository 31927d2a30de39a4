"""What is public about a data set, apart from its records.

Responsible for `Facts`, which compositors may look at, and for `Data`, the facts beside the
records, which they may not. Reads no record.
"""

from collections.abc import Hashable
from typing import Any, ClassVar, TypeAlias, final

import attrs
from immutables import Map

from queryable.data.growing import Growing, Grown, growable
from queryable.data.later import Later

Places: TypeAlias = "Map[Hashable, int]"
"""The names of blocks, with their number in the order in which they were opened."""

_NO_BLOCKS: Places = Map()


@final
class Facts:
    """What is public about a data set: its schema and form, whom it protects, and its blocks.

    It gives no record. `queryable.checks.fit` asks it what fits it.

    Attributes:
        fed: whether batches reach what is launched on these data.
    """

    __slots__ = ("_base", "_places", "fed")

    def __init__(self, base: Any, places: Places = _NO_BLOCKS, *, fed: bool = True) -> None:
        self._base, self._places, self.fed = base, places, fed

    @classmethod
    def of(cls, dataset: Any) -> "Facts":
        """The facts about a data set."""
        if type(dataset) is cls:
            return dataset
        blocks = dataset.blocks if isinstance(dataset, Grown | Growing) else ()
        places = Map((name, place) for place, name in enumerate(blocks))
        return cls(dataset.base if type(dataset) is Grown else dataset, places)

    @property
    def blocks(self) -> tuple[Hashable, ...]:
        """The names of the blocks, in the order in which they were opened."""
        return tuple(sorted(self._places, key=self._places.__getitem__))

    def with_block(self, block: Hashable) -> "Facts":
        """The facts after a batch for a block, which it may open; None is no block."""
        if block is None or block in self._places:
            return self
        return Facts(self._base, self._places.set(block, len(self._places)), fed=self.fed)

    def closed(self) -> "Facts":
        """The facts about records of these data that no batch reaches any more."""
        return Facts(self._base, fed=False)

    @property
    def blocks_are_closed(self) -> bool:
        """Whether no records arrive any more for the blocks that the data had at first."""
        return isinstance(self._base, Growing) and not self._base.may_go_on

    def __repr__(self) -> str:
        return "Facts(..)"


@final
@attrs.define(eq=False)  # never changed
class Data:
    """Records that are made when they are needed, and once, beside what is public about them.

    Attributes:
        facts: what is public about the records.
        rows: the records, in the form of the data or as a value that grows.
    """

    facts: Facts = attrs.field(repr=False)
    rows: Later = attrs.field(repr=False)

    holds_later: ClassVar[bool] = True

    @classmethod
    def of(cls, dataset: Any) -> "Data":
        """Data that a root is started on. Nothing is read."""
        if type(dataset) is cls:
            return dataset
        return cls(Facts.of(dataset), Later.of(growable(dataset)))


def base_of(dataset: Any) -> Any:
    """Data with the public schema of a data set, or of its facts. Reads nothing."""
    kind = type(dataset)
    return dataset._base if kind is Facts else dataset.base if kind is Grown else dataset

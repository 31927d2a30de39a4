"""The names of blocks that the owner of a root's data has opened and closed. All of it is public.

It is kept for every root, even where no `Blocks` runs yet: one that is launched later knows the
blocks that there are.
"""

from collections.abc import Hashable
from typing import Any, TypeAlias

from immutables import Map

from queryable.data.facts import Facts
from queryable.errors import QueryError
from queryable.messages import CloseBlock, Query, Update
from queryable.wording.quoting import quoted

Named: TypeAlias = "Map[Hashable, bool]"
"""The blocks, each with whether it is open."""


def at_first(dataset: Any) -> Named:
    """The blocks that the data have when they are opened: the last one may be open."""
    facts = Facts.of(dataset)
    names = facts.blocks
    last = None if facts.blocks_are_closed or not names else names[-1]
    return Map((name, name == last) for name in names)


def after(blocks: Named, message: Query) -> Named:
    """The blocks after a message of the data's owner.

    Raises:
        QueryError: it is for a block that is closed, or closes one that is not open.
    """
    match message:
        case Update(block=None):
            return blocks
        case Update(block=block):
            if blocks.get(block) is False:
                raise QueryError(f"block {quoted(block)} is closed; nothing has changed")
            return blocks.set(block, True)
        case CloseBlock(block):
            if not blocks.get(block):
                what = "is closed already" if block in blocks else "was never opened"
                raise QueryError(f"block {quoted(block)} {what}; nothing has changed")
            return blocks.set(block, False)
    return blocks

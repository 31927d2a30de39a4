"""Queries and answers about blocks of the data, as data.

Responsible for naming blocks in a message: a launch on some of them, and what is public about each.
`composition.Blocks` answers them. Construction checks nothing, as for all messages.
"""

from datetime import date
from typing import Any, TypeAlias

import attrs

from queryable.losses import Loss, Report


@attrs.frozen
class LaunchOver:
    """Start a mechanism on the union of closed blocks of the data; `composition.Blocks` answers it.

    `blocks` is a list or tuple of the names of blocks, each once, or `Last(count)`. Each of these
    blocks is charged, or none. `d_out` is that of a `Launch`.
    """

    mechanism: Any
    blocks: Any
    d_out: Any = None


BlockName: TypeAlias = str | int | date
"""The name of a block of the data."""


@attrs.frozen
class Last:
    """The last `count` closed blocks, as the `blocks` of a `LaunchOver`."""

    count: Any


@attrs.frozen
class BlockLossQuery:
    """Ask for the loss so far of one block of the data, for the unit of the budget."""

    block: Any


@attrs.frozen
class BlocksQuery:
    """Ask for all blocks of the data: the answer is a tuple with a `BlockStated` for each."""


@attrs.frozen
class BlockStated:
    """What is public about a block: its name, whether it is closed, its loss, and what remains."""

    block: BlockName
    closed: bool
    spent: Report
    remaining: Loss | None

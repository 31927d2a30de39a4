"""The blocks of growing data: which there are, which of them is open, and the account of each.

Responsible for names of blocks, their order, and charging several accounts at once. A launch takes
time that is linear in the blocks that it names, whatever their number is. Knows no data.
"""

from collections.abc import Iterable, Iterator
from datetime import date
from itertools import pairwise
from typing import Any

import attrs
from immutables import Map

from composition.compositors.blocks.accounts import (
    Block,
    BlockAccounts,
    Groups,
    Memory,
    Step,
    grouped,
)
from composition.rules import Account
from queryable.data.constants import python_constant
from queryable.errors import QueryError
from queryable.faults import named
from queryable.losses import Loss
from queryable.losses.numbers import natural
from queryable.streams.blocks import BlockName, BlockStated, Last
from queryable.wording.quoting import quoted


@attrs.frozen
class BlockRegister:
    """All blocks and their accounts; a frozen value.

    Attributes:
        empty: the account of a block that was never charged.
        places: the place of each block, by name.
        blocks: the blocks, by place.
        accounts: the accounts of the blocks that were charged, by place.
        closed: how many blocks are closed, the first ones. At most one more is open.
        met: the place of the block that was the last one when this register began. It may have been
            closed before, so the next block may be opened while it is open.
        memory: accounts that were computed before.
    """

    empty: Account
    places: "Map[BlockName, int]" = Map()
    blocks: "Map[int, Block]" = Map()
    accounts: "Map[int, Account]" = Map()
    closed: int = 0
    met: int = -1
    memory: Memory = attrs.field(factory=Memory, eq=False, repr=False)

    @classmethod
    def of(cls, empty: Account, names: Iterable[Any], *, closed: bool = False) -> "BlockRegister":
        """The register of data that have these blocks already.

        Args:
            closed: whether the last one is closed too.
        """
        register = cls(empty)
        for name in names:
            register = attrs.evolve(register, met=register.closed).opened(name)
        count = len(register.blocks)
        return (
            attrs.evolve(register, closed=count)
            if closed
            else attrs.evolve(register, met=count - 1)
        )

    @property
    def open(self) -> Block | None:
        """The block that records are added to now, if there is one."""
        return self.blocks.get(self.closed)

    def opened(self, name: Any) -> "BlockRegister":
        """The register after records for a block of this name: it is opened, if it is new.

        Raises:
            QueryError: the block is closed, or another one is open.
        """
        known, now = block_name(name), self.open
        if now is not None and now.name == known:
            return self
        if known in self.places:
            raise QueryError(f"block {quoted(known)} is closed; nothing has changed")
        closed = self.closed
        if now is not None:
            if now.place != self.met:
                raise QueryError(
                    f"close block {quoted(now.name)} before block {quoted(known)} is opened; "
                    "nothing has changed"
                )
            closed += 1
        block = Block(len(self.blocks), known)
        return attrs.evolve(
            self,
            closed=closed,
            places=self.places.set(known, block.place),
            blocks=self.blocks.set(block.place, block),
        )

    def closing(self, name: Any) -> "BlockRegister":
        """The register after this block was closed.

        Raises:
            QueryError: it is not the open block.
        """
        known, now = block_name(name), self.open
        if now is not None and now.name == known:
            return attrs.evolve(self, closed=self.closed + 1)
        what = "is closed already" if known in self.places else "was never opened"
        raise QueryError(f"block {quoted(known)} {what}; nothing has changed")

    def named(self, blocks: Any) -> tuple[Block, ...]:
        """The closed blocks that a launch names, in the order of their places.

        Raises:
            QueryError: they are no list or tuple of closed blocks, each once, nor a `Last`.
        """
        if isinstance(blocks, Last):
            first = self.closed - self._count(blocks)
            return tuple(self.blocks[place] for place in range(first, self.closed))
        if type(blocks) not in (list, tuple) or not blocks:
            like = f"[{blocks!r}]" if isinstance(blocks, str) else "['monday']"
            raise QueryError(
                f"name blocks in a list that is not empty, as in {like}, or by Last(count); "
                "nothing is charged"
            )
        places, found = self.places, []
        for name in tuple(blocks):
            place = places.get(name) if type(name) in _PLAIN else places.get(block_name(name))
            if place is None or place >= self.closed:
                raise QueryError(f"{self._objection(name)}; nothing is charged")
            found.append(place)
        found.sort()
        chosen = tuple(self.blocks[place] for place in found)
        for block, following in pairwise(chosen):
            if block is following:
                raise QueryError(f"block {quoted(block.name)} is named twice; nothing is charged")
        return chosen

    def known(self, name: Any) -> Block:
        """The block of this name, open or closed.

        Raises:
            QueryError: there is none.
        """
        place = self.places.get(block_name(name))
        if place is None:
            raise QueryError(f"there is no block {quoted(name)}")
        return self.blocks[place]

    def _count(self, last: Last) -> int:
        try:
            count = natural(last.count, "count")
        except (TypeError, ValueError) as error:
            raise QueryError(f"Last: {error}; nothing is charged") from None
        if not self.closed:
            raise QueryError(
                "no block is closed yet, and launches read closed blocks; nothing is charged"
            )
        if not 1 <= count <= self.closed:
            raise QueryError(
                f"Last takes a count from 1 to {self.closed}, which is how many blocks are "
                "closed; nothing is charged"
            )
        return count

    def _objection(self, name: Any) -> str:
        known = block_name(name)
        if known not in self.places:
            return f"there is no block {quoted(known)}"
        return f"block {quoted(known)} is still open, and launches read closed blocks"

    def account(self, block: Block) -> Account:
        """The account of a block."""
        return self.accounts.get(block.place, self.empty)

    def remaining(self, names: Any, *, ended: bool) -> Loss:
        """What a launch over these closed blocks may lose; nothing if there may be none any more.

        Raises:
            QueryError: none are named, or as `named`.
        """
        if names is None:
            raise QueryError(
                "name the blocks, as in remaining(blocks=Last(7)): each has a budget of its own, "
                "and BlocksQuery lists what each has left"
            )
        blocks = self.named(names)
        accounts = BlockAccounts(self.empty, blocks, tuple(map(self.account, blocks)))
        left = accounts.remaining()
        return left.zero() if ended else left

    def steps(self, blocks: Iterable[Block], loss: Any) -> list[Step]:
        """For each block, its account with one more launch, whether or not that fits."""
        get, empty = self.accounts.get, self.empty
        return self.memory.steps([get(block.place, empty) for block in blocks], loss)

    def charged(self, blocks: Iterable[Block], steps: Iterable[Step]) -> "BlockRegister":
        """The register after these steps."""
        accounts = self.accounts.mutate()
        for block, step in zip(blocks, steps, strict=True):
            accounts[block.place] = step.after
        return attrs.evolve(self, accounts=accounts.finish())

    def stated(self) -> Iterator[BlockStated]:
        """What is public about each block, in order."""
        left: dict[int, tuple[Loss, Loss]] = {}
        for place in range(len(self.blocks)):
            block = self.blocks[place]
            account = self.account(block)
            amounts = left.get(id(account))
            if amounts is None:
                left[id(account)] = amounts = (account.total(), account.remaining())
            yield BlockStated(block.name, place < self.closed, *amounts)

    def all_accounts(self) -> Groups:
        """All blocks that were charged, by account."""
        places = sorted(self.accounts)
        held = tuple(self.accounts[place] for place in places)
        return grouped(tuple(self.blocks[place] for place in places), held)


_PLAIN = (str, int, date)


def block_name(name: Any) -> BlockName:
    """Read the name of a block.

    Raises:
        QueryError: it is not a string, an int or a date.
    """
    if isinstance(name, bool) or not isinstance(name, _PLAIN):
        raise QueryError(f"the name of a block is a text, an int or a date, not {named(name)}")
    known: BlockName = python_constant(name)
    return known

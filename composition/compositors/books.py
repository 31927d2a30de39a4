"""The accounts of the blocks of growing data: which blocks there are, and what each has lost.

Responsible for names of blocks, their order, and charging several accounts at once. Blocks with the
same history share one account object, so that a launch over many of them computes each distinct
account once. A launch takes time that is linear in the blocks that it names, whatever their number
is. Knows no data.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from fractions import Fraction
from heapq import nlargest
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import attrs
from immutables import Map

from composition.rules import Account
from queryable.data.constants import plain
from queryable.errors import QueryError
from queryable.faults import named
from queryable.losses import AdditiveLoss, Loss
from queryable.losses.numbers import natural
from queryable.messages import BlockName, BlockStated, Last
from queryable.quoting import quoted
from queryable.receipts import Account as Shown


@attrs.frozen
class Block:
    """A block: its place in the order in which blocks were opened, from 0, and its name."""

    place: int
    name: BlockName


Groups: TypeAlias = tuple[tuple[Account, tuple[Block, ...]], ...]
"""Accounts, each with the blocks that have it."""


class Step(NamedTuple):
    """An account, the account after one more launch, and whether that is within the budget."""

    before: Account
    after: Account
    within: bool


_MOST_STEPS = 20_000


class Memory:
    """The accounts that launches have led to, so that accounts of one value are one object.

    A day's launches lead many blocks through the same accounts, one after the other. It changes no
    result, only how long it takes. Values that follow from each other share one memory.
    """

    __slots__ = ("_known", "_steps", "_taken")

    def __init__(self) -> None:
        self._known: dict[Any, Account] = {}
        self._steps: dict[Loss, dict[int, Step]] = {}
        self._taken = 0

    def steps(self, accounts: Iterable[Account], loss: Any) -> list[Step]:
        """A step of each account, with one more launch of this loss."""
        if self._taken > _MOST_STEPS:
            self.__init__()  # type: ignore[misc]
        known, found = self._steps.setdefault(loss, {}), []
        for account in accounts:
            step = known.get(id(account))
            if step is None:  # a step keeps its account alive, so no other one has its id
                after = self._one(account.add(loss))
                step = known[id(account)] = Step(account, after, after.within)
                self._taken += 1
            found.append(step)
        return found

    def _one(self, account: Account) -> Account:
        packed = account.packed(account)
        return self._known.setdefault(packed, account) if type(packed) is tuple else account

    def __repr__(self) -> str:
        return "Memory(..)"

    def __reduce__(self) -> tuple[Any, ...]:
        return Memory, ()


@attrs.frozen
class BlockAccounts(Shown):
    """The accounts of some blocks, as a receipt and displays have them.

    Attributes:
        empty: the account of a block that was never charged.
        blocks: the blocks, in order.
        accounts: the account of each of them.
        blocks_of_unit: how many blocks a unit may be in; the total is that of so many blocks.
    """

    empty: Account
    blocks: tuple[Block, ...] = ()
    accounts: tuple[Account, ...] = ()
    blocks_of_unit: int = 1

    @classmethod
    def of(cls, empty: Account, groups: Groups, blocks_of_unit: int = 1) -> "BlockAccounts":
        """The accounts of the blocks of groups."""
        pairs = [(block, account) for account, blocks in groups for block in blocks]
        pairs.sort(key=lambda pair: pair[0].place)
        blocks, accounts = zip(*pairs, strict=True) if pairs else ((), ())
        return cls(empty, tuple(blocks), tuple(accounts), blocks_of_unit)

    @property
    def groups(self) -> Groups:
        """The blocks by account."""
        return grouped(self.blocks, self.accounts)

    @property
    def budget(self) -> Any:
        """The budget of each block."""
        return self.empty.budget

    def total(self) -> Loss:
        """The largest loss of a block, or the sum of the largest ones if a unit is in several."""
        return largest(self.groups, self.blocks_of_unit, self.empty)

    def remaining(self) -> Loss:
        """What the block of these that has least left would admit, in each coordinate."""
        left = [account.remaining() for account, _ in self.groups] or [self.empty.remaining()]
        columns = zip(*(_additive(each).parts for each in left), strict=True)
        return _additive(left[0]).room(tuple(map(min, columns)))

    def share(self) -> Fraction | None:
        """The largest used share of a block's budget."""
        shares = [account.share() for account, _ in self.groups]
        known = [share for share in shares if share is not None]
        if len(known) < len(shares):
            return None
        return max(known, default=self.empty.share())

    @property
    def about(self) -> str:
        """The names of the blocks."""
        return f"over {in_words(self.blocks)}"

    def breakdown(self) -> Sequence[tuple[str, Shown]]:
        """The accounts, each with the names of its blocks."""
        return [(in_words(blocks), account) for account, blocks in self.groups]

    def after(self, before: Shown | None) -> Shown:
        """These accounts, and those of the other blocks that were shown before."""
        if not isinstance(before, BlockAccounts):
            return self
        known = dict(zip(before.blocks, before.accounts, strict=True))
        return self._with(known | dict(zip(self.blocks, self.accounts, strict=True)))

    def before(self, known: Shown | None) -> Shown | None:
        """The accounts of these blocks among those that were shown."""
        if not isinstance(known, BlockAccounts):
            return known
        mine = frozenset(self.blocks)
        pairs = zip(known.blocks, known.accounts, strict=True)
        return self._with({block: account for block, account in pairs if block in mine})

    def _with(self, accounts: dict[Block, Account]) -> "BlockAccounts":
        blocks = tuple(sorted(accounts, key=_place))
        held = tuple(accounts[block] for block in blocks)
        return attrs.evolve(self, blocks=blocks, accounts=held)


@attrs.frozen
class Book:
    """All blocks and their accounts; a frozen value.

    Attributes:
        empty: the account of a block that was never charged.
        places: the place of each block, by name.
        blocks: the blocks, by place.
        accounts: the accounts of the blocks that were charged, by place.
        closed: how many blocks are closed, the first ones. At most one more is open.
        met: the place of the block that was the last one when this book began. It may have been
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
    def of(cls, empty: Account, names: Iterable[Any], *, closed: bool = False) -> "Book":
        """The book of data that have these blocks already.

        Args:
            closed: whether the last one is closed too.
        """
        book = cls(empty)
        for name in names:
            book = attrs.evolve(book, met=book.closed).opened(name)
        count = len(book.blocks)
        return attrs.evolve(book, closed=count) if closed else attrs.evolve(book, met=count - 1)

    @property
    def open(self) -> Block | None:
        """The block that records are added to now, if there is one."""
        return self.blocks.get(self.closed)

    def opened(self, name: Any) -> "Book":
        """The book after records for a block of this name: it is opened, if it is new.

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

    def closing(self, name: Any) -> "Book":
        """The book after this block was closed.

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
                f"Last takes a count from 1 to {self.closed}, the number of closed blocks; nothing "
                "is charged"
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

    def steps(self, blocks: Iterable[Block], loss: Any) -> list[Step]:
        """For each block, its account with one more launch, whether or not that fits."""
        get, empty = self.accounts.get, self.empty
        return self.memory.steps([get(block.place, empty) for block in blocks], loss)

    def charged(self, blocks: Iterable[Block], steps: Iterable[Step]) -> "Book":
        """The book after these steps."""
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
    known: BlockName = plain(name)
    return known


def largest(groups: Groups, count: int, empty: Account) -> Loss:
    """The sum of the losses of the `count` blocks that lost most, in each coordinate."""
    zero = _additive(empty.total())
    totals = [(_additive(account.total()).parts, len(blocks)) for account, blocks in groups]
    if count == 1:
        columns = zip(zero.parts, *(parts for parts, _ in totals), strict=True)
        return zero.of_parts(tuple(map(max, columns)))
    each = [parts for parts, blocks in totals for _ in range(min(blocks, count))]
    return zero.of_parts(
        tuple(
            max(least, sum(nlargest(count, column), Fraction(0)))
            for least, *column in zip(zero.parts, *each, strict=True)
        )
    )


_MOST_RUNS = 4


def in_words(blocks: Iterable[Block]) -> str:
    """The names of blocks; successive ones as the first and the last."""
    runs: list[list[Block]] = []
    for block in sorted(blocks, key=_place):
        if runs and runs[-1][-1].place + 1 == block.place:
            runs[-1].append(block)
        else:
            runs.append([block])
    texts = [
        ", ".join(str(block.name) for block in run)
        if len(run) < 3
        else f"{run[0].name} to {run[-1].name}"
        for run in runs
    ]
    if len(texts) > _MOST_RUNS + 1:
        left = sum(map(len, runs[_MOST_RUNS:]))
        texts = [*texts[:_MOST_RUNS], f"{left:,} more"]
    return ", ".join(texts)


def grouped(blocks: Sequence[Block], accounts: Sequence[Account]) -> Groups:
    """The blocks by account, in the order of their first block."""
    by_object: dict[int, Any] = {}
    found: dict[Any, tuple[Account, list[Block]]] = {}
    for block, account in zip(blocks, accounts, strict=True):
        key = by_object.get(id(account))
        if key is None:
            packed = account.packed(account)
            key = by_object[id(account)] = packed if type(packed) is tuple else id(account)
            found.setdefault(key, (account, []))
        found[key][1].append(block)
    return tuple((account, tuple(held)) for account, held in found.values())


def _place(block: Block) -> int:
    return block.place


def _additive(loss: Any) -> AdditiveLoss:
    assert isinstance(loss, AdditiveLoss)
    return loss

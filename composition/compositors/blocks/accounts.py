"""Accounts of several blocks: what a launch adds to each, and what receipts and displays show.

Blocks with the same history share one account object, so that a launch over many of them computes
each distinct account once. Knows no data, and not which blocks there are.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from heapq import nlargest
from typing import Any, NamedTuple, TypeAlias

import attrs

from composition.rules import Account
from queryable.losses import AdditiveLoss, Loss
from queryable.losses.numbers import at_least_one, natural
from queryable.receipts import RunningTotal as Shown
from queryable.streams.blocks import BlockName
from queryable.wording.quoting import an_instance, quoted


def _each(kind: type) -> Any:
    """An attrs validator: a tuple of instances of this class."""

    def check(_: object, attribute: Any, values: object) -> None:
        if type(values) is not tuple or not all(
            issubclass(k, kind) for k in set(map(type, values))
        ):
            wanted = f"a tuple, each a {kind.__name__}"
            raise TypeError(f"{attribute.name} is {quoted(values)}; it should be {wanted}")

    return check


def _read_place(value: Any) -> int:
    return natural(value, "place")


def _blocks_of_unit(value: Any) -> int:
    return at_least_one(value, "blocks_of_unit")


@attrs.frozen
class Block:
    """A block: its place in the order in which blocks were opened, from 0, and its name."""

    place: int = attrs.field(converter=_read_place)
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

    empty: Account = attrs.field(validator=an_instance(Account))
    blocks: tuple[Block, ...] = attrs.field(default=(), validator=_each(Block))
    accounts: tuple[Account, ...] = attrs.field(default=(), validator=_each(Account))
    blocks_of_unit: int = attrs.field(default=1, converter=_blocks_of_unit)

    def __attrs_post_init__(self) -> None:
        budget = self.empty.budget
        alike = all(each.budget is budget or each.budget == budget for each in self.accounts)
        if len(self.blocks) != len(self.accounts) or not alike:
            raise ValueError(f"there should be an account of the budget {budget} for each block")

    def written(self) -> tuple[Any, ...]:
        """The arguments of `of_written`."""
        return self.empty, self.groups, self.blocks_of_unit

    @classmethod
    def of_written(cls, empty: Account, groups: Groups, blocks_of_unit: int) -> "BlockAccounts":
        """The accounts of what was written."""
        return cls.of(empty, groups, blocks_of_unit)

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

    def spent(self) -> object:
        """What the block that was charged most has used, in each coordinate.

        If launches are charged in the budget's own measure, it is the total.
        """
        if not self.counts:
            return self.total()
        used = [account.spent() for account, _ in self.groups] or [self.empty.spent()]
        if not all(isinstance(each, AdditiveLoss) for each in used):
            return self.total()
        columns = zip(*(_additive(each).parts for each in used), strict=True)
        return _additive(used[0]).of_parts(tuple(map(max, columns)))

    @property
    def counts(self) -> str:
        """That of each block."""
        return self.empty.counts

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

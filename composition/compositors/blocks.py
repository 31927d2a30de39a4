"""Blocks of growing data, each with an account of its own.

Responsible for `Blocks`: what a launch over blocks charges, and the messages of the data's owner.
The blocks are in `block_register`, their accounts in `block_accounts`, the rows of a unit in
`units`. The theory is in docs/theory/proofs/blocks.md.
"""

from collections.abc import Sequence
from typing import Any

import attrs

from composition.compositors.block_accounts import Block, BlockAccounts, Step, in_words, largest
from composition.compositors.block_register import BlockRegister
from composition.compositors.block_state import (
    BlocksState,
    ClaimOver,
    OrderOver,
    d_in_of_claim,
    parsed_over,
    plain_filter,
    unit_blocks,
    unit_column,
    unit_rows,
)
from composition.compositors.children import (
    NO_CHILDREN,
    ask_within,
    require_depth,
    require_live,
)
from composition.compositors.claims import claim_of, claim_over, correction, map_at
from composition.compositors.filters import FiltCon
from composition.compositors.launching import Due, Launching
from composition.compositors.state import CompositionState
from composition.compositors.units import NO_UNITS, Units, kept_rows
from composition.proofs import ask
from composition.rules import Account, Basic
from composition.verdicts import Column
from queryable.data.growing import (
    blocks_are_closed,
    closed,
    growable,
    grown,
    names_of_blocks,
    over,
)
from queryable.data.later import Data
from queryable.datasets import protects, require_no_batches
from queryable.errors import UnknownQueryError
from queryable.guarantees import Guarantee, documented
from queryable.losses import AdditiveLoss, Loss, Report, group_size
from queryable.mechanism import InteractiveMechanism
from queryable.messages import (
    Answer,
    Ask,
    BlockLossQuery,
    BlocksQuery,
    CanAfford,
    CloseBlock,
    Failed,
    Launch,
    LaunchMany,
    LaunchOver,
    MeasureQuery,
    PrivacyLossQuery,
    Query,
    Refused,
    Stated,
    Update,
    d_in_of,
)
from queryable.optional import NO_RUN
from queryable.randomness.coins import SYSTEM, Coins
from queryable.receipts import Receipt
from queryable.streams import BlockLevel, EventLevel, Neighbours

_LEAVE_OUT = ". Or launch over blocks that can pay: BlocksQuery lists what each has left"


@attrs.frozen
class Blocks(Launching, InteractiveMechanism[BlocksState]):
    """Growing data in named blocks, such as days, each with a budget of its own.

    Answers: LaunchOver, LaunchMany of these, Ask, PrivacyLossQuery, BlockLossQuery, BlocksQuery,
    CanAfford, MeasureQuery. A launch runs on the union of the closed blocks that it names. Each
    of them is charged the whole loss. If one of them cannot pay, the launch is `Refused`, none is
    charged, and nothing was read. A child keeps the records that it was launched on.

    The owner of the data adds records with `feed(records, block=name)`. The first records of a
    block open it. `feed.close(name)` closes it for good, before the next one is opened.

    Privacy:
        Claim: the interaction loses at most the filter's budget for streams that differ in one
            record, for every adversary; above that, the group bound of it. With `unit`, at most
            `unit_blocks` times the budget for streams that differ in all records of one unit.
        Theorem: docs/theory.md, blocks of growing data.
        Assumes: the names of blocks and the times of batches are public; the launched privacy maps
            are sound; refusals depend on the view only.
        Checked by: tests/audit/test_blocks.py
    Args:
        filter: a `FiltCon` with the budget, the rule and the `d_in` of each block. Its
            `max_mechanisms` bounds the launches over all blocks.
        unit: a column that names units, such as persons. The rows of a unit in its first
            `unit_blocks` blocks count; others are dropped when they arrive. Data that protect units
            of their own need it, with the same column.
        unit_blocks: in how many blocks a unit counts.
        unit_rows: how many rows of a unit count in one block, the first ones. It is not used for
            data that bound the rows of units themselves.

    Examples:
        >>> from composition import FiltCon
        >>> from mechanisms import Count, Gaussian
        >>> from queryable import Last, Queryable, ZCDP
        >>> table = Queryable(Blocks(FiltCon(ZCDP("1/10"))), {"age": []})
        >>> table.feed({"age": [31, 47]}, block="monday")
        >>> table.feed.close("monday")
        >>> noisy = table.launch_over(Gaussian(Count(), rho="1/50"), ["monday"])
        >>> noisy = table.launch_over(Gaussian(Count(), rho="1/50"), Last(1))
        >>> table.privacy_loss()
        ZCDP(rho='1/25')
    """

    composes = True
    continual = True
    recallable = True
    reports_loss = True
    in_blocks = True

    filter: FiltCon = attrs.field(validator=plain_filter, metadata={NO_RUN: True})
    unit: str | None = attrs.field(default=None, converter=unit_column)
    unit_blocks: int = attrs.field(default=1, converter=unit_blocks)
    unit_rows: int = attrs.field(kw_only=True, default=1, converter=unit_rows)

    def __attrs_post_init__(self) -> None:
        if self.unit is None and (self.unit_blocks, self.unit_rows) != (1, 1):
            raise ValueError("unit_blocks and unit_rows need unit, the column that names units")
        budget = self.filter.budget
        if self._most_blocks > 1:  # the accounts of several blocks are composed
            ask(Basic(), budget.measure, Column.ADAPTIVE).cover(self.filter, self.filter.d_in)

    @property
    def _most_blocks(self) -> int:
        """In how many blocks streams at the filter's `d_in` differ."""
        return self.filter.d_in * self.unit_blocks

    @property
    def coin_at_launch(self) -> bool:  # type: ignore[override]
        """The filter's: children are covered by its theorem."""
        return self.filter.coin_at_launch

    @property
    def neighbours(self) -> Neighbours:
        """One record, or all records of one unit."""
        if self.unit is None:
            return EventLevel()
        return BlockLevel(self.unit, self.unit_blocks, self.unit_rows)

    @property
    def d_in(self) -> int:
        """The records, or units, that the budget of a block is stated for."""
        return self.filter.d_in

    def loss(self, d_in: int) -> Loss:
        """The budget of as many blocks as may differ; the group privacy bound above `d_in`."""
        most, budget = self.filter.d_in, self.filter.budget
        count = min(d_in, most) * self.unit_blocks
        if count > 1:
            assert isinstance(budget, AdditiveLoss)
            budget = budget.of_parts(tuple(count * part for part in budget.parts))
        return budget.group(group_size(d_in, most))

    def guarantee(self) -> Guarantee:
        """The guarantee in the docstring, for the units at hand and with the filter's theorem."""
        written = documented(type(self))
        return attrs.evolve(
            written,
            claim=f"{written.claim} {self._whom}",
            theorem=f"docs/theory.md, blocks of growing data; {self.filter.proof.theorem}.",
        )

    @property
    def _whom(self) -> str:
        if self.unit is None:
            return (
                "Here each record is protected in its own block: a person with records in k blocks "
                "is protected as k records, so read privacy_loss(d_in=k)."
            )
        return (
            f"Here all records of one {self.unit} are protected together: those in its first "
            f"{self.unit_blocks:,} blocks count, and later ones are dropped."
        )

    def account(self) -> BlockAccounts:
        """The accounts before anything is charged."""
        return BlockAccounts(self._empty, (), (), self._most_blocks)

    @property
    def _empty(self) -> Account:
        empty = self.filter.account()
        assert isinstance(empty, Account)
        return empty

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[BlocksState, Answer]:
        """Start with the blocks that the data have already; there is no opening answer."""
        data, units = growable(dataset), NO_UNITS
        closed = blocks_are_closed(data)
        register = BlockRegister.of(self._empty, names_of_blocks(data), closed=closed)
        if self.unit is not None and register.blocks:
            data, units = self._restricted(data, register)
        return BlocksState(data, register, units=units), None

    def step(
        self, state: BlocksState, query: Query, coins: Coins = SYSTEM
    ) -> tuple[BlocksState, Answer]:
        """Answer launches over blocks and questions about them; take the owner's messages."""
        match query:
            case Ask(child, inner):
                require_depth(query, self.filter.max_depth)
                return self._ask(state, child, inner, coins)
            case LaunchOver() | LaunchMany():
                return self._launch(state, query, coins)
            case PrivacyLossQuery(d_in):
                return state, self._privacy_loss(state, d_in)
            case BlockLossQuery(name):
                return state, state.register.account(state.register.known(name)).total()
            case BlocksQuery():
                return state, tuple(state.register.stated())
            case CanAfford(launch):
                return state, self._can_afford(state, launch)
            case MeasureQuery():
                return state, Stated(self.filter.proof.measure, self._records(state, None))
            case Update() | CloseBlock():
                return self._grown(state, query), None
            case Launch():
                raise UnknownQueryError(
                    "name the blocks to launch on, as in launch_over(mechanism, ['monday']) or "
                    "release(statistic, .., blocks=Last(7)); nothing is charged"
                )
        raise UnknownQueryError(
            f"{correction(query)}, and {type(self).__name__} answers LaunchOver, LaunchMany, Ask, "
            "PrivacyLossQuery, BlockLossQuery, BlocksQuery, CanAfford and MeasureQuery"
        )

    # The messages of the data's owner.

    def _grown(self, state: BlocksState, message: Update | CloseBlock) -> BlocksState:
        """Add records to a block, or close it. Nothing is charged, and no child learns of it."""
        if isinstance(message, CloseBlock):
            return attrs.evolve(state, register=state.register.closing(message.block))
        data, records, units = state.dataset, message.records, state.units
        if message.block is None:  # these records are in no block, so no launch reads them
            return attrs.evolve(state, dataset=grown(data, records))
        register = state.register.opened(message.block)
        block = register.open
        assert block is not None
        if self.unit is not None:
            records, units = self._kept(state.dataset, records, units, block)
        return attrs.evolve(
            state, dataset=grown(data, records, block.name), register=register, units=units
        )

    def _kept(self, data: Any, records: Any, units: Units, block: Block) -> tuple[Any, Units]:
        assert self.unit is not None
        rows = None if self._bounds_units(data) else self.unit_rows
        return kept_rows(records, self.unit, units, block.place, self.unit_blocks, rows)

    def _restricted(self, data: Any, register: BlockRegister) -> tuple[Any, Units]:
        """The data with the rows that count of the blocks that are there already."""
        kept, units = growable(over(data, ())), NO_UNITS
        for place in range(len(register.blocks)):
            block = register.blocks[place]
            records, units = self._kept(data, over(data, (block.name,)), units, block)
            kept = grown(kept, records, block.name)
        return kept, units

    def _bounds_units(self, data: Any) -> bool:
        """Whether the data protect units of their own, and bound their rows."""
        return protects(data).whose is not None

    # What `launching` asks about launches.

    def _records(self, state: BlocksState, blocks: Sequence[Block] | None) -> int:
        """In how many records the union of these blocks differs; None stands for any blocks."""
        d_in = self.filter.d_in
        if self.unit is None or self._bounds_units(state.dataset):
            return d_in
        most = self.unit_blocks if blocks is None else min(len(blocks), self.unit_blocks)
        return d_in * self.unit_rows * most

    def _checked(self, state: BlocksState, query: Any) -> OrderOver:
        launch = parsed_over(query)
        blocks = state.register.named(launch.blocks)
        mechanism = launch.mechanism
        require_no_batches(mechanism, "Blocks")
        proof, d_in = self.filter.proof, self._records(state, blocks)
        plain = Launch(mechanism, launch.d_out)
        claim = claim_over(state.dataset, plain, lambda each: claim_of(each, proof.measure, d_in))
        proof.cover(claim.mechanism, d_in, coined=claim.coined)
        stated = ClaimOver(claim.mechanism, claim.loss, coined=claim.coined, d_in=d_in)
        return OrderOver(launch, stated, blocks)

    def _charged(self, state: BlocksState, order: OrderOver) -> tuple[BlocksState, Due | Refused]:
        """Ask the rule of every block, then charge all of them or none."""
        claim = order.claim
        steps = state.register.steps(order.blocks, claim.loss)
        refusal = self._refusal(state, order, steps)
        shown = tuple([step.before if refusal else step.after for step in steps])
        accounts = BlockAccounts(state.register.empty, order.blocks, shown, self._most_blocks)
        receipt = Receipt(claim.mechanism, order.launch.d_out, claim.d_in, claim.loss, accounts)
        if refusal is not None:
            return state, attrs.evolve(refusal, receipt=receipt)
        identity = len(state.claims)
        claims = state.claims.set(identity, state.shared(claim))
        living = NO_CHILDREN if claim.mechanism.retires_others else state.children
        register, units = state.register.charged(order.blocks, steps), state.units
        due = Due(order, identity, claim.loss, Failed(receipt=receipt), state)
        return BlocksState(state.dataset, register, claims, living, units), due

    def _refusal(
        self, state: BlocksState, order: OrderOver, steps: Sequence[Step]
    ) -> Refused | None:
        """The refusal, if a block cannot pay or there were too many launches; it names blocks."""
        unable = [place for place, step in enumerate(steps) if not step.within]
        first = steps[unable[0] if unable else 0]
        asked = CompositionState(None, first.before, state.claims)
        refusal = self.filter._launch_refused(asked, first.after, order.claim.loss)
        if refusal is None or not unable:
            return refusal
        who = f"block{'s' if len(unable) > 1 else ''} "
        who += in_words(order.blocks[place] for place in unable)
        reason = f"{who} cannot pay: {refusal.reason}"
        return attrs.evolve(refusal, reason=reason, instead=refusal.instead + _LEAVE_OUT)

    def _give_data(self, state: BlocksState, due: Sequence[Due]) -> None:
        """The records of the named blocks, which are read inside the fault boundary, and once."""
        unions: dict[tuple[int, ...], Data] = {}
        for each in due:
            places = tuple([block.place for block in each.order.blocks])
            names = tuple([block.name for block in each.order.blocks])
            each.data = unions.setdefault(places, closed(state.dataset, over, state.dataset, names))

    def _ask(
        self, state: BlocksState, child: Any, query: Query, coins: Coins
    ) -> tuple[BlocksState, Answer]:
        identity = require_live(state.children, child, state.launched)
        assert isinstance(identity, int)
        d_in = d_in_of_claim(state.claims[identity])
        return ask_within(state, identity, query, d_in, coins)

    def _privacy_loss(self, state: BlocksState, d_in: Any) -> Report:
        """What the blocks that may differ have lost at most; above `d_in` the privacy map."""
        at = d_in_of(d_in, self.filter.d_in)
        if at == 0:
            return self.filter.budget.zero()
        if at > self.filter.d_in:
            return map_at(self, at, None)
        register = state.register
        return largest(register.all_accounts(), at * self.unit_blocks, register.empty)

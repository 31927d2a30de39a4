"""Blocks of growing data, each with an account of its own.

Responsible for `Blocks`: what a launch over blocks charges, and the messages of the data's owner.
The blocks are in `register`, their accounts in `accounts`, the rows of a unit in
`units`. The theory is in docs/theory/proofs/blocks.md.
"""

from collections.abc import Sequence
from operator import getitem
from typing import Any

import attrs

from composition.compositors.blocks.accounts import Block, BlockAccounts, Step, in_words, largest
from composition.compositors.blocks.register import BlockRegister
from composition.compositors.blocks.state import (
    BlocksState,
    ClaimOver,
    OrderOver,
    d_in_of_claim,
    not_answered,
    parsed_over,
    plain_filter,
    unit_blocks,
    unit_column,
    unit_rows,
    whom,
)
from composition.compositors.blocks.units import Units, kept_rows, restricted
from composition.compositors.children import report_about, require_depth, require_live
from composition.compositors.claims import claim_of, claim_over, map_at
from composition.compositors.filters import FiltCon
from composition.compositors.launching import Due, Launching, Orders
from composition.compositors.state import CompositionState
from composition.proofs import ask
from composition.rules import Account, Basic
from composition.verdicts import CompositionKind
from queryable.checks.datasets import protects
from queryable.checks.fit import require_no_batches
from queryable.conversation import Compositor, Data, Later, Live, Moved, Pass, Ready, Reported, Talk
from queryable.data.facts import Facts
from queryable.data.growing import grown, over
from queryable.losses import AdditiveLoss, Loss, Report, group_size
from queryable.messages import (
    Ask,
    CanAfford,
    CloseBlock,
    Failed,
    Launch,
    LaunchMany,
    MeasureQuery,
    PrivacyLossQuery,
    Query,
    Refused,
    RemainingQuery,
    Stated,
    Update,
    d_in_of,
)
from queryable.optional import NO_RUN
from queryable.receipts import Receipt
from queryable.streams.blocks import BlockLossQuery, BlockName, BlocksQuery, LaunchOver
from queryable.streams.levels import BlockLevel, EventLevel, Growth, Neighbours
from queryable.wording.guarantees import Guarantee, documented

_LEAVE_OUT = ". Or launch over blocks that can pay: BlocksQuery lists what each has left"


@attrs.frozen
class Blocks(Launching, Compositor):
    """Growing data in named blocks, such as days, each with a budget of its own.

    Answers: LaunchOver, LaunchMany of these, Ask, PrivacyLossQuery, BlockLossQuery, BlocksQuery,
    RemainingQuery, CanAfford, MeasureQuery. A launch runs on the union of the closed blocks that it
    names. Each of them is charged the whole loss. If one of them cannot pay, the launch is
    `Refused`, none is charged, and nothing was read. A child keeps the records that it was launched
    on.

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

    growth = Growth(in_blocks=True)
    recallable = True
    reports_loss = True

    filter: FiltCon = attrs.field(validator=plain_filter, metadata={NO_RUN: True})
    unit: str | None = attrs.field(default=None, converter=unit_column)
    unit_blocks: int = attrs.field(default=1, converter=unit_blocks)
    unit_rows: int = attrs.field(kw_only=True, default=1, converter=unit_rows)

    def __attrs_post_init__(self) -> None:
        if self.unit is None and (self.unit_blocks, self.unit_rows) != (1, 1):
            raise ValueError("unit_blocks and unit_rows need unit, the column that names units")
        budget = self.filter.budget
        if self._most_blocks > 1:  # the accounts of several blocks are composed
            ask(Basic(), budget.measure, CompositionKind.ADAPTIVE).cover(
                self.filter, self.filter.d_in
            )

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
            claim=f"{written.claim} {whom(self.unit, self.unit_blocks)}",
            theorem=f"docs/theory.md, blocks of growing data; {self.filter.proof.theorem}.",
        )

    def account(self) -> BlockAccounts:
        """The accounts before anything is charged."""
        return BlockAccounts(self._empty, (), (), self._most_blocks)

    @property
    def _empty(self) -> Account:
        empty = self.filter.account()
        assert isinstance(empty, Account)
        return empty

    def open(self, data: Data) -> Moved:
        """Start with the blocks that the data have already; there is no opening answer."""
        facts = data.facts
        register = BlockRegister.of(self._empty, facts.blocks, closed=facts.blocks_are_closed)
        if self.unit is None or not register.blocks:
            return Moved(BlocksState(data, register), None)
        kept = Later(restricted, data.rows, facts.blocks, self.unit, *self._bounds(facts))
        rows, units = (Later(getitem, kept, place) for place in (0, 1))
        return Moved(BlocksState(Data(facts, rows), register, units=units), None)

    def understood(self, own: BlocksState, query: Query, live: Live) -> Any:  # type: ignore[override]
        """What launches over blocks, questions about them, and the owner's messages say."""
        match query:
            case Ask(child, inner):
                require_depth(query, self.filter.max_depth)
                return self._asked(own, child, inner, live)
            case LaunchOver() | LaunchMany():
                return self._ordered(own, query)
            case PrivacyLossQuery(d_in):
                return Reported(self._privacy_loss(own, d_in))
            case BlockLossQuery(name):
                return Reported(own.register.account(own.register.known(name)).total())
            case BlocksQuery():
                return Reported(tuple(own.register.stated()))
            case CanAfford(launch):
                return Reported(self._can_afford(own, launch))
            case MeasureQuery():
                return Reported(Stated(self.filter.proof.measure, self._records(own, None)))
            case RemainingQuery(blocks):
                ended = len(own.claims) == self.filter.max_mechanisms
                return Reported(own.register.remaining(blocks, ended=ended))
            case Update():
                return self._grown(own, query)
            case CloseBlock(name):
                return attrs.evolve(own, register=own.register.closing(name))
        raise not_answered(query, type(self).__name__)

    def converse(self, own: BlocksState, understood: Any, live: Live) -> Talk | Moved:
        """Launch, ask a child, or take what the owner says."""
        if type(understood) is Orders:
            return self._launch(own, understood)
        return self._fed(understood)

    # The messages of the data's owner.

    def _grown(self, own: BlocksState, batch: Update) -> BlocksState:
        """The state with more records. Nothing is charged, and no child learns of it."""
        facts, rows, records = own.data.facts, own.data.rows, batch.records
        if batch.block is None:  # these records are in no block, so no launch reads them
            return attrs.evolve(own, data=Data(facts, Later(grown, rows, records)))
        register, units = own.register.opened(batch.block), own.units
        block = register.open
        assert block is not None
        if self.unit is not None:
            kept = Later(kept_rows, records, self.unit, units, block.place, *self._bounds(facts))
            records, units = (Later(getitem, kept, place) for place in (0, 1))
        data = Data(facts.with_block(block.name), Later(_grown, rows, records, block.name, units))
        return BlocksState(data, register, own.claims, units)

    def _fed(self, own: BlocksState) -> Talk:
        """Make the records now, so that a batch that does not fit is refused."""
        yield Ready("data", own.data.rows)
        return Moved(own, None)

    def _bounds(self, facts: Facts) -> tuple[int, int | None]:
        """In how many blocks a unit counts, and how many of its rows in each.

        None for all: data that protect units of their own bound their rows.
        """
        return self.unit_blocks, self.unit_rows if protects(facts).whose is None else None

    def _records(self, own: BlocksState, blocks: Sequence[Block] | None) -> int:
        """In how many records the union of these blocks differs; None stands for any blocks."""
        d_in = self.filter.d_in
        if self.unit is None or self._bounds(own.data.facts)[1] is None:
            return d_in
        most = self.unit_blocks if blocks is None else min(len(blocks), self.unit_blocks)
        return d_in * self.unit_rows * most

    def _checked(self, own: BlocksState, query: Any) -> OrderOver:
        launch = parsed_over(query)
        blocks = own.register.named(launch.blocks)
        mechanism = launch.mechanism
        require_no_batches(mechanism, "Blocks")
        proof, d_in = self.filter.proof, self._records(own, blocks)
        plain = Launch(mechanism, launch.d_out)
        claim = claim_over(own.data.facts, plain, lambda each: claim_of(each, proof.measure, d_in))
        proof.cover(claim.mechanism, d_in, coined=claim.coined)
        stated = ClaimOver(claim.mechanism, claim.loss, coined=claim.coined, d_in=d_in)
        return OrderOver(launch, stated, blocks)

    def _charged(self, own: BlocksState, order: OrderOver) -> tuple[BlocksState, Due | Refused]:
        """Ask the rule of every block, then charge all of them or none."""
        claim = order.claim
        steps = own.register.steps(order.blocks, claim.loss)
        refusal = self._refusal(own, order, steps)
        shown = tuple([step.before if refusal else step.after for step in steps])
        accounts = BlockAccounts(own.register.empty, order.blocks, shown, self._most_blocks)
        receipt = Receipt(claim.mechanism, order.launch.d_out, claim.d_in, claim.loss, accounts)
        if refusal is not None:
            return own, attrs.evolve(refusal, receipt=receipt)
        identity = len(own.claims)
        claims = own.claims.set(identity, own.shared(claim))
        due = Due(order, identity, claim.loss, Failed(receipt=receipt), own)
        register = own.register.charged(order.blocks, steps)
        return BlocksState(own.data, register, claims, own.units), due

    def _refusal(self, own: BlocksState, order: OrderOver, steps: Sequence[Step]) -> Refused | None:
        """The refusal, if a block cannot pay or there were too many launches; it names blocks."""
        unable = [place for place, step in enumerate(steps) if not step.within]
        first = steps[unable[0] if unable else 0]
        asked = CompositionState(own.data, first.before, own.claims)
        refusal = self.filter._launch_refused(asked, first.after, order.claim.loss)
        if refusal is None or not unable:
            return refusal
        who = f"block{'s' if len(unable) > 1 else ''} "
        who += in_words(order.blocks[place] for place in unable)
        reason = f"{who} cannot pay: {refusal.reason}"
        return attrs.evolve(refusal, reason=reason, instead=refusal.instead + _LEAVE_OUT)

    def _give_data(self, own: BlocksState, due: Sequence[Due]) -> None:
        """The records of the named blocks, which are read when a mechanism needs them, and once."""
        facts, unions = own.data.facts.closed(), dict[tuple[int, ...], Data]()
        for each in due:
            places = tuple([block.place for block in each.order.blocks])
            names = tuple([block.name for block in each.order.blocks])
            each.data = unions.setdefault(places, Data(facts, Later(over, own.data.rows, names)))

    def _asked(self, own: BlocksState, child: Any, query: Query, live: Live) -> Pass | Reported:
        identity: Any = require_live(live, child, own.launched)
        claim = own.claims[identity]
        return report_about(claim, query, d_in_of_claim(claim)) or Pass(identity, query)

    def _privacy_loss(self, own: BlocksState, d_in: Any) -> Report:
        """What the blocks that may differ have lost at most; above `d_in` the privacy map."""
        at = d_in_of(d_in, self.filter.d_in)
        if at == 0:
            return self.filter.budget.zero()
        if at > self.filter.d_in:
            return map_at(self, at, None)
        register = own.register
        return largest(register.all_accounts(), at * self.unit_blocks, register.empty)


def _grown(rows: Any, records: Any, block: BlockName, _: Units) -> Any:
    """The data with one more batch. The units are made with it, so that nothing else is kept."""
    return grown(rows, records, block)

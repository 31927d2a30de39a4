"""A policy over blocks: what each block may lose a day.

Responsible for `AtMostADay`, a person in the middle. It sees messages only, and it asks `Blocks`
which blocks are closed. It has no privacy claim: the budgets of the blocks hold without it.
"""

from typing import Any

import attrs
from immutables import Map

from composition.compositors.claims import claim_of
from composition.rules import Account, Basic, Rule
from queryable.errors import PrivacyClaimError, QueryError, UnknownQueryError
from queryable.losses import Loss
from queryable.losses.numbers import natural
from queryable.messages import (
    Answer,
    CanAfford,
    Failed,
    Launch,
    Launched,
    LaunchMany,
    MeasureQuery,
    Refused,
    RemainingQuery,
    Stated,
)
from queryable.postprocessing import (
    FromAnalyst,
    FromMechanism,
    PersonInTheMiddle,
    ToAnalyst,
    ToMechanism,
)
from queryable.randomness.coins import Coins
from queryable.streams.blocks import BlockName, BlocksQuery, BlockStated, Last, LaunchOver
from queryable.wording.quoting import an_instance, quoted

_TOMORROW = (
    "nothing was read or charged. Ask again after the next block is closed, launch on other "
    "blocks, or launch a mechanism that loses less"
)

Spent = Map[BlockName, Account]


@attrs.frozen
class Weighed:
    """A launch about which the mechanism is being asked.

    Attributes:
        launch: the launch.
        dry: whether only `CanAfford` was asked.
        d_in: the records that charges are stated for, once that is known.
        after: what the blocks have lost today once the launch has run, when it is sent.
    """

    launch: LaunchOver
    dry: bool
    d_in: int | None = None
    after: Spent | None = None


@attrs.frozen
class Day:
    """What was lost since the last block was closed.

    Attributes:
        closed: the number of closed blocks, which tells days apart.
        spent: what each block that was charged has lost in this day.
        weighed: the launch that is being considered; None while messages pass.
    """

    closed: int = 0
    spent: Spent = Map()
    weighed: Weighed | None = None


@attrs.frozen
class AtMostADay(PersonInTheMiddle[Day]):
    """Lets each block of `Blocks` lose at most `most` a day, so that a budget lasts for some time.

    A day begins when a block is closed. A launch through which a block would lose more in this day
    is `Refused`, and nothing is charged. Several launches are sent one after the other.

    Privacy:
        Claim: that of the mechanism. This is a policy: it delays what the budgets allow.
        Theorem: Haney et al. 2023, Theorem 2.17.
        Checked by: tests/unit/composition/compositors/blocks/test_register.py
    Args:
        most: what a block may lose a day. With a tenth of a block's budget, the budget lasts for
            at least ten days.
        rule: how the losses of a day add up.

    Examples:
        >>> from composition import Blocks, FiltCon
        >>> from mechanisms import Count, Gaussian
        >>> from queryable import Queryable, ZCDP
        >>> table = Queryable(AtMostADay(ZCDP("1/100")) @ Blocks(FiltCon(ZCDP("1/10"))), [])
        >>> table.feed([1, 2], block="monday")
        >>> table.feed.close("monday")
        >>> noisy = table.launch_over(Gaussian(Count(), rho="1/100"), ["monday"])
        >>> table.can_afford(Gaussian(Count(), rho="1/100"), blocks=["monday"])
        False
    """

    most: Loss = attrs.field(validator=an_instance(Loss))
    rule: Rule = attrs.field(factory=Basic, validator=an_instance(Rule))
    _empty: Account = attrs.field(init=False, repr=False, eq=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "_empty", self.rule.open(self.most))

    def init(self) -> Day:
        """Nothing was lost."""
        return Day()

    def step(
        self, state: Day, message: FromAnalyst | FromMechanism, coins: Coins
    ) -> tuple[Day, ToMechanism | ToAnalyst]:
        """Weigh launches over blocks; pass everything else."""
        if isinstance(message, FromAnalyst):
            return self._asked(state, message.query)
        if state.weighed is None:
            return state, ToAnalyst(message.answer)
        return self._weighed(state, state.weighed, message.answer)

    def _asked(self, state: Day, query: Any) -> tuple[Day, ToMechanism]:
        if isinstance(query, LaunchMany):
            raise UnknownQueryError("launch one after the other: a day's losses are limited")
        if isinstance(query, RemainingQuery):
            raise UnknownQueryError(
                "state the loss, and ask can_afford(..): what a block may lose today is limited too"
            )
        dry = isinstance(query, CanAfford)
        launch = query.launch if dry else query
        if not isinstance(launch, LaunchOver):
            return attrs.evolve(state, weighed=None), ToMechanism(query)
        launch = LaunchOver(launch.mechanism, _read_once(launch.blocks), launch.d_out)
        # The first question finds all that may be wrong with the launch: it changes nothing.
        return attrs.evolve(state, weighed=Weighed(launch, dry)), ToMechanism(CanAfford(launch))

    def _weighed(
        self, state: Day, weighed: Weighed, answer: Answer
    ) -> tuple[Day, ToMechanism | ToAnalyst]:
        done = attrs.evolve(state, weighed=None)
        if weighed.after is not None:
            charged = isinstance(answer, Launched | Failed)
            return (attrs.evolve(done, spent=weighed.after) if charged else done), ToAnalyst(answer)
        if answer is True:
            return state, ToMechanism(MeasureQuery())
        if isinstance(answer, Stated):
            asking = attrs.evolve(weighed, d_in=answer.d_in)
            return attrs.evolve(state, weighed=asking), ToMechanism(BlocksQuery())
        if weighed.d_in is not None and _is_list_of_blocks(answer):
            return self._decided(state, weighed, weighed.d_in, answer)
        # It refuses the launch, or it is not a mechanism with blocks: its answer says so.
        return (done, ToAnalyst(answer)) if weighed.dry else (done, ToMechanism(weighed.launch))

    def _decided(
        self, state: Day, weighed: Weighed, d_in: int, blocks: tuple[BlockStated, ...]
    ) -> tuple[Day, ToMechanism | ToAnalyst]:
        closed = [each.block for each in blocks if each.closed]
        today = state.spent if len(closed) == state.closed else Map()
        state = Day(len(closed), today)
        launch = weighed.launch
        names = _names(launch.blocks, closed)
        refusal, after = self._charged(today, launch, names, d_in)
        if weighed.dry:
            return state, ToAnalyst(refusal is None)
        if refusal is not None:
            return state, ToAnalyst(refusal)
        sent = LaunchOver(launch.mechanism, names, launch.d_out)
        return attrs.evolve(state, weighed=attrs.evolve(weighed, after=after)), ToMechanism(sent)

    def _charged(
        self, today: Spent, launch: LaunchOver, names: tuple[BlockName, ...], d_in: int
    ) -> tuple[Refused | None, Spent]:
        """What the blocks have lost today after this launch, or why it may not run today."""
        try:
            measure = self.rule.child_measure(self.most)
            loss = claim_of(Launch(launch.mechanism, launch.d_out), measure, d_in).loss
        except PrivacyClaimError as error:
            return Refused(f"the policy of a day: {error}"), today
        after = today
        for name in names:
            known = today.get(name, self._empty)
            account = known.add(loss)
            if not account.within:
                reason = f"block {quoted(name)} has a limit a day, and this launch would exceed it"
                return Refused(reason, loss, known.spent(), known.remaining(), _TOMORROW), today
            after = after.set(name, account)
        return None, after


def _read_once(blocks: Any) -> Any:
    """The blocks of a launch as plain values, so that they are the same at each question."""
    if not isinstance(blocks, Last):
        return tuple(blocks) if type(blocks) in (list, tuple) else blocks
    try:
        return Last(natural(blocks.count, "count"))
    except (TypeError, ValueError) as error:
        raise QueryError(f"Last: {error}; nothing is charged") from None


def _names(blocks: Any, closed: list[BlockName]) -> tuple[BlockName, ...]:
    """The names of the blocks of a launch that the mechanism has found right."""
    return tuple(closed[-blocks.count :] if isinstance(blocks, Last) else blocks)


def _is_list_of_blocks(answer: Answer) -> bool:
    return isinstance(answer, tuple) and all(isinstance(each, BlockStated) for each in answer)

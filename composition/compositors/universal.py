"""The universal mechanism (Haney et al. 2023, Algorithm 10): it is chosen by its first query."""

from typing import Any

import attrs

from composition.compositors.adaptive import d_in_field
from composition.compositors.children import Children
from composition.compositors.claims import claim_of, claim_over, parsed
from composition.compositors.grows import GrowsByProof
from composition.compositors.launching import Due, Launching, Order
from composition.proofs import Proof, ask, require_known
from composition.verdicts import Column, Way
from queryable.data.growing import grown
from queryable.errors import MechanismFault, PrivacyClaimError, UnknownQueryError
from queryable.faults import contained_step, contained_update, in_dry_run
from queryable.guarantees import Guarantee, documented
from queryable.losses import Loss, group_size
from queryable.mechanism import InteractiveMechanism, Measurement
from queryable.messages import (
    OWNERS,
    Answer,
    CloseBlock,
    Failed,
    Launch,
    Launched,
    MeasureQuery,
    Query,
    Stated,
    Update,
)
from queryable.quoting import an_instance
from queryable.randomness.coins import SYSTEM, Coins

_CHILD = "launched"


@attrs.frozen
class UniversalState:
    """The data until a mechanism is launched, then that mechanism and its state."""

    dataset: Any = attrs.field(repr=False)
    mechanism: InteractiveMechanism[Any] | None = None
    state: Any = attrs.field(default=None, repr=False)
    messages: int = 0


@attrs.frozen
class Universal(Launching, GrowsByProof[UniversalState]):
    """A mechanism that becomes the first one launched in it whose loss fits the budget.

    Answers: MeasureQuery, and one Launch, with the mechanism's opening; then what that mechanism
    answers. A launch
    that does not fit is a `PrivacyClaimError`, after which another one is accepted.

    Privacy:
        Claim: the loss is at most `budget` at `d_in`, for every adversary.
        Theorem: Haney et al. 2023, proof of Lemma 4.7: it is a postprocessing of what is launched.
        Checked by: tests/audit/test_reductions.py
    """

    budget: Loss = attrs.field(validator=an_instance(Loss))
    d_in: int = attrs.field(kw_only=True, default=1, converter=d_in_field)

    proof: Proof = attrs.field(init=False, repr=False, eq=False)

    composes = True
    interleaves = False
    runs_dry = True
    continual = GrowsByProof.continual  # its own `step` takes batches
    coin_at_launch = True  # what is launched is checked

    def __attrs_post_init__(self) -> None:
        require_known(self.budget)
        proof = ask(Way.ONE, self.budget.measure, Column.ADAPTIVE)
        object.__setattr__(self, "proof", proof)

    def guarantee(self) -> Guarantee:
        """The guarantee, with the theorem of the table's cell."""
        theorem, growing = f"{self.proof.theorem}.", self.proof.growing_theorem
        return attrs.evolve(documented(type(self)), theorem=theorem, growing=growing)

    def loss(self, d_in: int) -> Loss:
        """The budget up to the own `d_in`; the group privacy bound of the budget above it."""
        return self.budget.group(group_size(d_in, self.d_in))

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[UniversalState, Answer]:
        """Wait for a launch; there is no opening answer."""
        return UniversalState(dataset), None

    def step(
        self, state: UniversalState, query: Query, coins: Coins = SYSTEM
    ) -> tuple[UniversalState, Answer]:
        """Take one launch, then pass every query to the mechanism."""
        if state.mechanism is None and isinstance(query, MeasureQuery):
            return state, Stated(self.proof.measure, self.d_in)
        if isinstance(query, OWNERS):
            return self._grow(state, query, coins), None
        mechanism = state.mechanism
        if mechanism is None:
            if not isinstance(query, Launch):
                name = type(query).__name__
                raise UnknownQueryError(f"Universal takes one Launch first, not {name}")
            return self._launch(state, query, coins)
        if isinstance(mechanism, Measurement):
            mechanism.understood(query)  # it answers no queries
        messages = state.messages + 1
        own_coins = coins.spawn(_CHILD, messages)

        def after(moved: Any) -> Any:  # None if the mechanism failed
            return moved and (UniversalState(None, mechanism, moved[0], messages), moved[1])

        dry = in_dry_run()
        if dry is not None:
            moved = dry.asked(state.state, query, lambda: own_coins)
        else:
            moved = contained_step(
                lambda: mechanism.step(state.state, query, own_coins),
                after,
                composes=mechanism.composes,
            )
        if moved is None:
            raise MechanismFault
        stepped: tuple[UniversalState, Answer] = after(moved)
        return stepped

    def _grow(
        self, state: UniversalState, message: Update | CloseBlock, coins: Coins
    ) -> UniversalState:
        """Grow the data that a mechanism will be launched on, or pass the message to it."""
        self.require_growing()
        mechanism, messages = state.mechanism, state.messages + 1
        if mechanism is None:
            if isinstance(message, CloseBlock):
                return state
            data = grown(state.dataset, message.records, message.block)
            return UniversalState(data, None, None, messages)
        if not mechanism.continual:
            return state
        own_coins = coins.spawn("launched", messages)
        moved = contained_update(
            lambda: mechanism.step(state.state, message, own_coins), composes=mechanism.composes
        )
        if moved is None:
            raise MechanismFault
        return UniversalState(None, mechanism, moved[0], messages)

    def _checked(self, state: UniversalState, query: Any) -> Order:
        launch = parsed(query)
        measure, d_in = self.proof.measure, self.d_in
        claim = claim_over(state.dataset, launch, lambda each: claim_of(each, measure, d_in))
        self.proof.cover(claim.mechanism, self.d_in, coined=claim.coined)
        return Order(launch, claim)

    def _charged(self, state: UniversalState, order: Order) -> tuple[UniversalState, Due]:
        """The whole budget is charged, and one mechanism is all that it pays for.

        Raises:
            PrivacyClaimError: it does not fit the budget.
        """
        mechanism, loss = order.claim.mechanism, order.claim.loss
        if not loss <= self.budget:
            raise PrivacyClaimError(
                f"{loss} does not fit the budget {self.budget} of Universal; nothing was read; "
                "launch a mechanism that fits"
            )
        messages = state.messages + 1
        due = Due(order, _CHILD, loss, Failed(), state, messages)
        return UniversalState(state.dataset, mechanism, None, messages), due

    def _ran(
        self, state: UniversalState, due: Due, children: Children, answer: Answer
    ) -> tuple[UniversalState, Answer]:
        if not isinstance(answer, Launched):
            raise MechanismFault
        child = children.get(_CHILD)
        inner = None if child is None else child.state
        return UniversalState(None, state.mechanism, inner, state.messages), answer.answer

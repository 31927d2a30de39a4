"""The universal mechanism (Haney et al. 2023, Algorithm 10): it is chosen by its first query."""

from typing import Any

import attrs

from composition.compositors.children import Asked, d_in_field
from composition.compositors.claims import claim_of, claim_over, parsed
from composition.compositors.grows import GrowsByProof, grown_by
from composition.compositors.launching import Due, Launching, Order, Orders
from composition.proofs import Proof, ask, require_known
from composition.verdicts import CompositionKind, Way
from queryable.conversation import LOST, Data, Live, Moved, Pass, Reported, Talk
from queryable.errors import PrivacyClaimError, UnknownQueryError
from queryable.losses import Loss, group_size
from queryable.mechanism import InteractiveMechanism, Measurement
from queryable.messages import (
    OWNERS,
    Answer,
    CloseBlock,
    Failed,
    Launch,
    MeasureQuery,
    Query,
    RemainingQuery,
    Stated,
    Update,
)
from queryable.wording.guarantees import Guarantee, documented
from queryable.wording.quoting import an_instance

_CHILD = "launched"


@attrs.frozen
class UniversalState:
    """The own state: data and the batches so far until a mechanism is launched, then that one."""

    data: Data | None = attrs.field(repr=False)
    mechanism: InteractiveMechanism[Any] | None = None
    batches: int = 0


@attrs.frozen
class Universal(Launching, GrowsByProof):
    """A mechanism that becomes the first one launched in it whose loss fits the budget.

    Answers: MeasureQuery, RemainingQuery, and one Launch, with the mechanism's opening; then what
    that mechanism answers. A launch that does not fit is a `PrivacyClaimError`, after which another
    one is accepted.

    Privacy:
        Claim: the loss is at most `budget` at `d_in`, for every adversary.
        Theorem: Haney et al. 2023, proof of Lemma 4.7: it is a postprocessing of what is launched.
        Checked by: tests/audit/test_reductions.py
    """

    budget: Loss = attrs.field(validator=an_instance(Loss))
    d_in: int = attrs.field(kw_only=True, default=1, converter=d_in_field)

    proof: Proof = attrs.field(init=False, repr=False, eq=False)

    interleaves = False
    coin_at_launch = True  # what is launched is checked

    def __attrs_post_init__(self) -> None:
        require_known(self.budget)
        proof = ask(Way.ONE, self.budget.measure, CompositionKind.ADAPTIVE)
        object.__setattr__(self, "proof", proof)

    def guarantee(self) -> Guarantee:
        """The guarantee, with the theorem of the table's cell."""
        theorem, growing = f"{self.proof.theorem}.", self.proof.growing_theorem
        return attrs.evolve(documented(type(self)), theorem=theorem, growing=growing)

    def loss(self, d_in: int) -> Loss:
        """The budget up to the own `d_in`; the group privacy bound of the budget above it."""
        return self.budget.group(group_size(d_in, self.d_in))

    def open(self, data: Data) -> Moved:
        """Wait for a launch; there is no opening answer."""
        return Moved(UniversalState(data), None)

    def understood(self, own: UniversalState, query: Query, live: Live) -> Any:  # type: ignore[override]
        """The launch once it is checked; then the step that every query is."""
        mechanism = own.mechanism
        if mechanism is None and isinstance(query, MeasureQuery):
            return Reported(Stated(self.proof.measure, self.d_in))
        if mechanism is None and isinstance(query, RemainingQuery):
            return Reported(self.budget)
        if isinstance(query, OWNERS):
            self.require_growing()
            return query
        if mechanism is None:
            if not isinstance(query, Launch):
                name = type(query).__name__
                raise UnknownQueryError(f"Universal takes one Launch first, not {name}")
            return self._ordered(own, query)
        if isinstance(mechanism, Measurement):
            mechanism.understood(query)  # it answers no queries
        return Asked(_CHILD, query)

    def converse(self, own: UniversalState, understood: Any, live: Live) -> Talk | Moved:
        """Take one launch, then pass every query to the mechanism. It is lost with this one."""
        kind = type(understood)
        if kind is Orders:
            return self._become(own, understood)
        if kind is Asked:
            return self._pass(own, Pass(*understood))
        return self._grow(own, understood, live)

    def _become(self, own: UniversalState, ordered: Orders) -> Talk:
        moved = yield from self._launch(own, ordered)
        return LOST if moved.state.data is not None else moved

    def _pass(self, own: UniversalState, passed: Pass) -> Talk:
        moved = yield passed
        return LOST if moved is LOST else Moved(own, moved.answer)

    def _grow(self, own: UniversalState, message: Update | CloseBlock, live: Live) -> Talk:
        """Grow the data that a mechanism will be launched on, or pass the message to it."""
        if own.data is None:
            if _CHILD in live and live[_CHILD].growth is not None:
                return (yield from self._pass(own, Pass(_CHILD, message)))
        elif isinstance(message, Update):
            data = yield from grown_by(message, own.data)
            own = UniversalState(data, batches=own.batches + 1)
        return Moved(own, None)

    def _checked(self, own: UniversalState, query: Any) -> Order:
        """Also that it fits the budget, which is charged as a whole: it pays for one mechanism.

        Raises:
            QueryError: it is wrong, or does not fit.
        """
        launch, budget = parsed(query), self.budget
        measure, d_in = self.proof.measure, self.d_in
        assert own.data is not None
        claim = claim_over(own.data.facts, launch, lambda each: claim_of(each, measure, d_in))
        self.proof.cover(claim.mechanism, d_in, coined=claim.coined)
        if not claim.loss <= budget:
            raise PrivacyClaimError(
                f"{claim.loss} does not fit the budget {budget} of Universal; nothing was read; "
                "launch a mechanism that fits"
            )
        return Order(launch, claim)

    def _charged(self, own: UniversalState, order: Order) -> tuple[UniversalState, Due]:
        """The own state as it is: if the launch fails, none stands."""
        return own, Due(order, _CHILD, order.claim.loss, Failed(), own, own.batches + 1)

    def _ran(
        self, own: UniversalState, due: Due, moved: Moved | None
    ) -> tuple[UniversalState, Answer]:
        if moved is LOST:
            return own, due.failed
        return UniversalState(None, due.order.claim.mechanism), moved.answer

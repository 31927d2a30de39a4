"""Adaptive composition: what filters and odometers have in common.

Algorithms 3 and 6 of Haney et al. 2023 up to the point where they differ: what happens to a launch
that the account does not permit. The order of a launch is in `launching`; this file says what is
checked and what is charged. What runs is the runner's concern (`queryable.conversation`).
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import attrs

from composition.compositors.children import (
    d_in_field,
    left_for_a_launch,
    max_depth_field,
    max_mechanisms_field,
    report_about,
    require_depth,
    require_live,
)
from composition.compositors.claims import Claim, claim_of, claim_over, correction, parsed
from composition.compositors.grows import GrowsByProof, grown_by
from composition.compositors.launching import Due, Launching, Order, Orders
from composition.compositors.state import CompositionState
from composition.proofs import Proof, ask
from composition.rules import Accumulator, Rule, RunningAccount
from composition.verdicts import CompositionKind, Way
from queryable.checks.held import cannot_change
from queryable.conversation import Data, Live, Moved, Pass, Reported, Talk
from queryable.effort import LEFT
from queryable.errors import QueryError, UnknownChildError, UnknownQueryError
from queryable.losses import Loss, Measure, Report
from queryable.mechanism import Measurement
from queryable.messages import (
    OWNERS,
    Answer,
    Ask,
    CanAfford,
    CloseBlock,
    Failed,
    Halted,
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
    entries_of,
)
from queryable.receipts import Receipt
from queryable.wording.guarantees import Guarantee, documented
from queryable.wording.quoting import as_made

_NO_MORE = (
    "nothing was read or charged. Ask the children that run already: they go on answering. "
    "max_mechanisms bounds the number of launches, whatever the budget"
)
_CONVERSATIONS = ("open", "understood", "passes", "converse", "_launch")


@attrs.frozen(repr=False)
class AdaptiveComposition(Launching, GrowsByProof):
    """Base of filters and odometers."""

    reports_loss = True
    noninteractive: ClassVar[bool] = False
    """Whether only noninteractive mechanisms may be launched."""

    d_in: int = attrs.field(kw_only=True, default=1, converter=d_in_field)
    max_mechanisms: int | None = attrs.field(
        kw_only=True, default=None, converter=max_mechanisms_field
    )
    max_depth: int = attrs.field(kw_only=True, default=100, converter=max_depth_field)
    proof: Proof = attrs.field(init=False, repr=False, eq=False)
    """The theorem that covers the compositor; constructing one without a theorem fails."""

    def __repr__(self) -> str:
        """The budget or measure first, and what differs from its default."""
        return as_made(self)

    def __attrs_post_init__(self) -> None:
        alone = self.noninteractive or not self.interleaves
        column = CompositionKind.SEQUENTIAL if alone else CompositionKind.ADAPTIVE
        object.__setattr__(self, "proof", ask(self._composes_by, self.child_measure, column))

    @property
    def coin_at_launch(self) -> bool:  # type: ignore[override]
        """Whether all children pay their delta by a coin at their launch.

        `proof.cover` checks each interleaved child; sequential children are not checked. The
        closure under composition is proven for the rules of the table, not for vouched ones.
        """
        return self.interleaves and not self.proof.vouched

    @property
    @abstractmethod
    def child_measure(self) -> Measure:
        """The measure that launches state their loss in."""

    @abstractmethod
    def _opened(self) -> RunningAccount:
        """The empty account."""

    def _exceeds(
        self, account: RunningAccount, candidate: RunningAccount, requested: Loss
    ) -> Refused | None:
        """The refusal, if the candidate account may not replace the account; None if it may."""
        return None

    def _declined(self, own: CompositionState, refusal: Refused) -> tuple[CompositionState, Answer]:
        """The own state and answer after a refusal: by default the state is unchanged."""
        return own, refusal

    def _still_halted(self, own: CompositionState, query: Query) -> Answer:
        """The answer to a query after a halt. Launches are not checked any more."""
        if not isinstance(query, Launch):
            return Halted(str(own.halted))
        receipt = Receipt(query.mechanism, None, self.d_in, None, own.account)
        return Halted(str(own.halted), receipt=receipt)

    @property
    @abstractmethod
    def _composes_by(self) -> Rule | Accumulator | Way:
        """The rule, accumulator or way that the table of theorems is asked about."""

    def guarantee(self) -> Guarantee:
        """The guarantee in the docstring, with the theorem of the table's cell."""
        theorem, growing = f"{self.proof.theorem}.", self.proof.growing_theorem
        return attrs.evolve(documented(type(self)), theorem=theorem, growing=growing)

    def account(self) -> RunningAccount | None:
        """The empty account; None for a subclass that charges in its own way.

        The receipts in the answers of such a subclass need not contain all that it charges.
        """
        return self._opened() if self._is_as_here(["_launch"]) else None

    @property
    def recallable(self) -> bool:  # type: ignore[override]
        """Whether no subclass overrides how it starts, launches and asks."""
        return self.converses and self._is_as_here(_CONVERSATIONS)

    def _is_as_here(self, names: Sequence[str]) -> bool:
        """Whether no subclass overrides these methods."""
        kind = type(self)
        return all(getattr(kind, name) is getattr(AdaptiveComposition, name) for name in names)

    def open(self, data: Data) -> Moved:
        """Start with an empty account and no children; there is no opening answer."""
        return Moved(CompositionState(data, self._opened()), None)

    def understood(self, own: CompositionState, query: Query, live: Live) -> Any:  # type: ignore[override]
        """What a launch or an `Ask` is, once it is checked; or the answer to any other query."""
        if isinstance(query, PrivacyLossQuery):
            return Reported(self._privacy_loss(own, query.d_in))
        if isinstance(query, MeasureQuery):
            return Reported(Stated(self.proof.measure, self.d_in))
        if isinstance(query, RemainingQuery):
            return Reported(left_for_a_launch(own, query.blocks, self.max_mechanisms))
        if own.halted is not None:
            return Reported(self._halted(own, query))
        match query:
            case Ask():
                return self._asked(own, query, live)
            case Launch() | LaunchMany():
                return self._ordered(own, query)
            case CanAfford(launch):
                return Reported(self._affordable(own, launch, live))
            case Update() | CloseBlock():
                self.require_growing()
                return query
        raise UnknownQueryError(
            f"{correction(query)}, and {type(self).__name__} answers Launch, LaunchMany, Ask, "
            "PrivacyLossQuery, RemainingQuery, CanAfford and MeasureQuery"
        )

    def passes(self, own: CompositionState, identity: Any, query: Query, depth: int) -> bool:
        """Whether its child is charged in full; a report about it may be the compositor's."""
        fixed: bool = own.claims[identity].fixed and own.halted is None
        return fixed and depth <= self.max_depth and not issubclass(type(query), PrivacyLossQuery)

    def converse(self, own: CompositionState, understood: Any, live: Live) -> Talk | Moved:
        """Ask the rule and charge, then run."""
        if type(understood) is Orders:
            return self._launch(own, understood)
        return self._grow(own, understood, live)

    def _halted(self, own: CompositionState, query: Query) -> Answer:
        """The answer after a halt: the same to every query but reports. A batch has none."""
        if isinstance(query, OWNERS):
            return None
        if isinstance(query, LaunchMany):
            return tuple(self._still_halted(own, each) for each in entries_of(query))
        return False if isinstance(query, CanAfford) else self._still_halted(own, query)

    def _grow(self, own: CompositionState, message: Update | CloseBlock, live: Live) -> Talk:
        """Grow the own data, then pass the message to the children that take it, in launch order.

        Nothing is charged. A child that keeps a snapshot does not learn of it.
        """
        data = yield from grown_by(message, own.data)
        known: Any = sorted(live) if own.streams is None else own.streams
        streams = tuple(each for each in known if each in live and live[each].growth is not None)
        yield [Pass(each, message) for each in streams]
        return Moved(CompositionState(data, own.account, own.claims, streams=streams), None)

    def _asked(self, own: CompositionState, query: Ask, live: Live) -> Any:
        child = self._child(own, query, live)
        return self._step(own.claims[child], child, query.query)

    def _step(self, claim: Any, child: int, query: Query) -> Any:
        """What is done about a query to a live child: a report or a step."""
        return report_about(claim, query, self.d_in) or Pass(child, query)

    def _child(self, own: CompositionState, query: Ask, live: Live) -> int:
        """The live child that is asked.

        Raises:
            QueryError: there is none, or the query is nested too deep.
        """
        require_depth(query, self.max_depth)
        child = query.child
        if type(child) is int and child in live:
            return child
        require_live(live, child, own.launched)
        # a subclass of int, which may compare equal to different ids in turn
        raise UnknownChildError(f"a child's id is an int, not {type(child).__name__}")

    def _claim(self, launch: Launch) -> Claim:
        """The checked claim of a launch.

        Raises:
            PrivacyClaimError: the mechanism states no loss in the compositor's measure, or `d_out`
                is below its privacy map.
        """
        return claim_of(launch, self.proof.measure, self.d_in)

    def _require_proven(self, claim: Claim) -> None:
        """Check that a theorem covers the child.

        Raises:
            UnprovenCompositionError: no theorem does.
            QueryError: the child is interactive and the compositor is for measurements.
        """
        self.proof.cover(claim.mechanism, self.d_in, coined=claim.coined)
        if self.noninteractive and not isinstance(claim.mechanism, Measurement):
            raise QueryError(
                f"{type(self).__name__} composes noninteractive mechanisms, and "
                f"{type(claim.mechanism).__name__} is interactive"
            )

    def _checked(self, own: CompositionState, query: Any) -> Order:
        """Steps 1 to 3. What cannot change is checked once, if it is launched again and again."""
        last: Order | None = own.last
        if last is not None and type(query) is Launch and query.d_out is None:
            known = last.launch
            alike = known.mechanism is query.mechanism and known.d_out is None
            if alike and LEFT.get() is None and cannot_change(query.mechanism):
                return last
        launch = parsed(query)
        claim = claim_over(own.data.facts, launch, self._claim)
        self._require_proven(claim)
        return self._order(launch, claim)

    def _order(self, launch: Launch, claim: Any) -> Order:
        """The launch, and what is charged for it."""
        return Order(launch, claim)

    def _charged(self, own: CompositionState, order: Any) -> tuple[CompositionState, Due | Answer]:
        launch = order.launch
        if own.halted is not None:
            return own, self._still_halted(own, launch)
        claim = order.claim
        if order is not own.last:
            claim = own.shared(claim)
            if claim.fixed:
                order = Order(launch, claim)
        worst = claim.loss if claim.fixed else order.worst
        account = own.account.add(worst)
        refusal = self._launch_refused(own, account, worst)
        charged = account if refusal is None else own.account
        receipt = Receipt(claim.mechanism, launch.d_out, self.d_in, worst, charged)
        if refusal is not None:
            return self._declined(own, attrs.evolve(refusal, receipt=receipt))
        identity = len(own.claims)
        failed = claim if claim.fixed else claim.lost(worst)
        claims = own.claims.set(identity, failed)
        streams = own.streams
        if streams is not None and claim.mechanism.growth is not None:
            streams = (*streams, identity)
        due = Due(order, identity, worst, Failed(receipt=receipt), own, data=own.data)
        last = order if claim.fixed else None
        return CompositionState(own.data, account, claims, None, streams, last), due

    def _launch_refused(
        self, own: CompositionState, candidate: RunningAccount, worst: Loss
    ) -> Refused | None:
        """The refusal of a launch that costs at most `worst`; None if the rule permits it."""
        if self.max_mechanisms is not None and len(own.claims) >= self.max_mechanisms:
            return Refused("at mechanism count limit", instead=_NO_MORE)
        return self._exceeds(own.account, candidate, worst)

    def _affordable(self, own: CompositionState, query: Any, live: Live) -> bool:
        """Whether a query of a `CanAfford` would be admitted now."""
        return self._can_afford(own, query)

    def _privacy_loss(self, own: CompositionState, d_in: Any) -> Report:
        at = d_in_of(d_in, self.d_in)
        if at == self.d_in:
            return own.account.total()
        if at == 0:
            return own.account.total().zero()
        account = self._opened()
        for claim in own.claims.values():
            account = account.add(claim.loss_at(self.d_in, at))
            self.proof.cover(claim.mechanism, at)  # a condition may hold at one d_in only
        return self._report_at(account, at)

    def _report_at(self, account: Any, d_in: int) -> Report:
        """The report at another `d_in` than the one that the budget is stated for."""
        total: Report = account.total()
        return total

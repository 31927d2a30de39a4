"""Adaptive composition: what filters and odometers have in common.

Algorithms 3 and 6 of Haney et al. 2023 up to the point where they differ: what happens to a launch
that the account does not permit. The order of a launch is in `launching`; this file says what is
checked and what is charged.
"""

from abc import abstractmethod
from fractions import Fraction
from typing import Any, ClassVar

import attrs

from composition.compositors.children import (
    NO_CHILDREN,
    Children,
    ask_child,
    ask_within,
    continual_among,
    max_depth_field,
    pass_on,
    require_depth,
    require_live,
)
from composition.compositors.claims import Claim, claim_of, claim_over, correction, parsed
from composition.compositors.ex_post_claims import ExPostAccount
from composition.compositors.grows import GrowsByProof
from composition.compositors.launching import Due, Launching, Order
from composition.compositors.state import CompositionState
from composition.proofs import Proof, ask
from composition.rules import Accumulator, Rule, RunningAccount
from composition.verdicts import Column, Way
from queryable.data.growing import growable, grown
from queryable.errors import QueryError, UnknownChildError, UnknownQueryError
from queryable.ex_post import Opening
from queryable.guarantees import Guarantee, documented
from queryable.losses import Loss, Measure, Report
from queryable.losses.numbers import at_least_one, natural
from queryable.mechanism import Measurement
from queryable.messages import (
    OWNERS,
    Answer,
    Answered,
    Ask,
    CanAfford,
    CloseBlock,
    Failed,
    Halted,
    Launch,
    Launched,
    LaunchMany,
    MeasureQuery,
    PrivacyLossQuery,
    Query,
    Refused,
    Stated,
    Update,
    d_in_of,
    entries_of,
    plain,
)
from queryable.randomness.coins import SYSTEM, Coins
from queryable.receipts import AskReceipt, Receipt

_NO_MORE = (
    "nothing was read or charged. Ask the children that run already: they go on answering. "
    "max_mechanisms bounds the number of launches, whatever the budget"
)
_COARSER = (
    "nothing was read or charged. Ask for a step that costs at most what remains on top of what "
    "this child has cost, such as a coarser release; CanAfford(Ask(child, query)) tells in advance"
)
_OPENING = Opening()
_ZERO = Fraction(0)


def d_in_field(value: Any) -> int:
    """Read a `d_in`, the number of records that a budget is stated for: at least 1."""
    return at_least_one(value, "d_in")


def _max_mechanisms(value: Any) -> int | None:
    return None if value is None else natural(value, "max_mechanisms")


@attrs.frozen(repr=False)
class AdaptiveComposition(Launching, GrowsByProof[CompositionState]):
    """Base of filters and odometers."""

    composes = True
    continual = GrowsByProof.continual  # its own `step` takes batches
    reports_loss = True
    noninteractive: ClassVar[bool] = False
    """Whether only noninteractive mechanisms may be launched."""

    d_in: int = attrs.field(kw_only=True, default=1, converter=d_in_field)
    max_mechanisms: int | None = attrs.field(kw_only=True, default=None, converter=_max_mechanisms)
    max_depth: int = attrs.field(kw_only=True, default=100, converter=max_depth_field)
    proof: Proof = attrs.field(init=False, repr=False, eq=False)
    """The theorem that covers the compositor; constructing one without a theorem fails."""

    def __repr__(self) -> str:
        """The budget or measure first, and what differs from its default."""
        fields = [each for each in attrs.fields(type(self)) if each.init and each.repr]
        given = [each for each in fields if getattr(self, each.name) != _default(each)]
        given.sort(key=lambda each: each.kw_only)
        values = [(each.name, getattr(self, each.name)) for each in given]
        texts = (f"{n}={v.__name__ if isinstance(v, type) else repr(v)}" for n, v in values)
        return f"{type(self).__name__}({', '.join(texts)})"

    def __attrs_post_init__(self) -> None:
        alone = self.noninteractive or not self.interleaves
        column = Column.SEQUENTIAL if alone else Column.ADAPTIVE
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

    def _declined(
        self, state: CompositionState, refusal: Refused
    ) -> tuple[CompositionState, Answer]:
        """The state and answer after a refusal: by default the state is unchanged."""
        return state, refusal

    def _still_halted(self, state: CompositionState, query: Query) -> Halted:
        """The answer to every query after a halt. Launches are not checked any more."""
        if not isinstance(query, Launch):
            return Halted(str(state.halted))
        receipt = Receipt(query.mechanism, None, self.d_in, None, state.account)
        return Halted(str(state.halted), receipt=receipt)

    @property
    @abstractmethod
    def _composes_by(self) -> Rule | Accumulator | Way:
        """The rule, accumulator or way that the table of theorems is asked about."""

    def guarantee(self) -> Guarantee:
        """The guarantee in the docstring, with the theorem of the table's cell."""
        theorem, growing = f"{self.proof.theorem}.", self.proof.growing_theorem
        return attrs.evolve(documented(type(self)), theorem=theorem, growing=growing)

    def account(self) -> RunningAccount | None:
        """The empty account; None for a subclass that overrides `_launch` or `_ask`.

        The receipts in the answers of such a subclass need not contain all that it charges.
        """
        if self._launches_plainly and type(self)._ask is AdaptiveComposition._ask:
            return self._opened()
        return None

    @property
    def recallable(self) -> bool:  # type: ignore[override]
        """Whether no subclass overrides how it starts, launches and asks."""
        mine, own = AdaptiveComposition, type(self)
        plain = own.init is mine.init and own.step is mine.step
        return plain and own._ask is mine._ask and self._launches_plainly

    @property
    def runs_dry(self) -> bool:  # type: ignore[override]
        """Whether it is `recallable`."""
        return self.recallable

    @property
    def _launches_plainly(self) -> bool:
        """Whether `_launch` is not overridden; otherwise several launches go there one by one."""
        return type(self)._launch is AdaptiveComposition._launch

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[CompositionState, Answer]:
        """Start with an empty account and no children; there is no opening answer."""
        return CompositionState(dataset, self._opened()), None

    def step(
        self, state: CompositionState, query: Query, coins: Coins = SYSTEM
    ) -> tuple[CompositionState, Answer]:
        """Answer launches, `Ask`, `PrivacyLossQuery`, `CanAfford` and `MeasureQuery`."""
        if type(query) is Ask and state.halted is None:  # most messages, at every level
            require_depth(query, self.max_depth)
            return self._ask(state, query.child, query.query, coins)
        if isinstance(query, PrivacyLossQuery):
            return state, self._privacy_loss(state, query.d_in)
        if isinstance(query, MeasureQuery):
            return state, Stated(self.proof.measure, self.d_in)
        if state.halted is not None:
            if isinstance(query, OWNERS):
                return state, None
            if isinstance(query, LaunchMany):
                return state, tuple(self._still_halted(state, each) for each in entries_of(query))
            return state, False if isinstance(query, CanAfford) else self._still_halted(
                state, query
            )
        match query:
            case Ask(child, inner):
                require_depth(query, self.max_depth)
                return self._ask(state, child, inner, coins)
            case Launch():
                return self._launch(state, query, coins)
            case CanAfford(launch):
                return state, self._can_afford(state, launch)
            case LaunchMany() if self._launches_plainly:
                return self._launch(state, query, coins)
            case Update() | CloseBlock():
                return self._grow(state, query, coins), None
        raise UnknownQueryError(
            f"{correction(query)}, and {type(self).__name__} answers Launch, LaunchMany, Ask, "
            "PrivacyLossQuery, CanAfford and MeasureQuery"
        )

    def _grow(
        self, state: CompositionState, message: Update | CloseBlock, coins: Coins
    ) -> CompositionState:
        """Grow the own data, then pass the message to the continual children in launch order.

        Nothing is charged. A child that keeps a snapshot does not learn of it.
        """
        self.require_growing()
        data = state.dataset
        if isinstance(message, Update):
            data = grown(data, message.records, message.block)
        children, streams = state.children, state.streams
        if streams is None:
            streams = continual_among(children, sorted(children))
        if streams:
            children = pass_on(children, streams, message, coins)
            streams = tuple(each for each in streams if each in children)
        return CompositionState(data, state.account, state.claims, children, streams=streams)

    def _ask(
        self, state: CompositionState, child: Any, query: Query, coins: Coins
    ) -> tuple[CompositionState, Answer]:
        claim = self._live(state, child)
        if not claim.fixed:
            return self._ask_ex_post(state, child, claim, query, coins)
        return ask_within(state, child, query, self.d_in, coins)

    def _ask_ex_post(
        self, state: CompositionState, child: int, claim: Any, query: Query, coins: Coins
    ) -> tuple[CompositionState, Answer]:
        """Ask a child that is charged as it answers: check the worst case, ask, then charge."""
        if isinstance(query, PrivacyLossQuery) and not claim.mechanism.reports_loss:
            return state, claim.realised(d_in_of(query.d_in, self.d_in))
        asked = claim.understood(query)
        worst = claim.at_worst(asked)
        refusal = self._ask_refused(state, claim, worst)
        if refusal is not None:
            return self._declined(state, refusal)

        def after(children: Children, answer: Answer) -> tuple[CompositionState, Answer]:
            settled, alive = claim.settled(asked, plain(answer), worst, alive=child in children)
            if not alive:
                children, answer = state.children.delete(child), Failed()
            account = _ex_post(state.account).moved(claim.loss, settled.loss)
            receipt = AskReceipt(child, _nested(asked), settled.realised(self.d_in), account)
            claims = state.claims.set(child, settled)
            moved = CompositionState(
                state.dataset, account, claims, children, streams=state.streams
            )
            return moved, Answered(answer, receipt=receipt)

        return after(*ask_child(state.children, child, asked, self.d_in, coins, after))

    def _ask_refused(self, state: CompositionState, claim: Any, worst: Any) -> Refused | None:
        """The refusal, if a child's charge may not rise to `worst`; None if it may."""
        if claim.fixed:
            return None
        candidate = _ex_post(state.account).moved(claim.loss, worst)
        if candidate.within:
            return None
        more = max(worst.parts[0] - claim.loss.parts[0], _ZERO)
        requested = worst.of_parts((more, *(_ZERO for _ in worst.parts[1:])))
        refusal = self._exceeds(state.account, candidate, requested)
        return None if refusal is None else attrs.evolve(refusal, instead=_COARSER)

    def _live(self, state: CompositionState, child: Any) -> Claim:
        """The claim of a live child.

        Raises:
            QueryError: there is no such child.
        """
        if type(child) is not int or child not in state.children:
            require_live(state.children, child, state.launched)
            # a subclass of int, which may compare equal to different ids in turn
            raise UnknownChildError(f"a child's id is an int, not {type(child).__name__}")
        return state.claims[child]

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

    def _checked(self, state: CompositionState, query: Any) -> Order:
        launch = parsed(query)
        claim = claim_over(state.dataset, launch, self._claim)
        self._require_proven(claim)
        return Order(launch, claim)

    def _charged(
        self, state: CompositionState, order: Order
    ) -> tuple[CompositionState, Due | Answer]:
        launch = order.launch
        if state.halted is not None:
            return state, self._still_halted(state, launch)
        claim = state.shared(order.claim)
        worst = claim.at_worst(_OPENING)
        account = state.account.add(worst)
        refusal = self._launch_refused(state, account, worst)
        charged = account if refusal is None else state.account
        receipt = Receipt(claim.mechanism, launch.d_out, self.d_in, worst, charged)
        if refusal is not None:
            return self._declined(state, attrs.evolve(refusal, receipt=receipt))
        identity = len(state.claims)
        failed = claim if claim.fixed else claim.settled(_OPENING, None, worst, alive=False)[0]
        claims = state.claims.set(identity, failed)
        ends = not self.interleaves or claim.mechanism.retires_others
        living = NO_CHILDREN if ends else state.children
        data, streams = state.dataset, state.streams
        if claim.mechanism.continual:
            data = growable(data)
            streams = None if streams is None else (*streams, identity)
        due = Due(order, identity, worst, Failed(receipt=receipt), state)
        return CompositionState(data, account, claims, living, streams=streams), due

    def _ran(
        self, state: CompositionState, due: Due, children: Children, answer: Answer
    ) -> tuple[CompositionState, Answer]:
        claim = due.order.claim
        if claim.fixed or not isinstance(answer, Launched):
            return super()._ran(state, due, children, answer)
        paid, alive = claim.settled(_OPENING, answer.answer, due.charged, alive=True)
        if not alive:
            return state, due.failed
        account = due.before.account.add(paid.loss)
        claims = state.claims.set(due.identity, paid)
        receipt = Receipt(paid.mechanism, due.order.launch.d_out, self.d_in, paid.loss, account)
        answer = Launched(answer.child, answer.answer, receipt=receipt)
        return attrs.evolve(state, account=account, claims=claims, children=children), answer

    def _launch_refused(
        self, state: CompositionState, candidate: RunningAccount, worst: Loss
    ) -> Refused | None:
        """The refusal of a launch that costs at most `worst`; None if the rule permits it."""
        if self.max_mechanisms is not None and len(state.claims) >= self.max_mechanisms:
            return Refused("at mechanism count limit", instead=_NO_MORE)
        return self._exceeds(state.account, candidate, worst)

    def _privacy_loss(self, state: CompositionState, d_in: Any) -> Report:
        at = d_in_of(d_in, self.d_in)
        if at == self.d_in:
            return state.account.total()
        if at == 0:
            return state.account.total().zero()
        account = self._opened()
        for claim in state.claims.values():
            account = account.add(claim.loss_at(self.d_in, at))
            self.proof.cover(claim.mechanism, at)  # a condition may hold at one d_in only
        return self._report_at(account, at)

    def _report_at(self, account: Any, d_in: int) -> Report:
        """The report at another `d_in` than the one that the budget is stated for."""
        total: Report = account.total()
        return total


def _default(field: "attrs.Attribute[Any]") -> Any:
    """The default value of a field; `attrs.NOTHING` if it has none."""
    factory = getattr(field.default, "factory", None)
    return field.default if factory is None else factory()


def _ex_post(account: Any) -> ExPostAccount:
    assert isinstance(account, ExPostAccount)
    return account


def _nested(query: Query) -> int:
    """The number of nested `Ask`s in a query."""
    count = 0
    while isinstance(query, Ask):
        query, count = query.query, count + 1
    return count

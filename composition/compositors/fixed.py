"""Compositors whose children are fixed in advance and all started at once.

This base class starts and asks them. A subclass says which data each child gets and what the
children lose together.
"""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import attrs

from composition.compositors.children import (
    NO_CHILDREN,
    Children,
    Parent,
    ask_within,
    continual_among,
    max_depth_field,
    pass_on,
    require_depth,
    require_live,
    start_child,
)
from composition.compositors.claims import map_at
from composition.compositors.known import KnownMap
from queryable.errors import UnknownQueryError
from queryable.faults import in_dry_run, named
from queryable.losses import Loss, Measure
from queryable.mechanism import InteractiveMechanism, nested
from queryable.messages import (
    OWNERS,
    Answer,
    Ask,
    CloseBlock,
    PrivacyLossQuery,
    Query,
    Update,
    d_in_of,
)
from queryable.randomness.coins import SYSTEM, ChildId, Coins
from queryable.streams import Neighbours


@attrs.frozen
class FixedState(Parent):
    """The live children, by id."""

    children: Children


@attrs.frozen
class FixedComposition(InteractiveMechanism[FixedState]):
    """Base of `ConComp` and `Parallel`."""

    composes = True
    reports_loss = True
    runs_dry = True

    max_depth: int = attrs.field(kw_only=True, default=100, converter=max_depth_field)
    _known: KnownMap = attrs.field(init=False, eq=False, repr=False, factory=KnownMap)
    _grows: bool = attrs.field(init=False, eq=False, repr=False, default=False)

    @property
    def continual(self) -> bool:  # type: ignore[override]
        """Whether a mechanism gets batches, and a theorem covers data that grow."""
        return self._grows

    neighbours: ClassVar[Neighbours | None] = None  # as its mechanisms

    @abstractmethod
    def require_growing(self) -> None:
        """Check that a theorem covers data that grow.

        Raises:
            UnprovenCompositionError: none does.
        """

    @abstractmethod
    def _passed(self, message: Update) -> Mapping[ChildId, Update]:
        """The batch that each child gets, by child id."""

    @property
    def height(self) -> int:
        """One more than the largest height among the mechanisms."""
        return nested(self._named.values())

    def privacy_map(self, d_in: int, measure: Measure | None = None) -> Loss:
        """What the mechanisms lose together, in `measure`, or in one that suits all of them.

        Raises:
            ValueError: no theorem states it.
        """
        return self._known.at(d_in, measure, self._lost)

    @abstractmethod
    def _lost(self, d_in: int, measure: Measure | None) -> Loss:
        """The privacy map."""

    @property
    @abstractmethod
    def _named(self) -> Mapping[ChildId, InteractiveMechanism[Any]]:
        """The mechanisms, by child id."""

    @abstractmethod
    def _shares(self, dataset: Any) -> Mapping[ChildId, Any]:
        """The data that each child gets, by child id."""

    def _privacy_loss(self, state: FixedState, d_in: int) -> Loss:
        """The loss so far; by default the privacy map."""
        return map_at(self, d_in, None)

    def started_with(self) -> Mapping[ChildId, InteractiveMechanism[Any]]:
        """All mechanisms, by child id."""
        return self._named

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[FixedState, Answer]:
        """Start every mechanism; the opening is a tuple of their `Launched`."""
        dry = in_dry_run() is not None
        shares = dict.fromkeys(self._named, dataset) if dry else self._shares(dataset)
        children, openings = NO_CHILDREN, []
        for name, mechanism in self._named.items():
            children, answer = start_child(children, name, mechanism, None, shares[name], coins)
            openings.append(answer)
        return FixedState(children), tuple(openings)

    def step(
        self, state: FixedState, query: Query, coins: Coins = SYSTEM
    ) -> tuple[FixedState, Answer]:
        """Answer `Ask` and `PrivacyLossQuery`."""
        match query:
            case Ask(child, inner):
                require_depth(query, self.max_depth)
                child = require_live(state.children, child, self._named.get)
                return ask_within(state, child, inner, 1, coins)
            case PrivacyLossQuery(d_in):
                return state, self._privacy_loss(state, d_in_of(d_in, 1))
            case Update() | CloseBlock() if self.continual:
                return self._grow(state, query, coins), None
        if isinstance(query, OWNERS):
            self.require_growing()
        raise UnknownQueryError(
            f"{type(self).__name__} answers Ask and PrivacyLossQuery, not {named(query)}"
        )

    def _grow(self, state: FixedState, message: Update | CloseBlock, coins: Coins) -> FixedState:
        """Pass a message of the data's owner to the continual children, in their order."""
        self.require_growing()
        living = continual_among(state.children, self._named)
        if isinstance(message, CloseBlock):
            return FixedState(pass_on(state.children, living, message, coins))
        children, passed = state.children, self._passed(message)
        for each in living:
            children = pass_on(children, (each,), passed[each], coins)
        return FixedState(children)

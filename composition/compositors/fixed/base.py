"""Compositors whose children are fixed in advance and all started at once.

This base class starts and asks them. A subclass says which data each child gets and what the
children lose together.
"""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import attrs

from composition.compositors.children import (
    max_depth_field,
    reported,
    require_depth,
    require_live,
)
from composition.compositors.claims import map_at
from composition.compositors.fixed.known import KnownMap
from queryable.conversation import LOST, Compositor, Data, Live, Moved, Pass, Reported, Start, Talk
from queryable.errors import UnknownQueryError
from queryable.faults import named
from queryable.losses import Loss, Measure
from queryable.mechanism import InteractiveMechanism, Measurement, nested
from queryable.messages import (
    Answer,
    Ask,
    CloseBlock,
    Failed,
    Launched,
    PrivacyLossQuery,
    Query,
    Update,
    d_in_of,
)
from queryable.randomness.coins import ChildId
from queryable.streams.levels import Growth, Neighbours

_GROWTH = Growth()


@attrs.frozen
class FixedComposition(Compositor):
    """Base of `ConComp` and `Parallel`. Its own state is None: all that changes is its children."""

    reports_loss = True

    max_depth: int = attrs.field(kw_only=True, default=100, converter=max_depth_field)
    _known: KnownMap = attrs.field(init=False, eq=False, repr=False, factory=KnownMap)
    _grows: bool = attrs.field(init=False, eq=False, repr=False, default=False)

    @property
    def growth(self) -> Growth | None:  # type: ignore[override]
        """None if no mechanism gets batches, or no theorem covers data that grow."""
        return _GROWTH if self._grows else None

    neighbours: ClassVar[Neighbours | None] = None  # as its mechanisms

    @abstractmethod
    def require_growing(self) -> None:
        """Check that a theorem covers data that grow.

        Raises:
            UnprovenCompositionError: none does.
        """

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

    def started_with(self) -> Mapping[ChildId, InteractiveMechanism[Any]]:
        """All mechanisms, by child id."""
        return self._named

    def open(self, data: Data) -> Talk:
        """Start every mechanism; the opening is a tuple of their `Launched`."""
        return self._start(dict.fromkeys(self._named, data))

    def _start(self, shares: Mapping[ChildId, Data]) -> Talk:
        """Start every mechanism on its share of the data."""
        named = self._named
        told = yield [Start(name, each, shares[name]) for name, each in named.items()]
        openings = zip(named.items(), told, strict=True)
        return Moved(None, tuple(_opening(*each, moved) for each, moved in openings))

    def understood(self, own: None, query: Query, live: Live) -> Any:  # type: ignore[override]
        """The step that an `Ask` is, a message of the data's owner, or the report of a loss."""
        match query:
            case Ask(child, inner):
                require_depth(query, self.max_depth)
                child = require_live(live, child, self._named.get)
                if isinstance(inner, PrivacyLossQuery) and not live[child].reports_loss:
                    return reported(live[child], None, inner, 1)
                return Pass(child, inner)
            case PrivacyLossQuery(d_in):
                return self._privacy_loss(d_in_of(d_in, 1), live)
            case Update() | CloseBlock():
                self.require_growing()
                if self.growth is not None:
                    return query
        raise UnknownQueryError(
            f"{type(self).__name__} answers Ask and PrivacyLossQuery, not {named(query)}"
        )

    def passes(self, own: None, identity: ChildId, query: Query, depth: int) -> bool:
        """Whether it is no report, which may be the compositor's."""
        return depth <= self.max_depth and not issubclass(type(query), PrivacyLossQuery)

    def _privacy_loss(self, d_in: int, live: Live) -> Any:
        """What is understood of a question for the loss so far: by default the privacy map."""
        return Reported(map_at(self, d_in, None))

    def converse(self, own: None, understood: Any, live: Live) -> Talk | Moved:
        """Pass a batch to all that get batches."""
        return self._grow(understood, live)

    def _grow(self, message: Update | CloseBlock, live: Live) -> Talk:
        """Pass a message of the data's owner to the children that take it, in their order."""
        return self._pass_on(dict.fromkeys(self._named, message), live)

    def _pass_on(self, passed: Mapping[ChildId, Update | CloseBlock], live: Live) -> Talk:
        streams = (each for each in self._named if each in live and live[each].growth is not None)
        yield [Pass(each, passed[each]) for each in streams]
        return Moved(None, None)


def _opening(name: ChildId, mechanism: InteractiveMechanism[Any], moved: Moved | None) -> Answer:
    if moved is LOST:
        return Failed()
    return Launched(None if isinstance(mechanism, Measurement) else name, moved.answer)

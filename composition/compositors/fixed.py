"""Compositors whose children are fixed in advance and all started at once.

Responsible for starting and asking them. What each child sees of the data, and what they lose
together, is the compositor's.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

import attrs

from composition.compositors import children as kin
from composition.compositors.children import Children
from composition.compositors.launching import map_at, max_depth_field, named, require_depth
from queryable.errors import PrivacyClaimError, UnknownQueryError
from queryable.losses.measures import GDP, ZCDP, ApproxDP, ApproxZCDP, Loss, Measure, PureDP
from queryable.losses.tradeoff import FDP
from queryable.mechanism import InteractiveMechanism, nested
from queryable.messages import Answer, Ask, PrivacyLossQuery, Query, records
from queryable.randomness.coins import SYSTEM, ChildId, Coins


@attrs.frozen
class FixedState:
    """The children, by name."""

    children: Children


@attrs.frozen
class FixedComposition(InteractiveMechanism[FixedState]):
    """Base of `ConComp` and `Parallel`."""

    composes = True
    reports_loss = True

    max_depth: int = attrs.field(kw_only=True, default=100, converter=max_depth_field)

    @property
    def height(self) -> int:
        """One more than the highest of its mechanisms."""
        return nested(self._named.values())

    @property
    @abstractmethod
    def _named(self) -> Mapping[ChildId, InteractiveMechanism[Any]]:
        """The mechanisms by child id."""

    @abstractmethod
    def _shares(self, dataset: Any) -> Mapping[ChildId, Any]:
        """What of the dataset each child sees."""

    def _privacy_loss(self, state: FixedState, d_in: int) -> Loss:
        """The loss so far: by default what was declared."""
        return map_at(self, d_in, None)

    def started_with(self) -> Mapping[ChildId, InteractiveMechanism[Any]]:
        """All of them, by child id."""
        return self._named

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[FixedState, Answer]:
        """Start every mechanism; the opening is a tuple of their `Launched`."""
        shares = self._shares(dataset)
        children, openings = kin.NONE, []
        for name, mechanism in self._named.items():
            children, answer = kin.start(children, name, mechanism, None, shares[name], coins)
            openings.append(answer)
        return FixedState(children), tuple(openings)

    def step(
        self, state: FixedState, query: Query, coins: Coins = SYSTEM
    ) -> tuple[FixedState, Answer]:
        """Answer `Ask` and `PrivacyLossQuery`."""
        match query:
            case Ask(child, inner):
                require_depth(query, self.max_depth)
                child = kin.require_live(state.children, child, self._named.get)

                def after(children: Children, answer: Answer) -> tuple[FixedState, Answer]:
                    return (state if children is state.children else FixedState(children)), answer

                return after(*kin.ask(state.children, child, inner, 1, coins, after))
            case PrivacyLossQuery(d_in):
                return state, self._privacy_loss(state, records(d_in, 1))
        raise UnknownQueryError(
            f"{type(self).__name__} answers Ask and PrivacyLossQuery, not {named(query)}"
        )


Statement = Callable[[Measure | None], Loss]
"""A loss as stated in a measure, or in its own for None."""


def common_measure(statements: Iterable[Statement]) -> Measure:
    """The measure that all are stated in, or the first that theorems take them all to.

    Raises:
        PrivacyClaimError: there is none, or one of them has no loss.
    """
    statements = tuple(statements)
    own = [state(None).measure for state in statements] or [PureDP]
    if all(measure == own[0] for measure in own):
        return own[0]
    for measure in (PureDP, ApproxDP, GDP, ZCDP, ApproxZCDP, FDP):
        with suppress(ValueError):
            for state in statements:
                state(measure)
            return measure
    raise PrivacyClaimError("no measure takes the losses of all these mechanisms")


def maps_at(mechanisms: Iterable[InteractiveMechanism[Any]], d_in: int) -> tuple[Statement, ...]:
    """What each mechanism states at `d_in` records."""
    return tuple(partial(mechanism.privacy_map, d_in) for mechanism in mechanisms)

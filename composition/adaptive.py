"""Adaptive concurrent composition: what filters and odometers share.

Responsible for Algorithms 3 and 6 of Haney et al. 2023 up to the point where they differ: what
happens to a launch that the account does not permit. Nothing touches data before it is charged:
`_launch` reads top to bottom as parse, claim, validity, rule, charge, run.
"""

from abc import abstractmethod
from typing import Any

import attrs
from immutables import Map

from composition import children as kin
from composition.children import Children
from composition.launching import Claimed, claimed, map_at, records, require_depth
from composition.rules import Account
from queryable.coins import SYSTEM, Coins
from queryable.errors import QueryError, UnknownQueryError
from queryable.losses import Loss, Measure
from queryable.mechanism import InteractiveMechanism
from queryable.messages import (
    Answer,
    Ask,
    CanAfford,
    Halted,
    Launch,
    PrivacyLossQuery,
    Query,
    Refused,
)
from queryable.numbers import natural


@attrs.frozen
class CompositionState:
    """The data, what was charged, every claim ever charged, and the interactive children."""

    dataset: Any = attrs.field(repr=False)
    account: Account
    claims: "Map[int, Claimed]" = Map()
    children: Children = kin.NONE
    halted: str | None = None


def _count(name: str, least: int) -> Any:
    def convert(value: Any) -> int:
        count = natural(value, name)
        if not count >= least:
            raise ValueError(f"{name} is {count}; it should be at least {least}")
        return count

    return convert


def count_field(name: str, default: int | None, least: int = 1) -> Any:
    """A public keyword field that holds a count."""
    convert = _count(name, least)
    optional = attrs.converters.optional(convert) if default is None else convert
    return attrs.field(kw_only=True, default=default, converter=optional)


@attrs.frozen
class AdaptiveComposition(InteractiveMechanism[CompositionState]):
    """Base of `FiltCon` and `OdomCon`."""

    reports_loss = True
    coin_at_launch = True  # its children are checked one by one

    d_in: int = count_field("d_in", 1)
    max_mechanisms: int | None = count_field("max_mechanisms", None, least=0)
    max_depth: int = count_field("max_depth", 100)

    @property
    @abstractmethod
    def child_measure(self) -> Measure:
        """The measure that launches state their loss in."""

    @abstractmethod
    def _opened(self) -> Account:
        """The empty account."""

    @abstractmethod
    def _exceeded(self, state: CompositionState, refusal: Refused) -> tuple[CompositionState, Answer]:
        """What becomes of a launch that is not permitted."""

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[CompositionState, Answer]:
        """Nothing has been launched; says nothing."""
        return CompositionState(dataset, self._opened()), None

    def step(
        self, state: CompositionState, query: Query, coins: Coins = SYSTEM
    ) -> tuple[CompositionState, Answer]:
        """Answer `Ask`, `Launch`, `PrivacyLossQuery` and `CanAfford`."""
        if isinstance(query, PrivacyLossQuery):
            return state, self._privacy_loss(state, query.d_in)
        if state.halted is not None:
            return state, Halted(state.halted)
        match query:
            case Ask(child, inner):
                require_depth(query, self.max_depth)
                return self._ask(state, child, inner, coins)
            case Launch():
                return self._launch(state, query, coins)
            case CanAfford(launch):
                return state, self._can_afford(state, launch)
        raise UnknownQueryError(
            f"{type(self).__name__} answers Launch, Ask, PrivacyLossQuery and CanAfford, "
            f"not {type(query).__name__}"
        )

    def _ask(
        self, state: CompositionState, child: Any, query: Query, coins: Coins
    ) -> tuple[CompositionState, Answer]:
        children, answer = kin.ask(state.children, child, query, self.d_in, coins)
        if children is state.children:
            return state, answer
        return CompositionState(state.dataset, state.account, state.claims, children), answer

    def _launch(
        self, state: CompositionState, launch: Launch, coins: Coins
    ) -> tuple[CompositionState, Answer]:
        claim = claimed(launch, self.child_measure, self.d_in)
        if self.max_mechanisms is not None and len(state.claims) >= self.max_mechanisms:
            return self._exceeded(state, Refused("at mechanism count limit"))
        account = state.account.add(claim.loss)
        if not account.within:
            return self._exceeded(state, _refusal(state.account, claim.loss))
        identity = len(state.claims)
        children, answer = kin.start(
            state.children, identity, claim.mechanism, claim.loss, state.dataset, coins
        )
        claims = state.claims.set(identity, claim)
        return CompositionState(state.dataset, account, claims, children), answer

    def _can_afford(self, state: CompositionState, launch: Any) -> bool:
        claim = claimed(launch, self.child_measure, self.d_in)
        if self.max_mechanisms is not None and len(state.claims) >= self.max_mechanisms:
            return False
        return state.account.add(claim.loss).within

    def _privacy_loss(self, state: CompositionState, d_in: Any) -> Loss:
        at = records(d_in, self.d_in)
        if at == self.d_in:
            return state.account.total()
        account = self._opened()
        for claim in state.claims.values():
            account = account.add(map_at(claim.mechanism, at, self.child_measure))
        return account.total()


def _refusal(account: Account, requested: Loss) -> Refused:
    remaining = account.remaining()
    reason = "insufficient budget" + account.hint(requested)
    if remaining is not None and _by_a_hair(requested, remaining):
        reason += "; it is short by less than 1e-9, so a sum of floats may be to blame"
    return Refused(reason, requested, account.total(), remaining)


def _by_a_hair(requested: Loss, remaining: Loss) -> bool:
    over = (r - left for r, left in zip(requested.parts, remaining.parts, strict=True))
    return all(excess * 10**9 < 1 for excess in over)

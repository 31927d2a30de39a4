"""Concurrent composition of mechanisms fixed in advance (Haney et al. 2023, Algorithm 1)."""

from collections.abc import Iterable
from typing import Any

import attrs

from composition import children as kin
from composition import validity
from composition.adaptive import max_depth_field
from composition.children import Children
from composition.launching import map_at, records, require_depth
from queryable.coins import SYSTEM, Coins
from queryable.errors import PrivacyClaimError, UnknownQueryError
from queryable.losses import GDP, ZCDP, ApproxDP, ApproxZCDP, Loss, Measure, PureDP, total
from queryable.mechanism import InteractiveMechanism
from queryable.messages import Answer, Ask, PrivacyLossQuery, Query


def _mechanisms(values: Iterable[Any]) -> tuple[InteractiveMechanism[Any], ...]:
    mechanisms = tuple(values)
    for mechanism in mechanisms:
        if not isinstance(mechanism, InteractiveMechanism):
            raise TypeError(f"{mechanism!r} is not an interactive mechanism")
    return mechanisms


@attrs.frozen
class ConCompState:
    """The children, by position."""

    children: Children


@attrs.frozen
class ConComp(InteractiveMechanism[ConCompState]):
    """Concurrent composition of mechanisms that are all started at once.

    Answers: Ask, PrivacyLossQuery. The opening is a tuple with each one's `Launched`.

    Privacy:
        Claim: for every adversary, however it interleaves, loses at most the composition of the
            mechanisms' losses; with an odometer among them there is no claim.
        Theorem: the one that `composition.VALIDITY` names under "fixed, interleaved".
        Checked by: tests/audit/test_concurrent.py
    """

    mechanisms: tuple[InteractiveMechanism[Any], ...] = attrs.field(converter=_mechanisms)
    max_depth: int = attrs.field(kw_only=True, default=100, converter=max_depth_field)

    reports_loss = True
    coin_at_launch = True  # its mechanisms are checked one by one

    def __attrs_post_init__(self) -> None:
        for mechanism in self.mechanisms:
            validity.require_proof_if_claimed(mechanism)

    def privacy_map(self, d_in: int, measure: Measure | None = None) -> Loss:
        """The mechanisms' losses added up, in `measure` or the first that takes them all."""
        if measure is not None:
            return total((each.privacy_map(d_in, measure) for each in self.mechanisms), measure)
        own = [each.privacy_map(d_in) for each in self.mechanisms]
        measures = [loss.measure for loss in own]
        if own and all(each == measures[0] for each in measures):
            return total(own, measures[0])
        for common in (PureDP, ApproxDP, GDP, ZCDP, ApproxZCDP):
            try:
                return self.privacy_map(d_in, common)
            except ValueError:
                continue
        raise PrivacyClaimError(f"no measure takes all of {', '.join(map(str, own))}")

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[ConCompState, Answer]:
        """Start every mechanism."""
        children, openings = kin.NONE, []
        for identity, mechanism in enumerate(self.mechanisms):
            children, answer = kin.start(children, identity, mechanism, None, dataset, coins)
            openings.append(answer)
        return ConCompState(children), tuple(openings)

    def step(
        self, state: ConCompState, query: Query, coins: Coins = SYSTEM
    ) -> tuple[ConCompState, Answer]:
        """Pass an `Ask` to its child."""
        match query:
            case Ask(child, inner):
                require_depth(query, self.max_depth)
                children, answer = kin.ask(state.children, child, inner, 1, coins)
                return (state if children is state.children else ConCompState(children)), answer
            case PrivacyLossQuery(d_in):
                return state, map_at(self, records(d_in, 1), None)
        raise UnknownQueryError(
            f"ConComp answers Ask and PrivacyLossQuery, not {type(query).__name__}"
        )

"""The state of filters and odometers: the data, what was charged, and the live children."""

from typing import Any

import attrs
from immutables import Map

from composition.compositors.children import NO_CHILDREN, Children, Parent
from composition.compositors.claims import Claim
from composition.compositors.logged import Claims
from composition.rules import RunningAccount
from queryable.mechanism import InteractiveMechanism
from queryable.randomness.coins import ChildId

NO_CLAIMS: "Map[int, Claim]" = Map()


class Charged(Parent):
    """What follows from the claims of a state."""

    __slots__ = ()

    claims: Claims

    def launched(self, identity: Any) -> InteractiveMechanism[Any] | None:
        """The mechanism that was launched under an id, or None."""
        claim = self.claims.get(identity)
        return None if claim is None else claim.mechanism

    def shared(self, claim: Claim) -> Claim:
        """The last claim if it equals this one: repeated launches then share one object."""
        last = self.claims.get(len(self.claims) - 1)
        if (
            last is not None
            and last.mechanism is claim.mechanism
            and last.fixed is claim.fixed is True
            and last.coined is claim.coined
            and type(last.loss) is type(claim.loss)
            and last.loss == claim.loss
        ):
            return last
        return claim


@attrs.define(unsafe_hash=True)  # never changed; to freeze it would take most of making it
class CompositionState(Charged):
    """The state of a filter or an odometer.

    Attributes:
        dataset: the data.
        account: what all charges come to.
        claims: one claim for each launch that was charged, by child id.
        children: the live interactive children.
        halted: the reason, once the compositor has halted.
        streams: the continual children in launch order, and perhaps some that have ended; None
            until the first batch has arrived.
    """

    dataset: Any = attrs.field(repr=False)
    account: RunningAccount
    claims: Claims = NO_CLAIMS
    children: Children = NO_CHILDREN
    halted: str | None = None
    streams: tuple[ChildId, ...] | None = attrs.field(default=None, eq=False, repr=False)

    def among(self, children: Children) -> "CompositionState":
        """The state with these children; itself, if they are its own."""
        if children is self.children:
            return self
        account, claims, halted = self.account, self.claims, self.halted
        return CompositionState(self.dataset, account, claims, children, halted, self.streams)

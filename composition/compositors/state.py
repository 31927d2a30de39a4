"""The own state of filters and odometers: the data, and what was charged."""

from typing import Any

import attrs
from immutables import Map

from composition.compositors.claims import Claim
from composition.compositors.logged import Claims
from composition.rules import RunningAccount
from queryable.conversation import Data
from queryable.mechanism import InteractiveMechanism

NO_CLAIMS: "Map[int, Claim]" = Map()


class Charged:
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
    """The own state of a filter or an odometer. Its children belong to the runner.

    Attributes:
        data: the data.
        account: what all charges come to.
        claims: one claim for each launch that was charged, by child id.
        halted: the reason, once the compositor has halted.
        streams: the children that take batches in launch order, and perhaps some that have ended;
            None until the first batch has arrived.
        last: the checked launch that was charged last, if no batch has arrived since.
    """

    data: Data = attrs.field(repr=False)
    account: RunningAccount
    claims: Claims = NO_CLAIMS
    halted: str | None = None
    streams: tuple[int, ...] | None = attrs.field(default=None, eq=False, repr=False)
    last: Any = attrs.field(default=None, eq=False, repr=False)

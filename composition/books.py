"""The books of filters and odometers: their own account, folded over launches once more.

Responsible for the same steps as a launch takes, without its data: claim, then account. What comes
out equals what the running compositor says, for every rule.
"""

from fractions import Fraction
from typing import TYPE_CHECKING

import attrs

from composition.launching import map_at
from composition.rules import Account, Tally
from queryable.books import Books, Charge
from queryable.losses import Loss
from queryable.messages import Launch
from queryable.reports import Report

if TYPE_CHECKING:
    from composition.adaptive import AdaptiveComposition


@attrs.frozen
class CompositionBooks(Books):
    """An account, and the compositor that says what a launch is charged."""

    composition: "AdaptiveComposition"
    account: Tally

    @property
    def budget(self) -> Loss | None:
        """A filter's."""
        return getattr(self.composition, "budget", None)

    @property
    def retires_earlier(self) -> bool:
        """In sequential composition."""
        return not self.composition.interleaves

    def charge(self, launch: Launch) -> Charge:
        """As at a launch; the claim in the mechanism's own measure, or the d_out it was given."""
        claim = self.composition.claimed(launch)
        own = launch.d_out or map_at(claim.mechanism, self.composition.d_in, None)
        return Charge(claim.mechanism, own, claim.loss)

    def after(self, charge: Charge) -> "CompositionBooks":
        """The account grows."""
        return CompositionBooks(self.composition, self.account.add(charge.loss))

    def total(self) -> Report:
        """What `privacy_loss` says."""
        return self.account.total()

    def remaining(self) -> Loss | None:
        """A filter's."""
        return self.account.remaining() if isinstance(self.account, Account) else None

    def share(self) -> Fraction | None:
        """A filter's, in its rule's own units."""
        return self.account.share() if isinstance(self.account, Account) else None

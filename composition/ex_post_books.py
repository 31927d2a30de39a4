"""The books of an ex-post filter: what its children have realised, followed from outside.

Responsible for the same steps as its asks and launches take, without data: an expense is a function
of queries and answers, both of which are in the view.
"""

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import attrs
from immutables import Map

from composition.ex_post import ExPost, bound, moved
from composition.launching import Claimed, map_at
from composition.metering import Metered
from composition.rules.additive import AdditiveAccount
from queryable.books import Books, Charge
from queryable.coins import ChildId
from queryable.errors import PrivacyClaimError
from queryable.ex_post import Opening
from queryable.losses import Loss
from queryable.messages import Answer, Failed, Halted, Launch, Launched, PrivacyLossQuery, Query
from queryable.reports import ExPostBound

if TYPE_CHECKING:
    from queryable.losses import AdditiveLoss


@attrs.frozen
class MeteredCharge(Charge):
    """A charge, and the entry that it changes with."""

    loss: "AdditiveLoss"
    entry: Claimed


@attrs.frozen
class ExPostBooks(Books):
    """The account so far, and every launch's entry by id."""

    listens = True

    composition: ExPost
    account: AdditiveAccount
    entries: "Map[ChildId, Claimed]" = Map()

    @property
    def budget(self) -> Loss:
        """The filter's."""
        return self.composition.budget

    @property
    def retires_earlier(self) -> bool:
        """Never."""
        return False

    def charge(self, launch: Launch) -> MeteredCharge:
        """What it may cost at worst."""
        entry, worst = self.composition.entry(launch)
        own = launch.d_out
        if own is None:
            try:
                own = map_at(entry.mechanism, self.composition.d_in, None)
            except PrivacyClaimError:  # it has no loss in advance
                own = worst
        return MeteredCharge(entry.mechanism, own, worst, entry)

    def settled(self, charge: Charge, answer: Answer) -> Charge:
        """What its opening has cost."""
        if not (isinstance(charge, MeteredCharge) and isinstance(charge.entry, Metered)):
            return charge
        alive = isinstance(answer, Launched)
        opening = answer.answer if alive else None
        entry, _ = charge.entry.settled(Opening(), opening, charge.loss, alive=alive)
        return attrs.evolve(charge, loss=entry.loss, entry=entry)

    def after(self, charge: Charge) -> "ExPostBooks":
        """One more entry."""
        assert isinstance(charge, MeteredCharge)
        entries = self.entries.set(len(self.entries), charge.entry)
        return ExPostBooks(self.composition, self.account.add(charge.loss), entries)

    def heard(self, child: ChildId, query: Query, answer: Answer) -> "ExPostBooks":
        """A child's charge becomes what its transcript has cost; not if the ask was refused."""
        entry = self.entries.get(child)
        if not isinstance(entry, Metered) or isinstance(query, PrivacyLossQuery):
            return self
        if isinstance(answer, Halted) and self.composition.on_exceed == "halt":
            return self  # the filter's answer, not the child's
        worst = entry.at_worst(query)
        if not moved(self.account, entry.loss, worst).within:
            return self
        alive = not isinstance(answer, Failed)
        settled, _ = entry.settled(query, answer, worst, alive=alive)
        account = moved(self.account, entry.loss, settled.loss)
        return ExPostBooks(self.composition, account, self.entries.set(child, settled))

    def realised(self, child: ChildId) -> ExPostBound | None:
        """Of an ex-post child, what it has cost so far."""
        entry: Any = self.entries.get(child)
        if not isinstance(entry, Metered):
            return None
        return bound(entry.realised(self.composition.d_in))

    def total(self) -> ExPostBound:
        """What `privacy_loss` says."""
        return bound(self.account.sum.parts)

    def remaining(self) -> Loss:
        """The filter's."""
        return self.account.remaining()

    def share(self) -> Fraction:
        """Of the budget."""
        return self.account.share()

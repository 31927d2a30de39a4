"""Accounts with accounts in them: odometers as filters, least budgets, time-uniform odometers.

`KINDS` is the table of all kinds of accounts.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from curator.codec import CODEC
from curator.verification import odometers, residues
from curator.verification.accounts import (
    Amounts,
    Each,
    Json,
    Kind,
    Running,
    Sum,
    WrongAccountError,
    compact,
    parts_of,
    tag_of,
)
from curator.verification.compare import Verdict, all_within
from curator.verification.rules import Menu, Renyi, Residue, Rogers, Slack

_ZERO = Fraction(0)


@attrs.frozen
class TimeUniform(Kind):
    """Sums that a time-uniform odometer bounds: `time-uniform-account/1`."""

    changing = frozenset({"parts"})

    def amounts(self, account: Json) -> Amounts:
        """The sums, with that of the deltas last if they have a share."""
        return tuple(map(Fraction, account["parts"]))

    def empty(self) -> Amounts:
        """All are 0."""
        odometer = self.fixed["odometer"]
        shares = odometers.share_of_deltas(odometer) is not None
        orders = odometer.get("orders") if not shares else None
        return tuple(_ZERO for _ in range((len(orders) if orders else 1) + shares))

    def added(self, loss: Any) -> Amounts:
        """The coordinates of the loss."""
        return parts_of(loss)

    def verdict(self, amounts: Amounts, account: Json) -> Verdict:
        """The deltas are within their share."""
        most = odometers.share_of_deltas(self.fixed["odometer"])
        return most is None or amounts[-1] <= most

    def bounded(self, amounts: Amounts, epsilon: Fraction) -> Verdict:
        """Whether the bound is at most epsilon."""
        return odometers.bound_within(self.fixed["odometer"], amounts, epsilon)


@attrs.frozen
class Stopping(Kind):
    """A time-uniform bound within a budget: `stopping-account/1`."""

    def _running(self) -> TimeUniform:
        return TimeUniform(self.fixed["running"])

    def amounts(self, account: Json) -> Amounts:
        """The sums."""
        return self._running().amounts(account["running"])

    def empty(self) -> Amounts:
        """All are 0."""
        return self._running().empty()

    def added(self, loss: Any) -> Amounts:
        """The coordinates of the loss."""
        return parts_of(loss)

    def verdict(self, amounts: Amounts, account: Json) -> Verdict:
        """The bound is within epsilon."""
        return self._running().bounded(amounts, Fraction(self.fixed["budget"]["epsilon"]))

    def under(self, budget: Any, account: Json) -> Verdict:
        """The same, for that epsilon."""
        return self._running().bounded(self.amounts(account), budget.epsilon)


@attrs.frozen
class LeastBudget(Kind):
    """The account of a rule under a very large budget: `least-budget/1`.

    The losses are listed if the least budget that admits them cannot be told from the account.
    """

    changing = frozenset({"losses", "last"})

    def _ceiling(self) -> Kind:
        ceiling = self.fixed["ceiling"]
        return KINDS[ceiling["@"]](ceiling)

    def amounts(self, account: Json) -> Amounts:
        """Those of the account under the large budget."""
        return self._ceiling().amounts(account["ceiling"])

    def empty(self) -> Amounts:
        """Those of its empty account."""
        return self._ceiling().empty()

    def added(self, loss: Any) -> Amounts:
        """What its rule adds."""
        return self._ceiling().added(loss)

    def moved(self, before: Json | None, loss: Any, after: Json, *, least: bool) -> None:
        """That account moves, and the losses are listed if they have to be."""
        inner = None if before is None else before["ceiling"]
        self._ceiling().moved(inner, loss, after["ceiling"], least=least)
        if tag_of(self.fixed["ceiling"]) in LISTED:
            old, new = [] if before is None else before["losses"], after["losses"]
            if new[: len(old)] != old or len(new) <= len(old) or new[-1] != after["last"]:
                raise WrongAccountError("does not list the losses that were charged")
            if len(new) != len(old) + 1 and not least:
                raise WrongAccountError("lists losses that were not charged")

    def verdict(self, amounts: Amounts, account: Json) -> Verdict:
        """The large budget admits the launches."""
        return self._ceiling().verdict(amounts, account.get("ceiling", {}))

    def after(self, before: Json | None, loss: Any) -> Verdict:
        """It would admit one more."""
        return self._ceiling().after(None if before is None else before["ceiling"], loss)

    def under(self, budget: Any, account: Json) -> Verdict:
        """The rule admits the launches under that budget."""
        delta = self.fixed["line"].get("delta")
        if delta is not None and not Fraction(delta) <= budget.delta:
            return False
        ceiling = self._ceiling()
        at = budget if delta is None else attrs.evolve(budget, delta=Fraction(delta))
        if not isinstance(ceiling, Residue):
            return ceiling.under(at, account["ceiling"])
        losses = ((Fraction(each["epsilon"]), Fraction(each["mu"])) for each in account["losses"])
        return residues.replayed(tuple(losses), (at.epsilon, Fraction(ceiling.fixed["slack"])))


@attrs.frozen
class Filtered(Kind):
    """An odometer's account compared with a budget: `accumulator-account/1`."""

    def _running(self) -> Kind:
        running = self.fixed["running"]
        return KINDS[running["@"]](running)

    def amounts(self, account: Json) -> Amounts:
        """Those of the odometer's account."""
        return self._running().amounts(account["running"])

    def empty(self) -> Amounts:
        """Those of its empty account."""
        return self._running().empty()

    def added(self, loss: Any) -> Amounts:
        """What the odometer adds."""
        return self._running().added(loss)

    def moved(self, before: Json | None, loss: Any, after: Json, *, least: bool) -> None:
        """The odometer's account moves."""
        inner = None if before is None else before["running"]
        self._running().moved(inner, loss, after["running"], least=least)

    def verdict(self, amounts: Amounts, account: Json) -> Verdict:
        """The odometer's total is within the budget."""
        if not account:
            return None  # after a launch that was refused: its account is not in the ledger
        return self.under(CODEC.decode(compact(self.fixed["budget"])), account)

    def under(self, budget: Any, account: Json) -> Verdict:
        """The odometer's total is within that budget."""
        running, inner = self._running(), account["running"]
        inside = running.verdict(running.amounts(inner), inner)
        return all_within((inside, running.under(budget, inner)))


LISTED = frozenset({"menu-account/1", "residue-account/1"})
"""Accounts that do not tell the least budget that admits their launches."""

KINDS: Mapping[str, type[Kind]] = {
    "accumulator-account/1": Filtered,
    "additive-account/1": Sum,
    "ex-post-account/1": Sum,
    "least-budget/1": LeastBudget,
    "menu-account/1": Menu,
    "record-account/1": Each,
    "renyi-account/1": Renyi,
    "residue-account/1": Residue,
    "rogers-account/1": Rogers,
    "running-sum/1": Running,
    "slack-account/1": Slack,
    "stopping-account/1": Stopping,
    "time-uniform-account/1": TimeUniform,
}


def fixed_of(account: Any) -> Any:
    """An account without what a charge changes, also in the accounts in it."""
    if not isinstance(account, dict):
        return account
    kind = KINDS.get(tag_of(account))
    changing = kind.changing if kind else ()
    return {name: fixed_of(each) for name, each in account.items() if name not in changing}

"""Accounts of the rules that do more than compare a sum with a budget.

The formulas are those of docs/theory/conversions.md and of the proofs that it names.
"""

from fractions import Fraction
from typing import Any

import attrs
from flint import arb

from curator.verification import curves, menus, residues
from curator.verification.accounts import (
    Amounts,
    Json,
    Kind,
    WrongAccountError,
    fractions_of,
    parts_of,
    tag_of,
    told,
)
from curator.verification.compare import Verdict, all_within, ball, exactly, share, within
from queryable.losses import GDP, ApproxDP, ApproxZCDP, Dominated

_ZERO = Fraction(0)
_NEARLY = 1 + Fraction(1, 2**50)


@attrs.frozen
class Slack(Kind):
    """A weight within a capacity, and deltas beside a slack: `slack-account/1`."""

    changing = frozenset({"weight", "deltas", "started"})

    def amounts(self, account: Json) -> Amounts:
        """The weight and the deltas."""
        return Fraction(account["weight"]), Fraction(account["deltas"])

    def empty(self) -> Amounts:
        """Both are 0."""
        return _ZERO, _ZERO

    def added(self, loss: Any) -> Amounts:
        """Epsilon squared, rho or mu squared; and delta."""
        match loss:
            case ApproxDP(epsilon, delta):
                return epsilon**2, delta
            case ApproxZCDP(rho, delta):
                return rho, delta
            case GDP(mu):
                return mu**2, _ZERO
        raise WrongAccountError(f"charges {loss}, which this rule does not take")

    def verdict(self, amounts: Amounts, account: Json) -> Verdict:
        """The weight is within the capacity, the deltas within what the slack leaves."""
        weight, deltas = amounts
        most, slack = Fraction(self.fixed["budget"]["delta"]), Fraction(self.fixed["slack"])
        return exactly([(weight, Fraction(self.fixed["capacity"])), (deltas, most - slack)])

    def under(self, budget: Any, account: Json) -> Verdict:
        """The weight is within that epsilon, the deltas within what the slack leaves."""
        weight, deltas = self.amounts(account)
        slack = Fraction(self.fixed["slack"])
        fits = weight_within(tag_of(self.fixed["rule"]), weight, budget.epsilon, slack)
        return all_within((fits, exactly([(deltas, budget.delta - slack)])))


def weight_within(rule: str, weight: Fraction, epsilon: Fraction, slack: Fraction) -> Verdict:
    """Whether a total weight is (epsilon, slack)-DP (docs/theory/conversions.md)."""
    if weight == 0:
        return True
    match rule:
        case "via-zcdp/1":
            return curves.concentrated_within(weight, epsilon, slack)
        case "via-gdp/1":
            return curves.gaussian_within(weight, epsilon, slack)

    def bound() -> arb:
        w, log = ball(weight), -ball(slack).log()
        if rule == "rogers-2023/1":
            return w + 2 * (w * log).sqrt()
        return (2 * log * w).sqrt() + w / 2

    return within(bound, epsilon)


@attrs.frozen
class Menu(Kind):
    """Units of a menu, and deltas beside a slack: `menu-account/1`."""

    changing = frozenset({"used", "deltas", "started"})

    def _terms(self) -> tuple[Fraction, menus.Priced]:
        priced = sorted((int(steps), int(cost)) for steps, cost in self.fixed["priced"])
        return Fraction(self.fixed["unit"]), tuple(priced)

    def amounts(self, account: Json) -> Amounts:
        """The units and the deltas."""
        return Fraction(account["used"]), Fraction(account["deltas"])

    def empty(self) -> Amounts:
        """Both are 0."""
        return _ZERO, _ZERO

    def added(self, loss: Any) -> Amounts:
        """The units of the smallest entry that is at least epsilon; and delta."""
        cost = menus.cost_of(loss.epsilon, *self._terms())
        if cost is None:
            raise WrongAccountError(f"charges {loss}, above every entry of the menu")
        return Fraction(cost), loss.delta

    def verdict(self, amounts: Amounts, account: Json) -> Verdict:
        """The worst case of the units is within the slack, the deltas within the rest."""
        budget = self.fixed["budget"]
        return self._within(amounts, Fraction(budget["epsilon"]), Fraction(budget["delta"]))

    def _within(self, amounts: Amounts, epsilon: Fraction, delta: Fraction) -> Verdict:
        used, deltas = amounts
        unit, priced = self._terms()
        slack = Fraction(self.fixed["slack"])
        units = menus.units_within(int(used), epsilon, unit, priced, slack)
        return all_within((units, exactly([(deltas, delta - slack)])))

    def after(self, before: Json | None, loss: Any) -> Verdict:
        """An epsilon above the menu does not fit."""
        if menus.cost_of(loss.epsilon, *self._terms()) is None:
            return False
        return super().after(before, loss)

    def under(self, budget: Any, account: Json) -> Verdict:
        """The same, for that budget."""
        return self._within(self.amounts(account), budget.epsilon, budget.delta)


@attrs.frozen
class Renyi(Kind):
    """Renyi losses at several orders: `renyi-account/1`."""

    changing = frozenset({"losses", "started"})

    def amounts(self, account: Json) -> Amounts:
        """The sum at each order."""
        return fractions_of(account["losses"])

    def empty(self) -> Amounts:
        """Zero at each order."""
        return tuple(_ZERO for _ in self.fixed["mixture"]["orders"])

    def added(self, loss: Any) -> Amounts:
        """The loss at each order."""
        return parts_of(loss)

    def verdict(self, amounts: Amounts, account: Json) -> Verdict:
        """The mixture of the orders is within (epsilon, slack)."""
        return self._within(amounts, Fraction(self.fixed["budget"]["epsilon"]))

    def _within(self, amounts: Amounts, epsilon: Fraction) -> Verdict:
        mixture = self.fixed["mixture"]
        orders, weights = fractions_of(mixture["orders"]), fractions_of(mixture["weights"])
        slack = Fraction(mixture["slack"])
        return curves.renyi_within(orders, weights, amounts, epsilon, slack)

    def under(self, budget: Any, account: Json) -> Verdict:
        """The same, for that epsilon."""
        return self._within(self.amounts(account), budget.epsilon)


@attrs.frozen
class Rogers(Kind):
    """The sums of epsilon squared and of the drifts: `rogers-account/1`."""

    changing = frozenset({"variance", "drift", "started"})

    def amounts(self, account: Json) -> Amounts:
        """The variance and the drift."""
        return Fraction(account["variance"]), Fraction(account["drift"])

    def empty(self) -> Amounts:
        """Both are 0."""
        return _ZERO, _ZERO

    def added(self, loss: Any) -> Amounts:
        """Epsilon squared, and epsilon*(e^epsilon - 1)/2 from below."""
        epsilon = loss.epsilon
        if not epsilon:
            return _ZERO, _ZERO
        square = epsilon**2
        low, _ = share(lambda: ball(epsilon) * ball(epsilon).expm1() / 2, square)
        return square, square * Fraction(low, 2**64)

    def follows(self, old: Amounts, added: Amounts, new: Amounts, *, least: bool) -> None:
        """The variance is a sum; the drift is one that was rounded up."""
        super().follows(old[:1], added[:1], new[:1], least=least)
        grown = new[1] - old[1]
        if grown < added[1] or not (least or grown <= added[1] * _NEARLY):
            raise WrongAccountError(
                f"has a drift of {told(new[1:])}; it should be {told((old[1] + added[1],))}"
            )

    def verdict(self, amounts: Amounts, account: Json) -> Verdict:
        """The bound of Theorem 5.1 is within epsilon."""
        return self._within(amounts, Fraction(self.fixed["budget"]["epsilon"]))

    def _within(self, amounts: Amounts, epsilon: Fraction) -> Verdict:
        variance, drift = amounts
        delta = Fraction(self.fixed["budget"]["delta"])

        def bound() -> arb:
            v, log = ball(variance), -ball(delta).log()
            x = ball(epsilon) ** 2 / (arb("28.04") * log)
            spread = (v + x) * (1 + (v / x + 1).log() / 2)
            return ball(drift) + (2 * spread * log).sqrt()

        return within(bound, epsilon)

    def under(self, budget: Any, account: Json) -> Verdict:
        """The same, for that epsilon."""
        return self._within(self.amounts(account), budget.epsilon) if budget.epsilon else None


@attrs.frozen
class Residue(Kind):
    """The Gaussian DP that is left, and deltas beside a slack: `residue-account/1`."""

    changing = frozenset({"mu", "deltas", "started", "exceeded"})

    def amounts(self, account: Json) -> Amounts:
        """The deltas, and mu once there is one."""
        left = () if account.get("mu") is None else (Fraction(account["mu"]),)
        return (Fraction(account["deltas"]), *left)

    def empty(self) -> Amounts:
        """No deltas, and no mu yet."""
        return (_ZERO,)

    def added(self, loss: Any) -> Amounts:
        """Delta alone: mu is no sum."""
        return (loss.delta,)

    def _budget(self) -> tuple[Fraction, Fraction]:
        return Fraction(self.fixed["budget"]["epsilon"]), Fraction(self.fixed["slack"])

    def moved(self, before: Json | None, loss: Any, after: Json, *, least: bool) -> None:
        """The deltas are a sum, and mu is what the launch leaves."""
        assert isinstance(loss, Dominated)
        old, *left = self.empty() if before is None else self.amounts(before)
        new, *now = self.amounts(after)
        self.follows((old,), (loss.delta,), (new,), least=least)
        had = left[0] if left else None
        if not now:
            if left or loss.epsilon or loss.mu:
                raise WrongAccountError("has no mu left, though a launch with a loss was admitted")
        elif not residues.is_residue(
            now[0], had, loss.mu, loss.epsilon, self._budget(), least=least
        ):
            raise WrongAccountError(
                f"has mu {told((now[0],))} left, which the launch does not leave"
            )

    def verdict(self, amounts: Amounts, account: Json) -> Verdict:
        """No launch was too large, and the deltas are within what the slack leaves."""
        if account.get("exceeded"):
            return False
        room = Fraction(self.fixed["budget"]["delta"]) - Fraction(self.fixed["slack"])
        return amounts[0] <= room

    def after(self, before: Json | None, loss: Any) -> Verdict:
        """The launch leaves something."""
        old, *left = self.empty() if before is None else self.amounts(before)
        deltas = self.verdict((old + loss.delta,), {})
        if not (loss.epsilon or loss.mu):
            return deltas
        had = left[0] if left else None
        fits = residues.fits_residue(had, loss.mu**2, loss.epsilon, self._budget())
        return all_within((deltas, fits))

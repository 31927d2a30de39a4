"""A filter for (epsilon, delta) budgets that adds up Renyi privacy at several orders at once.

The theorem is in docs/theory.md, weighted Renyi filter. With fixed weights w_j >= 0 that sum to 1,
R_j the sum of the Renyi losses at order alpha_j and

    m(l) = sum over j of w_j * exp((alpha_j - 1)*(l - R_j)),

all launches together are (epsilon, delta)-DP if (1 - e^(epsilon-l))/m(l) <= delta for all l >
epsilon. To require only that *some* order fits would be invalid, because which one fits may depend
on answers.

Theory of operation: g = log m is convex, so it lies above its tangent at any l, of slope s > 0 say.
With the tangent in its place the supremum is elementary, and it is at most delta once epsilon is

    l - (g + log(1+s) + log(delta))/s - log(1 + 1/s).

So every l gives a valid epsilon. The least epsilon is at the l that solves g + log(1+s) =
log(1/delta), whose left side rises with l. This l is computed in floats and then used in exact
arithmetic.
"""

from collections.abc import Iterable
from fractions import Fraction
from math import inf, log, log1p
from typing import Any

import attrs
import numpy as np
from flint import arb
from numpy.typing import NDArray

from composition.rules.base import Account, Rule, sums
from composition.rules.checks.compare import Verdict
from composition.rules.checks.curves import renyi_within
from composition.rules.slack import outside, read_slack, require_approx, share_of, slack_field
from queryable.losses import (
    RDP,
    AdditiveLoss,
    ApproxDP,
    Loss,
    Measure,
    Parts,
    add_parts,
    zero_of,
)
from queryable.losses.conversions import log_up
from queryable.losses.numbers import (
    ball,
    exact,
    named,
    round_up,
    several,
)
from queryable.losses.renyi import orders_in, orders_of
from queryable.wording.quoting import an_instance

_CLIPPED = Fraction(10**12)  # floats only choose the l
_MARGINS = tuple(Fraction(1, 2**bits) for bits in (44, 36, 28, 20))


def _shares(values: Iterable[Any]) -> tuple[Fraction, ...]:
    return tuple(exact(value, "weight") for value in several(values, "weights"))


def _weights(values: Iterable[Any] | None) -> tuple[Fraction, ...] | None:
    return None if values is None else _shares(values)


def _require_shares(orders: tuple[Fraction, ...], weights: tuple[Fraction, ...]) -> None:
    """Check that there is one weight for each order, and that they sum to 1.

    Raises:
        ValueError: that is not so.
    """
    if len(weights) != len(orders):
        raise ValueError(f"{len(weights)} weights for {len(orders)} orders")
    if sum(weights) != 1:
        raise ValueError(f"the weights sum to {sum(weights)}; they do not sum to 1 exactly")


@attrs.frozen
class ViaRenyi(Rule):
    """The bound of the weighted mixture of all orders stays within (epsilon, slack).

    Launches state their Renyi loss at each of the orders, which has no delta.

    Privacy:
        Claim: all launches together are (epsilon, slack)-DP.
        Theorem: docs/theory.md, weighted Renyi filter; every interleaving, by the supermartingale
            of interleaved Renyi mechanisms.
        Assumes: orders, weights and slack are fixed, by this rule or by the budget.
        Checked by: tests/unit/composition/rules/test_renyi.py, tests/audit/test_rules.py
    Args:
        orders: above 1, rising.
        weights: one for each order, with sum exactly 1. By default half of the weight is on the
            order that is best for Gaussian launches, and the rest is shared evenly.
        slack: the delta of the bound; by default all of the budget's.
    """

    orders: tuple[Fraction, ...] = attrs.field(converter=orders_of)
    weights: tuple[Fraction, ...] | None = attrs.field(default=None, converter=_weights)
    slack: Fraction | None = attrs.field(default=None, converter=slack_field)

    @weights.validator
    def _one_each(self, attribute: object, weights: tuple[Fraction, ...] | None) -> None:
        if weights is not None:
            _require_shares(self.orders, weights)

    def monotone(self) -> bool:
        """Yes, with given weights. Default weights depend on the budget, and then it is not.

        With default weights, admitting what some budget admits would mean that some order fits,
        which is invalid (tests/attacks/test_naive_accounts.py).
        """
        return self.weights is not None or len(self.orders) == 1

    def child_measure(self, budget: Loss) -> Measure:
        """Renyi losses at these orders."""
        require_approx(budget, self)
        return RDP.at(*self.orders)

    def open(self, budget: Loss) -> "RenyiAccount":
        """An empty account, with the weights and the slack for this budget."""
        approx = require_approx(budget, self)
        slack = share_of(self.slack, approx)
        weights = self.weights or _for_gaussians(self.orders, float(approx.epsilon), slack)
        zero = zero_of(self.child_measure(budget))
        assert isinstance(zero, AdditiveLoss)
        return RenyiAccount(approx, Mixture(self.orders, weights, slack), zero, zero.parts)


def _for_gaussians(
    orders: tuple[Fraction, ...], epsilon: float, slack: Fraction
) -> tuple[Fraction, ...]:
    """Half of the weight on the order that fits the largest rho*alpha, the rest evenly."""
    if len(orders) == 1:
        return (Fraction(1),)

    def rho(order: Fraction) -> float:
        alpha = float(order)
        room = epsilon - log1p(-1 / alpha) + (_log(slack) + log(alpha)) / (alpha - 1)
        return room / alpha

    best = max(orders, key=rho)
    rest = Fraction(1, 2 * (len(orders) - 1))
    return tuple(Fraction(1, 2) if order == best else rest for order in orders)


def _log(value: Fraction) -> float:
    return log(value.numerator) - log(value.denominator)


@attrs.frozen
class Mixture:
    """Orders, their weights and the slack; in floats too, for choosing l."""

    orders: tuple[Fraction, ...] = attrs.field(converter=orders_of)
    weights: tuple[Fraction, ...] = attrs.field(converter=_shares)
    slack: Fraction = attrs.field(converter=read_slack)
    _excess: NDArray[np.float64] = attrs.field(init=False, repr=False, eq=False)
    _log_weights: NDArray[np.float64] = attrs.field(init=False, repr=False, eq=False)

    def __attrs_post_init__(self) -> None:
        _require_shares(self.orders, self.weights)
        excess = np.array([float(order - 1) for order in self.orders])
        logs = np.array([_log(weight) if weight else -inf for weight in self.weights])
        object.__setattr__(self, "_excess", excess)
        object.__setattr__(self, "_log_weights", logs)

    def epsilon(self, losses: Parts) -> Fraction:
        """The least epsilon at delta = slack for these sums, rounded up."""
        if not any(losses):
            return Fraction(0)
        at = Fraction(self._tilt(self._floats(losses))[0])
        used = [
            (order - 1, weight, loss)
            for order, weight, loss in zip(self.orders, self.weights, losses, strict=True)
            if weight
        ]

        def epsilon(level: arb, delta: arb) -> arb:
            mass, slope = arb(0), arb(0)
            for excess, weight, loss in used:
                rate = ball(excess)
                term = ball(weight) * (rate * (level - ball(loss))).exp()
                mass += term
                slope += rate * term
            slope /= mass
            room = (mass * (1 + slope) * delta).log()
            return level - room / slope - (1 / slope).log1p()

        try:
            return max(Fraction(0), round_up(epsilon, at, self.slack))
        except ArithmeticError:  # overflow: each order alone gives a bound
            return min(
                loss + log_up(1 / (weight * self.slack)) / excess for excess, weight, loss in used
            )

    def largest_rho(self, losses: Parts, epsilon: Fraction) -> Fraction:
        """Approximately the largest rho such that rho*alpha fits in addition to `losses`."""
        orders, start = self._excess + 1, self._floats(losses)
        target, rho = float(min(epsilon, _CLIPPED)), 0.0
        for _ in range(60):  # Newton's method; the slope is that of the mixture's mean
            level, slope, share = self._tilt(start + rho * orders)
            step = (target - level + log1p(1 / slope)) * slope / float(share @ orders)
            rho = max(0.0, rho + step)
            if abs(step) <= 1e-14 * rho:
                break
        return Fraction(rho)

    def _floats(self, losses: Parts) -> NDArray[np.float64]:
        return np.array([float(min(loss, _CLIPPED)) for loss in losses])

    def _tilt(self, losses: NDArray[np.float64]) -> tuple[float, float, NDArray[np.float64]]:
        """The l with g + log(1 + s) = log(1/slack), the slope s, and the orders' shares in s."""
        goal = -_log(self.slack)
        # start on the right, where one term alone is at least 1/slack
        level = float(np.min(losses + (goal - self._log_weights) / self._excess))
        for _ in range(60):
            terms = self._log_weights + self._excess * (level - losses)
            top = float(terms.max())
            masses = np.exp(terms - top)
            mass = float(masses.sum())
            share = masses * self._excess / mass
            slope = float(share.sum())
            spread = float(share @ self._excess) - slope * slope
            step = (top + log(mass) + log1p(slope) - goal) / (slope + spread / (1 + slope))
            level -= step
            if abs(step) <= 1e-9 * (1 + abs(level)):
                break
        return level, slope, share


@attrs.frozen
class RenyiAccount(Account):
    """The sums of the losses, one for each order."""

    charged = ("losses",)
    marks = ("started",)
    counts = "epsilon"
    derived = ("weights",)

    budget: ApproxDP = attrs.field(validator=an_instance(ApproxDP))
    mixture: Mixture = attrs.field(validator=an_instance(Mixture))
    empty: AdditiveLoss = attrs.field(validator=an_instance(AdditiveLoss))
    losses: Parts = attrs.field(validator=sums)
    started: bool = False

    def __attrs_post_init__(self) -> None:
        orders = self.mixture.orders
        if orders_in(self.empty) != orders or len(self.losses) != len(orders):
            raise ValueError(f"{self.empty} is not a curve at the orders of the mixture")
        if not self.mixture.slack <= self.budget.delta:
            raise ValueError(f"the mixture's slack is above the delta of {self.budget}")

    def add(self, loss: AdditiveLoss) -> "RenyiAccount":
        """Add one launch to every sum."""
        return self._with(add_parts(self.losses, loss.parts))

    def add_many(self, loss: AdditiveLoss, count: int) -> "RenyiAccount":
        """Add `count` equal launches to every sum."""
        return self._with(add_parts(self.losses, tuple(count * part for part in loss.parts)))

    def _with(self, losses: Parts) -> "RenyiAccount":
        return RenyiAccount(self.budget, self.mixture, self.empty, losses, started=True)

    @property
    def within(self) -> bool:
        """Whether the mixture's epsilon at the slack is within the budget's."""
        return self.mixture.epsilon(self.losses) <= self.budget.epsilon

    def check(self, amounts: Parts) -> Verdict:
        """Whether the claim holds at the loss where it is tightest."""
        orders, weights, slack = self.mixture.orders, self.mixture.weights, self.mixture.slack
        return renyi_within(orders, weights, amounts, self.budget.epsilon, slack)

    def wrong_terms(self) -> str:
        """Weights or a slack that the budget does not have."""
        weights = self.mixture.weights
        if sum(weights) != 1 or min(weights) < 0:
            return "has weights of orders that do not sum to 1"
        return outside(self.mixture.slack, self.budget)

    def total(self) -> ApproxDP:
        """(epsilon of the mixture, slack), zero before the first launch."""
        if not self.started:
            return self.budget.zero()
        return ApproxDP(self.mixture.epsilon(self.losses), self.mixture.slack)

    def least(self) -> Fraction:
        """The epsilon of the mixture."""
        return self.mixture.epsilon(self.losses)

    def remaining(self) -> AdditiveLoss:
        """The largest curve rho*alpha, that of a Gaussian, that would be admitted now.

        Renyi curves are only partially ordered: a curve that is larger at some orders may fit too.
        """
        most = self.mixture.largest_rho(self.losses, self.budget.epsilon)
        for margin in _MARGINS:
            rho = most * (1 - margin)
            curve = self.empty.of_parts(tuple(rho * order for order in self.mixture.orders))
            if self.add(curve).within:
                return curve
        return self.empty

    def hint(self, loss: Loss) -> str:
        """Says that the conversion of the orders alone exceeds epsilon, if it does."""
        least = self.mixture.epsilon(tuple(_NOTHING for _ in self.empty.parts))
        if least <= self.budget.epsilon:
            return ""
        return (
            f"; name higher orders: at {named('delta', self.mixture.slack)} these give "
            f"{named('epsilon', least)} even for no loss"
        )


_NOTHING = Fraction(1, 10**30)

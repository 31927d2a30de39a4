"""The first advanced filter (Rogers et al. 2016, Theorem 5.1), for comparison."""

from fractions import Fraction

import attrs
from flint import arb

from composition.rules.base import Account, Rule, sums
from composition.rules.checks.added import drifting
from composition.rules.checks.compare import Verdict, ball, within
from composition.rules.slack import require_approx
from queryable.losses import ApproxDP, Loss, Measure, Parts, PureDP, add_parts
from queryable.losses.conversions import greatest, least
from queryable.losses.numbers import round_down, round_up, shown
from queryable.wording.quoting import an_instance

_ONE_OVER_E = round_down(lambda one: (-one).exp(), Fraction(1))


_NEARLY = 1 + Fraction(1, 2**50)


def require_small(delta: Fraction, name: str) -> None:
    """Check that delta is in the range of the theorems of Rogers et al. 2016.

    Raises:
        ValueError: it is not between 0 and 1/e.
    """
    if not 0 < delta < _ONE_OVER_E:
        raise ValueError(f"delta is {shown(delta)}; {name} needs 0 < delta < 1/e")


def drift(epsilon: Fraction) -> Fraction:
    """epsilon*(e^epsilon - 1)/2, from above."""
    return round_up(lambda e: e * e.expm1() / 2, epsilon) if epsilon else epsilon


@attrs.frozen
class Rogers2016(Rule):
    """S + sqrt(2 (V + x) (1 + log(V/x + 1)/2) L) <= epsilon, x = epsilon^2/(28.04 L).

    L is log(1/delta), V the sum of epsilon_i squared and S the sum of
    epsilon_i*(e^epsilon_i - 1)/2. Launches are epsilon_i-DP; the rule uses the whole delta.

    Privacy:
        Theorem: Rogers et al. 2016, Theorem 5.1; interleaved by Haney et al. 2023, Theorem 1.20.
        Assumes: delta < 1/e.
    """

    def monotone(self) -> bool:
        """Yes, although x depends on the budget: epsilon rises by more than the bound does.

        With u = V/x + 1, g = (V + x)(1 + log(u)/2) has dg/dx = (3 + log(u) - u)/2 <= 1 and g >= x,
        so sqrt(2 g L) rises by at most sqrt(2/28.04) < 0.27 per unit of epsilon.
        """
        return True

    def child_measure(self, budget: Loss) -> Measure:
        """PureDP."""
        require_approx(budget, self)
        return PureDP

    def open(self, budget: Loss) -> "RogersAccount":
        """An empty account.

        Raises:
            ValueError: the budget's delta is not between 0 and 1/e, or its epsilon is 0.
        """
        return RogersAccount(require_approx(budget, self))


@attrs.frozen
class RogersAccount(Account):
    """V and S, the variance and the drift of the launches so far."""

    charged = ("variance", "drift")
    exact = 1
    marks = ("started",)
    counts = "epsilon"

    budget: ApproxDP = attrs.field(validator=an_instance(ApproxDP))
    variance: Fraction = attrs.field(default=Fraction(0), validator=sums)
    drift: Fraction = attrs.field(default=Fraction(0), validator=sums)
    started: bool = False

    def __attrs_post_init__(self) -> None:
        require_small(self.budget.delta, "Rogers2016")
        if not self.budget.epsilon > 0:
            raise ValueError("epsilon is 0; Rogers2016 needs more")

    def add(self, loss: PureDP) -> "RogersAccount":
        """Add one launch to the variance and the drift."""
        return self.add_many(loss, 1)

    def add_many(self, loss: PureDP, count: int) -> "RogersAccount":
        """Add `count` equal launches to the variance and the drift."""
        epsilon = loss.epsilon
        variance, total_drift = add_parts(
            (self.variance, self.drift), (count * epsilon * epsilon, count * drift(epsilon))
        )
        return RogersAccount(self.budget, variance, total_drift, started=True)

    def least(self) -> Fraction:
        """The least epsilon that the bound does not exceed, by bisection."""

        def admits(epsilon: Fraction) -> bool:
            budget = ApproxDP(epsilon, self.budget.delta)
            return epsilon > 0 and attrs.evolve(self, budget=budget).within

        return least(admits)

    @property
    def bound(self) -> Fraction:
        """The left-hand side, rounded up. No privacy loss, because x depends on the budget."""

        def left(v: arb, s: arb, e: arb, d: arb) -> arb:
            log = -d.log()
            x = e * e / (log * arb(2804) / 100)
            return s + (2 * (v + x) * (1 + (v / x + 1).log() / 2) * log).sqrt()

        return round_up(left, self.variance, self.drift, self.budget.epsilon, self.budget.delta)

    @property
    def within(self) -> bool:
        """Whether the bound is at most epsilon."""
        return self.bound <= self.budget.epsilon

    def added(self, loss: PureDP) -> Parts:
        """Epsilon squared, and the drift from below."""
        return drifting(loss.epsilon)

    def wrong_step(self, loss: PureDP, after: "RogersAccount", *, least: bool) -> str:
        """A drift that is not rounded up, or is rounded by too much."""
        grown, (_, low) = after.drift - self.drift, drifting(loss.epsilon)
        if low <= grown and (least or grown <= low * _NEARLY):
            return ""
        wanted = float(self.drift + low)
        return f"has a drift of {float(after.drift):.6g}; it should be {wanted:.6g}"

    def check(self, amounts: Parts) -> Verdict:
        """Whether Theorem 5.1's bound, in balls, is at most epsilon."""
        spent, drifts = amounts

        def bound() -> arb:
            v, log = ball(spent), -ball(self.budget.delta).log()
            x = ball(self.budget.epsilon) ** 2 / (arb("28.04") * log)
            spread = (v + x) * (1 + (v / x + 1).log() / 2)
            return ball(drifts) + (2 * spread * log).sqrt()

        return within(bound, self.budget.epsilon)

    def total(self) -> ApproxDP:
        """The whole budget after the first launch, zero before."""
        return self.budget if self.started else self.budget.zero()

    def remaining(self) -> PureDP:
        """The largest epsilon that would be admitted now."""
        return PureDP(greatest(lambda epsilon: self.add(PureDP(epsilon)).within))

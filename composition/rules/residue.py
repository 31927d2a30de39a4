"""The residue filter: the Gaussian DP that each launch leaves of an (epsilon, delta) budget.

It takes launches that are dominated by a randomized response or by a Gaussian.

Theory of operation: the state is a mu. A launch that RR_e dominates moves it to the largest m with
RR_e and G_m, together, dominated by G_mu. By induction all later launches together are G_m-DP,
given any answer. Domination has to hold at every t, and it does if it holds at t = 0:

    tanh(e/2) + 2*delta_m(e)/(1 + e^e) <= erf(mu/sqrt(8)),

the total variation distances of the two sides, delta_m(e) the profile of G_m. It is computed as 1
less both sides, because these are close to 1 if mu is large.

    Let D(x) be the profile of G_mu at t = log x less that of the pair. Both pairs are symmetric, so
    t >= 0 is enough, and D(1/x) = D(x)/x, whence D'(1) = D(1)/2. A profile's second derivative in x
    is the density of the likelihood ratio under the second law, so D'' has the sign of 1 - r, where
    r(t) is the ratio of the pair's density of the loss to the Gaussian's:

        r(t) = C*exp(-k*t^2)*cosh(b*t),  b = e/m^2,  2k = 1/m^2 - 1/mu^2.

    The inequality gives m < mu, so k > 0; and (log r)' = t*(b*tanh(b*t)/t - 2k), where the bracket
    falls in t. So on t >= 0 the sign of D'' is +, -, + with the first or the first two left out
    (not all +: both densities integrate to 1, so r > 1 somewhere). In the last part D is convex and
    tends to 0, with D', hence positive. In the first D'(1) = D(1)/2 >= 0, so D does not fall below
    D(1) >= 0. On the concave part between it is at least the smaller of its ends. So D >= 0.

The proof is ours; the rule without it is Regehr et al. 2026.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from math import erf, erfc, exp, pi, sqrt, tanh

import attrs
from flint import arb

from composition.rules.base import Account, Rule, of_whole, sums
from composition.rules.checks.added import delta_alone
from composition.rules.checks.compare import Verdict, all_within
from composition.rules.checks.residues import fits_residue, is_residue
from composition.rules.residue_needs import first_delta, least_before, least_first
from composition.rules.slack import (
    outside,
    require_approx,
    share_of,
    slack_field,
    why_no_delta,
)
from queryable.effort import take
from queryable.errors import QueryError
from queryable.losses import ApproxDP, Dominated, Loss, Measure, Parts, add_parts, conversions
from queryable.losses.conversions import greatest, normal_below
from queryable.losses.numbers import round_down, sqrt_down
from queryable.wording.quoting import an_instance

MARGINS = (Fraction(1, 2**47), Fraction(1, 2**40), Fraction(1, 2**33))
_TIGHT = Fraction(1, 2**30)
_NONE = Fraction(0)
_WIDE = Fraction(128)  # a residue beyond it need not be the largest
_SEARCHED, _CHECKED = 7000, 600  # steps to search for a residue, and to check one in floats


@attrs.frozen
class GDPResidue(Rule):
    """After each launch the largest mu' such that the launch and G_mu' are dominated by G_mu.

    The first launch is compared with (epsilon, slack) itself, later ones with what is left.
    Launches are (epsilon_i, delta_i)-DP, their deltas within what the slack leaves, or mu_i-GDP,
    which moves mu to sqrt(mu^2 - mu_i^2).

    Privacy:
        Claim: all launches together are (epsilon, delta)-DP, and slack + deltas <= delta.
        Theorem: the module's, docs/theory.md, GDP residue filter, after Regehr et al. 2026;
            interleaved by Haney et al. 2023, Theorem 3.4.
        Assumes: nothing about the order of launches, but how many fit depends on it.
        Checked by: tests/unit/composition/rules/test_residue.py, tests/audit/test_rules.py
    Args:
        slack: the rule's own share of delta, below 1; by default all of it.
    """

    slack: Fraction | None = attrs.field(default=None, converter=slack_field)

    def monotone(self) -> bool:
        """Yes: the first residue rises with epsilon, and every later one with the one before."""
        return True

    def child_measure(self, budget: Loss) -> Measure:
        """`Dominated`, which takes PureDP, ApproxDP and GDP."""
        require_approx(budget, self)
        return Dominated

    def open(self, budget: Loss) -> "ResidueAccount":
        """An empty account, with the split of delta for this budget.

        Raises:
            ValueError: the slack is not above 0, above the budget's delta, or 1.
        """
        approx = require_approx(budget, self)
        return ResidueAccount(approx, share_of(self.slack, approx))


@attrs.frozen
class ResidueAccount(Account):
    """The mu that is left; None while only deltas were charged."""

    counts = "mu squared"
    charged = ("deltas", "mu")
    marks = ("started", "exceeded")

    budget: ApproxDP = attrs.field(validator=an_instance(ApproxDP))
    slack: Fraction = attrs.field(validator=an_instance(Fraction))
    mu: Fraction | None = attrs.field(default=None, validator=attrs.validators.optional(sums))
    deltas: Fraction = attrs.field(default=Fraction(0), validator=sums)
    started: bool = False
    exceeded: bool = False

    def __attrs_post_init__(self) -> None:
        share_of(self.slack, self.budget)
        if self.slack == 1:
            raise ValueError("slack is 1; it should be below 1, or there is nothing to keep to")

    def add(self, loss: Dominated) -> "ResidueAccount":
        """Add one launch: mu falls and the deltas rise."""
        (deltas,) = add_parts((self.deltas,), (loss.delta,))
        mu = self.mu
        if loss.epsilon > 0:
            mu = self._beside_response(loss.epsilon)
        if loss.mu > 0 and not (loss.epsilon > 0 and mu is None):
            mu = self._beside_gaussian(mu, loss.mu)
        exceeded = self.exceeded or (mu is None and (loss.epsilon > 0 or loss.mu > 0))
        return ResidueAccount(self.budget, self.slack, mu, deltas, started=True, exceeded=exceeded)

    def _beside_response(self, epsilon: Fraction) -> Fraction | None:
        if self.mu is None:
            left, searched = first_residue(self.budget.epsilon, self.slack, epsilon), True
        else:
            left = residue(self.mu, epsilon)
            searched = left is not None and left not in _candidates(self.mu, epsilon)
        if not take(_SEARCHED if searched else _CHECKED):  # also of what is remembered
            raise QueryError(
                "this launch under GDPResidue takes too many steps with what else is in one "
                "message to this curator: send it in a message of its own, or use a rule such as "
                "ViaRenyi; the owner can allow more (steps)"
            )
        return left

    def _beside_gaussian(self, left: Fraction | None, mu: Fraction) -> Fraction | None:
        at = conversions.largest_gdp(self.budget.epsilon, self.slack) if left is None else left
        return sqrt_down(at**2 - mu**2) if mu <= at else None

    @property
    def within(self) -> bool:
        """Whether no launch exceeded the mu that was left, and slack + deltas are within delta."""
        return not self.exceeded and self.slack + self.deltas <= self.budget.delta

    def added(self, loss: Dominated) -> Parts:
        """Delta alone: mu is no sum."""
        return delta_alone(loss)

    def check(self, amounts: Parts) -> Verdict:
        """Whether no launch was too large, and the deltas are within what the slack leaves."""
        return not self.exceeded and amounts[0] <= self.budget.delta - self.slack

    def fits(self, loss: Dominated) -> Verdict:
        """Whether a launch leaves something."""
        deltas = self.check((self.deltas + loss.delta,))
        if not (loss.epsilon or loss.mu):
            return deltas
        budget = self.budget.epsilon, self.slack
        return all_within((deltas, fits_residue(self.mu, loss.mu**2, loss.epsilon, budget)))

    def wrong_step(self, loss: Dominated, after: "ResidueAccount", *, least: bool) -> str:
        """A mu that the launch does not leave."""
        if after.mu is None:
            lost = self.mu is not None or loss.epsilon or loss.mu
            return "has no mu left, though a launch with a loss was admitted" if lost else ""
        budget = self.budget.epsilon, self.slack
        if is_residue(after.mu, self.mu, loss.mu, loss.epsilon, budget, least=least):
            return ""
        return f"has mu {float(after.mu):.6g} left, which the launch does not leave"

    def wrong_terms(self) -> str:
        """A slack that the budget does not have."""
        return outside(self.slack, self.budget)

    def total(self) -> ApproxDP:
        """The whole budget after the first launch, zero before."""
        return self.budget if self.started else self.budget.zero()

    def share(self) -> Fraction:
        """The used part of the first mu squared, or of the delta beside the slack: the larger."""
        deltas = of_whole(self.deltas, self.budget.delta - self.slack)
        if self.mu is None:
            return max(Fraction(self.exceeded), deltas)
        first = conversions.largest_gdp(self.budget.epsilon, self.slack)
        used = max(first**2 - self.mu**2, Fraction(0))
        return max(of_whole(used, first**2), deltas)

    def remaining(self) -> Dominated:
        """The largest epsilon that would be admitted now, with the rest of delta."""
        if self.mu is None:
            epsilon = largest_first(self.budget.epsilon, self.slack)
        else:
            epsilon = largest_response(self.mu)
        left = max(self.budget.delta - self.slack - self.deltas, Fraction(0))
        return Dominated(epsilon, 0, left)

    def nearly(self, losses: Sequence[Dominated]) -> Fraction:
        """The epsilon that they need from the last one back, each with the least mu before it."""
        mu, some = Fraction(0), [loss for loss in losses if loss.epsilon or loss.mu]
        for loss in some[:0:-1]:
            mu = least_before(mu, loss)
        return least_first(self.slack, mu, some[0]) if some else mu

    def hint(self, loss: Dominated) -> str:
        """Says that the whole delta is the slack, if the launch has a delta."""
        return why_no_delta(loss.delta, self.slack, self.budget)


def largest_response(mu: Fraction) -> Fraction:
    """The largest epsilon, rounded down, with RR_epsilon dominated by G_mu (m = 0).

    Beyond a mu of 128, whose epsilon is 8,000, it is that of 128.
    """

    def epsilon(m: arb) -> arb:
        x = m / arb(8).sqrt()
        return ((1 + x.erf()) / x.erfc()).log()

    return max(Fraction(0), round_down(epsilon, min(mu, _WIDE))) if mu else mu


def largest_first(budget: Fraction, slack: Fraction) -> Fraction:
    """The largest epsilon, rounded down, for which RR_epsilon is (budget, slack)-DP."""
    return max(budget, round_down(lambda e, s: ((e.exp() + s) / (1 - s)).log(), budget, slack))


@lru_cache(maxsize=4096)
def first_residue(budget: Fraction, slack: Fraction, epsilon: Fraction) -> Fraction | None:
    """The largest m, rounded down, for which RR_epsilon and G_m together are (budget, slack)-DP.

    Both pairs are symmetric, so one direction is enough.
    """
    if not epsilon <= largest_first(budget, slack):
        return None

    return greatest(lambda m: first_delta(m, budget, epsilon) <= slack)


@lru_cache(maxsize=4096)
def residue(mu: Fraction, epsilon: Fraction) -> Fraction | None:
    """The largest m, rounded down, with RR_epsilon and G_m dominated by G_mu; None if 0 is not.

    It is found in floats and then checked exactly: m fits, and a slightly larger one does not.
    """
    if mu > _WIDE:
        return max(residue(_WIDE, epsilon) or _NONE, _simple_residue(mu, epsilon))
    if not epsilon <= largest_response(mu):
        return None

    def spare(m: arb, whole: arb, e: arb) -> arb:
        kept = normal_below(e / m - m / 2) + e.exp() * normal_below(-e / m - m / 2)
        return 2 * kept / (1 + e.exp()) - (whole / arb(8).sqrt()).erfc()

    def fits(m: Fraction) -> bool:
        return round_down(spare, m, mu, epsilon) >= 0

    candidates = _candidates(mu, epsilon)
    if candidates and fits(candidates[0] / (1 - MARGINS[0]) * (1 + _TIGHT)):
        candidates = []
    return next(filter(fits, candidates), None) or greatest(fits, start=mu)


def _simple_residue(mu: Fraction, epsilon: Fraction) -> Fraction:
    """What a Gaussian leaves that dominates the response; 0 if that is nothing."""
    gaussian = conversions.pure_to_gdp(epsilon)
    return sqrt_down(mu**2 - gaussian**2) if gaussian <= mu else _NONE


def _candidates(mu: Fraction, epsilon: Fraction) -> list[Fraction]:
    """What is just below the residue in floats; nothing if floats are not precise enough."""
    about = guess(float(mu), float(epsilon))
    return [Fraction(about) * (1 - margin) for margin in MARGINS] if 0 < about < 1e300 else []


def guess(mu: float, epsilon: float) -> float:
    """Newton's method on the equality, in floats; 0 if floats are not precise enough."""
    if not 1e-100 < epsilon < 50:
        return 0.0
    grown, target = exp(epsilon), erf(mu / sqrt(8)) - tanh(epsilon / 2)
    m = sqrt(max(mu * mu - epsilon * epsilon, mu * mu / 16))
    for _ in range(12):
        up, down = (epsilon / m - m / 2) / sqrt(2), (epsilon / m + m / 2) / sqrt(2)
        excess = (erfc(up) - grown * erfc(down)) / (1 + grown) - target
        slope = 2 * exp(-up * up) / sqrt(2 * pi) / (1 + grown)
        if slope == 0:
            return 0.0
        step = excess / slope
        m = min(max(m - step, m / 2), mu)
        if abs(step) <= 1e-15 * m:
            break
    return m

"""What launches need of a residue filter: the least mu before one, and the least first budget.

Responsible for the inequalities of `residue`, solved for what there was before a launch. An
odometer that is made of the filter goes through its launches from the last one back.
"""

from fractions import Fraction

from flint import arb

from queryable.losses import Dominated, conversions
from queryable.losses.conversions import least, normal_below
from queryable.losses.numbers import round_up, sqrt_up


def profile(m: arb, t: arb) -> arb:
    """delta(t) of G_m, for any real t."""
    return normal_below(m / 2 - t / m) - t.exp() * normal_below(-m / 2 - t / m)


def first_delta(mu: Fraction, budget: Fraction, epsilon: Fraction) -> Fraction:
    """The delta at a budget's epsilon of RR_epsilon and G_mu together, rounded up."""

    def delta(m: arb, t: arb, e: arb) -> arb:
        p = 1 / (1 + (-e).exp())
        return p * profile(m, t - e) + (1 - p) * profile(m, t + e)

    return round_up(delta, mu, budget, epsilon)


def least_before(mu: Fraction, loss: Dominated) -> Fraction:
    """The least mu, rounded up, before a launch that leaves this one."""
    before = sqrt_up(mu**2 + loss.mu**2)
    if loss.epsilon == 0:
        return before

    def whole(m: arb, e: arb) -> arb:
        kept = arb(1)
        if before:
            kept = normal_below(e / m - m / 2) + e.exp() * normal_below(-e / m - m / 2)
        return arb(8).sqrt() * (2 * kept / (1 + e.exp())).erfcinv()

    return round_up(whole, before, loss.epsilon)


def least_first(slack: Fraction, mu: Fraction, loss: Dominated) -> Fraction:
    """The least epsilon, rounded up, of a budget under which a first launch leaves this mu."""
    beside, epsilon = sqrt_up(mu**2 + loss.mu**2), loss.epsilon
    if epsilon == 0:
        return conversions.gdp_to_approx(beside, slack)
    if beside:
        return least(lambda budget: first_delta(beside, budget, epsilon) <= slack)
    return max(
        Fraction(0),
        round_up(lambda e, s: (e.exp() * (1 - s) - s).max(arb(1)).log(), epsilon, slack),
    )

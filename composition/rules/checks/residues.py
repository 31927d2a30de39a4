"""What a launch leaves of Gaussian DP (docs/theory/proofs/gdp_residue.md).

A launch of a randomized response at epsilon beside a Gaussian mu moves a residue to the largest m
with which the three together are within what was there before. A Gaussian m and a Gaussian mu
together are one with the square root of m^2 + mu^2.
"""

from fractions import Fraction

from flint import arb

from composition.rules.checks.compare import Verdict, ball, sign, within
from composition.rules.checks.curves import profile

_CLOSE = 1 + Fraction(1, 2**24)
_EXTREME = 10**3  # of epsilon: there the code's residues may be smaller


def fits_residue(
    before: Fraction | None,
    square: Fraction,
    epsilon: Fraction,
    budget: tuple[Fraction, Fraction],
) -> Verdict:
    """Whether a Gaussian of this mu squared and a response at epsilon are within what was left.

    Args:
        before: the residue; None if the first launch is compared with the budget.
        budget: epsilon and the slack.
    """
    if before is None:
        return _fits_budget(square, epsilon, *budget)
    if epsilon == 0:
        return square <= before**2
    if square == 0:
        return sign(lambda: (ball(before) / arb(8).sqrt()).erf() - (ball(epsilon) / 2).tanh())

    def spare() -> arb:
        e = ball(epsilon)
        added = 2 * profile(ball(square).sqrt(), e) / (1 + e.exp())
        return (ball(before) / arb(8).sqrt()).erf() - (e / 2).tanh() - added

    return sign(spare)


def _fits_budget(
    square: Fraction, response: Fraction, epsilon: Fraction, slack: Fraction
) -> Verdict:
    def delta() -> arb:
        e, t = ball(response), ball(epsilon)
        likely = 1 / (1 + (-e).exp())
        if square == 0:  # the response alone, in its likely answer
            return (likely - t.exp() * (1 - likely)).max(arb(0))
        m = ball(square).sqrt()
        return likely * profile(m, t - e) + (1 - likely) * profile(m, t + e)

    return within(delta, slack)


def is_residue(
    after: Fraction,
    before: Fraction | None,
    gaussian: Fraction,
    epsilon: Fraction,
    budget: tuple[Fraction, Fraction],
    *,
    least: bool,
) -> bool:
    """Whether `after` is what such a launch leaves, up to rounding down.

    Args:
        gaussian: the mu of the launch.
        least: whether it only may not be more.
    """
    if epsilon == gaussian == 0:
        return after == before or (least and before is not None and after <= before)
    square = after**2 + gaussian**2
    if before is not None and square > before**2:  # a response leaves no more
        return False
    if fits_residue(before, square, epsilon, budget) is False:
        return False
    if least or after == 0:
        return True
    more = (after * _CLOSE) ** 2 + gaussian**2
    if budget[0] > _EXTREME:
        return before is None or not _holds(before**2 - more, epsilon)
    tiny = before is not None and after < before / 2**40
    return tiny or fits_residue(before, more, epsilon, budget) is not True


def _holds(square: Fraction, epsilon: Fraction) -> bool:
    """Whether a Gaussian of this mu squared dominates a response, so that its residue is more."""
    if square <= 0 or epsilon == 0:
        return square >= 0
    return sign(lambda: (ball(square / 8)).sqrt().erf() - (ball(epsilon) / 2).tanh()) is True

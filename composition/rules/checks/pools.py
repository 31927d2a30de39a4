"""The pool of an ex-post filter, as balls (docs/theory/proofs/ex_post.md)."""

from collections.abc import Sequence
from fractions import Fraction
from functools import partial

from flint import arb

from composition.rules.checks.compare import Verdict, any_within, ball, within
from composition.rules.checks.curves import converted
from queryable.losses import Parts


def pool_within(
    amounts: Parts, most: Parts, slopes: Sequence[Fraction], slack: Fraction
) -> Verdict:
    """Whether an epsilon, a delta and the rho of a pool are together within a budget.

    Args:
        most: the epsilon and the delta of the budget.
        slopes: the orders of the lines, less 1.
    """
    epsilon, delta, rho = amounts
    room = most[0] - epsilon
    if not rho or room < 0 or not delta + slack <= most[1]:
        return not rho and room >= 0 and delta <= most[1]
    each = slack / len(slopes)

    def line(slope: Fraction) -> arb:
        return converted(ball(rho), 1 + ball(slope), ball(each))

    return any_within(within(partial(line, slope), room) for slope in slopes)

"""How the loss of a fit is divided: what each round chooses with, and what it measures with.

The first fit measures every column by itself. Then each round chooses a marginal and measures it.
If the measurement changes the model by less than its noise would, later rounds get four times as
much (McKenna et al. 2022). The last round gets the rest.
"""

from fractions import Fraction
from math import isqrt, pi, sqrt

import attrs

_MEASURING = Fraction(9, 10)
"""The share of a round's loss that its measurement gets."""
_BITS = 64

MOST_ROUNDS = 1_000


@attrs.frozen
class Round:
    """What one round may be charged, in zCDP."""

    choosing: Fraction
    measuring: Fraction

    @property
    def cost(self) -> Fraction:
        """Both."""
        return self.choosing + self.measuring

    @property
    def epsilon(self) -> Fraction:
        """The largest epsilon on a grid with epsilon^2 / 8 at most `choosing`."""
        scale = 1 << _BITS
        square = self.choosing * 8 * scale * scale
        return Fraction(isqrt(square.__floor__()), scale)

    def at_most(self, measuring: Fraction | None) -> "Round":
        """The round, or a smaller one whose measurement is charged so much."""
        if measuring is None or self.measuring <= measuring:
            return self
        return of_loss(measuring / _MEASURING)

    @property
    def doubled(self) -> "Round":
        """Half the noise, and twice the epsilon."""
        return Round(4 * self.choosing, 4 * self.measuring)


def first_round(loss: Fraction, rounds: int) -> Round:
    """A round of so many equal ones."""
    return of_loss(loss / max(rounds, 1))


def of_loss(loss: Fraction) -> Round:
    """A round that gets all of a loss."""
    return Round((1 - _MEASURING) * loss, _MEASURING * loss)


def finest(planned: Round, l2: Fraction) -> Fraction | None:
    """The most that a measurement of a fit is charged; None for no limit.

    If the first measurement has a variance above 4, all later ones have 5 or more, or as much as
    the first. So no measurement is paid for that is far more accurate than the first ones.
    """
    if not l2**2 / (2 * planned.cost) > 4:
        return None
    return max(planned.cost, l2**2 / 10)


def next_round(planned: Round, remaining: Fraction) -> Round | None:
    """The planned round; all that remains if another one would not fit; None if nothing does.

    What rounding has left over is nothing.
    """
    if not remaining > planned.cost / 1000:
        return None
    return planned if 2 * planned.cost <= remaining else of_loss(remaining)


def expected_error(variance: Fraction, cells: int) -> float:
    """The expected L1 norm of the noise of a measurement."""
    return sqrt(2 / pi * float(variance)) * cells

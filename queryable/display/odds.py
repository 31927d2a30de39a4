"""What a loss means in plain words, for readers who know no theory: how well somebody can guess.

Responsible for one number: with which probability an observer of all answers guesses right whether
one unit is in the data, if both were equally likely to them before. Rounded up.
"""

from fractions import Fraction
from math import ceil

from flint import arb

from queryable.losses import FDP, GDP, ZCDP, ApproxDP, ApproxZCDP, Loss, PureDP
from queryable.losses.numbers import round_up

_DELTAS = tuple(Fraction(1, 10**power) for power in range(1, 13))
_HALF = Fraction(1, 2)
_LARGE = 20
"""Beyond it an answer may tell everything, to all that is shown here."""
_CROSSING = Fraction(8, 5)
"""Near this divergence the two bounds by it cross."""


def right_guess(loss: Loss) -> Fraction:
    """An upper bound on the probability of a right guess, after the answers of this loss.

    It is at least 1/2, which is that of a guess without any answer, and at most 1.

    Privacy:
        Claim: if two datasets, for which the loss holds, are equally likely at first, nobody tells
            from the answers which one it is with a larger probability.
        Theorem: docs/theory/conversions.md, guesses
        Assumes: the observer knows everything about the data but which of the two they are.
        Checked by: tests/unit/queryable/display/test_odds.py
    """
    return _HALF + min(_distance(loss), Fraction(1)) / 2


def in_100(loss: Loss) -> int:
    """In how many of 100 such cases the guess is right, at most."""
    return ceil(100 * right_guess(loss))


def factor_of_odds(loss: Loss) -> str | None:
    """The factor by which answers change any odds at most, rounded up; None if there is none."""
    if isinstance(loss, ApproxDP) and not loss.delta:
        loss = PureDP(loss.epsilon)
    if not isinstance(loss, PureDP) or loss.epsilon > _LARGE:
        return None
    factor = round_up(arb.exp, loss.epsilon)
    return f"{ceil(100 * factor) / 100:,.4g}" if factor < 100 else f"{ceil(factor):,}"


def _distance(loss: Loss) -> Fraction:
    """An upper bound on the total variation distance of the answers' laws on both datasets."""
    match loss:
        case PureDP(epsilon):
            return _of_approx(epsilon, Fraction(0))
        case ApproxDP(epsilon, delta):
            return _of_approx(epsilon, delta)
        case ZCDP(rho):
            return _of_divergence(rho)
        case ApproxZCDP(rho, delta):
            return _of_divergence(rho) + delta
        case GDP():
            return loss.delta(0)
        case FDP(knots):
            return max(1 - alpha - beta for alpha, beta in knots)
    found = Fraction(1)
    for delta in _DELTAS:
        try:
            stated = loss.to(ApproxDP, delta)
        except (ValueError, ArithmeticError):
            continue
        assert isinstance(stated, ApproxDP)
        found = min(found, _of_approx(stated.epsilon, stated.delta))
    return found


def _of_approx(epsilon: Fraction, delta: Fraction) -> Fraction:
    """(e^epsilon - 1 + 2 delta) / (e^epsilon + 1), written with one rounding."""
    if epsilon > _LARGE:
        return Fraction(1)
    return round_up(lambda e, d: 1 - 2 * (1 - d) / (e.exp() + 1), epsilon, delta)


def _of_divergence(divergence: Fraction) -> Fraction:
    """A bound by the Kullback-Leibler divergence: Pinsker's, or Bretagnolle's and Huber's."""
    if divergence > _LARGE:
        return Fraction(1)
    if divergence < _CROSSING:
        return round_up(lambda kl: (kl / 2).sqrt(), divergence)
    return round_up(lambda kl: (1 - (-kl).exp()).sqrt(), divergence)

"""Filters for a budget that is stated as epsilon and delta, or as a trade-off curve.

Responsible for the choice of measure and rule; `FiltCon` does the rest.
"""

from fractions import Fraction
from warnings import warn

from flint import arb

from composition.compositors.filters import FiltCon
from composition.rules import ViaZCDP
from composition.rules.residue_needs import profile
from queryable.errors import PrivacyWarning
from queryable.losses import FDP, ApproxDP, Dominated, PureDP, curves
from queryable.losses.conversions import greatest
from queryable.losses.fields import read_delta, read_epsilon
from queryable.losses.numbers import Number, probability, round_up, shown
from queryable.wording.quoting import quoted


def budget(
    epsilon: Number,
    delta: Number | None = None,
    *,
    launch_share: Number = "1/10",
    d_in: int = 1,
    max_mechanisms: int | None = None,
) -> FiltCon:
    """Return a filter with a budget of epsilon and delta.

    With a delta, launches are added up in zCDP, which admits many more of them than adding up
    epsilons. Laplace, Gaussian, sparse vectors and everything else with a zCDP or pure loss fits.
    Most of delta is the price of converting the total rho back; the rest is left for launches that
    have a delta of their own. `table.remaining()` is what launches may lose together.

    Without a delta (None or 0), epsilons add up, and only pure mechanisms fit, such as `Laplace`.

    Privacy:
        Theorem: Haney et al. 2023, Theorem 1.20, for epsilon alone; with a delta that of `ViaZCDP`.

    Args:
        epsilon: how much the whole interaction may reveal, in nats; 1 is common.
        delta: a small probability, far below one over the number of persons, such as "1e-6".
        launch_share: the part of delta, from 0 to below 1, that is left for launches with a delta
            of their own. The default leaves a tenth, which at (1, 1e-6) costs 1% of the total rho.
            With 0 such launches are refused.
        d_in, max_mechanisms: as for `FiltCon`.

    Raises:
        ValueError: delta is 1, which protects nobody, or a parameter is out of range. Above 1/1000
            it is warned of.

    Examples:
        >>> from mechanisms import Count, Gaussian, Laplace
        >>> from queryable import Queryable
        >>> table = Queryable(budget(epsilon=1, delta="1e-6"), {"age": [31, 47, 62]})
        >>> table.can_afford(Gaussian(Count(), scale=5))
        True
        >>> noisy = table(Laplace(Count(), epsilon="1/10"))
        >>> print(table.privacy_loss())
        ApproxDP(epsilon≈0.432, delta=9e-07)
    """
    chance = Fraction(0) if delta is None else read_delta(delta)
    left = probability(launch_share, "launch_share")
    if left == 1:
        raise ValueError(
            f"launch_share is {shown(left)}; it should be below 1: the rest of delta pays for "
            "adding launches up in zCDP"
        )
    _require_small(chance)
    if not chance:
        return FiltCon(PureDP(epsilon), d_in=d_in, max_mechanisms=max_mechanisms)
    rule = ViaZCDP(slack=chance * (1 - left))
    return FiltCon(ApproxDP(epsilon, chance), rule, d_in=d_in, max_mechanisms=max_mechanisms)


_LARGEST_DELTA = Fraction(1, 1000)
"""Above it, a delta is hardly meant: with this probability a mechanism may show everything."""


def _require_small(delta: Fraction) -> None:
    if delta == 1:
        raise ValueError("delta is 1, which protects nobody; epsilon comes first, then delta")
    if delta > _LARGEST_DELTA:
        warn(
            f"delta is {shown(delta)}: with this probability everything may be revealed. It should "
            "be far below one over the number of persons; epsilon comes first, then delta",
            PrivacyWarning,
            stacklevel=3,
        )


def under_curve(curve: FDP, *, epsilon: Number | None = None, delta: Number = 0) -> Dominated:
    """Return the largest loss, of its kind, whose trade-off curve is nowhere below this one.

    Trade-off curves of launches that are chosen on the way cannot be multiplied, so `FiltCon` takes
    no budget in `FDP`. `FiltCon(under_curve(f))` is a filter that is f-DP: randomized responses,
    Gaussians and deltas add up in it.

    Privacy:
        Claim: a mechanism with this loss is f-DP, and so is the filter with this budget.
        Theorem: docs/theory/proofs/dominated.md, under a curve; the row of `composition.VALIDITY`
            for `Dominated` and `Basic`.
        Checked by: tests/unit/composition/test_budgets.py
    Args:
        curve: f. It need not be symmetric.
        epsilon: the pure part; mu is then the largest that fits beside it. None for the largest
            epsilon that fits, and mu = 0.
        delta: the part for launches with a delta of their own.

    Raises:
        ValueError: epsilon and delta alone are below the curve somewhere.

    Examples:
        >>> from queryable import GDP
        >>> f = GDP("1/2").to(FDP)
        >>> print(under_curve(f, epsilon=0))
        Dominated(epsilon=0, mu≈0.5, delta=0)
        >>> print(under_curve(FDP.of_approx(1, "1e-6"), delta="1e-6"))
        Dominated(epsilon=1, mu=0, delta=1e-06)
    """
    if not isinstance(curve, FDP):
        raise TypeError(
            f"curve is {quoted(curve)}; it should be an FDP, such as FDP.of_gaussian(1)"
        )
    reveals = read_delta(delta)
    least = Dominated(0 if epsilon is None else read_epsilon(epsilon), 0, reveals)
    if not is_under(curve, least):
        raise ValueError(f"{least} is below the curve; give a smaller epsilon or delta")
    if epsilon is None:
        most = greatest(lambda pure: is_under(curve, Dominated(pure, 0, reveals)))
        return Dominated(most, 0, reveals)
    mu = greatest(lambda mu: is_under(curve, Dominated(least.epsilon, mu, reveals)))
    return Dominated(least.epsilon, mu, reveals)


def is_under(curve: FDP, loss: Dominated) -> bool:
    """Whether the trade-off curve of a loss is nowhere below this one, up to rounding.

    It is above each side of the curve, extended to a line, if its profile there is at most the
    line's delta. The pair of a loss is symmetric, so a flat side is compared as a steep one.
    """
    if loss.epsilon > _LARGEST or loss.delta == 1:
        return False
    steep = [
        (ratio, delta) if ratio >= 1 else (1 / ratio, 1 - (1 - delta) / ratio)
        for ratio, delta in curves.lines(curve.knots)
        if ratio
    ]
    left = 1 - loss.delta
    return all(_profile(loss, ratio) <= (delta - loss.delta) / left for ratio, delta in steep)


_LARGEST = 4096  # the largest epsilon of the curve of a response


def _profile(loss: Dominated, ratio: Fraction) -> Fraction:
    """The largest excess of the response and the Gaussian of a loss, rounded up."""

    def gaussian(mu: arb, ratio: arb) -> arb:
        return profile(mu, ratio.log()) if loss.mu else (1 - ratio).max(arb(0))

    def excess(e: arb, mu: arb, ratio: arb) -> arb:
        likely, odds = 1 / (1 + (-e).exp()), e.exp()
        return likely * gaussian(mu, ratio / odds) + (1 - likely) * gaussian(mu, ratio * odds)

    return round_up(excess, loss.epsilon, loss.mu, ratio)

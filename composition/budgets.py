"""Filters for a budget that is stated as epsilon and delta.

Responsible for the choice of measure and rule; `FiltCon` does the rest.
"""

from fractions import Fraction

from composition.compositors.filters import FiltCon
from composition.rules import ViaZCDP
from queryable.losses import ApproxDP, PureDP
from queryable.losses.fields import read_delta
from queryable.losses.numbers import Number, probability, shown


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
    have a delta of their own.

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
    if not chance:
        return FiltCon(PureDP(epsilon), d_in=d_in, max_mechanisms=max_mechanisms)
    rule = ViaZCDP(slack=chance * (1 - left))
    return FiltCon(ApproxDP(epsilon, chance), rule, d_in=d_in, max_mechanisms=max_mechanisms)

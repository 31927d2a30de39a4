"""An adversary that chooses when to stop beats every odometer of a family (Rogers et al. 2016).

Theorem 6.1: for some constant C, every small delta and every large n, an odometer whose report of t
responses at 1/n is nowhere above

    t*eps*tanh(eps/2) + C*eps*sqrt(t*log(log(n)/delta)),  eps = 1/n,  t = 1, .., n,

is not valid: the adversary of Algorithm 4 stops where the loss is above this, which has a
probability of more than delta. The paper does not state the constant. Here C = 1, for all delta up
to 1/5 and n from 64 on. The probabilities are exact (`tests/walks.py`). A smaller report is passed
wherever a larger one is, so the largest report of the family fails for all of them.
"""

from collections.abc import Callable
from fractions import Fraction
from math import log, sqrt, tanh
from random import Random

import pytest

from composition import (
    LinearOdometer,
    MixtureOdometer,
    OneSidedMixtureOdometer,
    RenyiOdometer,
    Rogers2016Odometer,
    RogersLemma64Odometer,
    StitchedOdometer,
    TimeUniform,
)
from queryable import ZCDP, PureDP
from tests.walks import crossing

CONSTANT = 1
DELTAS = [0.2, 0.05, 1e-2, 1e-3, 1e-6, 1e-9]
ROUNDS = [64, 256, 1024, pytest.param(4096, marks=pytest.mark.slow)]

each_delta = pytest.mark.parametrize("delta", DELTAS)
each_length = pytest.mark.parametrize("n", ROUNDS)


def largest(n: int, delta: float) -> list[float]:
    """The largest reports of the family, for t = 1, .., n responses at 1/n."""
    return [
        t * tanh(1 / n / 2) / n + CONSTANT / n * sqrt(t * log(log(n) / delta))
        for t in range(1, n + 1)
    ]


@each_delta
@each_length
def test_the_largest_report_of_the_family_is_passed(n: int, delta: float) -> None:
    """With a probability of more than delta, by 12% at least."""
    assert crossing(largest(n, delta), 1 / n) > 1.1 * delta


@each_delta
def test_the_longer_the_worse(delta: float) -> None:
    """The excess over delta rises with n, as in Lemma 6.3, where it is the number of epochs."""
    passed = [crossing(largest(n, delta), 1 / n) for n in (64, 128, 256, 512, 1024)]
    assert passed == sorted(passed)


@each_delta
@pytest.mark.parametrize("n", [64, 256])
def test_every_smaller_report_is_passed_too(n: int, delta: float) -> None:
    """Shares of it, other rates, and reports at random below it."""
    top, random = largest(n, delta), Random(61)
    below: list[Callable[[int], float]] = [
        *(lambda t, share=share: share * top[t] for share in (0, 0.3, 0.7, 0.99)),
        lambda t: min(top[t], sqrt(2 * t * log(1 / delta)) / n),  # at a time fixed in advance
        lambda t: min(top[t], (t + 1) / n / 2),  # half of the sum
        lambda t: top[t] if t & (t + 1) else 0.9 * top[t],  # less at powers of 2
        *(lambda t: top[t] * random.random() for _ in range(3)),
        *(lambda t: top[t] * (1 - random.random() ** 8) for _ in range(3)),
    ]
    worst = crossing(top, 1 / n)
    for report in below:
        passed = crossing([report(t) for t in range(n)], 1 / n)
        assert passed >= worst > delta


@pytest.mark.parametrize("delta", ["1/20", "1/1000", "1/1000000"])
@pytest.mark.parametrize("n", [64, 256, 1024])
def test_no_odometer_of_ours_is_in_the_family(n: int, delta: str) -> None:
    """Each is valid, so somewhere its report is above; and it is passed by delta at most."""
    chance, loss = Fraction(delta), PureDP(Fraction(1, n)).to(ZCDP)
    assert isinstance(loss, ZCDP)
    variance = Fraction(1, 2 * n)
    odometers: list[TimeUniform] = [
        LinearOdometer.optimised_at(chance, variance),
        MixtureOdometer.optimised_at(chance, variance),
        OneSidedMixtureOdometer.optimised_at(chance, variance),
        StitchedOdometer.optimised_at(chance, variance),
        RenyiOdometer.optimised_at(chance, variance),
        Rogers2016Odometer(chance, n),
        RogersLemma64Odometer.optimised_at(chance, variance),
    ]
    top = largest(n, float(chance))
    for odometer in odometers:
        times = sorted({1, 2, n // 2, n, *(2**k for k in range(n.bit_length()))})
        reports = {t: float(odometer.bound([ZCDP(loss.rho * t)])) for t in times if t <= n}
        assert any(report > top[t - 1] for t, report in reports.items())
    for odometer in odometers[:3] if n == 64 else []:
        all_reports = [float(odometer.bound([ZCDP(loss.rho * t)])) for t in range(1, n + 1)]
        assert crossing(all_reports, 1 / n) <= chance

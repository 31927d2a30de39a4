"""Boundaries of odometers."""

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from composition import (
    LinearOdometer,
    MixtureOdometer,
    OdomCon,
    OneSidedMixtureOdometer,
    RenyiOdometer,
    Rogers2016Odometer,
    RogersLemma64Odometer,
    StitchedOdometer,
    TimeUniform,
)
from mechanisms import BrownianNoiseReduction, Count, Open, Refine
from queryable import GDP, RDP, ZCDP, PureDP, Queryable
from queryable.losses import TimeUniformBound
from tests.reference import linear, mp, one_sided, real

F = Fraction
DELTA = F(1, 10**6)
TIGHT = mp.mpf("1e-20")

variances = st.builds(
    lambda digits, exponent: F(digits, 1000) * F(10) ** exponent,
    st.integers(1000, 9999),
    st.integers(-9, 5),
)
chances = st.builds(
    lambda digits, exponent: F(digits, 10 ** (exponent + 2)), st.integers(1, 36), st.integers(0, 40)
)
"""Deltas from 0.36, below 1/e, down to 1e-42."""


def at(odometer: TimeUniform, variance: Fraction) -> Fraction:
    """Return the bound after launches with 2*rho = variance."""
    return odometer.bound([ZCDP(variance / 2)])


SLOW_ROOTS = {
    ("tiny", "close"),
    ("tiny", "tiny"),
    ("one", "tiny"),
    ("huge", "half"),
    ("huge", "one"),
}
"""Where the reference takes most of its time; each delta and each variance is tested without."""


def roots() -> list[Any]:
    deltas = {
        "half": F(1, 2),
        "close": F(999, 1000),
        "one": 1 - F(1, 10**40),
        "tiny": F(1, 10**390),
    }
    found = {"tiny": F(1, 10**200), "one": F(1), "huge": F(10**200)}
    return [
        pytest.param(
            *(delta, variance),
            id=f"{how_large}-{how_likely}",
            marks=[pytest.mark.slow] if (how_large, how_likely) in SLOW_ROOTS else [],
        )
        for how_likely, delta in deltas.items()
        for how_large, variance in found.items()
    ]


@pytest.mark.parametrize(("delta", "variance"), roots())
def test_the_one_sided_root_at_extreme_inputs(delta: Fraction, variance: Fraction) -> None:
    with mp.workdps(250):
        true = one_sided(real(variance), real(delta), mp.mpf(1))
        unit = mp.sqrt(real(variance) + 1)  # bisection ends 1e-70 of this above the root
        bound = real(at(OneSidedMixtureOdometer(delta, 1), variance))
        assert true - unit * mp.mpf(10) ** -70 <= bound
        assert bound <= true * (1 + TIGHT) + unit * mp.mpf(10) ** -35


SMOOTH = (
    LinearOdometer(DELTA, 1),
    MixtureOdometer(DELTA, "0.1"),
    OneSidedMixtureOdometer(DELTA, "0.1"),
    StitchedOdometer(DELTA, "0.01"),
    RogersLemma64Odometer(DELTA, "0.1"),
    RenyiOdometer(DELTA, [F(3, 2), 3, 9, 30, 200]),
)
ALL = (*SMOOTH, Rogers2016Odometer(DELTA, 1000))
names = [type(odometer).__name__ for odometer in ALL]
GRID = [F(digits) * F(10) ** exponent for exponent in range(-6, 4) for digits in (1, 2, 5)]


@pytest.mark.parametrize("odometer", SMOOTH, ids=names[:-1])
def test_monotone(odometer: TimeUniform) -> None:
    """The report grows with each launch and is zero before the first."""
    bounds = [at(odometer, variance) for variance in GRID]
    assert bounds[0] > 0
    assert all(low < high for low, high in pairwise(bounds))
    assert odometer.bound([]) == 0


@pytest.mark.parametrize("odometer", ALL, ids=names)
def test_a_smaller_delta_costs_more(odometer: TimeUniform) -> None:
    stricter = attrs.evolve(odometer, delta=DELTA / 1000)
    assert all(at(odometer, variance) < at(stricter, variance) for variance in GRID)


@pytest.mark.parametrize("odometer", ALL, ids=names)
def test_launches_add_up(odometer: TimeUniform) -> None:
    """The report depends on the sum of rho only, whatever the measures and the order."""
    losses = [ZCDP("0.01"), GDP("0.2"), ZCDP("0.005")]
    assert odometer.bound(losses) == at(odometer, 2 * (F(1, 100) + F(2, 100) + F(5, 1000)))
    assert odometer.bound(losses[::-1]) == odometer.bound(iter(losses))


def test_charges_and_bounds_beside_each_other() -> None:
    """The charge is epsilon*tanh(epsilon/2), which is less than epsilon^2/2."""
    odometer = MixtureOdometer(DELTA, 1)
    variance = F(str(4 * mp.tanh(1)))
    assert float(odometer.bound([PureDP(2)])) == pytest.approx(float(at(odometer, variance)))
    assert odometer.bound([PureDP(2)]) < at(odometer, F(4))
    # This holds at equal gamma and every variance.
    for variance in GRID:
        one, two = OneSidedMixtureOdometer(DELTA, "0.1"), MixtureOdometer(DELTA, "0.1")
        assert at(one, variance) < at(two, variance)
    # The published bound is infinite there; ours is the value at v0 with the true drift.
    odometer = StitchedOdometer(DELTA, 1)
    assert at(odometer, F(1)) - at(odometer, F(1, 2)) == pytest.approx(F(1, 4))
    assert at(odometer, F(1, 10**9)) < at(odometer, F(1))
    with pytest.raises(TypeError, match="n is"):
        Rogers2016Odometer(DELTA, 10.5)  # type: ignore[arg-type]


def test_rogers_2023_theorem_4_corrected() -> None:
    """The mixture bounds Brownian noise reductions at any stopping times, with V = sum of 1/t.

    The bound is sum of 1/(2t) + sqrt((V + gamma) log((V + gamma)/(delta^2 gamma))), with the drift.
    """
    table = Queryable(
        BrownianNoiseReduction() @ OdomCon(ZCDP, rule=MixtureOdometer("1e-6", gamma="1/3")),
        {"age": np.arange(10)},
    )
    one, other = table(Open(Count())), table(Open(Count()))
    for estimate, variance in ((one, 900), (other, 400), (one, 50), (other, "7/2"), (one, 4)):
        estimate(Refine(variance))
    v = mp.mpf(2) / 7 + mp.mpf(1) / 4
    shifted = v + mp.mpf(1) / 3
    true = v / 2 + mp.sqrt(shifted * mp.log(shifted * 3 * mp.mpf(10) ** 12))
    report = table.privacy_loss()
    assert isinstance(report, TimeUniformBound)
    assert report.delta == DELTA
    assert 0 <= real(report.epsilon) - true < mp.mpf(10) ** -25


@settings(max_examples=50)
@given(variance=variances, delta=chances, n=st.integers(3, 10**6))
def test_rogers_is_never_below_what_is_proven(variance: Fraction, delta: Fraction, n: int) -> None:
    """Proven bounds: stitched at delta/4 inside the range, one-sided mixture at delta/4 outside."""
    start = F(1, n * n)
    inside = start <= variance <= 1
    kind = StitchedOdometer if inside else OneSidedMixtureOdometer
    assert at(kind(delta / 4, start), variance) <= at(Rogers2016Odometer(delta, n), variance)


@settings(max_examples=50)
@given(variance=variances, delta=chances, x=variances)
def test_lemma_64_is_never_below_what_is_proven(
    variance: Fraction, delta: Fraction, x: Fraction
) -> None:
    """The proven bound is the two-sided mixture at the same delta."""
    assert at(MixtureOdometer(delta, x), variance) <= at(RogersLemma64Odometer(delta, x), variance)


@pytest.mark.parametrize("target", ["0.1", 1, 5])
def test_the_line_meets_its_target(target: Any) -> None:
    """At the corrected y* the line meets its target; the printed y* meets it at another V."""
    with mp.workdps(50):
        log, wanted = mp.log(10**6), mp.mpf(str(target))
        y = (mp.sqrt(2 * log + 2 * wanted) - mp.sqrt(2 * log)) ** 2
        printed = (mp.sqrt(2 * log + wanted) - mp.sqrt(2 * log)) ** 2
        assert linear(y, mp.mpf(10) ** -6, wanted) == pytest.approx(wanted)
    at_y = LinearOdometer(DELTA, target).boundary(F(str(y)))
    at_printed = LinearOdometer(DELTA, target).boundary(F(str(printed)))
    assert float(at_y) == pytest.approx(float(target), rel=1e-12)
    assert float(at_printed) < 0.9 * float(target)


@pytest.mark.parametrize("delta", ["1e-6", "0.05"])
@pytest.mark.parametrize("variance", ["0.0001", "1", "50"])
def test_optimised_at(delta: str, variance: str) -> None:
    """Parameters 5% smaller or larger give no smaller bound at that variance."""
    v = F(variance)
    for kind, name in (
        (LinearOdometer, "target_epsilon"),
        (MixtureOdometer, "gamma"),
        (RogersLemma64Odometer, "x"),
        (StitchedOdometer, "v0"),
    ):
        best = kind.optimised_at(delta, v)  # type: ignore[attr-defined]
        for factor in (F(95, 100), F(105, 100)):
            other = kind(delta, factor * getattr(best, name))  # type: ignore[call-arg]
            assert at(best, v) < at(other, v)


@pytest.mark.parametrize("delta", ["1e-6", "0.05", "0.6"])
def test_optimised_one_sided(delta: str) -> None:
    """The bound is within 0.5% of the least over a grid of gammas."""
    best = at(OneSidedMixtureOdometer.optimised_at(delta, 1), F(1))
    grid = [OneSidedMixtureOdometer(delta, F(2) ** k / 8) for k in range(-8, 8)]
    assert best <= min(at(odometer, F(1)) for odometer in grid) * F(1005, 1000)


def test_optimised_renyi_is_close_to_a_fixed_time() -> None:
    """At V = 1 the bound is within 2% of that at a time fixed in advance, sqrt(2 L V) + V/2."""
    fixed_time = 5.756521769756932
    assert at(RenyiOdometer.optimised_at(DELTA, 1), F(1)) < fixed_time * 1.02
    assert at(LinearOdometer.optimised_at(DELTA, 1), F(1)) == pytest.approx(fixed_time)
    odometer = MixtureOdometer.optimised_at(DELTA, 1, deltas="1e-8", margin="0.1")
    assert (odometer.deltas, odometer.margin) == (F(1, 10**8), F(1, 10))


BAD = (
    (lambda: LinearOdometer(DELTA, 0), "target_epsilon"),
    (lambda: LinearOdometer(0, 1), "delta"),
    (lambda: LinearOdometer(1, 1), "delta"),
    (lambda: LinearOdometer("1.5", 1), "delta"),
    (lambda: LinearOdometer(True, 1), "delta"),
    (lambda: MixtureOdometer(DELTA, 0), "gamma"),
    (lambda: MixtureOdometer(DELTA, -1), "gamma"),
    (lambda: OneSidedMixtureOdometer(DELTA, 0), "gamma"),
    (lambda: OneSidedMixtureOdometer(DELTA, float("nan")), "gamma"),
    (lambda: StitchedOdometer(DELTA, 0), "v0"),
    (lambda: StitchedOdometer(DELTA, "-1/2"), "v0"),
    (lambda: Rogers2016Odometer(DELTA, 2), "at least 3"),
    (lambda: Rogers2016Odometer("0.37", 10), "1/e"),
    (lambda: RogersLemma64Odometer("0.37", 1), "1/e"),
    (lambda: RogersLemma64Odometer(DELTA, 0), "x is"),
    (lambda: RenyiOdometer(DELTA, []), "orders"),
    (lambda: RenyiOdometer(DELTA, [1, 2]), "above 1"),
    (lambda: RenyiOdometer(DELTA, [4, 2]), "rise"),
    (lambda: RenyiOdometer(DELTA, [2, 4], [F(1, 2), F(1, 3)]), "sum 1"),
    (lambda: RenyiOdometer(DELTA, [2, 4], [F(1, 2), F(2, 3)]), "sum 1"),
    (lambda: RenyiOdometer(DELTA, [2, 4], [1]), "each of 2 orders"),
    (lambda: RenyiOdometer(DELTA, [2, 4], [1, 0]), "weight"),
    (lambda: RenyiOdometer(DELTA, [2], []), "each of 1 orders"),
    (lambda: MixtureOdometer.optimised_at(DELTA, 0), "variance"),
    (lambda: MixtureOdometer(DELTA, 1, deltas="1e-8"), "margin"),
    (lambda: MixtureOdometer(DELTA, 1, margin="0.1"), "deltas"),
    (lambda: MixtureOdometer(DELTA, 1, deltas=0, margin=1), "deltas"),
    (lambda: MixtureOdometer(DELTA, 1, deltas="1e-8", margin=0), "margin"),
    (lambda: MixtureOdometer(DELTA, 1, deltas="0.1", margin="0.01"), "below 1"),
)


@pytest.mark.parametrize(("make", "named"), BAD)
def test_bad_input(make: Callable[[], Any], named: str) -> None:
    """The constructor's error names the parameter and its valid values."""
    with pytest.raises(ValueError, match=named):
        make()


def test_renyi_of_one_order_is_a_line() -> None:
    """With zCDP children the bound is alpha*rho + log(1/delta)/(alpha - 1)."""
    odometer = RenyiOdometer("0.01", [3])
    rise = odometer.bound([ZCDP("0.2")]) - odometer.bound([ZCDP("0.1")])
    assert rise == 3 * Fraction(1, 10)
    assert float(odometer.bound([ZCDP("0.1")])) == pytest.approx(0.3 + float(mp.log(100)) / 2)
    odometer = RenyiOdometer("0.01", [8])
    assert odometer.measure == RDP.at(8)
    assert float(odometer.bound([RDP(8, "0.5")])) == pytest.approx(0.5 + float(mp.log(100)) / 7)

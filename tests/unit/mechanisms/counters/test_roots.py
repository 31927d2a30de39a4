"""The coefficients of Toeplitz counters, their sums of squares, and inverses of power series."""

from fractions import Fraction
from itertools import accumulate, pairwise
from math import comb, log, pi
from pathlib import Path
from random import Random

import pytest
from flint import acb, arb, ctx, fmpz_poly

from mechanisms import Count, ToeplitzCounter
from mechanisms.counters.coefficients import running_sum
from mechanisms.counters.roots import (
    ALL_SQUARES,
    LATTICE,
    root,
    rounded_root,
    sum_of_squares,
)
from mechanisms.counters.series import inverse_of
from mechanisms.counters.toeplitz_noise import ToeplitzNoise
from queryable import ZCDP

Series = list[Fraction]


def square_root(count: int) -> Series:
    """1/sqrt(1 - z), from binomials."""
    return [Fraction(comb(2 * k, k), 4**k) for k in range(count)]


def endless(count: int) -> Series:
    """1/sqrt(1 - z) divided by (3 + L)/4 = 1 + z/8 + z^2/12 + ..., exactly."""
    found: Series = []
    for k, each in enumerate(square_root(count)):
        found.append(each - sum((found[k - n] / (4 * n + 4) for n in range(1, k + 1)), Fraction(0)))
    return found


def test_coefficients_are_on_the_lattice() -> None:
    """With a horizon to the nearest multiple of 2^-20; without one down, by less than two."""
    lattice = 1 << LATTICE
    nearest = [(each * lattice + Fraction(1, 2)).__floor__() for each in square_root(300)]
    assert list(rounded_root(300)) == nearest == list(root(300, endless=False))
    for exact, found in zip(endless(200), root(200, endless=True), strict=True):
        assert 0 <= found <= exact * lattice < found + 2
    assert root(3, endless=True) == (lattice, 3 * lattice // 8 - 1, 256_682)


def test_a_coefficient_does_not_depend_on_how_many_there_are() -> None:
    """What is released at later steps is by the same matrix."""
    every = root(1024, endless=True)
    assert all(root(count, endless=True) == every[:count] for count in range(600))


def squared_norm() -> arb:
    """The sum of squares of all c_k: the mean of |C|^2 on the unit circle, with its error bound.

    The proof is in docs/theory/proofs/counters.md, without a horizon.
    """

    def density(angle: acb, analytic: bool) -> acb:
        chord = 2 * (angle / 2).sin()
        u, psi = -chord.log(analytic=analytic), (acb.pi() - angle) / 2
        return 16 / (chord * ((3 * angle.cos() + u) ** 2 + (3 * angle.sin() + psi) ** 2))

    small = arb(-40).exp()
    first = 2 * (small / 2).asin()
    a, b = 3 * (1 - small**2), arb.pi() / 2 - small
    rest = 16 * (b / (a + 40)).atan() / (b * (first / 2).cos())
    middle = acb.integral(density, first, arb.pi(), rel_tol=arb(2) ** -60)
    return (middle.real + rest) / arb.pi()


def test_the_sum_of_all_squares_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the integral, with ball arithmetic; and the rest after 2^14 is what it should be."""
    monkeypatch.setattr(ctx, "prec", 100)
    whole = arb(ALL_SQUARES.numerator) / ALL_SQUARES.denominator
    excess = whole - squared_norm()
    assert excess >= 0
    assert excess < arb("1e-10")
    assert sum_of_squares(None) == ALL_SQUARES
    count = 1 << 14
    known = Fraction(sum(each**2 for each in root(count, endless=True)), 1 << (2 * LATTICE))
    # c_k is about 4 / sqrt(pi k) / (3 + ln k + 1.963), and the rest about this.
    rest = 16 / pi / (3 + log(count) + 1.963)
    assert 0.97 * rest < float(ALL_SQUARES - known) < rest


def test_a_scale_needs_no_horizon() -> None:
    """The noise of every step is the same, and the loss is finite."""
    counter = ToeplitzCounter(Count(), scale=3)
    assert counter.privacy_map(2) == ZCDP(2**2 * ALL_SQUARES / (2 * 9))
    assert ToeplitzCounter(Count(), rho=ALL_SQUARES / 18).unit == counter.unit


def test_approximations_without_a_horizon() -> None:
    """Each b_k is within the stated error of B = A C^-1, and exact for up to 8."""
    c = [Fraction(each, 1 << LATTICE) for each in root(40, endless=True)]
    b: Series = []
    for place in range(40):
        b.append(1 - sum((c[place - k] * b[k] for k in range(place)), Fraction(0)))
    near = running_sum(40, endless=True)
    assert 0 < near.error < 10**4
    for true, found in zip(b, near.near, strict=False):
        assert abs(true * 2**192 - found) <= near.error
    exact = running_sum(8, endless=True)
    assert exact.error == 0
    assert [true * 2**192 for true in b[:8]] == list(exact.near)


def doubling(count: int) -> list[float]:
    """Variance times 2 rho of totals in epochs of 1, 2, 4, ... batches with a root of their own."""
    found: list[float] = []
    before, length = 0.0, 1
    while len(found) < count:
        squares = list(accumulate(float(each) ** 2 for each in square_root(length)))
        found += [before + squares[-1] * each for each in squares]
        before, length = before + squares[-1] ** 2, 2 * length
    return found[:count]


def test_the_variance_without_a_horizon() -> None:
    """22.3 after 1,024 batches and 41.6 after 16,384, less than epochs have, and without a jump."""
    counter = ToeplitzCounter(Count(), rho="1/2")
    steps = (1, 4, 8, 64, 1024, 16384)
    found = [float(ToeplitzNoise(counter.unit, None, 0, step).variance()) for step in steps]
    assert [round(each, 2) for each in found] == [1.98, 3.71, 4.9, 10.21, 22.29, 41.58]
    page = Path("docs/growing.md").read_text(encoding="utf-8")
    assert "| 2.0 | 3.7 | 4.9 | 10.2 | 22.3 | 41.6 |" in page
    assert "| at most 22.3 | at most 135 |" in page
    known = [float(sum_of_squares(step)) ** 2 for step in steps]
    assert [round(each, 1) for each in known] == [1, 2.2, 3, 5.7, 10.7, 17.3]
    assert "| 1.0 | 2.2 | 3.0 | 5.7 | 10.7 | 17.3 |" in page
    generous = float(sum_of_squares(2**20) * sum_of_squares(1024))
    assert f"2^20 batches, a total at 1,024 has {generous:.1f}" in page
    running = running_sum(1024, endless=True)
    totals = [float(ALL_SQUARES * running.most(step)) for step in range(1, 1025)]
    epochs = doubling(1024)
    assert "| 1.0 | 4.1 | 6.5 | 18.6 | 49.3 | 102.4 |" in page
    assert [round(epochs[step - 1], 1) for step in steps[:5]] == [1, 4.1, 6.5, 18.6, 49.3]
    below = [new < old for new, old in zip(totals, epochs, strict=True)]
    assert below == [False] * 3 + [True] * 1021
    grows = [after - before for before, after in pairwise(totals)]
    assert all(after < before for before, after in pairwise(grows))
    jumps = [after - before for before, after in pairwise(epochs)]
    assert max(jumps[500:]) > 100 * max(grows[500:])


def test_inverses_are_within_their_bound() -> None:
    """Of a series that is known up to an error, so its true inverse is elsewhere."""
    random, bits, count = Random(1), 30, 50
    true = [1, *(Fraction(random.randrange(1, 1000), 10**4) for _ in range(count - 1))]
    near = fmpz_poly([int(each * 2**bits) for each in true])
    inverse, error = inverse_of(near, bits, 2 * bits, count, off=count)
    exact: Series = []
    for k in range(count):
        known = sum((true[k - n] * each for n, each in enumerate(exact)), Fraction(0))
        exact.append((k == 0) - known)
    off = sum(abs(x * 4**bits - int(y)) for x, y in zip(exact, inverse.coeffs(), strict=True))
    assert inverse_of(near, bits, 2 * bits, count)[1] < off <= error

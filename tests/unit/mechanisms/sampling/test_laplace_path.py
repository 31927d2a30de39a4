"""The path of discrete Laplace noise: its law against exact enumeration and 60 digits."""

from fractions import Fraction
from itertools import pairwise
from random import Random
from typing import Any

import mpmath
import numpy as np
import pytest

from mechanisms.sampling.laplace_path import CoarsestUnchanged, laplace_path
from mechanisms.sampling.laws import DiscreteLaplace
from queryable import SeededCoins
from queryable.audit import every_outcome
from queryable.audit.views.enumeration import CUT
from queryable.randomness.intervals import high, low
from queryable.randomness.laws import FairBits

F = Fraction
SCALES = (F(3, 2), F(1), F(1, 2))


def stay(coarse: Fraction, fine: Fraction) -> Any:
    """(sinh(1/2t)/sinh(1/2u))^2, at mpmath's working precision."""
    return (mpmath.sinh(real(1 / coarse) / 2) / mpmath.sinh(real(1 / fine) / 2)) ** 2


def real(value: Fraction) -> Any:
    return mpmath.mpf(value.numerator) / value.denominator


def generating(scale: Fraction, z: Any) -> Any:
    """The mean of z^D for discrete Laplace noise, from its probabilities' closed sum."""
    p = mpmath.exp(-1 / real(scale))
    return (1 - p) ** 2 / ((1 - p * z) * (1 - p / z))


def random_scales(random: Random) -> tuple[Fraction, Fraction]:
    size = 10 ** random.randint(0, 4)
    fine = F(random.randint(1, 1000), size)
    return fine + F(random.randint(1, 1000), 10 ** random.randint(0, 4)), fine


@mpmath.workdps(70)
def test_the_increments_make_the_marginals() -> None:
    """Noise at u, plus nothing or noise at t, is noise at t: generating functions, to 60 digits.

    The chance of nothing is the code's own, enclosed to 230 bits.
    """
    random = Random(5)
    for _ in range(200):
        coarse, fine = random_scales(random)
        edges = CoarsestUnchanged((coarse, fine))._enclosed(0, 230)
        chance = mpmath.mpf(edges[0]) / 2**230
        assert abs(chance - stay(coarse, fine)) < mpmath.mpf(10) ** -65
        z = mpmath.exp(mpmath.mpf(random.uniform(-0.9, 0.9)) / real(coarse))
        climbed = generating(fine, z) * (chance + (1 - chance) * generating(coarse, z))
        assert abs(climbed / generating(coarse, z) - 1) < mpmath.mpf(10) ** -60


def test_resting_goes_on_whatever_lies_between() -> None:
    """The chances of resting multiply along the path, and rise towards its end."""
    scales = (F(10), F(7), F(3), F(1, 3))
    with mpmath.workdps(50):
        steps = [stay(*pair) for pair in pairwise(scales)]
        total = mpmath.mpf(0)
        for index, chance in CoarsestUnchanged(scales).outcomes():
            assert high(chance) - low(chance) < F(1, 2**126)
            total += real(low(chance))
            assert abs(total - mpmath.fprod(steps[index:])) < mpmath.mpf(2) ** -124


class Words(FairBits):
    """Prescribed 64-bit words."""

    def __init__(self, *words: int) -> None:
        self.words = list(words)

    def bits(self, count: int) -> int:
        assert count == 64
        return self.words.pop(0)

    def bytes(self, count: int) -> bytes:
        return b"".join(self.bits(64).to_bytes(8, "little") for _ in range(count // 8))


def edges_of(scales: tuple[Fraction, ...]) -> list[int]:
    """The chances of resting up to each index, times 2^128, rounded down."""
    with mpmath.workdps(80):
        return [int(mpmath.floor(stay(each, scales[-1]) * 2**128)) for each in scales[:-1]]


@pytest.mark.parametrize("many", [False, True])
def test_a_uniform_number_is_compared_exactly(many: bool) -> None:
    """Draws on either side of every edge, by 2^-128: undecided words are drawn further."""
    scales = (F(10), F(7), F(3), F(1, 3))
    law, edges = CoarsestUnchanged(scales), edges_of(scales)

    def drawn(number: int) -> int:
        words = Words(number >> 64, number % 2**64)
        return int(law.sample_many(words, 1)[0]) if many else law.sample(words)

    for index, edge in enumerate(edges):
        assert drawn(edge - 1) == index
        assert drawn(edge + 1) == index + 1
    assert drawn(0) == 0
    assert drawn(2**128 - 1) == len(edges)


def test_enclosures_that_overlap() -> None:
    """Chances that 64 bits do not tell apart are decided by further ones."""
    scales = tuple(F(2) + F(k, 10**70) for k in range(4, -1, -1))
    law = CoarsestUnchanged(scales)
    words = [2**64 - 1, 0, 2**63]
    assert list(law.sample_many(Words(*words, 5), 3)) == [0, 0, 0]
    assert [law.sample(Words(word, 5)) for word in words] == [0, 0, 0]


def test_scales_that_hardly_differ() -> None:
    """A chance within 2^-64 of 1, or of 0, is still compared exactly."""
    near = CoarsestUnchanged((F(10**30 + 1, 10**30), F(1)))
    assert near.sample(Words(2**64 - 1, 0)) == 0
    assert near.sample(Words(2**64 - 1, 2**64 - 1)) == 1
    assert list(near.sample_many(Words(2**64 - 1, 5, 0), 2)) == [0, 0]
    far = CoarsestUnchanged((F(10**30), F(1, 100)))
    assert far.sample(Words(0, 0, 0, 0, 0, 2**63)) == 1
    assert far.sample(Words(1)) == 1


def enumerated(shape: Any, scales: Any = SCALES) -> tuple[dict[Any, Any], Fraction]:
    """The law of whole paths, up to a mass that is given up."""
    laws: dict[Any, Any] = {}
    cut = F(0)
    for chance, path in every_outcome(lambda coins: laplace_path(scales, shape, coins), F(1, 10)):
        if path is CUT:
            cut += high(chance)
        else:
            seen = tuple(int(np.sum(noise)) for noise in path)
            laws[seen] = laws[seen] + chance if seen in laws else chance
    return laws, cut


@pytest.mark.parametrize("shape", [None, (1,)])
def test_joint_law_of_the_path(shape: Any) -> None:
    """Each path has the probability that its increments say, by the climb and step by step."""
    laws, _ = enumerated(shape)
    assert len(laws) > 100
    with mpmath.workdps(40):

        def noise(scale: Fraction, x: int) -> Any:
            rate = 1 / real(scale)
            return mpmath.tanh(rate / 2) * mpmath.exp(-abs(x) * rate)

        for path, chance in laws.items():
            expected = noise(SCALES[-1], path[-1])
            for (coarse, fine), (above, below) in zip(
                pairwise(SCALES), pairwise(path), strict=True
            ):
                rests = stay(coarse, fine)
                moved = (1 - rests) * noise(coarse, above - below)
                expected *= moved + (rests if above == below else 0)
            assert real(low(chance)) <= expected * (1 + mpmath.mpf(10) ** -30)
            assert expected <= real(high(chance)) * (1 + mpmath.mpf(10) ** -30)


def test_vectors_draw_each_coordinate_by_itself() -> None:
    """Coordinates move at scales of their own, and answers keep the statistic's shape."""
    scales = tuple(F(20, k) for k in range(1, 40))
    path = laplace_path(scales, (4, 5), SeededCoins(1))
    assert {noise.shape for noise in path} == {(4, 5)}
    assert all(noise.dtype == np.int64 for noise in path)
    moves = [np.asarray(coarse != fine) for coarse, fine in pairwise(path)]
    assert any(each.any() and not each.all() for each in moves)


@pytest.mark.parametrize("shape", [None, (3,)])
def test_scales_of_any_size(shape: Any) -> None:
    """Beyond 64 bits noise is Python integers, near zero it is zero, on one path."""
    path = laplace_path((F(10**30), F(10**29), F(1, 10**9)), shape, SeededCoins(3))
    assert np.all(np.asarray(path[-1]) == 0)
    assert np.max(np.abs(np.asarray(path[0], dtype=object))) > 2**64


def test_one_scale_is_ordinary_noise() -> None:
    """A schedule of one entry draws one number, as `Laplace` does."""
    drawn = SeededCoins(9).draw(DiscreteLaplace(F(7)))
    assert laplace_path((F(7),), None, SeededCoins(9)) == (drawn,)
